//! What a definition says beside its schemas: group, names, scope, versions, columns, subresources.

use serde_json::Value;

use super::super::path::FieldError;
use super::hoisted::{Definition, Part, Parts};
use super::{conversion, field_path, flag, list, openapi, print, some, text, texts};
use crate::api::names;

/// A definition has at most this many fields that lists can be narrowed by.
const MAX_SELECTABLE: usize = 8;
const COLUMN_TYPES: &[&str] = &["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: &[&str] = &[
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];
const APPROVED: &str = "api-approved.kubernetes.io";
const IMMUTABLE: &str = "field is immutable";

pub(super) fn check(definition: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let hoisted = Definition::of(definition);
    let mut errors = Vec::new();
    of_spec(&hoisted, old, &mut errors);
    if let Some(old) = old {
        fixed(definition, old, &mut errors);
    }
    let status = &definition["status"];
    names_of(
        &status["acceptedNames"],
        "status.acceptedNames",
        &mut errors,
    );
    stored_versions(&hoisted, &status["storedVersions"], &mut errors);
    approval(definition, old, &mut errors);
    let kept = |definition: &Value| flag(&definition["spec"], "preserveUnknownFields");
    if kept(definition) && !old.is_some_and(kept) {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
            spec.versions[*].schema instead";
        let at = "spec.preserveUnknownFields";
        errors.push(FieldError::invalid(at, &true.into(), why));
    }
    errors
}

/// Whether a version of another definition had the same schema.
fn was_there(old: Option<&Value>, version: &Value, schema: &Value) -> bool {
    let all = old
        .map(|old| list(&old["spec"]["versions"]))
        .unwrap_or_default();
    all.iter()
        .any(|old| old["name"] == version["name"] && old["schema"]["openAPIV3Schema"] == *schema)
}

fn of_spec(definition: &Definition<'_>, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let spec = definition.spec;
    let group = text(spec, "group");
    let shown = Value::from(group);
    let wrong = names::subdomain(group);
    if group.is_empty() {
        errors.push(FieldError::required("spec.group"));
    } else if !wrong.is_empty() {
        errors.push(FieldError::invalid("spec.group", &shown, &wrong.join(",")));
    } else if !group.contains('.') {
        let why = "should be a domain with at least one dot";
        errors.push(FieldError::invalid("spec.group", &shown, why));
    }
    one_of(
        "spec.scope",
        text(spec, "scope"),
        &["Cluster", "Namespaced"],
        errors,
    );
    if definition.common.schema().is_none() {
        for (index, (_, parts)) in definition.versions.iter().enumerate() {
            if parts.schema().is_none() {
                let at = format!("spec.versions[{index}].schema.openAPIV3Schema");
                errors.push(FieldError::required(&at));
            }
        }
    }
    let defaults =
        |schema: &Value| super::has(schema, 0, &mut |schema| some(schema, "default").is_some());
    if flag(spec, "preserveUnknownFields") && definition.schemas().any(defaults) {
        let why = "must be false in order to use defaults in the schema";
        let at = "spec.preserveUnknownFields";
        errors.push(FieldError::invalid(at, &true.into(), why));
    }
    for (index, (version, parts)) in definition.versions.iter().enumerate() {
        let at = format!("spec.versions[{index}]");
        let name = text(version, "name");
        label(&format!("{at}.name"), name, "", errors);
        of_version(definition, version, parts, old, &at, errors);
    }
    versions(definition, errors);
    let names = &spec["names"];
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(names, field).is_empty() {
            errors.push(FieldError::required(&format!("spec.names.{field}")));
        }
    }
    names_of(names, "spec.names", errors);
    let common = &definition.common;
    if let Some(schema) = common.schema() {
        let status = has_status(common)
            || definition
                .versions
                .iter()
                .any(|(_, parts)| has_status(parts));
        let first = definition.versions.first();
        let kept = first.is_some_and(|(version, _)| was_there(old, version, schema));
        let at = "spec.validation.openAPIV3Schema";
        openapi::check(schema, at, status, kept, errors);
    }
    rest(common, "spec", "validation", errors);
    conversion::check(spec, old.map(|old| &old["spec"]), errors);
}

