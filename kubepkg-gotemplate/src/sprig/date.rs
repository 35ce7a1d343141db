//! Dates: Sprig's functions, and `time.Time`, `time.Duration`, `time.Month` and `time.Weekday` as
//! templates see them, with their methods. The local zone is UTC.

use super::args::{any, bytes, int, text};
use crate::bytestring::GoString;
use crate::context::Context;
use crate::func::{FuncError, FuncPtr, FuncResult, Function, Signature};
use crate::gotype::{ANY, BOOL, FLOAT64, INT, INT64, Kind, STRING, Type};
use crate::object::{Method, Object};
use crate::strconv::parse_int;
use crate::time::{self, Duration, GoTime, Zone};
use crate::value::{IntKind, UintKind, Value};

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    let format = Signature::new(types!(STRING, ANY), &STRING);
    let in_zone = Signature::new(types!(STRING, ANY, STRING), &STRING);
    let modify = Signature::new(types!(STRING, TIME), &TIME);
    let parse = Signature::new(types!(STRING, STRING), &TIME);
    let describe = Signature::new(types!(ANY), &STRING);
    let call_in_zone: FuncPtr =
        |ctx, args| Ok(formatted(ctx, text(args, 0), any(args, 1), text(args, 2)));
    let call_modify: FuncPtr = |_, args| {
        let moved = Duration::parse(text(args, 0)).map(|d| time_of(any(args, 1)).add(d));
        Ok(moved.map_or_else(|_| any(args, 1).clone(), TimeValue::value))
    };
    let call_must_modify: FuncPtr = |_, args| {
        let moved = Duration::parse(text(args, 0)).map(|d| time_of(any(args, 1)).add(d));
        moved.map(TimeValue::value).map_err(FuncError::new)
    };
    vec![
        Function::plain("ago", describe, ago),
        Function::plain("date", format, |ctx, args| {
            Ok(formatted(ctx, text(args, 0), any(args, 1), b"Local"))
        }),
        Function::plain("dateInZone", in_zone, call_in_zone),
        Function::plain("dateModify", modify, call_modify),
        Function::plain("date_in_zone", in_zone, call_in_zone),
        Function::plain("date_modify", modify, call_modify),
        Function::plain("duration", describe, duration),
        Function::plain("durationRound", describe, duration_round),
        Function::plain("htmlDate", describe, |ctx, args| {
            Ok(formatted(ctx, b"2006-01-02", any(args, 0), b"Local"))
        }),
        Function::plain(
            "htmlDateInZone",
            Signature::new(types!(ANY, STRING), &STRING),
            |ctx, args| Ok(formatted(ctx, b"2006-01-02", any(args, 0), text(args, 1))),
        ),
        Function::plain("mustDateModify", modify, call_must_modify),
        Function::plain("mustToDate", parse, |_, args| {
            time::parse(text(args, 0), text(args, 1))
                .map(TimeValue::value)
                .map_err(FuncError::new)
        }),
        Function::plain("must_date_modify", modify, call_must_modify),
        Function::plain("now", Signature::new(&[], &TIME), |ctx, _| {
            let mut instant = now(ctx);
            instant.monotonic = Some(ctx.env().uptime());
            Ok(TimeValue::value(instant))
        }),
        Function::plain("toDate", parse, |_, args| {
            let parsed = time::parse(text(args, 0), text(args, 1));
            Ok(TimeValue::value(parsed.unwrap_or_else(|_| GoTime::zero())))
        }),
        Function::plain(
            "unixEpoch",
            Signature::new(types!(TIME), &STRING),
            |_, args| Ok(bytes(time_of(any(args, 0)).seconds.to_string())),
        ),
    ]
}

fn now(ctx: &mut Context<'_>) -> GoTime {
    let (seconds, nanos) = ctx.env().now();
    GoTime::unix(seconds, nanos)
}

/// The instant that a date argument names: a time, or seconds since the epoch.
fn instant(value: &Value) -> Option<GoTime> {
    match value {
        Value::Int(IntKind::Int | IntKind::Int32 | IntKind::Int64, seconds) => {
            Some(GoTime::unix(*seconds, 0))
        }
        other => other.as_object::<TimeValue>().map(|time| time.0.clone()),
    }
}

fn formatted(ctx: &mut Context<'_>, layout: &[u8], date: &Value, zone: &[u8]) -> Value {
    let instant = instant(date).unwrap_or_else(|| now(ctx));
    let zone = std::str::from_utf8(zone)
        .ok()
        .and_then(Zone::load)
        .unwrap_or(Zone::Utc);
    bytes(instant.in_zone(zone).format(layout))
}

