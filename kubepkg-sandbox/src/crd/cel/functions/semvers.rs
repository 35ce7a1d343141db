//! Semantic versions: `library/semverlib.go` of the API server, over `blang/semver` 4.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Opaque;
use kubepkg_yaml::go_quote;

use super::super::run::{Fault, Outcome};
use super::super::typed;
use super::Called;

/// A version. What was built is shown, and not compared.
#[derive(Debug, Clone)]
struct Semver {
    numbers: [u64; 3],
    before: Vec<Part>,
    build: Vec<String>,
}

/// Numbers come before words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Word(String),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

impl fmt::Display for Semver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        for (index, part) in self.before.iter().enumerate() {
            write!(f, "{}{part}", if index == 0 { '-' } else { '.' })?;
        }
        for (index, part) in self.build.iter().enumerate() {
            write!(f, "{}{part}", if index == 0 { '+' } else { '.' })?;
        }
        Ok(())
    }
}

impl Semver {
    fn order(&self, other: &Self) -> Ordering {
        let before = match (self.before.is_empty(), other.before.is_empty()) {
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ => self.before.cmp(&other.before),
        };
        self.numbers.cmp(&other.numbers).then(before)
    }
}

impl PartialEq for Semver {
    fn eq(&self, other: &Self) -> bool {
        self.order(other) == Ordering::Equal
    }
}

impl Eq for Semver {}

impl Opaque for Semver {
    fn runtime_type_name(&self) -> &'static str {
        "kubernetes.Semver"
    }
}

fn version(value: &Value) -> Option<&Semver> {
    typed::held(value)
}

pub(super) fn text_of(value: &Value) -> Option<String> {
    version(value).map(ToString::to_string)
}

/// `semver` and `isSemver`.
pub(super) fn parse(called: &mut Called<'_>) -> Outcome {
    let parsed = match called.values {
        [Value::String(text)] | [Value::String(text), Value::Bool(false)] => parsed(text),
        [Value::String(text), Value::Bool(true)] => parsed(&lenient(text)?),
        _ => return Err(called.no_overload()),
    };
    if called.name == "isSemver" {
        return Ok(Value::Bool(parsed.is_ok()));
    }
    let version = parsed.map_err(Fault::Error)?;
    Ok(Value::Opaque(Arc::new(version)))
}

/// `major`, `minor` and `patch`.
pub(super) fn number(called: &mut Called<'_>) -> Outcome {
    let version = called.values.first().and_then(version);
    let [major, minor, patch] = version.ok_or_else(|| called.no_overload())?.numbers;
    let number = match called.name {
        "major" => major,
        "minor" => minor,
        _ => patch,
    };
    Ok(Value::Int(number.cast_signed()))
}

/// The order of two versions; none for other values.
pub(super) fn order(one: &Value, other: &Value) -> Option<Ordering> {
    Some(version(one)?.order(version(other)?))
}

/// Without a `v` before it, with three numbers, without zeros before them.
fn lenient(text: &str) -> Result<String, Fault> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text
        .splitn(3, '.')
        .map(|part| {
            let bare = part.trim_start_matches('0');
            if part.len() <= 1 || bare.starts_with(|sign: char| sign.is_ascii_digit()) {
                if part.len() <= 1 { part } else { bare }.to_owned()
            } else {
                format!("0{bare}")
            }
        })
        .collect();
    if parts.len() < 3 {
        if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            let why = "short version cannot contain PreRelease/Build meta data";
            return Err(Fault::error(why));
        }
        parts.resize(3, "0".to_owned());
    }
    Ok(parts.join("."))
}

fn parsed(text: &str) -> Result<Semver, String> {
    if text.is_empty() {
        return Err("Version string empty".to_owned());
    }
    let parts: Vec<&str> = text.splitn(3, '.').collect();
    let [major, minor, rest] = parts.as_slice() else {
        return Err("No Major.Minor.Patch elements found".to_owned());
    };
    let major = numeric("major", "Major", major)?;
    let minor = numeric("minor", "Minor", minor)?;
    let (rest, build) = match rest.split_once('+') {
        Some((rest, build)) => (rest, build.split('.').collect()),
        None => (*rest, Vec::new()),
    };
    let (patch, before) = match rest.split_once('-') {
        Some((patch, before)) => (patch, before.split('.').collect()),
        None => (rest, Vec::new()),
    };
    let patch = numeric("patch", "Patch", patch)?;
    let before = before.into_iter().map(part).collect::<Result<_, _>>()?;
    for part in &build {
        if part.is_empty() {
            return Err("Build meta data is empty".to_owned());
        }
        if !is_word(part) {
            let shown = go_quote(part);
            return Err(format!(
                "Invalid character(s) found in build meta data {shown}"
            ));
        }
    }
    Ok(Semver {
        numbers: [major, minor, patch],
        before,
        build: build.into_iter().map(str::to_owned).collect(),
    })
}

fn is_word(text: &str) -> bool {
    text.bytes()
        .all(|sign| sign.is_ascii_alphanumeric() || sign == b'-')
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|sign| sign.is_ascii_digit())
}

fn number_of(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        let why = if text.is_empty() {
            "invalid syntax"
        } else {
            "value out of range"
        };
        format!("strconv.ParseUint: parsing {}: {why}", go_quote(text))
    })
}

fn numeric(name: &str, capital: &str, text: &str) -> Result<u64, String> {
    let shown = go_quote(text);
    if !is_number(text) {
        return Err(format!(
            "Invalid character(s) found in {name} number {shown}"
        ));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!(
            "{capital} number must not contain leading zeroes {shown}"
        ));
    }
    number_of(text)
}

fn part(text: &str) -> Result<Part, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if is_number(text) {
        if text.len() > 1 && text.starts_with('0') {
            let shown = go_quote(text);
            let why = "Numeric PreRelease version must not contain leading zeroes";
            return Err(format!("{why} {shown}"));
        }
        return number_of(text).map(Part::Number);
    }
    if is_word(text) {
        return Ok(Part::Word(text.to_owned()));
    }
    let shown = go_quote(text);
    Err(format!("Invalid character(s) found in prerelease {shown}"))
}
