//! Quantities: `library/quantity.go` of the API server, over `resource.Quantity` of `k8s.io/apimachinery`
//! ([`Quantity`]).

use std::cmp::Ordering;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Opaque;

use super::super::run::{Fault, Outcome};
use super::super::typed;
use super::{Called, Function, semvers};
use crate::api::quantity::Quantity;

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
        "sign" => |called| part(called, |of| Ok(Value::Int(of.sign()))),
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
