//! What a check may use: a stack as small as that of a worker thread, and seconds of processor time.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The stack of a thread that Rust or Tokio starts, unless told otherwise.
const STACK: usize = 2 << 20;

/// How much processor time one step of a check may take. Optimised code stays a hundred times below; a build for
/// tests is that much slower.
const MOST: Duration = if cfg!(debug_assertions) {
    Duration::from_secs(20)
} else {
    Duration::from_secs(4)
};

/// Runs `check` on a thread of its own with a stack of 2 MiB, as on a worker of an asynchronous program.
///
/// # Panics
/// When the check does.
pub(crate) fn on_a_small_stack(check: fn(&[u8]), input: &[u8]) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let handle = thread
            .spawn_scoped(scope, || check(input))
            .expect("a thread");
        if let Err(panic) = handle.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Runs a step and panics when it took too much processor time.
pub(crate) fn soon<T>(what: &str, step: impl FnOnce() -> T) -> T {
    let start = used();
    let done = step();
    let took = used().saturating_sub(start);
    assert!(took < MOST, "{what} took {took:?}");
    done
}

/// Processor time of this thread.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap_or_default(),
        time.tv_nsec.try_into().unwrap_or_default(),
    )
}
