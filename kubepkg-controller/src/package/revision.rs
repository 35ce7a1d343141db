//! A PackageRevision as decisions see it, and the record of a new one.
//!
//! The stored object keeps its numbers and digests as text and its bookkeeping in annotations; they are read here, once,
//! and written here, so that no other module knows a key. A revision without a phase is one whose creator died before it
//! could say so: it counts as being applied.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::{Resource, ResourceExt};
use kubepkg_api::{
    ApiGroup, Kind, Package, PackageRevision, PackageRevisionSpec, Phase, RevisionComponent, keys,
    revision_name,
};
use kubepkg_backend::Placement;

/// Annotation of a PackageRevision: which attempt at its desired state it is, from 1. The wait before the next attempt
/// is computed from it, also after older failed revisions were pruned.
pub const ATTEMPT: &str = "kubepkg.dev/attempt";

/// A recorded revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    /// Its number, from 1.
    pub number: u64,
    /// The version of the stored object that was read; what is written of it holds only for this one.
    pub resource_version: String,
    /// The version of the package.
    pub version: String,
    /// The variant of the package.
    pub variant: String,
    /// Whether the version declares that rolling it back loses nothing.
    pub rollback_safe: bool,
    /// The revision whose state it brings back.
    pub restored_from: Option<u64>,
    /// It brings that state back because somebody asked.
    pub requested: bool,
    /// Which attempt at its desired state it is.
    pub attempt: u32,
    /// Digest of the desired state it was made from.
    pub desired_digest: String,
    /// Where it is in its life.
    pub phase: Phase,
    /// Why it is in this phase, for a person.
    pub message: String,
    /// It failed in a way that another attempt cannot mend.
    pub permanent: bool,
    /// When it was applied, or failed.
    pub finished_at: Option<Timestamp>,
    /// Its components, in the order in which they are applied.
    pub components: Vec<RecordedComponent>,
}

/// One component of a revision.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedComponent {
    /// Its name.
    pub name: String,
    /// Its release.
    pub placement: Placement,
    /// The components applied before it.
    pub depends_on: Vec<String>,
    /// What was rendered.
    pub chart_digest: String,
    /// What it was rendered with.
    pub values_digest: String,
    /// The backend revision that this revision produced; set once the component is done.
    pub backend_revision: Option<u64>,
}

impl RecordedComponent {
    /// Whether both would put the same thing in the same place.
    pub fn is_same_state(&self, other: &Self) -> bool {
        self.placement == other.placement
            && self.chart_digest == other.chart_digest
            && self.values_digest == other.values_digest
    }
}

impl Revision {
    /// Reads the stored object.
    pub fn read(object: &PackageRevision) -> Self {
        let annotation = |key: &str| {
            object
                .metadata
                .annotations
                .as_ref()
                .and_then(|all| all.get(key))
                .cloned()
        };
        let status = object.status.clone().unwrap_or_default();
        let done: BTreeMap<&str, u64> = status
            .components
            .iter()
            .filter_map(|c| Some((c.name.as_str(), u64::try_from(c.backend_revision?).ok()?)))
            .collect();
        let spec = &object.spec;
        Self {
            number: u64::try_from(spec.revision).unwrap_or_default(),
            resource_version: object.resource_version().unwrap_or_default(),
            version: spec.version.clone(),
            variant: spec.variant.clone(),
            rollback_safe: spec.rollback_safe,
            restored_from: u64::try_from(spec.restored_from).ok().filter(|n| *n > 0),
            requested: annotation(keys::ROLLBACK_REQUESTED).as_deref() == Some("true"),
            attempt: annotation(ATTEMPT)
                .and_then(|n| n.parse().ok())
                .unwrap_or(1),
            desired_digest: annotation(keys::DESIRED_DIGEST).unwrap_or_default(),
            phase: object.phase(),
            message: status.message.clone(),
            permanent: status.permanent,
            finished_at: status.finished_at.as_ref().map(|time| time.0),
            components: spec
                .components
                .iter()
                .map(|c| RecordedComponent {
                    name: c.name.clone(),
                    placement: Placement {
                        namespace: c.namespace.clone(),
                        release: c.release_name.clone(),
                    },
                    depends_on: c.depends_on.clone(),
                    chart_digest: c.chart_digest.clone(),
                    values_digest: c.values_digest.clone(),
                    backend_revision: done.get(c.name.as_str()).copied(),
                })
                .collect(),
        }
    }

