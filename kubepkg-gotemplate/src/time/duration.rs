//! `time.Duration`: a signed count of nanoseconds, its text form and its rounding.

use std::fmt;

/// Go's `time.Duration`, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub i64);

const UNITS: [(&[u8], u64); 8] = [
    (b"ns", 1),
    (b"us", 1_000),
    ("µs".as_bytes(), 1_000),
    ("μs".as_bytes(), 1_000),
    (b"ms", 1_000_000),
    (b"s", 1_000_000_000),
    (b"m", 60_000_000_000),
    (b"h", 3_600_000_000_000),
];

impl Duration {
    /// `time.ParseDuration`; the error is Go's text.
    ///
    /// # Errors
    /// Anything but signed sums of decimals with units, or more than 2⁶³ nanoseconds.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let bad = |what: &str| format!("time: {what} {}", super::quote(text));
        let invalid = || bad("invalid duration");
        let (negative, mut rest) = match text.first() {
            Some(b'-') => (true, text.get(1..).unwrap_or(b"")),
            Some(b'+') => (false, text.get(1..).unwrap_or(b"")),
            _ => (false, text),
        };
        if rest == b"0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let limit = 1_u64 << 63;
        let mut total = 0_u64;
        while !rest.is_empty() {
            let whole_len = rest.iter().take_while(|b| b.is_ascii_digit()).count();
            let (digits, after) = rest.split_at(whole_len);
            let mut whole = 0_u64;
            for digit in digits {
                whole = whole
                    .checked_mul(10)
                    .and_then(|w| w.checked_add(u64::from(digit - b'0')))
                    .filter(|w| *w <= limit)
                    .ok_or_else(invalid)?;
            }
            rest = after;
            let (mut fraction, mut scale, mut decimals) = (0_u64, 1.0_f64, 0);
            if let Some(after_point) = rest.strip_prefix(b".") {
                decimals = after_point
                    .iter()
                    .take_while(|b| b.is_ascii_digit())
                    .count();
                let mut full = false;
                for digit in after_point.iter().take(decimals) {
                    if full {
                        continue;
                    }
                    match fraction
                        .checked_mul(10)
                        .and_then(|f| f.checked_add(u64::from(digit - b'0')))
                        .filter(|f| *f < limit)
                    {
                        Some(next) => {
                            fraction = next;
                            scale *= 10.0;
                        }
                        None => full = true,
                    }
                }
                rest = after_point.get(decimals..).unwrap_or(b"");
            }
            if whole_len == 0 && decimals == 0 {
                return Err(invalid());
            }
            let unit_len = rest
                .iter()
                .take_while(|b| **b != b'.' && !b.is_ascii_digit())
                .count();
            if unit_len == 0 {
                return Err(bad("missing unit in duration"));
            }
            let (name, after) = rest.split_at(unit_len);
            rest = after;
            let Some((_, unit)) = UNITS.iter().find(|(unit, _)| *unit == name) else {
                return Err(bad(&format!(
                    "unknown unit {} in duration",
                    super::quote(name)
                )));
            };
            if whole > limit / unit {
                return Err(invalid());
            }
            let mut part = whole * unit;
            if fraction > 0 {
                #[allow(
                    clippy::cast_precision_loss,
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "Go computes the fraction in float64"
                )]
                let extra = (fraction as f64 * (*unit as f64 / scale)) as u64;
                part = part
                    .checked_add(extra)
                    .filter(|p| *p <= limit)
                    .ok_or_else(invalid)?;
            }
            total = total
                .checked_add(part)
                .filter(|t| *t <= limit)
                .ok_or_else(invalid)?;
        }
        if negative {
            return Ok(Self(0_i64.wrapping_sub_unsigned(total)));
        }
        i64::try_from(total).map(Self).map_err(|_| invalid())
    }

    /// Toward zero to a multiple of `unit`; unchanged when `unit` is not positive.
    #[must_use]
    pub fn truncate(self, unit: Self) -> Self {
        if unit.0 <= 0 {
            self
        } else {
            Self(self.0 - self.0 % unit.0)
        }
    }

    /// To the nearest multiple of `unit`, halves away from zero, saturating.
    #[must_use]
    pub fn round(self, unit: Self) -> Self {
        if unit.0 <= 0 {
            return self;
        }
        let rest = (self.0 % unit.0).unsigned_abs();
        let step = unit.0.unsigned_abs();
        let toward_zero = self.0 - self.0 % unit.0;
        if rest * 2 < step {
            return Self(toward_zero);
        }
        if self.0 < 0 {
            Self(toward_zero.saturating_sub(unit.0))
        } else {
            Self(toward_zero.saturating_add(unit.0))
        }
    }

    /// Whole units of `unit` nanoseconds plus the fraction, added in float64 as Go does.
    fn in_units(self, unit: i64) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "Go converts to float64")]
        let value = (self.0 / unit) as f64 + (self.0 % unit) as f64 / unit as f64;
        value
    }

    /// Seconds as a float.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.in_units(1_000_000_000)
    }

    /// Minutes as a float.
    #[must_use]
    pub fn minutes(self) -> f64 {
        self.in_units(60_000_000_000)
    }

    /// Hours as a float.
    #[must_use]
    pub fn hours(self) -> f64 {
        self.in_units(3_600_000_000_000)
    }
}

