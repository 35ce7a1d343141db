//! How far an operation has come: a small JSON in an annotation of its release record, written when the
//! record is made and before anything that must not happen twice. It holds everything that the planner
//! needs beside the record itself. Refuses progress of a newer form than this crate knows.

use crate::plan::OperationKind;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The form of progress that this crate writes.
const FORM: u32 = 1;

/// What an operation waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// Hooks only, Helm's default.
    #[default]
    Hooks,
    /// Hooks and objects; a running Job counts as ready.
    Ready,
    /// Hooks and objects; Jobs must be complete.
    ReadyWithJobs,
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Propagation {
    /// They are deleted afterwards.
    #[default]
    Background,
    /// They are deleted first.
    Foreground,
    /// They stay.
    Orphan,
}

impl Propagation {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
            Propagation::Orphan => "Orphan",
        }
    }
}

/// The choices of the caller that a resumed operation still needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub(crate) struct Settings {
    pub(crate) wait: Wait,
    pub(crate) skip_hooks: bool,
    pub(crate) take_ownership: bool,
    pub(crate) force_conflicts: bool,
    pub(crate) keep_history: bool,
    pub(crate) propagation: Propagation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// Delete what was made when the operation fails.
    pub(crate) clean_up: bool,
    /// The tests to be run; all when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) only: Vec<String>,
    /// Tests not to be run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) except: Vec<String>,
    /// Collect the logs of all hooks.
    pub(crate) logs: bool,
    /// CRDs that have moved from the chart's templates to its `crds/`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) shipped_crds: Vec<String>,
    /// Delete no CRD.
    pub(crate) keep_crds: bool,
    /// Seconds that an image may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) image_patience: Option<u64>,
}

/// How far an operation has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    form: u32,
    /// What is being done.
    pub operation: OperationKind,
    /// The step to be done next, counted from the first step after the record.
    pub step: usize,
    /// When it began.
    pub started_at: Timestamp,
    /// When waiting ends.
    pub deadline: Timestamp,
    /// The revision whose objects are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<u32>,
    /// A failed revision after that, whose objects may still be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) leftover: Option<u32>,
    /// Revisions to be marked as superseded in the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) supersede: Vec<u32>,
    /// The caller's choices.
    #[serde(default)]
    pub(crate) settings: Settings,
}

impl Progress {
    pub(crate) fn new(
        operation: OperationKind,
        started_at: Timestamp,
        timeout: std::time::Duration,
        settings: Settings,
    ) -> Self {
        let timeout = jiff::SignedDuration::try_from(timeout).unwrap_or(jiff::SignedDuration::MAX);
        let deadline = started_at.checked_add(timeout).unwrap_or(Timestamp::MAX);
        Self {
            form: FORM,
            operation,
            step: 0,
            started_at,
            deadline,
            previous: None,
            leftover: None,
            supersede: Vec::new(),
            settings,
        }
    }

    /// Reads the annotation of a record. Text that is none of ours, or of a newer form, is `None`.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str::<Self>(text)
            .ok()
            .filter(|progress| progress.form <= FORM)
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Progress, Settings};
    use crate::plan::OperationKind;
    use jiff::Timestamp;
    use std::time::Duration;

    #[test]
    fn survives_its_text_and_refuses_newer_forms() {
        let progress = Progress::new(
            OperationKind::Upgrade,
            Timestamp::UNIX_EPOCH,
            Duration::from_secs(5),
            Settings::default(),
        );
        let text = progress.to_text();
        assert_eq!(Progress::parse(&text), Some(progress));
        assert_eq!(
            Progress::parse(&text.replace("\"form\":1", "\"form\":2")),
            None
        );
        assert_eq!(Progress::parse("{}"), None);
    }

    #[test]
    fn a_timeout_without_end_is_the_end_of_time() {
        let progress = Progress::new(
            OperationKind::Install,
            Timestamp::UNIX_EPOCH,
            Duration::MAX,
            Settings::default(),
        );
        assert_eq!(progress.deadline, Timestamp::MAX);
    }
}
