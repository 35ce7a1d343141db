//! What rendering gives.

use serde_json::Value;

use crate::chart::{Chart, CrdFile};
use crate::hook::Hook;
use crate::manifest::Manifest;
use crate::values::Values;

/// The outcome of a rendering.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The chart after its dependencies were processed: what a release record holds.
    pub chart: Chart,
    /// The user's values as given: the record's `config`.
    pub config: Values,
    /// The values that the templates of the top chart saw.
    pub values: Values,
    /// All resources in the order of installation, byte for byte the record's `manifest`.
    pub manifest: String,
    /// Hooks, in the order in which Helm holds them.
    pub hooks: Vec<Hook>,
    /// The text of `NOTES.txt`.
    pub notes: String,
    /// Files of `crds/`, subcharts included.
    pub crds: Vec<CrdFile>,
    /// The documents of `manifest`, in its order, with their origin.
    pub objects: Vec<RenderedObject>,
    /// What was skipped or looked odd, in the order in which it was met.
    pub warnings: Vec<String>,
}

/// A document of the manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedObject {
    /// Name of the chart that it comes from (its alias, if it has one).
    pub chart: String,
    /// Path of the template, from the top chart's name.
    pub template: String,
    /// Line of the rendered template on which the document begins, from 1.
    pub line: usize,
    /// `apiVersion`, empty when there is none.
    pub api_version: String,
    /// `kind`, empty when there is none.
    pub kind: String,
    /// `metadata.name`, empty when there is none.
    pub name: String,
    /// The document as JSON; null for a document of comments only.
    pub value: Value,
    /// The document's text.
    pub text: String,
}

impl RenderedObject {
    pub(super) fn new(chart: String, manifest: Manifest) -> Self {
        Self {
            chart,
            template: manifest.path,
            line: manifest.line,
            api_version: manifest.head.api_version,
            kind: manifest.head.kind,
            name: manifest
                .head
                .metadata
                .map(|metadata| metadata.name)
                .unwrap_or_default(),
            value: manifest.value,
            text: manifest.content,
        }
    }
}
