//! Reading an instant by a Go layout: `time.ParseInLocation` with `Local` = UTC.

use std::rc::Rc;

use super::instant::{DAYS_BEFORE, GoTime, Zone, is_leap};
use super::layout::{DAYS, Element, MONTHS, next_element};
use super::quote;

/// Why one element could not be read.
enum Bad {
    /// The text does not fit the element.
    Text,
    /// The number is out of the range of the named thing.
    Range(&'static str),
}

/// What has been read so far.
#[derive(Default)]
struct Fields {
    year: i64,
    month: Option<u32>,
    day: Option<u32>,
    year_day: Option<u32>,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: u32,
    am: bool,
    pm: bool,
    utc: bool,
    offset: Option<i32>,
    zone: Vec<u8>,
}

fn digit(text: &[u8], at: usize) -> Option<u32> {
    text.get(at)
        .filter(|b| b.is_ascii_digit())
        .map(|b| u32::from(b - b'0'))
}

/// One or two digits; exactly two when `fixed`.
fn number(text: &[u8], fixed: bool) -> Result<(u32, &[u8]), Bad> {
    let first = digit(text, 0).ok_or(Bad::Text)?;
    match digit(text, 1) {
        Some(second) => Ok((first * 10 + second, text.get(2..).unwrap_or(b""))),
        None if fixed => Err(Bad::Text),
        None => Ok((first, text.get(1..).unwrap_or(b""))),
    }
}

fn lookup<'a>(
    names: &[&str],
    length: Option<usize>,
    text: &'a [u8],
) -> Result<(u32, &'a [u8]), Bad> {
    for (i, name) in names.iter().enumerate() {
        let name = length.and_then(|n| name.get(..n)).unwrap_or(name);
        if let Some(head) = text.get(..name.len())
            && head.eq_ignore_ascii_case(name.as_bytes())
        {
            let rest = text.get(name.len()..).unwrap_or(b"");
            return Ok((u32::try_from(i).unwrap_or(0), rest));
        }
    }
    Err(Bad::Text)
}

/// Removes `prefix`, a run of spaces standing for any run of spaces.
fn skip<'a>(mut value: &'a [u8], mut prefix: &[u8]) -> Result<&'a [u8], &'a [u8]> {
    let cut = |text: &[u8]| text.iter().take_while(|b| **b == b' ').count();
    while let Some(first) = prefix.first() {
        if *first == b' ' {
            if value.first().is_some_and(|b| *b != b' ') {
                return Err(value);
            }
            prefix = prefix.get(cut(prefix)..).unwrap_or(b"");
            value = value.get(cut(value)..).unwrap_or(b"");
            continue;
        }
        if value.first() != Some(first) {
            return Err(value);
        }
        prefix = prefix.get(1..).unwrap_or(b"");
        value = value.get(1..).unwrap_or(b"");
    }
    Ok(value)
}

/// A separator and `count - 1` digits as nanoseconds; past nine digits the rest is dropped.
fn nanoseconds(text: &[u8], count: usize) -> Result<u32, Bad> {
    if !matches!(text.first(), Some(b'.' | b',')) {
        return Err(Bad::Text);
    }
    let digits = text.get(1..count.min(10)).unwrap_or(b"");
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Bad::Text);
    }
    let mut nanos = digits
        .iter()
        .fold(0_u32, |sum, b| sum * 10 + u32::from(b - b'0'));
    for _ in digits.len()..9 {
        nanos *= 10;
    }
    Ok(nanos)
}

/// Length of `±n` with n up to 23, 0 when it is none.
fn signed_offset(text: &[u8]) -> usize {
    if !matches!(text.first(), Some(b'+' | b'-')) {
        return 0;
    }
    let digits: Vec<u8> = text
        .iter()
        .skip(1)
        .copied()
        .take_while(u8::is_ascii_digit)
        .collect();
    let value = std::str::from_utf8(&digits)
        .ok()
        .and_then(|d| d.parse::<u64>().ok());
    if value.is_some_and(|v| v <= 23) {
        1 + digits.len()
    } else {
        0
    }
}

