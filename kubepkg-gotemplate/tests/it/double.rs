//! A double of what Helm puts at the top of a template: `.Values`, `.Files`, `.Capabilities`,
//! `.Chart`, `.Release`, `.Template`. The real ones are in `kubepkg-helm`.

use kubepkg_gotemplate::gotype::{
    ANY, BOOL, BYTES, IO_WRITER, MAP_ANY, MAP_BYTES, MAP_STRING, SLICE_ANY, SLICE_STRING, STRING,
};
use kubepkg_gotemplate::{
    Context, Field, FuncError, FuncResult, GoBytes, GoString, Kind, List, Map, Method, Object,
    Signature, Type, Value, types,
};
use serde_json::Value as Json;

static VALUES: Type = Type::defined("common.Values", &MAP_ANY, &VALUES_METHODS);
static VALUES_METHODS: [Method; 5] = [
    Method {
        name: "AsMap",
        signature: Signature::new(&[], &MAP_ANY),
        call: |_, receiver, _| Ok(Value::Map(map(receiver).with_type(&MAP_ANY))),
    },
    Method {
        name: "Encode",
        signature: Signature::new(types!(IO_WRITER), &ANY),
        call: |_, _, _| Ok(Value::Nil),
    },
    Method {
        name: "PathValue",
        signature: Signature::new(types!(STRING), &ANY),
        call: path_value,
    },
    Method {
        name: "Table",
        signature: Signature::new(types!(STRING), &VALUES),
        call: |_, receiver, args| table(&map(receiver), &text(&args[0])),
    },
    Method {
        name: "YAML",
        signature: Signature::new(&[], &STRING),
        call: |_, receiver, _| {
            let json = receiver.to_json().unwrap();
            Ok(kubepkg_yaml::to_yaml(&json).unwrap().into())
        },
    },
];

fn map(value: &Value) -> Map {
    value.as_map().unwrap().clone()
}

fn text(value: &Value) -> String {
    value.as_string().unwrap().to_string()
}

fn table(start: &Map, path: &str) -> FuncResult {
    let mut current = start.clone();
    for name in path.split('.') {
        current = match current.get(name.as_bytes()) {
            Some(Value::Map(inner)) => inner,
            _ => return Err(FuncError::new(format!("{path:?} is not a table"))),
        };
    }
    Ok(Value::Map(current.with_type(&VALUES)))
}

fn path_value(_: &mut Context<'_>, receiver: &Value, args: &[Value]) -> FuncResult {
    let path = text(&args[0]);
    if path.is_empty() {
        return Err(FuncError::new("YAML path cannot be empty"));
    }
    let (parent, key) = match path.rsplit_once('.') {
        Some((parent, key)) => (table(&map(receiver), parent)?, key),
        None => (receiver.clone(), path.as_str()),
    };
    match map(&parent).get(key.as_bytes()) {
        Some(value) if !matches!(value, Value::Map(_)) => Ok(value),
        _ => Err(FuncError::new(format!("{key:?} is not a value"))),
    }
}

static FILES: Type = Type::defined("engine.files", &MAP_BYTES, &FILES_METHODS);
static FILES_METHODS: [Method; 6] = [
    Method {
        name: "AsConfig",
        signature: Signature::new(&[], &STRING),
        call: |_, receiver, _| as_yaml(receiver, |b| Json::from(String::from_utf8_lossy(b))),
    },
    Method {
        name: "AsSecrets",
        signature: Signature::new(&[], &STRING),
        call: |_, receiver, _| as_yaml(receiver, |b| Json::from(GoBytes::new(b).to_base64())),
    },
    Method {
        name: "Get",
        signature: Signature::new(types!(STRING), &STRING),
        call: |_, receiver, args| Ok(Value::string(file(receiver, &args[0]))),
    },
    Method {
        name: "GetBytes",
        signature: Signature::new(types!(STRING), &BYTES),
        call: |_, receiver, args| Ok(Value::Bytes(GoBytes::new(file(receiver, &args[0])))),
    },
    Method {
        name: "Glob",
        signature: Signature::new(types!(STRING), &FILES),
        call: |_, receiver, args| {
            let pattern = text(&args[0]);
            let found = Map::typed(&FILES);
            for (name, value) in map(receiver).borrow().iter() {
                if crate::glob::matches(&pattern, &name.to_string()) {
                    found.insert(name.clone(), value.clone());
                }
            }
            Ok(Value::Map(found))
        },
    },
    Method {
        name: "Lines",
        signature: Signature::new(types!(STRING), &SLICE_STRING),
        call: |_, receiver, args| {
            let bytes = file(receiver, &args[0]);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let text = text.strip_suffix('\n').unwrap_or(&text);
            let lines = text.split('\n').filter(|_| !text.is_empty());
            Ok(Value::string_list(lines))
        },
    },
];

