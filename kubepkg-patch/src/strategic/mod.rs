//! Strategic merge patches: applied, made from two versions of an object, and made from three.
//!
//! The type says which lists merge, and by which key. Directives in the patch say the rest: `$patch`, `$retainKeys`,
//! `$setElementOrder/FIELD` and `$deleteFromPrimitiveList/FIELD`.
//!
//! The rules and texts are those of `k8s.io/apimachinery/pkg/util/strategicpatch`. Where its result depends on the
//! order of Go's maps, keys come sorted here.

mod conflict;
mod diff;
mod lookup;
mod merge;
mod order;

use serde_json::{Map, Value};

use crate::go;
use crate::merge::Precondition;
use crate::schema::Type;
use crate::value::is_deeper_than;

use diff::{Part, Wanted, diff_maps};
use lookup::Schema;
use merge::{Mode, merge_maps};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_PREFIX: &str = "$deleteFromPrimitiveList";
const ORDER_PREFIX: &str = "$setElementOrder";
/// How deep objects and patches may be nested; deeper ones could not be read again.
const MAX_DEPTH: usize = 127;

/// Why there is no result. The texts are apimachinery's; on the API server they are 500s.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StrategicError {
    /// An object or patch is no JSON object.
    #[error("invalid JSON document")]
    Document,
    /// An item of a list that merges has no key.
    #[error("map: {map} does not contain declared merge key: {key}")]
    NoMergeKey {
        /// The item, as Go prints it.
        map: String,
        /// The key.
        key: String,
    },
    /// A directive that isn't known, or not there.
    #[error("unknown patch type: {directive} in map: {map}")]
    Directive {
        /// What the directive says, as Go prints it.
        directive: String,
        /// What it stands in, as Go prints it.
        map: String,
    },
    /// A whole list is asked to be merged.
    #[error("merging lists cannot yet be specified in the patch")]
    MergeOfList,
    /// The value of a directive isn't what it has to be.
    #[error("invalid value for special key: $patch")]
    DirectiveValue,
    /// `$retainKeys` doesn't hold what the patch holds, or is no list.
    #[error("invalid patch format of retainKeys")]
    RetainKeys,
    /// `$deleteFromPrimitiveList` names no field.
    #[error("invalid patch format of primitive list")]
    PrimitiveList,
    /// `$setElementOrder` names no field, or is no list.
    #[error("invalid patch format of setElementOrder list")]
    ElementOrder,
    /// The patch holds items in another order than it asks for.
    #[error("The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n")]
    Order {
        /// The items, as Go prints them.
        patch: String,
        /// The order, as Go prints it.
        order: String,
    },
    /// A list of lists.
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// Items of different kinds.
    #[error("list element types are not identical: {lists}")]
    MixedList {
        /// The lists, as Go prints them.
        lists: String,
    },
    /// Lists without anything in them.
    #[error("no elements in any of the given slices")]
    EmptyLists,
    /// A list of objects that merges, and has no key.
    #[error("cannot merge lists without merge key for {kind}")]
    NoKeyDeclared {
        /// Go's kind of the items.
        kind: &'static str,
    },
    /// A value of another kind than it has to be.
    #[error("expected a {expected}, but received a {found}")]
    Kind {
        /// Go's name of the kind that is needed.
        expected: &'static str,
        /// Go's name of the kind that is there.
        found: &'static str,
    },
    /// The type has no such field.
    #[error("unable to find api field in struct {name} for the json field {field}")]
    NoField {
        /// The type.
        name: String,
        /// The field, quoted.
        field: String,
    },
    /// An object where the type has none.
    #[error("merging an object in json but data type is not struct, instead is: {kind}")]
    NotAStruct {
        /// Go's kind of what the type has.
        kind: &'static str,
    },
    /// A list where the type has none.
    #[error("expected slice or array type, but got: {kind}")]
    NotAList {
        /// Go's kind of what holds the field.
        kind: &'static str,
    },
    /// A list of lists in the type.
    #[error("unexpected slice of slice")]
    SliceOfSlice,
    /// The type has a strategy that isn't known.
    #[error("unexpected patch strategy: [{strategies}]")]
    Strategy {
        /// The strategies of the field.
        strategies: String,
    },
    /// Two patches ask to retain different keys.
    #[error(
        "{left} and {right} are not deep equal: this may happen when calculating the 3-way diff patch"
    )]
    DifferentRetainKeys {
        /// The keys of one.
        left: String,
        /// The keys of the other.
        right: String,
    },
    /// The patch changes what must stay.
    #[error("precondition failed for: {patch}")]
    Precondition {
        /// The patch, as Go prints it.
        patch: String,
    },
    /// Something was changed on the server in another way than it is to be changed now.
    #[error("patch:\n{patch}\nconflicts with changes made from original to current:\n{changes}\n")]
    Conflict {
        /// The patch, in YAML.
        patch: String,
        /// What was changed on the server, in YAML.
        changes: String,
    },
    /// An object or patch is nested too deeply.
    #[error("the document is nested over {limit} levels")]
    Depth {
        /// The bound.
        limit: usize,
    },
}

