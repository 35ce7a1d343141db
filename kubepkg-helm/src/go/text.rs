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
/// Go's sentence, naming the first part of the layout that does not fit or the part that is out of range.
pub(crate) fn check_time(text: &str) -> Result<(), String> {
    let mut layout = Layout::new(text, "2006-01-02T15:04:05Z07:00");
    layout.date()?;
    layout.literal("T")?;
    layout.number("15", 0..=23, Some("hour"))?;
    layout.literal(":")?;
    layout.number("04", 0..=59, Some("minute"))?;
    layout.literal(":")?;
    layout.number("05", 0..=59, Some("second"))?;
    layout.fraction();
    layout.zone()?;
    layout.day_in_month()
}

/// Whether `time.Parse` reads this text with the layout `2006-01-02`.
///
/// # Errors
/// As [`check_time`].
pub(crate) fn check_date(text: &str) -> Result<(), String> {
    let mut layout = Layout::new(text, "2006-01-02");
    layout.date()?;
    layout.end()?;
    layout.day_in_month()
}

/// A text read part by part against a layout.
struct Layout<'a> {
    text: &'a str,
    pattern: &'static str,
    rest: &'a str,
    date: [u32; 3],
}

impl<'a> Layout<'a> {
    fn new(text: &'a str, layout: &'static str) -> Self {
        Self {
            text,
            pattern: layout,
            rest: text,
            date: [0; 3],
        }
    }

    fn refuse<T>(&self, wanted: &str) -> Result<T, String> {
        let (text, layout, rest) = (quote(self.text), quote(self.pattern), quote(self.rest));
        Err(format!(
            "parsing time {text} as {layout}: cannot parse {rest} as {}",
            quote(wanted)
        ))
    }

    fn out_of_range<T>(&self, part: &str) -> Result<T, String> {
        Err(format!(
            "parsing time {}: {part} out of range",
            quote(self.text)
        ))
    }

    fn literal(&mut self, wanted: &str) -> Result<(), String> {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => self.rest = rest,
            None => return self.refuse(wanted),
        }
        Ok(())
    }

    fn number(
        &mut self,
        wanted: &str,
        range: std::ops::RangeInclusive<u32>,
        name: Option<&str>,
    ) -> Result<u32, String> {
        let part = self
            .rest
            .get(..wanted.len())
            .filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(number) = part.and_then(|part| part.parse().ok()) else {
            return self.refuse(wanted);
        };
        self.rest = self.rest.get(wanted.len()..).unwrap_or_default();
        match name {
            Some(name) if !range.contains(&number) => self.out_of_range(name),
            _ => Ok(number),
        }
    }

    fn date(&mut self) -> Result<(), String> {
        let year = self.number("2006", 0..=9999, None)?;
        self.literal("-")?;
        let month = self.number("01", 1..=12, Some("month"))?;
        self.literal("-")?;
        let day = self.number("02", 0..=99, None)?;
        self.date = [year, month, day];
        Ok(())
    }

    fn fraction(&mut self) {
        if let Some(fraction) = self.rest.strip_prefix(['.', ',']) {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 {
                self.rest = fraction.get(digits..).unwrap_or_default();
            }
        }
    }

    fn zone(&mut self) -> Result<(), String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return self.end();
        }
        let offset = self.rest.as_bytes().get(..6);
        let fits = offset.is_some_and(|offset| {
            let digits = [1, 2, 4, 5]
                .iter()
                .all(|at| offset.get(*at).is_some_and(u8::is_ascii_digit));
            digits && matches!(offset.first(), Some(b'+' | b'-')) && offset.get(3) == Some(&b':')
        });
        if !fits {
            return self.refuse("Z07:00");
        }
        self.rest = self.rest.get(6..).unwrap_or_default();
        self.end()
    }

    fn end(&self) -> Result<(), String> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(format!(
            "parsing time {}: extra text: {}",
            quote(self.text),
            quote(self.rest)
        ))
    }

    fn day_in_month(&self) -> Result<(), String> {
        let [year, month, day] = self.date;
        let leap =
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days = match month {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        if (1..=days).contains(&day) {
            Ok(())
        } else {
            self.out_of_range("day")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{check_date, check_time, float_g, float_json};

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

    #[test]
    fn times_are_refused_in_go_words() {
        // time.Parse and time.Time.UnmarshalJSON of Go 1.26.
        for time in [
            "2024-01-02T03:04:05Z",
            "2024-02-29T03:04:05.123456789+02:00",
        ] {
            assert_eq!(check_time(time), Ok(()));
        }
        let refused = |time: &str| check_time(time).unwrap_err();
        assert_eq!(
            refused("2024-13-02T03:04:05Z"),
            r#"parsing time "2024-13-02T03:04:05Z": month out of range"#
        );
        assert_eq!(
            refused("2023-02-29T03:04:05Z"),
            r#"parsing time "2023-02-29T03:04:05Z": day out of range"#
        );
        assert_eq!(
            refused("2024-01-02"),
            r#"parsing time "2024-01-02" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T""#
        );
        assert_eq!(
            check_date("2024-01-02x").unwrap_err(),
            r#"parsing time "2024-01-02x": extra text: "x""#
        );
    }
}