/// Length of the abbreviation at the start of `text`.
fn zone_length(text: &[u8]) -> Option<usize> {
    if text.len() < 3 {
        return None;
    }
    if text.starts_with(b"ChST") || text.starts_with(b"MeST") {
        return Some(4);
    }
    if let Some(rest) = text.strip_prefix(b"GMT") {
        return Some(3 + signed_offset(rest));
    }
    if matches!(text.first(), Some(b'+' | b'-')) {
        return Some(signed_offset(text)).filter(|n| *n > 0);
    }
    let upper = text
        .iter()
        .take(6)
        .take_while(|b| b.is_ascii_uppercase())
        .count();
    match upper {
        5 if text.get(4) == Some(&b'T') => Some(5),
        4 if text.get(3) == Some(&b'T') || text.starts_with(b"WITA") => Some(4),
        3 => Some(3),
        _ => None,
    }
}

fn read_offset<'a>(
    fields: &mut Fields,
    value: &'a [u8],
    colon: bool,
    parts: u8,
) -> Result<&'a [u8], Bad> {
    let step = if colon { 3 } else { 2 };
    let parts = usize::from(parts);
    let length = 1 + parts * step - usize::from(colon);
    let head = value.get(..length).ok_or(Bad::Text)?;
    let mut numbers = [0_u32; 3];
    let mut failed = false;
    for (i, slot) in numbers.iter_mut().enumerate().take(parts) {
        let at = 1 + i * step;
        if colon && i > 0 && head.get(at - 1) != Some(&b':') {
            return Err(Bad::Text);
        }
        if failed {
            continue;
        }
        match head
            .get(at..at + 2)
            .ok_or(Bad::Text)
            .and_then(|two| number(two, true))
        {
            Ok((n, _)) => *slot = n,
            Err(_) => failed = true,
        }
    }
    let [hour, minute, second] = numbers;
    if hour > 24 {
        return Err(Bad::Range("time zone offset hour"));
    }
    if minute > 60 {
        return Err(Bad::Range("time zone offset minute"));
    }
    if second > 60 {
        return Err(Bad::Range("time zone offset second"));
    }
    let offset = i32::try_from((hour * 60 + minute) * 60 + second).unwrap_or(0);
    fields.offset = match head.first() {
        Some(b'+') => Some(offset),
        Some(b'-') => Some(-offset),
        _ => return Err(Bad::Text),
    };
    if failed {
        return Err(Bad::Text);
    }
    Ok(value.get(length..).unwrap_or(b""))
}

fn in_range(value: u32, limit: u32, name: &'static str) -> Result<i64, Bad> {
    if value < limit {
        Ok(i64::from(value))
    } else {
        Err(Bad::Range(name))
    }
}

