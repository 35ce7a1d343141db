//! Floating point numbers as text: `strconv.FormatFloat` and `strconv.ParseFloat`.
//!
//! Refuses nothing on output: an unknown format letter answers `%` and the letter, as Go does. On
//! input it takes Go's whole syntax (decimal, hexadecimal, underscores only where a base prefix
//! allows them, `inf`, `infinity`, `nan` in any case).

use super::int::{NumError, NumErrorKind};

/// Decimal digits `0.d1d2d3... * 10^point` of a non-negative finite number.
struct Digits {
    digits: Vec<u8>,
    point: i32,
}

/// Splits Rust's `d.ddde±x` into digits and decimal point; zero has no digits.
fn split(text: &str) -> Digits {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if digits.iter().all(|d| *d == b'0') {
        digits.clear();
        return Digits { digits, point: 0 };
    }
    while digits.last() == Some(&b'0') {
        digits.pop();
    }
    Digits {
        digits,
        point: exponent + 1,
    }
}

fn shortest(value: f64, bits: u32) -> Digits {
    if bits == 32 {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a 32-bit float was asked for"
        )]
        return split(&format!("{:e}", value as f32));
    }
    split(&format!("{value:e}"))
}

/// `strconv.FormatFloat`. `format` is one of `e E f g G b x X`; `precision` `None` asks for the
/// fewest digits that read back to the same number of `bits` (32 or 64).
#[must_use]
pub(crate) fn format_float(value: f64, format: u8, precision: Option<usize>, bits: u32) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let negative = value.is_sign_negative();
    let magnitude = value.abs();
    let mut out = String::new();
    if negative {
        out.push('-');
    }
    match format {
        b'b' => binary_exponent(&mut out, magnitude, bits),
        b'x' | b'X' => hexadecimal(&mut out, magnitude, format, precision, bits),
        b'f' => {
            if let Some(precision) = precision {
                out.push_str(&fixed_exact(magnitude, precision));
            } else {
                let digits = shortest(magnitude, bits);
                let decimals = usize::try_from(
                    i32::try_from(digits.digits.len()).unwrap_or(i32::MAX) - digits.point,
                )
                .unwrap_or(0);
                fixed(&mut out, &digits, decimals);
            }
        }
        b'e' | b'E' => {
            let (digits, precision) = if let Some(precision) = precision {
                (exact(magnitude, precision + 1), precision)
            } else {
                let digits = shortest(magnitude, bits);
                let precision = digits.digits.len().saturating_sub(1);
                (digits, precision)
            };
            exponent(&mut out, &digits, precision, format);
        }
        b'g' | b'G' => general(&mut out, magnitude, format, precision, bits),
        other => {
            out.clear();
            out.push('%');
            out.push(other as char);
        }
    }
    out
}

/// Digits rounded half to even on the exact value, `count` of them at most.
fn exact(value: f64, count: usize) -> Digits {
    // No double has more than 767 significant digits; more would only be zeros.
    let count = count.clamp(1, 800);
    split(&format!("{value:.*e}", count - 1))
}

fn fixed_exact(value: f64, precision: usize) -> String {
    // No double has more than 1074 decimals.
    let shown = precision.min(1100);
    let mut text = format!("{value:.shown$}");
    text.extend(std::iter::repeat_n('0', precision - shown));
    text
}

/// `%g`: the exponent form below 1e-4 and from the precision on (6 when the shortest is asked for).
fn general(out: &mut String, value: f64, format: u8, precision: Option<usize>, bits: u32) {
    let as_i32 = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let (digits, limit) = if let Some(precision) = precision {
        let digits = exact(value, precision.max(1));
        let count = as_i32(digits.digits.len());
        let wanted = as_i32(precision.max(1));
        let limit = if wanted > count && count >= digits.point {
            count
        } else {
            wanted
        };
        (digits, limit)
    } else {
        (shortest(value, bits), 6)
    };
    let exp = digits.point - 1;
    if exp < -4 || exp >= limit {
        let letter = if format == b'G' { b'E' } else { b'e' };
        exponent(out, &digits, digits.digits.len().saturating_sub(1), letter);
    } else {
        let decimals = as_i32(digits.digits.len()) - digits.point;
        fixed(out, &digits, usize::try_from(decimals).unwrap_or(0));
    }
}