fn file(files: &Value, name: &Value) -> Vec<u8> {
    match map(files).get(name.as_string().unwrap()) {
        Some(Value::Bytes(bytes)) => bytes.as_bytes().to_vec(),
        _ => Vec::new(),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the type of a method")]
fn as_yaml(files: &Value, encode: fn(&[u8]) -> Json) -> FuncResult {
    let mut out = serde_json::Map::new();
    for (name, value) in map(files).borrow().iter() {
        if let Value::Bytes(bytes) = value {
            let name = name.to_string();
            let base = name.rsplit('/').next().unwrap_or_default();
            out.insert(base.to_owned(), encode(bytes.as_bytes()));
        }
    }
    let yaml = kubepkg_yaml::to_yaml(&Json::Object(out)).unwrap();
    Ok(yaml.strip_suffix('\n').unwrap_or(&yaml).into())
}

static KUBE_VERSION: Type = Type {
    methods: &KUBE_VERSION_METHODS,
    ..Type::basic("common.KubeVersion", Kind::Struct)
};
static KUBE_VERSION_METHODS: [Method; 2] = [
    Method {
        name: "GitVersion",
        signature: Signature::new(&[], &STRING),
        call: |_, receiver, _| {
            Ok(receiver
                .as_object::<KubeVersion>()
                .unwrap()
                .0
                .as_str()
                .into())
        },
    },
    Method {
        name: "String",
        signature: Signature::new(&[], &STRING),
        call: |_, receiver, _| Ok(receiver.as_object::<KubeVersion>().unwrap().plain().into()),
    },
];

#[derive(Clone)]
struct KubeVersion(String);

impl KubeVersion {
    fn plain(&self) -> &str {
        self.0.split('-').next().unwrap()
    }

    fn part(&self, index: usize) -> Value {
        let numbers = self.plain().trim_start_matches('v');
        numbers.split('.').nth(index).unwrap().into()
    }
}

impl Object for KubeVersion {
    fn go_type(&self) -> &'static Type {
        &KUBE_VERSION
    }
    fn field(&self, name: &str) -> Option<Field> {
        if name == "normalizedVersion" {
            return Some(Field::Unexported);
        }
        let found = self.fields().into_iter().find(|(n, _)| *n == name)?;
        Some(Field::Value(found.1))
    }
    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("Version", self.0.as_str().into()),
            ("Major", self.part(0)),
            ("Minor", self.part(1)),
        ]
    }
    fn printed_fields(&self) -> Vec<(&'static str, Value)> {
        let mut fields = self.fields();
        fields.insert(1, ("normalizedVersion", self.plain().into()));
        fields
    }
    fn pointer_text(&self) -> Option<GoString> {
        Some(self.plain().into())
    }
}

static VERSION_SET: Type = Type::defined("common.VersionSet", &SLICE_STRING, &VERSION_SET_METHODS);
static VERSION_SET_METHODS: [Method; 1] = [Method {
    name: "Has",
    signature: Signature::new(types!(STRING), &BOOL),
    call: |_, receiver, args| {
        let wanted = args[0].as_string().unwrap();
        let list = receiver.as_list().unwrap();
        Ok(Value::Bool(
            list.iter().any(|v| v.as_string() == Some(wanted)),
        ))
    },
}];

