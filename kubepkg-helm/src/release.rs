//! Release records: what Helm 4 keeps about every revision of a release, in a Secret of its own, so that
//! `helm list`, `helm history`, `helm rollback` and this crate can take turns on one release. A record that
//! can't be read is reported with Helm's text and never overwritten.
//! Source of the rules: Helm 4.3.1 `pkg/release/v1`, `pkg/storage/driver/secrets.go` and `util.go`.

mod codec;
mod gojson;
mod record;
pub(crate) mod secret;
mod shape;
mod status;
mod time;

pub use codec::RecordLimits;
pub use record::{ApplyMethod, Info, PartSize, RecordError, Release};
pub use status::ReleaseStatus;
pub use time::ReleaseTime;

pub(crate) use secret::check_labels;
