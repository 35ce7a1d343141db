//! Go values as templates see them.
//!
//! A [`Value`] is what Go would hold in an `interface{}`: a concrete value with its dynamic type,
//! or nil. Maps are shared and mutable (`set`, `unset`, `merge` change them in place), lists are
//! shared and immutable (no template function writes into a slice), strings are bytes. Cloning a
//! value never copies what it holds. Source: packages `reflect` and `encoding/json` of Go 1.26.

use std::rc::Rc;

use crate::bytestring::GoString;
use crate::collection::{GoBytes, List, Map};
use crate::context::Context;
use crate::func::{FuncResult, Signature};
use crate::gotype::{self, Kind, Type};
use crate::object::Object;

/// Which signed integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are Go's own types")]
pub enum IntKind {
    Int,
    Int8,
    Int16,
    Int32,
    Int64,
}

/// Which unsigned integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are Go's own types")]
pub enum UintKind {
    Uint,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Uintptr,
}

/// Which floating-point type. A `float32` is stored as the `f64` of the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are Go's own types")]
pub enum FloatKind {
    Float32,
    Float64,
}

/// Which complex type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are Go's own types")]
pub enum ComplexKind {
    Complex64,
    Complex128,
}

/// The sequence behind a function value that `range` can iterate over: each call gives the next
/// pair, the second part only for two-valued sequences.
pub type Sequence = dyn Fn() -> Box<dyn Iterator<Item = (Value, Option<Value>)>>;

/// The code of a function value.
pub type FuncBody = dyn Fn(&mut Context<'_>, &[Value]) -> FuncResult;

/// A function held as a value, for the `call` built-in and `range` over functions.
pub struct FuncValue {
    /// The function type, kind `Func`.
    pub go_type: &'static Type,
    /// Parameters and result.
    pub signature: Signature,
    /// The code.
    pub call: Box<FuncBody>,
    /// For `iter.Seq` and `iter.Seq2`: the sequence, and whether it is two-valued.
    pub sequence: Option<(Box<Sequence>, bool)>,
}

impl std::fmt::Debug for FuncValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FuncValue({})", self.go_type.name)
    }
}

/// A Go value in an `interface{}`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Value {
    /// The nil interface. A missing key, too, reaches a function as nil.
    #[default]
    Nil,
    /// `bool`
    Bool(bool),
    /// A signed integer.
    Int(IntKind, i64),
    /// An unsigned integer.
    Uint(UintKind, u64),
    /// A floating-point number.
    Float(FloatKind, f64),
    /// A complex number: real and imaginary part. Rare, and kept apart so that values are small.
    Complex(ComplexKind, Rc<(f64, f64)>),
    /// `string`
    String(GoString),
    /// `[]byte`, possibly nil.
    Bytes(GoBytes),
    /// A slice of anything but bytes, possibly nil.
    List(List),
    /// A map with string keys, possibly nil.
    Map(Map),
    /// A struct, a non-nil pointer, or a defined scalar.
    Object(Rc<dyn Object>),
    /// A function.
    Func(Rc<FuncValue>),
    /// A nil pointer, function or channel of the given type. Nil maps and slices are
    /// [`Value::Map`], [`Value::List`] and [`Value::Bytes`] with their nil flag set.
    TypedNil(&'static Type),
}

impl Value {
    /// A Go `int`.
    pub const fn int(n: i64) -> Self {
        Self::Int(IntKind::Int, n)
    }

    /// A Go `int64`.
    pub const fn int64(n: i64) -> Self {
        Self::Int(IntKind::Int64, n)
    }

    /// A Go `float64`.
    pub const fn float64(x: f64) -> Self {
        Self::Float(FloatKind::Float64, x)
    }

    /// A Go `string`.
    pub fn string(text: impl Into<GoString>) -> Self {
        Self::String(text.into())
    }

    /// A `[]interface{}`.
    pub fn list(items: Vec<Value>) -> Self {
        Self::List(List::new(items))
    }

    /// A `[]string`.
    pub fn string_list<S: Into<GoString>>(items: impl IntoIterator<Item = S>) -> Self {
        Self::List(List::typed(
            &gotype::SLICE_STRING,
            items.into_iter().map(Value::string).collect(),
        ))
    }

    /// A `map[string]interface{}`.
    pub fn map<K: Into<GoString>>(entries: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::Map(entries.into_iter().map(|(k, v)| (k.into(), v)).collect())
    }

    /// An object.
    pub fn object(object: impl Object) -> Self {
        Self::Object(Rc::new(object))
    }

