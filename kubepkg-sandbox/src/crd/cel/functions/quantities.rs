//! Quantities: `library/quantity.go` of the API server, over `resource.Quantity` of `k8s.io/apimachinery`.
//!
//! A quantity is a whole number with a power of ten, and the way in which it was written: with suffixes of ten, of two,
//! or with an exponent. What is smaller than a billionth is rounded up.

use std::cmp::Ordering;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Opaque;

use super::super::run::{Fault, Outcome};
use super::super::typed;
use super::{Called, Function, semvers};
use crate::api::quantity;

const SUFFIX: &str = "unable to parse quantity's suffix";
/// Digits that the API server holds in 64 bits.
const FAST_DIGITS: i64 = 18;
/// Digits that are read at all.
const MAX_DIGITS: usize = 36;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Decimal,
    Exponent,
    Binary,
}

#[derive(Clone, Debug)]
struct Quantity {
    value: i128,
    scale: i32,
    form: Form,
    /// Whether the API server holds it in 64 bits.
    is_small: bool,
    /// As it was written, when it is shown like that.
    written: Option<String>,
}

const SUFFIXES: &[(&str, Form, i32)] = &[
    ("n", Form::Decimal, -9),
    ("u", Form::Decimal, -6),
    ("m", Form::Decimal, -3),
    ("", Form::Decimal, 0),
    ("k", Form::Decimal, 3),
    ("M", Form::Decimal, 6),
    ("G", Form::Decimal, 9),
    ("T", Form::Decimal, 12),
    ("P", Form::Decimal, 15),
    ("E", Form::Decimal, 18),
    ("Ki", Form::Binary, 10),
    ("Mi", Form::Binary, 20),
    ("Gi", Form::Binary, 30),
    ("Ti", Form::Binary, 40),
    ("Pi", Form::Binary, 50),
    ("Ei", Form::Binary, 60),
];

fn ten(exponent: i32) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(exponent).ok()?)
}

