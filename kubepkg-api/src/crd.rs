//! The CustomResourceDefinitions of the six kinds, as a pure function of the API group (reference §1).
//!
//! Three versions with one schema: `v1` is stored, `v1beta1` and `v1alpha1` are served with a warning and need
//! no conversion. All kinds are cluster-scoped, carry the category [`CATEGORY`] (`kubectl get kubepkg` lists
//! everything there is), and have a status subresource.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceConversion, CustomResourceDefinition,
    CustomResourceDefinitionNames, CustomResourceDefinitionSpec, CustomResourceDefinitionVersion,
    CustomResourceSubresourceStatus, CustomResourceSubresources, CustomResourceValidation,
    JSONSchemaProps,
};
use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::group::{ApiGroup, DEPRECATED_VERSIONS, VERSION};
use crate::kind::Kind;
use crate::schema::{Rule, normalise, rules, structural};
use crate::{
    Cluster, Package, PackageRevision, PackageSet, PackageSource, Repository, package, revision,
};

/// The category of all kinds.
pub const CATEGORY: &str = "kubepkg";

/// A column of `kubectl get`.
struct Column(&'static str, &'static str, &'static str);

const READY_STATUS: &str = r#".status.conditions[?(@.type=="Ready")].status"#;
const READY_MESSAGE: &str = r#".status.conditions[?(@.type=="Ready")].message"#;
const AGE: Column = Column("Age", "date", ".metadata.creationTimestamp");

/// The CRDs of all kinds under a group, sorted by name.
pub fn crds(group: &ApiGroup) -> Vec<CustomResourceDefinition> {
    vec![
        crd::<Cluster>(
            group,
            true,
            &[],
            &[
                Column("Kubernetes", "string", ".status.kubernetesVersion"),
                Column("Ready", "string", READY_STATUS),
                Column("Status", "string", READY_MESSAGE),
                AGE,
            ],
        ),
        crd::<PackageRevision>(
            group,
            true,
            &[revision::IMMUTABLE_RULE],
            &[
                Column("Package", "string", ".spec.package"),
                Column("Revision", "integer", ".spec.revision"),
                Column("Version", "string", ".spec.version"),
                Column("Phase", "string", ".status.phase"),
                AGE,
            ],
        ),
        crd::<Package>(
            group,
            false,
            &[package::NAME_LENGTH_RULE],
            &[
                Column("Variant", "string", ".spec.variant"),
                Column("Version", "string", ".status.version"),
                Column("Revision", "integer", ".status.currentRevision"),
                Column("Ready", "string", READY_STATUS),
                Column("Status", "string", READY_MESSAGE),
            ],
        ),
        crd::<PackageSet>(
            group,
            false,
            &[],
            &[
                Column("Ready Clusters", "integer", ".status.readyClusters"),
                Column("Updated", "integer", ".status.updatedClusters"),
                Column("Ready", "string", READY_STATUS),
                Column("Status", "string", READY_MESSAGE),
            ],
        ),
        crd::<PackageSource>(
            group,
            false,
            &[package::NAME_LENGTH_RULE],
            &[
                Column("Version", "string", ".spec.version"),
                Column("Build", "integer", ".spec.build"),
                Column(
                    "Repository",
                    "string",
                    r".metadata.labels.kubepkg\.dev/repository",
                ),
                AGE,
            ],
        ),
        crd::<Repository>(
            group,
            true,
            &[],
            &[
                Column("URL", "string", ".spec.url"),
                Column("Priority", "integer", ".spec.priority"),
                Column("Packages", "integer", ".status.packages"),
                Column("Ready", "string", READY_STATUS),
                Column("Status", "string", READY_MESSAGE),
            ],
        ),
    ]
}

/// The CRD as plain JSON, with whole numbers written as integers (as the API server returns them).
///
/// # Errors
/// Never for what [`crds`] returns; the error of serde for a value that JSON cannot hold.
pub fn to_json(crd: &CustomResourceDefinition) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(crd)?;
    integers(&mut value);
    Ok(value)
}

/// The CRD as YAML, as a file or a stream for `kubectl apply` holds it.
///
/// # Errors
/// Never for what [`crds`] returns; [`CrdTextError`] for a value that JSON or YAML cannot hold.
pub fn to_yaml(crd: &CustomResourceDefinition) -> Result<String, CrdTextError> {
    Ok(kubepkg_yaml::to_yaml(&to_json(crd)?)?)
}

