//! Models in few bytes: each type once, by number.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map as JsonMap, Value, json};

use super::{
    Definition, Field, GroupVersionKind, Items, List, Map, Model, PatchRule, Scalar, TypeId, Types,
};

impl Model {
    /// The model as a value that [`Model::from_compact`] reads: what its kinds need, without names in the document.
    pub fn to_compact(&self) -> Value {
        let mut writer = Writer {
            types: &self.types,
            numbers: BTreeMap::new(),
            written: Vec::new(),
            known: BTreeMap::new(),
        };
        // The first two are the same in every model.
        writer.number(TypeId(0));
        writer.number(TypeId(1));
        let mut kinds = JsonMap::new();
        for (kind, id) in &self.types.kinds {
            let key = format!("{}/{}/{}", kind.group, kind.version, kind.kind);
            kinds.insert(key, json!(writer.number(*id)));
        }
        json!({"types": writer.written, "kinds": kinds})
    }

    /// Reads what [`Model::to_compact`] made; none if it is something else.
    pub fn from_compact(value: &Value) -> Option<Self> {
        let list = value.get("types")?.as_array()?;
        let mut types = Types::default();
        for definition in list {
            types.definitions.push(read(definition, list.len())?);
        }
        for (key, id) in value.get("kinds")?.as_object()? {
            let mut parts = key.splitn(3, '/').map(str::to_owned);
            let kind = GroupVersionKind {
                group: parts.next()?,
                version: parts.next()?,
                kind: parts.next()?,
            };
            types.kinds.insert(kind, type_id(id, list.len())?);
        }
        Some(Self {
            types: Arc::new(types),
        })
    }
}

struct Writer<'m> {
    types: &'m Types,
    numbers: BTreeMap<TypeId, usize>,
    written: Vec<Value>,
    /// Types without a name, by what they are: one that is known is not written again.
    known: BTreeMap<String, usize>,
}

impl Writer<'_> {
    fn number(&mut self, id: TypeId) -> usize {
        if let Some(number) = self.numbers.get(&id) {
            return *number;
        }
        let Some(definition) = self.types.get(id).cloned() else {
            return 0;
        };
        if definition.name.is_none() {
            // Nothing without a name refers to itself.
            let value = self.value(&definition);
            let text = value.to_string();
            let next = self.written.len();
            let number = *self.known.entry(text).or_insert(next);
            if number == next {
                self.written.push(value);
            }
            self.numbers.insert(id, number);
            return number;
        }
        let number = self.written.len();
        self.numbers.insert(id, number);
        self.written.push(Value::Null);
        let value = self.value(&definition);
        if let Some(place) = self.written.get_mut(number) {
            *place = value;
        }
        number
    }

    fn value(&mut self, definition: &Definition) -> Value {
        let mut out = JsonMap::new();
        if let Some(name) = &definition.name {
            out.insert("n".to_owned(), json!(name));
        }
        if let Some(scalar) = definition.scalar {
            out.insert("s".to_owned(), json!(scalar_name(scalar)));
        }
        if let Some(list) = &definition.list {
            let element = self.number(list.element);
            let list = match &list.items {
                Items::Atomic => json!([element]),
                Items::Set => json!([element, null]),
                Items::Keyed(keys) => json!([element, keys]),
            };
            out.insert("l".to_owned(), list);
        }
        if let Some(map) = &definition.map {
            if !map.fields.is_empty() {
                let fields = map.fields.iter();
                let fields: JsonMap<String, Value> = fields
                    .map(|(name, field)| (name.clone(), self.field(field)))
                    .collect();
                out.insert("f".to_owned(), Value::Object(fields));
            }
            let element = map.element.map(|id| self.number(id));
            out.insert("m".to_owned(), json!(element));
            if map.atomic {
                out.insert("a".to_owned(), json!(1));
            }
        }
        Value::Object(out)
    }

    fn field(&mut self, field: &Field) -> Value {
        let mut parts = vec![json!(self.number(field.id))];
        let rule = &field.patch;
        let strategies = rule.strategies.join(",");
        // Defaults that are no scalars are never keys.
        let default = field.default.as_ref().filter(|it| !it.is_object());
        if default.is_some() || !strategies.is_empty() || rule.merge_key.is_some() {
            parts.push(json!(default));
        }
        if !strategies.is_empty() || rule.merge_key.is_some() {
            parts.push(json!(strategies));
            parts.extend(rule.merge_key.as_ref().map(|key| json!(key)));
        }
        match parts.as_slice() {
            [only] => only.clone(),
            _ => Value::Array(parts),
        }
    }
}

fn scalar_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Numeric => "n",
        Scalar::String => "s",
        Scalar::Boolean => "b",
        Scalar::Untyped => "u",
    }
}

fn type_id(value: &Value, count: usize) -> Option<TypeId> {
    let number = usize::try_from(value.as_u64()?).ok()?;
    (number < count).then_some(TypeId(number))
}

fn read(value: &Value, count: usize) -> Option<Definition> {
    let value = value.as_object()?;
    let scalar = match value.get("s").map(Value::as_str) {
        None => None,
        Some(Some("n")) => Some(Scalar::Numeric),
        Some(Some("s")) => Some(Scalar::String),
        Some(Some("b")) => Some(Scalar::Boolean),
        Some(Some("u")) => Some(Scalar::Untyped),
        Some(_) => return None,
    };
    let list = match value.get("l") {
        None => None,
        Some(list) => {
            let (element, items) = match list.as_array()?.as_slice() {
                [element] => (element, Items::Atomic),
                [element, Value::Null] => (element, Items::Set),
                [element, keys] => {
                    let keys = keys.as_array()?.iter();
                    let keys: Option<_> = keys.map(|key| key.as_str().map(str::to_owned)).collect();
                    (element, Items::Keyed(keys?))
                }
                _ => return None,
            };
            let element = type_id(element, count)?;
            Some(List { element, items })
        }
    };
    let map = match value.get("m") {
        None => None,
        Some(element) => {
            let mut fields = BTreeMap::new();
            for (name, field) in value
                .get("f")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                fields.insert(name.clone(), read_field(field, count)?);
            }
            let element = match element {
                Value::Null => None,
                element => Some(type_id(element, count)?),
            };
            let atomic = value.contains_key("a");
            Some(Map {
                fields,
                element,
                atomic,
            })
        }
    };
    let name = value.get("n").and_then(Value::as_str).map(str::to_owned);
    Some(Definition {
        name,
        scalar,
        list,
        map,
    })
}

fn read_field(value: &Value, count: usize) -> Option<Field> {
    let parts = match value {
        Value::Array(parts) => parts.as_slice(),
        one => std::slice::from_ref(one),
    };
    let text = |at: usize| parts.get(at).and_then(Value::as_str);
    Some(Field {
        id: type_id(parts.first()?, count)?,
        default: parts.get(1).filter(|it| !it.is_null()).cloned(),
        patch: PatchRule {
            merge_key: text(3).map(str::to_owned),
            strategies: text(2)
                .unwrap_or_default()
                .split(',')
                .filter(|strategy| !strategy.is_empty())
                .map(str::to_owned)
                .collect(),
        },
    })
}