    /// The zero value of a type: what a missing map key gives for that element type.
    pub fn zero(ty: &'static Type) -> Self {
        match ty.kind {
            Kind::Bool => Self::Bool(false),
            Kind::Int => Self::Int(IntKind::Int, 0),
            Kind::Int8 => Self::Int(IntKind::Int8, 0),
            Kind::Int16 => Self::Int(IntKind::Int16, 0),
            Kind::Int32 => Self::Int(IntKind::Int32, 0),
            Kind::Int64 => Self::Int(IntKind::Int64, 0),
            Kind::Uint => Self::Uint(UintKind::Uint, 0),
            Kind::Uint8 => Self::Uint(UintKind::Uint8, 0),
            Kind::Uint16 => Self::Uint(UintKind::Uint16, 0),
            Kind::Uint32 => Self::Uint(UintKind::Uint32, 0),
            Kind::Uint64 => Self::Uint(UintKind::Uint64, 0),
            Kind::Uintptr => Self::Uint(UintKind::Uintptr, 0),
            Kind::Float32 => Self::Float(FloatKind::Float32, 0.0),
            Kind::Float64 => Self::Float(FloatKind::Float64, 0.0),
            Kind::Complex64 => Self::Complex(ComplexKind::Complex64, Rc::default()),
            Kind::Complex128 => Self::Complex(ComplexKind::Complex128, Rc::default()),
            Kind::String => Self::String(GoString::default()),
            Kind::Slice if ty.elem.is_some_and(|e| e.kind == Kind::Uint8) => {
                Self::Bytes(GoBytes::nil())
            }
            Kind::Slice | Kind::Array => Self::List(List::nil(ty)),
            Kind::Map => Self::Map(Map::nil(ty)),
            Kind::Pointer | Kind::Func | Kind::Chan | Kind::UnsafePointer => Self::TypedNil(ty),
            Kind::Interface | Kind::Struct | Kind::Invalid => Self::Nil,
        }
    }

    /// The dynamic type; `None` for nil.
    pub fn go_type(&self) -> Option<&'static Type> {
        Some(match self {
            Self::Nil => return None,
            Self::Bool(_) => &gotype::BOOL,
            Self::Int(kind, _) => match kind {
                IntKind::Int => &gotype::INT,
                IntKind::Int8 => &gotype::INT8,
                IntKind::Int16 => &gotype::INT16,
                IntKind::Int32 => &gotype::INT32,
                IntKind::Int64 => &gotype::INT64,
            },
            Self::Uint(kind, _) => match kind {
                UintKind::Uint => &gotype::UINT,
                UintKind::Uint8 => &gotype::UINT8,
                UintKind::Uint16 => &gotype::UINT16,
                UintKind::Uint32 => &gotype::UINT32,
                UintKind::Uint64 => &gotype::UINT64,
                UintKind::Uintptr => &gotype::UINTPTR,
            },
            Self::Float(FloatKind::Float32, _) => &gotype::FLOAT32,
            Self::Float(FloatKind::Float64, _) => &gotype::FLOAT64,
            Self::Complex(ComplexKind::Complex64, ..) => &gotype::COMPLEX64,
            Self::Complex(ComplexKind::Complex128, ..) => &gotype::COMPLEX128,
            Self::String(_) => &gotype::STRING,
            Self::Bytes(_) => &gotype::BYTES,
            Self::List(list) => list.go_type(),
            Self::Map(map) => map.go_type(),
            Self::Object(object) => object.go_type(),
            Self::Func(func) => func.go_type,
            Self::TypedNil(ty) => ty,
        })
    }

    /// The name of the dynamic type as `%T` prints it: `<nil>` for nil.
    pub fn type_name(&self) -> &'static str {
        self.go_type().map_or("<nil>", |t| t.name)
    }

    /// The kind of the dynamic type; `Invalid` for nil.
    pub fn kind(&self) -> Kind {
        self.go_type().map_or(Kind::Invalid, |t| t.kind)
    }

    /// Whether this is nil: the nil interface, or a nil map, slice, pointer or function.
    pub fn is_nil(&self) -> bool {
        match self {
            Self::Nil | Self::TypedNil(_) => true,
            Self::Bytes(b) => b.is_nil(),
            Self::List(l) => l.is_nil(),
            Self::Map(m) => m.is_nil(),
            _ => false,
        }
    }

    /// Truth as `if` sees it: not the zero value, not empty; structs are always true.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Nil | Self::TypedNil(_) => false,
            Self::Bool(b) => *b,
            Self::Int(_, n) => *n != 0,
            Self::Uint(_, n) => *n != 0,
            Self::Float(_, x) => *x != 0.0,
            Self::Complex(_, parts) => **parts != (0.0, 0.0),
            Self::String(s) => !s.is_empty(),
            Self::Bytes(b) => !b.is_empty(),
            Self::List(l) => !l.is_empty(),
            Self::Map(m) => !m.is_empty(),
            Self::Object(o) => o.underlying().is_none_or(|v| v.is_true()),
            Self::Func(_) => true,
        }
    }

    /// The bytes of a string, nothing else.
    pub fn as_string(&self) -> Option<&GoString> {
        match self {
            Self::String(s) => Some(s),
            _ => None,
        }
    }

    /// The map, nothing else.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(m) => Some(m),
            _ => None,
        }
    }

    /// The list, nothing else (`[]byte` is not a [`List`]).
    pub fn as_list(&self) -> Option<&List> {
        match self {
            Self::List(l) => Some(l),
            _ => None,
        }
    }

    /// A signed integer of any width, or of a defined integer type.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(_, n) => Some(*n),
            Self::Object(o) => o.underlying().and_then(|v| v.as_int()),
            _ => None,
        }
    }

    /// The concrete object of type `T`.
    pub fn as_object<T: Object>(&self) -> Option<&T> {
        match self {
            Self::Object(o) => o.downcast_ref::<T>(),
            _ => None,
        }
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::string(text)
    }
}

