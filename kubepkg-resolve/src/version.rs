//! One version: read leniently or strictly, compared, counted up.
//!
//! The rules are those of Masterminds semver v3.5.0, which Helm uses: missing parts are 0, a
//! lower-case `v` may lead, leading zeros are dropped where the lenient reader meets them, and
//! the text that was read is kept. Build metadata never counts. Longer than 256 bytes is refused.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// Longest version text, in bytes.
pub const MAX_VERSION_LEN: usize = 256;

/// Why a text is no version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionError {
    /// Nothing to read.
    #[error("version string empty")]
    Empty,
    /// More than [`MAX_VERSION_LEN`] bytes.
    #[error("version string is too long (max {MAX_VERSION_LEN} bytes)")]
    TooLong,
    /// Not the shape of a version.
    #[error("invalid semantic version")]
    Invalid,
    /// A part that must be a number has other characters.
    #[error("invalid characters in version")]
    InvalidCharacters,
    /// A number with a leading zero.
    #[error("version segment starts with 0")]
    SegmentStartsZero,
    /// A pre-release with an empty part or a character that is not allowed.
    #[error("invalid prerelease string")]
    InvalidPrerelease,
    /// Metadata with an empty part or a character that is not allowed.
    #[error("invalid metadata string")]
    InvalidMetadata,
    /// A number above 2^64 - 1.
    #[error("error parsing version segment: {0}")]
    Segment(SegmentError),
    /// A number above 2^64 - 1 or none at all, found by strict reading.
    #[error("{0}")]
    StrictSegment(SegmentError),
}

/// A segment that does not fit 64 bits, in the words of Go's `strconv`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("strconv.ParseUint: parsing \"{segment}\": {}", if segment.is_empty() { "invalid syntax" } else { "value out of range" })]
pub struct SegmentError {
    /// The digits; empty where there are none.
    pub segment: String,
}

/// How much [`Version::parse_uncoerced`] tells about a text that it refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What exactly is wrong.
    Full,
    /// Only that it is no version.
    Brief,
}

/// A semantic version with the text that it was read from.
///
/// Equality and order ignore metadata and the original text: `v1.2`, `1.2.0` and `1.2.0+x` are
/// equal. A pre-release is lower than its release; its parts compare as numbers where both are
/// numbers that fit 64 bits, else as text, numbers first.
#[derive(Debug, Clone)]
pub struct Version {
    major: u64,
    minor: u64,
    patch: u64,
    pre: String,
    metadata: String,
    original: String,
}

/// The parts of `v?N(.N)?(.N)?(-pre)?(+metadata)?`.
struct Loose<'a> {
    segments: [Option<&'a str>; 3],
    pre: &'a str,
    metadata: &'a str,
}

/// Length of the dot-separated identifiers that `text` begins with.
pub(crate) fn identifiers(text: &str) -> usize {
    let mut end = 0;
    loop {
        let rest = text.as_bytes().get(end..).unwrap_or_default();
        let (dot, rest) = match rest {
            [b'.', rest @ ..] if end > 0 => (1, rest),
            _ if end > 0 => return end,
            _ => (0, rest),
        };
        let word = rest
            .iter()
            .take_while(|&&byte| byte.is_ascii_alphanumeric() || byte == b'-')
            .count();
        if word == 0 {
            return end;
        }
        end += dot + word;
    }
}

/// Takes `mark` and the identifiers after it, if both are there. Gives them without the mark.
pub(crate) fn take_suffix<'a>(rest: &mut &'a str, mark: char) -> &'a str {
    let Some(text) = rest.strip_prefix(mark) else {
        return "";
    };
    let (suffix, tail) = text
        .split_at_checked(identifiers(text))
        .unwrap_or((text, ""));
    if !suffix.is_empty() {
        *rest = tail;
    }
    suffix
}

fn loose(text: &str) -> Option<Loose<'_>> {
    let mut rest = text.strip_prefix('v').unwrap_or(text);
    let mut segments = [None; 3];
    for (index, segment) in segments.iter_mut().enumerate() {
        let body = if index == 0 {
            Some(rest)
        } else {
            rest.strip_prefix('.')
        };
        let Some(body) = body else { break };
        let digits = body.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = body.split_at_checked(digits)?;
        if number.is_empty() {
            return None;
        }
        *segment = Some(number);
        rest = tail;
    }
    let pre = take_suffix(&mut rest, '-');
    let metadata = take_suffix(&mut rest, '+');
    rest.is_empty().then_some(Loose {
        segments,
        pre,
        metadata,
    })
}

fn number(segment: &str) -> Result<u64, SegmentError> {
    segment.parse().map_err(|_| SegmentError {
        segment: segment.to_owned(),
    })
}

