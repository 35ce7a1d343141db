//! Names that Helm allows for releases and Kubernetes for objects.

const PATTERN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

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
    name.len() <= longest && is_subdomain(name)
}

/// Whether this is a label of RFC 1123, whatever its length. By hand: a pattern would have to be compiled first.
pub(crate) fn is_label(name: &str) -> bool {
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let (first, last) = (name.bytes().next(), name.bytes().last());
    first.is_some_and(|byte| plain(&byte))
        && last.is_some_and(|byte| plain(&byte))
        && name.bytes().all(|byte| plain(&byte) || byte == b'-')
}

/// Whether these are labels of RFC 1123 with dots between, whatever their length.
pub(crate) fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_pattern() {
        // Expected: the pattern itself.
        let pattern = regex::Regex::new(PATTERN).unwrap();
        let signs = ["a", "0", "-", ".", "A", "\n", "é"];
        for number in 0..signs.len().pow(5) {
            let sign = |place: u32| signs[number / signs.len().pow(place) % signs.len()];
            let name: String = (0..5).map(sign).collect();
            for name in (0..=name.len()).filter_map(|end| name.get(..end)) {
                assert_eq!(is_subdomain(name), pattern.is_match(name), "{name:?}");
            }
        }
    }
}