static CAPABILITIES_STRUCT: Type = Type::basic("common.Capabilities", Kind::Struct);
static CAPABILITIES: Type = Type {
    methods: &CAPABILITIES_METHODS,
    ..Type::composite("*common.Capabilities", Kind::Pointer, &CAPABILITIES_STRUCT)
};
static CAPABILITIES_METHODS: [Method; 1] = [Method {
    name: "Copy",
    signature: Signature::new(&[], &CAPABILITIES),
    call: |_, receiver, _| Ok(receiver.clone()),
}];

struct Capabilities {
    kube: KubeVersion,
    api_versions: Vec<String>,
}

impl Object for Capabilities {
    fn go_type(&self) -> &'static Type {
        &CAPABILITIES
    }
    fn field(&self, name: &str) -> Option<Field> {
        let found = self.fields().into_iter().find(|(n, _)| *n == name)?;
        Some(Field::Value(found.1))
    }
    fn fields(&self) -> Vec<(&'static str, Value)> {
        let versions = self
            .api_versions
            .iter()
            .map(|v| v.as_str().into())
            .collect();
        vec![
            ("KubeVersion", Value::object(self.kube.clone())),
            (
                "APIVersions",
                Value::List(List::typed(&VERSION_SET, versions)),
            ),
            ("HelmVersion", Value::object(HelmVersion)),
        ]
    }
}

static HELM_VERSION: Type = Type::basic("version.BuildInfo", Kind::Struct);

struct HelmVersion;

impl Object for HelmVersion {
    fn go_type(&self) -> &'static Type {
        &HELM_VERSION
    }
    fn field(&self, name: &str) -> Option<Field> {
        let found = self.fields().into_iter().find(|(n, _)| *n == name)?;
        Some(Field::Value(found.1))
    }
    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("Version", "v4.3.1".into()),
            ("GitCommit", "".into()),
            ("GitTreeState", "".into()),
            ("GoVersion", "go1.26.8".into()),
            ("KubeClientVersion", "v1.37".into()),
        ]
    }
    fn json(&self) -> Option<String> {
        let json = r#"{"version":"v4.3.1","go_version":"go1.26.8","kube_client_version":"v1.37"}"#;
        Some(json.to_owned())
    }
}

const API_VERSIONS: &str = "v1 admissionregistration.k8s.io/v1 admissionregistration.k8s.io/v1alpha1 \
    admissionregistration.k8s.io/v1beta1 internal.apiserver.k8s.io/v1alpha1 apps/v1 apps/v1beta1 \
    apps/v1beta2 authentication.k8s.io/v1 authentication.k8s.io/v1alpha1 authentication.k8s.io/v1beta1 \
    authorization.k8s.io/v1 authorization.k8s.io/v1beta1 autoscaling/v1 autoscaling/v2 batch/v1 \
    batch/v1beta1 certificates.k8s.io/v1 certificates.k8s.io/v1beta1 certificates.k8s.io/v1alpha1 \
    coordination.k8s.io/v1alpha2 coordination.k8s.io/v1beta1 coordination.k8s.io/v1 \
    discovery.k8s.io/v1 discovery.k8s.io/v1beta1 events.k8s.io/v1 events.k8s.io/v1beta1 \
    extensions/v1beta1 flowcontrol.apiserver.k8s.io/v1 flowcontrol.apiserver.k8s.io/v1beta1 \
    flowcontrol.apiserver.k8s.io/v1beta2 flowcontrol.apiserver.k8s.io/v1beta3 \
    lifecycle.k8s.io/v1alpha1 networking.k8s.io/v1 networking.k8s.io/v1beta1 node.k8s.io/v1 \
    node.k8s.io/v1alpha1 node.k8s.io/v1beta1 policy/v1 policy/v1beta1 rbac.authorization.k8s.io/v1 \
    rbac.authorization.k8s.io/v1beta1 rbac.authorization.k8s.io/v1alpha1 resource.k8s.io/v1 \
    resource.k8s.io/v1beta2 resource.k8s.io/v1beta1 resource.k8s.io/v1alpha3 \
    scheduling.k8s.io/v1alpha3 scheduling.k8s.io/v1beta1 scheduling.k8s.io/v1 \
    storage.k8s.io/v1beta1 storage.k8s.io/v1 storage.k8s.io/v1alpha1 storagemigration.k8s.io/v1 \
    storagemigration.k8s.io/v1beta1 apiextensions.k8s.io/v1beta1 apiextensions.k8s.io/v1";