fn starts_zero(number: &str) -> bool {
    number.len() > 1 && number.starts_with('0')
}

fn is_identifier(part: &str) -> bool {
    !part.is_empty()
        && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn check_pre(pre: &str) -> Result<(), VersionError> {
    for part in pre.split('.') {
        if !is_identifier(part) {
            return Err(VersionError::InvalidPrerelease);
        }
        if part.bytes().all(|byte| byte.is_ascii_digit()) && starts_zero(part) {
            return Err(VersionError::SegmentStartsZero);
        }
    }
    Ok(())
}

fn check_metadata(metadata: &str) -> Result<(), VersionError> {
    if metadata.split('.').all(is_identifier) {
        Ok(())
    } else {
        Err(VersionError::InvalidMetadata)
    }
}

impl Version {
    /// Reads a version leniently: `1`, `v1.2`, `01.2.3`. For constraints, charts and cluster data.
    /// Masterminds' `NewVersion`.
    ///
    /// # Errors
    /// A text of another shape, a number above 64 bits, a leading zero in a pre-release number.
    pub fn parse(text: &str) -> Result<Version, VersionError> {
        if text.len() > MAX_VERSION_LEN {
            return Err(VersionError::TooLong);
        }
        let parts = loose(text).ok_or(VersionError::Invalid)?;
        let mut numbers = [0; 3];
        for (number_out, segment) in numbers.iter_mut().zip(parts.segments) {
            if let Some(segment) = segment {
                *number_out = number(segment).map_err(VersionError::Segment)?;
            }
        }
        if !parts.pre.is_empty() {
            check_pre(parts.pre)?;
        }
        Ok(Version::from_parts(
            numbers,
            parts.pre,
            parts.metadata,
            text,
        ))
    }

    /// Reads a version that may lack parts but has no leading zeros. Masterminds' `NewVersion`
    /// with `CoerceNewVersion` off.
    ///
    /// # Errors
    /// As [`Version::parse`], and leading zeros.
    pub fn parse_uncoerced(text: &str, detail: Detail) -> Result<Version, VersionError> {
        if text.len() > MAX_VERSION_LEN {
            return Err(VersionError::TooLong);
        }
        let parts = loose(text).ok_or(VersionError::Invalid)?;
        let shape = check_pre(if parts.pre.is_empty() { "a" } else { parts.pre });
        let mut segments = parts.segments.into_iter().flatten();
        if detail == Detail::Brief && (shape.is_err() || segments.any(starts_zero)) {
            return Err(VersionError::Invalid);
        }
        for segment in parts.segments.into_iter().flatten() {
            if starts_zero(segment) {
                return Err(VersionError::SegmentStartsZero);
            }
            number(segment).map_err(VersionError::Segment)?;
        }
        shape?;
        Version::parse(text)
    }

    /// Reads a version that is semantic to the letter: `X.Y.Z`, no `v`. Masterminds'
    /// `StrictNewVersion`.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse_strict(text: &str) -> Result<Version, VersionError> {
        if text.is_empty() {
            return Err(VersionError::Empty);
        }
        if text.len() > MAX_VERSION_LEN {
            return Err(VersionError::TooLong);
        }
        let mut split = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (split.next(), split.next(), split.next())
        else {
            return Err(VersionError::Invalid);
        };
        let (rest, metadata) = match rest.split_once('+') {
            Some((rest, metadata)) => {
                check_metadata(metadata)?;
                (rest, metadata)
            }
            None => (rest, ""),
        };
        let (patch, pre) = match rest.split_once('-') {
            Some((patch, pre)) => {
                check_pre(pre)?;
                (patch, pre)
            }
            None => (rest, ""),
        };
        let segments = [major, minor, patch];
        for segment in segments {
            if !segment.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(VersionError::InvalidCharacters);
            }
            if starts_zero(segment) {
                return Err(VersionError::SegmentStartsZero);
            }
        }
        let mut numbers = [0; 3];
        for (number_out, segment) in numbers.iter_mut().zip(segments) {
            *number_out = number(segment).map_err(VersionError::StrictSegment)?;
        }
        Ok(Version::from_parts(numbers, pre, metadata, text))
    }

    /// Reads a version as indexes and recipes must write it: strict after one optional `v`
    /// (reference section 5.1).
    ///
    /// # Errors
    /// As [`Version::parse_strict`].
    pub fn parse_published(text: &str) -> Result<Version, VersionError> {
        let mut version = Version::parse_strict(text.strip_prefix('v').unwrap_or(text))?;
        text.clone_into(&mut version.original);
        Ok(version)
    }

    fn from_parts(
        [major, minor, patch]: [u64; 3],
        pre: &str,
        metadata: &str,
        original: &str,
    ) -> Version {
        Version {
            major,
            minor,
            patch,
            pre: pre.to_owned(),
            metadata: metadata.to_owned(),
            original: original.to_owned(),
        }
    }

    /// The first number.
    pub fn major(&self) -> u64 {
        self.major
    }

    /// The second number.
    pub fn minor(&self) -> u64 {
        self.minor
    }

    /// The third number.
    pub fn patch(&self) -> u64 {
        self.patch
    }

    /// What stands after `-`; empty for a release.
    pub fn prerelease(&self) -> &str {
        &self.pre
    }

    /// Whether it is a pre-release.
    pub fn is_prerelease(&self) -> bool {
        !self.pre.is_empty()
    }

    /// What stands after `+`.
    pub fn metadata(&self) -> &str {
        &self.metadata
    }

    /// The text that was read.
    pub fn original(&self) -> &str {
        &self.original
    }

    /// The next patch release; of a pre-release, its release. `None` where the number is the
    /// greatest possible.
    #[must_use]
    pub fn next_patch(&self) -> Option<Version> {
        let patch = if self.is_prerelease() {
            self.patch
        } else {
            self.patch.checked_add(1)?
        };
        Some(self.renewed([self.major, self.minor, patch], "", ""))
    }

    /// The next minor release. `None` where the number is the greatest possible.
    #[must_use]
    pub fn next_minor(&self) -> Option<Version> {
        Some(self.renewed([self.major, self.minor.checked_add(1)?, 0], "", ""))
    }

    /// The next major release. `None` where the number is the greatest possible.
    #[must_use]
    pub fn next_major(&self) -> Option<Version> {
        Some(self.renewed([self.major.checked_add(1)?, 0, 0], "", ""))
    }

    /// The same version with another pre-release, none if `pre` is empty.
    ///
    /// # Errors
    /// A text that is no pre-release.
    pub fn with_prerelease(&self, pre: &str) -> Result<Version, VersionError> {
        if !pre.is_empty() {
            check_pre(pre)?;
        }
        Ok(self.renewed([self.major, self.minor, self.patch], pre, &self.metadata))
    }

    /// The same version with other metadata, none if `metadata` is empty.
    ///
    /// # Errors
    /// A text that is no metadata.
    pub fn with_metadata(&self, metadata: &str) -> Result<Version, VersionError> {
        if !metadata.is_empty() {
            check_metadata(metadata)?;
        }
        Ok(self.renewed([self.major, self.minor, self.patch], &self.pre, metadata))
    }

    /// A version with new parts; its original text keeps the leading `v`.
    fn renewed(&self, numbers: [u64; 3], pre: &str, metadata: &str) -> Version {
        let mut version = Version::from_parts(numbers, pre, metadata, "");
        let lead = if self.original.starts_with('v') {
            "v"
        } else {
            ""
        };
        version.original = format!("{lead}{version}");
        version
    }
}

