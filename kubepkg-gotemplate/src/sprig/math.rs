//! Arithmetic on int64 (wrapping, as in Go), on floats, and sequences of integers.

use super::args::{any, bytes, int, panic, size};
use super::convert::{to_float64, to_int64};
use super::decimal::Decimal;
use crate::collection::List;
use crate::context::Context;
use crate::func::{FuncError, FuncPtr, FuncResult, Function, Signature};
use crate::gotype::{ANY, FLOAT64, INT, INT64, SLICE_INT, STRING};
use crate::value::Value;

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    let two = Signature::new(types!(ANY, ANY), &INT64);
    let some = Signature::variadic(types!(ANY), &ANY, &INT64);
    let some_floats = Signature::variadic(types!(ANY), &ANY, &FLOAT64);
    let float = Signature::new(types!(ANY), &FLOAT64);
    let largest: FuncPtr = |_, args| Ok(Value::int64(fold(args, i64::max)));
    vec![
        Function::plain("add", Signature::variadic(&[], &ANY, &INT64), |_, args| {
            Ok(Value::int64(
                args.iter().map(to_int64).fold(0, i64::wrapping_add),
            ))
        }),
        Function::plain("add1", Signature::new(types!(ANY), &INT64), |_, args| {
            Ok(Value::int64(to_int64(any(args, 0)).wrapping_add(1)))
        }),
        Function::plain("add1f", float, |_, args| {
            decimal(&[any(args, 0).clone(), Value::int(1)], |a, b| Ok(a.add(&b)))
        }),
        Function::plain(
            "addf",
            Signature::variadic(&[], &ANY, &FLOAT64),
            |_, args| {
                let mut all = vec![Value::float64(0.0)];
                all.extend_from_slice(args);
                decimal(&all, |a, b| Ok(a.add(&b)))
            },
        ),
        Function::plain("biggest", some, largest),
        Function::plain("ceil", float, |_, args| {
            Ok(Value::float64(to_float64(any(args, 0)).ceil()))
        }),
        Function::plain("div", two, |_, args| quotient(args, i64::wrapping_div)),
        Function::plain("divf", some_floats, |_, args| {
            decimal(args, |a, b| {
                a.div(&b).ok_or_else(|| panic("decimal division by 0"))
            })
        }),
        Function::plain("floor", float, |_, args| {
            Ok(Value::float64(to_float64(any(args, 0)).floor()))
        }),
        Function::plain("max", some, largest),
        Function::plain("maxf", some_floats, |_, args| {
            Ok(Value::float64(extreme(args, true)))
        }),
        Function::plain("min", some, |_, args| {
            Ok(Value::int64(fold(args, i64::min)))
        }),
        Function::plain("minf", some_floats, |_, args| {
            Ok(Value::float64(extreme(args, false)))
        }),
        Function::plain("mod", two, |_, args| quotient(args, i64::wrapping_rem)),
        Function::plain("mul", some, |_, args| {
            Ok(Value::int64(
                args.iter().map(to_int64).fold(1, i64::wrapping_mul),
            ))
        }),
        Function::plain("mulf", some_floats, |_, args| {
            decimal(args, |a, b| Ok(a.mul(&b)))
        }),
        Function::plain(
            "round",
            Signature::variadic(types!(ANY, INT), &FLOAT64, &FLOAT64),
            round,
        ),
        Function::plain("seq", Signature::variadic(&[], &INT, &STRING), seq),
        Function::plain("sub", two, |_, args| {
            Ok(Value::int64(
                to_int64(any(args, 0)).wrapping_sub(to_int64(any(args, 1))),
            ))
        }),
        Function::plain("subf", some_floats, |_, args| {
            decimal(args, |a, b| Ok(a.sub(&b)))
        }),
        Function::plain(
            "until",
            Signature::new(types!(INT), &SLICE_INT),
            |ctx, args| {
                let end = int(args, 0);
                let step = if end < 0 { -1 } else { 1 };
                ints(until_step(ctx, 0, end, step)?)
            },
        ),
        Function::plain(
            "untilStep",
            Signature::new(types!(INT, INT, INT), &SLICE_INT),
            |ctx, args| ints(until_step(ctx, int(args, 0), int(args, 1), int(args, 2))?),
        ),
    ]
}

