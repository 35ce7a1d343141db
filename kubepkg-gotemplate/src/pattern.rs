//! Go's regular expressions, for those who need them outside of a template.

use crate::regexp::{Regexp, RegexpError};

/// A regular expression as Go reads it.
#[derive(Debug)]
pub struct Pattern(Regexp);

/// Why a text is none, in Go's words: ``error parsing regexp: missing closing ]: `[` ``.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct PatternError(RegexpError);

impl Pattern {
    /// Reads an expression.
    ///
    /// # Errors
    /// When Go refuses it, or when its program would be larger than 16 MiB.
    pub fn compile(source: &str) -> Result<Self, PatternError> {
        Regexp::compile(source.as_bytes())
            .map(Self)
            .map_err(PatternError)
    }

    /// Whether it matches anywhere in a text.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_ascii_and_errors_those_of_go() {
        let digits = Pattern::compile(r"^\d+$").unwrap();
        assert!(digits.is_match("12") && !digits.is_match("١٢"));
        let error = Pattern::compile("(?=a)").unwrap_err();
        assert_eq!(
            error.to_string(),
            "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"
        );
    }
}
