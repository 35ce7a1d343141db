//! Chart versions as Helm's indexes have them: `1.2.3`, also `v1.2.3`, `1.2` and `01.2.3`.
//!
//! Helm completes missing parts with zeros and forgives leading ones. Two versions are equal when
//! their precedence is; build metadata doesn't count. Refuses four parts, empty parts and numbers
//! over 64 bits.

use std::cmp::Ordering;

use semver::{Prerelease, Version};

/// A version with the order of its precedence.
#[derive(Debug, Clone)]
pub(crate) struct LooseVersion(Version);

impl LooseVersion {
    /// Reads a version, completing missing parts.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::parse_parts(text).map(|(version, _)| version)
    }

    /// Reads a version that has all three parts.
    pub(crate) fn parse_exact(text: &str) -> Option<Self> {
        Self::parse_parts(text)
            .filter(|(_, parts)| *parts == 3)
            .map(|(version, _)| version)
    }

    fn parse_parts(text: &str) -> Option<(Self, usize)> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, build) = split(text, '+');
        let (numbers, pre) = split(text, '-');
        if build.is_some_and(|build| semver::BuildMetadata::new(build).is_err() || build.is_empty())
        {
            return None;
        }
        let pre = match pre {
            Some("") => return None,
            Some(pre) => Prerelease::new(pre).ok()?,
            None => Prerelease::EMPTY,
        };
        let mut parts = [0_u64; 3];
        let mut count = 0;
        for number in numbers.split('.') {
            if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            *parts.get_mut(count)? = number.parse().ok()?;
            count += 1;
        }
        let [major, minor, patch] = parts;
        let version = Version {
            pre,
            ..Version::new(major, minor, patch)
        };
        Some((Self(version), count))
    }
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

impl PartialEq for LooseVersion {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for LooseVersion {}

impl PartialOrd for LooseVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LooseVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp_precedence(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completes_and_forgives() {
        let version = |text| LooseVersion::parse(text).unwrap();
        assert_eq!(version("v1.2"), version("1.2.0+build"));
        assert_eq!(version("01.2.3"), version("1.2.3"));
        assert!(version("1.0.0-rc.10") > version("1.0.0-rc.2"));
        assert!(version("1.0.0-rc.10") < version("1"));
    }

    #[test]
    fn refuses_what_is_no_version() {
        for bad in [
            "", "v", "bad", "1.2.3.4", "1..2", "1.2.3-", "1.2.3+", "^1.2.3", "1.x",
        ] {
            assert!(LooseVersion::parse(bad).is_none(), "{bad}");
        }
        assert!(LooseVersion::parse_exact("1.2").is_none());
    }
}
