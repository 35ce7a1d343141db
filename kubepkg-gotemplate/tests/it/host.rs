//! Helm's built-in objects, as far as the vectors of functions look at them.

use std::collections::BTreeMap;

use kubepkg_gotemplate::gotype::{BYTES, Kind, MAP_ANY, MAP_STRING, SLICE_STRING, STRING, Type};
use kubepkg_gotemplate::{
    Context, Entries, Field, FuncResult, GoBytes, GoString, List, Map, Method, Object, Signature,
    Value,
};

fn text(args: &[Value]) -> String {
    args.first()
        .and_then(Value::as_string)
        .map(ToString::to_string)
        .unwrap_or_default()
}

fn files_of(this: &Value) -> Vec<(String, Vec<u8>)> {
    let entries: Vec<_> = this
        .as_map()
        .unwrap()
        .borrow()
        .iter()
        .map(|(k, v)| {
            let Value::Bytes(bytes) = v else {
                panic!("a file is bytes")
            };
            (k.to_string(), bytes.as_bytes().to_vec())
        })
        .collect();
    entries
}

fn get(_: &mut Context<'_>, this: &Value, args: &[Value]) -> FuncResult {
    let name = text(args);
    let file = files_of(this).into_iter().find(|(path, _)| *path == name);
    Ok(Value::string(
        file.map(|(_, data)| data).unwrap_or_default(),
    ))
}

fn get_bytes(_: &mut Context<'_>, this: &Value, args: &[Value]) -> FuncResult {
    let name = text(args);
    let file = files_of(this).into_iter().find(|(path, _)| *path == name);
    Ok(Value::Bytes(GoBytes::new(
        file.map(|(_, data)| data).unwrap_or_default(),
    )))
}

static FILES_METHODS: [Method; 2] = [
    Method {
        name: "Get",
        signature: Signature::new(
            {
                const TYPES: &[&Type] = &[&STRING];
                TYPES
            },
            &STRING,
        ),
        call: get,
    },
    Method {
        name: "GetBytes",
        signature: Signature::new(
            {
                const TYPES: &[&Type] = &[&STRING];
                TYPES
            },
            &BYTES,
        ),
        call: get_bytes,
    },
];

static MAP_BYTES: Type = Type::composite("map[string][]uint8", Kind::Map, &BYTES);
static FILES: Type = Type::defined("engine.files", &MAP_BYTES, &FILES_METHODS);
static VALUES: Type = Type::defined("common.Values", &MAP_ANY, &[]);

struct KubeVersion;

static KUBE_VERSION: Type = Type::basic("common.KubeVersion", Kind::Struct);

impl Object for KubeVersion {
    fn go_type(&self) -> &'static Type {
        &KUBE_VERSION
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("Version", Value::string("v1.37.0")),
            ("Major", Value::string("1")),
            ("Minor", Value::string("37")),
        ]
    }

    fn field(&self, name: &str) -> Option<Field> {
        let found = self.fields().into_iter().find(|(field, _)| *field == name);
        found.map(|(_, value)| Field::Value(value))
    }

    fn text(&self) -> Option<GoString> {
        Some("v1.37.0".into())
    }
}

struct Capabilities;

static CAPABILITIES_STRUCT: Type = Type::basic("common.Capabilities", Kind::Struct);
static CAPABILITIES: Type =
    Type::composite("*common.Capabilities", Kind::Pointer, &CAPABILITIES_STRUCT);
static VERSION_SET: Type = Type::defined("common.VersionSet", &SLICE_STRING, &[]);

impl Object for Capabilities {
    fn go_type(&self) -> &'static Type {
        &CAPABILITIES
    }

    fn field(&self, name: &str) -> Option<Field> {
        match name {
            "KubeVersion" => Some(Field::Value(Value::object(KubeVersion))),
            // The first of Helm's list; the vectors look at sixty bytes.
            "APIVersions" => Some(Field::Value(Value::List(List::typed(
                &VERSION_SET,
                [
                    "v1",
                    "admissionregistration.k8s.io/v1",
                    "admissionregistration.k8s.io/v1alpha1",
                ]
                .map(Value::string)
                .to_vec(),
            )))),
            _ => None,
        }
    }
}

/// Dot for the template of a chart `c` with these values and files.
pub(crate) fn dot(values: &serde_json::Value, files: &BTreeMap<String, Vec<u8>>) -> Value {
    let values = Value::from(values);
    let values = values
        .as_map()
        .cloned()
        .unwrap_or_default()
        .with_type(&VALUES);
    let all = Map::typed(&FILES);
    for (path, data) in files {
        if !path.starts_with("templates/") {
            all.insert(
                path.as_str().into(),
                Value::Bytes(GoBytes::new(data.clone())),
            );
        }
    }
    let release = Value::map([
        ("Name", Value::string("rel")),
        ("Namespace", Value::string("ns1")),
        ("IsUpgrade", Value::Bool(false)),
        ("IsInstall", Value::Bool(true)),
        ("Revision", Value::int(1)),
        ("Service", Value::string("Helm")),
    ]);
    let template = Value::map([
        ("Name", Value::string("c/templates/t.txt")),
        ("BasePath", Value::string("c/templates")),
    ]);
    let empty = || Value::string("");
    let nothing = || Value::list(Vec::new());
    let chart = Value::map([
        ("APIVersion", Value::string("v2")),
        ("Annotations", Value::Map(Map::nil(&MAP_STRING))),
        ("AppVersion", empty()),
        ("Condition", empty()),
        ("Dependencies", nothing()),
        ("Deprecated", Value::Bool(false)),
        ("Description", empty()),
        ("Home", empty()),
        ("Icon", empty()),
        ("IsRoot", Value::Bool(true)),
        ("Keywords", nothing()),
        ("KubeVersion", empty()),
        ("Maintainers", nothing()),
        ("Name", Value::string("c")),
        ("Sources", nothing()),
        ("Tags", empty()),
        ("Type", empty()),
        ("Version", Value::string("0.1.0")),
    ]);
    let all_objects: Entries = [
        ("Values", Value::Map(values)),
        ("Files", Value::Map(all)),
        ("Release", release),
        ("Template", template),
        ("Chart", chart),
        ("Capabilities", Value::object(Capabilities)),
        ("Subcharts", Value::Map(Map::default())),
    ]
    .into_iter()
    .map(|(key, value)| (key.into(), value))
    .collect();
    Value::Map(Map::from_entries(&VALUES, all_objects))
}
