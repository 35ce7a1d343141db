//! Durations in Go's syntax, as every Kubernetes API writes them.
//!
//! Parses what Go's `time.ParseDuration` parses and prints what `time.Duration.String` prints (documentation of
//! Go's package `time`): a signed number of nanoseconds in 64 bits; units `ns`, `us`/`µs`, `ms`, `s`, `m`, `h`;
//! decimal fractions; a leading sign; `0` without a unit. Anything that does not fit 64 bits is refused.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::pattern::GO_DURATION;
use crate::schema::Rule;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000 * MICROSECOND;
const SECOND: u64 = 1_000 * MILLISECOND;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// A signed duration in whole nanoseconds, read and written as Go does (`10m`, `1h30m0s`).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct GoDuration(i64);

/// Rule of fields that hold a time to wait.
pub const POSITIVE_DURATION_RULE: Rule = Rule {
    rule: "duration(self) > duration('0s')",
    message: "must be a duration above zero, such as 10m",
};

/// The text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidDuration {
    /// Not a number with a unit, or a sequence of them.
    #[error("invalid duration {text:?}: want numbers with units, such as 10m, 90s or 1h30m")]
    Syntax {
        /// What was given.
        text: String,
    },
    /// A number without a unit.
    #[error("missing unit in duration {text:?}: want ns, us, ms, s, m or h after each number")]
    MissingUnit {
        /// What was given.
        text: String,
    },
    /// A unit that Go does not know, such as `d`.
    #[error("unknown unit {unit:?} in duration {text:?}: want ns, us, ms, s, m or h")]
    UnknownUnit {
        /// What was given.
        text: String,
        /// The unit that is not known.
        unit: String,
    },
    /// More than about 292 years.
    #[error("duration {text:?} is too long: the limit is about 292 years")]
    Overflow {
        /// What was given.
        text: String,
    },
}

impl GoDuration {
    /// The pattern of the CRD schema.
    pub const PATTERN: &str = GO_DURATION;

    /// A duration of this many nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// A duration of this many whole seconds; the longest one when they do not fit.
    pub const fn from_secs(seconds: u32) -> Self {
        Self(seconds as i64 * 1_000_000_000)
    }

    /// The duration in nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The duration as Rust's type; `None` when it is negative.
    pub fn to_std(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }

    /// Parses Go's syntax.
    ///
    /// # Errors
    /// [`InvalidDuration`], for exactly the texts that Go's `time.ParseDuration` refuses.
    pub fn parse(text: &str) -> Result<Self, InvalidDuration> {
        let syntax = || InvalidDuration::Syntax {
            text: text.to_owned(),
        };
        let overflow = || InvalidDuration::Overflow {
            text: text.to_owned(),
        };
        let (negative, mut rest) = match text.as_bytes().first() {
            Some(b'-') => (true, text.get(1..).unwrap_or_default()),
            Some(b'+') => (false, text.get(1..).unwrap_or_default()),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(syntax());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (whole, after) = split_digits(rest);
            let (fraction, after) = match after.strip_prefix('.') {
                Some(tail) => split_digits(tail),
                None => ("", after),
            };
            if whole.is_empty() && fraction.is_empty() {
                return Err(syntax());
            }
            let end = after
                .find(|c: char| c == '.' || c.is_ascii_digit())
                .unwrap_or(after.len());
            let (unit, tail) = after.split_at(end);
            let scale = match unit {
                "" => {
                    return Err(InvalidDuration::MissingUnit {
                        text: text.to_owned(),
                    });
                }
                "ns" => 1,
                "us" | "µs" | "μs" => MICROSECOND,
                "ms" => MILLISECOND,
                "s" => SECOND,
                "m" => MINUTE,
                "h" => HOUR,
                other => {
                    return Err(InvalidDuration::UnknownUnit {
                        text: text.to_owned(),
                        unit: other.to_owned(),
                    });
                }
            };
            let part = scaled(whole, fraction, scale).ok_or_else(overflow)?;
            total = total
                .checked_add(part)
                .filter(|sum| *sum <= 1 << 63)
                .ok_or_else(overflow)?;
            rest = tail;
        }
        // The one negative number without a positive twin is allowed, as in Go.
        if negative {
            return Ok(Self(
                0_i64.checked_sub_unsigned(total).ok_or_else(overflow)?,
            ));
        }
        i64::try_from(total).map(Self).map_err(|_| overflow())
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len()),
    )
}