fn ago(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let present = now(ctx);
    let then = match any(args, 0) {
        // Sprig takes no int32 here.
        Value::Int(IntKind::Int32, _) => None,
        other => instant(other),
    };
    let passed = then.map_or(Duration(0), |then| present.since(&then));
    Ok(bytes(passed.round(Duration(1_000_000_000)).to_string()))
}

fn duration(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let seconds = match any(args, 0) {
        Value::String(text) => match parse_int(&text.to_str_lossy(), 10, 64) {
            Ok(n) => n,
            Err(error) if error.kind == crate::strconv::NumErrorKind::Range => {
                if text.starts_with(b"-") {
                    i64::MIN
                } else {
                    i64::MAX
                }
            }
            Err(_) => 0,
        },
        Value::Int(IntKind::Int64, n) => *n,
        _ => 0,
    };
    Ok(bytes(
        Duration(seconds.wrapping_mul(1_000_000_000)).to_string(),
    ))
}

const SECOND: u64 = 1_000_000_000;

fn duration_round(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let duration = match any(args, 0) {
        Value::String(text) => Duration::parse(text).unwrap_or_default(),
        Value::Int(IntKind::Int64, n) => Duration(*n),
        other => match other.as_object::<TimeValue>() {
            Some(time) => now(ctx).since(&time.0),
            None => Duration(0),
        },
    };
    let length = duration.0.unsigned_abs();
    let units = [
        (SECOND * 86_400 * 365, "y"),
        (SECOND * 86_400 * 30, "mo"),
        (SECOND * 86_400, "d"),
        (SECOND * 3_600, "h"),
        (SECOND * 60, "m"),
        (SECOND, "s"),
    ];
    let shown = units.iter().find(|(unit, _)| length > *unit);
    Ok(bytes(shown.map_or_else(
        || "0s".to_owned(),
        |(unit, name)| format!("{}{name}", length / unit),
    )))
}

/// A `time.Time` in a template.
#[derive(Debug, Clone)]
pub(super) struct TimeValue(pub(super) GoTime);

impl TimeValue {
    pub(super) fn value(time: GoTime) -> Value {
        Value::object(Self(time))
    }
}

/// A template value of an instant.
#[must_use]
pub fn time_value(time: GoTime) -> Value {
    TimeValue::value(time)
}

/// The time behind a value, Go's zero time behind another.
pub(super) fn time_of(value: &Value) -> GoTime {
    value
        .as_object::<TimeValue>()
        .map_or_else(GoTime::zero, |time| time.0.clone())
}

impl Object for TimeValue {
    fn go_type(&self) -> &'static Type {
        &TIME
    }

    /// The fields of Go's struct, which `%d` shows: nanoseconds, seconds since the year 1, zone.
    fn printed_fields(&self) -> Vec<(&'static str, Value)> {
        let since_year_one = self.0.seconds.wrapping_sub(GoTime::zero().seconds);
        vec![
            (
                "wall",
                Value::Uint(UintKind::Uint64, u64::from(self.0.nanos)),
            ),
            ("ext", Value::int64(since_year_one)),
            ("loc", Value::TypedNil(&LOCATION)),
        ]
    }

    fn text(&self) -> Option<GoString> {
        Some(GoString::from(self.0.default_text()))
    }

    fn json(&self) -> Option<String> {
        let text = self.0.format(b"2006-01-02T15:04:05.999999999Z07:00");
        Some(format!("\"{}\"", String::from_utf8_lossy(&text)))
    }

    fn go_eq(&self, other: &dyn Object) -> Option<bool> {
        let other = other.downcast_ref::<Self>()?;
        Some(self.0 == other.0)
    }
}

/// A `time.Duration` in a template.
#[derive(Debug, Clone, Copy)]
pub(super) struct DurationValue(pub(super) Duration);

impl DurationValue {
    pub(super) fn value(duration: Duration) -> Value {
        Value::object(Self(duration))
    }
}

fn duration_of(value: &Value) -> Duration {
    match value.as_object::<DurationValue>() {
        Some(duration) => duration.0,
        None => Duration(value.as_int().unwrap_or(0)),
    }
}

impl Object for DurationValue {
    fn go_type(&self) -> &'static Type {
        &DURATION
    }

    fn underlying(&self) -> Option<Value> {
        Some(Value::int64(self.0.0))
    }

    fn text(&self) -> Option<GoString> {
        Some(GoString::from(self.0.to_string()))
    }

    fn go_eq(&self, other: &dyn Object) -> Option<bool> {
        Some(self.0 == other.downcast_ref::<Self>()?.0)
    }
}

/// A `time.Month` or `time.Weekday`: a number with a name.
#[derive(Debug)]
struct Named {
    go_type: &'static Type,
    number: i64,
    name: String,
}

