//! The revisions of a package: the table of `history`, and which one `rollback` means (reference §3.2).

use kubepkg_api::{PackageRevision, Phase};

use crate::table::{Table, one_line};

/// Why there is nothing to roll back to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RollbackError {
    /// No earlier revision was ever applied.
    #[error("{package} has no earlier revision that was applied")]
    NoEarlier {
        /// The package.
        package: String,
    },
    /// The revision that was named does not exist.
    #[error("{package} has no revision {revision}")]
    Unknown {
        /// The package.
        package: String,
        /// The number that was given.
        revision: i64,
        /// The ones that can be restored, newest first.
        available: Vec<i64>,
    },
    /// The revision that was named never held.
    #[error(
        "revision {revision} of {package} is {phase}; only one that was applied can be restored"
    )]
    NotRestorable {
        /// The package.
        package: String,
        /// The number that was given.
        revision: i64,
        /// What became of it.
        phase: Phase,
    },
}

/// The revision to restore: the one that is named, else the newest one before the current that was applied.
///
/// # Errors
/// [`RollbackError`] when there is none.
pub(crate) fn target(
    package: &str,
    revisions: &[PackageRevision],
    current: i64,
    named: Option<i64>,
) -> Result<i64, RollbackError> {
    let number = |revision: &PackageRevision| revision.spec.revision;
    let mut restorable: Vec<i64> = revisions
        .iter()
        .filter(|revision| revision.phase().was_applied())
        .map(number)
        .collect();
    restorable.sort_unstable_by(|a, b| b.cmp(a));
    let package = package.to_owned();
    let Some(named) = named else {
        return restorable
            .into_iter()
            .find(|revision| *revision < current)
            .ok_or(RollbackError::NoEarlier { package });
    };
    match revisions.iter().find(|revision| number(revision) == named) {
        None => Err(RollbackError::Unknown {
            package,
            revision: named,
            available: restorable,
        }),
        Some(found) if found.phase().was_applied() => Ok(named),
        Some(found) => Err(RollbackError::NotRestorable {
            package,
            revision: named,
            phase: found.phase(),
        }),
    }
}

/// Revisions by number, oldest first.
pub(crate) fn sort(revisions: &mut [PackageRevision]) {
    revisions.sort_by_key(|revision| revision.spec.revision);
}

/// The table of `history`, oldest first.
pub(crate) fn table(revisions: &[PackageRevision], wide: bool) -> Table {
    let header: &[&str] = if wide {
        &[
            "REVISION",
            "VERSION",
            "VARIANT",
            "COMPONENTS",
            "PHASE",
            "CREATED",
            "NOTE",
        ]
    } else {
        &["REVISION", "VERSION", "PHASE", "CREATED", "NOTE"]
    };
    let mut table = Table::new(header).with_remarks();
    for revision in revisions {
        let spec = &revision.spec;
        let created = revision
            .metadata
            .creation_timestamp
            .as_ref()
            .map(|time| time.0.strftime("%Y-%m-%d %H:%M:%S").to_string())
            .unwrap_or_default();
        let mut cells = vec![
            spec.revision.to_string().into(),
            spec.version.as_str().into(),
        ];
        if wide {
            cells.push(spec.variant.as_str().into());
            cells.push(spec.components.len().to_string().into());
        }
        cells.extend([
            revision.phase().as_str().into(),
            created.into(),
            note(revision).into(),
        ]);
        table.row(cells);
    }
    table
}

fn note(revision: &PackageRevision) -> String {
    let message = revision
        .status
        .as_ref()
        .map(|status| one_line(&status.message))
        .unwrap_or_default();
    if message.is_empty() && revision.spec.restored_from > 0 {
        return format!("restored from {}", revision.spec.restored_from);
    }
    message
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn revision(number: i64, phase: &str, message: &str, restored_from: i64) -> PackageRevision {
        serde_json::from_value(json!({
            "metadata": { "name": format!("cert-manager-{number}"), "creationTimestamp": "2026-10-06T02:36:08Z" },
            "spec": { "package": "cert-manager", "revision": number, "version": "1.21.2", "restoredFrom": restored_from },
            "status": { "phase": phase, "message": message }
        }))
        .unwrap()
    }

    fn history() -> Vec<PackageRevision> {
        vec![
            revision(1, "Superseded", "", 0),
            revision(2, "Failed", "component c:\n  timed out", 0),
            revision(3, "Applied", "", 1),
        ]
    }

    /// The example of the reference, Appendix B, with the notes of §3.2.
    #[test]
    fn history_is_a_table_with_notes() {
        let text = table(&history(), false).render();
        insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string(), @r"
        REVISION  VERSION  PHASE       CREATED              NOTE
        1         1.21.2   Superseded  2026-10-06 02:36:08
        2         1.21.2   Failed      2026-10-06 02:36:08  component c: timed out
        3         1.21.2   Applied     2026-10-06 02:36:08  restored from 1
        ");
    }

    #[test]
    fn rollback_goes_to_the_newest_earlier_revision_that_was_applied() {
        assert_eq!(target("a", &history(), 3, None), Ok(1));
        assert_eq!(
            target("a", &history(), 1, None),
            Err(RollbackError::NoEarlier {
                package: "a".into()
            })
        );
        assert_eq!(target("a", &history(), 3, Some(1)), Ok(1));
    }

    #[test]
    fn a_named_revision_must_have_been_applied() {
        assert_eq!(
            target("a", &history(), 3, Some(2)),
            Err(RollbackError::NotRestorable {
                package: "a".into(),
                revision: 2,
                phase: Phase::Failed
            })
        );
        assert_eq!(
            target("a", &history(), 3, Some(9)),
            Err(RollbackError::Unknown {
                package: "a".into(),
                revision: 9,
                available: vec![3, 1]
            })
        );
    }
}