/// `whole.fraction` units of `scale` nanoseconds; `None` when that exceeds 63 bits. Digits of the fraction that
/// do not fit are dropped and the product is taken in floating point, both as in Go, so that the last nanosecond
/// agrees.
fn scaled(whole: &str, fraction: &str, scale: u64) -> Option<u64> {
    const LIMIT: u64 = 1 << 63;
    let mut value: u64 = 0;
    for digit in whole.bytes() {
        value = value
            .checked_mul(10)?
            .checked_add(u64::from(digit - b'0'))
            .filter(|v| *v <= LIMIT)?;
    }
    let mut value = value.checked_mul(scale).filter(|v| *v <= LIMIT)?;
    let mut digits: u64 = 0;
    let mut divisor: f64 = 1.0;
    for digit in fraction.bytes() {
        let Some(next) = digits
            .checked_mul(10)
            .and_then(|d| d.checked_add(u64::from(digit - b'0')))
            .filter(|d| i64::try_from(*d).is_ok())
        else {
            break;
        };
        digits = next;
        divisor *= 10.0;
    }
    if digits > 0 {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "Go computes the fraction in float64 and truncates; the result is positive and below the unit"
        )]
        let extra = (digits as f64 * (scale as f64 / divisor)) as u64;
        value = value.checked_add(extra).filter(|v| *v <= LIMIT)?;
    }
    Some(value)
}

impl fmt::Display for GoDuration {
    /// Go's `Duration.String`: `1h30m0s`, `1.5s`, `100ms`, `2µs`, `0s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        if nanos < SECOND {
            return match nanos {
                0 => f.write_str("0s"),
                n if n < MICROSECOND => write!(f, "{n}ns"),
                n if n < MILLISECOND => write_decimal(f, n, MICROSECOND, "µs"),
                n => write_decimal(f, n, MILLISECOND, "ms"),
            };
        }
        let (hours, minutes) = (nanos / HOUR, nanos / MINUTE % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if nanos >= MINUTE {
            write!(f, "{minutes}m")?;
        }
        write_decimal(f, nanos % MINUTE, SECOND, "s")
    }
}

/// `nanos / unit` with as many decimals as are needed.
fn write_decimal(f: &mut fmt::Formatter<'_>, nanos: u64, unit: u64, name: &str) -> fmt::Result {
    let (whole, rest) = (nanos / unit, nanos % unit);
    if rest == 0 {
        return write!(f, "{whole}{name}");
    }
    let width = unit.ilog10() as usize;
    let digits = format!("{rest:0width$}");
    write!(f, "{whole}.{}{name}", digits.trim_end_matches('0'))
}