impl fmt::Display for Version {
    /// The full form without `v`: `1.2.0-rc.1+build`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre.is_empty() {
            write!(f, "-{}", self.pre)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Version::parse(text)
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.major, self.minor, self.patch)
            .cmp(&(other.major, other.minor, other.patch))
            .then_with(|| compare_prerelease(&self.pre, &other.pre))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl Hash for Version {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.major, self.minor, self.patch, &self.pre).hash(state);
    }
}

/// No pre-release is greater than any.
pub(crate) fn compare_prerelease(a: &str, b: &str) -> Ordering {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let (mut a_parts, mut b_parts) = (a.split('.'), b.split('.'));
    loop {
        return match (a_parts.next(), b_parts.next()) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match compare_part(a, b) {
                Ordering::Equal => continue,
                order => order,
            },
        };
    }
}

fn compare_part(a: &str, b: &str) -> Ordering {
    let as_number = |part: &str| {
        let digits = part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u64>().ok().filter(|_| digits)
    };
    match (as_number(a), as_number(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenient_and_published_forms() {
        assert_eq!(Version::parse("v01.2").unwrap().to_string(), "1.2.0");
        assert_eq!(
            Version::parse_published("v1.2.3-rc.1").unwrap().original(),
            "v1.2.3-rc.1"
        );
        for bad in ["1.2", "vv1.2.3", "01.2.3", "1.2.3.4", ""] {
            assert!(Version::parse_published(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn equal_versions_hash_alike() {
        use std::collections::HashSet;
        let set: HashSet<Version> = ["1.2", "v1.2.0", "1.2.0+x"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        assert_eq!(set.len(), 1);
    }
}