#[allow(
    clippy::too_many_lines,
    reason = "one arm for each element of a layout"
)]
fn read<'a>(
    fields: &mut Fields,
    element: Element,
    mut value: &'a [u8],
    rest_of_layout: &[u8],
) -> Result<&'a [u8], Bad> {
    let n;
    match element {
        Element::Year => {
            // Go reads the two characters as a number, so a sign and a digit are one.
            let year = match (value.first(), digit(value, 0), digit(value, 1)) {
                (_, Some(tens), Some(ones)) => i64::from(tens * 10 + ones),
                (Some(b'+'), None, Some(ones)) => i64::from(ones),
                (Some(b'-'), None, Some(ones)) => -i64::from(ones),
                _ => return Err(Bad::Text),
            };
            fields.year = if year >= 69 { year + 1900 } else { year + 2000 };
            value = value.get(2..).unwrap_or(b"");
        }
        Element::LongYear => {
            let mut year = 0;
            for at in 0..4 {
                year = year * 10 + i64::from(digit(value, at).ok_or(Bad::Text)?);
            }
            fields.year = year;
            value = value.get(4..).unwrap_or(b"");
        }
        Element::Month => {
            (n, value) = lookup(&MONTHS, Some(3), value)?;
            fields.month = Some(n + 1);
        }
        Element::LongMonth => {
            (n, value) = lookup(&MONTHS, None, value)?;
            fields.month = Some(n + 1);
        }
        Element::NumMonth | Element::ZeroMonth => {
            (n, value) = number(value, element == Element::ZeroMonth)?;
            if n == 0 || n > 12 {
                return Err(Bad::Range("month"));
            }
            fields.month = Some(n);
        }
        Element::WeekDay => (_, value) = lookup(&DAYS, Some(3), value)?,
        Element::LongWeekDay => (_, value) = lookup(&DAYS, None, value)?,
        Element::Day | Element::UnderDay | Element::ZeroDay => {
            if element == Element::UnderDay {
                value = value.strip_prefix(b" ").unwrap_or(value);
            }
            (n, value) = number(value, element == Element::ZeroDay)?;
            fields.day = Some(n);
        }
        Element::UnderYearDay | Element::ZeroYearDay => {
            if element == Element::UnderYearDay {
                for _ in 0..2 {
                    value = value.strip_prefix(b" ").unwrap_or(value);
                }
            }
            let count = value
                .iter()
                .take(3)
                .take_while(|b| b.is_ascii_digit())
                .count();
            if count == 0 || element == Element::ZeroYearDay && count != 3 {
                return Err(Bad::Text);
            }
            let (digits, rest) = value.split_at(count);
            value = rest;
            fields.year_day = Some(
                digits
                    .iter()
                    .fold(0, |sum, b| sum * 10 + u32::from(b - b'0')),
            );
        }
        Element::Hour => {
            (n, value) = number(value, false)?;
            fields.hour = in_range(n, 24, "hour")?;
        }
        Element::Hour12 | Element::ZeroHour12 => {
            (n, value) = number(value, element == Element::ZeroHour12)?;
            fields.hour = in_range(n, 13, "hour")?;
        }
        Element::Minute | Element::ZeroMinute => {
            (n, value) = number(value, element == Element::ZeroMinute)?;
            fields.minute = in_range(n, 60, "minute")?;
        }
        Element::Second | Element::ZeroSecond => {
            (n, value) = number(value, element == Element::ZeroSecond)?;
            fields.second = in_range(n, 60, "second")?;
            // A fraction may follow even when the layout has none.
            let (_, next, _) = next_element(rest_of_layout);
            if !matches!(next, Some((Element::Fraction { .. }, _))) {
                value = read_fraction(fields, value)?;
            }
        }
        Element::UpperPm | Element::LowerPm => {
            let (am, pm): (&[u8], &[u8]) = if element == Element::UpperPm {
                (b"AM", b"PM")
            } else {
                (b"am", b"pm")
            };
            let word = value.get(..2).ok_or(Bad::Text)?;
            fields.am |= word == am;
            fields.pm |= word == pm;
            if word != am && word != pm {
                return Err(Bad::Text);
            }
            value = value.get(2..).unwrap_or(b"");
        }
        Element::Offset { z, colon, parts } => {
            if z && let Some(rest) = value.strip_prefix(b"Z") {
                fields.utc = true;
                return Ok(rest);
            }
            value = read_offset(fields, value, colon, parts)?;
        }
        Element::ZoneName => {
            if let Some(rest) = value.strip_prefix(b"UTC") {
                fields.utc = true;
                return Ok(rest);
            }
            let (name, rest) = value.split_at(zone_length(value).ok_or(Bad::Text)?);
            fields.zone = name.to_vec();
            value = rest;
        }
        Element::Fraction {
            digits,
            trim: false,
            ..
        } => {
            if value.len() < digits + 1 {
                return Err(Bad::Text);
            }
            fields.nanos = nanoseconds(value, digits + 1)?;
            value = value.get(digits + 1..).unwrap_or(b"");
        }
        Element::Fraction { .. } => {
            value = read_fraction(fields, value)?;
        }
    }
    Ok(value)
}

/// Reads a fraction of a second when one follows, and gives what is left.
fn read_fraction<'t>(fields: &mut Fields, value: &'t [u8]) -> Result<&'t [u8], Bad> {
    if !matches!(value.first(), Some(b'.' | b',')) || digit(value, 1).is_none() {
        return Ok(value);
    }
    let digits = value.iter().skip(1).take_while(|b| b.is_ascii_digit());
    let count = 1 + digits.count();
    fields.nanos = nanoseconds(value, count)?;
    Ok(value.get(count..).unwrap_or(b""))
}

/// Month and day of a day of the year, or the words of Go's complaint.
fn from_year_day(fields: &Fields, year_day: u32) -> Result<(u32, u32), &'static str> {
    let mut day = year_day;
    let mut leap_day = false;
    if is_leap(fields.year) {
        leap_day = year_day == 60;
        if year_day > 60 {
            day -= 1;
        }
    }
    if !(1..=365).contains(&day) {
        return Err(": day-of-year out of range");
    }
    let (month, day) = if leap_day {
        (2, 29)
    } else {
        let before = DAYS_BEFORE.iter().rposition(|b| *b < day).unwrap_or(0);
        let month = u32::try_from(before).unwrap_or(0) + 1;
        (month, day - DAYS_BEFORE.get(before).unwrap_or(&0))
    };
    if fields.month.is_some_and(|m| m != month) {
        return Err(": day-of-year does not match month");
    }
    if fields.day.is_some_and(|d| d != day) {
        return Err(": day-of-year does not match day");
    }
    Ok((month, day))
}

