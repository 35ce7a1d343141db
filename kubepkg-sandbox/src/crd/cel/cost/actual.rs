//! What calls did cost: `interpreter/runtimecost.go` of cel-go, and `CallCost` of the API server's libraries.

use kube_cel::cel::Value;

use super::super::functions::{named_formats, text_of};
use super::super::run::as_optional;
use super::super::{together, typed};
use super::price::Price;
use super::range::scaled;
use super::{CHARACTER, NEW_LIST, PATTERN};

/// What a call cost; `result` is what it came to, unless that was an error.
pub(crate) fn actual(price: Price, values: &[Value], result: Option<&Value>) -> u64 {
    let at = |index: usize| values.get(index).map_or(1, size);
    let result = || result.map_or(1, size);
    let first = at(0);
    match price {
        Price::Traversal(times) => scaled(first, times * CHARACTER),
        Price::Same | Price::Template | Price::ToBytes | Price::ToText | Price::Quote
        // Of the text that is looked at, whatever the estimate says.
        | Price::Affix => scaled(first, CHARACTER),
        Price::Items => values.first().map_or(0, traversed),
        Price::Replace | Price::Split => scaled(first, 2.0 * CHARACTER),
        Price::Join => scaled(result(), 2.0 * CHARACTER),
        Price::Find | Price::Matches => matched(first, at(1)),
        Price::Contains => scaled(first, CHARACTER).saturating_mul(scaled(at(1), CHARACTER)),
        Price::HasAddress { parses } => in_network(first, at(1), parses),
        Price::HasNetwork { parses } => {
            in_network(first, at(1), parses) + scaled(first, CHARACTER) + 1
        }
        Price::Format => {
            let format = values.first().and_then(named_formats::in_value);
            matched(at(1), format.map_or(0, |format| format.pattern))
        }
        Price::InList => at(1),
        Price::Equal if is_of_kubernetes(values.first()) => 1,
        Price::Equal | Price::Compare => scaled(first.min(at(1)), CHARACTER),
        Price::JoinTexts => scaled(first + at(1), CHARACTER),
        Price::Slice | Price::Numbers | Price::Reverse => allocated(1, result()),
        Price::Flatten => {
            let depth = match values.get(1) {
                Some(Value::Int(depth)) => u64::try_from(*depth).unwrap_or(0),
                _ => 1,
            };
            allocated(depth, first)
        }
        Price::Distinct | Price::Sort => compared(values.first()),
        Price::SortBy => compared(values.get(1)),
        Price::Sets(times) => {
            let pairs = first.saturating_mul(at(1));
            1 + scaled(pairs, times)
        }
        Price::Step | Price::JoinLists | Price::And | Price::Choice => 1,
    }
}

/// Characters, bytes, items or entries; one for what has none.
fn size(value: &Value) -> u64 {
    let count = match value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(map) => map.map.len(),
        Value::Opaque(_) => {
            if let Some(optional) = as_optional(value) {
                return optional.value().map_or(1, size);
            }
            if let Value::List(items) = together::plain(value) {
                return items.len() as u64;
            }
            return address_bytes(value).unwrap_or(1);
        }
        _ => 1,
    };
    count as u64
}

/// The bytes of an address, or those of a network that count.
fn address_bytes(value: &Value) -> Option<u64> {
    match typed::name(value) {
        "net.IP" => Some(if text_of(value)?.contains(':') { 16 } else { 4 }),
        "net.CIDR" => {
            let text = text_of(value)?;
            let bits: u64 = text.rsplit_once('/')?.1.parse().ok()?;
            Some(bits.div_ceil(8))
        }
        _ => None,
    }
}

fn is_of_kubernetes(value: Option<&Value>) -> bool {
    value.is_some_and(|value| {
        let name = typed::name(value);
        name.starts_with("kubernetes.") || name.starts_with("net.")
    })
}

fn matched(text: u64, pattern: u64) -> u64 {
    scaled(text + 1, CHARACTER).saturating_mul(scaled(pattern, PATTERN))
}

fn in_network(network: u64, other: u64, parses: bool) -> u64 {
    let cost = scaled(2 * network, CHARACTER);
    if parses {
        cost + scaled(other, CHARACTER)
    } else {
        cost
    }
}

/// To go through all that is in a value.
fn traversed(value: &Value) -> u64 {
    match value {
        Value::String(text) => (text.len() / 10) as u64,
        Value::Bytes(bytes) => (bytes.len() / 10) as u64,
        Value::List(items) => items.iter().map(traversed).sum(),
        Value::Map(map) => {
            let keys = map.map.keys();
            let keys: u64 = keys
                .map(|key| traversed(&super::super::values::of_key(key)))
                .sum();
            keys + map.map.values().map(traversed).sum::<u64>()
        }
        _ => 1,
    }
}

fn allocated(factor: u64, size: u64) -> u64 {
    size.saturating_mul(factor).saturating_add(1 + NEW_LIST)
}

/// To compare all items of a list with each other.
fn compared(list: Option<&Value>) -> u64 {
    let Some(Value::List(items)) = list else {
        return 1 + NEW_LIST;
    };
    let count = (items.len() as u64).saturating_mul(items.len() as u64);
    let texts = matches!(items.first(), Some(Value::String(_) | Value::Bytes(_)));
    let more = if texts { count / 10 } else { 0 };
    allocated(2, count).saturating_add(more)
}