impl Quantity {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let bare = text.strip_prefix(['+', '-']).unwrap_or(text);
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, rest) = bare.split_at(digits(bare));
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits(rest)),
            None => ("", rest),
        };
        if text.is_empty() {
            return Err(quantity::OFFENCE);
        }
        let letters = suffix.trim_start_matches(|sign| "eEinumkKMGTP".contains(sign));
        let exponent = letters.strip_prefix(['+', '-']).unwrap_or(letters);
        if !exponent.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(quantity::OFFENCE);
        }
        let (form, exponent) = suffix_of(suffix).ok_or(SUFFIX)?;
        if whole.is_empty() && fraction.is_empty() && !(bare.is_empty() || rest.starts_with('.')) {
            // Only a suffix: the API server reads no digits as zero.
            return Ok(Self::zero(form));
        }
        let whole = whole.trim_start_matches('0');
        if whole.len() + fraction.len() > MAX_DIGITS {
            return Err("unable to parse numeric part of quantity");
        }
        let number: i128 = format!("0{whole}{fraction}").parse().unwrap_or(0);
        let places = i32::try_from(fraction.len()).unwrap_or(0);
        let is_negative = text.starts_with('-');
        let count = i64::try_from(whole.len().max(1) + fraction.len()).unwrap_or(i64::MAX);
        let room = match form {
            Form::Binary if fraction.is_empty() => {
                15 - i64::try_from(whole.len().max(1)).unwrap_or(0)
                    - i64::from(exponent) * 3 / 10
                    - 1
            }
            Form::Binary => -1,
            _ => FAST_DIGITS - count,
        };
        let (value, scale) = match form {
            Form::Binary => (number.checked_mul(1_i128 << exponent), -places),
            _ => (Some(number), exponent - places),
        };
        let value = value.ok_or("unable to parse numeric part of quantity")?;
        let signed = if is_negative { -value } else { value };
        let is_small = room >= 0 && scale >= -9;
        let shifted = format!("{}{fraction}", if whole.is_empty() { "0" } else { whole });
        let canonical = match form {
            Form::Binary => exponent % 10 == 0 && number & 7 != 0,
            _ => scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0'),
        };
        let mut quantity = Self {
            value: signed,
            scale,
            form,
            is_small,
            written: (is_small && canonical || text == "0").then(|| text.to_owned()),
        };
        if !is_small {
            quantity.round();
            if form == Form::Binary
                && quantity.compare(&Self::of(1)) == Ordering::Less
                && value > 0
                && !is_negative
            {
                quantity.form = Form::Decimal;
            }
        }
        Ok(quantity)
    }

    fn zero(form: Form) -> Self {
        Self {
            form,
            ..Self::of(0)
        }
    }

    fn of(value: i64) -> Self {
        Self {
            value: value.into(),
            scale: 0,
            form: Form::Exponent,
            is_small: true,
            written: None,
        }
    }

    /// Away from zero, to billionths.
    fn round(&mut self) {
        let Some(by) = (self.scale < -9).then(|| ten(-9 - self.scale)).flatten() else {
            return;
        };
        let up = i128::from(self.value % by != 0) * self.value.signum();
        self.value = self.value / by + up;
        self.scale = -9;
    }

    /// Both values at one scale.
    fn aligned(&self, other: &Self) -> Option<(i128, i128, i32)> {
        let scale = self.scale.min(other.scale);
        let at = |of: &Self| of.value.checked_mul(ten(of.scale - scale)?);
        Some((at(self)?, at(other)?, scale))
    }

    fn compare(&self, other: &Self) -> Ordering {
        if let Some((one, other, _)) = self.aligned(other) {
            return one.cmp(&other);
        }
        let signs = self.value.signum().cmp(&other.value.signum());
        signs.then(self.scale.cmp(&other.scale))
    }

    fn plus(&self, other: &Self, sign: i128) -> Option<Self> {
        let (one, added, scale) = self.aligned(other)?;
        let value = one.checked_add(sign.checked_mul(added)?)?;
        let form = if self.value == 0 {
            other.form
        } else {
            self.form
        };
        Some(Self {
            value,
            scale,
            form,
            is_small: self.is_small && other.is_small && i64::try_from(value).is_ok(),
            written: None,
        })
    }

    /// As a whole number, when it is held as one.
    fn whole(&self) -> Option<i64> {
        if !self.is_small || self.scale < 0 {
            return None;
        }
        i64::try_from(self.value.checked_mul(ten(self.scale)?)?).ok()
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "as the API server approximates quantities"
    )]
    fn approximate(&self) -> f64 {
        let value = self.value as f64;
        if self.scale == 0 {
            value
        } else {
            value * format!("1e{}", self.scale).parse().unwrap_or(f64::NAN)
        }
    }

    fn text(&self) -> String {
        if let Some(written) = &self.written {
            return written.clone();
        }
        if self.value == 0 {
            return "0".to_owned();
        }
        if self.form == Form::Binary
            && let Some(text) = self.binary()
        {
            return text;
        }
        let (mut value, mut scale) = (self.value, self.scale);
        while value % 10 == 0 {
            value /= 10;
            scale += 1;
        }
        // To a power of a thousand.
        while scale % 3 != 0 {
            value = value.saturating_mul(10);
            scale -= 1;
        }
        let known = SUFFIXES
            .iter()
            .find(|(_, form, exponent)| *form == Form::Decimal && *exponent == scale);
        match known {
            Some((suffix, ..)) if self.form != Form::Exponent => format!("{value}{suffix}"),
            _ if scale == 0 => value.to_string(),
            _ => format!("{value}e{scale}"),
        }
    }

    /// With a suffix of two; none for what is small or no whole number.
    fn binary(&self) -> Option<String> {
        let mut value = match ten(-self.scale) {
            Some(by) if self.value % by == 0 => self.value / by,
            Some(_) => return None,
            None => self.value.checked_mul(ten(self.scale)?)?,
        };
        if value.abs() < 1024 {
            return None;
        }
        let mut exponent = 0;
        while value % 1024 == 0 && exponent < 60 {
            value /= 1024;
            exponent += 10;
        }
        let (suffix, ..) = SUFFIXES
            .iter()
            .find(|(_, form, at)| exponent > 0 && *form == Form::Binary && *at == exponent)
            .unwrap_or(&("", Form::Binary, 0));
        Some(format!("{value}{suffix}"))
    }
}

