//! Go's time layouts: how a layout is cut into elements, and printing by one.

use super::instant::GoTime;

/// One element of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekDay,
    WeekDay,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperPm,
    LowerPm,
    ZoneName,
    /// An offset: `Z` for zero or not, colons or not, how many of hour, minute, second.
    Offset {
        z: bool,
        colon: bool,
        parts: u8,
    },
    /// Digits of a fraction: `.000` or, when `trim`, `.999`; the separator as written.
    Fraction {
        digits: usize,
        trim: bool,
        separator: u8,
    },
}

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// Offsets as written in a layout, longest first where one begins another.
const OFFSETS: [(&[u8], Element); 10] = [
    (
        b"-070000",
        Element::Offset {
            z: false,
            colon: false,
            parts: 3,
        },
    ),
    (
        b"-07:00:00",
        Element::Offset {
            z: false,
            colon: true,
            parts: 3,
        },
    ),
    (
        b"-0700",
        Element::Offset {
            z: false,
            colon: false,
            parts: 2,
        },
    ),
    (
        b"-07:00",
        Element::Offset {
            z: false,
            colon: true,
            parts: 2,
        },
    ),
    (
        b"-07",
        Element::Offset {
            z: false,
            colon: false,
            parts: 1,
        },
    ),
    (
        b"Z070000",
        Element::Offset {
            z: true,
            colon: false,
            parts: 3,
        },
    ),
    (
        b"Z07:00:00",
        Element::Offset {
            z: true,
            colon: true,
            parts: 3,
        },
    ),
    (
        b"Z0700",
        Element::Offset {
            z: true,
            colon: false,
            parts: 2,
        },
    ),
    (
        b"Z07:00",
        Element::Offset {
            z: true,
            colon: true,
            parts: 2,
        },
    ),
    (
        b"Z07",
        Element::Offset {
            z: true,
            colon: false,
            parts: 1,
        },
    ),
];

fn element_at(rest: &[u8]) -> Option<(Element, usize)> {
    let lower_at = |at: usize| rest.get(at).is_some_and(u8::is_ascii_lowercase);
    match rest.first()? {
        b'J' if rest.starts_with(b"January") => Some((Element::LongMonth, 7)),
        b'J' if rest.starts_with(b"Jan") && !lower_at(3) => Some((Element::Month, 3)),
        b'M' if rest.starts_with(b"Monday") => Some((Element::LongWeekDay, 6)),
        b'M' if rest.starts_with(b"Mon") && !lower_at(3) => Some((Element::WeekDay, 3)),
        b'M' if rest.starts_with(b"MST") => Some((Element::ZoneName, 3)),
        b'0' => match rest.get(1)? {
            b'1' => Some((Element::ZeroMonth, 2)),
            b'2' => Some((Element::ZeroDay, 2)),
            b'3' => Some((Element::ZeroHour12, 2)),
            b'4' => Some((Element::ZeroMinute, 2)),
            b'5' => Some((Element::ZeroSecond, 2)),
            b'6' => Some((Element::Year, 2)),
            b'0' if rest.get(2) == Some(&b'2') => Some((Element::ZeroYearDay, 3)),
            _ => None,
        },
        b'1' if rest.get(1) == Some(&b'5') => Some((Element::Hour, 2)),
        b'1' => Some((Element::NumMonth, 1)),
        b'2' if rest.starts_with(b"2006") => Some((Element::LongYear, 4)),
        b'2' => Some((Element::Day, 1)),
        b'_' if rest.starts_with(b"__2") => Some((Element::UnderYearDay, 3)),
        b'_' if rest.starts_with(b"_2") => Some((Element::UnderDay, 2)),
        b'3' => Some((Element::Hour12, 1)),
        b'4' => Some((Element::Minute, 1)),
        b'5' => Some((Element::Second, 1)),
        b'P' if rest.get(1) == Some(&b'M') => Some((Element::UpperPm, 2)),
        b'p' if rest.get(1) == Some(&b'm') => Some((Element::LowerPm, 2)),
        b'-' | b'Z' => OFFSETS
            .iter()
            .find(|(text, _)| rest.starts_with(text))
            .map(|(text, element)| (*element, text.len())),
        separator @ (b'.' | b',') => {
            let digit = rest.get(1).filter(|b| matches!(b, b'0' | b'9'))?;
            let digits = rest.iter().skip(1).take_while(|b| *b == digit).count();
            if rest.get(1 + digits).is_some_and(u8::is_ascii_digit) {
                return None;
            }
            let trim = *digit == b'9';
            Some((
                Element::Fraction {
                    digits,
                    trim,
                    separator: *separator,
                },
                1 + digits,
            ))
        }
        _ => None,
    }
}

/// Text before an element, the element with its own text, and what follows.
type Cut<'l> = (&'l [u8], Option<(Element, &'l [u8])>, &'l [u8]);

/// Text before the first element of `layout`, the element, its own text, and what follows.
pub(super) fn next_element(layout: &[u8]) -> Cut<'_> {
    let mut at = 0;
    while let Some(rest) = layout.get(at..).filter(|rest| !rest.is_empty()) {
        // `_2006` is an underscore and a year.
        if rest.starts_with(b"_2006") {
            let (before, rest) = layout.split_at(at + 1);
            let (text, after) = rest.split_at(4);
            return (before, Some((Element::LongYear, text)), after);
        }
        if let Some((element, len)) = element_at(rest) {
            let (before, rest) = layout.split_at(at);
            let (text, after) = rest.split_at(len);
            return (before, Some((element, text)), after);
        }
        at += 1;
    }
    (layout, None, b"")
}

