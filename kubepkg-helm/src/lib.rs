//! A Helm SDK: charts, rendering, releases, server-side apply and readiness.
#![deny(missing_docs)]

mod capabilities;
mod chart;
mod go;
mod hook;
mod render;
mod values;

pub use capabilities::{Capabilities, HELM_VERSION, HelmVersion, KubeVersion, KubeVersionError};
pub use chart::{
    Chart, ChartError, ChartFile, ChartLimits, CrdFile, Dependency, IgnoreRules, Lock, Maintainer,
    Metadata,
};
pub use go::json::to_go_json;
pub use hook::{
    DeletePolicy, HOOK_ANNOTATION, HOOK_DELETE_ANNOTATION, HOOK_OUTPUT_LOG_ANNOTATION,
    HOOK_WEIGHT_ANNOTATION, Hook, HookEvent, HookExecution, HookPhase, OutputLogPolicy,
};
pub use render::{
    Lookup, LookupError, NoLookup, ReleaseFacts, RenderLimits, RenderOptions, Rendered,
    RenderedObject,
};
pub use values::{Values, ValuesError};
