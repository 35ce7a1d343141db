//! A range of versions: `>=1.2 <2 || ~3.1`.
//!
//! The language and its odd corners are those of Masterminds semver v3.5.0: a space or a comma is
//! "and", `||` is "or", `a - b` a range with both ends; `=1.2` and `1.2` mean any 1.2.x. A
//! pre-release satisfies a group of "and" only if some comparator of that group names a
//! pre-release. An empty text is refused here; [`crate::satisfies`] takes it for "any".

use std::fmt;
use std::str::FromStr;

use crate::reason::{Reason, ReasonKind};
use crate::version::{Version, compare_prerelease, take_suffix};

/// Longest constraint text, in bytes.
pub const MAX_CONSTRAINT_LEN: usize = 512;
/// Most groups of `||`.
pub const MAX_CONSTRAINT_GROUPS: usize = 32;

/// Why a text is no constraint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConstraintError {
    /// More than [`MAX_CONSTRAINT_LEN`] bytes.
    #[error("constraint string is too long (max {MAX_CONSTRAINT_LEN} bytes)")]
    TooLong,
    /// More than [`MAX_CONSTRAINT_GROUPS`] groups.
    #[error("too many constraint groups (max {MAX_CONSTRAINT_GROUPS})")]
    TooManyGroups,
    /// A group that does not follow the grammar.
    #[error("improper constraint: {}", crate::reason::quote(group))]
    Improper {
        /// The group, hyphen ranges already rewritten.
        group: String,
    },
    /// A comparator whose version cannot be read (`1xx`, `1.2.3-01`).
    #[error("constraint parser error")]
    Version {
        /// The comparator's version as written.
        text: String,
    },
}

/// What a comparator does with its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterEqual,
    LessEqual,
    Tilde,
    Caret,
}

/// Operators as written, longer ones before their beginnings.
const OPERATORS: [(&str, Operator); 12] = [
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterEqual),
    ("=>", Operator::GreaterEqual),
    ("<=", Operator::LessEqual),
    ("=<", Operator::LessEqual),
    ("~>", Operator::Tilde),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
    ("", Operator::Equal),
];

/// Which parts of a comparator's version are missing or wild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wild {
    Nothing,
    Patch,
    Minor,
    All,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Comparator {
    operator: Operator,
    operator_text: &'static str,
    /// The version as written.
    text: String,
    /// Wild parts are 0.
    version: Version,
    wild: Wild,
}

/// A set of versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraint {
    groups: Vec<Vec<Comparator>>,
    include_prereleases: bool,
}

/// White space of the grammar.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0C)
}

/// Takes white space; true if there was some.
fn take_spaces(rest: &mut &str) -> bool {
    let count = rest.bytes().take_while(|&byte| is_space(byte)).count();
    *rest = rest.get(count..).unwrap_or_default();
    count > 0
}

/// A comparator's version, taken apart. Segments may be anything made of digits, `x`, `X`, `*`
/// and `|`.
struct Pattern<'a> {
    text: &'a str,
    segments: [&'a str; 3],
    pre: &'a str,
}

/// Takes the longest pattern that `rest` begins with.
fn take_pattern<'a>(rest: &mut &'a str) -> Option<Pattern<'a>> {
    let start: &'a str = rest;
    let mut left: &'a str = start.strip_prefix('v').unwrap_or(start);
    let mut segments = [""; 3];
    for (index, segment) in segments.iter_mut().enumerate() {
        let body = if index == 0 {
            Some(left)
        } else {
            left.strip_prefix('.')
        };
        let Some(body) = body else { break };
        let count = body
            .bytes()
            .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'x' | b'X' | b'*' | b'|'))
            .count();
        if count == 0 {
            break;
        }
        (*segment, left) = body.split_at_checked(count)?;
    }
    if segments.first().is_none_or(|segment| segment.is_empty()) {
        return None;
    }
    let pre = take_suffix(&mut left, '-');
    take_suffix(&mut left, '+');
    let text = start.get(..start.len() - left.len())?;
    *rest = left;
    Some(Pattern {
        text,
        segments,
        pre,
    })
}

