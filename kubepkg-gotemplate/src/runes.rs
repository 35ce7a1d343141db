//! The little of Unicode that the template language needs: classes of code points and decoding of
//! bytes that may not be UTF-8. Source: packages `unicode` and `unicode/utf8` of Go 1.26.

use crate::rune_tables::{DIGIT, LETTER, PRINT};

fn contains(table: &[(u32, u32)], c: char) -> bool {
    let code = u32::from(c);
    table
        .binary_search_by(|(first, last)| {
            if *last < code {
                std::cmp::Ordering::Less
            } else if *first > code {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
        .is_ok()
}

/// `unicode.IsLetter`
pub(crate) fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || (!c.is_ascii() && contains(LETTER, c))
}

/// `unicode.IsDigit`
pub(crate) fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || (!c.is_ascii() && contains(DIGIT, c))
}

/// `unicode.IsPrint`, which is also `strconv.IsPrint`: letters, marks, numbers, punctuation,
/// symbols and the ASCII space.
pub(crate) fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    contains(PRINT, c)
}

/// Decodes the first code point: `None` for an invalid sequence (of width 1) or empty input (width 0).
pub(crate) fn decode(bytes: &[u8]) -> (Option<char>, usize) {
    let Some(&first) = bytes.first() else {
        return (None, 0);
    };
    if first < 0x80 {
        return (Some(char::from(first)), 1);
    }
    let width = match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return (None, 1),
    };
    match bytes
        .get(..width)
        .and_then(|b| std::str::from_utf8(b).ok())
        .and_then(|s| s.chars().next())
    {
        Some(c) => (Some(c), width),
        None => (None, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_go() {
        assert!(is_letter('é') && is_letter('ª') && !is_letter('½'));
        assert!(is_digit('٣') && !is_digit('²'));
        assert!(is_print('½') && !is_print('\u{a0}') && !is_print('\u{ad}'));
    }

    #[test]
    fn invalid_bytes_have_width_one() {
        assert_eq!(decode(b"\xff"), (None, 1));
        assert_eq!(decode(b"\xe2\x82"), (None, 1));
        assert_eq!(decode("€".as_bytes()), (Some('€'), 3));
    }
}