fn ints(numbers: Vec<i64>) -> FuncResult {
    let items = numbers.into_iter().map(Value::int).collect();
    Ok(Value::List(List::typed(&SLICE_INT, items)))
}

fn fold(args: &[Value], choose: fn(i64, i64) -> i64) -> i64 {
    args.iter().map(to_int64).reduce(choose).unwrap_or(0)
}

/// `math.Max` or `math.Min` over all: NaN wins, then an infinity on the wanted side.
fn extreme(args: &[Value], largest: bool) -> f64 {
    let limit = if largest {
        f64::INFINITY
    } else {
        f64::NEG_INFINITY
    };
    args.iter()
        .map(to_float64)
        .reduce(|a, b| {
            #[allow(clippy::float_cmp, reason = "the infinity itself is meant")]
            if a == limit || b == limit {
                limit
            } else if a.is_nan() || b.is_nan() {
                f64::NAN
            } else if a == 0.0 && b == 0.0 {
                if a.is_sign_negative() == largest {
                    b
                } else {
                    a
                }
            } else if (a > b) == largest {
                a
            } else {
                b
            }
        })
        .unwrap_or(0.0)
}

fn quotient(args: &[Value], divide: fn(i64, i64) -> i64) -> FuncResult {
    let (a, b) = (to_int64(any(args, 0)), to_int64(any(args, 1)));
    if b == 0 {
        return Err(panic("runtime error: integer divide by zero"));
    }
    Ok(Value::int64(divide(a, b)))
}

/// Folds the arguments as decimals, from the left.
fn decimal(
    args: &[Value],
    combine: impl Fn(Decimal, Decimal) -> Result<Decimal, FuncError>,
) -> FuncResult {
    let mut result: Option<Decimal> = None;
    for value in args {
        let x = to_float64(value);
        let next = Decimal::from_float(x).ok_or_else(|| {
            panic(format!(
                "Cannot create a Decimal from {}",
                super::args::shown(&Value::float64(x))
            ))
        })?;
        result = Some(match result {
            None => next,
            Some(previous) => combine(previous, next)?,
        });
    }
    Ok(Value::float64(result.map_or(0.0, |d| d.to_float())))
}

fn round(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let threshold = match args.get(2) {
        Some(Value::Float(_, x)) => *x,
        _ => 0.5,
    };
    let value = to_float64(any(args, 0));
    let places = int(args, 1).clamp(-400, 400);
    let power = 10_f64.powi(i32::try_from(places.abs()).unwrap_or(0));
    let power = if places < 0 { 1.0 / power } else { power };
    let digit = power * value;
    // Go's Modf of an infinity has NaN for a fraction.
    let fraction = if digit.is_infinite() {
        f64::NAN
    } else {
        digit.fract()
    };
    let rounded = if fraction >= threshold {
        digit.ceil()
    } else {
        digit.floor()
    };
    Ok(Value::float64(rounded / power))
}

fn until_step(
    ctx: &mut Context<'_>,
    start: i64,
    end: i64,
    step: i64,
) -> Result<Vec<i64>, FuncError> {
    if end < start && step >= 0 || end >= start && step <= 0 {
        return Ok(Vec::new());
    }
    let span = (i128::from(end) - i128::from(start)).unsigned_abs();
    let count = span.div_ceil(u128::from(step.unsigned_abs()));
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    ctx.charge(count as u64 / 10)?;
    ctx.charge_bytes(count.saturating_mul(16))?;
    let mut numbers = Vec::with_capacity(count);
    let mut at = start;
    for _ in 0..count {
        numbers.push(at);
        at = at.wrapping_add(step);
    }
    Ok(numbers)
}

fn seq(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let numbers: Vec<i64> = (0..args.len()).map(|i| int(args, i)).collect();
    let (start, step, end) = match *numbers.as_slice() {
        [end] => (1, if end < 1 { -1 } else { 1 }, end),
        [start, end] => (start, if end < start { -1 } else { 1 }, end),
        [start, step, end] => {
            if end < start && step > 0 {
                return Ok(bytes(""));
            }
            (start, step, end)
        }
        _ => return Ok(bytes("")),
    };
    let beyond = end.wrapping_add(if end < start { -1 } else { 1 });
    let numbers = until_step(ctx, start, beyond, step)?;
    let text: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    ctx.charge_bytes(size(i64::try_from(text.len()).unwrap_or(0)) * 4)?;
    Ok(bytes(text.join(" ")))
}
