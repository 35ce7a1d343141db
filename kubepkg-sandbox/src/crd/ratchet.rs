//! What was there before may stay: whether a value is still as it was, as `CorrelatedObject` of
//! `k8s.io/apiserver/pkg/cel/common` compares it.

use serde_json::Value;

use super::MAX_DEPTH;
use super::defaults::property;

/// A value and what it takes the place of, by their schema.
#[derive(Clone, Copy)]
pub(super) struct Pair<'p> {
    pub(super) new: &'p Value,
    pub(super) old: &'p Value,
    pub(super) schema: &'p Value,
}

impl Pair<'_> {
    /// Whether the value is as it was. Items with keys may have moved; what the schema doesn't know makes objects
    /// different, even when it is the same.
    pub(super) fn is_unchanged(self) -> bool {
        self.is_unchanged_at(0)
    }

    fn is_unchanged_at(self, depth: usize) -> bool {
        let Self { new, old, schema } = self;
        if depth > MAX_DEPTH {
            return false;
        }
        let unchanged = |new, old, schema| Pair { new, old, schema }.is_unchanged_at(depth + 1);
        match (new, old) {
            (Value::Array(items), Value::Array(before)) => {
                if items.len() != before.len() {
                    return false;
                }
                let keyed = schema.get("x-kubernetes-list-type").and_then(Value::as_str);
                let inner = schema.get("items");
                let (Some("map"), Some(inner)) = (keyed, inner) else {
                    return items == before;
                };
                items.iter().all(|item| {
                    super::schema::before(old, item, schema)
                        .is_some_and(|before| unchanged(item, before, inner))
                })
            }
            (Value::Object(fields), Value::Object(before)) => {
                fields.len() == before.len()
                    && fields.iter().all(|(key, value)| {
                        let old = before.get(key);
                        let inner = property(Some(schema), key);
                        old.zip(inner)
                            .is_some_and(|(old, inner)| unchanged(value, old, inner))
                    })
            }
            _ => new == old,
        }
    }
}
