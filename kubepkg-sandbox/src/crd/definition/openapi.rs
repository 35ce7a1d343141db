//! What a schema may not say, and what its extensions need.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::MAX_DEPTH;
use super::super::path::FieldError;
use super::budget::{Budget, Count};
use super::{
    defaulting, field_path, flag, list, named, print, rules, some, structural, text, texts,
};

const TYPES: &[&str] = &["array", "boolean", "integer", "number", "object", "string"];
const REASONS: &[&str] = &[
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const RULES: &str = "x-kubernetes-validations";
const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_TYPE: &str = "x-kubernetes-map-type";
const MAP_KEYS: &str = "x-kubernetes-list-map-keys";

/// What a root schema may say when status is written apart, with the names that the message gives to it.
const AT_ROOT: &[(&str, &str)] = &[
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    (PRESERVE, "XPreserveUnknownFields"),
    (RULES, "XValidations"),
];

/// What is wrong with the schema of a version. One that was there before may have rules that cost too much.
pub(super) fn check(
    schema: &Value,
    at: &str,
    status: bool,
    was_there: bool,
    errors: &mut Vec<FieldError>,
) {
    let before = errors.len();
    if status {
        root_with_status(schema, at, errors);
    }
    if flag(schema, "nullable") {
        let why = "nullable cannot be true at the root";
        errors.push(FieldError::forbidden(&format!("{at}.nullable"), why));
    }
    let unsupported = structural::unsupported(schema);
    let mut sound = false;
    if unsupported.is_none() {
        let mut wrong = structural::check(schema, at);
        if wrong.is_empty() {
            wrong = defaulting::check(schema, at);
        }
        sound = wrong.is_empty();
        errors.extend(wrong);
    }
    let mut walk = Walk {
        runs_rules: sound,
        budget: Budget::new(was_there),
    };
    let found = walk.schema(schema, at, &Place::default(), true, 0);
    errors.extend(found.of_schema);
    errors.extend(found.of_rules);
    walk.budget.check(at, errors);
    if let Some(why) = unsupported.filter(|_| errors.len() == before) {
        errors.push(FieldError::invalid(at, &"".into(), &why));
    }
}

fn root_with_status(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let set = |key: &str| match some(schema, key) {
        None | Some(Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    };
    // Fields in the order of the API server's type; the type itself stands among the first.
    let first = ["id", "$schema", "$ref"];
    let other = first.iter().any(|key| set(key));
    if !other && set("type") && text(schema, "type") != "object" {
        let why = "only \"object\" is allowed as the type at the root of the schema if the status subresource is \
            enabled";
        let kind = Value::from(text(schema, "type"));
        errors.push(FieldError::invalid(&format!("{at}.type"), &kind, why));
        return;
    }
    let keys = schema.as_object().into_iter().flatten();
    let known = |key: &str| AT_ROOT.iter().any(|(name, _)| *name == key);
    if keys
        .map(|(key, _)| key.as_str())
        .any(|key| set(key) && !known(key))
    {
        let names: Vec<&str> = AT_ROOT.iter().map(|(_, name)| *name).collect();
        let why = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            names.join(" ")
        );
        errors.push(FieldError::invalid_shown(at, &print::schema(schema), &why));
    }
}

/// What is known of the place of a schema in another.
#[derive(Clone, Default)]
struct Place {
    /// Why defaults are forbidden.
    no_defaults: Option<String>,
    in_metadata: bool,
    /// Where old and new values can't be told to belong together.
    uncorrelated: Option<String>,
    /// In `allOf` and its like rules are not looked at.
    nested: bool,
    /// How many values of the schema there may be.
    count: Count,
}

impl Place {
    fn uncorrelated(mut self, at: &str) -> Self {
        self.uncorrelated.get_or_insert_with(|| at.to_owned());
        self
    }

    fn nested(&self) -> Self {
        Self {
            nested: true,
            ..self.clone()
        }
    }
}

#[derive(Default)]
struct Found {
    of_schema: Vec<FieldError>,
    of_rules: Vec<FieldError>,
}

impl Found {
    fn merge(&mut self, other: Found) {
        self.of_schema.extend(other.of_schema);
        self.of_rules.extend(other.of_rules);
    }
}

struct Walk {
    /// Whether rules are looked at.
    runs_rules: bool,
    budget: Budget,
}

impl Walk {
    fn schema(
        &mut self,
        schema: &Value,
        at: &str,
        place: &Place,
        root: bool,
        depth: usize,
    ) -> Found {
        let mut found = Found::default();
        if depth > MAX_DEPTH {
            let why = "nested too deeply";
            found.of_schema.push(FieldError::forbidden(at, why));
            return found;
        }
        standard(schema, at, place, &mut found.of_schema);
        let field = |name: &str| format!("{at}.{name}");
        if flag(schema, "uniqueItems") {
            let why =
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            let error = FieldError::forbidden(&field("uniqueItems"), why);
            found.of_schema.push(error);
        }
        self.parts(schema, at, place, root, depth, &mut found);
        extensions(schema, at, &mut found.of_schema);
        let rules = list(&schema[RULES]);
        for (index, rule) in rules.iter().enumerate() {
            let at = format!("{at}.{RULES}[{index}]");
            of_rule(schema, rule, &at, &mut found.of_schema);
        }
        if self.runs_rules && !place.nested && !rules.is_empty() && found.of_schema.is_empty() {
            let of_rules = rules::Place {
                resource: root || flag(schema, "x-kubernetes-embedded-resource"),
                uncorrelated: place.uncorrelated.as_deref(),
                count: place.count,
            };
            let at = format!("{at}.{RULES}");
            rules::check(
                schema,
                &at,
                &of_rules,
                &mut self.budget,
                &mut found.of_rules,
            );
        }
        found
    }

    fn parts(
        &mut self,
        schema: &Value,
        at: &str,
        place: &Place,
        root: bool,
        depth: usize,
        found: &mut Found,
    ) {
        let field = |name: &str| format!("{at}.{name}");
        let place = &Place {
            count: place.count.within(schema),
            ..place.clone()
        };
        let has_properties = named(schema, "properties").next().is_some();
        if let Some(additional) = some(schema, "additionalProperties") {
            let at = field("additionalProperties");
            if has_properties && *additional != Value::Bool(true) {
                let why = "additionalProperties and properties are mutual exclusive";
                found.of_schema.push(FieldError::forbidden(&at, why));
            }
            if additional.is_object() {
                let mut place = place.clone();
                if place.in_metadata {
                    let why = "inside additionalProperties applying to object metadata";
                    place.no_defaults = Some(why.to_owned());
                }
                found.merge(self.schema(additional, &at, &place, false, depth + 1));
            }
        }
        let atomic_map = some(schema, MAP_TYPE).is_some_and(|kind| kind == "atomic");
        for (name, property) in named(schema, "properties") {
            let mut place = place.clone();
            if atomic_map {
                place = place.uncorrelated(at);
            }
            let meta = matches!(name.as_str(), "metadata" | "kind" | "apiVersion");
            if meta && (root || flag(schema, "x-kubernetes-embedded-resource")) {
                place.in_metadata = true;
                if root {
                    place.no_defaults = Some(format!("in top-level {name}"));
                }
            }
            let at = format!("{at}.properties[{name}]");
            found.merge(self.schema(property, &at, &place, false, depth + 1));
        }
        if let Some(not) = some(schema, "not") {
            found.merge(self.schema(not, &field("not"), &place.nested(), false, depth + 1));
        }
        for key in ["allOf", "oneOf", "anyOf"] {
            for (index, schema) in list(&schema[key]).iter().enumerate() {
                let at = format!("{at}.{key}[{index}]");
                found.merge(self.schema(schema, &at, &place.nested(), false, depth + 1));
            }
        }
        for (name, schema) in named(schema, "definitions") {
            let at = format!("{at}.definitions[{name}]");
            found.merge(self.schema(schema, &at, &place.nested(), false, depth + 1));
        }
        if let Some(items) = some(schema, "items") {
            let mut place = place.clone();
            if text(schema, LIST_TYPE) != "map" {
                place = place.uncorrelated(at);
            }
            let at = field("items");
            match items {
                Value::Array(all) => {
                    for (index, schema) in all.iter().enumerate() {
                        let at = format!("{at}[{index}]");
                        found.merge(self.schema(schema, &at, &place, false, depth + 1));
                    }
                }
                schema => found.merge(self.schema(schema, &at, &place, false, depth + 1)),
            }
        }
        for (name, schema) in named(schema, "dependencies") {
            let at = format!("{at}.dependencies[{name}]");
            found.merge(self.schema(schema, &at, &place.nested(), false, depth + 1));
        }
    }
}

/// What no schema may say.
fn standard(schema: &Value, at: &str, place: &Place, errors: &mut Vec<FieldError>) {
    let field = |name: &str| format!("{at}.{name}");
    let kind = text(schema, "type");
    if !kind.is_empty() && !TYPES.contains(&kind) {
        let known: Vec<Value> = TYPES.iter().map(|kind| Value::from(*kind)).collect();
        errors.push(FieldError::unsupported(
            &field("type"),
            &kind.into(),
            &known,
        ));
    }
    if let (Some(why), true) = (&place.no_defaults, some(schema, "default").is_some()) {
        let why = format!("must not be set {why}");
        errors.push(FieldError::forbidden(&field("default"), &why));
    }
    for key in [
        "id",
        "additionalItems",
        "patternProperties",
        "definitions",
        "dependencies",
        "$ref",
    ] {
        let set = match some(schema, key) {
            None => false,
            Some(Value::Object(all)) if key == "patternProperties" || key == "definitions" => {
                !all.is_empty()
            }
            Some(Value::String(text)) if key == "id" => !text.is_empty(),
            Some(_) => true,
        };
        if set {
            let why = format!("{key} is not supported");
            errors.push(FieldError::forbidden(&field(key), &why));
        }
    }
    if kind == "null" {
        let why = "type cannot be set to null, use nullable as an alternative";
        errors.push(FieldError::forbidden(&field("type"), why));
    }
    if schema["items"]
        .as_array()
        .is_some_and(|all| !all.is_empty())
    {
        let why = "items must be a schema object and not an array";
        errors.push(FieldError::forbidden(&field("items"), why));
    }
    if place.in_metadata && flag(schema, "x-kubernetes-embedded-resource") {
        let why = "must not be used inside of resource meta";
        let at = field("x-kubernetes-embedded-resource");
        errors.push(FieldError::forbidden(&at, why));
    }
}

/// The extensions of Kubernetes, but for rules.
fn extensions(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let field = |name: &str| format!("{at}.{name}");
    if some(schema, PRESERVE) == Some(&Value::Bool(false)) {
        let why = "must be true or undefined";
        errors.push(FieldError::invalid(&field(PRESERVE), &false.into(), why));
    }
    let must_be = |wanted: &str, extension: &str, errors: &mut Vec<FieldError>| {
        let kind = text(schema, "type");
        let wrong = some(schema, extension).is_some() && kind != wanted;
        if wrong {
            let why = format!("must be {wanted} if {extension} is specified");
            errors.push(if kind.is_empty() {
                FieldError::required_because(&field("type"), &why)
            } else {
                FieldError::invalid(&field("type"), &kind.into(), &why)
            });
        }
        wrong
    };
    let among = |extension: &str, known: &[&str], errors: &mut Vec<FieldError>| {
        if let Some(kind) = schema.get(extension).and_then(Value::as_str)
            && !known.contains(&kind)
        {
            let known: Vec<Value> = known.iter().map(|kind| Value::from(*kind)).collect();
            errors.push(FieldError::unsupported(
                &field(extension),
                &kind.into(),
                &known,
            ));
        }
    };
    must_be("object", MAP_TYPE, errors);
    among(MAP_TYPE, &["atomic", "granular"], errors);
    if !must_be("array", LIST_TYPE, errors) && text(schema, LIST_TYPE) == "set" {
        let items = &schema["items"];
        // The server shows the list type of the items in both cases.
        let shown = items.get(LIST_TYPE).cloned().unwrap_or_default();
        let atomic = |extension: &str| text(items, extension) == "atomic";
        let wrong = match text(items, "type") {
            "array" if some(items, LIST_TYPE).is_some() && !atomic(LIST_TYPE) => Some(LIST_TYPE),
            "object" if !atomic(MAP_TYPE) => Some(MAP_TYPE),
            _ => None,
        };
        if let Some(extension) = wrong {
            let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
            let at = format!("{at}.items.{extension}");
            errors.push(FieldError::invalid(&at, &shown, why));
        }
    }
    among(LIST_TYPE, &["atomic", "set", "map"], errors);
    keyed_list(schema, at, errors);
}

/// Lists whose items are told apart.
fn keyed_list(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let field = |name: &str| format!("{at}.{name}");
    let keys: Vec<&str> = texts(schema, MAP_KEYS).collect();
    let kind = schema.get(LIST_TYPE).and_then(Value::as_str);
    if !keys.is_empty() && kind != Some("map") {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(match kind {
            None => FieldError::required_because(&field(LIST_TYPE), why),
            Some(kind) => FieldError::invalid(&field(LIST_TYPE), &kind.into(), why),
        });
    }
    let items = &schema["items"];
    let properties = items.get("properties");
    let item_field = |key: &str, name: &str| format!("{at}.items.properties[{key}].{name}");
    if kind == Some("map") {
        if keys.is_empty() {
            let why = "must not be empty if x-kubernetes-list-type is map";
            errors.push(FieldError::required_because(&field(MAP_KEYS), why));
        }
        let at_items = field("items");
        if items.is_null() {
            let why = "must have a schema if x-kubernetes-list-type is map";
            errors.push(FieldError::required_because(&at_items, why));
        } else if items.is_array() {
            let why = "must only have a single schema if x-kubernetes-list-type is map";
            let shown = print::items(items);
            errors.push(FieldError::invalid_shown(&at_items, &shown, why));
        } else if text(items, "type") != "object" {
            let why = "must be object if parent array's x-kubernetes-list-type is map";
            let kind = Value::from(text(items, "type"));
            errors.push(FieldError::invalid(&field("items.type"), &kind, why));
        } else {
            let mut seen = BTreeSet::new();
            let shown = Value::from(keys.clone());
            for key in &keys {
                match properties.and_then(|all| all.get(*key)) {
                    Some(property) if matches!(text(property, "type"), "array" | "object") => {
                        // The server shows the type of the item, not that of the key.
                        let why =
                            "must be a scalar type if parent array's x-kubernetes-list-type is map";
                        let at = item_field(key, "type");
                        errors.push(FieldError::invalid(&at, &"object".into(), why));
                    }
                    Some(_) => {}
                    None => {
                        let why = "entries must all be names of item properties";
                        errors.push(FieldError::invalid(&field(MAP_KEYS), &shown, why));
                    }
                }
                if !seen.insert(*key) {
                    let why = "must not contain duplicate entries";
                    errors.push(FieldError::invalid(&field(MAP_KEYS), &shown, why));
                }
            }
        }
    }
    let Some(kind @ ("set" | "map")) = kind.filter(|_| items.is_object()) else {
        return;
    };
    if flag(items, "nullable") {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {kind}");
        errors.push(FieldError::forbidden(&field("items.nullable"), &why));
    }
    let required: Vec<&str> = texts(items, "required").collect();
    for key in keys.iter().filter(|_| kind == "map") {
        let Some(property) = properties.and_then(|all| all.get(*key)) else {
            continue;
        };
        if !required.contains(key) && some(property, "default").is_none() {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                property";
            errors.push(FieldError::required_because(
                &item_field(key, "default"),
                why,
            ));
        }
        if flag(property, "nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(&item_field(key, "nullable"), why));
        }
    }
}

/// A rule as it is written.
fn of_rule(schema: &Value, rule: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let field = |name: &str| format!("{at}.{name}");
    let has_breaks = |text: &str| text.contains(['\n', '\r']);
    let source = text(rule, "rule").trim();
    let (message, made) = (text(rule, "message"), text(rule, "messageExpression"));
    let shown = Value::from(message);
    if source.is_empty() {
        errors.push(FieldError::required_because(
            &field("rule"),
            "rule is not specified",
        ));
    } else if !message.is_empty() && message.trim().is_empty() {
        let why = "must be non-empty if specified";
        errors.push(FieldError::invalid(&field("message"), &shown, why));
    } else if has_breaks(message.trim()) {
        let why = "must not contain line breaks";
        errors.push(FieldError::invalid(&field("message"), &shown, why));
    } else if has_breaks(source) && message.trim().is_empty() {
        let why = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required_because(&field("message"), why));
    }
    if !made.is_empty() && made.trim().is_empty() {
        let why = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required_because(
            &field("messageExpression"),
            why,
        ));
    }
    if let Some(reason) = rule.get("reason").and_then(Value::as_str)
        && !REASONS.contains(&reason)
    {
        let known: Vec<Value> = REASONS.iter().map(|reason| Value::from(*reason)).collect();
        errors.push(FieldError::unsupported(
            &field("reason"),
            &reason.into(),
            &known,
        ));
    }
    let path = text(rule, "fieldPath");
    if path.is_empty() {
        return;
    }
    let mut wrong = Vec::new();
    if path.trim().is_empty() {
        wrong.push("must be non-empty if specified");
    }
    if has_breaks(path) {
        wrong.push("must not contain line breaks");
    }
    if structural::unsupported(schema).is_none() && field_path::follow(path, schema, true).is_err()
    {
        wrong.push("must be a valid path");
    }
    for why in wrong {
        errors.push(FieldError::invalid(&field("fieldPath"), &path.into(), why));
    }
}
