//! Versions as Helm reads them: loosely (`1`, `v1.2`, `01.2.3` are versions), and checked against constraints.

use kubepkg_resolve::{Constraint, Version};

/// Whether `text` is a version.
pub(crate) fn is_version(text: &str) -> bool {
    Version::parse(text).is_ok()
}

/// Whether `version` fits `constraint`; what can't be read fits nothing.
pub(crate) fn is_compatible(constraint: &str, version: &str) -> bool {
    match (Constraint::parse(constraint), Version::parse(version)) {
        (Ok(constraint), Ok(version)) => constraint.matches(&version),
        _ => false,
    }
}