impl Object for Named {
    fn go_type(&self) -> &'static Type {
        self.go_type
    }

    fn underlying(&self) -> Option<Value> {
        Some(Value::int(self.number))
    }

    fn text(&self) -> Option<GoString> {
        Some(GoString::from(self.name.as_str()))
    }

    fn go_eq(&self, other: &dyn Object) -> Option<bool> {
        let other = other.downcast_ref::<Self>()?;
        Some(self.number == other.number && self.go_type.is(other.go_type))
    }
}

static MONTH: Type = Type::defined("time.Month", &INT, &NAMED_METHODS);
static WEEKDAY: Type = Type::defined("time.Weekday", &INT, &NAMED_METHODS);

static NAMED_METHODS: [Method; 1] = [Method {
    name: "String",
    signature: Signature::new(&[], &STRING),
    call: |_, receiver, _| {
        let name = receiver
            .as_object::<Named>()
            .map(|named| named.name.clone());
        Ok(bytes(name.unwrap_or_default()))
    },
}];

static LOCATION: Type = Type::basic("*time.Location", Kind::Pointer);

/// `time.Duration`
pub static DURATION: Type = Type::defined("time.Duration", &INT64, &DURATION_METHODS);

/// `time.Time`
pub static TIME: Type = Type {
    methods: &TIME_METHODS,
    ..Type::basic("time.Time", Kind::Struct)
};

static DURATION_METHODS: [Method; 10] = [
    Method::new("Abs", &[], &DURATION, |_, this, _| {
        let nanos = duration_of(this).0;
        Ok(DurationValue::value(Duration(
            nanos.checked_abs().unwrap_or(i64::MAX),
        )))
    }),
    Method::new("Hours", &[], &FLOAT64, |_, this, _| {
        Ok(Value::float64(duration_of(this).hours()))
    }),
    Method::new("Microseconds", &[], &INT64, |_, this, _| {
        Ok(Value::int64(duration_of(this).0 / 1_000))
    }),
    Method::new("Milliseconds", &[], &INT64, |_, this, _| {
        Ok(Value::int64(duration_of(this).0 / 1_000_000))
    }),
    Method::new("Minutes", &[], &FLOAT64, |_, this, _| {
        Ok(Value::float64(duration_of(this).minutes()))
    }),
    Method::new("Nanoseconds", &[], &INT64, |_, this, _| {
        Ok(Value::int64(duration_of(this).0))
    }),
    Method::new("Round", &[&DURATION], &DURATION, |_, this, args| {
        Ok(DurationValue::value(
            duration_of(this).round(duration_of(any(args, 0))),
        ))
    }),
    Method::new("Seconds", &[], &FLOAT64, |_, this, _| {
        Ok(Value::float64(duration_of(this).seconds()))
    }),
    Method::new("String", &[], &STRING, |_, this, _| {
        Ok(bytes(duration_of(this).to_string()))
    }),
    Method::new("Truncate", &[&DURATION], &DURATION, |_, this, args| {
        Ok(DurationValue::value(
            duration_of(this).truncate(duration_of(any(args, 0))),
        ))
    }),
];

/// A number of the instant's own zone, read back from its printed form.
fn part(this: &Value, layout: &str) -> Value {
    let text = time_of(this).format(layout.as_bytes());
    Value::int(String::from_utf8_lossy(&text).trim().parse().unwrap_or(0))
}

fn compare(this: &Value, args: &[Value]) -> std::cmp::Ordering {
    let (a, b) = (time_of(this), time_of(any(args, 0)));
    (a.seconds, a.nanos).cmp(&(b.seconds, b.nanos))
}

