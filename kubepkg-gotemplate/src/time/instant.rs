//! An instant with the zone it is shown in: Go's `time.Time`.

use std::rc::Rc;

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::duration::Duration;

/// The zone of an instant.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Zone {
    /// UTC; also what `Local` is.
    Utc,
    /// A fixed offset in seconds with a name, empty when there is none.
    Fixed(Rc<str>, i32),
    /// A zone of the IANA data.
    Named(TimeZone),
}

impl Zone {
    /// `time.LoadLocation`; `None` for what Go does not find.
    #[must_use]
    pub fn load(name: &str) -> Option<Self> {
        if matches!(name, "" | "UTC" | "Local") {
            return Some(Self::Utc);
        }
        let zone = TimeZoneDatabase::bundled().get(name).ok()?;
        // Go opens a file of that name, so the case must fit.
        (zone.iana_name() == Some(name)).then_some(Self::Named(zone))
    }
}

/// Go's `time.Time`: seconds and nanoseconds since 1970-01-01 UTC, a zone, and the monotonic reading
/// that `time.Now` adds (it shows in the default text only).
#[derive(Debug, Clone, PartialEq)]
pub struct GoTime {
    /// Seconds since the Unix epoch.
    pub seconds: i64,
    /// Nanoseconds of the second, below 1,000,000,000.
    pub nanos: u32,
    /// The zone it is shown in.
    pub zone: Zone,
    /// Nanoseconds since the program's start, when the instant came from a clock.
    pub monotonic: Option<i64>,
}

/// Date and time of day, split for printing.
pub(super) struct Civil {
    pub(super) year: i64,
    pub(super) month: u32,
    pub(super) day: u32,
    pub(super) year_day: u32,
    /// Sunday is 0.
    pub(super) weekday: u32,
    pub(super) hour: u32,
    pub(super) minute: u32,
    pub(super) second: u32,
}

pub(super) const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days before each month of a common year.
pub(super) const DAYS_BEFORE: [u32; 13] =
    [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];

/// Days from 1970-01-01 to the first of January of `year`, in the proleptic Gregorian calendar.
fn days_to_year(year: i64) -> i64 {
    let y = year - 1;
    y * 365 + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) - 719_162
}

