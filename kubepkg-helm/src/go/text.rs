//! Go's ideas of quoting, printable characters, white space, floats and times.

/// `unicode.IsPrint`: what `strconv.Quote` leaves as it is, and the quoting characters themselves.
pub(crate) fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    let text = c.encode_utf8(&mut [0; 4]).to_owned();
    quote(&text).trim_matches('"') == text
}

/// `unicode.IsSpace`.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace()
}

/// `strings.TrimSpace` and its left half agree with Rust's white space.
pub(crate) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// `strconv.Quote`.
pub(crate) fn quote(text: &str) -> String {
    kubepkg_gotemplate::quote(text.as_bytes())
}

/// Go's `%g` with shortest precision, from Rust's shortest `{:e}` text (`1.5e-7`): plain notation for exponents
/// from -4 to 5, else `d.ddde+XX` with at least two digits of exponent.
pub(crate) fn float_g(scientific: &str) -> String {
    let (sign, digits, exponent) = parts(scientific);
    if digits == "0" || (-4..6).contains(&exponent) {
        return format!("{sign}{}", plain(&digits, exponent));
    }
    let mark = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{}e{mark}{:02}", pointed(&digits), exponent.abs())
}

/// A float as `encoding/json` writes it: plain from `1e-6` up to `1e21`, else with a short exponent.
pub(crate) fn float_json(number: f64) -> String {
    let (sign, digits, exponent) = parts(&format!("{number:e}"));
    if digits == "0" || (-6..21).contains(&exponent) {
        return format!("{sign}{}", plain(&digits, exponent));
    }
    let mark = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{}e{mark}{:02}", pointed(&digits), exponent.abs()).replace("e-0", "e-")
}

pub(crate) fn parts(scientific: &str) -> (&'static str, String, i32) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let sign = if mantissa.starts_with('-') { "-" } else { "" };
    let digits = mantissa.chars().filter(char::is_ascii_digit).collect();
    (sign, digits, exponent.parse().unwrap_or(0))
}

fn pointed(digits: &str) -> String {
    let (head, tail) = digits.split_at(digits.len().min(1));
    if tail.is_empty() {
        head.to_owned()
    } else {
        format!("{head}.{tail}")
    }
}

/// Digits with the decimal point that puts the first of them at `10^exponent`.
pub(crate) fn plain(digits: &str, exponent: i32) -> String {
    let Ok(whole) = usize::try_from(exponent) else {
        let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
        return format!("0.{}{digits}", "0".repeat(zeros));
    };
    let whole = whole + 1;
    if whole >= digits.len() {
        format!("{digits}{}", "0".repeat(whole - digits.len()))
    } else {
        let (whole, part) = digits.split_at(whole);
        format!("{whole}.{part}")
    }
}

/// Whether Go's `time.Time` takes this text from JSON: RFC 3339, seconds and zone required.
///
/// # Errors
/// Go's sentence, naming the first part of the layout that does not fit.
pub(crate) fn check_time(text: &str) -> Result<(), String> {
    const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
    let refuse = |rest: &str, wanted: &str| {
        Err(format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote(text),
            quote(LAYOUT),
            quote(rest),
            quote(wanted)
        ))
    };
    let mut rest = text;
    for (wanted, digits) in [
        ("2006", 4),
        ("-", 0),
        ("01", 2),
        ("-", 0),
        ("02", 2),
        ("T", 0),
        ("15", 2),
        (":", 0),
        ("04", 2),
        (":", 0),
        ("05", 2),
    ] {
        if digits == 0 {
            match rest.strip_prefix(wanted) {
                Some(after) => rest = after,
                None => return refuse(rest, wanted),
            }
        } else {
            match rest
                .get(..digits)
                .filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
            {
                Some(_) => rest = rest.get(digits..).unwrap_or_default(),
                None => return refuse(rest, wanted),
            }
        }
    }
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            rest = fraction.get(digits..).unwrap_or_default();
        }
    }
    let zone = rest.as_bytes();
    let offset = matches!(zone, [b'+' | b'-', h1, h2, b':', m1, m2] if [h1, h2, m1, m2].iter().all(|byte| byte.is_ascii_digit()));
    if rest == "Z" || offset {
        return Ok(());
    }
    if let Some(extra) = rest.strip_prefix('Z') {
        return Err(format!(
            "parsing time {}: extra text: {}",
            quote(text),
            quote(extra)
        ));
    }
    refuse(rest, "Z07:00")
}

#[cfg(test)]
mod tests {
    use super::{float_g, float_json};

    #[test]
    fn floats_are_written_as_go_writes_them() {
        // By hand from strconv's rules: %g turns to exponents below 1e-4 and from 1e6 on, JSON below 1e-6 and from 1e21 on.
        for (number, g, json) in [
            (0.0_f64, "0", "0"),
            (1.5, "1.5", "1.5"),
            (100_000.0, "100000", "100000"),
            (5_000_000.0, "5e+06", "5000000"),
            (1e-5, "1e-05", "0.00001"),
            (1e-7, "1e-07", "1e-7"),
            (1.25e21, "1.25e+21", "1.25e+21"),
            (-0.001, "-0.001", "-0.001"),
        ] {
            assert_eq!(float_g(&format!("{number:e}")), g);
            assert_eq!(float_json(number), json);
        }
    }
}
