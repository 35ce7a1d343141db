//! The statuses of a release, as records and labels hold them.
//! Source of the rules: Helm 4.3.1 `pkg/release/common/status.go`.

/// Where a revision of a release stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReleaseStatus {
    /// Not known.
    #[default]
    Unknown,
    /// Installed and the newest good revision.
    Deployed,
    /// Removed, with its history kept.
    Uninstalled,
    /// Replaced by a newer revision.
    Superseded,
    /// Its operation failed.
    Failed,
    /// Being removed.
    Uninstalling,
    /// Being installed.
    PendingInstall,
    /// Being upgraded.
    PendingUpgrade,
    /// Being rolled back.
    PendingRollback,
    /// A word that Helm 4.3.1 does not know.
    Other(String),
}

impl ReleaseStatus {
    /// The word in records and labels.
    pub fn as_str(&self) -> &str {
        match self {
            ReleaseStatus::Unknown => "unknown",
            ReleaseStatus::Deployed => "deployed",
            ReleaseStatus::Uninstalled => "uninstalled",
            ReleaseStatus::Superseded => "superseded",
            ReleaseStatus::Failed => "failed",
            ReleaseStatus::Uninstalling => "uninstalling",
            ReleaseStatus::PendingInstall => "pending-install",
            ReleaseStatus::PendingUpgrade => "pending-upgrade",
            ReleaseStatus::PendingRollback => "pending-rollback",
            ReleaseStatus::Other(word) => word,
        }
    }

    /// True while an install, upgrade or rollback is under way.
    pub fn is_pending(&self) -> bool {
        matches!(
            self,
            ReleaseStatus::PendingInstall
                | ReleaseStatus::PendingUpgrade
                | ReleaseStatus::PendingRollback
        )
    }
}

impl From<&str> for ReleaseStatus {
    fn from(word: &str) -> Self {
        match word {
            "unknown" => ReleaseStatus::Unknown,
            "deployed" => ReleaseStatus::Deployed,
            "uninstalled" => ReleaseStatus::Uninstalled,
            "superseded" => ReleaseStatus::Superseded,
            "failed" => ReleaseStatus::Failed,
            "uninstalling" => ReleaseStatus::Uninstalling,
            "pending-install" => ReleaseStatus::PendingInstall,
            "pending-upgrade" => ReleaseStatus::PendingUpgrade,
            "pending-rollback" => ReleaseStatus::PendingRollback,
            other => ReleaseStatus::Other(other.to_owned()),
        }
    }
}

impl std::fmt::Display for ReleaseStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
