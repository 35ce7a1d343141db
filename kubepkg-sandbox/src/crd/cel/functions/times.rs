//! Parts of times: `getHours` and its like, in UTC or in a time zone.

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use kube_cel::cel::Value;

use super::super::run::{Fault, Outcome};
use super::{Called, Function};

pub(super) fn named(name: &str) -> Option<Function> {
    name.starts_with("get")
        .then_some(part as Function)
        .filter(|_| {
            matches!(
                name,
                "getFullYear"
                    | "getMonth"
                    | "getDayOfYear"
                    | "getDayOfMonth"
                    | "getDate"
                    | "getDayOfWeek"
                    | "getHours"
                    | "getMinutes"
                    | "getSeconds"
                    | "getMilliseconds"
            )
        })
}

fn part(called: &mut Called<'_>) -> Outcome {
    let (time, zone) = match called.values {
        [Value::Duration(span)] => {
            let part = match called.name {
                "getHours" => span.num_hours(),
                "getMinutes" => span.num_minutes(),
                "getSeconds" => span.num_seconds(),
                "getMilliseconds" => span.num_milliseconds(),
                _ => return Err(called.no_overload()),
            };
            return Ok(Value::Int(part));
        }
        [Value::Timestamp(time)] => (time, TimeZone::UTC),
        [Value::Timestamp(time), Value::String(zone)] => {
            let unknown = || Fault::error(format!("unknown time zone {zone}"));
            (time, zone_of(zone).ok_or_else(unknown)?)
        }
        _ => return Err(called.no_overload()),
    };
    let nanosecond = i32::try_from(time.timestamp_subsec_nanos()).unwrap_or(0);
    let time = Timestamp::new(time.timestamp(), nanosecond)
        .map_err(|_| Fault::error("timestamp overflow"))?
        .to_zoned(zone);
    let part = match called.name {
        "getFullYear" => i64::from(time.year()),
        "getMonth" => i64::from(time.month()) - 1,
        "getDayOfYear" => i64::from(time.day_of_year()) - 1,
        "getDayOfMonth" => i64::from(time.day()) - 1,
        "getDate" => i64::from(time.day()),
        "getDayOfWeek" => i64::from(time.weekday().to_sunday_zero_offset()),
        "getHours" => i64::from(time.hour()),
        "getMinutes" => i64::from(time.minute()),
        "getSeconds" => i64::from(time.second()),
        _ => i64::from(time.millisecond()),
    };
    Ok(Value::Int(part))
}

/// A zone by its name, or by its hours and minutes from UTC.
fn zone_of(text: &str) -> Option<TimeZone> {
    if let Some((hours, minutes)) = text.split_once(':') {
        let negative = hours.starts_with('-');
        let hours: i32 = hours.trim_start_matches(['+', '-']).parse().ok()?;
        let minutes: i32 = minutes.parse().ok()?;
        let seconds = hours
            .checked_mul(3600)?
            .checked_add(minutes.checked_mul(60)?)?;
        let offset = Offset::from_seconds(if negative { -seconds } else { seconds }).ok()?;
        return Some(TimeZone::fixed(offset));
    }
    if matches!(text, "" | "Local") {
        return Some(TimeZone::UTC);
    }
    TimeZone::get(text).ok()
}
