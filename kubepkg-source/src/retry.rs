//! Repeating what failed for a passing reason, within the limits.
//!
//! One rule for everything that is asked of a server: waits double, chance spreads the callers, `Retry-After` counts
//! when it leaves time, and the whole takes no longer than [`Limits::total_time`].

use std::future::Future;
use std::hash::{BuildHasher as _, Hasher as _};

use tokio::time::Instant;

use crate::failure::Failure;
use crate::limits::Limits;

/// Makes attempts until one succeeds, fails for good, or a limit is reached. `what` is for the log.
pub(crate) async fn attempts<T, F>(
    limits: &Limits,
    deadline: Instant,
    what: &str,
    mut attempt_once: impl FnMut() -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let limit = limits.total_time;
    let mut last = None;
    for attempt in 1.. {
        let Ok(outcome) = tokio::time::timeout_at(deadline, attempt_once()).await else {
            break;
        };
        let failure = match outcome {
            Ok(value) => return Ok(value),
            Err(failure) => failure,
        };
        if !failure.is_transient() || attempt >= limits.retry.attempts {
            return Err(failure);
        }
        let asked = failure.retry_after().unwrap_or_default();
        let wait = limits.retry.wait(attempt, chance()).max(asked);
        if Instant::now() + wait >= deadline {
            // Waiting longer than the caller does is of no use; it learns how long to wait.
            return Err(failure);
        }
        tracing::debug!(what, attempt, ?wait, %failure, "trying again");
        tokio::time::sleep(wait).await;
        last = Some(failure);
    }
    Err(Failure::Deadline {
        limit,
        last: last.map(Box::new),
    })
}

/// A number between 0 and 1, from the keys that the standard library draws for its hash maps.
fn chance() -> f64 {
    let drawn = std::hash::RandomState::new().build_hasher().finish();
    // The upper 32 bits are enough to spread callers.
    f64::from(u32::try_from(drawn >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::StatusCode;

    use super::*;

    fn busy(retry_after: Option<u64>) -> Failure {
        Failure::Status {
            url: "https://h.example/".to_owned(),
            status: StatusCode::SERVICE_UNAVAILABLE,
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    /// The times from each attempt to the next.
    async fn waits_against(failure: impl Fn(usize) -> Failure) -> Vec<Duration> {
        let (limits, begun) = (Limits::default(), Instant::now());
        let mut made = Vec::new();
        let outcome = attempts(&limits, begun + limits.total_time, "x", || {
            made.push(Instant::now());
            let failure = failure(made.len());
            async { Err::<(), _>(failure) }
        })
        .await;
        assert!(matches!(outcome, Err(Failure::Status { .. })));
        let wait = |pair: &[Instant]| pair[1].duration_since(pair[0]);
        made.windows(2).map(wait).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn each_wait_is_twice_the_last_less_what_chance_takes_off() {
        let waits = waits_against(|_| busy(None)).await;
        assert_eq!(waits.len(), 3);
        for (wait, longest) in waits.iter().zip([500, 1000, 2000]) {
            // Timers are exact to a millisecond.
            let (least, most) = (longest / 2, longest + 1);
            let allowed = Duration::from_millis(least)..=Duration::from_millis(most);
            assert!(allowed.contains(wait), "{wait:?} of {longest} ms");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_names_a_later_time_is_asked_then() {
        let waits = waits_against(|attempt| busy((attempt == 2).then_some(30))).await;
        assert!(waits[0] < Duration::from_secs(1), "{waits:?}");
        assert!(waits[1] >= Duration::from_secs(30), "{waits:?}");
    }
}
