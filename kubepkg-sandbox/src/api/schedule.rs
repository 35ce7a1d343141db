//! Schedules of CronJobs, with the messages of the parser that Kubernetes uses (`robfig/cron` without seconds).

use std::ops::RangeInclusive;

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use kubepkg_gotemplate::time::Duration;

/// When something happens again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// By minute, hour, day of the month, month and day of the week: a bit for each.
    Fields {
        bits: [u64; 5],
        /// Whether any day of the month and any day of the week will do.
        any: [bool; 2],
    },
    /// After so many seconds.
    Every(i64),
}

const RANGES: [RangeInclusive<u64>; 5] = [0..=59, 0..=23, 1..=31, 1..=12, 0..=6];
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Schedule {
    /// Reads a schedule.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("empty spec string".to_owned());
        }
        let short = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            _ => {
                if let Some(duration) = text.strip_prefix("@every ") {
                    return every(duration, text);
                }
                if text.starts_with('@') {
                    return Err(format!("unrecognized descriptor: {text}"));
                }
                text
            }
        };
        let fields: Vec<&str> = short.split_whitespace().collect();
        let Ok([minute, hour, day, month, weekday]) = <[&str; 5]>::try_from(fields.clone()) else {
            return Err(format!(
                "expected exactly 5 fields, found {}: [{}]",
                fields.len(),
                fields.join(" ")
            ));
        };
        let mut bits = [0; 5];
        let mut star = [false; 5];
        for (index, text) in [minute, hour, day, month, weekday].into_iter().enumerate() {
            let (Some(slot), Some(any), Some(range)) =
                (bits.get_mut(index), star.get_mut(index), RANGES.get(index))
            else {
                continue;
            };
            let names: &[&str] = match index {
                3 => &MONTHS,
                4 => &DAYS,
                _ => &[],
            };
            for part in text.split(',').filter(|part| !part.is_empty()) {
                let (found, all) = field(part, range, names)?;
                *slot |= found;
                *any |= all;
            }
        }
        let [_, _, day, _, weekday] = star;
        Ok(Self::Fields {
            bits,
            any: [day, weekday],
        })
    }
}

/// How many days are looked at for the next time: a leap day comes within these.
const DAYS_AHEAD: usize = 366 * 9;

impl Schedule {
    /// The first time after another.
    pub(crate) fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Every(seconds) => {
                let whole = Timestamp::from_second(after.as_second()).ok()?;
                whole.checked_add(SignedDuration::from_secs(*seconds)).ok()
            }
            Self::Fields { bits, any } => {
                let mut day = zone.to_datetime(after).date();
                for _ in 0..DAYS_AHEAD {
                    let mut times = on(day, bits, *any, zone);
                    if let Some(found) = times.find(|at| *at > after) {
                        return Some(found);
                    }
                    day = day.checked_add(1.day()).ok()?;
                }
                None
            }
        }
    }

    /// The last time up to now, after another.
    pub(crate) fn last(
        &self,
        after: Timestamp,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Option<Timestamp> {
        match self {
            Self::Every(seconds) => {
                let start = after.as_second();
                let rounds = now.as_second().checked_sub(start)?.checked_div(*seconds)?;
                let at = start.checked_add(rounds.checked_mul(*seconds)?)?;
                (rounds > 0)
                    .then(|| Timestamp::from_second(at).ok())
                    .flatten()
            }
            Self::Fields { bits, any } => {
                let first = zone.to_datetime(after).date();
                let mut day = zone.to_datetime(now).date();
                for _ in 0..DAYS_AHEAD {
                    let times = on(day, bits, *any, zone);
                    if let Some(found) = times.filter(|at| *at <= now).last() {
                        return (found > after).then_some(found);
                    }
                    if day <= first {
                        return None;
                    }
                    day = day.checked_sub(1.day()).ok()?;
                }
                None
            }
        }
    }
}

/// The times of a day.
fn on(
    day: Date,
    [minutes, hours, days, months, weekdays]: &[u64; 5],
    [any_day, any_weekday]: [bool; 2],
    zone: &TimeZone,
) -> impl Iterator<Item = Timestamp> {
    let has = |bits: u64, at: i8| u32::try_from(at).is_ok_and(|at| bits >> at & 1 == 1);
    let by_day = has(*days, day.day());
    let by_weekday = has(*weekdays, day.weekday().to_sunday_zero_offset());
    // Where both are given, either will do.
    let fits = if any_day || any_weekday {
        by_day && by_weekday
    } else {
        by_day || by_weekday
    };
    let hours = if fits && has(*months, day.month()) {
        *hours
    } else {
        0
    };
    let minutes = *minutes;
    let zone = zone.clone();
    (0..24)
        .filter(move |hour| has(hours, *hour))
        .flat_map(move |hour| {
            (0..60)
                .filter(move |minute| has(minutes, *minute))
                .map(move |minute| (hour, minute))
        })
        .filter_map(move |(hour, minute)| {
            let time = Time::new(hour, minute, 0, 0).ok()?;
            zone.to_timestamp(day.to_datetime(time)).ok()
        })
}

/// A schedule without the zone before it.
pub(crate) fn zoneless(schedule: &str) -> &str {
    let zoned = schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=");
    match schedule.split_once(' ') {
        Some((_, rest)) if zoned => rest,
        _ => schedule,
    }
}

