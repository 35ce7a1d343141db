//! Why a version does not satisfy a constraint, in Masterminds' words.

use std::fmt::{self, Write as _};

/// What is wrong with the version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasonKind {
    /// It is a pre-release and the group asks for releases.
    Prerelease,
    /// It is too low (`>=`, `~`, `^`).
    Less,
    /// It is too low (`>`).
    LessOrEqual,
    /// It is too high (`<=`).
    Greater,
    /// It is too high (`<`).
    GreaterOrEqual,
    /// It is the excluded one (`!=`).
    Equal,
    /// It is another one (`=`).
    NotEqual,
    /// Its major version differs.
    OtherMajor,
    /// Its major or minor version differs (`~`).
    OtherMajorOrMinor,
    /// Its minor version differs under `^0.y`.
    OtherMinorOfZero,
    /// Its minor version differs under `^0.0.z`.
    OtherMinor,
    /// Its patch version differs under `^0.0.z`.
    OtherPatchOfZero,
}

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// What is wrong.
    pub kind: ReasonKind,
    /// The version in full form.
    pub version: String,
    /// The comparator's version as written; empty for [`ReasonKind::Prerelease`].
    pub constraint: String,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (middle, end) = match self.kind {
            ReasonKind::Prerelease => {
                return write!(
                    f,
                    "{} is a prerelease version and the constraint is only looking for release \
                     versions",
                    quote(&self.version)
                );
            }
            ReasonKind::Less => ("is less than", ""),
            ReasonKind::LessOrEqual => ("is less than or equal to", ""),
            ReasonKind::Greater => ("is greater than", ""),
            ReasonKind::GreaterOrEqual => ("is greater than or equal to", ""),
            ReasonKind::Equal => ("is equal to", ""),
            ReasonKind::NotEqual => ("is not equal to", ""),
            ReasonKind::OtherMajor => ("does not have same major version as", ""),
            ReasonKind::OtherMajorOrMinor => ("does not have same major and minor version as", ""),
            ReasonKind::OtherMinorOfZero => (
                "does not have same minor version as",
                ". Expected minor versions to match when constraint major version is 0",
            ),
            ReasonKind::OtherMinor => ("does not have same minor version as", ""),
            ReasonKind::OtherPatchOfZero => (
                "does not equal",
                ". Expect version and constraint to equal when major and minor versions are 0",
            ),
        };
        write!(
            f,
            "{} {middle} {}{end}",
            quote(&self.version),
            quote(&self.constraint)
        )
    }
}

impl std::error::Error for Reason {}

/// Text in quotes as Go's `%q` writes it.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{C}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{B}' => out.push_str("\\v"),
            ' '..='~' => out.push(c),
            _ if is_print(c) => out.push(c),
            '\0'..='\u{7F}' => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            '\u{80}'..='\u{FFFF}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}

/// The standard library escapes a combining mark only at the start of a text, hence the letter.
fn is_print(c: char) -> bool {
    let text: String = ['a', c].iter().collect();
    text.escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn quotes_like_go() {
        assert_eq!(
            quote("a\"\\\n\u{0}é\u{A0}"),
            "\"a\\\"\\\\\\n\\x00é\\u00a0\""
        );
    }
}
