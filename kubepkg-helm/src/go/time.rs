//! Times as Go's `time.Time` reads and writes them in JSON: RFC 3339 with up to nine digits of a second, the offset
//! kept as it was written. Refuses what Go refuses, with Go's text. Source of the rules: Go 1.26
//! `time/format_rfc3339.go` and `time/format.go`.

use super::text::quote;

/// Go's zero time, which records leave out or write like this.
pub(crate) const ZERO: &str = "0001-01-01T00:00:00Z";

/// Reads an RFC 3339 text and writes it as Go does.
pub(crate) fn normalise(text: &str) -> Result<String, String> {
    let mut scan = Scan { text, rest: text };
    let year = scan.digits(4, "2006")?;
    scan.literal("-")?;
    let month = scan.ranged(2, "01", 1, 12, "month")?;
    scan.literal("-")?;
    let day = scan.digits(2, "02")?;
    scan.literal("T")?;
    let hour = scan.ranged(2, "15", 0, 23, "hour")?;
    scan.literal(":")?;
    let minute = scan.ranged(2, "04", 0, 59, "minute")?;
    scan.literal(":")?;
    let second = scan.ranged(2, "05", 0, 59, "second")?;
    let fraction = scan.fraction();
    let zone = scan.zone()?;
    if !scan.rest.is_empty() {
        return Err(scan.error(&format!(": extra text: {}", quote(scan.rest))));
    }
    if day < 1 || day > days_in(month, year) {
        return Err(scan.error(": day out of range"));
    }
    let mut out = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    let kept = fraction
        .get(..fraction.len().min(9))
        .unwrap_or_default()
        .trim_end_matches('0');
    if !kept.is_empty() {
        out.push('.');
        out.push_str(kept);
    }
    out.push_str(&zone);
    Ok(out)
}

fn days_in(month: u32, year: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}

struct Scan<'a> {
    text: &'a str,
    rest: &'a str,
}

impl Scan<'_> {
    fn error(&self, tail: &str) -> String {
        format!("parsing time {}{tail}", quote(self.text))
    }

    fn cannot(&self, element: &str) -> String {
        self.error(&format!(
            " as \"2006-01-02T15:04:05Z07:00\": cannot parse {} as \"{element}\"",
            quote(self.rest)
        ))
    }

    fn digits(&mut self, count: usize, element: &str) -> Result<u32, String> {
        let head = self
            .rest
            .get(..count)
            .filter(|head| head.bytes().all(|byte| byte.is_ascii_digit()))
            .ok_or_else(|| self.cannot(element))?;
        let value = head.parse().map_err(|_| self.cannot(element))?;
        self.rest = self.rest.get(count..).unwrap_or_default();
        Ok(value)
    }

    fn ranged(
        &mut self,
        count: usize,
        element: &str,
        low: u32,
        high: u32,
        name: &str,
    ) -> Result<u32, String> {
        let value = self.digits(count, element)?;
        if (low..=high).contains(&value) {
            Ok(value)
        } else {
            Err(self.error(&format!(": {name} out of range")))
        }
    }

    fn literal(&mut self, text: &str) -> Result<(), String> {
        self.rest = self
            .rest
            .strip_prefix(text)
            .ok_or_else(|| self.cannot(text))?;
        Ok(())
    }

    fn fraction(&mut self) -> String {
        let Some(tail) = self.rest.strip_prefix('.') else {
            return String::new();
        };
        let count = tail.bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 {
            return String::new();
        }
        let (digits, rest) = tail.split_at(count);
        let digits = digits.to_owned();
        self.rest = rest;
        digits
    }

    fn zone(&mut self) -> Result<String, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok("Z".to_owned());
        }
        let text = self.rest.get(..6).ok_or_else(|| self.cannot("Z07:00"))?;
        let bytes = text.as_bytes();
        let shaped = matches!(bytes.first(), Some(b'+' | b'-'))
            && bytes.get(3) == Some(&b':')
            && [1, 2, 4, 5]
                .iter()
                .all(|at| bytes.get(*at).is_some_and(u8::is_ascii_digit));
        if !shaped {
            return Err(self.cannot("Z07:00"));
        }
        let hours: u32 = text
            .get(1..3)
            .and_then(|part| part.parse().ok())
            .unwrap_or(99);
        let minutes: u32 = text
            .get(4..6)
            .and_then(|part| part.parse().ok())
            .unwrap_or(99);
        if hours > 24 {
            return Err(self.error(": time zone offset hour out of range"));
        }
        if minutes > 60 {
            return Err(self.error(": time zone offset minute out of range"));
        }
        let zone = if hours == 0 && minutes == 0 {
            "Z".to_owned()
        } else {
            text.to_owned()
        };
        self.rest = self.rest.get(6..).unwrap_or_default();
        Ok(zone)
    }
}

#[cfg(test)]
mod tests {
    use super::normalise;

    #[test]
    fn keeps_the_offset_and_cuts_trailing_zeros() {
        assert_eq!(
            normalise("2024-01-02T03:04:05.120+02:00").as_deref(),
            Ok("2024-01-02T03:04:05.12+02:00")
        );
        assert_eq!(
            normalise("2024-01-02T03:04:05.000+00:00").as_deref(),
            Ok("2024-01-02T03:04:05Z")
        );
    }

    #[test]
    fn words_errors_as_go_does() {
        assert_eq!(
            normalise("2024-01-02"),
            Err("parsing time \"2024-01-02\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"T\"".to_owned())
        );
        assert_eq!(
            normalise("2024-13-02T00:00:00Z"),
            Err("parsing time \"2024-13-02T00:00:00Z\": month out of range".to_owned())
        );
    }
}