/// Rewrites `a - b` to `>= a, <= b`.
fn rewrite_ranges(text: &str) -> String {
    let mut out = text.to_owned();
    let mut at = 0;
    while let Some(start) = text.get(at..) {
        if start.is_empty() {
            break;
        }
        match range_at(start) {
            Some((length, low, high)) => {
                // The first place with the same text, as the original does.
                let found = start.get(..length).unwrap_or_default();
                out = out.replacen(found, &format!(">= {low}, <= {high} "), 1);
                at += length;
            }
            None => at += start.chars().next().map_or(1, char::len_utf8),
        }
    }
    out
}

/// A hyphen range that `text` begins with: its length and both ends.
fn range_at(text: &str) -> Option<(usize, &str, &str)> {
    let mut rest = text;
    take_spaces(&mut rest);
    let low = take_pattern(&mut rest)?;
    take_spaces(&mut rest).then_some(())?;
    rest = rest.strip_prefix('-')?;
    take_spaces(&mut rest).then_some(())?;
    let high = take_pattern(&mut rest)?;
    take_spaces(&mut rest);
    Some((text.len() - rest.len(), low.text, high.text))
}

/// The comparators of one group; `None` if it does not follow the grammar.
fn patterns(group: &str) -> Option<Vec<(&'static str, Operator, Pattern<'_>)>> {
    let mut out = Vec::new();
    let mut rest = group;
    loop {
        let spaces = take_spaces(&mut rest);
        if !out.is_empty() {
            if rest.is_empty() {
                return Some(out);
            }
            if let Some(tail) = rest.strip_prefix(',') {
                rest = tail;
                take_spaces(&mut rest);
            } else if !spaces {
                return None;
            }
        }
        let &(text, operator) = OPERATORS
            .iter()
            .find(|(operator, _)| rest.starts_with(operator))?;
        rest = rest.get(text.len()..)?;
        take_spaces(&mut rest);
        out.push((text, operator, take_pattern(&mut rest)?));
    }
}

fn is_wild(segment: &str) -> bool {
    matches!(segment, "" | "x" | "X" | "*")
}

impl Comparator {
    fn new(
        operator_text: &'static str,
        operator: Operator,
        pattern: &Pattern<'_>,
    ) -> Result<Comparator, ConstraintError> {
        let [major, minor, patch] = pattern.segments;
        let pre = if pattern.pre.is_empty() {
            String::new()
        } else {
            format!("-{}", pattern.pre)
        };
        let (wild, version) = if is_wild(major) {
            (Wild::All, format!("0.0.0{pre}"))
        } else if is_wild(minor) {
            (Wild::Minor, format!("{major}.0.0{pre}"))
        } else if is_wild(patch) {
            (Wild::Patch, format!("{major}.{minor}.0{pre}"))
        } else {
            (Wild::Nothing, pattern.text.to_owned())
        };
        let text = pattern.text.to_owned();
        match Version::parse(&version) {
            Ok(version) => Ok(Comparator {
                operator,
                operator_text,
                text,
                version,
                wild,
            }),
            Err(_) => Err(ConstraintError::Version { text }),
        }
    }

