//! Looking again as soon as something has changed.
//!
//! A pass that ends because a release waits for its objects says when to look again. A backend that watches the objects
//! knows earlier ([`Backend::changed`](kubepkg_backend::Backend::changed)): then the package is due at once. Nothing
//! depends on it, and nothing is held: a package has one small task at most, which ends with the time that the pass
//! named. Passes are kept apart, further each time, so that what is ready soon is seen soon, and objects which change all
//! the time do not bring a pass for each change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::select_all;
use kubepkg_backend::{Backend, Placement};
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// The least time from the first pass that waits to one that a change brings; twice as long from that to the next.
const FIRST: Duration = Duration::from_millis(25);

/// The least time between passes, in the end.
const APART: Duration = Duration::from_millis(500);

/// Who is woken when what it waits for has changed.
pub(super) struct Wakes {
    due: UnboundedSender<String>,
    waiting: Mutex<BTreeMap<String, Wait>>,
}

/// A package that waits.
struct Wait {
    task: AbortHandle,
    /// How long it does not listen.
    pause: Duration,
    /// When the next pass comes even without a change.
    until: Instant,
}

impl Wakes {
    /// With the names of the packages that are due.
    pub(super) fn new() -> (Self, UnboundedReceiver<String>) {
        let (due, names) = unbounded();
        let waiting = Mutex::default();
        (Self { due, waiting }, names)
    }

    /// Waits for a change of any of the releases, no longer than `at_most`; an earlier wait for the package ends.
    pub(super) fn wait(
        &self,
        backend: &Arc<dyn Backend>,
        package: &str,
        releases: Vec<Placement>,
        at_most: Duration,
    ) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = match waiting.remove(package) {
            Some(earlier) => {
                earlier.task.abort();
                (earlier.pause * 2).min(APART)
            }
            None => FIRST,
        };
        let now = Instant::now();
        waiting.retain(|_, wait| wait.until > now);
        if releases.is_empty() || at_most <= pause {
            return;
        }
        let (backend, due) = (Arc::clone(backend), self.due.clone());
        let name = package.to_owned();
        let task = tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            let changes = releases.iter().map(|release| backend.changed(release));
            let left = at_most.saturating_sub(pause);
            if tokio::time::timeout(left, select_all(changes))
                .await
                .is_ok()
            {
                // Nobody listens when the controller ends.
                let _ = due.unbounded_send(name);
            }
        });
        let wait = Wait {
            task: task.abort_handle(),
            pause,
            until: now + at_most,
        };
        waiting.insert(package.to_owned(), wait);
    }
}

impl Drop for Wakes {
    fn drop(&mut self) {
        let waiting = self.waiting.get_mut();
        for wait in waiting.unwrap_or_else(PoisonError::into_inner).values() {
            wait.task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use async_trait::async_trait;
    use futures::{FutureExt as _, StreamExt as _};
    use kubepkg_api::Digest;
    use kubepkg_backend::{
        BackendError, Capabilities, ChartSource, Component, Outcome, State, Target,
    };

    /// Sees changes of these releases after a second, and of no others.
    struct Changing(BTreeSet<&'static str>);

    #[async_trait]
    impl Backend for Changing {
        fn name(&self) -> &'static str {
            "changing"
        }

        fn capabilities(&self) -> Capabilities {
            Capabilities {
                rollback: false,
                trees: false,
                synchronous: true,
            }
        }

        async fn changed(&self, placement: &Placement) {
            if !self.0.contains(&*placement.release) {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }

        async fn prepare(&self, _: &ChartSource) -> Result<Digest, BackendError> {
            unreachable!("nothing is fetched")
        }

        async fn apply(&self, _: &Component) -> Result<Outcome, BackendError> {
            unreachable!("nothing is applied")
        }

        async fn status(&self, _: &str, _: &Placement) -> Result<State, BackendError> {
            unreachable!("nothing is asked")
        }

        async fn releases(&self, _: &str) -> Result<Vec<Placement>, BackendError> {
            unreachable!("nothing is asked")
        }

        async fn rollback(&self, _: &Target, _: u64) -> Result<Outcome, BackendError> {
            unreachable!("nothing is rolled back")
        }

        async fn uninstall(&self, _: &Target) -> Result<Outcome, BackendError> {
            unreachable!("nothing is removed")
        }
    }

    fn release(name: &str) -> Placement {
        Placement {
            namespace: "demo".to_owned(),
            release: name.to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_makes_the_package_due_before_its_time_and_silence_does_not() {
        let backend: Arc<dyn Backend> = Arc::new(Changing(["a"].into()));
        let (wakes, mut due) = Wakes::new();
        let long = Duration::from_mins(1);
        let begun = Instant::now();
        let both = vec![release("silent"), release("a")];
        wakes.wait(&backend, "shop", both, long);
        wakes.wait(&backend, "quiet", vec![release("silent")], long);
        wakes.wait(&backend, "idle", Vec::new(), long);
        assert_eq!(due.next().await.as_deref(), Some("shop"));
        assert_eq!(begun.elapsed(), FIRST + Duration::from_secs(1));
        tokio::time::sleep(long).await;
        assert!(due.next().now_or_never().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn changes_without_end_bring_passes_further_and_further_apart() {
        let backend: Arc<dyn Backend> = Arc::new(Changing(["a"].into()));
        let (wakes, mut due) = Wakes::new();
        let mut passes = Vec::new();
        for _ in 0..7 {
            let begun = Instant::now();
            wakes.wait(&backend, "shop", vec![release("a")], Duration::from_mins(1));
            assert_eq!(due.next().await.as_deref(), Some("shop"));
            passes.push(begun.elapsed().as_millis());
        }
        // A change comes a second after somebody begins to listen.
        assert_eq!(passes, [1025, 1050, 1100, 1200, 1400, 1500, 1500]);
        // Once it has not waited, it begins anew.
        wakes.wait(&backend, "shop", Vec::new(), Duration::from_mins(1));
        let begun = Instant::now();
        wakes.wait(&backend, "shop", vec![release("a")], Duration::from_mins(1));
        due.next().await;
        assert_eq!(begun.elapsed(), FIRST + Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_ends_the_wait_of_the_one_before() {
        let backend: Arc<dyn Backend> = Arc::new(Changing(["a"].into()));
        let (wakes, mut due) = Wakes::new();
        wakes.wait(&backend, "shop", vec![release("a")], Duration::from_mins(1));
        // The next pass finds nothing to wait for.
        wakes.wait(&backend, "shop", Vec::new(), Duration::from_mins(1));
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert!(due.next().now_or_never().is_none());
    }
}