fn clamp_i64(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

impl GoTime {
    /// Go's zero time, 0001-01-01 00:00:00 UTC.
    #[must_use]
    pub const fn zero() -> Self {
        Self {
            seconds: -62_135_596_800,
            nanos: 0,
            zone: Zone::Utc,
            monotonic: None,
        }
    }

    /// `time.Unix(seconds, nanos)` in UTC.
    #[must_use]
    pub const fn unix(seconds: i64, nanos: u32) -> Self {
        Self {
            seconds,
            nanos,
            zone: Zone::Utc,
            monotonic: None,
        }
    }

    /// Seconds since the epoch of a civil time in UTC.
    pub(super) fn civil_seconds(
        year: i64,
        month: u32,
        day: u32,
        (hour, minute, second): (i64, i64, i64),
    ) -> i64 {
        let index = usize::try_from(month.saturating_sub(1)).unwrap_or(0);
        let mut days =
            days_to_year(year) + i64::from(*DAYS_BEFORE.get(index).unwrap_or(&0)) + i64::from(day)
                - 1;
        if month > 2 && is_leap(year) {
            days += 1;
        }
        days * 86_400 + hour * 3_600 + minute * 60 + second
    }

    /// The same instant shown in another zone.
    #[must_use]
    pub fn in_zone(&self, zone: Zone) -> Self {
        Self {
            zone,
            monotonic: None,
            ..self.clone()
        }
    }

    /// Offset from UTC in seconds and the zone's abbreviation at this instant.
    #[must_use]
    pub fn offset(&self) -> (i32, Rc<str>) {
        match &self.zone {
            Zone::Utc => (0, Rc::from("UTC")),
            Zone::Fixed(name, offset) => (*offset, Rc::clone(name)),
            Zone::Named(zone) => {
                let stamp = jiff::Timestamp::from_second(self.seconds).unwrap_or({
                    if self.seconds < 0 {
                        jiff::Timestamp::MIN
                    } else {
                        jiff::Timestamp::MAX
                    }
                });
                let info = zone.to_offset_info(stamp);
                (info.offset().seconds(), Rc::from(info.abbreviation()))
            }
        }
    }

    /// `t.Add(d)`.
    #[must_use]
    pub fn add(&self, duration: Duration) -> Self {
        let total = i128::from(self.seconds) * 1_000_000_000
            + i128::from(self.nanos)
            + i128::from(duration.0);
        Self {
            seconds: clamp_i64(total.div_euclid(1_000_000_000)),
            nanos: u32::try_from(total.rem_euclid(1_000_000_000)).unwrap_or(0),
            zone: self.zone.clone(),
            monotonic: self.monotonic.map(|m| m.wrapping_add(duration.0)),
        }
    }

    /// `t.AddDate`: what leaves a month or a year is carried on.
    #[must_use]
    pub fn add_date(&self, years: i64, months: i64, days: i64) -> Self {
        let civil = self.civil();
        let (offset, _) = self.offset();
        let month = i64::from(civil.month) - 1 + months.clamp(-100_000_000, 100_000_000);
        let year = civil.year + years.clamp(-10_000_000, 10_000_000) + month.div_euclid(12);
        let month = u32::try_from(month.rem_euclid(12) + 1).unwrap_or(1);
        let clock = (civil.hour.into(), civil.minute.into(), civil.second.into());
        let first = Self::civil_seconds(year, month, 1, clock) - i64::from(offset);
        let days = (i64::from(civil.day) - 1).saturating_add(days);
        Self {
            seconds: first.saturating_add(days.saturating_mul(86_400)),
            nanos: self.nanos,
            zone: self.zone.clone(),
            monotonic: None,
        }
    }

    /// How far the instant is past the last multiple of `unit` since Go's zero time.
    #[must_use]
    pub fn past_multiple(&self, unit: Duration) -> Duration {
        if unit.0 <= 0 {
            return Duration(0);
        }
        let nanos = (i128::from(self.seconds) - i128::from(Self::zero().seconds)) * 1_000_000_000
            + i128::from(self.nanos);
        Duration(clamp_i64(nanos.rem_euclid(i128::from(unit.0))))
    }

    /// Day of the week, Sunday being 0.
    #[must_use]
    pub fn weekday(&self) -> i64 {
        i64::from(self.civil().weekday)
    }

    /// `t.Sub(earlier)`, saturating.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Duration {
        let nanos = |t: &Self| i128::from(t.seconds) * 1_000_000_000 + i128::from(t.nanos);
        Duration(clamp_i64(nanos(self) - nanos(earlier)))
    }

    /// Year, month and so on in the instant's own zone.
    pub(super) fn civil(&self) -> Civil {
        let (offset, _) = self.offset();
        let local = self.seconds.saturating_add(i64::from(offset));
        let days = local.div_euclid(86_400);
        let second_of_day = u32::try_from(local.rem_euclid(86_400)).unwrap_or(0);
        // 400 years are 146,097 days.
        let mut year = 1970 + days.div_euclid(146_097) * 400;
        let mut rest = days.rem_euclid(146_097);
        let mut step = rest / 366;
        // At most a year short, since each year has 365 or 366 days.
        while step < 400 && days_to_year(1970 + step + 1) - days_to_year(1970) <= rest {
            step += 1;
        }
        rest -= days_to_year(1970 + step) - days_to_year(1970);
        year += step;
        let year_day = u32::try_from(rest).unwrap_or(0);
        let mut month = 1;
        let mut day = year_day;
        for index in 1..=12_usize {
            let mut before = *DAYS_BEFORE.get(index).unwrap_or(&365);
            if index >= 2 && is_leap(year) {
                before += 1;
            }
            if year_day < before {
                break;
            }
            day = year_day - before;
            month = u32::try_from(index).unwrap_or(11) + 1;
        }
        Civil {
            year,
            month,
            day: day + 1,
            year_day: year_day + 1,
            weekday: u32::try_from((days + 4).rem_euclid(7)).unwrap_or(0),
            hour: second_of_day / 3_600,
            minute: second_of_day / 60 % 60,
            second: second_of_day % 60,
        }
    }

    /// `t.String()`.
    #[must_use]
    pub fn default_text(&self) -> String {
        let mut text = self.format(b"2006-01-02 15:04:05.999999999 -0700 MST");
        if let Some(monotonic) = self.monotonic {
            let sign = if monotonic < 0 { '-' } else { '+' };
            let magnitude = monotonic.unsigned_abs();
            text.extend_from_slice(
                format!(
                    " m={sign}{}.{:09}",
                    magnitude / 1_000_000_000,
                    magnitude % 1_000_000_000
                )
                .as_bytes(),
            );
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn civil_dates_by_hand() {
        let text = |seconds| GoTime::unix(seconds, 0).default_text();
        assert_eq!(text(0), "1970-01-01 00:00:00 +0000 UTC");
        assert_eq!(text(951_782_400), "2000-02-29 00:00:00 +0000 UTC");
        assert_eq!(text(951_868_800), "2000-03-01 00:00:00 +0000 UTC");
        assert_eq!(text(-1), "1969-12-31 23:59:59 +0000 UTC");
        assert_eq!(text(4_102_444_799), "2099-12-31 23:59:59 +0000 UTC");
        assert_eq!(
            GoTime::zero().default_text(),
            "0001-01-01 00:00:00 +0000 UTC"
        );
        assert_eq!(GoTime::civil_seconds(2021, 3, 4, (5, 6, 7)), 1_614_834_367);
    }

    #[test]
    fn zone_names_keep_their_case() {
        assert!(Zone::load("Europe/Berlin").is_some());
        assert!(Zone::load("europe/berlin").is_none());
        assert!(Zone::load("../etc/passwd").is_none());
    }
}