fn no_merge_key(map: &Map<String, Value>, key: &str) -> StrategicError {
    StrategicError::NoMergeKey {
        map: go::plain(&Value::Object(map.clone())),
        key: key.to_owned(),
    }
}

/// The message for a value that should have been an object.
fn no_map(found: &Value) -> StrategicError {
    StrategicError::Kind {
        expected: "map[string]interface {}",
        found: go::type_name_or_bad(found),
    }
}

/// The message for a value that should have been a list.
fn no_list(found: &Value) -> StrategicError {
    StrategicError::Kind {
        expected: "[]interface {}",
        found: go::type_name_or_bad(found),
    }
}

/// An object; null is an empty one.
fn object(value: &Value) -> Result<Map<String, Value>, StrategicError> {
    if is_deeper_than(value, MAX_DEPTH) {
        return Err(StrategicError::Depth { limit: MAX_DEPTH });
    }
    match value {
        Value::Object(object) => Ok(object.clone()),
        Value::Null => Ok(Map::new()),
        _ => Err(StrategicError::Document),
    }
}

/// Applies a strategic merge patch to an object of a type.
///
/// # Errors
/// When the patch doesn't fit the object or the type.
pub fn apply(document: &Value, patch: &Value, kind: &Type) -> Result<Value, StrategicError> {
    let (document, patch) = (object(document)?, object(patch)?);
    let result = merge_maps(document, patch, Schema::of(kind), Mode::Apply)?;
    Ok(Value::Object(result))
}

/// The strategic merge patch that makes `modified` out of `original`.
///
/// # Errors
/// When either doesn't fit the type.
pub fn two_way(
    original: &Value,
    modified: &Value,
    kind: &Type,
    preconditions: &[Precondition],
) -> Result<Value, StrategicError> {
    let (mut original, modified) = (object(original)?, object(modified)?);
    let wanted = Wanted {
        order: true,
        part: Part::All,
        retain_keys: false,
    };
    let patch = diff_maps(&mut original, &modified, Schema::of(kind), wanted)?;
    checked(patch, preconditions)
}

/// The strategic merge patch of client-side apply: what is in `modified` and not so in `current`, and deletions of
/// what was in `original` and is not in `modified`. Missing versions are null. Without `overwrite`, a change that
/// somebody else made to `current` since `original`, and that the patch would undo, is an error.
///
/// # Errors
/// When a version doesn't fit the type, when the patch changes what `preconditions` name, and on conflicts.
pub fn three_way(
    original: &Value,
    modified: &Value,
    current: &Value,
    kind: &Type,
    overwrite: bool,
    preconditions: &[Precondition],
) -> Result<Value, StrategicError> {
    let (mut original, modified) = (object(original)?, object(modified)?);
    let mut current = object(current)?;
    let schema = Schema::of(kind);
    let only = |part| Wanted {
        order: true,
        part,
        retain_keys: false,
    };
    let delta = diff_maps(&mut current, &modified, schema, only(Part::Changes))?;
    let deletions = diff_maps(&mut original, &modified, schema, only(Part::Deletions))?;
    let patch = merge_maps(deletions, delta, schema, Mode::Join)?;
    let patch = checked(patch, preconditions)?;
    if overwrite {
        return Ok(patch);
    }
    let all = Wanted {
        order: false,
        ..only(Part::All)
    };
    let changes = diff_maps(&mut original, &current, schema, all)?;
    let changes = Value::Object(changes);
    if conflict::between(&patch, &changes, Some(schema))? {
        let yaml = |value| kubepkg_yaml::to_yaml(value).unwrap_or_default();
        return Err(StrategicError::Conflict {
            patch: yaml(&patch),
            changes: yaml(&changes),
        });
    }
    Ok(patch)
}

fn checked(
    patch: Map<String, Value>,
    preconditions: &[Precondition],
) -> Result<Value, StrategicError> {
    let patch = Value::Object(patch);
    if preconditions.iter().any(|it| !it.holds(&patch)) {
        return Err(StrategicError::Precondition {
            patch: go::plain(&patch),
        });
    }
    Ok(patch)
}
