//! Lists that the API server knows to be sets or maps (`x-kubernetes-list-type`): their order doesn't matter when they
//! are compared with others, and what is added to them takes the place of what they have already.

use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Opaque;

use super::run::{Fault, Meter, Outcome, entry, equal};

/// The items of a set, or those of a map with the fields that are their keys.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Together {
    items: Arc<Vec<Value>>,
    keys: Option<Arc<Vec<String>>>,
}

impl Eq for Together {}

impl Opaque for Together {
    fn runtime_type_name(&self) -> &'static str {
        "list"
    }
}

/// A list as one of these.
pub(super) fn list(items: Vec<Value>, keys: Option<Vec<String>>) -> Value {
    Value::Opaque(Arc::new(Together {
        items: Arc::new(items),
        keys: keys.map(Arc::new),
    }))
}

fn in_value(value: &Value) -> Option<&Together> {
    super::typed::held(value)
}

/// A value as a list without more to it, when it is one of these.
pub(super) fn plain(value: &Value) -> Value {
    match in_value(value) {
        Some(list) => Value::List(Arc::clone(&list.items)),
        None => value.clone(),
    }
}

fn items_of(value: &Value) -> Option<&[Value]> {
    match value {
        Value::List(items) => Some(items),
        other => in_value(other).map(|list| list.items.as_slice()),
    }
}

impl Together {
    /// Whether one item stands for another: the same, or with the same keys.
    fn same(&self, a: &Value, b: &Value, meter: &mut Meter) -> Result<bool, Fault> {
        let Some(keys) = &self.keys else {
            return equal(a, b, meter);
        };
        let (Value::Map(a), Value::Map(b)) = (a, b) else {
            return Ok(false);
        };
        for key in keys.iter() {
            let key = Value::String(Arc::new(key.clone()));
            let same = match (entry(&a.map, &key), entry(&b.map, &key)) {
                (Some(a), Some(b)) => equal(a, b, meter)?,
                (a, b) => a.is_none() && b.is_none(),
            };
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn find<'v>(
        &self,
        wanted: &Value,
        among: &'v [Value],
        meter: &mut Meter,
    ) -> Result<Option<(usize, &'v Value)>, Fault> {
        for (index, item) in among.iter().enumerate() {
            if self.same(item, wanted, meter)? {
                return Ok(Some((index, item)));
            }
        }
        Ok(None)
    }
}

/// Whether two lists are equal; none when neither is one of these. The first decides whether order matters.
pub(super) fn equals(a: &Value, b: &Value, meter: &mut Meter) -> Option<Result<bool, Fault>> {
    let Some(list) = in_value(a) else {
        in_value(b)?;
        return Some(equal(a, &plain(b), meter));
    };
    let Some(others) = items_of(b) else {
        return Some(Ok(false));
    };
    if list.items.len() != others.len() {
        return Some(Ok(false));
    }
    let all = list.items.iter().try_fold(true, |all, item| {
        let found = list.find(item, others, meter)?;
        let same = found.map_or(Ok(false), |(_, other)| equal(item, other, meter))?;
        Ok(all && same)
    });
    Some(all)
}

/// A list with what another has more; none when the first is not one of these.
pub(super) fn sum(a: &Value, b: &Value, meter: &mut Meter) -> Option<Outcome> {
    let list = in_value(a)?;
    let others = items_of(b)?;
    let mut items = list.items.as_ref().clone();
    for other in others {
        let found = match list.find(other, &items, meter) {
            Ok(found) => found.map(|(index, _)| index),
            Err(fault) => return Some(Err(fault)),
        };
        match found.and_then(|index| items.get_mut(index)) {
            Some(item) => *item = other.clone(),
            None => items.push(other.clone()),
        }
    }
    let keys = list.keys.clone();
    let items = Arc::new(items);
    Some(Ok(Value::Opaque(Arc::new(Together { items, keys }))))
}
