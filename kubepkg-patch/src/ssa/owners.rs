//! `metadata.managedFields`: who owns which fields, by which operation, since when.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use kubepkg_yaml::{go_quote, to_go_json};
use serde_json::{Map, Value, json};

use super::path::FieldsError;
use super::set::FieldSet;

/// How a manager came to own fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    /// As it stands in an entry.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Who owns fields. An applier is the same whatever version it applies; an updater is another in each version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Manager {
    /// The name that the client gave itself.
    pub name: String,
    /// How it owns its fields.
    pub operation: Operation,
    /// The API version of an updater; empty for an applier.
    pub api_version: String,
    /// The subresource that it writes to; empty for the object itself.
    pub subresource: String,
}

impl Manager {
    /// The text that the API server tells managers apart by, and orders them by in messages.
    pub(super) fn identifier(&self) -> String {
        let mut parts = Vec::new();
        for (key, text) in [
            ("manager", self.name.as_str()),
            ("operation", self.operation.as_str()),
            ("apiVersion", self.api_version.as_str()),
            ("subresource", self.subresource.as_str()),
        ] {
            if !text.is_empty() {
                let text = to_go_json(&Value::from(text)).unwrap_or_default();
                parts.push(format!("\"{key}\":{text}"));
            }
        }
        format!("{{{}}}", parts.join(","))
    }
}

/// As in messages about conflicts: `"helm"`, `"kubectl" with subresource "scale" using apps/v1`.
impl fmt::Display for Manager {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&go_quote(&self.name))?;
        if !self.subresource.is_empty() {
            write!(out, " with subresource {}", go_quote(&self.subresource))?;
        }
        if self.operation == Operation::Update {
            write!(out, " using {}", self.api_version)?;
        }
        Ok(())
    }
}

/// What a manager owns.
#[derive(Debug, Clone, PartialEq)]
pub struct Owned {
    /// The fields.
    pub fields: FieldSet,
    /// The API version that their paths are of.
    pub api_version: String,
    /// When it last changed something.
    pub time: Option<Timestamp>,
}

/// All managers of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ManagedFields {
    pub(super) owners: BTreeMap<Manager, Owned>,
}

/// Why `managedFields` can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManagedFieldsError {
    /// It isn't a list of objects.
    #[error("managedFields must be a list of objects")]
    NotAList,
    /// An entry with another operation than the two.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// An entry without a version.
    #[error("apiVersion must not be empty")]
    ApiVersion,
    /// An entry that doesn't say how its fields are written.
    #[error("missing fieldsType in managed fields entry {index}")]
    MissingFieldsType {
        /// Its place in the list.
        index: usize,
    },
    /// An entry whose fields are written in a way that isn't known.
    #[error(
        "invalid fieldsType {} in managed fields entry {index}",
        go_quote(found)
    )]
    FieldsType {
        /// Its place in the list.
        index: usize,
        /// What it says.
        found: String,
    },
    /// An entry whose fields can't be read.
    #[error("error decoding set in managed fields entry {index}")]
    Fields {
        /// Its place in the list.
        index: usize,
        /// Why.
        source: FieldsError,
    },
    /// An entry with something else than a time for its time.
    #[error("invalid time {} in managed fields entry {index}", go_quote(found))]
    Time {
        /// Its place in the list.
        index: usize,
        /// What it says.
        found: String,
    },
}

impl ManagedFields {
    /// Reads the `managedFields` of an object; those of one without any are empty.
    ///
    /// # Errors
    /// When an entry can't be read.
    pub fn of(object: &Value) -> Result<Self, ManagedFieldsError> {
        match object.pointer("/metadata/managedFields") {
            None | Some(Value::Null) => Ok(Self::default()),
            Some(list) => Self::decode(list),
        }
    }