/// `@every 1h30m`, in whole seconds and at least one.
fn every(duration: &str, text: &str) -> Result<Schedule, String> {
    let failed = |why| format!("failed to parse duration {text}: {why}");
    let Duration(nanoseconds) = Duration::parse(duration.as_bytes()).map_err(failed)?;
    Ok(Schedule::Every((nanoseconds / 1_000_000_000).max(1)))
}

/// The bits of one part of a field, and whether it stands for any value.
fn field(part: &str, range: &RangeInclusive<u64>, names: &[&str]) -> Result<(u64, bool), String> {
    let (least, most) = (*range.start(), *range.end());
    let steps: Vec<&str> = part.split('/').collect();
    let ends: Vec<&str> = steps.first().unwrap_or(&"").split('-').collect();
    let first = *ends.first().unwrap_or(&"");
    let mut all = matches!(first, "*" | "?");
    let single = ends.len() == 1;
    let (start, mut end) = if all {
        (least, most)
    } else {
        let start = number(first, least, names)?;
        match ends.as_slice() {
            [_] => (start, start),
            [_, end] => (start, number(end, least, names)?),
            _ => return Err(format!("too many hyphens: {part}")),
        }
    };
    let step = match steps.as_slice() {
        [_] => 1,
        [_, step] => {
            if single {
                end = most;
            }
            let step = number(step, 0, &[])?;
            all &= step <= 1;
            step
        }
        _ => return Err(format!("too many slashes: {part}")),
    };
    if start < least {
        return Err(format!(
            "beginning of range ({start}) below minimum ({least}): {part}"
        ));
    }
    if end > most {
        return Err(format!(
            "end of range ({end}) above maximum ({most}): {part}"
        ));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {part}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {part}"));
    }
    let mut bits = 0;
    let mut at = start;
    while at <= end {
        bits |= 1_u64 << at;
        at = at.saturating_add(step);
    }
    Ok((bits, all))
}

/// A number, or a name of a month or a day.
fn number(text: &str, first: u64, names: &[&str]) -> Result<u64, String> {
    let lower = text.to_lowercase();
    if let Some(index) = names.iter().position(|name| *name == lower) {
        return Ok(first + u64::try_from(index).unwrap_or(0));
    }
    match text.parse::<i64>() {
        Ok(number) => u64::try_from(number)
            .map_err(|_| format!("negative number ({number}) not allowed: {text}")),
        Err(_) => Err(format!(
            "failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By a calendar: 2026-02-27 is a Friday.
    #[test]
    fn the_next_and_the_last_time_stand_in_the_calendar() {
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let zone = TimeZone::UTC;
        for (schedule, after, next) in [
            (
                "*/15 * * * *",
                "2026-02-27T10:07:30Z",
                "2026-02-27T10:15:00Z",
            ),
            ("0 0 * * *", "2026-02-27T00:00:00Z", "2026-02-28T00:00:00Z"),
            ("0 9 1 * *", "2026-02-27T10:00:00Z", "2026-03-01T09:00:00Z"),
            (
                "0 9 * * mon",
                "2026-02-27T10:00:00Z",
                "2026-03-02T09:00:00Z",
            ),
            (
                "0 9 28 * mon",
                "2026-02-27T10:00:00Z",
                "2026-02-28T09:00:00Z",
            ),
            ("0 0 29 2 *", "2026-02-27T10:00:00Z", "2028-02-29T00:00:00Z"),
            (
                "@every 90s",
                "2026-02-27T10:00:00.5Z",
                "2026-02-27T10:01:30Z",
            ),
        ] {
            let schedule = Schedule::parse(schedule).unwrap();
            assert_eq!(schedule.next(at(after), &zone), Some(at(next)));
            assert_eq!(schedule.last(at(after), at(next), &zone), Some(at(next)));
        }
        let never = Schedule::parse("0 0 31 2 *").unwrap();
        assert_eq!(never.next(at("2026-02-27T10:00:00Z"), &zone), None);
        let hourly = Schedule::parse("@hourly").unwrap();
        let (from, to) = (at("2026-02-27T10:00:00Z"), at("2026-02-27T10:59:59Z"));
        assert_eq!(hourly.last(from, to, &zone), None);
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let noon = Schedule::parse("0 12 * * *").unwrap();
        assert_eq!(noon.next(from, &berlin), Some(at("2026-02-27T11:00:00Z")));
    }

    /// By hand.
    #[test]
    fn schedules_are_bits() {
        let bits = |text: &str| match Schedule::parse(text).unwrap() {
            Schedule::Fields { bits, any } => (bits, any),
            Schedule::Every(_) => panic!("{text}"),
        };
        let ([minute, hour, day, month, weekday], any) = bits("*/30 1-3 1 jan,3 mon-fri");
        assert_eq!((minute, hour), (1 | 1 << 30, 0b1110));
        assert_eq!((day, month, weekday), (0b10, 0b1010, 0b11_1110));
        assert_eq!(any, [false, false]);
        assert_eq!(bits("@hourly").1, [true, true]);
        assert_eq!(Schedule::parse("@every 1h30m"), Ok(Schedule::Every(5400)));
    }
}