    /// Why `version` does not satisfy this comparator; `None` if it does.
    fn refuses(&self, version: &Version) -> Option<ReasonKind> {
        let mine = &self.version;
        let (major, minor) = (mine.major(), mine.minor());
        match self.operator {
            Operator::Equal if self.wild == Wild::Nothing => {
                (version != mine).then_some(ReasonKind::NotEqual)
            }
            Operator::Equal | Operator::Tilde => self.outside_tilde(version),
            Operator::NotEqual => self.is_excluded(version).then_some(ReasonKind::Equal),
            Operator::Greater => {
                let above = if version.major() == major {
                    match self.wild {
                        Wild::Minor => false,
                        Wild::Patch => version.minor() > minor,
                        Wild::Nothing | Wild::All => version > mine,
                    }
                } else {
                    version.major() > major
                };
                // Without wild parts the whole comparison says the same.
                (!above).then_some(ReasonKind::LessOrEqual)
            }
            Operator::Less => (version >= mine).then_some(ReasonKind::GreaterOrEqual),
            Operator::GreaterEqual => (version < mine).then_some(ReasonKind::Less),
            Operator::LessEqual => {
                let above = match self.wild {
                    Wild::Nothing => version > mine,
                    Wild::Minor => version.major() > major,
                    Wild::Patch | Wild::All => (version.major(), version.minor()) > (major, minor),
                };
                above.then_some(ReasonKind::Greater)
            }
            Operator::Caret => self.outside_caret(version),
        }
    }

    fn outside_tilde(&self, version: &Version) -> Option<ReasonKind> {
        let mine = &self.version;
        let zero = (mine.major(), mine.minor(), mine.patch()) == (0, 0, 0);
        if version < mine {
            Some(ReasonKind::Less)
        } else if zero && matches!(self.wild, Wild::Nothing | Wild::All) {
            // `~0.0.0` is any version.
            None
        } else if version.major() != mine.major() {
            Some(ReasonKind::OtherMajor)
        } else if version.minor() != mine.minor() && self.wild != Wild::Minor {
            Some(ReasonKind::OtherMajorOrMinor)
        } else {
            None
        }
    }

    /// Whether `!=` excludes the version.
    fn is_excluded(&self, version: &Version) -> bool {
        let mine = &self.version;
        let same_major = version.major() == mine.major();
        let same_minor = version.minor() == mine.minor();
        let same_pre = || {
            let (theirs, mine) = (version.prerelease(), mine.prerelease());
            // One without a pre-release is still unequal to one with it.
            compare_prerelease(theirs, mine) == std::cmp::Ordering::Equal
        };
        match self.wild {
            Wild::Nothing | Wild::All => version == mine,
            Wild::Minor => same_major,
            Wild::Patch => same_major && same_minor && same_pre(),
        }
    }

    fn outside_caret(&self, version: &Version) -> Option<ReasonKind> {
        let mine = &self.version;
        if version < mine {
            return Some(ReasonKind::Less);
        }
        if mine.major() > 0 || self.wild == Wild::Minor {
            return (version.major() != mine.major()).then_some(ReasonKind::OtherMajor);
        }
        if version.major() > 0 {
            return Some(ReasonKind::OtherMajor);
        }
        if mine.minor() > 0 || self.wild == Wild::Patch {
            return (version.minor() != mine.minor()).then_some(ReasonKind::OtherMinorOfZero);
        }
        if version.minor() > 0 {
            return Some(ReasonKind::OtherMinor);
        }
        (version.patch() != mine.patch()).then_some(ReasonKind::OtherPatchOfZero)
    }
}

impl Constraint {
    /// Reads a constraint.
    ///
    /// # Errors
    /// A text that does not follow the grammar (an empty one too), or passes a limit.
    pub fn parse(text: &str) -> Result<Constraint, ConstraintError> {
        if text.len() > MAX_CONSTRAINT_LEN {
            return Err(ConstraintError::TooLong);
        }
        let rewritten = rewrite_ranges(text);
        let parts: Vec<&str> = rewritten.split("||").collect();
        if parts.len() > MAX_CONSTRAINT_GROUPS {
            return Err(ConstraintError::TooManyGroups);
        }
        let mut groups = Vec::with_capacity(parts.len());
        for part in parts {
            let Some(patterns) = patterns(part) else {
                return Err(ConstraintError::Improper {
                    group: part.to_owned(),
                });
            };
            let group: Result<Vec<_>, _> = patterns
                .iter()
                .map(|(text, operator, pattern)| Comparator::new(text, *operator, pattern))
                .collect();
            groups.push(group?);
        }
        Ok(Constraint {
            groups,
            include_prereleases: false,
        })
    }

