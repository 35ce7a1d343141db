//! What an untagged or tagged scalar means: YAML 1.1 types as go-yaml v2 resolves them.
//!
//! The words of the table below are read in their listed case forms only (`yes`, not `yEs`). A
//! number may contain underscores; `0x`, `0o`, `0b` and a leading 0 change the base; what
//! overflows 64 bits is a float, and what overflows a float is a string. Sexagesimal numbers are
//! strings. Dates are recognised, because an explicit tag must fit and because the emitter has to
//! quote them, but they stay strings.

use crate::error::{Position, YamlError};

/// A tag, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    None,
    Null,
    Bool,
    Int,
    Float,
    Str,
    Timestamp,
    Binary,
    Merge,
    Other,
}

impl Tag {
    pub(crate) fn of(tag: Option<&str>) -> Tag {
        let Some(tag) = tag else { return Tag::None };
        match tag.strip_prefix("tag:yaml.org,2002:") {
            Some("null") => Tag::Null,
            Some("bool") => Tag::Bool,
            Some("int") => Tag::Int,
            Some("float") => Tag::Float,
            Some("str") => Tag::Str,
            Some("timestamp") => Tag::Timestamp,
            Some("binary") => Tag::Binary,
            Some("merge") => Tag::Merge,
            _ => Tag::Other,
        }
    }

    fn short(self) -> &'static str {
        match self {
            Tag::Null => "!!null",
            Tag::Bool => "!!bool",
            Tag::Int => "!!int",
            Tag::Float => "!!float",
            Tag::Timestamp => "!!timestamp",
            Tag::Binary => "!!binary",
            Tag::Merge => "!!merge",
            Tag::Str | Tag::None | Tag::Other => "!!str",
        }
    }
}

/// The meaning of a scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Meaning {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Str,
    Timestamp,
}

impl Meaning {
    fn tag(self) -> Tag {
        match self {
            Meaning::Null => Tag::Null,
            Meaning::Bool(_) => Tag::Bool,
            Meaning::Int(_) | Meaning::Uint(_) => Tag::Int,
            Meaning::Float(_) => Tag::Float,
            Meaning::Str => Tag::Str,
            Meaning::Timestamp => Tag::Timestamp,
        }
    }
}

/// The words that are no strings.
fn word(text: &str) -> Option<Meaning> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Meaning::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => {
            Meaning::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => {
            Meaning::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => Meaning::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Meaning::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Meaning::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

/// What `text` means without a tag.
#[inline]
pub(crate) fn plain(text: &str) -> Meaning {
    let Some(&first) = text.as_bytes().first() else {
        return Meaning::Null;
    };
    if first.is_ascii_lowercase() && !b"yntfo".contains(&first) {
        return Meaning::Str;
    }
    meaning(Tag::None, text)
}

/// What `text` means under `tag`.
#[inline]
pub(crate) fn resolve(
    tag: Tag,
    text: &str,
    at: impl FnOnce() -> Position,
) -> Result<Meaning, YamlError> {
    if tag == Tag::None {
        return Ok(plain(text));
    }
    tagged(tag, text, at)
}

fn tagged(tag: Tag, text: &str, at: impl FnOnce() -> Position) -> Result<Meaning, YamlError> {
    if matches!(tag, Tag::Other | Tag::Merge | Tag::Binary | Tag::Str) {
        return Ok(Meaning::Str);
    }
    let found = meaning(tag, text);
    match (tag, found) {
        (Tag::Float, Meaning::Int(value)) => Ok(Meaning::Float(int_to_float(value))),
        _ if found.tag() == tag => Ok(found),
        _ => Err(YamlError::meaning(
            format!(
                "cannot decode {} `{text}` as a {}",
                found.tag().short(),
                tag.short()
            ),
            Some(at()),
        )),
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "Go converts to the nearest float64 too"
)]
fn int_to_float(value: i64) -> f64 {
    value as f64
}

fn meaning(tag: Tag, text: &str) -> Meaning {
    let Some(&first) = text.as_bytes().first() else {
        return Meaning::Null;
    };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => {
            word(text).unwrap_or(Meaning::Str)
        }
        b'.' => word(text)
            .or_else(|| float(text).map(Meaning::Float))
            .unwrap_or(Meaning::Str),
        b'0'..=b'9' | b'+' | b'-' => word(text)
            .or_else(|| {
                let dated = matches!(tag, Tag::None | Tag::Timestamp);
                (dated && is_timestamp(text)).then_some(Meaning::Timestamp)
            })
            .or_else(|| number(text))
            .unwrap_or(Meaning::Str),
        _ => Meaning::Str,
    }
}

fn number(text: &str) -> Option<Meaning> {
    let without;
    let digits = if text.contains('_') {
        without = text.replace('_', "");
        without.as_str()
    } else {
        text
    };
    if let Some(value) = integer(digits) {
        return Some(value);
    }
    if let Some(value) = float(digits) {
        return Some(Meaning::Float(value));
    }
    // A sign inside (`0b-1`) is refused by the first attempt and taken by this one.
    if let Some(rest) = digits.strip_prefix("0b") {
        return i64::from_str_radix(rest, 2)
            .map(Meaning::Int)
            .or_else(|_| u64::from_str_radix(rest, 2).map(Meaning::Uint))
            .ok();
    }
    None
}

/// Go's `strconv.ParseInt(text, 0, 64)`, then `ParseUint`.
fn integer(text: &str) -> Option<Meaning> {
    let (negative, signed, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, true, text.get(1..)?),
        Some(b'+') => (false, true, text.get(1..)?),
        _ => (false, false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| char::from(byte).is_digit(radix)) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        return 0_i64.checked_sub_unsigned(magnitude).map(Meaning::Int);
    }
    match i64::try_from(magnitude) {
        Ok(value) => Some(Meaning::Int(value)),
        Err(_) if signed => None,
        Err(_) => Some(Meaning::Uint(magnitude)),
    }
}