/// `d.ddde±xx` with exactly `precision` decimals.
fn exponent(out: &mut String, digits: &Digits, precision: usize, letter: u8) {
    out.push(char::from(*digits.digits.first().unwrap_or(&b'0')));
    if precision > 0 {
        out.push('.');
        for i in 1..=precision {
            out.push(char::from(*digits.digits.get(i).unwrap_or(&b'0')));
        }
    }
    out.push(char::from(letter));
    let exp = if digits.digits.is_empty() {
        0
    } else {
        digits.point - 1
    };
    out.push(if exp < 0 { '-' } else { '+' });
    let exp = exp.unsigned_abs();
    if exp < 10 {
        out.push('0');
    }
    out.push_str(&exp.to_string());
}

/// `ddd.ddd` with exactly `precision` decimals.
fn fixed(out: &mut String, digits: &Digits, precision: usize) {
    if digits.point > 0 {
        let whole = usize::try_from(digits.point).unwrap_or(0);
        for i in 0..whole {
            out.push(char::from(*digits.digits.get(i).unwrap_or(&b'0')));
        }
    } else {
        out.push('0');
    }
    if precision > 0 {
        out.push('.');
        for i in 0..precision {
            let at = digits.point + i32::try_from(i).unwrap_or(i32::MAX);
            let digit = usize::try_from(at)
                .ok()
                .and_then(|at| digits.digits.get(at));
            out.push(char::from(*digit.unwrap_or(&b'0')));
        }
    }
}

/// Mantissa and exponent such that the value is `mantissa * 2^exponent`, in the given width.
fn parts(value: f64, bits: u32) -> (u64, i32) {
    if bits == 32 {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a 32-bit float was asked for"
        )]
        let raw = (value as f32).to_bits();
        let exponent = i32::try_from((raw >> 23) & 0xff).unwrap_or(0);
        let mantissa = u64::from(raw & 0x7f_ffff);
        return if exponent == 0 {
            (mantissa, 1 - 127 - 23)
        } else {
            (mantissa | 0x80_0000, exponent - 127 - 23)
        };
    }
    let raw = value.to_bits();
    let exponent = i32::try_from((raw >> 52) & 0x7ff).unwrap_or(0);
    let mantissa = raw & 0xf_ffff_ffff_ffff;
    if exponent == 0 {
        (mantissa, 1 - 1023 - 52)
    } else {
        (mantissa | 0x10_0000_0000_0000, exponent - 1023 - 52)
    }
}

fn binary_exponent(out: &mut String, value: f64, bits: u32) {
    let (mantissa, exponent) = parts(value, bits);
    out.push_str(&mantissa.to_string());
    out.push('p');
    if exponent >= 0 {
        out.push('+');
    }
    out.push_str(&exponent.to_string());
}