fn has_status(parts: &Parts<'_>) -> bool {
    parts
        .get(Part::Subresources)
        .is_some_and(|all| some(all, "status").is_some())
}

fn of_version(
    definition: &Definition<'_>,
    version: &Value,
    parts: &Parts<'_>,
    old: Option<&Value>,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    if let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) {
        let shown = Value::from(warning);
        for why in warning_offences(flag(version, "deprecated"), warning) {
            let at = format!("{at}.deprecationWarning");
            errors.push(FieldError::invalid(&at, &shown, &why));
        }
    }
    if let Some(schema) = parts.schema() {
        let status = if definition.any_version_has(Part::Subresources) {
            has_status(parts)
        } else {
            has_status(&definition.common)
        };
        let kept = was_there(old, version, schema);
        let at = format!("{at}.schema.openAPIV3Schema");
        openapi::check(schema, &at, status, kept, errors);
    }
    rest(parts, at, "schema", errors);
}

/// Subresources, columns and selectable fields, in the order in which they are looked at.
fn rest(parts: &Parts<'_>, at: &str, schema: &str, errors: &mut Vec<FieldError>) {
    if let Some(subresources) = parts.get(Part::Subresources) {
        scale(
            &subresources["scale"],
            &format!("{at}.subresources.scale"),
            errors,
        );
    }
    for (index, column) in parts.items(Part::Columns).iter().enumerate() {
        of_column(
            column,
            &format!("{at}.additionalPrinterColumns[{index}]"),
            errors,
        );
    }
    let selectable = parts.items(Part::Selectable);
    if selectable.is_empty() {
        return;
    }
    let field = format!("{at}.selectableFields");
    if let Some(schema) = parts.schema() {
        of_selectable(selectable, schema, &field, errors);
        return;
    }
    let why = if schema == "schema" {
        "may only be set when `version.schema.openAPIV3Schema` is not included"
    } else {
        "may only be set when validations.schema is included"
    };
    errors.push(FieldError::invalid(&field, &"".into(), why));
}