/// A decimal float: sign, digits with at most one point, exponent. Overflow is no float.
fn float(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let mut at = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let digits = |from: usize| {
        bytes
            .get(from..)
            .unwrap_or_default()
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let whole = digits(at);
    at += whole;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if whole + fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    } else if whole == 0 {
        return None;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        let exponent = digits(at);
        if exponent == 0 {
            return None;
        }
        at += exponent;
    }
    if at != bytes.len() {
        return None;
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// Whether `text` is a date or a time in one of the four layouts that go-yaml tries.
pub(crate) fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 8
        || !bytes.iter().take(4).all(u8::is_ascii_digit)
        || bytes.get(4) != Some(&b'-')
    {
        return false;
    }
    date_time(text).is_some()
}

/// Takes one or two digits from the front.
fn short_number(text: &mut &str) -> Option<u32> {
    let count = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(count)?;
    *text = rest;
    digits.parse().ok()
}

fn date_time(text: &str) -> Option<()> {
    let (year, mut rest) = text.split_at_checked(4)?;
    let year: u32 = year.parse().ok()?;
    rest = rest.strip_prefix('-')?;
    let month = short_number(&mut rest).filter(|month| (1..=12).contains(month))?;
    rest = rest.strip_prefix('-')?;
    let day = short_number(&mut rest).filter(|&day| day >= 1 && day <= days_in(month, year))?;
    if rest.is_empty() {
        return Some(());
    }
    let _ = day;
    let zoned = rest.starts_with(['T', 't']);
    rest = if zoned {
        rest.get(1..)?
    } else {
        // One space in the layout stands for any number of them.
        let trimmed = rest.trim_start_matches(' ');
        (trimmed.len() < rest.len()).then_some(trimmed)?
    };
    short_number(&mut rest).filter(|&hour| hour < 24)?;
    rest = rest.strip_prefix(':')?;
    short_number(&mut rest).filter(|&minute| minute < 60)?;
    rest = rest.strip_prefix(':')?;
    short_number(&mut rest).filter(|&second| second < 60)?;
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            rest = fraction.get(digits..)?;
        }
    }
    if !zoned {
        return rest.is_empty().then_some(());
    }
    if rest == "Z" {
        return Some(());
    }
    let zone = rest.strip_prefix(['+', '-'])?;
    let [h1, h2, b':', m1, m2] = zone.as_bytes() else {
        return None;
    };
    let pair = |tens: u8, ones: u8| {
        (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| (tens - b'0') * 10 + ones - b'0')
    };
    (pair(*h1, *h2)? <= 24 && pair(*m1, *m2)? <= 60).then_some(())
}

fn days_in(month: u32, year: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Whether `text` is a YAML 1.1 sexagesimal number, which older readers would take for one.
pub(crate) fn is_sexagesimal(text: &str) -> bool {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !body.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let Some((head, tail)) = body.split_once(':') else {
        return false;
    };
    if !head
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'_')
    {
        return false;
    }
    let (groups, fraction) = match tail.split_once('.') {
        Some((groups, fraction)) => (groups, fraction),
        None => (tail, ""),
    };
    fraction
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'_')
        && groups
            .split(':')
            .all(|group| matches!(group.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_go() {
        assert_eq!(plain("08"), Meaning::Float(8.0));
        assert_eq!(plain("017"), Meaning::Int(15));
        assert_eq!(plain("-0b101"), Meaning::Int(-5));
        assert_eq!(plain("0b-101"), Meaning::Int(-5));
        assert_eq!(plain("0x_1"), Meaning::Int(1));
        assert_eq!(plain("-9223372036854775808"), Meaning::Int(i64::MIN));
        assert_eq!(plain("18446744073709551615"), Meaning::Uint(u64::MAX));
        assert_eq!(
            plain("18446744073709551616"),
            Meaning::Float(18_446_744_073_709_551_616.0)
        );
        assert_eq!(plain("1e400"), Meaning::Str);
        assert_eq!(plain("+"), Meaning::Str);
        assert_eq!(plain("1."), Meaning::Float(1.0));
    }

    #[test]
    fn dates_are_checked() {
        for good in [
            "2001-12-14",
            "2001-1-2",
            "2001-12-14t21:59:43.10-05:00",
            "2001-12-14  1:2:3",
        ] {
            assert_eq!(plain(good), Meaning::Timestamp, "{good}");
        }
        for bad in [
            "2001-02-29",
            "2001-13-01",
            "2001-12-14T21:59:43",
            "2001-12-14 21:59:43Z",
        ] {
            assert_eq!(plain(bad), Meaning::Str, "{bad}");
        }
    }

    #[test]
    fn sexagesimal_parts_stay_below_sixty() {
        assert!(is_sexagesimal("1:30") && is_sexagesimal("+1_0:5:59.5_"));
        assert!(!is_sexagesimal("1:60") && !is_sexagesimal("1:") && !is_sexagesimal("a:1"));
    }
}
