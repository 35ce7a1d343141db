#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

#[cfg(feature = "cluster")]
mod apply;
mod beside;
mod capabilities;
mod chart;
#[cfg(feature = "cluster")]
mod clock;
#[cfg(feature = "cluster")]
mod cluster;
mod dependencies;
mod dependency_list;
mod go;
#[cfg(feature = "cluster")]
mod guard;
#[cfg(feature = "cluster")]
mod helm;
mod hook;
mod lint;
mod lock;
mod manifest;
mod name;
#[cfg(feature = "cluster")]
mod objects;
#[cfg(feature = "cluster")]
mod operation;
#[cfg(feature = "cluster")]
mod plan;
#[cfg(feature = "cluster")]
mod progress;
#[cfg(feature = "cluster")]
mod readiness;
#[cfg(feature = "cluster")]
mod release;
mod render;
mod schema;
mod show;
#[cfg(feature = "cluster")]
mod storage;
mod values;
mod version;

pub use capabilities::{Capabilities, HELM_VERSION, HelmVersion, KubeVersion, KubeVersionError};
pub use chart::{
    ArchiveTimes, Chart, ChartError, ChartFile, ChartLimits, CrdFile, Dependency, IgnoreRules,
    Lock, Maintainer, Metadata, PackageError, PackageOptions, SaveError, package,
};
pub use dependencies::process_dependencies;
pub use dependency_list::{DependencyList, DependencyState, list_dependencies};
pub use go::json::to_go_json;
pub use hook::{
    DeletePolicy, HOOK_ANNOTATION, HOOK_DELETE_ANNOTATION, HOOK_OUTPUT_LOG_ANNOTATION,
    HOOK_WEIGHT_ANNOTATION, Hook, HookEvent, HookExecution, HookPhase, OutputLogPolicy,
};
pub use kubepkg_gotemplate::{Env, GoString, SeededEnv};
pub use lint::{
    LintError, LintMessage, LintOptions, LintReport, LintedChart, Severity, charts_below, lint,
    lint_all,
};
pub use lock::{
    OfferError, OfferedVersion, Offers, Origin, ResolveContext, ResolveError, local_folder,
    lock_digest, lock_digest_v2, resolve,
};
pub use manifest::{
    Document, DocumentError, Head, HeadMetadata, KindOrder, Manifest, ResourcePolicy, Sorted,
    sort_manifests, split_manifests,
};
pub use name::{NameError, validate_object_name, validate_release_name};
pub use render::{
    Lookup, LookupError, NoLookup, NoSuchTemplate, POST_RENDER_ANNOTATION, PostRender,
    PostRenderError, PostRenderStrategy, PostRenderer, ReleaseFacts, RenderError, RenderLimits,
    RenderOptions, Rendered, RenderedObject, TemplateOutput, TemplatePlace, TextOptions,
    check_installable, render, render_errors, render_templates,
};
pub use schema::{validate_against_schema, validate_values};
pub use show::{JsonPath, JsonPathError, ShowPart, show, show_values_at};
pub use values::{
    Coalesced, SetError, ValueSources, Values, ValuesError, coalesce_tables, coalesce_values,
    merge_values, set, set_file, set_json, set_literal, set_string,
};

#[cfg(feature = "cluster")]
pub use apply::ApplyError;
#[cfg(feature = "cluster")]
pub use clock::{Clock, SystemClock};
#[cfg(feature = "cluster")]
pub use cluster::{ApiError, Changes, Cluster, ClusterLookup, Discovery, ResourceKind};
#[cfg(feature = "cluster")]
pub use guard::{
    Foreign, MANAGED_BY, MANAGED_BY_LABEL, Mismatch, RELEASE_NAME_ANNOTATION,
    RELEASE_NAMESPACE_ANNOTATION, RESOURCE_POLICY_ANNOTATION,
};
#[cfg(feature = "cluster")]
pub use helm::{Helm, HelmOptions};
#[cfg(feature = "cluster")]
pub use objects::ManifestError;
#[cfg(feature = "cluster")]
pub use operation::{
    Advance, Change, ChangeKind, CrdPolicy, Failure, FailureReason, HookLog, InstallRequest,
    KeptBecause, KeptObject, NamespaceSpec, ObjectEvent, ObjectStatus, OnFailure, Operation,
    OperationError, Outcome, PostRendering, Preflight, ReleaseOptions, ReuseValues,
    RollbackRequest, TestRequest, Unchanged, UninstallRequest, UpgradeRequest,
};
#[cfg(feature = "cluster")]
pub use plan::{OperationKind, Step};
#[cfg(feature = "cluster")]
pub use progress::{Progress, Propagation, Wait};
#[cfg(feature = "cluster")]
pub use readiness::{AssessError, Cause, Readiness, Reading, Status, aggregate, assess, assess_as};
#[cfg(feature = "cluster")]
pub use release::{
    ApplyMethod, Info, PartSize, RecordError, RecordLimits, Release, ReleaseStatus, ReleaseTime,
};
#[cfg(feature = "cluster")]
pub use storage::{
    ConfigMaps, Memory, PROGRESS_ANNOTATION, RecordHead, Secrets, Storage, StorageError,
    StoredRelease,
};