fn days_in(month: u32, year: i64) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// `time.ParseInLocation(layout, value, time.Local)`, Local being UTC; the error is Go's text.
///
/// # Errors
/// A value that does not fit the layout, or a date that does not exist.
pub fn parse(layout: &[u8], value: &[u8]) -> Result<GoTime, String> {
    let whole = format!("parsing time {}", quote(value));
    let cannot = |element: &[u8], text: &[u8]| {
        format!(
            "{whole} as {}: cannot parse {} as {}",
            quote(layout),
            quote(text),
            quote(element)
        )
    };
    let mut fields = Fields::default();
    let (mut left, mut rest) = (value, layout);
    loop {
        let (before, element, after) = next_element(rest);
        left = skip(left, before).map_err(|at| cannot(before, at))?;
        let Some((element, text)) = element else {
            if !left.is_empty() {
                return Err(format!("{whole}: extra text: {}", quote(left)));
            }
            break;
        };
        rest = after;
        left = read(&mut fields, element, left, rest).map_err(|bad| match bad {
            Bad::Text => cannot(text, left),
            Bad::Range(name) => format!("{whole}: {name} out of range"),
        })?;
    }
    if fields.pm && fields.hour < 12 {
        fields.hour += 12;
    } else if fields.am && fields.hour == 12 {
        fields.hour = 0;
    }
    let (month, day) = match fields.year_day {
        Some(year_day) => {
            from_year_day(&fields, year_day).map_err(|words| format!("{whole}{words}"))?
        }
        None => (fields.month.unwrap_or(1), fields.day.unwrap_or(1)),
    };
    if day < 1 || day > days_in(month, fields.year) {
        return Err(format!("{whole}: day out of range"));
    }
    let clock = (fields.hour, fields.minute, fields.second);
    let seconds = GoTime::civil_seconds(fields.year, month, day, clock);
    let mut time = GoTime::unix(seconds, fields.nanos);
    if fields.utc {
        return Ok(time);
    }
    let name: Rc<str> = Rc::from(String::from_utf8_lossy(&fields.zone).as_ref());
    // Go keeps -1 for "no offset", so a parsed offset of -1 second counts as none.
    if let Some(offset) = fields.offset.filter(|o| *o != -1) {
        time.seconds -= i64::from(offset);
        if offset != 0 || !name.is_empty() && &*name != "UTC" {
            time.zone = Zone::Fixed(name, offset);
        }
        return Ok(time);
    }
    if !name.is_empty() {
        let mut offset = 0;
        if let Some(hours) = name.strip_prefix("GMT").filter(|h| !h.is_empty()) {
            offset = hours.parse::<i32>().unwrap_or(0) * 3_600;
        }
        time.zone = Zone::Fixed(name, offset);
        // The clock was read in UTC: a fake zone only changes how the instant is shown.
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(layout: &str, value: &str) -> String {
        match parse(layout.as_bytes(), value.as_bytes()) {
            Ok(time) => time.default_text(),
            Err(error) => error,
        }
    }

    #[test]
    fn reads_what_go_reads() {
        let iso = "2006-01-02T15:04:05Z07:00";
        assert_eq!(
            text(iso, "2021-03-04T05:06:07+02:00"),
            "2021-03-04 05:06:07 +0200 +0200"
        );
        assert_eq!(
            text(iso, "2021-03-04T05:06:07.5Z"),
            "2021-03-04 05:06:07.5 +0000 UTC"
        );
        assert_eq!(
            text("2006-01-02 MST", "2021-03-04 CET"),
            "2021-03-04 00:00:00 +0000 CET"
        );
        assert_eq!(
            text("2006 002", "2024 060"),
            "2024-02-29 00:00:00 +0000 UTC"
        );
        assert_eq!(text("3:04PM", "12:30AM"), "0000-01-01 00:30:00 +0000 UTC");
    }

    #[test]
    fn says_why_as_go_does() {
        assert_eq!(
            text("2006-01-02", "2021-13-01"),
            "parsing time \"2021-13-01\": month out of range"
        );
        assert_eq!(
            text("2006-01-02", "2021-02-30"),
            "parsing time \"2021-02-30\": day out of range"
        );
        assert_eq!(
            text("2006-01-02", "x"),
            "parsing time \"x\" as \"2006-01-02\": cannot parse \"x\" as \"2006\""
        );
        assert_eq!(
            text("2006-01-02", "2021-01-02z"),
            "parsing time \"2021-01-02z\": extra text: \"z\""
        );
    }
}
