//! What a decision is made from: everything read from the API server and from the backend, and the time.
//!
//! Nothing in here is remembered from one pass to the next; a pass begins with the objects and fills in the rest as
//! [`decide`](super::decide()) asks for it. Absence of an answer and an answer "nothing there" are different things: a
//! release that nobody asked about is not in the map, one that does not exist is in it as absent.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use jiff::Timestamp;
use kubepkg_api::{Digest, Package, PackageSourceSpec};
use kubepkg_backend::{Capabilities, ChartSource, Outcome, Placement, State};

use super::revision::Revision;

/// All that one decision looks at.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The time of this pass.
    pub now: Timestamp,
    /// The Package as the API server has it.
    pub package: Package,
    /// The PackageSource of the same name.
    pub source: Source,
    /// The package's revisions, oldest first.
    pub revisions: Vec<Revision>,
    /// What the backend said of charts, by [`ChartSource`] as printed.
    pub charts: BTreeMap<String, Result<Digest, Problem>>,
    /// What the backend said of releases.
    pub releases: BTreeMap<Placement, Result<State, Problem>>,
    /// The releases that bear the package's mark, when somebody asked.
    pub marked: Option<Result<Vec<Placement>, Problem>>,
    /// What backend calls made in this pass came to, until the answer has been written down.
    pub outcomes: BTreeMap<Placement, Result<Outcome, Problem>>,
    /// How the operator was set up.
    pub settings: Settings,
}

/// The PackageSource, as far as there is one.
#[derive(Debug, Clone)]
pub enum Source {
    /// None of this name exists.
    Missing,
    /// One exists but does not have the shape of one.
    Malformed(String),
    /// As the API server has it.
    Present(Box<PackageSourceSpec>),
}

impl Source {
    /// The spec, when there is a usable one.
    pub fn spec(&self) -> Option<&PackageSourceSpec> {
        match self {
            Self::Present(spec) => Some(spec),
            Self::Missing | Self::Malformed(_) => None,
        }
    }
}

/// Why the backend did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// For a person, with all causes.
    pub message: String,
    /// Trying the same again can help.
    pub transient: bool,
}

/// How the operator was set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What the backend can do.
    pub backend: Capabilities,
    /// The wait after the first failure of a revision; it doubles with every further one.
    pub retry_backoff: Duration,
    /// The longest such wait.
    pub retry_backoff_max: Duration,
    /// How often a package at rest is looked at again.
    pub recheck: Duration,
}

impl Settings {
    /// The defaults of the operator's flags, for a backend that can do `backend`.
    pub fn new(backend: Capabilities) -> Self {
        Self {
            backend,
            retry_backoff: Duration::from_secs(30),
            retry_backoff_max: Duration::from_mins(10),
            recheck: Duration::from_mins(5),
        }
    }
}

/// What must be known before a decision can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Have these charts at hand: their digests.
    Charts(Vec<ChartSource>),
    /// How these releases stand.
    Releases(Vec<Placement>),
    /// Which releases bear the package's mark, on record or not.
    Marked,
}

impl Observed {
    /// The newest revision.
    pub fn latest(&self) -> Option<&Revision> {
        self.revisions.last()
    }

    /// The number of the next revision: above every one that was ever recorded, as far as is known. Records that somebody
    /// removed are remembered by the Package's status; their numbers are not given again, because releases bear them.
    pub fn next_number(&self) -> u64 {
        let remembered = self.package.status.iter().flat_map(|status| {
            let history = status.history.iter().map(|entry| entry.revision);
            history.chain([status.current_revision])
        });
        remembered
            .filter_map(|number| u64::try_from(number).ok())
            .chain(self.latest().map(|r| r.number))
            .max()
            .unwrap_or_default()
            .saturating_add(1)
    }

    /// The newest revision that was applied successfully, among those older than `before`.
    pub fn last_good(&self, before: u64) -> Option<&Revision> {
        self.revisions
            .iter()
            .rev()
            .find(|r| r.number < before && r.is_good())
    }

    /// The revision of this number.
    pub fn revision(&self, number: u64) -> Option<&Revision> {
        self.revisions.iter().find(|r| r.number == number)
    }

    /// The components, by name and place, that revisions of these numbers have and `wanted` has not; newest revision and
    /// last component first, each place once.
    pub(super) fn left_by(
        &self,
        numbers: Range<u64>,
        wanted: &Revision,
    ) -> Vec<(String, Placement)> {
        let mut found: Vec<(String, Placement)> = Vec::new();
        let earlier = self
            .revisions
            .iter()
            .rev()
            .filter(move |r| numbers.contains(&r.number));
        for component in earlier.flat_map(|r| r.components.iter().rev()) {
            let placement = &component.placement;
            if !wanted.owns(placement) && !found.iter().any(|(_, known)| known == placement) {
                found.push((component.name.clone(), placement.clone()));
            }
        }
        found
    }

    /// The placements among `wanted` that nobody has asked the backend about yet, as a question.
    pub(super) fn unasked<'a>(
        &self,
        wanted: impl IntoIterator<Item = &'a Placement>,
    ) -> Option<Question> {
        let mut missing: Vec<Placement> = Vec::new();
        for placement in wanted {
            if !self.releases.contains_key(placement) && !missing.contains(placement) {
                missing.push(placement.clone());
            }
        }
        (!missing.is_empty()).then_some(Question::Releases(missing))
    }
}
