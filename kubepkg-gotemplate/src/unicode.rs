//! Character classes and simple case mapping as Go's `unicode` package has them.
//!
//! Go knows general categories of Unicode 15 and maps case one character to one; Rust's own methods
//! follow derived properties of a newer Unicode and may map one character to several. The classes
//! are taken from the tables of the regular expression parser, cut to the characters of Unicode 15.

use std::sync::LazyLock;

pub(crate) use crate::runes::{is_digit, is_letter};
use regex_syntax::hir::{Class, HirKind};

struct Table(Vec<(char, char)>);

impl Table {
    fn new(class: &str) -> Self {
        let pattern = format!("[{class}&&\\p{{Age:15.0}}]");
        let Ok(hir) = regex_syntax::parse(&pattern) else {
            return Self(Vec::new());
        };
        match hir.kind() {
            HirKind::Class(Class::Unicode(class)) => Self(
                class
                    .iter()
                    .map(|range| (range.start(), range.end()))
                    .collect(),
            ),
            _ => Self(Vec::new()),
        }
    }

    fn has(&self, c: char) -> bool {
        self.0
            .binary_search_by(|(low, high)| {
                if c < *low {
                    std::cmp::Ordering::Greater
                } else if c > *high {
                    std::cmp::Ordering::Less
                } else {
                    std::cmp::Ordering::Equal
                }
            })
            .is_ok()
    }
}

static UPPER: LazyLock<Table> = LazyLock::new(|| Table::new("\\p{Lu}"));
static LOWER: LazyLock<Table> = LazyLock::new(|| Table::new("\\p{Ll}"));
static TITLE: LazyLock<Table> = LazyLock::new(|| Table::new("\\p{Lt}"));
static NUMBER: LazyLock<Table> = LazyLock::new(|| Table::new("\\p{N}"));
static PUNCT: LazyLock<Table> = LazyLock::new(|| Table::new("\\p{P}"));

/// `unicode.IsUpper`.
pub(crate) fn is_upper(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_uppercase()
    } else {
        UPPER.has(c)
    }
}

/// `unicode.IsLower`.
pub(crate) fn is_lower(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_lowercase()
    } else {
        LOWER.has(c)
    }
}

/// `unicode.IsTitle`.
pub(crate) fn is_title(c: char) -> bool {
    !c.is_ascii() && TITLE.has(c)
}

/// `unicode.IsNumber`.
pub(crate) fn is_number(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_digit()
    } else {
        NUMBER.has(c)
    }
}

/// `unicode.IsPunct`.
pub(crate) fn is_punct(c: char) -> bool {
    PUNCT.has(c)
}

/// `unicode.IsSpace`.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace()
}

/// `unicode.ToUpper`: one character to one.
pub(crate) fn to_upper(c: char) -> char {
    let mut mapped = c.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(upper), None) => upper,
        // The Greek letters with iota below have a single character for upper case.
        _ => match u32::from(c) {
            n @ (0x1f80..=0x1f87 | 0x1f90..=0x1f97 | 0x1fa0..=0x1fa7) => {
                char::from_u32(n + 8).unwrap_or(c)
            }
            0x1fb3 => '\u{1fbc}',
            0x1fc3 => '\u{1fcc}',
            0x1ff3 => '\u{1ffc}',
            _ => c,
        },
    }
}

/// `unicode.ToLower`: one character to one.
pub(crate) fn to_lower(c: char) -> char {
    let mut mapped = c.to_lowercase();
    match (mapped.next(), mapped.next()) {
        (Some(lower), None) => lower,
        // Only U+0130 maps to two characters; its simple mapping is the first of them.
        (Some(first), Some(_)) => first,
        _ => c,
    }
}

/// `unicode.ToTitle`: upper case but for the digraphs and the Georgian letters.
pub(crate) fn to_title(c: char) -> char {
    match u32::from(c) {
        0x1c4..=0x1c6 => '\u{1c5}',
        0x1c7..=0x1c9 => '\u{1c8}',
        0x1ca..=0x1cc => '\u{1cb}',
        0x1f1..=0x1f3 => '\u{1f2}',
        0x10d0..=0x10fa | 0x10fd..=0x10ff => c,
        _ => to_upper(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_maps_one_to_one() {
        assert_eq!(to_upper('ß'), 'ß');
        assert_eq!(to_upper('ᾳ'), 'ᾼ');
        assert_eq!(to_lower('İ'), 'i');
        assert_eq!(to_title('ǆ'), 'ǅ');
        assert_eq!(to_upper('ŉ'), 'ŉ');
    }

    #[test]
    fn classes_are_general_categories() {
        assert!(is_upper('É') && !is_upper('Ⅷ'));
        assert!(is_letter('日') && !is_letter('\u{301}'));
        assert!(is_number('½') && !is_digit('½'));
        // Assigned in Unicode 16 only.
        assert!(!is_upper('\u{1c89}'));
    }
}
