//! Why a chart could not be rendered. The words are Helm's where Helm refuses the same.

use kubepkg_gotemplate::LimitExceeded;

use crate::go::text::quote;
use crate::manifest::DocumentError;
use crate::name::NameError;
use crate::values::ValuesError;

/// A rendering that failed. `Display` is the whole sentence, causes included, as Helm prints it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The chart has a format that nobody can install.
    #[error("unsupported chart version")]
    ApiVersion {
        /// The chart's `apiVersion`.
        found: String,
    },
    /// The chart has the format `v3`, which Helm 4.3.1 knows but does not install.
    #[error("invalid chart apiVersion")]
    UnstableApiVersion,
    /// The chart is a library.
    #[error("{chart_type} charts are not installable")]
    NotInstallable {
        /// Its type.
        chart_type: String,
    },
    /// Declared dependencies are not below `charts/`.
    #[error(
        "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to \
         fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: {}",
        names.join(", ")
    )]
    MissingDependencies {
        /// Their names.
        names: Vec<String>,
    },
    /// The release can't have this name.
    #[error("release name check failed: release name {}: {source}", quote(name))]
    ReleaseName {
        /// The name.
        name: String,
        /// Why not.
        source: NameError,
    },
    /// Dependencies could not be processed.
    #[error("chart dependencies processing failed: {source}")]
    Dependencies {
        /// Why not.
        source: ValuesError,
    },
    /// Values don't fit together.
    #[error(transparent)]
    Values(#[from] ValuesError),
    /// Values are not what the chart's schema asks for.
    #[error(
        "values don't meet the specifications of the schema(s) in the following chart(s):\n{message}"
    )]
    Schema {
        /// One block for each chart that complains.
        message: String,
    },
    /// The chart wants another cluster.
    #[error(
        "chart requires kubeVersion: {constraint} which is incompatible with Kubernetes {version}"
    )]
    KubeVersion {
        /// What it wants.
        constraint: String,
        /// What there is.
        version: String,
    },
    /// A template can't be parsed.
    #[error("{message}")]
    Parse {
        /// Path of the template, from the top chart's name.
        template: String,
        /// Line, from 1.
        line: usize,
        /// Helm's sentence, place included.
        message: String,
    },
    /// A template failed.
    #[error("{message}")]
    Execute {
        /// Path of the template that was being rendered, from the top chart's name.
        template: String,
        /// Line in it, from 1; 0 when it is not known.
        line: usize,
        /// Column in it in bytes, from 0 as Go counts.
        column: usize,
        /// Helm's sentence, places included.
        message: String,
    },
    /// A template used up what rendering may cost.
    #[error("rendering {template} was stopped: {source}")]
    Limit {
        /// Path of the template that was being rendered.
        template: String,
        /// Which limit.
        source: LimitExceeded,
    },
    /// What a template wrote is no YAML, or no object.
    #[error(transparent)]
    Manifest(#[from] DocumentError),
    /// A post-renderer failed, or what it gave can't be read.
    #[error("error while running post render on {what}: {message}")]
    PostRender {
        /// `files`, `hooks` or `manifests`.
        what: &'static str,
        /// Why.
        message: String,
    },
    /// More documents than the limit.
    #[error("chart renders more than {limit} documents")]
    TooManyDocuments {
        /// The limit.
        limit: usize,
    },
    /// The machine gave no random bytes.
    #[error("no source of randomness")]
    NoRandomness,
}
