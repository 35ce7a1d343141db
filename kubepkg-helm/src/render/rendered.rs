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
    /// Where each of the hooks comes from, in their order.
    pub hook_places: Vec<TemplatePlace>,
    /// The text of `NOTES.txt`.
    pub notes: String,
    /// Files of `crds/`, subcharts included.
    pub crds: Vec<CrdFile>,
    /// The documents of `manifest`, in its order, with their origin.
    pub objects: Vec<RenderedObject>,
    /// What was skipped or looked odd, in the order in which it was met.
    pub warnings: Vec<String>,
}

/// Where something rendered comes from. `Display` is `TEMPLATE:LINE`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplatePlace {
    /// Name of the chart (its alias, if it has one).
    pub chart: String,
    /// Path of the template, from the top chart's name.
    pub template: String,
    /// Line of the template, from 1; 0 when it is not known.
    pub line: usize,
}

impl std::fmt::Display for TemplatePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => f.write_str(&self.template),
            line => write!(f, "{}:{line}", self.template),
        }
    }
}

/// A document of the manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedObject {
    /// The template that it comes from, and the line there with which it begins: that of the `include` where
    /// another template's text begins it.
    pub place: TemplatePlace,
    /// Line of the rendered template on which the document begins, from 1.
    pub rendered_line: usize,
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
    pub(super) fn new(place: TemplatePlace, manifest: Manifest) -> Self {
        Self {
            place,
            rendered_line: manifest.line,
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
