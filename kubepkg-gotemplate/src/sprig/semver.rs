//! Versions: `semver`, `semverCompare`, and `*semver.Version` as templates see it.

use kubepkg_resolve::{Constraint, Version};

use super::args::{any, bytes, text};
use crate::bytestring::GoString;
use crate::func::{FuncError, FuncResult, Function, Signature};
use crate::gotype::{BOOL, BYTES, INT, Kind, STRING, Type, UINT64};
use crate::object::{Field, Method, Object};
use crate::value::{UintKind, Value};

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    vec![
        Function::plain(
            "semver",
            Signature::new(types!(STRING), &POINTER),
            |_, args| {
                let version = parse(text(args, 0))?;
                Ok(Value::object(VersionValue {
                    version,
                    pointer: true,
                }))
            },
        ),
        Function::plain(
            "semverCompare",
            Signature::new(types!(STRING, STRING), &BOOL),
            |_, args| {
                let constraint = String::from_utf8_lossy(text(args, 0));
                let constraint = Constraint::parse(&constraint)
                    .map_err(|error| FuncError::new(error.to_string()))?;
                Ok(Value::Bool(constraint.matches(&parse(text(args, 1))?)))
            },
        ),
    ]
}

fn parse(text: &[u8]) -> Result<Version, FuncError> {
    Version::parse(&String::from_utf8_lossy(text))
        .map_err(|error| FuncError::new(error.to_string()))
}

/// A `semver.Version`, or a pointer to one.
struct VersionValue {
    version: Version,
    pointer: bool,
}

static STRUCT: Type = Type {
    methods: &METHODS,
    ..Type::basic("semver.Version", Kind::Struct)
};
static POINTER: Type = Type {
    methods: &METHODS,
    ..Type::composite("*semver.Version", Kind::Pointer, &STRUCT)
};

impl Object for VersionValue {
    fn go_type(&self) -> &'static Type {
        if self.pointer { &POINTER } else { &STRUCT }
    }

    fn field(&self, name: &str) -> Option<Field> {
        let known = matches!(
            name,
            "major" | "minor" | "patch" | "pre" | "metadata" | "original"
        );
        known.then_some(Field::Unexported)
    }

    fn printed_fields(&self) -> Vec<(&'static str, Value)> {
        let number = |n| Value::Uint(UintKind::Uint64, n);
        vec![
            ("major", number(self.version.major())),
            ("minor", number(self.version.minor())),
            ("patch", number(self.version.patch())),
            ("pre", Value::string(self.version.prerelease())),
            ("metadata", Value::string(self.version.metadata())),
            ("original", Value::string(self.version.original())),
        ]
    }

    fn text(&self) -> Option<GoString> {
        Some(GoString::from(self.version.to_string()))
    }

    fn json(&self) -> Option<String> {
        Some(format!("\"{}\"", self.version))
    }

    fn deref(&self) -> Option<Value> {
        self.pointer.then(|| {
            Value::object(Self {
                version: self.version.clone(),
                pointer: false,
            })
        })
    }

    fn go_eq(&self, other: &dyn Object) -> Option<bool> {
        let other = other.downcast_ref::<Self>()?;
        // Two pointers made by two calls differ.
        Some(!self.pointer && self.version == other.version)
    }
}

fn version_of(value: &Value) -> Option<&Version> {
    value.as_object::<VersionValue>().map(|held| &held.version)
}

fn number(value: Option<u64>) -> FuncResult {
    Ok(Value::Uint(UintKind::Uint64, value.unwrap_or(0)))
}

fn word(value: Option<&str>) -> FuncResult {
    Ok(bytes(value.unwrap_or("")))
}

/// A new version; Go wraps a number that has no successor.
fn next(value: Option<Version>) -> FuncResult {
    let version = value.ok_or_else(|| FuncError::new("version number overflow"))?;
    Ok(Value::object(VersionValue {
        version,
        pointer: false,
    }))
}

fn order(this: &Value, args: &[Value]) -> std::cmp::Ordering {
    version_of(this).cmp(&version_of(any(args, 0)))
}

static METHODS: [Method; 19] = [
    Method::new("Compare", &[&POINTER], &INT, |_, this, args| {
        Ok(Value::int(order(this, args) as i64))
    }),
    Method::new("Equal", &[&POINTER], &BOOL, |_, this, args| {
        Ok(Value::Bool(order(this, args).is_eq()))
    }),
    Method::new("GreaterThan", &[&POINTER], &BOOL, |_, this, args| {
        Ok(Value::Bool(order(this, args).is_gt()))
    }),
    Method::new("GreaterThanEqual", &[&POINTER], &BOOL, |_, this, args| {
        Ok(Value::Bool(order(this, args).is_ge()))
    }),
    Method::new("IncMajor", &[], &STRUCT, |_, this, _| {
        next(version_of(this).and_then(Version::next_major))
    }),
    Method::new("IncMinor", &[], &STRUCT, |_, this, _| {
        next(version_of(this).and_then(Version::next_minor))
    }),
    Method::new("IncPatch", &[], &STRUCT, |_, this, _| {
        next(version_of(this).and_then(Version::next_patch))
    }),
    Method::new("LessThan", &[&POINTER], &BOOL, |_, this, args| {
        Ok(Value::Bool(order(this, args).is_lt()))
    }),
    Method::new("LessThanEqual", &[&POINTER], &BOOL, |_, this, args| {
        Ok(Value::Bool(order(this, args).is_le()))
    }),
    Method::new("Major", &[], &UINT64, |_, this, _| {
        number(version_of(this).map(Version::major))
    }),
    Method::new("MarshalText", &[], &BYTES, |_, this, _| {
        let text = version_of(this)
            .map(ToString::to_string)
            .unwrap_or_default();
        Ok(Value::Bytes(crate::collection::GoBytes::new(text)))
    }),
    Method::new("Metadata", &[], &STRING, |_, this, _| {
        word(version_of(this).map(Version::metadata))
    }),
    Method::new("Minor", &[], &UINT64, |_, this, _| {
        number(version_of(this).map(Version::minor))
    }),
    Method::new("Original", &[], &STRING, |_, this, _| {
        word(version_of(this).map(Version::original))
    }),
    Method::new("Patch", &[], &UINT64, |_, this, _| {
        number(version_of(this).map(Version::patch))
    }),
    Method::new("Prerelease", &[], &STRING, |_, this, _| {
        word(version_of(this).map(Version::prerelease))
    }),
    Method::new("SetMetadata", &[&STRING], &STRUCT, |_, this, args| {
        let metadata = String::from_utf8_lossy(text(args, 0));
        let changed = version_of(this).map(|version| version.with_metadata(&metadata));
        next(
            changed
                .transpose()
                .map_err(|error| FuncError::new(error.to_string()))?,
        )
    }),
    Method::new("SetPrerelease", &[&STRING], &STRUCT, |_, this, args| {
        let pre = String::from_utf8_lossy(text(args, 0));
        let changed = version_of(this).map(|version| version.with_prerelease(&pre));
        next(
            changed
                .transpose()
                .map_err(|error| FuncError::new(error.to_string()))?,
        )
    }),
    Method::new("String", &[], &STRING, |_, this, _| {
        word(version_of(this).map(ToString::to_string).as_deref())
    }),
];
