//! The functions of the API server's CEL, by name.
//!
//! Most are here, since errors and the values of libraries are to be those of the API server; what is done with addresses
//! is `kube-cel`'s.

mod addresses;
mod conversions;
pub(super) mod format;
mod lists;
pub(super) mod named_formats;
mod quantities;
mod semvers;
mod texts;
mod times;
mod urls;

use std::cmp::Ordering;

use kube_cel::KubeCelExt as _;
use kube_cel::cel::{Context, ExecutionError, Value};

use super::run::{Fault, Meter, Outcome, calculated, compared, equal, no_operator};
use super::typed;
use crate::crd::pattern;

/// What a function is called with.
pub(super) struct Called<'c> {
    pub(super) name: &'c str,
    /// Whether the first value stands before the dot.
    pub(super) member: bool,
    pub(super) values: &'c [Value],
    pub(super) meter: &'c mut Meter,
}

pub(super) type Function = fn(&mut Called<'_>) -> Outcome;

/// A function by its name.
pub(super) fn named(name: &str) -> Function {
    match name {
        "_==_" => |called| same(called, true),
        "_!=_" => |called| same(called, false),
        "_<_" => |called| order(called, |order| order == Ordering::Less),
        "_<=_" => |called| order(called, |order| order != Ordering::Greater),
        "_>_" => |called| order(called, |order| order == Ordering::Greater),
        "_>=_" => |called| order(called, |order| order != Ordering::Less),
        "_+_" | "_-_" | "_*_" | "_/_" | "_%_" | "-_" => {
            |called| calculated(called.name, called.values, called.meter)
        }
        "!_" => |called| match called.values {
            [Value::Bool(flag)] => Ok(Value::Bool(!flag)),
            _ => Err(Fault::no_overload()),
        },
        "@in" => among,
        "matches" => matches,
        "semver" | "isSemver" => semvers::parse,
        "major" | "minor" | "patch" => semvers::number,
        _ => conversions::named(name)
            .or_else(|| texts::named(name))
            .or_else(|| lists::named(name))
            .or_else(|| times::named(name))
            .or_else(|| addresses::named(name))
            .or_else(|| named_formats::named(name))
            .or_else(|| quantities::named(name))
            .or_else(|| urls::named(name))
            .unwrap_or(hand_on),
    }
}

impl<'c> Called<'c> {
    /// The same function with other values.
    fn with<'w>(&'w mut self, values: &'w [Value]) -> Called<'w>
    where
        'c: 'w,
    {
        Called {
            name: self.name,
            member: self.member,
            values,
            meter: self.meter,
        }
    }

    /// That there is no such function of such values.
    fn no_overload(&self) -> Fault {
        let of: Vec<&str> = self.values.iter().map(typed::name).collect();
        Fault::error(format!(
            "no such overload: {}({})",
            self.name,
            of.join(", ")
        ))
    }
}

/// A count, or a place in a list or a text.
fn int(count: usize) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn same(called: &mut Called<'_>, wanted: bool) -> Outcome {
    match called.values {
        [a, b] => Ok(Value::Bool(equal(a, b, called.meter)? == wanted)),
        _ => Err(Fault::no_overload()),
    }
}

fn order(called: &mut Called<'_>, is: fn(Ordering) -> bool) -> Outcome {
    match called.values {
        [a, b] => match compared(a, b) {
            Ok(order) => Ok(Value::Bool(is(order))),
            Err(fault) if fault == Fault::no_overload() => Err(no_operator(called.name, a)),
            Err(fault) => Err(fault),
        },
        _ => Err(Fault::no_overload()),
    }
}

fn among(called: &mut Called<'_>) -> Outcome {
    let found = match called.values {
        [value, Value::List(items)] => {
            let mut found = false;
            for item in items.iter() {
                if equal(value, item, called.meter)? {
                    found = true;
                    break;
                }
            }
            found
        }
        [key, Value::Map(map)] => super::run::entry(&map.map, key).is_some(),
        _ => return Err(Fault::no_overload()),
    };
    Ok(Value::Bool(found))
}

fn matches(called: &mut Called<'_>) -> Outcome {
    match called.values {
        [Value::String(text), Value::String(source)] => match pattern::offence(source) {
            None => Ok(Value::Bool(pattern::matches(source, text))),
            Some(why) => Err(Fault::error(why)),
        },
        _ => Err(Fault::no_overload()),
    }
}

/// What is wrong with a pattern that is written down.
pub(super) fn bad_pattern(name: &str, values: &[Option<&Value>]) -> Option<String> {
    match (name, values) {
        ("matches" | "find" | "findAll", [_, Some(Value::String(source)), ..]) => {
            pattern::offence(source)
        }
        _ => None,
    }
}

/// A value of a library as text.
pub(super) fn text_of(value: &Value) -> Option<String> {
    quantities::text_of(value)
        .or_else(|| semvers::text_of(value))
        .or_else(|| urls::text_of(value))
        .or_else(|| {
            let mut meter = Meter::default();
            let made = hand_on(&mut Called {
                name: "string",
                member: false,
                values: std::slice::from_ref(value),
                meter: &mut meter,
            });
            match made {
                Ok(Value::String(text)) => Some(text.as_str().to_owned()),
                _ => None,
            }
        })
}

thread_local! {
    /// The functions as `kube-cel` has them.
    static PLAIN: Context<'static> = Context::default().with_all();
}

/// Does what `kube-cel` does.
fn hand_on(called: &mut Called<'_>) -> Outcome {
    let names: Vec<String> = (0..called.values.len())
        .map(|index| format!("a{index}"))
        .collect();
    let name = called.name;
    let source = match names.split_first() {
        Some((target, others)) if called.member => {
            format!("{target}.{name}({})", others.join(", "))
        }
        _ => format!("{name}({})", names.join(", ")),
    };
    let program = super::library_call(&source).map_err(Fault::Error)?;
    PLAIN.with(|plain| {
        let mut scope = plain.new_inner_scope();
        for (name, value) in names.iter().zip(called.values) {
            scope.add_variable_from_value(name.as_str(), value.clone());
        }
        Value::resolve(&program, &scope).map_err(|error| match fault(&error) {
            // What is declared and not there is for values that rules don't have.
            Fault::Gap => called.no_overload(),
            fault => fault,
        })
    })
}

/// An error of the library as cel-go words it, where that is known.
fn fault(error: &ExecutionError) -> Fault {
    match error {
        ExecutionError::UndeclaredReference(_)
        | ExecutionError::NotSupportedAsMethod { .. }
        | ExecutionError::UnsupportedFunctionCallIdentifierType(_)
        | ExecutionError::UnsupportedFieldsConstruction(_) => Fault::Gap,
        ExecutionError::FunctionError { message, .. } => Fault::error(message.clone()),
        _ => Fault::no_overload(),
    }
}