    /// Reads a list of entries.
    ///
    /// # Errors
    /// When an entry can't be read.
    pub fn decode(entries: &Value) -> Result<Self, ManagedFieldsError> {
        let entries = entries.as_array().ok_or(ManagedFieldsError::NotAList)?;
        let mut owners = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let (manager, owned) = decode_entry(index, entry)?;
            owners.insert(manager, owned);
        }
        Ok(Self { owners })
    }

    /// The entries, sorted as the API server sorts them; null when there are none.
    pub fn encode(&self) -> Value {
        let mut owners: Vec<(&Manager, &Owned)> = self.owners.iter().collect();
        owners.sort_by(|left, right| entry_order(*left).cmp(&entry_order(*right)));
        if owners.is_empty() {
            return Value::Null;
        }
        let entries = owners
            .into_iter()
            .map(|(manager, owned)| encode_entry(manager, owned));
        Value::Array(entries.collect())
    }

    /// Whether nothing is owned.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Who owns what.
    pub fn iter(&self) -> impl Iterator<Item = (&Manager, &Owned)> {
        self.owners.iter()
    }

    /// Writes the entries into an object.
    pub(super) fn store(&self, object: &mut Value) {
        let entries = self.encode();
        remove_from(object);
        if entries.is_null() {
            return;
        }
        let metadata = object
            .as_object_mut()
            .map(|object| object.entry("metadata").or_insert_with(|| json!({})));
        if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
            metadata.insert("managedFields".to_owned(), entries);
        }
    }
}

/// Takes the entries out of an object.
pub(super) fn remove_from(object: &mut Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
}

/// Whether an update asks to forget all owners: an empty list, or one with an empty entry.
pub(super) fn is_reset(object: &Value) -> bool {
    let entries = object.pointer("/metadata/managedFields");
    match entries.and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(|entry| {
            entry
                .values()
                .all(|value| value.is_null() || value.as_str() == Some(""))
        }),
        _ => false,
    }
}

/// What entries are sorted by. Times count by the second.
fn entry_order<'m>(
    (manager, owned): (&'m Manager, &'m Owned),
) -> (Operation, i64, &'m str, &'m str, &'m str) {
    (
        manager.operation,
        owned.time.map(Timestamp::as_second).unwrap_or_default(),
        &manager.name,
        &owned.api_version,
        &manager.subresource,
    )
}

fn encode_entry(manager: &Manager, owned: &Owned) -> Value {
    let mut entry = Map::new();
    let mut text = |key: &str, text: &str| {
        if !text.is_empty() {
            entry.insert(key.to_owned(), Value::from(text));
        }
    };
    text("manager", &manager.name);
    text("operation", manager.operation.as_str());
    text("apiVersion", &owned.api_version);
    text("fieldsType", "FieldsV1");
    text("subresource", &manager.subresource);
    if let Some(time) = owned.time {
        text("time", &time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    }
    entry.insert("fieldsV1".to_owned(), owned.fields.to_fields_v1());
    Value::Object(entry)
}

fn decode_entry(index: usize, entry: &Value) -> Result<(Manager, Owned), ManagedFieldsError> {
    if !entry.is_object() {
        return Err(ManagedFieldsError::NotAList);
    }
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let operation = match text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(ManagedFieldsError::Operation),
    };
    if text("apiVersion").is_empty() {
        return Err(ManagedFieldsError::ApiVersion);
    }
    match text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(ManagedFieldsError::MissingFieldsType { index }),
        found => {
            return Err(ManagedFieldsError::FieldsType {
                index,
                found: found.to_owned(),
            });
        }
    }
    let time = match text("time") {
        "" => None,
        found => {
            let time: Option<Timestamp> = found.parse().ok();
            Some(time.ok_or_else(|| ManagedFieldsError::Time {
                index,
                found: found.to_owned(),
            })?)
        }
    };
    let fields = FieldSet::from_fields_v1(entry.get("fieldsV1").unwrap_or(&Value::Null))
        .map_err(|source| ManagedFieldsError::Fields { index, source })?;
    let api_version = text("apiVersion").to_owned();
    let manager = Manager {
        name: text("manager").to_owned(),
        operation,
        api_version: match operation {
            Operation::Apply => String::new(),
            Operation::Update => api_version.clone(),
        },
        subresource: text("subresource").to_owned(),
    };
    let owned = Owned {
        fields,
        api_version,
        time,
    };
    Ok((manager, owned))
}
