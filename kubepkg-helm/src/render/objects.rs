//! The objects that a template finds in its dot: `.Values`, `.Chart`, `.Release`, `.Capabilities`,
//! `.Template` and `.Subcharts`, with the Go types and methods that Helm gives them.

use kubepkg_gotemplate::gotype::{self, ANY, BOOL, IO_WRITER, Kind, STRING, Type};
use kubepkg_gotemplate::{
    Context, Field, FuncError, FuncResult, GoString, List, Map, Method, Object, Value,
};

use super::{ReleaseFacts, yaml_of};
use crate::capabilities::{Capabilities, HelmVersion, KubeVersion};
use crate::chart::{Dependency, Metadata};
use crate::go::text::quote;

/// `common.Values`
pub(super) static VALUES: Type = Type::defined("common.Values", &gotype::MAP_ANY, VALUES_METHODS);

static VALUES_METHODS: &[Method] = &[
    Method::new("YAML", &[], &STRING, values_yaml),
    Method::new("Table", &[&STRING], &VALUES, values_table),
    Method::new("AsMap", &[], &gotype::MAP_ANY, values_as_map),
    Method::new("Encode", &[&IO_WRITER], &ANY, values_encode),
    Method::new("PathValue", &[&STRING], &ANY, values_path_value),
];

fn map_of(receiver: &Value) -> Result<&Map, FuncError> {
    receiver.as_map().ok_or_else(|| FuncError::new("not a map"))
}

fn text_of(arguments: &[Value]) -> Result<String, FuncError> {
    let text = arguments.first().and_then(Value::as_string);
    text.map(|text| text.to_str_lossy().into_owned())
        .ok_or_else(|| FuncError::new("expected string"))
}

fn values_yaml(_: &mut Context<'_>, receiver: &Value, _: &[Value]) -> FuncResult {
    let json = receiver
        .to_json()
        .map_err(|error| FuncError::new(error.to_string()))?;
    yaml_of(&json)
        .map(Value::string)
        .map_err(FuncError::Message)
}

fn values_encode(_: &mut Context<'_>, _: &Value, _: &[Value]) -> FuncResult {
    Err(FuncError::new("no template value is an io.Writer"))
}

fn values_as_map(_: &mut Context<'_>, receiver: &Value, _: &[Value]) -> FuncResult {
    let map = map_of(receiver)?;
    Ok(Value::Map(if map.is_empty() {
        Map::default()
    } else {
        map.with_type(&gotype::MAP_ANY)
    }))
}

/// The map at a dotted path; the error is the part that is no map.
pub(super) fn table(map: &Map, path: &str) -> Result<Map, String> {
    let mut at = map.clone();
    for part in path.split('.') {
        match at.get(part.as_bytes()) {
            Some(Value::Map(inner)) => at = inner,
            _ => return Err(format!("{} is not a table", quote(part))),
        }
    }
    Ok(at.with_type(&VALUES))
}

fn values_table(_: &mut Context<'_>, receiver: &Value, arguments: &[Value]) -> FuncResult {
    table(map_of(receiver)?, &text_of(arguments)?)
        .map(Value::Map)
        .map_err(FuncError::Message)
}

fn values_path_value(_: &mut Context<'_>, receiver: &Value, arguments: &[Value]) -> FuncResult {
    let path = text_of(arguments)?;
    if path.is_empty() {
        return Err(FuncError::new("YAML path cannot be empty"));
    }
    let (tables, key) = path
        .rsplit_once('.')
        .map_or((None, path.as_str()), |(tables, key)| (Some(tables), key));
    let map = map_of(receiver)?;
    let found = match tables {
        Some(tables) => table(map, tables).ok(),
        None => Some(map.clone()),
    };
    // Only plain maps are tables here: a value of the type common.Values is handed out.
    let is_table =
        |value: &Value| matches!(value, Value::Map(inner) if inner.go_type().is(&gotype::MAP_ANY));
    let value = found
        .and_then(|map| map.get(key.as_bytes()))
        .filter(|value| !is_table(value));
    value.ok_or_else(|| FuncError::new(format!("{} is not a value", quote(key))))
}

/// `.Release`
pub(super) fn release(facts: &ReleaseFacts) -> Value {
    Value::map([
        ("Name", Value::string(facts.name.as_str())),
        ("Namespace", Value::string(facts.namespace.as_str())),
        ("IsUpgrade", Value::Bool(facts.is_upgrade)),
        ("IsInstall", Value::Bool(facts.is_install)),
        ("Revision", Value::int(i64::from(facts.revision))),
        ("Service", Value::string("Helm")),
    ])
}