fn suffix_of(suffix: &str) -> Option<(Form, i32)> {
    if let Some((_, form, exponent)) = SUFFIXES.iter().find(|(known, ..)| *known == suffix) {
        return Some((*form, *exponent));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((
        Form::Exponent,
        exponent
            .parse()
            .ok()
            .filter(|it| (-100..=100).contains(it))?,
    ))
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl Opaque for Quantity {
    fn runtime_type_name(&self) -> &'static str {
        "kubernetes.Quantity"
    }
}

fn quantity(value: &Value) -> Option<&Quantity> {
    typed::held(value)
}

pub(super) fn text_of(value: &Value) -> Option<String> {
    quantity(value).map(Quantity::text)
}

fn made(quantity: Quantity) -> Value {
    Value::Opaque(Arc::new(quantity))
}

pub(super) fn named(name: &str) -> Option<Function> {
    Some(match name {
        "quantity" | "isQuantity" => parse,
        "sign" => |called| {
            part(called, |of| {
                Ok(Value::Int(if of.value < 0 {
                    -1
                } else {
                    i64::from(of.value > 0)
                }))
            })
        },
        "isInteger" => |called| part(called, |of| Ok(Value::Bool(of.whole().is_some()))),
        "asInteger" => |called| {
            part(called, |of| {
                let none = || Fault::error("cannot convert value to integer");
                of.whole().map(Value::Int).ok_or_else(none)
            })
        },
        "asApproximateFloat" => |called| part(called, |of| Ok(Value::Float(of.approximate()))),
        "add" => |called| sum(called, 1),
        "sub" => |called| sum(called, -1),
        "isGreaterThan" => |called| Ok(Value::Bool(order(called)? == Ordering::Greater)),
        "isLessThan" => |called| Ok(Value::Bool(order(called)? == Ordering::Less)),
        "compareTo" => |called| Ok(Value::Int(order(called)? as i64)),
        _ => return None,
    })
}

fn parse(called: &mut Called<'_>) -> Outcome {
    let [Value::String(text)] = called.values else {
        return Err(called.no_overload());
    };
    let parsed = Quantity::parse(text);
    if called.name == "isQuantity" {
        return Ok(Value::Bool(parsed.is_ok()));
    }
    parsed.map(made).map_err(Fault::error)
}

fn part(called: &mut Called<'_>, of: fn(&Quantity) -> Outcome) -> Outcome {
    let quantity = called.values.first().and_then(quantity);
    of(quantity.ok_or_else(|| called.no_overload())?)
}

fn sum(called: &mut Called<'_>, sign: i128) -> Outcome {
    let [one, other] = called.values else {
        return Err(called.no_overload());
    };
    let one = quantity(one).ok_or_else(|| called.no_overload())?;
    let sum = match other {
        Value::Int(other) => one.plus(&Quantity::of(*other), sign),
        other => one.plus(quantity(other).ok_or_else(|| called.no_overload())?, sign),
    };
    sum.map(made)
        .ok_or_else(|| Fault::error("integer overflow"))
}

/// Of two quantities, or of two versions.
fn order(called: &mut Called<'_>) -> Result<Ordering, Fault> {
    let [one, other] = called.values else {
        return Err(called.no_overload());
    };
    match (quantity(one), quantity(other)) {
        (Some(one), Some(other)) => Ok(one.compare(other)),
        _ => semvers::order(one, other).ok_or_else(|| called.no_overload()),
    }
}
