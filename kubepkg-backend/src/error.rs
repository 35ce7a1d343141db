//! Why a backend did nothing, or not all.
//!
//! An error says that the call can be made again; whether that helps without a change by somebody is
//! [`BackendError::is_transient`]. A component that was tried and failed is not an error but
//! [`Outcome::Failed`](crate::Outcome::Failed).

use crate::Placement;

/// Why a backend call was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// The chart could not be fetched or read.
    #[error("chart {chart}")]
    Chart {
        /// Repository, name and version.
        chart: String,
        /// Trying again can help.
        transient: bool,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The release exists and belongs to somebody else; it was not touched.
    #[error("release {placement} exists and {why}")]
    Foreign {
        /// The release.
        placement: Placement,
        /// Whose it is, as far as can be told.
        why: String,
    },
    /// The revision to roll back to is not in the backend's history; nothing was changed.
    #[error("release {placement} no longer has revision {revision} in its history")]
    RevisionGone {
        /// The release.
        placement: Placement,
        /// The revision asked for.
        revision: u64,
    },
    /// The backend cannot do what was asked.
    #[error("backend {backend} cannot {what}")]
    Unsupported {
        /// The backend.
        backend: String,
        /// What was asked.
        what: String,
    },
    /// The cluster or another party did not answer as needed; trying again can help.
    #[error("{what}: {message}")]
    Unavailable {
        /// What was being done, to which object.
        what: String,
        /// The answer.
        message: String,
    },
    /// The cluster refused for good, for example for want of permission.
    #[error("{what}: {message}")]
    Refused {
        /// What was being done, to which object.
        what: String,
        /// The answer.
        message: String,
    },
}

impl BackendError {
    /// Whether the same call can succeed later without anybody changing package, source or permissions.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Chart { transient, .. } => *transient,
            Self::Unavailable { .. } => true,
            Self::Foreign { .. }
            | Self::RevisionGone { .. }
            | Self::Unsupported { .. }
            | Self::Refused { .. } => false,
        }
    }
}