fn hexadecimal(out: &mut String, value: f64, format: u8, precision: Option<usize>, bits: u32) {
    let (mut mantissa, raw_exponent) = parts(value, bits);
    let mantissa_bits = if bits == 32 { 23 } else { 52 };
    let mut exponent = raw_exponent + mantissa_bits;
    if mantissa == 0 {
        exponent = 0;
    }
    // Put the leading 1 at bit 60: then four bits are one digit.
    mantissa <<= 60 - mantissa_bits;
    while mantissa != 0 && mantissa & (1 << 60) == 0 {
        mantissa <<= 1;
        exponent -= 1;
    }
    if let Some(precision) = precision
        && precision < 15
    {
        let shift = precision * 4;
        let extra = (mantissa << shift) & ((1 << 60) - 1);
        mantissa >>= 60 - shift;
        if extra | (mantissa & 1) > 1 << 59 {
            mantissa += 1;
        }
        mantissa <<= 60 - shift;
        if mantissa & (1 << 61) != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let table: &[u8; 16] = if format == b'X' {
        b"0123456789ABCDEF"
    } else {
        b"0123456789abcdef"
    };
    out.push('0');
    out.push(char::from(format));
    out.push(if (mantissa >> 60) & 1 == 1 { '1' } else { '0' });
    mantissa <<= 4;
    let wanted = precision.unwrap_or(usize::MAX);
    if precision.is_none() && mantissa != 0 || precision.is_some_and(|p| p > 0) {
        out.push('.');
        let mut written = 0;
        while written < wanted && (precision.is_some() || mantissa != 0) {
            let nibble = usize::try_from((mantissa >> 60) & 15).unwrap_or(0);
            out.push(char::from(*table.get(nibble).unwrap_or(&b'0')));
            mantissa <<= 4;
            written += 1;
        }
    }
    out.push(if format == b'X' { 'P' } else { 'p' });
    out.push(if exponent < 0 { '-' } else { '+' });
    let exponent = exponent.unsigned_abs();
    if exponent < 10 {
        out.push('0');
    }
    out.push_str(&exponent.to_string());
}

/// `strconv.ParseFloat(text, 64)`. On a range error Go also answers ±Inf; here the error is the
/// whole answer, and the number travels in [`NumErrorKind::Range`]'s sign of `text`.
///
/// # Errors
/// Bad syntax, or a magnitude past the largest finite double.
pub(crate) fn parse_float(text: &str) -> Result<f64, NumError> {
    let syntax = || NumError::new("ParseFloat", text, NumErrorKind::Syntax);
    let bytes = text.as_bytes();
    let (negative, rest) = match bytes.first() {
        Some(b'-') => (true, bytes.get(1..).unwrap_or(b"")),
        Some(b'+') => (false, bytes.get(1..).unwrap_or(b"")),
        _ => (false, bytes),
    };
    let sign = if negative { -1.0 } else { 1.0 };
    if rest.eq_ignore_ascii_case(b"inf") || rest.eq_ignore_ascii_case(b"infinity") {
        return Ok(sign * f64::INFINITY);
    }
    if bytes.eq_ignore_ascii_case(b"nan") {
        return Ok(f64::NAN);
    }
    let hex = rest.len() >= 2 && rest[0] == b'0' && rest[1].eq_ignore_ascii_case(&b'x');
    let value = if hex {
        if !underscores_ok(rest) {
            return Err(syntax());
        }
        let clean: Vec<u8> = rest[2..].iter().copied().filter(|b| *b != b'_').collect();
        parse_hex(&clean).ok_or_else(syntax)?
    } else {
        let first = rest.first().ok_or_else(syntax)?;
        if !first.is_ascii_digit() && *first != b'.' {
            return Err(syntax());
        }
        let clean: Vec<u8> = rest.iter().copied().filter(|b| *b != b'_').collect();
        let known = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-');
        if !clean.iter().all(known) || clean.len() < rest.len() && !underscores_ok(rest) {
            return Err(syntax());
        }
        let clean = std::str::from_utf8(&clean).map_err(|_| syntax())?;
        clean.parse::<f64>().map_err(|_| syntax())?
    };
    if value.is_infinite() {
        return Err(NumError::new("ParseFloat", text, NumErrorKind::Range));
    }
    Ok(sign * value)
}

/// Go's rule: underscores separate digits, or a base prefix from a digit.
pub(super) fn underscores_ok(text: &[u8]) -> bool {
    let mut previous = b'^';
    let mut i = 0;
    let text = match text.first() {
        Some(b'+' | b'-') => text.get(1..).unwrap_or(b""),
        _ => text,
    };
    let mut hex = false;
    if text.len() >= 2 && text[0] == b'0' {
        let base = text[1].to_ascii_lowercase();
        if matches!(base, b'b' | b'o' | b'x') {
            i = 2;
            previous = b'0';
            hex = base == b'x';
        }
    }
    for byte in text.iter().skip(i) {
        if byte.is_ascii_digit() || hex && byte.is_ascii_hexdigit() {
            previous = b'0';
        } else if *byte == b'_' {
            if previous != b'0' {
                return false;
            }
            previous = b'_';
        } else {
            if previous == b'_' {
                return false;
            }
            previous = b'!';
        }
    }
    previous != b'_'
}

/// `hh.hhp±d` without its `0x`, rounded half to even.
fn parse_hex(text: &[u8]) -> Option<f64> {
    let at = text.iter().position(|b| b.eq_ignore_ascii_case(&b'p'))?;
    let (digits, exponent) = (text.get(..at)?, text.get(at + 1..)?);
    let exponent = std::str::from_utf8(exponent).ok()?;
    let bare = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if bare.is_empty() || !bare.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let magnitude: i64 = bare.parse::<i64>().unwrap_or(100_000).min(100_000);
    let mut exponent = if exponent.starts_with('-') {
        -magnitude
    } else {
        magnitude
    };
    let (mut mantissa, mut sticky, mut seen, mut dot) = (0_u64, false, false, false);
    for byte in digits {
        if *byte == b'.' {
            if dot {
                return None;
            }
            dot = true;
            continue;
        }
        let digit = char::from(*byte).to_digit(16)?;
        seen = true;
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | u64::from(digit);
            if dot {
                exponent -= 4;
            }
        } else {
            sticky |= digit != 0;
            if !dot {
                exponent += 4;
            }
        }
    }
    if !seen {
        return None;
    }
    if mantissa == 0 {
        return Some(0.0);
    }
    Some(scale(mantissa, exponent, sticky))
}

