//! Number constants: every type that can represent the written number, as Go's ideal constants.
//!
//! Source: `NumberNode` of `text/template/parse` in Go 1.26. Characters (`'a'`) are integers,
//! `1e3` is an integer too, `0x1p4` a float, `1+2i` a complex number.

use crate::lex::Tok;
use crate::node::Number;
use crate::quote::{quote, unquote_char};
use crate::strconv::{parse_float, parse_int, parse_uint};

/// Reads a number token.
///
/// # Errors
/// The text of Go's complaint.
pub(crate) fn parse_number(text: &[u8], kind: Tok) -> Result<Number, String> {
    let mut n = Number {
        text: String::from_utf8_lossy(text).into_owned(),
        ..Number::default()
    };
    match kind {
        Tok::CharConstant => {
            let (code, tail) = unquote_char(text).map_err(|e| e.to_string())?;
            if tail != b"'" {
                return Err(format!("malformed character constant: {}", n.text));
            }
            n.int = Some(code);
            n.uint = u64::try_from(code).ok();
            #[expect(clippy::cast_precision_loss, reason = "a code point has 21 bits")]
            let float = code as f64;
            n.float = Some(float);
            return Ok(n);
        }
        Tok::Complex => {
            let (re, im) = complex_parts(&n.text)?;
            n.complex = Some((re, im));
            simplify_complex(&mut n, re, im);
            return Ok(n);
        }
        _ => {}
    }
    // Imaginary constants can only be complex unless they are zero.
    if let Some(digits) = n.text.strip_suffix('i')
        && let Ok(im) = parse_float(digits)
    {
        n.complex = Some((0.0, im));
        simplify_complex(&mut n, 0.0, im);
        return Ok(n);
    }
    n.uint = parse_uint(&n.text, 0, 64).ok();
    n.int = parse_int(&n.text, 0, 64).ok();
    if n.int == Some(0) {
        n.uint = Some(0); // -0
    }
    #[expect(clippy::cast_precision_loss, reason = "Go converts the same way")]
    if let Some(i) = n.int {
        n.float = Some(i as f64);
    } else if let Some(u) = n.uint {
        n.float = Some(u as f64);
    } else if let Ok(f) = parse_float(&n.text) {
        if !n.text.contains(['.', 'e', 'E', 'p', 'P']) {
            return Err(format!("integer overflow: {}", quote(text)));
        }
        n.float = Some(f);
        n.int = float_to_int(f);
        n.uint = float_to_uint(f);
    }
    if n.int.is_none() && n.uint.is_none() && n.float.is_none() {
        return Err(format!("illegal number syntax: {}", quote(text)));
    }
    Ok(n)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "the conversion is kept only when it is exact"
)]
fn float_to_int(f: f64) -> Option<i64> {
    // On amd64 a float out of range converts to the smallest int64, which equals -2^63 only.
    let in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&f);
    let i = f as i64;
    (in_range && i as f64 == f).then_some(i)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "the conversion is kept only when it is exact"
)]
fn float_to_uint(f: f64) -> Option<u64> {
    let in_range = (0.0..18_446_744_073_709_551_616.0).contains(&f);
    let u = f as u64;
    (in_range && u as f64 == f).then_some(u)
}

fn simplify_complex(n: &mut Number, re: f64, im: f64) {
    if im == 0.0 {
        n.float = Some(re);
        n.int = float_to_int(re);
        n.uint = float_to_uint(re);
    }
}

/// `fmt.Sscan` of a complex number without spaces: a float, a sign, a float, `i`.
fn complex_parts(text: &str) -> Result<(f64, f64), String> {
    const SYNTAX: &str = "syntax error scanning complex number";
    let (re, rest) = text.split_at(float_token(text));
    if !rest.starts_with(['+', '-']) {
        return Err(SYNTAX.to_owned());
    }
    let (im, rest) = rest.split_at(float_token(rest));
    if !rest.starts_with('i') {
        return Err(SYNTAX.to_owned());
    }
    let parse = |s: &str| parse_float(s).map_err(|e| e.to_string());
    Ok((parse(re)?, parse(im)?))
}

/// How many bytes of a text `fmt` scans as one float, valid or not (`floatToken` of Go's scanner).
fn float_token(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    let accept = |at: &mut usize, set: &[u8]| {
        let found = bytes.get(*at).is_some_and(|byte| set.contains(byte));
        *at += usize::from(found);
        found
    };
    if accept(&mut at, b"nN") && accept(&mut at, b"aA") && accept(&mut at, b"nN") {
        return at;
    }
    accept(&mut at, b"+-");
    // The beginning of a word is taken, even when it does not go on.
    if accept(&mut at, b"iI") && accept(&mut at, b"nN") && accept(&mut at, b"fF") {
        return at;
    }
    let is_hex = accept(&mut at, b"0") && accept(&mut at, b"xX");
    let (digits, exponent): (&[u8], &[u8]) = if is_hex {
        (b"0123456789aAbBcCdDeEfF_", b"pP")
    } else {
        (b"0123456789_", b"eEpP")
    };
    while accept(&mut at, digits) {}
    if accept(&mut at, b".") {
        while accept(&mut at, digits) {}
    }
    if accept(&mut at, exponent) {
        accept(&mut at, b"+-");
        while accept(&mut at, b"0123456789_") {}
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        let kind = match text.as_bytes() {
            [b'\'', ..] => Tok::CharConstant,
            t if t.ends_with(b"i") && text.get(1..).unwrap_or_default().contains('+') => {
                Tok::Complex
            }
            _ => Tok::Number,
        };
        parse_number(text.as_bytes(), kind).unwrap()
    }

    #[test]
    fn numbers_have_every_type_that_fits() {
        assert_eq!(number("1e3").int, Some(1000));
        assert_eq!(number("0x1F").int, Some(31));
        assert_eq!(number("'a'").int, Some(97));
        assert_eq!(number("1.5").int, None);
        assert_eq!(number("1+2i").complex, Some((1.0, 2.0)));
        assert_eq!(number("1e2+2e-1i").complex, Some((100.0, 0.2)));
        assert_eq!(number("0x1.8p1+0x2p0i").complex, Some((3.0, 2.0)));
        assert_eq!(number("18446744073709551615").int, None);
        assert_eq!(number("18446744073709551615").uint, Some(u64::MAX));
    }

    #[test]
    fn bad_numbers_are_refused_in_gos_words() {
        let error = |text: &str| parse_number(text.as_bytes(), Tok::Number).unwrap_err();
        assert_eq!(error("09"), "integer overflow: \"09\"");
        assert_eq!(error("0x"), "illegal number syntax: \"0x\"");
        assert_eq!(
            error("99999999999999999999"),
            "integer overflow: \"99999999999999999999\""
        );
    }

    /// Go 1.26 answers these texts.
    #[test]
    fn refuses_halves_of_complex_numbers_in_gos_words() {
        for text in ["1i+2i", "0b1+1i", "1+i", "1+2"] {
            let error = parse_number(text.as_bytes(), Tok::Complex).unwrap_err();
            assert_eq!(error, "syntax error scanning complex number", "{text}");
        }
    }
}
