//! Questions about versions that plans ask, answered by `kubepkg-resolve` (reference §5.1).

use std::cmp::Ordering;
use std::error::Error;

use kubepkg_resolve::{SatisfiesError, Version};

/// Which of two texts cannot be read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The version.
    Version(String),
    /// The constraint.
    Constraint(String),
}

/// Whether a version satisfies a constraint.
pub(crate) fn satisfies(version: &str, constraint: &str) -> Result<bool, Problem> {
    kubepkg_resolve::satisfies(version, constraint).map_err(|error| {
        let why = error
            .source()
            .map_or_else(|| error.to_string(), ToString::to_string);
        match error {
            SatisfiesError::Version { .. } => Problem::Version(why),
            _ => Problem::Constraint(why),
        }
    })
}

/// Which of two versions is newer. Versions that cannot be read stand before all others, by their text.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    match (Version::parse(a), Version::parse(b)) {
        (Ok(version), Ok(other)) => version.cmp(&other),
        (Ok(_), Err(_)) => Ordering::Greater,
        (Err(_), Ok(_)) => Ordering::Less,
        (Err(_), Err(_)) => a.cmp(b),
    }
}

/// The constraint that follows the patch releases of a version, `~<major>.<minor>`; everything for a version
/// that cannot be read. A pre-release is named in full, because a constraint without one admits none.
pub(crate) fn patch_releases(version: &str) -> String {
    match Version::parse(version) {
        Ok(version) if version.is_prerelease() => format!(
            "~{}.{}.{}-{}",
            version.major(),
            version.minor(),
            version.patch(),
            version.prerelease()
        ),
        Ok(version) => format!("~{}.{}", version.major(), version.minor()),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_package_follows_patch_releases() {
        for version in ["1.16.2", "v1.16.2", "1.16.2-rc.1", "0.3.0"] {
            let constraint = patch_releases(version);
            assert_eq!(
                satisfies(version, &constraint),
                Ok(true),
                "{version} {constraint}"
            );
        }
        assert_eq!(patch_releases("1.16.2"), "~1.16");
        assert_eq!(patch_releases("odd"), "");
    }

    #[test]
    fn unreadable_versions_are_old() {
        assert_eq!(compare("1.0.0-2", "1.0.0-10"), Ordering::Less);
        assert_eq!(compare("odd", "0.0.1"), Ordering::Less);
        assert_eq!(compare("1.0.0", "v1.0.0"), Ordering::Equal);
    }

    #[test]
    fn problems_say_which_text_they_are_about() {
        assert!(matches!(satisfies("odd", "*"), Err(Problem::Version(_))));
        assert!(matches!(
            satisfies("1.0.0", "=>=1"),
            Err(Problem::Constraint(_))
        ));
    }
}
