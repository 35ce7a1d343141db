#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod constraint;
mod reason;
mod satisfies;
mod version;

pub use constraint::{Constraint, ConstraintError, MAX_CONSTRAINT_GROUPS, MAX_CONSTRAINT_LEN};
pub use reason::{Reason, ReasonKind};
pub use satisfies::{SatisfiesError, UNVERSIONED, satisfies};
pub use version::{Detail, MAX_VERSION_LEN, SegmentError, Version, VersionError};
