//! Schedules of CronJobs, with the messages of the parser that Kubernetes uses (`robfig/cron` without seconds).

use std::ops::RangeInclusive;

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

/// `@every 1h30m`, in whole seconds and at least one.
fn every(duration: &str, text: &str) -> Result<Schedule, String> {
    let wrong = || format!("failed to parse duration {text}: time: invalid duration {duration:?}");
    let mut seconds = 0.0_f64;
    let mut rest = duration;
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let end = rest
            .find(|sign: char| !(sign.is_ascii_digit() || sign == '.'))
            .ok_or_else(wrong)?;
        let (number, tail) = rest.split_at(end);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let units = [
            ("ms", 0.001),
            ("us", 0.000_001),
            ("ns", 0.000_000_001),
            ("h", 3600.0),
            ("m", 60.0),
            ("s", 1.0),
        ];
        let (unit, factor) = units
            .into_iter()
            .find(|(unit, _)| tail.starts_with(unit))
            .ok_or_else(wrong)?;
        seconds += number * factor;
        rest = tail.strip_prefix(unit).unwrap_or_default();
    }
    // A length of time that people write fits.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "held within a thousand years"
    )]
    let whole = seconds.clamp(1.0, 3.2e10) as i64;
    Ok(Schedule::Every(whole))
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
