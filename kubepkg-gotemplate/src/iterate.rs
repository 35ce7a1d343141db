//! What `range` iterates over: numbers, lists, maps in key order, functions.

use crate::access::printable;
use crate::collection::List;
use crate::fault::{Fault, Step};
use crate::fmt::display;
use crate::stack::Slot;
use crate::value::{IntKind, UintKind, Value};

/// The rest of an iteration.
pub(crate) enum Iter {
    Int {
        kind: IntKind,
        next: i64,
        end: i64,
    },
    Uint {
        kind: UintKind,
        next: u64,
        end: u64,
    },
    List {
        list: List,
        next: usize,
    },
    Bytes {
        bytes: crate::bytestring::GoString,
        next: usize,
    },
    /// The entries when the iteration began, in key order.
    Map {
        entries: std::vec::IntoIter<(Value, Value)>,
        is_interface: bool,
    },
    Sequence {
        items: Box<dyn Iterator<Item = (Value, Option<Value>)>>,
        /// A two-valued sequence seen through one variable gives its first value.
        first_only: bool,
    },
}

fn shown(value: &Value) -> String {
    match printable(value).and_then(|value| display(&value)) {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        Err(error) => error.to_string(),
    }
}

impl Iter {
    /// An iteration over a value; `None` when it is empty. `vars`: how many variables are set.
    pub(crate) fn over(value: Value, vars: usize) -> Step<Option<Self>> {
        let one_variable = |value: &Value| {
            if vars > 1 {
                return Err(Fault::message(format!(
                    "can't use {} to iterate over more than one variable",
                    shown(value)
                )));
            }
            Ok(())
        };
        Ok(match value {
            Value::Nil => None,
            Value::Int(kind, end) => {
                one_variable(&value)?;
                (end > 0).then_some(Self::Int { kind, next: 0, end })
            }
            Value::Uint(kind, end) => {
                one_variable(&value)?;
                (end > 0).then_some(Self::Uint { kind, next: 0, end })
            }
            Value::List(list) => (!list.is_empty()).then_some(Self::List { list, next: 0 }),
            Value::Bytes(bytes) => (!bytes.is_empty()).then(|| Self::Bytes {
                bytes: bytes.to_go_string(),
                next: 0,
            }),
            Value::Map(map) => (!map.is_empty()).then(|| {
                let entries: Vec<_> = map
                    .borrow()
                    .iter()
                    .map(|(k, v)| (Value::String(k.clone()), v.clone()))
                    .collect();
                Self::Map {
                    entries: entries.into_iter(),
                    is_interface: map.elem_type().is_empty_interface(),
                }
            }),
            Value::Object(ref object) => match object.underlying() {
                Some(plain @ (Value::Int(..) | Value::Uint(..))) => Self::over(plain, vars)?,
                _ => return Err(cannot(&value)),
            },
            Value::Func(ref func) => match &func.sequence {
                Some((sequence, two_valued)) => {
                    if !two_valued && vars > 1 {
                        return Err(Fault::message(format!(
                            "can't use {} iterate over more than one variable",
                            shown(&value)
                        )));
                    }
                    let mut items = sequence().peekable();
                    if items.peek().is_none() {
                        None
                    } else {
                        Some(Self::Sequence {
                            items: Box::new(items),
                            first_only: *two_valued && vars < 2,
                        })
                    }
                }
                None => return Err(cannot(&value)),
            },
            other => return Err(cannot(&other)),
        })
    }

    /// The next index or key, and element.
    pub(crate) fn next(&mut self) -> Option<(Slot, Slot)> {
        match self {
            Self::Int { kind, next, end } => {
                if next >= end {
                    return None;
                }
                let element = Value::Int(*kind, *next);
                *next += 1;
                Some((Slot::invalid(), Slot::concrete(element)))
            }
            Self::Uint { kind, next, end } => {
                if next >= end {
                    return None;
                }
                let element = Value::Uint(*kind, *next);
                *next += 1;
                Some((Slot::invalid(), Slot::concrete(element)))
            }
            Self::List { list, next } => {
                let element = Slot {
                    value: list.get(*next)?.clone(),
                    is_interface: list.elem_type().is_empty_interface(),
                };
                let index = Value::int(i64::try_from(*next).unwrap_or(i64::MAX));
                *next += 1;
                Some((Slot::concrete(index), element))
            }
            Self::Bytes { bytes, next } => {
                let byte = *bytes.get(*next)?;
                let index = Value::int(i64::try_from(*next).unwrap_or(i64::MAX));
                *next += 1;
                Some((
                    Slot::concrete(index),
                    Slot::concrete(Value::Uint(UintKind::Uint8, u64::from(byte))),
                ))
            }
            Self::Map {
                entries,
                is_interface,
            } => {
                let (key, value) = entries.next()?;
                Some((
                    Slot::concrete(key),
                    Slot {
                        value,
                        is_interface: *is_interface,
                    },
                ))
            }
            Self::Sequence { items, first_only } => {
                let (first, second) = items.next()?;
                Some(match second {
                    Some(second) if !*first_only => (Slot::concrete(first), Slot::concrete(second)),
                    _ => (Slot::invalid(), Slot::concrete(first)),
                })
            }
        }
    }
}

fn cannot(value: &Value) -> Box<Fault> {
    Fault::message(format!("range can't iterate over {}", shown(value)))
}