impl FromStr for GoDuration {
    type Err = InvalidDuration;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl TryFrom<String> for GoDuration {
    type Error = InvalidDuration;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<GoDuration> for String {
    fn from(duration: GoDuration) -> Self {
        duration.to_string()
    }
}

impl JsonSchema for GoDuration {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "GoDuration".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": Self::PATTERN })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    /// Values from the documentation and the tests of Go's package time.
    #[test]
    fn parses_what_go_parses() {
        for (text, nanos) in [
            ("0", 0),
            ("5s", 5_000_000_000),
            ("30s", 30_000_000_000),
            ("1478s", 1_478_000_000_000),
            ("-5s", -5_000_000_000),
            ("+5s", 5_000_000_000),
            ("-0", 0),
            ("+0", 0),
            ("5.0s", 5_000_000_000),
            ("5.6s", 5_600_000_000),
            ("5.s", 5_000_000_000),
            (".5s", 500_000_000),
            ("1.0s", 1_000_000_000),
            ("1.00s", 1_000_000_000),
            ("1.004s", 1_004_000_000),
            ("1.0040s", 1_004_000_000),
            ("100.00100s", 100_001_000_000),
            ("10ns", 10),
            ("11us", 11_000),
            ("12µs", 12_000),
            ("12μs", 12_000),
            ("13ms", 13_000_000),
            ("14s", 14_000_000_000),
            ("15m", 900_000_000_000),
            ("16h", 57_600_000_000_000),
            ("3h30m", 12_600_000_000_000),
            ("10.5s4m", 250_500_000_000),
            ("-2m3.4s", -123_400_000_000),
            ("1h2m3s4ms5us6ns", 3_723_004_005_006),
            ("39h9m14.425s", 140_954_425_000_000),
            ("52763797000ns", 52_763_797_000),
            ("0.3333333333333333333h", 1_200_000_000_000),
            ("9007199254740993ns", 9_007_199_254_740_993),
            ("9223372036854775807ns", i64::MAX),
            ("9223372036854775.807us", i64::MAX),
            ("9223372036s854ms775us807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
            ("0.100000000000000000000h", 360_000_000_000),
            ("0.830103483285477580700h", 2_988_372_539_827),
        ] {
            assert_eq!(
                GoDuration::parse(text).map(GoDuration::as_nanos),
                Ok(nanos),
                "{text}"
            );
        }
    }

    #[test]
    fn refuses_what_go_refuses() {
        use InvalidDuration as E;

        for bad in ["", "-", "s", ".", "-.", ".s", "+.s", "1s ", " 1s", "1 s"] {
            assert!(GoDuration::parse(bad).is_err(), "{bad:?}");
        }
        assert!(matches!(GoDuration::parse("3"), Err(E::MissingUnit { .. })));
        assert!(matches!(GoDuration::parse("1d"), Err(E::UnknownUnit { unit, .. }) if unit == "d"));
        for long in [
            "9223372036854775810ns",
            "9223372036854775808ns",
            "-9223372036854775809ns",
            "3000000h",
        ] {
            assert!(
                matches!(GoDuration::parse(long), Err(E::Overflow { .. })),
                "{long}"
            );
        }
    }

    #[test]
    fn prints_what_go_prints() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1µs"),
            (2_200_000, "2.2ms"),
            (3_300_000_000, "3.3s"),
            (245_000_000_000, "4m5s"),
            (245_001_000_000, "4m5.001s"),
            (18_367_001_000_000, "5h6m7.001s"),
            (480_000_000_001, "8m0.000000001s"),
            (600_000_000_000, "10m0s"),
            (3_600_000_000_000, "1h0m0s"),
            (i64::MAX, "2562047h47m16.854775807s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(GoDuration::from_nanos(nanos).to_string(), text);
        }
    }

    #[test]
    fn serde_uses_the_text() {
        let duration: GoDuration = serde_json::from_str("\"1h30m\"").unwrap();
        assert_eq!(serde_json::to_string(&duration).unwrap(), "\"1h30m0s\"");
        assert!(serde_json::from_str::<GoDuration>("10").is_err());
        assert_eq!(
            GoDuration::from_secs(600).to_std(),
            Some(Duration::from_mins(10))
        );
        assert_eq!(GoDuration::from_nanos(-1).to_std(), None);
    }

    proptest! {
        #[test]
        fn printing_and_parsing_agree(nanos in any::<i64>()) {
            let duration = GoDuration::from_nanos(nanos);
            prop_assert_eq!(GoDuration::parse(&duration.to_string()), Ok(duration));
        }

        #[test]
        fn the_schema_accepts_every_printed_duration(nanos in any::<i64>()) {
            prop_assert!(Regex::new(GO_DURATION).unwrap().is_match(&GoDuration::from_nanos(nanos).to_string()));
        }

        /// The pattern knows no 64-bit limit, so the numbers stay below it.
        #[test]
        fn the_schema_and_the_parser_agree(text in "[-+]?([0-9]{0,2}(\\.[0-9]{0,2})?(ns|us|µs|ms|s|m|h|d|)){0,3}") {
            prop_assert_eq!(Regex::new(GO_DURATION).unwrap().is_match(&text), GoDuration::parse(&text).is_ok());
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = GoDuration::parse(&text);
        }
    }
}