impl From<GoString> for Value {
    fn from(text: GoString) -> Self {
        Self::String(text)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::list(items)
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Map(map)
    }
}

impl From<List> for Value {
    fn from(list: List) -> Self {
        Self::List(list)
    }
}

impl From<&serde_json::Value> for Value {
    /// As Go's `encoding/json` decodes into `interface{}`: every number is a `float64`.
    fn from(json: &serde_json::Value) -> Self {
        from_json(json, false)
    }
}

impl Value {
    /// Like `From<&serde_json::Value>`, but integers that fit become `int64`: what `--set` gives.
    pub fn from_json_with_ints(json: &serde_json::Value) -> Self {
        from_json(json, true)
    }
}

fn from_json(json: &serde_json::Value, ints: bool) -> Value {
    match json {
        serde_json::Value::Null => Value::Nil,
        serde_json::Value::Bool(b) => Value::Bool(*b),
        serde_json::Value::Number(n) => match n.as_i64() {
            Some(i) if ints => Value::int64(i),
            _ => Value::float64(n.as_f64().unwrap_or_default()),
        },
        serde_json::Value::String(s) => Value::string(s.as_str()),
        serde_json::Value::Array(items) => Value::List(List::decoded(
            items.iter().map(|item| from_json(item, ints)).collect(),
        )),
        serde_json::Value::Object(entries) => Value::map(
            entries
                .iter()
                .map(|(k, v)| (k.as_str(), from_json(v, ints))),
        ),
    }
}