/// A CRD cannot be written down.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrdTextError {
    /// JSON cannot hold it.
    #[error("writing a CRD as JSON")]
    Json(#[from] serde_json::Error),
    /// YAML cannot hold it.
    #[error("writing a CRD as YAML")]
    Yaml(#[from] kubepkg_yaml::YamlError),
}

/// The name of the file that the CRD is generated into, `<plural>.yaml`.
pub fn file_name(crd: &CustomResourceDefinition) -> String {
    format!("{}.yaml", crd.spec.names.plural)
}

fn integers(value: &mut Value) {
    match value {
        Value::Object(object) => object.values_mut().for_each(integers),
        Value::Array(items) => items.iter_mut().for_each(integers),
        Value::Number(_) => normalise(value),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn crd<K>(
    group: &ApiGroup,
    spec_required: bool,
    root_rules: &[Rule],
    columns: &[Column],
) -> CustomResourceDefinition
where
    K: Kind,
    K::Spec: JsonSchema,
    K::Status: JsonSchema,
{
    let schema = root_schema::<K>(spec_required, root_rules);
    let version = |name: &str| CustomResourceDefinitionVersion {
        name: name.to_owned(),
        served: true,
        storage: name == VERSION,
        deprecated: (name != VERSION).then_some(true),
        deprecation_warning: (name != VERSION).then(|| {
            format!(
                "{group}/{name} {} is deprecated; use {group}/{VERSION}",
                K::KIND
            )
        }),
        schema: Some(CustomResourceValidation {
            open_api_v3_schema: Some(schema.clone()),
        }),
        subresources: Some(CustomResourceSubresources {
            status: Some(CustomResourceSubresourceStatus(json!({}))),
            ..Default::default()
        }),
        additional_printer_columns: Some(
            columns
                .iter()
                .map(|Column(name, type_, path)| CustomResourceColumnDefinition {
                    name: (*name).to_owned(),
                    type_: (*type_).to_owned(),
                    json_path: (*path).to_owned(),
                    ..Default::default()
                })
                .collect(),
        ),
        ..Default::default()
    };
    let mut versions = vec![version(VERSION)];
    versions.extend(DEPRECATED_VERSIONS.iter().map(|name| version(name)));
    CustomResourceDefinition {
        metadata: ObjectMeta {
            name: Some(K::crd_name(group)),
            ..Default::default()
        },
        spec: CustomResourceDefinitionSpec {
            group: group.to_string(),
            names: CustomResourceDefinitionNames {
                kind: K::KIND.to_owned(),
                list_kind: Some(format!("{}List", K::KIND)),
                plural: K::PLURAL.to_owned(),
                singular: Some(K::SINGULAR.to_owned()),
                short_names: (!K::SHORT_NAMES.is_empty()).then(|| {
                    K::SHORT_NAMES
                        .iter()
                        .map(|name| (*name).to_owned())
                        .collect()
                }),
                categories: Some(vec![CATEGORY.to_owned()]),
            },
            scope: "Cluster".to_owned(),
            conversion: Some(CustomResourceConversion {
                strategy: "None".to_owned(),
                ..Default::default()
            }),
            versions,
            ..Default::default()
        },
        status: None,
    }
}

fn root_schema<K>(spec_required: bool, root_rules: &[Rule]) -> JSONSchemaProps
where
    K: Kind,
    K::Spec: JsonSchema,
    K::Status: JsonSchema,
{
    let mut root = json!({
        "type": "object",
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "metadata": { "type": "object" },
            "spec": structural::<K::Spec>(),
            "status": structural::<K::Status>(),
        },
    });
    if let Some(root) = root.as_object_mut() {
        if spec_required {
            root.insert("required".into(), json!(["spec"]));
        }
        if !root_rules.is_empty() {
            root.insert("x-kubernetes-validations".into(), rules(root_rules));
        }
    }
    #[expect(
        clippy::expect_used,
        reason = "the schema is made of this crate's own types and nothing else; the tests build all of them"
    )]
    serde_json::from_value(root).expect("a schema of this crate")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_kind(kind: &str) -> Value {
        let crd = crds(&ApiGroup::default())
            .into_iter()
            .find(|crd| crd.spec.names.kind == kind)
            .unwrap();
        to_json(&crd).unwrap()
    }

    fn schema(kind: &str) -> Value {
        by_kind(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
    }

    #[test]
    fn one_schema_in_three_served_versions_of_which_one_is_stored() {
        for crd in crds(&ApiGroup::new("packages.example.org").unwrap()) {
            assert_eq!(crd.spec.group, "packages.example.org");
            assert_eq!(
                crd.metadata.name.as_deref().unwrap(),
                format!("{}.packages.example.org", crd.spec.names.plural)
            );
            assert_eq!(crd.spec.scope, "Cluster");
            let versions = &crd.spec.versions;
            let names: Vec<&str> = versions
                .iter()
                .map(|version| version.name.as_str())
                .collect();
            assert_eq!(names, ["v1", "v1beta1", "v1alpha1"]);
            assert_eq!(versions.iter().filter(|version| version.storage).count(), 1);
            assert!(versions[0].storage && versions[0].deprecated.is_none());
            assert_eq!(
                versions[1].deprecation_warning.as_deref().unwrap(),
                format!(
                    "packages.example.org/v1beta1 {} is deprecated; use packages.example.org/v1",
                    crd.spec.names.kind
                )
            );
            assert!(
                versions
                    .iter()
                    .all(|version| version.served && version.schema == versions[0].schema)
            );
            assert!(
                versions.iter().all(|version| version
                    .subresources
                    .as_ref()
                    .unwrap()
                    .status
                    .is_some())
            );
        }
    }

    #[test]
    fn order_is_by_name() {
        let names: Vec<_> = crds(&ApiGroup::default())
            .into_iter()
            .map(|crd| crd.metadata.name.unwrap())
            .collect();
        let mut sorted = names.clone();
        sorted.sort();
        assert_eq!(names.len(), 6);
        assert_eq!(names, sorted);
    }

    #[test]
    fn rules_of_the_reference_stand_where_they_belong() {
        let source = schema("PackageSource");
        let variant =
            &source["properties"]["spec"]["properties"]["variants"]["items"]["properties"];
        let messages = |schema: &Value| -> Vec<String> {
            schema["x-kubernetes-validations"]
                .as_array()
                .unwrap()
                .iter()
                .map(|rule| rule["message"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(
            messages(&variant["requires"]["items"]),
            [
                "exactly one of package or capability must be set",
                "variant and values apply to a required package, not to a capability"
            ]
        );
        assert_eq!(
            messages(&variant["components"]["items"]),
            [
                "set exactly one of path and chart",
                "libraries and valuesFiles apply to charts in the package tree only"
            ]
        );
        assert_eq!(
            messages(&source["properties"]["spec"]["properties"]["sourceRef"]),
            ["OCIArtifact needs url; GitRepository and OCIRepository need name and namespace"]
        );
        assert_eq!(messages(&schema("PackageRevision")), ["spec is immutable"]);
    }

    #[test]
    fn defaults_and_limits() {
        let package = schema("Package");
        let spec = &package["properties"]["spec"]["properties"];
        assert_eq!(spec["revisionHistoryLimit"]["default"], json!(10));
        assert_eq!(spec["revisionHistoryLimit"]["minimum"], json!(1));
        assert_eq!(spec["crdPolicy"]["default"], json!("Retain"));
        assert_eq!(spec["crdPolicy"]["enum"], json!(["Retain", "Delete"]));
        assert_eq!(
            spec["upgrade"]["properties"]["atomic"]["default"],
            json!(true)
        );
        assert_eq!(
            spec["upgrade"]["properties"]["timeout"]["default"],
            json!("10m")
        );
        assert_eq!(
            spec["components"]["additionalProperties"]["properties"]["values"]["x-kubernetes-preserve-unknown-fields"],
            json!(true)
        );
        assert!(spec["variant"].get("default").is_none());
        assert_eq!(package.get("required"), None);

        let repository = schema("Repository");
        assert_eq!(repository["required"], json!(["spec"]));
        assert_eq!(
            repository["properties"]["spec"]["properties"]["trust"]["properties"]["rootKeys"]["minItems"],
            json!(1)
        );
    }

    /// A default in a PackageSource would change the digest of what a repository offers.
    #[test]
    fn a_package_source_has_no_defaults() {
        fn defaults(value: &Value) -> usize {
            match value {
                Value::Object(object) => {
                    usize::from(object.contains_key("default") && object.contains_key("type"))
                        + object.values().map(defaults).sum::<usize>()
                }
                Value::Array(items) => items.iter().map(defaults).sum(),
                _ => 0,
            }
        }
        assert_eq!(defaults(&schema("PackageSource")["properties"]["spec"]), 0);
    }

    /// A structural schema has a type for every value, and none of the keywords that the API server refuses.
    #[test]
    fn schemas_are_structural() {
        fn check(path: &str, schema: &Value) {
            let object = schema.as_object().unwrap();
            assert!(object.contains_key("type"), "{path} has no type: {schema}");
            for refused in [
                "$ref",
                "anyOf",
                "oneOf",
                "definitions",
                "nullable",
                "const",
                "title",
                "$schema",
                "examples",
            ] {
                assert!(!object.contains_key(refused), "{path} has {refused}");
            }
            for (name, property) in object
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                check(&format!("{path}.{name}"), property);
            }
            if let Some(items) = object.get("items") {
                check(&format!("{path}[]"), items);
            }
            if let Some(values) = object
                .get("additionalProperties")
                .filter(|values| values.is_object())
            {
                check(&format!("{path}{{}}"), values);
            }
        }
        for crd in crds(&ApiGroup::default()) {
            let value = to_json(&crd).unwrap();
            check(
                &crd.spec.names.kind,
                &value["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
            );
            assert!(!value.to_string().contains(".0,"), "floats are normalised");
        }
    }
}