/// `.Template`
pub(super) fn template(name: &str, base_path: &str) -> Value {
    let map = Map::typed(&VALUES);
    map.insert("Name".into(), Value::string(name));
    map.insert("BasePath".into(), Value::string(base_path));
    Value::Map(map)
}

fn texts(list: &[String]) -> Value {
    Value::list(
        list.iter()
            .map(|text| Value::string(text.as_str()))
            .collect(),
    )
}

/// `.Chart`: the metadata under Go's field names.
pub(super) fn chart(metadata: &Metadata, is_root: bool) -> Value {
    let text = |text: &String| Value::string(text.as_str());
    let annotations = if metadata.annotations.is_empty() {
        Map::nil(&gotype::MAP_STRING)
    } else {
        let entries = metadata
            .annotations
            .iter()
            .map(|(key, value)| (GoString::from(key.as_str()), text(value)));
        Map::from_entries(&gotype::MAP_STRING, entries.collect())
    };
    let maintainers = metadata.maintainers.iter().flatten().map(|maintainer| {
        Value::map([
            ("Name", text(&maintainer.name)),
            ("Email", text(&maintainer.email)),
            ("URL", text(&maintainer.url)),
        ])
    });
    let dependencies = metadata.dependencies.iter().flatten().map(dependency);
    Value::map([
        ("APIVersion", text(&metadata.api_version)),
        ("Annotations", Value::Map(annotations)),
        ("AppVersion", text(&metadata.app_version)),
        ("Condition", text(&metadata.condition)),
        ("Dependencies", Value::list(dependencies.collect())),
        ("Deprecated", Value::Bool(metadata.deprecated)),
        ("Description", text(&metadata.description)),
        ("Home", text(&metadata.home)),
        ("Icon", text(&metadata.icon)),
        ("IsRoot", Value::Bool(is_root)),
        ("Keywords", texts(&metadata.keywords)),
        ("KubeVersion", text(&metadata.kube_version)),
        ("Maintainers", Value::list(maintainers.collect())),
        ("Name", text(&metadata.name)),
        ("Sources", texts(&metadata.sources)),
        ("Tags", text(&metadata.tags)),
        ("Type", text(&metadata.chart_type)),
        ("Version", text(&metadata.version)),
    ])
}

fn dependency(dependency: &Dependency) -> Value {
    let text = |text: &String| Value::string(text.as_str());
    let imports = dependency.import_values.iter().map(|import| {
        let plain = Value::from(import);
        match plain {
            Value::Map(map) => Value::Map(map.with_type(&gotype::MAP_STRING)),
            other => other,
        }
    });
    Value::map([
        ("Name", text(&dependency.name)),
        ("Version", text(&dependency.version)),
        ("Repository", text(&dependency.repository)),
        ("Condition", text(&dependency.condition)),
        ("Tags", texts(&dependency.tags)),
        ("Enabled", Value::Bool(dependency.enabled)),
        ("ImportValues", Value::list(imports.collect())),
        ("Alias", text(&dependency.alias)),
    ])
}

/// `.Capabilities`
pub(super) fn capabilities(capabilities: &Capabilities) -> Value {
    Value::object(CapabilitiesObject::new(capabilities))
}

static VERSION_SET: Type = Type::defined(
    "common.VersionSet",
    &gotype::SLICE_STRING,
    &[Method::new("Has", &[&STRING], &BOOL, version_set_has)],
);
static CAPABILITIES: Type = Type::basic("common.Capabilities", Kind::Struct);
static CAPABILITIES_POINTER: Type = Type {
    methods: &[Method::new(
        "Copy",
        &[],
        &CAPABILITIES_POINTER,
        |_, receiver, _| Ok(receiver.clone()),
    )],
    ..Type::composite("*common.Capabilities", Kind::Pointer, &CAPABILITIES)
};
static KUBE_VERSION: Type = Type {
    methods: &[
        Method::new("String", &[], &STRING, kube_version_string),
        Method::new("GitVersion", &[], &STRING, kube_version_git),
    ],
    ..Type::basic("common.KubeVersion", Kind::Struct)
};
static KUBE_VERSION_COPY: Type = Type::basic("common.KubeVersion", Kind::Struct);
static BUILD_INFO: Type = Type::basic("version.BuildInfo", Kind::Struct);

fn version_set_has(context: &mut Context<'_>, receiver: &Value, arguments: &[Value]) -> FuncResult {
    let wanted = arguments.first().and_then(Value::as_string);
    let versions = receiver.as_list().map(List::items).unwrap_or_default();
    context.charge(versions.len() as u64 / 10)?;
    Ok(Value::Bool(
        versions.iter().any(|version| version.as_string() == wanted),
    ))
}