/// `mantissa * 2^exponent` to the nearest double, ties to even; `sticky` says that digits were lost.
fn scale(mantissa: u64, exponent: i64, sticky: bool) -> f64 {
    let bits = 64 - i64::from(mantissa.leading_zeros());
    let top = exponent + bits;
    if top > 1024 {
        return f64::INFINITY;
    }
    // Bits that the result can keep: 53, fewer below the normal range.
    let keep = if top < -1021 { 53 - (-1021 - top) } else { 53 };
    if keep < 0 {
        return 0.0;
    }
    let drop = bits - keep;
    let mut kept = mantissa;
    let mut exp = exponent;
    if drop > 0 {
        let drop_u = u32::try_from(drop).unwrap_or(64);
        let lost = if drop_u >= 64 {
            mantissa
        } else {
            mantissa & ((1 << drop_u) - 1)
        };
        kept = if drop_u >= 64 { 0 } else { mantissa >> drop_u };
        let half = 1_u64 << (drop_u - 1).min(63);
        if lost > half || lost == half && (sticky || kept & 1 == 1) {
            kept += 1;
        }
        exp += drop;
    }
    #[allow(
        clippy::cast_precision_loss,
        reason = "at most 54 bits, a power of two when 54"
    )]
    let mut value = kept as f64;
    let mut exp = i32::try_from(exp).unwrap_or(0);
    while exp < -1000 {
        value *= 2.0_f64.powi(-1000);
        exp += 1000;
    }
    value * 2.0_f64.powi(exp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_as_go_does() {
        // Values from the documentation and tests of Go's strconv.
        let cases: [(f64, u8, Option<usize>, &str); 22] = [
            (1.0, b'e', Some(5), "1.00000e+00"),
            (1.0, b'g', None, "1"),
            (20.0, b'g', None, "20"),
            (1_234_567.8, b'g', None, "1.2345678e+06"),
            (200_000.0, b'g', None, "200000"),
            (2_000_000.0, b'g', None, "2e+06"),
            (400.0, b'g', Some(2), "4e+02"),
            (40.0, b'g', Some(2), "40"),
            (0.0, b'g', None, "0"),
            (0.0, b'e', Some(2), "0.00e+00"),
            (-0.0, b'g', None, "-0"),
            (1e-5, b'g', None, "1e-05"),
            (100.0, b'x', None, "0x1.9p+06"),
            (1.0, b'x', Some(0), "0x1p+00"),
            (0.0, b'x', Some(2), "0x0.00p+00"),
            (1.0, b'b', None, "4503599627370496p-52"),
            (2.5, b'f', Some(0), "2"),
            (1e21, b'f', None, "1000000000000000000000"),
            (123.45, b'f', None, "123.45"),
            (32.0, b'g', Some(0), "3e+01"),
            (f64::INFINITY, b'g', None, "+Inf"),
            (0.000_123_4, b'G', Some(3), "0.000123"),
        ];
        for (value, format, precision, want) in cases {
            assert_eq!(format_float(value, format, precision, 64), want);
        }
    }

    #[test]
    fn reads_hexadecimal_and_refuses_loose_underscores() {
        assert_eq!(parse_float("0x1p-2"), Ok(0.25));
        assert_eq!(parse_float("0x1.8p1"), Ok(3.0));
        assert_eq!(parse_float("0x_1_0p0"), Ok(16.0));
        assert_eq!(parse_float("0x1p-1074"), Ok(5e-324));
        assert_eq!(parse_float("1_000"), Ok(1000.0));
        assert!(parse_float("1__0").is_err());
        assert!(parse_float("0x1").is_err());
        assert!(parse_float("").is_err());
        assert_eq!(parse_float(".5"), Ok(0.5));
        assert_eq!(parse_float("+Inf"), Ok(f64::INFINITY));
        assert_eq!(
            parse_float("1e400").map_err(|e| e.to_string()),
            Err("strconv.ParseFloat: parsing \"1e400\": value out of range".to_owned())
        );
    }
}
