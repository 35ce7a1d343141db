//! Keys of annotations, labels, finalizers and condition types: exact strings (reference §1.8).
//!
//! They stay `kubepkg.dev/...` under every API group, with the one exception of [`privileged`].

use crate::group::ApiGroup;

/// On a CRD: the package that owns it.
pub const OWNED_BY: &str = "kubepkg.dev/owned-by";
/// On a Package: decimal number of the revision to apply again; the operator removes it when it is handled.
pub const ROLLBACK_TO: &str = "kubepkg.dev/rollback-to";
/// On a PackageRevision: `"true"` when someone asked for this restored state.
pub const ROLLBACK_REQUESTED: &str = "kubepkg.dev/rollback-requested";
/// On a Package: any value; another value is another desired state, so a failed revision is tried again at once.
pub const RETRY: &str = "kubepkg.dev/retry";
/// On a Package: `"true"` lets the next revision take over existing objects; removed once a revision applied.
pub const ADOPT: &str = "kubepkg.dev/adopt";
/// On a Package: why the CLI installed it (`required by virtualization 1.0.0`).
pub const DEPENDENCY: &str = "kubepkg.dev/dependency";
/// On a PackageRevision: digest of the desired state it was made from.
pub const DESIRED_DIGEST: &str = "kubepkg.dev/desired-digest";
/// On a PackageRevision: `"true"` once its pre-upgrade hooks succeeded.
pub const HOOKS_DONE: &str = "kubepkg.dev/hooks-done";
/// On a PackageSource: `"true"` keeps platform values away from the package.
pub const SKIP_PLATFORM_VALUES: &str = "kubepkg.dev/skip-platform-values";
/// On a release: comma-joined values files.
pub const VALUES_FILES: &str = "kubepkg.dev/values-files";
/// On a PackageSource from a repository: digest of the index entry it came from.
pub const SPEC_DIGEST: &str = "kubepkg.dev/spec-digest";
/// On a recipe or PackageSource: what the package is.
pub const DESCRIPTION: &str = "kubepkg.dev/description";
/// On a recipe or PackageSource: where the package's own site is.
pub const HOME: &str = "kubepkg.dev/home";
/// On a PackageSource: JSON list of signatures by delegated keys.
pub const SIGNATURES: &str = "kubepkg.dev/signatures";
/// On a member's Package or Repository: the change of its set that it carries.
pub const PACKAGE_SET_CHANGE: &str = "kubepkg.dev/package-set-change";
/// On a Namespace: `privileged` when kubepkg set that pod security level.
pub const POD_SECURITY: &str = "kubepkg.dev/pod-security";
/// On a Repository: any value, such as a time; another value asks for a fetch.
pub const REQUESTED_AT: &str = "kubepkg.dev/requested-at";

/// Label on revisions, releases and objects of backends: the package.
pub const PACKAGE_LABEL: &str = "kubepkg.dev/package";
/// Label on a PackageSource: the repository it came from; its absence means hand-written.
pub const REPOSITORY_LABEL: &str = "kubepkg.dev/repository";
/// Label on a member's Package or Repository: the set that owns it.
pub const PACKAGE_SET_LABEL: &str = "kubepkg.dev/package-set";
/// Label on a Namespace: `warn` or `enforce`.
pub const IMAGE_POLICY_LABEL: &str = "kubepkg.dev/image-policy";
/// Kubernetes' own label on a Namespace for its pod security level.
pub const POD_SECURITY_ENFORCE_LABEL: &str = "pod-security.kubernetes.io/enforce";
/// Helm's annotation that keeps an object when its release goes.
pub const HELM_RESOURCE_POLICY: &str = "helm.sh/resource-policy";
/// The value of [`HELM_RESOURCE_POLICY`] that keeps.
pub const HELM_KEEP: &str = "keep";

/// Finalizer on a Package: what it installed is removed first.
pub const CLEANUP_FINALIZER: &str = "kubepkg.dev/cleanup";
/// Finalizer on a PackageSet: what it wrote is removed first.
pub const PACKAGE_SET_CLEANUP_FINALIZER: &str = "kubepkg.dev/package-set-cleanup";

/// Condition: the object is as wanted, with a reason of [`reason`](crate::reason).
pub const READY: &str = "Ready";
/// Condition, as kstatus reads it: True while the operator works towards the wanted state.
pub const RECONCILING: &str = "Reconciling";
/// Condition, as kstatus reads it: True when the operator cannot go on until someone changes something.
pub const STALLED: &str = "Stalled";
/// Condition of a PackageSet: True while its rollout is stopped after a failure.
pub const ROLLOUT_PAUSED: &str = "RolloutPaused";

/// Label on a release whose namespace is privileged, `<group>/privileged`: the one key that follows the group.
pub fn privileged(group: &ApiGroup) -> String {
    format!("{group}/privileged")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_privileged_label_follows_the_group() {
        let group = ApiGroup::new("packages.example.org").unwrap();
        assert_eq!(privileged(&group), "packages.example.org/privileged");
        assert_eq!(PACKAGE_LABEL, "kubepkg.dev/package");
    }
}