/// A field that is exported, and of a concrete type as all of them are.
fn exported(object: &impl Object, name: &str) -> Option<Field> {
    let mut fields = object.fields().into_iter();
    let (_, value) = fields.find(|(field, _)| *field == name)?;
    Some(Field::Value(value))
}

/// The fields, made once: a cluster has a thousand group versions, and templates ask for many.
struct CapabilitiesObject([(&'static str, Value); 3]);

impl CapabilitiesObject {
    fn new(capabilities: &Capabilities) -> Self {
        let versions = capabilities.api_versions.iter();
        let versions = versions
            .map(|version| Value::string(version.as_str()))
            .collect();
        Self([
            (
                "KubeVersion",
                Value::object(KubeVersionObject {
                    version: capabilities.kube_version.clone(),
                    is_copy: false,
                }),
            ),
            (
                "APIVersions",
                Value::List(List::typed(&VERSION_SET, versions)),
            ),
            (
                "HelmVersion",
                Value::object(BuildInfoObject(capabilities.helm_version.clone())),
            ),
        ])
    }
}

impl Object for CapabilitiesObject {
    fn go_type(&self) -> &'static Type {
        &CAPABILITIES_POINTER
    }

    fn field(&self, name: &str) -> Option<Field> {
        exported(self, name)
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        self.0.to_vec()
    }
}

/// `String` and `GitVersion` belong to the pointer: the field of `.Capabilities` has them, a copy has not.
struct KubeVersionObject {
    version: KubeVersion,
    is_copy: bool,
}

impl Object for KubeVersionObject {
    fn go_type(&self) -> &'static Type {
        if self.is_copy {
            &KUBE_VERSION_COPY
        } else {
            &KUBE_VERSION
        }
    }

    fn copied(&self) -> Option<Value> {
        (!self.is_copy).then(|| {
            Value::object(Self {
                version: self.version.clone(),
                is_copy: true,
            })
        })
    }

    fn field(&self, name: &str) -> Option<Field> {
        if name == "normalizedVersion" {
            return Some(Field::Unexported);
        }
        exported(self, name)
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("Version", Value::string(self.version.version.as_str())),
            ("Major", Value::string(self.version.major.as_str())),
            ("Minor", Value::string(self.version.minor.as_str())),
        ]
    }

    fn printed_fields(&self) -> Vec<(&'static str, Value)> {
        let mut fields = self.fields();
        fields.insert(
            1,
            (
                "normalizedVersion",
                Value::string(self.version.normalized.as_str()),
            ),
        );
        fields
    }

    fn go_eq(&self, other: &dyn Object) -> Option<bool> {
        Some(self.version == other.downcast_ref::<Self>()?.version)
    }

    fn pointer_text(&self) -> Option<GoString> {
        (!self.is_copy).then(|| GoString::from(self.version.normalized.as_str()))
    }
}

fn kube_version(receiver: &Value) -> Result<&KubeVersion, FuncError> {
    let object = receiver.as_object::<KubeVersionObject>();
    object
        .map(|object| &object.version)
        .ok_or_else(|| FuncError::new("not a Kubernetes version"))
}

fn kube_version_string(_: &mut Context<'_>, receiver: &Value, _: &[Value]) -> FuncResult {
    Ok(Value::string(kube_version(receiver)?.normalized.as_str()))
}

fn kube_version_git(_: &mut Context<'_>, receiver: &Value, _: &[Value]) -> FuncResult {
    Ok(Value::string(kube_version(receiver)?.version.as_str()))
}

struct BuildInfoObject(HelmVersion);

impl Object for BuildInfoObject {
    fn go_type(&self) -> &'static Type {
        &BUILD_INFO
    }

    fn field(&self, name: &str) -> Option<Field> {
        exported(self, name)
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("Version", Value::string(self.0.version.as_str())),
            ("GitCommit", Value::string(self.0.git_commit.as_str())),
            (
                "GitTreeState",
                Value::string(self.0.git_tree_state.as_str()),
            ),
            ("GoVersion", Value::string(self.0.go_version.as_str())),
            (
                "KubeClientVersion",
                Value::string(self.0.kube_client_version.as_str()),
            ),
        ]
    }

    fn json_fields(&self) -> Vec<(&'static str, Value)> {
        [
            ("version", &self.0.version),
            ("git_commit", &self.0.git_commit),
            ("git_tree_state", &self.0.git_tree_state),
            ("go_version", &self.0.go_version),
            ("kube_client_version", &self.0.kube_client_version),
        ]
        .into_iter()
        .filter(|(key, text)| !text.is_empty() || *key == "kube_client_version")
        .map(|(key, text)| (key, Value::string(text.as_str())))
        .collect()
    }

    fn go_eq(&self, other: &dyn Object) -> Option<bool> {
        Some(self.0 == other.downcast_ref::<Self>()?.0)
    }
}
