//! Times in release records, as Go's `time.Time` writes them in JSON.

use jiff::Timestamp;

use crate::go::time::ZERO;

/// A time of a release record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseTime(String);

impl ReleaseTime {
    /// The instant; none for a year that `jiff` cannot hold.
    pub fn timestamp(&self) -> Option<Timestamp> {
        self.0.parse().ok()
    }

    /// The text as it stands in the record.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A text that already has the record's form; the zero time is none.
    pub(crate) fn from_record(text: &str) -> Option<Self> {
        (text != ZERO && !text.is_empty()).then(|| Self(text.to_owned()))
    }
}

impl From<Timestamp> for ReleaseTime {
    fn from(instant: Timestamp) -> Self {
        Self(instant.to_string())
    }
}

impl std::fmt::Display for ReleaseTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
