//! Paths that are no objects: version, health, and the OpenAPI documents as far as kubectl and
//! helm need them.

mod old;

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Map, Value, json};

use super::kind::Kind;
use super::object;
use super::request::Call;
use super::world::{Answer, World, not_a_page};

/// The version of Kubernetes that the server behaves as.
pub(crate) const VERSION: &str = "v1.36.3";
/// As its documents name it.
const RELEASE: &str = "1.36";

/// Answers what [`super::request::Target`] calls other.
pub(crate) fn other(world: &World, call: &Call) -> Answer {
    if call.method != Method::GET {
        return not_a_page();
    }
    match call.path.trim_end_matches('/') {
        "/version" => version(),
        "/healthz" | "/livez" | "/readyz" => Answer::text(200, "ok"),
        "/openapi/v2" => old::document(world, call),
        "/openapi/v3" => index(world),
        path => match path.strip_prefix("/openapi/v3/") {
            Some(place) => document(world, place),
            None => not_a_page(),
        },
    }
}

/// For people's eyes, with lines of its own.
fn version() -> Answer {
    let fields = [
        ("major", "1"),
        ("minor", "36"),
        ("emulationMajor", "1"),
        ("emulationMinor", "36"),
        ("minCompatibilityMajor", "1"),
        ("minCompatibilityMinor", "35"),
        ("gitVersion", VERSION),
        ("gitCommit", ""),
        ("gitTreeState", ""),
        ("buildDate", "1970-01-01T00:00:00Z"),
        ("goVersion", ""),
        ("compiler", ""),
        ("platform", "linux/amd64"),
    ];
    let lines = fields.map(|(name, value)| format!("  \"{name}\": \"{value}\""));
    Answer::bytes(200, format!("{{\n{}\n}}", lines.join(",\n")))
}

/// An empty answer without a type.
fn nothing() -> Answer {
    Answer {
        content_type: "",
        ..Answer::text(404, "")
    }
}

/// A version of a group as it stands in paths.
fn place(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

fn index(world: &World) -> Answer {
    let mut paths = Map::new();
    for (group, versions) in world.registry.groups() {
        for version in versions {
            let place = place(group, version);
            let url = format!("/openapi/v3/{place}");
            paths.insert(place, json!({"serverRelativeURL": url}));
        }
    }
    Answer::json(200, &json!({"paths": paths}))
}

fn document(world: &World, place: &str) -> Answer {
    let (group, version) = match place.split('/').collect::<Vec<_>>().as_slice() {
        ["api", version] => (String::new(), (*version).to_owned()),
        ["apis", group, version] => ((*group).to_owned(), (*version).to_owned()),
        _ => return nothing(),
    };
    let mut paths = Map::new();
    for kind in world.registry.in_version(&group, &version) {
        paths.extend(operations(kind, place));
    }
    if paths.is_empty() {
        return nothing();
    }
    let schemas = schemas(world, place, &group, &version).into_iter();
    let mut schemas: Map<String, Value> = schemas
        .map(|(name, (mut schema, custom))| {
            if custom {
                add_embedded(&mut schema, false);
            }
            (name, schema)
        })
        .collect();
    super::descriptions::describe(&mut schemas);
    Answer::json(
        200,
        &json!({
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": RELEASE},
            "paths": paths, "components": {"schemas": schemas},
        }),
    )
}

/// The operations of a resource with the parameters that clients look for.
fn operations(kind: &Kind, place: &str) -> Vec<(String, Value)> {
    let gvk = json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
    let operation = |action: &str| {
        let parameters: Vec<Value> = ["dryRun", "fieldManager", "fieldValidation"]
            .iter()
            .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string"}}))
            .collect();
        json!({
            "parameters": parameters, "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk,
        })
    };
    let base = if kind.namespaced {
        format!("/{place}/namespaces/{{namespace}}/{}", kind.plural)
    } else {
        format!("/{place}/{}", kind.plural)
    };
    let mut collection = Map::new();
    let mut object = Map::new();
    for verb in &kind.verbs {
        match verb.as_str() {
            "list" => drop(collection.insert("get".into(), operation("list"))),
            "create" => drop(collection.insert("post".into(), operation("post"))),
            "get" => drop(object.insert("get".into(), operation("get"))),
            "update" => drop(object.insert("put".into(), operation("put"))),
            "patch" => drop(object.insert("patch".into(), operation("patch"))),
            "delete" => drop(object.insert("delete".into(), operation("delete"))),
            _ => {}
        }
    }
    vec![
        (base.clone(), Value::Object(collection)),
        (format!("{base}/{{name}}"), Value::Object(object)),
    ]
}

/// The schemas in the document of a group version, and whether each is of a custom resource.
fn schemas(
    world: &World,
    place: &str,
    group: &str,
    version: &str,
) -> BTreeMap<String, (Value, bool)> {
    let openapi = kubepkg_patch::builtin::openapi();
    let known = |name: &str| (openapi["schemas"][name].clone(), false);
    let names = object::list(&openapi["groupVersions"][place]).filter_map(Value::as_str);
    let mut schemas: BTreeMap<String, (Value, bool)> =
        names.map(|name| (name.to_owned(), known(name))).collect();
    for kind in world.registry.in_version(group, version) {
        let Some(custom) = &kind.custom else { continue };
        let (name, schema) = schema_of(kind, &custom.schema);
        let (list_name, list) = schema_of_list(kind, &name);
        schemas.insert(name, (schema, true));
        schemas.insert(list_name, (list, true));
        for name in METADATA {
            let name = format!("{META}.{name}");
            let schema = known(&name);
            schemas.entry(name).or_insert(schema);
        }
    }
    schemas
}

fn schema_of(kind: &Kind, schema: &Value) -> (String, Value) {
    let mut schema = schema.clone();
    if !schema.is_object() {
        schema = json!({"type": "object"});
    }
    // What every object has.
    object::default(&mut schema, "properties", json!({}));
    if let Some(properties) = schema["properties"].as_object_mut() {
        for (field, value) in common() {
            properties.insert(field.to_owned(), value);
        }
    }
    schema["x-kubernetes-group-version-kind"] =
        json!([{"group": kind.group, "version": kind.version, "kind": kind.kind}]);
    let reversed: Vec<&str> = kind.group.split('.').rev().collect();
    let name = format!("{}.{}.{}", reversed.join("."), kind.version, kind.kind);
    (name, schema)
}

/// Adds to objects in objects what every object has. What takes any field gets none in v2: clients would know no others.
fn add_embedded(schema: &mut Value, old: bool) {
    for field in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(field).filter(|inner| inner.is_object()) {
            add_embedded(inner, old);
        }
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut) {
        add_embedded(property, old);
    }
    if schema["x-kubernetes-embedded-resource"] != true
        || (old && schema["x-kubernetes-preserve-unknown-fields"] == true)
    {
        return;
    }
    object::default(schema, "properties", json!({}));
    let [_, _, metadata] = common();
    schema["properties"]["metadata"] = metadata.1;
    for (field, text) in [
        (
            "kind",
            format!(
                "kind is a string value representing the type of this object. In CamelCase. More info: \
                 {CONVENTIONS}#types-kinds"
            ),
        ),
        (
            "apiVersion",
            format!(
                "apiVersion defines the versioned schema of this representation of an object. More info: \
                 {CONVENTIONS}#resources"
            ),
        ),
    ] {
        schema["properties"][field] = json!({"description": text, "type": "string"});
        object::default(schema, "required", json!([]));
        if let Some(required) = schema["required"].as_array_mut()
            && !required.iter().any(|one| one == field)
        {
            required.push(field.into());
        }
    }
}

