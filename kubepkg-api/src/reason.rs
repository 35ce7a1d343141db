//! Why a condition has its status: every reason the operator writes, with its exact text (reference §1.5 to
//! §1.9).

use std::fmt;
use std::str::FromStr;

/// A text that is none of the reasons of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown reason {text:?}")]
pub struct UnknownReason {
    /// What was given.
    pub text: String,
}

macro_rules! reasons {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident => $good:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant),+
        }

        impl $name {
            /// Every reason of the kind, in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The reason as conditions carry it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant)),+
                }
            }

            /// The status of the condition that carries this reason.
            pub const fn status(self) -> bool {
                match self {
                    $(Self::$variant => $good),+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownReason;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $(stringify!($variant) => Ok(Self::$variant),)+
                    _ => Err(UnknownReason { text: text.to_owned() }),
                }
            }
        }
    };
}

reasons! {
    /// Reasons of a Package's `Ready` condition.
    PackageReason {
        /// The revision is applied and every component is ready.
        ReconciliationSucceeded => true,
        /// The package runs a revision that someone asked for.
        RolledBack => true,
        /// A revision is being applied, or something is waited for.
        Progressing => false,
        /// There is no PackageSource, and no repository is in use.
        PackageSourceNotFound => false,
        /// No repository offers a version that is wanted, or the indexes are not loaded yet.
        VersionNotAvailable => false,
        /// The PackageSource has no variant of that name.
        VariantNotFound => false,
        /// The PackageSource's version does not satisfy the Package's constraint.
        VersionMismatch => false,
        /// A requirement is missing or not ready; the message names it.
        RequirementsNotMet => false,
        /// Packages that require this one ask for different variants or values.
        ConflictingRequirements => false,
        /// An installed package matches an entry of `conflicts`, in either direction.
        Conflict => false,
        /// A CRD of the package is owned by another package.
        CRDOwnershipConflict => false,
        /// The desired state cannot be built from what is written.
        InvalidConfiguration => false,
        /// A chart cannot be fetched just now; nothing was changed, and it is tried again. Not in the design document's
        /// table: it tells a registry that is down from a configuration that is wrong (reference §10, O1).
        FetchFailed => false,
        /// The latest revision failed and was not rolled back.
        UpgradeFailed => false,
        /// The latest revision failed and the package was rolled back to the one before.
        UpgradeRolledBack => false,
        /// The revision that someone asked for could not be restored.
        RollbackFailed => false,
    }
}

reasons! {
    /// Reasons of a Repository's `Ready` condition.
    RepositoryReason {
        /// The index is loaded and accepted.
        IndexLoaded => true,
        /// The index, its signature or a root could not be fetched.
        FetchFailed => false,
        /// What was fetched is not an index or root.
        InvalidIndex => false,
        /// The index is not trusted, expired, or older than the accepted one.
        IndexRefused => false,
    }
}

reasons! {
    /// Reasons of a Cluster's `Ready` condition.
    ClusterReason {
        /// The member answers and runs kubepkg.
        Reachable => true,
        /// The member does not answer, or does not run kubepkg.
        Unreachable => false,
    }
}

reasons! {
    /// Reasons of a PackageSet's `Ready` condition.
    PackageSetReason {
        /// The selector selects nothing.
        NoClusters => false,
        /// Every package is ready in every cluster.
        AllReady => true,
        /// Some clusters are not there yet.
        Progressing => false,
    }
}

reasons! {
    /// Reasons of a PackageSet's `RolloutPaused` condition.
    RolloutReason {
        /// A cluster that took the change failed.
        ClusterFailed => true,
        /// The change goes on.
        Rolling => false,
    }
}

impl PackageReason {
    /// Whether nothing changes until someone changes an object, which kstatus calls Stalled. All other reasons
    /// that are not ready are looked at again by themselves.
    pub const fn is_stalled(self) -> bool {
        matches!(
            self,
            Self::PackageSourceNotFound
                | Self::VariantNotFound
                | Self::VersionMismatch
                | Self::Conflict
                | Self::CRDOwnershipConflict
                | Self::InvalidConfiguration
                | Self::RollbackFailed
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_reasons_agree() {
        for reason in PackageReason::ALL {
            assert_eq!(reason.as_str().parse(), Ok(*reason));
        }
        assert_eq!(PackageReason::ALL.len(), 16);
        assert_eq!(
            PackageReason::CRDOwnershipConflict.to_string(),
            "CRDOwnershipConflict"
        );
        assert_eq!(
            "Nope".parse::<RepositoryReason>(),
            Err(UnknownReason {
                text: "Nope".into()
            })
        );
    }

    #[test]
    fn two_reasons_of_a_package_are_good() {
        let good: Vec<PackageReason> = PackageReason::ALL
            .iter()
            .copied()
            .filter(|reason| reason.status())
            .collect();
        assert_eq!(
            good,
            [
                PackageReason::ReconciliationSucceeded,
                PackageReason::RolledBack
            ]
        );
        assert!(good.iter().all(|reason| !reason.is_stalled()));
        assert!(
            !PackageReason::UpgradeFailed.is_stalled(),
            "a failure is tried again"
        );
    }
}
