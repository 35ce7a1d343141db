//! Waiting for a cluster to get somewhere.
//!
//! A cluster reports its state, not the moment it changes, so a test asks again until the answer
//! is there. There is no other sleep in a good test.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::error::{Result, SandboxError};

/// Pause between two questions.
const PAUSE: Duration = Duration::from_millis(20);

/// Asks until there is an answer, and returns it.
///
/// ```no_run
/// # use std::time::Duration;
/// # use kube::api::{Api, DynamicObject};
/// # async fn example(api: Api<DynamicObject>) -> kubepkg_sandbox::Result<()> {
/// let object = kubepkg_sandbox::eventually("package is there", Duration::from_secs(30), || async {
///     api.get_opt("web").await.ok().flatten()
/// })
/// .await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`SandboxError::Timeout`] with `what` when `within` has passed.
pub async fn eventually<T, F>(what: &str, within: Duration, mut ask: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Option<T>>,
{
    let deadline = Instant::now() + within;
    loop {
        if let Some(answer) = ask().await {
            return Ok(answer);
        }
        if Instant::now() >= deadline {
            return Err(SandboxError::Timeout {
                what: what.to_owned(),
                seconds: within.as_secs(),
            });
        }
        sleep(PAUSE).await;
    }
}