static TIME_METHODS: [Method; 30] = [
    Method::new("Add", &[&DURATION], &TIME, |_, this, args| {
        Ok(TimeValue::value(
            time_of(this).add(duration_of(any(args, 0))),
        ))
    }),
    Method::new("AddDate", &[&INT, &INT, &INT], &TIME, |_, this, args| {
        let moved = time_of(this).add_date(int(args, 0), int(args, 1), int(args, 2));
        Ok(TimeValue::value(moved))
    }),
    Method::new("After", &[&TIME], &BOOL, |_, this, args| {
        Ok(Value::Bool(compare(this, args).is_gt()))
    }),
    Method::new("Before", &[&TIME], &BOOL, |_, this, args| {
        Ok(Value::Bool(compare(this, args).is_lt()))
    }),
    Method::new("Compare", &[&TIME], &INT, |_, this, args| {
        Ok(Value::int(compare(this, args) as i64))
    }),
    Method::new("Day", &[], &INT, |_, this, _| Ok(part(this, "2"))),
    Method::new("Equal", &[&TIME], &BOOL, |_, this, args| {
        Ok(Value::Bool(compare(this, args).is_eq()))
    }),
    Method::new("Format", &[&STRING], &STRING, |_, this, args| {
        Ok(bytes(time_of(this).format(text(args, 0))))
    }),
    Method::new("Hour", &[], &INT, |_, this, _| Ok(part(this, "15"))),
    Method::new("IsDST", &[], &BOOL, |_, _, _| Ok(Value::Bool(false))),
    Method::new("IsZero", &[], &BOOL, |_, this, _| {
        let (time, zero) = (time_of(this), GoTime::zero());
        Ok(Value::Bool(time.seconds == zero.seconds && time.nanos == 0))
    }),
    Method::new("Local", &[], &TIME, |_, this, _| {
        Ok(TimeValue::value(time_of(this).in_zone(Zone::Utc)))
    }),
    Method::new("Minute", &[], &INT, |_, this, _| Ok(part(this, "4"))),
    Method::new("Month", &[], &MONTH, |_, this, _| {
        let name = time_of(this).format(b"January");
        let number = part(this, "1").as_int().unwrap_or(1);
        let name = String::from_utf8_lossy(&name).into_owned();
        Ok(Value::object(Named {
            go_type: &MONTH,
            number,
            name,
        }))
    }),
    Method::new("Nanosecond", &[], &INT, |_, this, _| {
        Ok(Value::int(i64::from(time_of(this).nanos)))
    }),
    Method::new("Round", &[&DURATION], &TIME, |_, this, args| {
        let (time, unit) = (time_of(this), duration_of(any(args, 0)));
        let rest = time.past_multiple(unit);
        let step = if rest.0.saturating_mul(2) < unit.0 {
            -rest.0
        } else {
            unit.0 - rest.0
        };
        Ok(TimeValue::value(stepped(&time, unit, step)))
    }),
    Method::new("Second", &[], &INT, |_, this, _| Ok(part(this, "5"))),
    Method::new("String", &[], &STRING, |_, this, _| {
        Ok(bytes(time_of(this).default_text()))
    }),
    Method::new("Sub", &[&TIME], &DURATION, |_, this, args| {
        Ok(DurationValue::value(
            time_of(this).since(&time_of(any(args, 0))),
        ))
    }),
    Method::new("Truncate", &[&DURATION], &TIME, |_, this, args| {
        let (time, unit) = (time_of(this), duration_of(any(args, 0)));
        let rest = time.past_multiple(unit);
        Ok(TimeValue::value(stepped(&time, unit, -rest.0)))
    }),
    Method::new("UTC", &[], &TIME, |_, this, _| {
        Ok(TimeValue::value(time_of(this).in_zone(Zone::Utc)))
    }),
    Method::new("Unix", &[], &INT64, |_, this, _| {
        Ok(Value::int64(time_of(this).seconds))
    }),
    Method::new("UnixMicro", &[], &INT64, |_, this, _| {
        Ok(unix(this, 1_000_000))
    }),
    Method::new("UnixMilli", &[], &INT64, |_, this, _| Ok(unix(this, 1_000))),
    Method::new("UnixNano", &[], &INT64, |_, this, _| {
        Ok(unix(this, 1_000_000_000))
    }),
    Method::new("Weekday", &[], &WEEKDAY, |_, this, _| {
        let name = String::from_utf8_lossy(&time_of(this).format(b"Monday")).into_owned();
        let number = time_of(this).weekday();
        Ok(Value::object(Named {
            go_type: &WEEKDAY,
            number,
            name,
        }))
    }),
    Method::new("Year", &[], &INT, |_, this, _| Ok(part(this, "2006"))),
    Method::new("YearDay", &[], &INT, |_, this, _| Ok(part(this, "002"))),
    Method::new("GoString", &[], &STRING, |_, this, _| {
        Ok(bytes(time_of(this).default_text()))
    }),
    Method::new("MarshalText", &[], &crate::gotype::BYTES, |_, this, _| {
        let text = time_of(this).format(b"2006-01-02T15:04:05.999999999Z07:00");
        Ok(Value::Bytes(crate::collection::GoBytes::new(text)))
    }),
];

/// Moves by `step` and drops the monotonic reading, as rounding does; unchanged without a unit.
fn stepped(time: &GoTime, unit: Duration, step: i64) -> GoTime {
    let mut moved = if unit.0 <= 0 {
        time.clone()
    } else {
        time.add(Duration(step))
    };
    moved.monotonic = None;
    moved
}

fn unix(this: &Value, per_second: i64) -> Value {
    let time = time_of(this);
    let fraction = i64::from(time.nanos) / (1_000_000_000 / per_second);
    Value::int64(time.seconds.wrapping_mul(per_second).wrapping_add(fraction))
}
