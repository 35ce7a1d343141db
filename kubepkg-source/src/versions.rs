//! Which version of a chart is meant: an exact one, a constraint, or none for the highest.
//!
//! The rules are Helm's: a version that is there letter by letter is taken; otherwise the text is a constraint, and
//! the first version that satisfies it wins, so candidates stand from the highest down. Tags of a registry count when
//! they are strict semantic versions once `_` is read as `+`; others, such as `latest` or `v1.2.3`, are not versions
//! there (vectors `tag-match` and `get`).

use kubepkg_resolve::{Constraint, ConstraintError, Version};

/// No version was selected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// The text is neither a version that is there nor a constraint.
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    /// Nothing satisfies it.
    #[error("could not locate a version matching provided version string {wanted}")]
    None {
        /// What was wanted; empty for any stable version.
        wanted: String,
    },
}

/// Selects among versions that stand from the highest down. An empty text means the highest stable version.
///
/// # Errors
///
/// The text is no constraint, or nothing satisfies it.
pub fn select_version<'a>(versions: &[&'a str], wanted: &str) -> Result<&'a str, SelectError> {
    if !wanted.is_empty()
        && let Some(exact) = versions.iter().find(|version| **version == wanted)
    {
        return Ok(exact);
    }
    let constraint = constraint(wanted)?;
    versions
        .iter()
        .find(|version| Version::parse(version).is_ok_and(|version| constraint.matches(&version)))
        .copied()
        .ok_or_else(|| SelectError::None {
            wanted: wanted.to_owned(),
        })
}

/// The constraint that a text means; none is any stable version.
pub(crate) fn constraint(wanted: &str) -> Result<Constraint, ConstraintError> {
    Constraint::parse(if wanted.is_empty() { "*" } else { wanted })
}

/// The versions that tags mean, from the highest down.
pub(crate) fn versions_of_tags(tags: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut versions: Vec<Version> = tags
        .into_iter()
        .filter_map(|tag| Version::parse_strict(&tag.replace('_', "+")).ok())
        .collect();
    versions.sort_by(|a, b| b.cmp(a).then_with(|| a.original().cmp(b.original())));
    versions
        .into_iter()
        .map(|version| version.original().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_strict_versions_from_the_highest_down() {
        let tags = ["latest", "1.0.0", "v3.0.0", "2.0.0_b.1", "1.10.0", "1.5"].map(String::from);
        assert_eq!(versions_of_tags(tags), ["2.0.0+b.1", "1.10.0", "1.0.0"]);
    }

    #[test]
    fn nothing_is_selected_among_nothing() {
        assert!(matches!(
            select_version(&[], ""),
            Err(SelectError::None { .. })
        ));
    }
}
