//! What a plane is made of: controllers, users, flags.
//!
//! The defaults are what a user's cluster has, minus a real scheduler and kubelet: the flags of
//! the programs are left alone unless loopback demands otherwise.

use std::path::PathBuf;
use std::time::Duration;

/// The controllers without which namespaces never go and owners are not followed.
const BASE: &[&str] = &[
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
];
/// Tokens, the root certificate in each namespace, aggregated roles.
const IDENTITY: &[&str] = &[
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
];
/// Workloads.
const WORKLOADS: &[&str] = &[
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "cronjob-controller",
    "endpoints-controller",
    "endpointslice-controller",
    "disruption-controller",
    "pod-garbage-collector-controller",
    "ttl-after-finished-controller",
];
/// Claims. Without the two protection controllers a namespace with a claim never goes, because
/// admission adds their finalizers whether they run or not.
const STORAGE: &[&str] = &[
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
];

/// Which controllers of kube-controller-manager run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Controllers {
    /// None: kube-controller-manager is not started. Namespaces are never removed, and nothing
    /// can run in them, for want of a `default` ServiceAccount.
    None,
    /// Namespaces, garbage collection, ServiceAccounts.
    Base,
    /// Everything that packages and their workloads need.
    #[default]
    Workloads,
    /// These, by the names that kube-controller-manager uses.
    Only(Vec<String>),
}

impl Controllers {
    /// The value of `--controllers`, or `None` when the program is not wanted.
    pub(crate) fn flag(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Base => Some(BASE.join(",")),
            Self::Workloads => Some([BASE, IDENTITY, WORKLOADS, STORAGE].concat().join(",")),
            Self::Only(names) => Some(names.join(",")),
        }
    }

    /// Whether a `default` ServiceAccount appears in a new namespace.
    pub(crate) fn makes_service_accounts(&self) -> bool {
        match self {
            Self::None => false,
            Self::Base | Self::Workloads => true,
            Self::Only(names) => names
                .iter()
                .any(|name| name == "serviceaccount-controller" || name == "*"),
        }
    }
}

/// How a plane is started; [`Options::default`] suits most tests.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The controllers to run.
    pub controllers: Controllers,
    /// Whether the sandbox plays node and pods. Without it pods stay `Pending`.
    pub pods: bool,
    /// Users with a token and the group `system:masters`, in addition to
    /// [`Options::WELL_KNOWN_USERS`].
    pub users: Vec<String>,
    /// Whether the audit log carries request bodies (level `Request` instead of `Metadata`).
    pub audit_bodies: bool,
    /// More flags for kube-apiserver.
    pub api_server_flags: Vec<String>,
    /// The working folder. `None` makes one below the system's temporary folder and removes it
    /// at the end; a given folder is emptied of an earlier plane first, and stays.
    pub folder: Option<PathBuf>,
    /// The port to try first. `None`, or a port that is taken, means any free one.
    pub first_port: Option<u16>,
    /// How long the start may take.
    pub ready_within: Duration,
}

impl Options {
    /// The users that every plane has. `admin` is the one of [`ControlPlane::client`]; the others
    /// exist so that the audit log tells clients apart.
    ///
    /// [`ControlPlane::client`]: crate::ControlPlane::client
    pub const WELL_KNOWN_USERS: &'static [&'static str] =
        &["admin", "helm", "kubectl", "kubepkg", "operator", "test"];

    /// Sets the controllers.
    #[must_use]
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
        self
    }

    /// Adds a user.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>) -> Self {
        self.users.push(name.into());
        self
    }

    /// Leaves pods `Pending`: no node, nothing is bound, nothing runs.
    #[must_use]
    pub fn without_pods(mut self) -> Self {
        self.pods = false;
        self
    }

    /// Records request bodies in the audit log.
    #[must_use]
    pub fn audit_bodies(mut self) -> Self {
        self.audit_bodies = true;
        self
    }

    /// Sets the working folder.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            controllers: Controllers::default(),
            pods: true,
            users: Vec::new(),
            audit_bodies: false,
            api_server_flags: Vec::new(),
            folder: None,
            first_port: None,
            ready_within: Duration::from_mins(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protection_controllers_run_wherever_workloads_do() {
        let flag = Controllers::default().flag().unwrap();
        assert!(flag.starts_with("namespace-controller,garbage-collector-controller,"));
        assert!(flag.contains("persistentvolumeclaim-protection-controller"));
        assert_eq!(flag.split(',').count(), 20);
    }

    #[test]
    fn no_controllers_means_no_program() {
        assert_eq!(Controllers::None.flag(), None);
        assert!(!Controllers::None.makes_service_accounts());
    }
}
