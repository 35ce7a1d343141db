//! What `Chart.yaml` says about a chart, and the rules that Helm 4.3.1 has for it.
//!
//! Reading is Go's: keys match without case, a number or a boolean where a text is wanted becomes a text
//! (`version: 1.10` is version `1.1`, floats are cut to 32 bits), unknown keys are ignored. Refused are the
//! metadata that `Metadata.Validate` of Helm refuses, with its words.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The `apiVersion` of charts that keep their dependencies in `requirements.yaml`.
pub(crate) const API_VERSION_V1: &str = "v1";

/// The contents of `Chart.yaml`. Field names in JSON are Helm's, empty fields are left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata {
    /// The chart's name; an alias replaces it in the copy that is rendered.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Address of a project page.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub home: String,
    /// Addresses of the source code.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub sources: Vec<String>,
    /// The chart's version, loosely a semantic version (`v1.2` and `01.2.3` pass).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// One sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Search words.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub keywords: Vec<String>,
    /// People; a null entry is kept as `None` until validation refuses it.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub maintainers: Vec<Option<Maintainer>>,
    /// Address of an icon.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub icon: String,
    /// `v1` or `v2`; a missing one is read as `v1`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// Unused by Helm 4, kept for the record.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// Unused by Helm 4, kept for the record.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tags: String,
    /// The version of the software inside.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub app_version: String,
    /// Whether the author gave the chart up.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// Free text by key.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub annotations: BTreeMap<String, String>,
    /// Constraint on the cluster's version; empty means any.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kube_version: String,
    /// Declared dependencies; a null entry is kept as `None` until validation refuses it.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub dependencies: Vec<Option<Dependency>>,
    /// Whether the list of dependencies was written, be it empty. Helm goes on to the dependencies of subcharts
    /// only below a chart that has the list.
    #[serde(skip)]
    pub lists_dependencies: bool,
    /// `application`, `library` or empty.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub chart_type: String,
}

/// Somebody who keeps the chart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Maintainer {
    /// A person or organisation.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Mail address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub email: String,
    /// Web address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
}

/// A chart that another chart needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dependency {
    /// Name of the wanted chart; once dependencies were processed, its alias if it has one.
    pub name: String,
    /// Version constraint, or the version in a lock file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Address of the repository.
    pub repository: String,
    /// Comma-separated paths into the values; the first that is a boolean switches the dependency.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// Names that the values' `tags` table switches.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub tags: Vec<String>,
    /// What conditions and tags came to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub enabled: bool,
    /// Values that the parent takes from this dependency: texts or `{child, parent}` maps.
    #[serde(
        rename = "import-values",
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub import_values: Vec<Value>,
    /// The name the dependency goes by.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub alias: String,
}

/// `Chart.lock` or `requirements.lock`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lock {
    /// When the lock was written, RFC 3339.
    pub generated: String,
    /// Digest over the dependencies of `Chart.yaml`.
    pub digest: String,
    /// What was locked; absent in the file means null in a release record.
    pub dependencies: Option<Vec<Option<Dependency>>>,
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            generated: crate::go::time::ZERO.to_owned(),
            digest: String::new(),
            dependencies: None,
        }
    }
}

/// Go's decoder takes `null` for "leave as it is".
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

impl Metadata {
    /// Whether the chart only lends definitions to others. Case does not count.
    pub fn is_library(&self) -> bool {
        self.chart_type.eq_ignore_ascii_case("library")
    }
}