fn warning_offences(deprecated: bool, warning: &str) -> Vec<String> {
    if !deprecated {
        return vec!["can only be set for deprecated versions".to_owned()];
    }
    let mut wrong = Vec::new();
    if warning.len() > 256 {
        wrong.push("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        wrong.push("must not be an empty string".to_owned());
    }
    if let Some((at, _)) = warning
        .char_indices()
        .find(|(_, sign)| sign.is_control() || (sign.is_whitespace() && *sign != ' '))
    {
        wrong.push(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
    wrong
}

fn versions(definition: &Definition<'_>, errors: &mut Vec<FieldError>) {
    let at = "spec.versions";
    let count = definition.versions.len();
    if count > 0 {
        for (part, what, top) in [
            (Part::Schema, "schemas", "validation"),
            (Part::Subresources, "subresources", "subresources"),
            (
                Part::Columns,
                "additionalPrinterColumns",
                "additionalPrinterColumns",
            ),
        ] {
            let mut parts = definition.versions.iter().map(|(_, parts)| parts.get(part));
            let first = parts.next().flatten();
            if first.is_some() && parts.all(|other| other == first) {
                let why = format!(
                    "per-version {what} may not all be set to identical values (top-level {top} should be used instead)"
                );
                errors.push(FieldError::invalid_shown(
                    at,
                    &print::versions(definition),
                    &why,
                ));
            }
        }
    }
    let mut names: Vec<&str> = Vec::new();
    let mut storing = 0;
    for (version, _) in &definition.versions {
        names.push(text(version, "name"));
        storing += usize::from(flag(version, "storage"));
    }
    names.sort_unstable();
    names.dedup();
    let mut wrong = Vec::new();
    if names.len() != count {
        wrong.push("must contain unique version names");
    }
    if storing != 1 {
        wrong.push("must have exactly one version marked as storage version");
    }
    for why in wrong {
        errors.push(FieldError::invalid_shown(
            at,
            &print::versions(definition),
            why,
        ));
    }
    if let Some((first, _)) = definition.versions.first() {
        let name = text(first, "name");
        if !name.is_empty() {
            label("spec.version", name, "", errors);
        }
    }
}

/// A value that must be one of some.
pub(super) fn one_of(at: &str, value: &str, known: &[&str], errors: &mut Vec<FieldError>) {
    if value.is_empty() {
        errors.push(FieldError::required(at));
    } else if !known.contains(&value) {
        let known: Vec<Value> = known.iter().map(|known| Value::from(*known)).collect();
        errors.push(FieldError::unsupported(at, &value.into(), &known));
    }
}

fn label(at: &str, name: &str, before: &str, errors: &mut Vec<FieldError>) {
    let checked = if before.is_empty() {
        name.to_owned()
    } else {
        name.to_lowercase()
    };
    let wrong = names::old_label(&checked);
    if !wrong.is_empty() {
        let why = format!("{before}{}", wrong.join(","));
        errors.push(FieldError::invalid(at, &name.into(), &why));
    }
}

fn names_of(names: &Value, at: &str, errors: &mut Vec<FieldError>) {
    const MIXED: &str = "may have mixed case, but should otherwise match: ";
    for (field, before) in [
        ("plural", ""),
        ("singular", ""),
        ("kind", MIXED),
        ("listKind", MIXED),
    ] {
        let name = text(names, field);
        if !name.is_empty() {
            label(&format!("{at}.{field}"), name, before, errors);
        }
    }
    for (index, name) in texts(names, "shortNames").enumerate() {
        label(&format!("{at}.shortNames[{index}]"), name, "", errors);
    }
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(
            &format!("{at}.listKind"),
            &kind.into(),
            why,
        ));
    }
    for (index, name) in texts(names, "categories").enumerate() {
        label(&format!("{at}.categories[{index}]"), name, "", errors);
    }
}

fn scale(scale: &Value, at: &str, errors: &mut Vec<FieldError>) {
    if scale.is_null() {
        return;
    }
    for (field, roots, where_) in [
        ("specReplicasPath", &[".spec."][..], "under .spec"),
        ("statusReplicasPath", &[".status."], "under .status"),
        (
            "labelSelectorPath",
            &[".spec.", ".status."],
            "under either .spec or .status",
        ),
    ] {
        let path = text(scale, field);
        let at = format!("{at}.{field}");
        if path.is_empty() {
            if field != "labelSelectorPath" {
                errors.push(FieldError::required(&at));
            }
        } else if !is_simple_path(path, &at, errors)
            && !roots.iter().any(|root| path.starts_with(root))
        {
            let why = format!("should be a json path {where_}");
            errors.push(FieldError::invalid(&at, &path.into(), &why));
        }
    }
}

/// Says whether something is wrong with a path.
fn is_simple_path(path: &str, at: &str, errors: &mut Vec<FieldError>) -> bool {
    let wrong = !path.starts_with('.');
    if wrong {
        let why = "must be a simple json path starting with .";
        errors.push(FieldError::invalid(at, &path.into(), why));
    }
    wrong
}

fn of_column(column: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let at = |field: &str| format!("{at}.{field}");
    if text(column, "name").is_empty() {
        errors.push(FieldError::required(&at("name")));
    }
    let among = |known: &[&str]| format!("must be one of {}", known.join(","));
    let (kind, format) = (text(column, "type"), text(column, "format"));
    if kind.is_empty() {
        let why = among(COLUMN_TYPES);
        errors.push(FieldError::required_because(&at("type"), &why));
    } else if !COLUMN_TYPES.contains(&kind) {
        let why = among(COLUMN_TYPES);
        errors.push(FieldError::invalid(&at("type"), &kind.into(), &why));
    }
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        let why = among(COLUMN_FORMATS);
        errors.push(FieldError::invalid(&at("format"), &format.into(), &why));
    }
    let path = text(column, "jsonPath");
    if path.is_empty() {
        errors.push(FieldError::required(&at("JSONPath")));
    } else {
        is_simple_path(path, &at("JSONPath"), errors);
    }
}

