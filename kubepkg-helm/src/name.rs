//! Names that Helm allows for releases and Kubernetes for objects.

use std::sync::LazyLock;

use regex::Regex;

const PATTERN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(PATTERN).ok());

/// A name that is refused, in Helm's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// There is none.
    #[error("no name provided")]
    Missing,
    /// It can't be a release's.
    #[error(
        "invalid release name, must match regex {PATTERN} and the length must not be longer than 53"
    )]
    Release,
    /// It can't be an object's.
    #[error(
        "invalid metadata name, must match regex {PATTERN} and the length must not be longer than 253"
    )]
    Object,
}

fn is_name(name: &str, longest: usize) -> bool {
    name.len() <= longest && NAME.as_ref().is_some_and(|pattern| pattern.is_match(name))
}

/// Whether a release may have this name: at most 53 characters, so that charts can add to it.
///
/// # Errors
/// [`NameError::Missing`] and [`NameError::Release`].
pub fn validate_release_name(name: &str) -> Result<(), NameError> {
    match name {
        "" => Err(NameError::Missing),
        name if is_name(name, 53) => Ok(()),
        _ => Err(NameError::Release),
    }
}

/// Whether an object may have this name: at most 253 characters.
///
/// # Errors
/// [`NameError::Object`].
pub fn validate_object_name(name: &str) -> Result<(), NameError> {
    if !name.is_empty() && is_name(name, 253) {
        Ok(())
    } else {
        Err(NameError::Object)
    }
}
