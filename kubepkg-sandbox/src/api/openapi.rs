//! Paths that are no objects: version, health, and the OpenAPI documents as far as kubectl and
//! helm need them.

use http::Method;
use serde_json::{Map, Value, json};

use super::kind::Kind;
use super::object;
use super::request::Call;
use super::world::{Answer, World, not_a_page};

/// The version of Kubernetes that the server behaves as.
pub(crate) const VERSION: &str = "v1.36.3";

/// Answers what [`super::request::Target`] calls other.
pub(crate) fn other(world: &World, call: &Call) -> Answer {
    if call.method != Method::GET {
        return not_a_page();
    }
    match call.path.trim_end_matches('/') {
        "/version" => version(),
        "/healthz" | "/livez" | "/readyz" => Answer::text(200, "ok"),
        "/openapi/v2" => old_document(call),
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

/// OpenAPI v2, which clients ask for what v3 does not have. It names no kinds, so that they check nothing.
fn old_document(call: &Call) -> Answer {
    const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    if call.accept.contains("proto-openapi.spec.v2") {
        let mut title = field(1, b"Kubernetes");
        title.extend(field(2, VERSION.as_bytes()));
        let mut body = field(1, b"2.0");
        body.extend(field(2, &title));
        return Answer {
            content_type: PROTOBUF,
            ..Answer::bytes(200, body)
        };
    }
    Answer::json(
        200,
        &json!({
            "swagger": "2.0", "info": {"title": "Kubernetes", "version": VERSION}, "paths": {},
        }),
    )
}

/// A short field of protobuf.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len().min(127)).unwrap_or(127);
    let mut out = vec![(number << 3) | 2, length];
    out.extend(&bytes[..usize::from(length)]);
    out
}

/// An empty answer without a type.
fn nothing() -> Answer {
    Answer {
        content_type: "",
        ..Answer::text(404, "")
    }
}

fn index(world: &World) -> Answer {
    let mut paths = Map::new();
    for (group, versions) in world.registry.groups() {
        for version in versions {
            let place = if group.is_empty() {
                format!("api/{version}")
            } else {
                format!("apis/{group}/{version}")
            };
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
    let openapi = kubepkg_patch::builtin::openapi();
    let mut paths = Map::new();
    let mut schemas = builtin_schemas(place);
    for kind in world.registry.in_version(&group, &version) {
        paths.extend(operations(kind, place));
        if let Some(custom) = &kind.custom {
            let (name, schema) = schema_of(kind, &custom.schema);
            schemas.insert(name, schema);
            for name in METADATA {
                let name = format!("{META}.{name}");
                let known = openapi["schemas"][&name].clone();
                schemas.entry(name).or_insert(known);
            }
        }
    }
    if paths.is_empty() {
        return nothing();
    }
    super::descriptions::describe(&mut schemas);
    Answer::json(
        200,
        &json!({
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": VERSION},
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

/// The schemas in the document of a built-in group version.
fn builtin_schemas(place: &str) -> Map<String, Value> {
    let openapi = kubepkg_patch::builtin::openapi();
    let names = object::list(&openapi["groupVersions"][place]).filter_map(Value::as_str);
    names
        .map(|name| (name.to_owned(), openapi["schemas"][name].clone()))
        .collect()
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

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
/// What the schema of metadata speaks of.
const METADATA: [&str; 5] = [
    "FieldsV1",
    "ManagedFieldsEntry",
    "ObjectMeta",
    "OwnerReference",
    "Time",
];

/// The fields that the API server adds to the schema of a custom resource.
fn common() -> [(&'static str, Value); 3] {
    const CONVENTIONS: &str =
        "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";
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