/// `value / 10^digits` with trailing zeros of the fraction dropped.
fn fraction(value: u64, digits: usize) -> String {
    let scale = 10_u64.pow(u32::try_from(digits).unwrap_or(0));
    let rest = format!("{:0digits$}", value % scale);
    let rest = rest.trim_end_matches('0');
    let whole = value / scale;
    if digits == 0 || rest.is_empty() {
        whole.to_string()
    } else {
        format!("{whole}.{rest}")
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match magnitude {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{magnitude}ns"),
            1_000..1_000_000 => write!(f, "{}µs", fraction(magnitude, 3)),
            1_000_000..1_000_000_000 => write!(f, "{}ms", fraction(magnitude, 6)),
            _ => {
                let minutes = magnitude / 60_000_000_000;
                let hours = minutes / 60;
                if hours > 0 {
                    write!(f, "{hours}h")?;
                }
                if minutes > 0 {
                    write!(f, "{}m", minutes % 60)?;
                }
                write!(f, "{}s", fraction(magnitude % 60_000_000_000, 9))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<i64, String> {
        Duration::parse(text.as_bytes()).map(|d| d.0)
    }

    #[test]
    fn parses_and_prints_as_go_does() {
        // From Go's time_test.go.
        assert_eq!(parse("5.6s"), Ok(5_600_000_000));
        assert_eq!(parse("-1h2m3.5s"), Ok(-3_723_500_000_000));
        assert_eq!(parse("1.5h30m"), Ok(7_200_000_000_000));
        assert_eq!(parse("9007199254.740993ms"), Ok(9_007_199_254_740_993));
        assert_eq!(parse("-9223372036854775808ns"), Ok(i64::MIN));
        assert_eq!(
            parse("3"),
            Err("time: missing unit in duration \"3\"".into())
        );
        assert_eq!(
            parse("1d"),
            Err("time: unknown unit \"d\" in duration \"1d\"".into())
        );
        assert_eq!(parse(".s"), Err("time: invalid duration \".s\"".into()));
        assert_eq!(Duration(1_100).to_string(), "1.1µs");
        assert_eq!(Duration(2_200_000).to_string(), "2.2ms");
        assert_eq!(Duration(3_300_000_000).to_string(), "3.3s");
        assert_eq!(Duration(3_600_000_000_000).to_string(), "1h0m0s");
        assert_eq!(Duration(i64::MIN).to_string(), "-2562047h47m16.854775808s");
    }

    #[test]
    fn rounds_halves_away_from_zero() {
        let second = Duration(1_000_000_000);
        assert_eq!(
            Duration(1_500_000_000).round(second),
            Duration(2_000_000_000)
        );
        assert_eq!(
            Duration(-1_500_000_000).round(second),
            Duration(-2_000_000_000)
        );
        assert_eq!(Duration(1_499_999_999).round(second), second);
        assert_eq!(
            Duration(i64::MAX).round(Duration(i64::MAX - 1)),
            Duration(i64::MAX - 1)
        );
        assert_eq!(Duration(i64::MAX).round(Duration(10)), Duration(i64::MAX));
    }
}