fn number(out: &mut Vec<u8>, value: i64, width: usize) {
    if value < 0 {
        out.push(b'-');
    }
    let magnitude = value.unsigned_abs();
    out.extend_from_slice(format!("{magnitude:0width$}").as_bytes());
}

fn spaced(out: &mut Vec<u8>, value: u32, width: usize) {
    out.extend_from_slice(format!("{value:width$}").as_bytes());
}

fn offset_text(out: &mut Vec<u8>, offset: i32, colon: bool, parts: u8) {
    out.push(if offset < 0 && offset / 60 != 0 {
        b'-'
    } else {
        b'+'
    });
    let magnitude = i64::from(offset.unsigned_abs());
    let fields = [magnitude / 3_600, magnitude / 60 % 60, magnitude % 60];
    for (i, field) in fields.into_iter().take(usize::from(parts)).enumerate() {
        if i > 0 && colon {
            out.push(b':');
        }
        number(out, field, 2);
    }
}

fn fraction_text(out: &mut Vec<u8>, nanos: u32, digits: usize, trim: bool, separator: u8) {
    if trim && nanos == 0 {
        return;
    }
    let mut text = format!("{nanos:09}");
    text.truncate(digits);
    if trim {
        text.truncate(text.trim_end_matches('0').len());
        if text.is_empty() {
            return;
        }
    }
    out.push(separator);
    out.extend_from_slice(text.as_bytes());
}

impl GoTime {
    /// `t.Format(layout)`.
    #[must_use]
    pub fn format(&self, layout: &[u8]) -> Vec<u8> {
        let civil = self.civil();
        let (offset, name) = self.offset();
        let mut out = Vec::with_capacity(layout.len() + 10);
        let mut rest = layout;
        let name_of = |names: &[&'static str], index: u32| {
            usize::try_from(index)
                .ok()
                .and_then(|i| names.get(i).copied())
                .unwrap_or("")
        };
        loop {
            let (before, element, after) = next_element(rest);
            out.extend_from_slice(before);
            let Some((element, _)) = element else {
                return out;
            };
            rest = after;
            let hour12 = if civil.hour.is_multiple_of(12) {
                12
            } else {
                civil.hour % 12
            };
            let pm = civil.hour >= 12;
            match element {
                Element::LongMonth => {
                    out.extend_from_slice(name_of(&MONTHS, civil.month - 1).as_bytes());
                }
                Element::Month => {
                    let name = name_of(&MONTHS, civil.month - 1);
                    out.extend_from_slice(name.get(..3).unwrap_or(name).as_bytes());
                }
                Element::NumMonth => number(&mut out, civil.month.into(), 0),
                Element::ZeroMonth => number(&mut out, civil.month.into(), 2),
                Element::LongWeekDay => {
                    out.extend_from_slice(name_of(&DAYS, civil.weekday).as_bytes());
                }
                Element::WeekDay => {
                    let name = name_of(&DAYS, civil.weekday);
                    out.extend_from_slice(name.get(..3).unwrap_or(name).as_bytes());
                }
                Element::Day => number(&mut out, civil.day.into(), 0),
                Element::UnderDay => spaced(&mut out, civil.day, 2),
                Element::ZeroDay => number(&mut out, civil.day.into(), 2),
                Element::UnderYearDay => spaced(&mut out, civil.year_day, 3),
                Element::ZeroYearDay => number(&mut out, civil.year_day.into(), 3),
                Element::Hour => number(&mut out, civil.hour.into(), 2),
                Element::Hour12 => number(&mut out, hour12.into(), 0),
                Element::ZeroHour12 => number(&mut out, hour12.into(), 2),
                Element::Minute => number(&mut out, civil.minute.into(), 0),
                Element::ZeroMinute => number(&mut out, civil.minute.into(), 2),
                Element::Second => number(&mut out, civil.second.into(), 0),
                Element::ZeroSecond => number(&mut out, civil.second.into(), 2),
                Element::LongYear => number(&mut out, civil.year, 4),
                Element::Year => number(&mut out, civil.year.max(0) % 100, 2),
                Element::UpperPm => out.extend_from_slice(if pm { b"PM" } else { b"AM" }),
                Element::LowerPm => out.extend_from_slice(if pm { b"pm" } else { b"am" }),
                Element::ZoneName if !name.is_empty() => out.extend_from_slice(name.as_bytes()),
                Element::ZoneName => offset_text(&mut out, offset, false, 2),
                Element::Offset { z: true, .. } if offset == 0 => out.push(b'Z'),
                Element::Offset { colon, parts, .. } => {
                    offset_text(&mut out, offset, colon, parts);
                }
                Element::Fraction {
                    digits,
                    trim,
                    separator,
                } => {
                    fraction_text(&mut out, self.nanos, digits, trim, separator);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Zone;

    fn show(layout: &str) -> String {
        // The reference time of Go's package: Mon Jan 2 15:04:05 MST 2006.
        let time = GoTime {
            seconds: 1_136_239_445,
            nanos: 120_000_000,
            zone: Zone::Fixed("MST".into(), -25_200),
            monotonic: None,
        };
        String::from_utf8_lossy(&time.format(layout.as_bytes())).into_owned()
    }

    #[test]
    fn reference_time_prints_itself() {
        let same = "Monday January 2 _2006 15:04:05 03 PM pm MST -0700 -07:00 -07 Mon Jan 002 06";
        assert_eq!(show(same), same);
        assert_eq!(
            show("Z07:00 .000 .999 ,99 __2 Janet 2nd"),
            "-07:00 .120 .12 ,12   2 Janet 2nd"
        );
        assert_eq!(show("x0y.0001"), "x0y.0001");
    }
}