fn chart() -> Value {
    let empty = || Value::string("");
    Value::map([
        ("APIVersion", "v2".into()),
        ("Annotations", Value::Map(Map::nil(&MAP_STRING))),
        ("AppVersion", empty()),
        ("Condition", empty()),
        ("Dependencies", Value::List(List::typed(&SLICE_ANY, vec![]))),
        ("Deprecated", Value::Bool(false)),
        ("Description", empty()),
        ("Home", empty()),
        ("Icon", empty()),
        ("IsRoot", Value::Bool(true)),
        ("Keywords", Value::list(vec![])),
        ("KubeVersion", empty()),
        ("Maintainers", Value::list(vec![])),
        ("Name", "c".into()),
        ("Sources", Value::list(vec![])),
        ("Tags", empty()),
        ("Type", empty()),
        ("Version", "0.1.0".into()),
    ])
}

/// What Helm drops while it coalesces: null entries of maps.
fn without_nulls(json: &mut Json) {
    if let Json::Object(entries) = json {
        entries.retain(|_, v| !v.is_null());
        entries.values_mut().for_each(without_nulls);
    }
}

/// The top object for a row of the vectors.
pub(crate) fn top(row: &Json) -> Value {
    let values = row["values"].as_str().unwrap_or_default();
    let mut values = Json::Object(kubepkg_yaml::load_values(values.as_bytes()).unwrap());
    without_nulls(&mut values);
    let values = map(&Value::from(&values)).with_type(&VALUES);
    let files = Map::typed(&FILES);
    for (name, text) in row["files"].as_object().into_iter().flatten() {
        if !name.starts_with("templates/") && !name.starts_with("charts/") {
            files.insert(
                name.as_str().into(),
                Value::Bytes(GoBytes::new(text.as_str().unwrap())),
            );
        }
    }
    let release = &row["release"];
    let or =
        |key: &str, default: &str| -> Value { release[key].as_str().unwrap_or(default).into() };
    let upgrade = release["isUpgrade"].as_bool().unwrap_or_default();
    let caps = &row["caps"];
    let mut api_versions: Vec<String> =
        API_VERSIONS.split_whitespace().map(str::to_owned).collect();
    for extra in caps["apiVersions"].as_array().into_iter().flatten() {
        api_versions.push(extra.as_str().unwrap().to_owned());
    }
    let template: Map = [
        ("BasePath".into(), "c/templates".into()),
        ("Name".into(), "c/templates/t.txt".into()),
    ]
    .into_iter()
    .collect();
    let top: Map = [
        ("Values".into(), Value::Map(values)),
        ("Files".into(), Value::Map(files)),
        ("Chart".into(), chart()),
        ("Subcharts".into(), Value::Map(Map::default())),
        ("Template".into(), Value::Map(template.with_type(&VALUES))),
        (
            "Release".into(),
            Value::map([
                ("IsInstall", Value::Bool(!upgrade)),
                ("IsUpgrade", Value::Bool(upgrade)),
                ("Name", or("name", "rel")),
                ("Namespace", or("namespace", "ns1")),
                (
                    "Revision",
                    Value::int(release["revision"].as_i64().unwrap_or(1)),
                ),
                ("Service", "Helm".into()),
            ]),
        ),
        (
            "Capabilities".into(),
            Value::object(Capabilities {
                kube: KubeVersion(caps["kubeVersion"].as_str().unwrap_or("v1.37.0").to_owned()),
                api_versions,
            }),
        ),
    ]
    .into_iter()
    .collect();
    Value::Map(top.with_type(&VALUES))
}
