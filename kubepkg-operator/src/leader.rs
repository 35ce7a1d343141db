//! One operator at a time: leader election on a Lease.
//!
//! Every write of the Lease carries the resource version it was read at, so two candidates can never both believe that
//! they took it. Whether the holder is alive is judged by this process's own clock: a Lease that has not changed for its
//! whole duration since it was first *seen* like that is free. Clocks of different machines are never compared. A leader
//! that could not renew for [`Timing::renew_deadline`] gives up before others may take over; the process then ends and
//! is started again, which is the only way to be sure that it writes nothing more (as controller-runtime does).
//! `kube` has no leader election of its own.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, ResourceExt};
use tokio::time::Instant;

/// How fast a dead leader is replaced, and how often a living one shows itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// A Lease not renewed for this long is free.
    pub lease_duration: Duration,
    /// A leader that could not renew for this long gives up; shorter than `lease_duration`.
    pub renew_deadline: Duration,
    /// The wait between two looks.
    pub retry_period: Duration,
}

impl Default for Timing {
    /// The defaults of client-go: 15, 10 and 2 seconds.
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// A candidate for leadership.
#[derive(Debug, Clone)]
pub struct Candidate {
    leases: Api<Lease>,
    name: String,
    identity: String,
    timing: Timing,
    /// The Lease as last seen, and when it was first seen so.
    seen: Option<(Lease, Instant)>,
}

/// What one look at the Lease came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// It is ours, renewed.
    Ours,
    /// Somebody else holds it, or was faster.
    Theirs,
}

impl Candidate {
    /// A candidate called `identity` for the Lease `name` in `namespace`.
    pub fn new(
        client: Client,
        namespace: &str,
        name: &str,
        identity: &str,
        timing: Timing,
    ) -> Self {
        Self {
            leases: Api::namespaced(client, namespace),
            name: name.to_owned(),
            identity: identity.to_owned(),
            timing,
            seen: None,
        }
    }

    /// Waits until this candidate leads.
    pub async fn lead(&mut self) {
        loop {
            match self.look().await {
                Ok(Look::Ours) => return,
                Ok(Look::Theirs) => {}
                Err(error) => {
                    tracing::warn!(lease = %self.name, %error, "the lease could not be read or written");
                }
            }
            tokio::time::sleep(self.timing.retry_period).await;
        }
    }

    /// Keeps leading; returns when leadership is lost.
    pub async fn hold(&mut self) {
        let mut renewed = Instant::now();
        loop {
            tokio::time::sleep(self.timing.retry_period).await;
            match tokio::time::timeout(self.timing.retry_period, self.look()).await {
                Ok(Ok(Look::Ours)) => renewed = Instant::now(),
                Ok(Ok(Look::Theirs)) => return,
                Ok(Err(error)) => {
                    tracing::warn!(lease = %self.name, %error, "the lease could not be renewed");
                }
                Err(_) => tracing::warn!(lease = %self.name, "renewing the lease took too long"),
            }
            if renewed.elapsed() > self.timing.renew_deadline {
                return;
            }
        }
    }

    /// Gives leadership back, so that the next candidate need not wait for it to run out.
    pub async fn release(&mut self) {
        let Ok(Some(mut lease)) = self.leases.get_opt(&self.name).await else {
            return;
        };
        let Some(spec) = lease.spec.as_mut() else {
            return;
        };
        if spec.holder_identity.as_deref() != Some(self.identity.as_str()) {
            return;
        }
        spec.holder_identity = None;
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(MicroTime(Timestamp::now()));
        if let Err(error) = self
            .leases
            .replace(&self.name, &PostParams::default(), &lease)
            .await
        {
            tracing::warn!(lease = %self.name, %error, "the lease could not be given back");
        }
    }

    /// Looks at the Lease once; takes or renews it where that is allowed.
    async fn look(&mut self) -> Result<Look, kube::Error> {
        let Some(lease) = self.leases.get_opt(&self.name).await? else {
            let lease = Lease {
                metadata: ObjectMeta {
                    name: Some(self.name.clone()),
                    ..ObjectMeta::default()
                },
                spec: Some(self.spec(None)),
            };
            return Self::outcome(self.leases.create(&PostParams::default(), &lease).await);
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.clone().unwrap_or_default();
        let ours = holder == self.identity;
        if !ours && !holder.is_empty() && !self.has_run_out(&lease) {
            return Ok(Look::Theirs);
        }
        let renewed = Lease {
            spec: Some(self.spec(Some((&spec, ours)))),
            metadata: lease.metadata.clone(),
        };
        Self::outcome(
            self.leases
                .replace(&self.name, &PostParams::default(), &renewed)
                .await,
        )
    }

    fn outcome(written: Result<Lease, kube::Error>) -> Result<Look, kube::Error> {
        match written {
            Ok(_) => Ok(Look::Ours),
            // 409: another candidate wrote since we read, or made the Lease first.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Look::Theirs),
            Err(error) => Err(error),
        }
    }

    /// Whether the Lease has stood unchanged for its whole duration under our own eyes.
    fn has_run_out(&mut self, lease: &Lease) -> bool {
        let unchanged = self.seen.as_ref().filter(|(before, _)| {
            before.resource_version() == lease.resource_version() && before.spec == lease.spec
        });
        let Some((_, since)) = unchanged else {
            self.seen = Some((lease.clone(), Instant::now()));
            return false;
        };
        let seconds = lease
            .spec
            .as_ref()
            .and_then(|s| s.lease_duration_seconds)
            .unwrap_or(0);
        let duration = u64::try_from(seconds)
            .ok()
            .filter(|n| *n > 0)
            .map_or(self.timing.lease_duration, Duration::from_secs);
        since.elapsed() >= duration
    }

    fn spec(&self, before: Option<(&LeaseSpec, bool)>) -> LeaseSpec {
        let now = MicroTime(Timestamp::now());
        let transitions = before
            .and_then(|(spec, _)| spec.lease_transitions)
            .unwrap_or(0);
        let (acquired, transitions) = match before {
            Some((spec, true)) => (spec.acquire_time.clone(), transitions),
            Some((_, false)) => (Some(now.clone()), transitions.saturating_add(1)),
            None => (Some(now.clone()), 0),
        };
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(self.timing.lease_duration.as_secs()).ok(),
            acquire_time: acquired,
            renew_time: Some(now),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }
}
