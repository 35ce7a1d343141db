//! Go's regular expressions, for those who need them outside of a template.

use std::convert::Infallible;

use crate::regexp::{Regexp, RegexpError, Work};

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

    /// The parts of a text that match, at most so many of them, or all when the limit is negative: `FindAllString`.
    #[must_use]
    pub fn find_all<'t>(&self, text: &'t str, limit: i64) -> Vec<&'t str> {
        let Ok(found) = self.0.find_all(text.as_bytes(), limit, &mut Unpaid);
        let parts = found.into_iter();
        parts
            .filter_map(|(start, end)| text.get(start..end))
            .collect()
    }
}

/// Searches that nobody pays for.
struct Unpaid;

impl Work for Unpaid {
    type Error = Infallible;

    fn search(&mut self, _: usize) -> Result<(), Infallible> {
        Ok(())
    }

    fn write(&mut self, _: usize) -> Result<(), Infallible> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_ascii_and_errors_those_of_go() {
        let digits = Pattern::compile(r"^\d+$").unwrap();
        assert!(digits.is_match("12") && !digits.is_match("١٢"));
        let ells = Pattern::compile("l*").unwrap();
        assert_eq!(ells.find_all("halls", -1), ["", "", "ll", ""]);
        assert_eq!(ells.find_all("halls", 1), [""]);
        let error = Pattern::compile("(?=a)").unwrap_err();
        assert_eq!(
            error.to_string(),
            "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"
        );
    }
}
