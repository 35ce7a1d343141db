//! Integers from text: `strconv.ParseInt`, `ParseUint` and `Atoi` with Go's error words.

use super::float::underscores_ok;
use super::quote::quote;

/// Why a number could not be read; the text is Go's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum NumErrorKind {
    /// The text is not a number.
    Syntax,
    /// The number does not fit.
    Range,
    /// The base is not 0 or 2 to 36.
    Base(u32),
}

/// Go's `*strconv.NumError`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("strconv.{function}: parsing {}: {}", quote(text.as_bytes()), self.reason())]
pub(crate) struct NumError {
    /// The Go function that failed.
    pub(crate) function: &'static str,
    /// The text it was given.
    pub(crate) text: String,
    /// What was wrong.
    pub(crate) kind: NumErrorKind,
}

impl NumError {
    pub(super) fn new(function: &'static str, text: &str, kind: NumErrorKind) -> Self {
        Self {
            function,
            text: text.to_owned(),
            kind,
        }
    }

    fn reason(&self) -> String {
        match self.kind {
            NumErrorKind::Syntax => "invalid syntax".to_owned(),
            NumErrorKind::Range => "value out of range".to_owned(),
            NumErrorKind::Base(base) => format!("invalid base {base}"),
        }
    }
}

/// `strconv.ParseUint(text, base, bits)`; base 0 reads Go's prefixes and underscores.
///
/// # Errors
/// Bad syntax, or more than `bits` bits.
pub(crate) fn parse_uint(text: &str, base: u32, bits: u32) -> Result<u64, NumError> {
    parse_magnitude("ParseUint", text, text.as_bytes(), base, bits)
}

fn parse_magnitude(
    function: &'static str,
    whole: &str,
    text: &[u8],
    base: u32,
    bits: u32,
) -> Result<u64, NumError> {
    let fail = |kind| NumError::new(function, whole, kind);
    if text.is_empty() {
        return Err(fail(NumErrorKind::Syntax));
    }
    let (digits, base, loose) = match base {
        2..=36 => (text, base, false),
        0 => {
            if text.len() >= 3 && text[0] == b'0' {
                match text[1].to_ascii_lowercase() {
                    b'b' => (&text[2..], 2, true),
                    b'o' => (&text[2..], 8, true),
                    b'x' => (&text[2..], 16, true),
                    _ => (&text[1..], 8, true),
                }
            } else if text[0] == b'0' && text.len() > 1 {
                (&text[1..], 8, true)
            } else {
                (text, 10, true)
            }
        }
        other => return Err(fail(NumErrorKind::Base(other))),
    };
    let max = if bits == 0 || bits >= 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    };
    let mut value = 0_u64;
    let mut underscores = false;
    for byte in digits {
        if *byte == b'_' && loose {
            underscores = true;
            continue;
        }
        let digit = char::from(*byte)
            .to_digit(36)
            .filter(|digit| byte.is_ascii() && *digit < base)
            .ok_or_else(|| fail(NumErrorKind::Syntax))?;
        // Go stops at the first digit that does not fit.
        value = value
            .checked_mul(u64::from(base))
            .and_then(|v| v.checked_add(u64::from(digit)))
            .filter(|v| *v <= max)
            .ok_or_else(|| fail(NumErrorKind::Range))?;
    }
    if underscores && !underscores_ok(text) {
        return Err(fail(NumErrorKind::Syntax));
    }
    Ok(value)
}

/// `strconv.ParseInt(text, base, bits)`.
///
/// # Errors
/// Bad syntax, or a value that a signed integer of `bits` bits does not hold.
pub(crate) fn parse_int(text: &str, base: u32, bits: u32) -> Result<i64, NumError> {
    parse_signed("ParseInt", text, base, bits)
}

/// `strconv.Atoi`.
///
/// # Errors
/// As [`parse_int`] with base 10 and 64 bits, in the name of `Atoi`.
pub(crate) fn atoi(text: &str) -> Result<i64, NumError> {
    parse_signed("Atoi", text, 10, 64)
}

fn parse_signed(function: &'static str, text: &str, base: u32, bits: u32) -> Result<i64, NumError> {
    let bytes = text.as_bytes();
    let (negative, rest) = match bytes.first() {
        Some(b'+') => (false, &bytes[1..]),
        Some(b'-') => (true, &bytes[1..]),
        _ => (false, bytes),
    };
    let magnitude = parse_magnitude(function, text, rest, base, 64)?;
    let bits = if bits == 0 || bits > 64 { 64 } else { bits };
    let limit = 1_u64 << (bits - 1);
    let range = || NumError::new(function, text, NumErrorKind::Range);
    if negative {
        if magnitude > limit {
            return Err(range());
        }
        return Ok(0_i64.wrapping_sub_unsigned(magnitude));
    }
    if magnitude >= limit {
        return Err(range());
    }
    i64::try_from(magnitude).map_err(|_| range())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_zero_reads_prefixes_and_underscores() {
        assert_eq!(parse_int("0x1F", 0, 64), Ok(31));
        assert_eq!(parse_int("010", 0, 64), Ok(8));
        assert_eq!(parse_int("1_000", 0, 64), Ok(1000));
        assert_eq!(parse_int("-0b11", 0, 64), Ok(-3));
        assert_eq!(parse_int("0", 0, 64), Ok(0));
        assert!(parse_int("08", 0, 64).is_err());
        assert!(parse_int("1__0", 0, 64).is_err());
        assert!(parse_int("1_000", 10, 64).is_err());
        assert!(parse_int("0x", 0, 64).is_err());
    }

    #[test]
    fn range_is_checked_for_the_asked_width() {
        assert_eq!(parse_int("-9223372036854775808", 10, 64), Ok(i64::MIN));
        assert_eq!(
            parse_int("9223372036854775808", 10, 64).map_err(|e| e.to_string()),
            Err("strconv.ParseInt: parsing \"9223372036854775808\": value out of range".into())
        );
        assert_eq!(
            atoi("x").map_err(|e| e.to_string()),
            Err("strconv.Atoi: parsing \"x\": invalid syntax".into())
        );
    }
}