/// What a list of a custom resource is.
fn schema_of_list(kind: &Kind, of: &str) -> (String, Value) {
    let [version, kind_field, _] = common();
    let list = format!("{}List", kind.kind);
    let schema = json!({
        "description": format!("{list} is a list of {}", kind.kind),
        "type": "object", "required": ["items"],
        "properties": {
            "apiVersion": version.1, "kind": kind_field.1,
            "items": {
                "description": format!("List of {}. More info: {CONVENTIONS}", kind.plural),
                "type": "array", "items": {"$ref": format!("#/components/schemas/{of}")},
            },
            "metadata": {
                "description": format!("Standard list metadata. More info: {CONVENTIONS}#types-kinds"),
                "allOf": [{"$ref": format!("#/components/schemas/{META}.ListMeta")}],
            },
        },
        "x-kubernetes-group-version-kind": [
            {"group": kind.group, "version": kind.version, "kind": list},
        ],
    });
    (format!("{of}List"), schema)
}

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";
/// What the schema of metadata speaks of.
const METADATA: [&str; 6] = [
    "FieldsV1",
    "ListMeta",
    "ManagedFieldsEntry",
    "ObjectMeta",
    "OwnerReference",
    "Time",
];

/// The fields that the API server adds to the schema of a custom resource.
fn common() -> [(&'static str, Value); 3] {
    let version = format!(
        "APIVersion defines the versioned schema of this representation of an object. Servers should convert \
         recognized schemas to the latest internal value, and may reject unrecognized values. More info: \
         {CONVENTIONS}#resources"
    );
    let kind = format!(
        "Kind is a string value representing the REST resource this object represents. Servers may infer this from \
         the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
         {CONVENTIONS}#types-kinds"
    );
    let metadata = format!("Standard object's metadata. More info: {CONVENTIONS}#metadata");
    [
        (
            "apiVersion",
            json!({"description": version, "type": "string"}),
        ),
        ("kind", json!({"description": kind, "type": "string"})),
        (
            "metadata",
            json!({
                "description": metadata,
                "allOf": [{"$ref": format!("#/components/schemas/{META}.ObjectMeta")}],
            }),
        ),
    ]
}
