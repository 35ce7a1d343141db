#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod capability;
mod chain;
mod cluster;
mod component;
mod desired;
mod digest;
mod duration;
mod group;
mod guard;
mod kind;
mod location;
mod name;
mod package;
mod package_set;
mod pattern;
mod repository;
mod requirement;
mod revision;
mod schema;
mod serial;
mod source;

pub mod canonical;
pub mod condition;
pub mod crd;
pub mod keys;
pub mod reason;

pub use capability::{Capability, GroupVersion, InvalidCapability};
pub use chain::chain;
pub use cluster::{Cluster, ClusterSpec, ClusterStatus, DEFAULT_KUBECONFIG_KEY, SecretKeyRef};
pub use component::{
    ChartRef, Component, HealthCheckExpr, Install, InstallPhase, ONE_CHART_RULE, ReadyWhen,
    TREE_ONLY_RULE, UpgradeCrds, WaitStrategy,
};
pub use kubepkg_resolve::{Constraint, UNVERSIONED, Version};

pub use desired::{Desired, set_change, spec_digest, values_digest};
pub use digest::{Digest, InvalidDigest};
pub use duration::{GoDuration, InvalidDuration, POSITIVE_DURATION_RULE};
pub use group::{ApiGroup, DEFAULT_GROUP, DEPRECATED_VERSIONS, InvalidGroup, VERSION};
pub use guard::{Guarded, InvalidObject};
pub use kind::Kind;
pub use location::{ChartRepository, InvalidLocation, OciUrl};
pub use name::{InvalidName, PackageName};
pub use package::{
    ComponentOverride, CrdPolicy, DEFAULT_REVISION_HISTORY_LIMIT, DEFAULT_UPGRADE_TIMEOUT,
    DependencyStatus, HistoryEntry, NAME_LENGTH_RULE, Package, PackageSpec, PackageStatus, Retry,
    STATUS_HISTORY_LIMIT, Upgrade,
};
pub use package_set::{
    PackageSet, PackageSetSpec, PackageSetStatus, Rollout, SetCluster, SetPackage, SetRepository,
};
pub use reason::{
    ClusterReason, PackageReason, PackageSetReason, RepositoryReason, RolloutReason, UnknownReason,
};
pub use repository::{
    DEFAULT_INTERVAL, Repository, RepositorySpec, RepositoryStatus, THRESHOLD_RULE, Trust,
};
pub use requirement::{
    InvalidRequirement, ONE_REQUIREMENT_RULE, Required, Requirement, SHAPED_MEMBER_RULE,
};
pub use revision::{
    IMMUTABLE_RULE, PackageRevision, PackageRevisionSpec, PackageRevisionStatus, Phase,
    RevisionComponent, RevisionComponentStatus, revision_name,
};
pub use schema::Rule;
pub use source::{
    DEFAULT_VARIANT, Library, PackageSource, PackageSourceSpec, PackageSourceStatus, Permissions,
    PolicyRule, Rollback, SOURCE_REF_RULE, SourceKind, SourceRef, Variant,
};
