//! Work on two threads, where each has enough to do.

use std::io;
use std::thread::{Builder, ScopedJoinHandle, available_parallelism, scope};

/// From this many bytes of templates or manifests on, half of the work takes many times what a thread takes.
const WORTH_A_THREAD: usize = 64 << 10;
/// As much stack as the workers of an async runtime have.
const STACK: usize = 2 << 20;

/// Does one thing on a thread of its own, with a stack of this size, and another on this one.
///
/// # Errors
/// There can be no thread; the one thing is not done then.
pub(crate) fn beside<A: Send, B>(
    stack: usize,
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B,
) -> (io::Result<A>, B) {
    scope(|scope| {
        let thread = Builder::new().stack_size(stack).spawn_scoped(scope, one);
        let other = other();
        let one = thread.map(|thread| match ScopedJoinHandle::join(thread) {
            Ok(one) => one,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        (one, other)
    })
}

/// Does the same to two halves of a list, or to all of it at once where that is done sooner.
pub(crate) fn in_halves<T: Sync, R: Send>(
    items: &[T],
    bytes: impl Fn(&T) -> usize,
    work: impl Fn(&[T]) -> R + Sync,
) -> (R, Option<R>) {
    let all: usize = items.iter().map(&bytes).sum();
    if all < WORTH_A_THREAD || available_parallelism().is_ok_and(|threads| threads.get() < 2) {
        return (work(items), None);
    }
    let mut passed = 0;
    let middle = items.iter().position(|item| {
        passed += bytes(item);
        passed > all / 2
    });
    let (first, second) = items.split_at(middle.unwrap_or(0).max(1).min(items.len()));
    let (second_done, first_done) = beside(STACK, || work(second), || work(first));
    let second_done = second_done.unwrap_or_else(|_| work(second));
    (first_done, Some(second_done))
}