    /// Whether it was applied successfully, now or once.
    pub fn is_good(&self) -> bool {
        self.phase.was_applied()
    }

    /// Whether it is still being applied.
    pub fn is_in_flight(&self) -> bool {
        matches!(self.phase, Phase::Applying | Phase::Pending)
    }

    /// Whether `new` would record the same state once more.
    pub fn is_same_state(&self, new: &NewRevision) -> bool {
        self.version == new.version
            && self.variant == new.variant
            && self.rollback_safe == new.rollback_safe
            && self.components.len() == new.components.len()
            && self
                .components
                .iter()
                .zip(&new.components)
                .all(|(old, new)| {
                    old.name == new.name
                        && old.depends_on == new.depends_on
                        && old.is_same_state(new)
                })
    }

    /// The component of this name.
    pub fn component(&self, name: &str) -> Option<&RecordedComponent> {
        self.components.iter().find(|c| c.name == name)
    }

    /// Whether a release at `placement` is part of it.
    pub fn owns(&self, placement: &Placement) -> bool {
        self.components.iter().any(|c| c.placement == *placement)
    }
}

/// A revision that is about to be recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRevision {
    /// Its number: one more than the newest.
    pub number: u64,
    /// The version of the package.
    pub version: String,
    /// The variant of the package.
    pub variant: String,
    /// Whether the version declares that rolling it back loses nothing.
    pub rollback_safe: bool,
    /// The revision whose state it brings back.
    pub restored_from: Option<u64>,
    /// It brings that state back because somebody asked.
    pub requested: bool,
    /// Which attempt at its desired state it is.
    pub attempt: u32,
    /// Digest of the desired state it is made from.
    pub desired_digest: String,
    /// Its components, in the order in which they are applied; none is done yet.
    pub components: Vec<RecordedComponent>,
}

impl NewRevision {
    /// The object to create. Its name is made of package and number, so that two passes that come to the same decision
    /// cannot both record it; it goes when its Package goes.
    pub fn object(&self, group: &ApiGroup, package: &Package) -> PackageRevision {
        let name = package.name_any();
        let number = i64::try_from(self.number).unwrap_or(i64::MAX);
        let spec = PackageRevisionSpec {
            package: name.clone(),
            revision: number,
            version: self.version.clone(),
            variant: self.variant.clone(),
            rollback_safe: self.rollback_safe,
            restored_from: self
                .restored_from
                .and_then(|n| i64::try_from(n).ok())
                .unwrap_or(0),
            components: self
                .components
                .iter()
                .map(|c| RevisionComponent {
                    name: c.name.clone(),
                    release_name: c.placement.release.clone(),
                    namespace: c.placement.namespace.clone(),
                    depends_on: c.depends_on.clone(),
                    chart_digest: c.chart_digest.clone(),
                    values_digest: c.values_digest.clone(),
                })
                .collect(),
        };
        let mut object = PackageRevision::new(group, &revision_name(&name, number), spec);
        object
            .labels_mut()
            .insert(keys::PACKAGE_LABEL.to_owned(), name);
        let annotations = object.annotations_mut();
        annotations.insert(keys::DESIRED_DIGEST.to_owned(), self.desired_digest.clone());
        annotations.insert(ATTEMPT.to_owned(), self.attempt.to_string());
        if self.requested {
            annotations.insert(keys::ROLLBACK_REQUESTED.to_owned(), "true".to_owned());
        }
        object.metadata.owner_references = package
            .controller_owner_ref(group)
            .map(|reference| vec![reference]);
        object
    }
}
