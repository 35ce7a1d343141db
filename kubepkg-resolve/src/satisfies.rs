//! The question that requirements ask: does an installed version satisfy a constraint?
//!
//! Reference section 5.1: a blank constraint accepts everything; a package without a version
//! satisfies nothing else; a text that cannot be read is an error, not "no".

use crate::constraint::{Constraint, ConstraintError};
use crate::version::{Version, VersionError};

/// The version of a package whose manifests name none.
pub const UNVERSIONED: &str = "0.0.0-unversioned";

/// Why the question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SatisfiesError {
    /// The version cannot be read.
    #[error("version {} cannot be read", crate::reason::quote(text))]
    Version {
        /// The text.
        text: String,
        /// Why.
        #[source]
        source: VersionError,
    },
    /// The constraint cannot be read.
    #[error("constraint {} cannot be read", crate::reason::quote(text))]
    Constraint {
        /// The text.
        text: String,
        /// Why.
        #[source]
        source: ConstraintError,
    },
}

/// Whether `version` satisfies `constraint`.
///
/// # Errors
/// A text that cannot be read. The version is not looked at when the constraint is blank.
pub fn satisfies(version: &str, constraint: &str) -> Result<bool, SatisfiesError> {
    if constraint.trim().is_empty() {
        return Ok(true);
    }
    let parsed = Constraint::parse(constraint).map_err(|source| SatisfiesError::Constraint {
        text: constraint.to_owned(),
        source,
    })?;
    if version.is_empty() || version == UNVERSIONED {
        return Ok(false);
    }
    let version = Version::parse(version).map_err(|source| SatisfiesError::Version {
        text: version.to_owned(),
        source,
    })?;
    Ok(parsed.matches(&version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_accepts_all_and_unversioned_satisfies_nothing_else() {
        assert_eq!(satisfies("", " "), Ok(true));
        assert_eq!(satisfies("garbage", ""), Ok(true));
        assert_eq!(satisfies("", "*"), Ok(false));
        assert_eq!(satisfies(UNVERSIONED, ">=0.0.0-0"), Ok(false));
        assert_eq!(satisfies("v1.4", "^1.2"), Ok(true));
        assert!(satisfies("1.0.0", "== 1").is_err());
        assert!(satisfies("one", "*").is_err());
    }
}