/// Why a value has no JSON form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToJsonError {
    /// The type cannot be encoded (complex numbers, functions).
    #[error("json: unsupported type: {0}")]
    UnsupportedType(&'static str),
    /// NaN or an infinity.
    #[error("json: unsupported value: {0}")]
    UnsupportedValue(String),
    /// Lists and maps are nested deeper than [`MAX_VALUE_DEPTH`], or a map contains itself.
    #[error("nesting deeper than {MAX_VALUE_DEPTH}")]
    TooDeep,
    /// The text would be larger than [`fmt::MAX_TEXT`](crate::fmt::MAX_TEXT).
    #[error("json text is too large")]
    TooLarge,
    /// An object gave text that is not JSON.
    #[error("object of type {0} gave malformed json")]
    Malformed(&'static str),
}

/// How deep lists and maps may nest before functions that walk a whole value refuse it. Go would
/// end with a stack overflow on a map that contains itself; every walk here stops at this depth.
pub const MAX_VALUE_DEPTH: usize = 500;

impl Value {
    /// The value as Go's `encoding/json` would encode it. Integral floats become JSON integers.
    ///
    /// # Errors
    /// Complex numbers, functions, NaN, infinities, nesting deeper than [`MAX_VALUE_DEPTH`], and more text or values
    /// than [`fmt::MAX_TEXT`](crate::fmt::MAX_TEXT) has room for.
    pub fn to_json(&self) -> Result<serde_json::Value, ToJsonError> {
        let mut walk = ToJson {
            left: crate::fmt::MAX_TEXT,
        };
        walk.value(self, 0)
    }
}

/// A walk over a value, with what may still come of it: shared parts count as often as they occur.
struct ToJson {
    left: usize,
}

impl ToJson {
    /// The least that a value is taken for, in bytes.
    const NODE: usize = 16;

    fn charge(&mut self, bytes: usize) -> Result<(), ToJsonError> {
        let left = self.left.checked_sub(bytes.max(Self::NODE));
        self.left = left.ok_or(ToJsonError::TooLarge)?;
        Ok(())
    }

    fn text(&mut self, text: &GoString) -> Result<String, ToJsonError> {
        self.charge(text.len())?;
        Ok(text.to_encoded())
    }

    fn value(&mut self, value: &Value, depth: usize) -> Result<serde_json::Value, ToJsonError> {
        use serde_json::Value as Json;
        if depth > MAX_VALUE_DEPTH {
            return Err(ToJsonError::TooDeep);
        }
        self.charge(0)?;
        Ok(match value {
            Value::Nil | Value::TypedNil(_) => Json::Null,
            Value::Bool(b) => Json::Bool(*b),
            Value::Int(_, n) => Json::from(*n),
            Value::Uint(_, n) => Json::from(*n),
            Value::Float(_, x) => float_to_json(*x)?,
            Value::Complex(..) | Value::Func(_) => {
                return Err(ToJsonError::UnsupportedType(value.type_name()));
            }
            Value::String(s) => Json::String(self.text(s)?),
            Value::Bytes(b) if b.is_nil() => Json::Null,
            Value::Bytes(b) => {
                self.charge(b.len())?;
                Json::String(b.to_base64())
            }
            Value::List(l) if l.is_nil() => Json::Null,
            Value::List(l) => {
                let items: Result<Vec<_>, _> = l.iter().map(|v| self.value(v, depth + 1)).collect();
                Json::Array(items?)
            }
            Value::Map(m) if m.is_nil() => Json::Null,
            Value::Map(m) => {
                let mut entries = serde_json::Map::new();
                for (key, item) in m.borrow().iter() {
                    entries.insert(self.text(key)?, self.value(item, depth + 1)?);
                }
                Json::Object(entries)
            }
            Value::Object(o) => {
                if let Some(text) = o.json() {
                    serde_json::from_str(&text)
                        .map_err(|_| ToJsonError::Malformed(value.type_name()))?
                } else if let Some(inner) = o.underlying() {
                    self.value(&inner, depth + 1)?
                } else {
                    let mut entries = serde_json::Map::new();
                    for (key, item) in o.json_fields() {
                        entries.insert(key.to_owned(), self.value(&item, depth + 1)?);
                    }
                    Json::Object(entries)
                }
            }
        })
    }
}

fn float_to_json(x: f64) -> Result<serde_json::Value, ToJsonError> {
    if !x.is_finite() {
        let text = if x.is_nan() {
            "NaN"
        } else if x > 0.0 {
            "+Inf"
        } else {
            "-Inf"
        };
        return Err(ToJsonError::UnsupportedValue(text.to_owned()));
    }
    // Below 1e21 Go writes an integral float without exponent or fraction.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::float_cmp,
        reason = "only an integral float in range is converted"
    )]
    if x.trunc() == x && x.abs() < 9.0e18 && !(x == 0.0 && x.is_sign_negative()) {
        return Ok(serde_json::Value::from(x as i64));
    }
    Ok(serde_json::Number::from_f64(x).map_or(serde_json::Value::Null, serde_json::Value::Number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_numbers_are_float64() {
        let value = Value::from(&serde_json::json!({"a": 5_000_000, "b": [1, "x", null]}));
        let map = value.as_map().unwrap();
        assert_eq!(map.get(b"a").unwrap().type_name(), "float64");
        assert_eq!(
            value.to_json().unwrap().to_string(),
            r#"{"a":5000000,"b":[1,"x",null]}"#
        );
    }

    #[test]
    fn ints_are_kept_when_asked_for() {
        let value = Value::from_json_with_ints(&serde_json::json!(7));
        assert_eq!(value.type_name(), "int64");
    }

    #[test]
    fn a_map_that_contains_itself_is_refused() {
        let map = Map::default();
        map.insert("self".into(), Value::Map(map.clone()));
        assert_eq!(Value::Map(map.clone()).to_json(), Err(ToJsonError::TooDeep));
        map.clear();
    }

    #[test]
    fn a_deeply_nested_list_is_dropped_without_recursion() {
        let mut value = Value::Nil;
        for _ in 0..1_000_000 {
            value = Value::list(vec![value]);
        }
        drop(value);
        let mut value = Value::Nil;
        for _ in 0..1_000_000 {
            value = Value::map([("k", value)]);
        }
        drop(value);
    }

    #[test]
    fn a_view_of_a_map_shares_its_entries() {
        static VALUES: Type = Type::defined("common.Values", &gotype::MAP_ANY, &[]);
        let plain = Map::default();
        let named = plain.with_type(&VALUES);
        plain.insert("a".into(), Value::Bool(true));
        assert!(named.contains_key(b"a"));
        assert_eq!(Value::Map(named).type_name(), "common.Values");
        assert!(VALUES.assignable_to(&gotype::MAP_ANY));
        assert!(!gotype::MAP_STRING.assignable_to(&gotype::MAP_ANY));
    }
}
