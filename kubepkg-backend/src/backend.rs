//! The trait that every delivery tool implements, and what it answers.
//!
//! The controller decides *what* happens next; a backend performs it and says how far it came. Three rules make a
//! package survive a killed operator:
//!
//! * every call is **idempotent**: it is made again, with the same component, until it settles;
//! * a backend remembers nothing the controller depends on: progress stands in the cluster, beside the release, marked
//!   with the package revision ([`Target::revision`]) it belongs to;
//! * a call never waits for objects to become ready; it looks, answers, and is asked again.
//!
//! Rules from the design document, "Backends" and "Applying a revision".

use std::time::Duration;

use async_trait::async_trait;
use kubepkg_api::Digest;

use crate::{BackendError, ChartSource, Component, Placement, Target};

/// Delivers the components of packages.
#[async_trait]
pub trait Backend: Send + Sync {
    /// The name it is registered and chosen under, for example `helm`.
    fn name(&self) -> &str;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Makes sure that the chart of a component is at hand, and answers its digest.
    ///
    /// Called before a revision is recorded, so that a chart that cannot be had changes nothing. A chart that is here
    /// already, verified, costs no request.
    ///
    /// # Errors
    ///
    /// [`BackendError::Chart`] when the chart cannot be had; it tells whether trying again can help.
    async fn prepare(&self, chart: &ChartSource) -> Result<Digest, BackendError>;

    /// Installs or upgrades the release of `component`, or goes on doing so.
    ///
    /// The first call for a [`Target::revision`] begins; later ones continue where the one before stopped, also in
    /// another process. An operation of an older revision of the same package that is still under way is cancelled
    /// first: what was wanted has changed. Once the release settled for this revision, every further call gives the
    /// same answer and changes nothing.
    ///
    /// # Errors
    ///
    /// Nothing was changed, or not all of it: the call can be made again. See [`BackendError::is_transient`].
    async fn apply(&self, component: &Component) -> Result<Outcome, BackendError>;

    /// How the release at `placement` stands. Changes nothing.
    ///
    /// # Errors
    ///
    /// The state could not be read.
    async fn status(&self, package: &str, placement: &Placement) -> Result<State, BackendError>;

    /// Returns when something that an operation at `placement` waits for has changed, so that it is worth while to call
    /// again before the time that [`Outcome::Waiting`] names.
    ///
    /// It may never return: a backend that watches nothing can't tell, and whoever waits looks again in time. Dropping
    /// the future changes nothing.
    async fn changed(&self, placement: &Placement) {
        let _ = placement;
        std::future::pending::<()>().await;
    }

    /// The releases that bear the mark of the package object `uid`, wherever they are, in the order of their placements.
    ///
    /// Asked before a package is let go, so that nothing stays behind whose record was lost.
    ///
    /// # Errors
    ///
    /// They could not be listed.
    async fn releases(&self, uid: &str) -> Result<Vec<Placement>, BackendError>;

    /// Brings the release back to its own revision `to`, or goes on doing so.
    ///
    /// Like [`apply`](Self::apply), on behalf of [`Target::revision`]. What is restored is what the backend recorded.
    ///
    /// # Errors
    ///
    /// [`BackendError::Unsupported`] when the backend cannot roll back, [`BackendError::RevisionGone`] before
    /// anything is changed when `to` is no longer in its history.
    async fn rollback(&self, target: &Target, to: u64) -> Result<Outcome, BackendError>;

    /// Removes the release, or goes on doing so; answers [`Outcome::Gone`] when nothing is left.
    ///
    /// # Errors
    ///
    /// As for [`apply`](Self::apply).
    async fn uninstall(&self, target: &Target) -> Result<Outcome, BackendError>;
}

/// What a backend can do; data, so that nobody has to ask which backend it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// [`Backend::rollback`] works. Without it a failed upgrade is always fixed forward.
    pub rollback: bool,
    /// Charts may come from a package tree ([`ChartSource::Tree`]).
    pub trees: bool,
    /// The operator itself applies the objects; otherwise it only hands the component to another controller.
    pub synchronous: bool,
}

/// How far a call came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The release settled and everything in it is healthy.
    Ready {
        /// The backend's own revision of the release, the one to roll back to later.
        revision: u64,
    },
    /// Under way; ask again.
    Waiting {
        /// What is being waited for, for a person: objects and why they are not ready.
        message: String,
        /// When looking again makes sense.
        check_after: Duration,
    },
    /// Tried and failed, for good; only a new revision can try again.
    Failed {
        /// The backend's own revision, when one was recorded.
        revision: Option<u64>,
        /// Why, naming object and field where there is one.
        message: String,
        /// The same chart and values will fail again: only a change of one of them can help.
        permanent: bool,
    },
    /// Nothing is left of the release.
    Gone,
}

/// How a release stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Where it is in its life.
    pub phase: Phase,
    /// The backend's newest revision.
    pub revision: Option<u64>,
    /// The package revision on whose behalf the newest backend revision was made.
    pub package_revision: Option<u64>,
    /// The revisions that can be rolled back to, ascending.
    pub restorable: Vec<u64>,
    /// For a person: why it is in this phase.
    pub message: String,
}

impl State {
    /// The state of a release that does not exist.
    pub fn absent() -> Self {
        Self {
            phase: Phase::Absent,
            revision: None,
            package_revision: None,
            restorable: Vec::new(),
            message: "not installed".to_owned(),
        }
    }

    /// Whether the release is settled and healthy at exactly this backend revision.
    pub fn is_ready_at(&self, revision: u64) -> bool {
        self.phase == Phase::Ready && self.revision == Some(revision)
    }
}

/// Where a release is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No such release.
    Absent,
    /// Settled.
    Ready,
    /// An operation is under way.
    Progressing,
    /// The last operation failed.
    Failed,
    /// A release of that name exists and does not belong to the package.
    Foreign,
}