fn of_selectable(fields: &[Value], schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let mut seen: Vec<String> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let at = format!("{at}[{index}].jsonPath");
        let path = text(field, "jsonPath");
        let shown = Value::from(path);
        if path.is_empty() {
            errors.push(FieldError::required(&at));
            continue;
        }
        let found = match field_path::follow(path, schema, false) {
            Ok(found) => found,
            Err(why) => {
                let why = format!("is an invalid path: {why}");
                errors.push(FieldError::invalid(&at, &shown, &why));
                continue;
            }
        };
        if found.root == "metadata" {
            let why = "must not point to fields in metadata";
            errors.push(FieldError::invalid(&at, &shown, why));
        }
        if !matches!(text(found.schema, "type"), "string" | "boolean" | "integer") {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                with formats are allowed.";
            errors.push(FieldError::invalid(&at, &shown, why));
        }
        if seen.contains(&found.path) {
            errors.push(FieldError::duplicate(&at, &shown));
        } else {
            seen.push(found.path);
        }
    }
    if seen.len() > MAX_SELECTABLE {
        errors.push(FieldError::too_many(at, seen.len(), 8));
    }
}

fn stored_versions(definition: &Definition<'_>, stored: &Value, errors: &mut Vec<FieldError>) {
    let at = "status.storedVersions";
    let names: Vec<&str> = list(stored).iter().filter_map(Value::as_str).collect();
    if names.is_empty() {
        let why = "must have at least one stored version";
        errors.push(FieldError::invalid(at, &Value::Null, why));
        return;
    }
    for (version, _) in &definition.versions {
        let name = text(version, "name");
        if flag(version, "storage") && !names.contains(&name) {
            let why = format!("must have the storage version {name}");
            errors.push(FieldError::invalid(at, stored, &why));
        }
    }
    for (index, name) in names.iter().enumerate() {
        let mut versions = definition.versions.iter();
        if !versions.any(|(version, _)| text(version, "name") == *name) {
            let why = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in \
                 spec.versions until a storage migration ensures no data remains persisted in {name} and removes \
                 {name} from status.storedVersions"
            );
            let at = format!("{at}[{index}]");
            errors.push(FieldError::invalid(&at, &Value::from(*name), &why));
        }
    }
}

/// Groups of the Kubernetes project say who has approved them.
fn approval(definition: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let group = text(&definition["spec"], "group");
    let protected = ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        let before = group.strip_suffix(domain);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    });
    if !protected {
        return;
    }
    let said = |definition: &Value| {
        let annotations = &definition["metadata"]["annotations"];
        text(annotations, APPROVED).to_owned()
    };
    let state = |said: &str| {
        let is_address = said.split_once("://").is_some_and(|(scheme, rest)| {
            !scheme.is_empty() && !rest.is_empty() && !rest.starts_with('/')
        });
        match said {
            "" => "missing",
            bypassed if bypassed.starts_with("unapproved") => "bypassed",
            _ if is_address => "approved",
            _ => "invalid",
        }
    };
    let new = said(definition);
    if old.is_some_and(|old| state(&said(old)) == state(&new)) {
        return;
    }
    let at = format!("metadata.annotations[{APPROVED}]");
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    match state(&new) {
        "missing" => {
            let why =
                format!("protected groups must have approval annotation \"{APPROVED}\", {see}");
            errors.push(FieldError::required_because(&at, &why));
        }
        "invalid" => {
            let why = format!(
                "protected groups must have approval annotation \"{APPROVED}\" with either a URL or a reason starting \
                 with \"unapproved\", {see}"
            );
            errors.push(FieldError::invalid(&at, &new.into(), &why));
        }
        _ => {}
    }
}

/// What may not change: what names the resource, and, once it is served, its scope and kind.
fn fixed(definition: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let established = list(&old["status"]["conditions"])
        .iter()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
    for (pointer, always) in [
        ("/spec/scope", false),
        ("/spec/names/kind", false),
        ("/spec/group", true),
        ("/spec/names/plural", true),
    ] {
        let none = Value::Null;
        let (before, after) = (old.pointer(pointer), definition.pointer(pointer));
        if (established || always) && before != after {
            let at = pointer.trim_start_matches('/').replace('/', ".");
            errors.push(FieldError::invalid(&at, after.unwrap_or(&none), IMMUTABLE));
        }
    }
}