    /// The same constraint, which lets pre-releases satisfy every group if `include` is true.
    #[must_use]
    pub fn include_prereleases(mut self, include: bool) -> Constraint {
        self.include_prereleases = include;
        self
    }

    fn opens(&self, group: &[Comparator]) -> bool {
        self.include_prereleases || group.iter().any(|one| one.version.is_prerelease())
    }

    /// Whether `version` satisfies the constraint.
    pub fn matches(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| {
            (!version.is_prerelease() || self.opens(group))
                && group.iter().all(|one| one.refuses(version).is_none())
        })
    }

    /// Tells why `version` does not satisfy the constraint: the reasons of all groups in order,
    /// the one about pre-releases once.
    ///
    /// # Errors
    /// The reasons; never empty.
    pub fn validate(&self, version: &Version) -> Result<(), Vec<Reason>> {
        let mut reasons = Vec::new();
        let mut told = false;
        let reason = |kind, constraint: &str| Reason {
            kind,
            version: version.to_string(),
            constraint: constraint.to_owned(),
        };
        for group in &self.groups {
            if version.is_prerelease() && !self.opens(group) {
                if !told {
                    told = true;
                    reasons.push(reason(ReasonKind::Prerelease, ""));
                }
                continue;
            }
            let before = reasons.len();
            for one in group {
                reasons.extend(one.refuses(version).map(|kind| reason(kind, &one.text)));
            }
            if reasons.len() == before {
                return Ok(());
            }
        }
        Err(reasons)
    }
}

impl fmt::Display for Constraint {
    /// Hyphen ranges rewritten, a space for "and", ` || ` for "or".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, group) in self.groups.iter().enumerate() {
            if index > 0 {
                f.write_str(" || ")?;
            }
            for (index, one) in group.iter().enumerate() {
                let space = if index > 0 { " " } else { "" };
                write!(f, "{space}{}{}", one.operator_text, one.text)?;
            }
        }
        Ok(())
    }
}

impl FromStr for Constraint {
    type Err = ConstraintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Constraint::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference section 5.1, with the pre-release rule of Masterminds 3.5 (no pre-release passes
    /// `!=1.2.0`, and one in a group opens the group).
    #[test]
    fn the_table_of_the_reference() {
        let all = "0.0.3 0.0.4 0.2.3 0.2.9 0.3.0 1.0.0 1.2.0 1.2.5 1.3.0 1.4.9 1.5.0 1.21.4 2.0.0 \
                   2.1.0 1.2.3-beta 1.2.3-rc.1 1.2.0-1 1.2.0+b";
        for (constraint, wanted) in [
            ("1.2", "1.2.0 1.2.5 1.2.0+b"),
            ("~> 1.2", "1.2.0 1.2.5 1.2.0+b"),
            ("~1.21", "1.21.4"),
            ("^0.2.3", "0.2.3 0.2.9"),
            ("^0.0.3", "0.0.3"),
            ("^0.0", "0.0.3 0.0.4"),
            ("^0", "0.0.3 0.0.4 0.2.3 0.2.9 0.3.0"),
            ("1.2 - 1.4", "1.2.0 1.2.5 1.3.0 1.4.9 1.2.0+b"),
            (">1.2", "1.3.0 1.4.9 1.5.0 1.21.4 2.0.0 2.1.0"),
            ("<1.0 || >2", "0.0.3 0.0.4 0.2.3 0.2.9 0.3.0"),
            ("~1.2.3-beta", "1.2.5 1.2.3-beta 1.2.3-rc.1"),
        ] {
            let parsed = Constraint::parse(constraint).unwrap();
            let got: Vec<&str> = all
                .split_whitespace()
                .filter(|version| parsed.matches(&version.parse().unwrap()))
                .collect();
            assert_eq!(got.join(" "), wanted, "{constraint}");
        }
    }
}
