//! Descriptions of Go types: what `typeOf`, `kindOf`, `%T` and argument checks speak of.
//!
//! A [`Type`] is a static table entry, so types are compared and passed as `&'static Type`. Only
//! what templates can observe is described: the name as `reflect.Type.String` prints it, the kind,
//! the element type, the underlying type of a defined type, and its methods. Map keys are always
//! strings: no function that Helm offers makes another kind of map. Source: package `reflect` of
//! Go 1.26 and "Assignability" in the Go language specification.

use std::fmt;

use crate::object::Method;

/// A list of parameter types for a [`Signature`](crate::Signature): `types!(STRING, ANY)`.
/// A list that refers to statics must stand in a constant; this puts it there.
#[macro_export]
macro_rules! types {
    ($($ty:path),* $(,)?) => {{
        const TYPES: &[&$crate::Type] = &[$(&$ty),*];
        TYPES
    }};
}

/// A Go kind, as `reflect.Kind` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the variants are Go's own kinds")]
pub enum Kind {
    Invalid,
    Bool,
    Int,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Uintptr,
    Float32,
    Float64,
    Complex64,
    Complex128,
    Array,
    Chan,
    Func,
    Interface,
    Map,
    Pointer,
    Slice,
    String,
    Struct,
    UnsafePointer,
}

impl Kind {
    /// The name that `reflect.Kind.String` gives.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint => "uint",
            Self::Uint8 => "uint8",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Uintptr => "uintptr",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
            Self::Array => "array",
            Self::Chan => "chan",
            Self::Func => "func",
            Self::Interface => "interface",
            Self::Map => "map",
            Self::Pointer => "ptr",
            Self::Slice => "slice",
            Self::String => "string",
            Self::Struct => "struct",
            Self::UnsafePointer => "unsafe.Pointer",
        }
    }

    /// Whether values of this kind can be nil.
    pub fn is_nillable(self) -> bool {
        matches!(
            self,
            Self::Chan | Self::Func | Self::Interface | Self::Map | Self::Pointer | Self::Slice
        )
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Go type.
pub struct Type {
    /// The name as Go prints it: `string`, `map[string]interface {}`, `common.Values`, `*semver.Version`.
    pub name: &'static str,
    /// The kind.
    pub kind: Kind,
    /// The element type of a map, slice, array or pointer.
    pub elem: Option<&'static Type>,
    /// For a defined (named) type other than the predeclared ones: its underlying type.
    pub underlying: Option<&'static Type>,
    /// Whether this is an interface with methods (`io.Writer`, `error`): nothing but nil can be
    /// given to it from a template.
    pub has_interface_methods: bool,
    /// The methods that templates can call.
    pub methods: &'static [Method],
}

impl Type {
    /// A type without element, methods or another underlying type.
    pub const fn basic(name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            kind,
            elem: None,
            underlying: None,
            has_interface_methods: false,
            methods: &[],
        }
    }

    /// A map, slice, array or pointer type literal. For maps `elem` is the value type; keys are strings.
    pub const fn composite(name: &'static str, kind: Kind, elem: &'static Type) -> Self {
        Self {
            elem: Some(elem),
            ..Self::basic(name, kind)
        }
    }

    /// A defined type over `underlying` with the given methods.
    pub const fn defined(
        name: &'static str,
        underlying: &'static Type,
        methods: &'static [Method],
    ) -> Self {
        Self {
            name,
            kind: underlying.kind,
            elem: underlying.elem,
            underlying: Some(underlying),
            has_interface_methods: false,
            methods,
        }
    }

    /// The method of this name.
    pub fn method(&self, name: &str) -> Option<&'static Method> {
        self.methods.iter().find(|m| m.name == name)
    }

    /// Whether this is `interface {}`.
    pub fn is_empty_interface(&self) -> bool {
        self.kind == Kind::Interface && !self.has_interface_methods
    }

    /// Whether both describe the same Go type.
    pub fn is(&self, other: &Type) -> bool {
        std::ptr::eq(self, other) || (self.kind == other.kind && self.name == other.name)
    }

    /// Whether a value of this type may be assigned to `target` without conversion.
    pub fn assignable_to(&self, target: &Type) -> bool {
        if target.is_empty_interface() || self.is(target) {
            return true;
        }
        let is_literal = |t: &Type| {
            t.underlying.is_none()
                && matches!(
                    t.kind,
                    Kind::Map | Kind::Slice | Kind::Array | Kind::Pointer | Kind::Func | Kind::Chan
                )
        };
        let base = |t: &'static Type| t.underlying.unwrap_or(t);
        match (self.underlying, target.underlying) {
            (Some(own), None) => is_literal(target) && base(own).is(target),
            (None, Some(wanted)) => is_literal(self) && self.is(base(wanted)),
            _ => false,
        }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! basic {
    ($($(#[$doc:meta])* $id:ident = $name:literal $kind:ident;)*) => {
        $($(#[$doc])* pub static $id: Type = Type::basic($name, Kind::$kind);)*
    };
}

basic! {
    /// `bool`
    BOOL = "bool" Bool;
    /// `int`
    INT = "int" Int;
    /// `int8`
    INT8 = "int8" Int8;
    /// `int16`
    INT16 = "int16" Int16;
    /// `int32`
    INT32 = "int32" Int32;
    /// `int64`
    INT64 = "int64" Int64;
    /// `uint`
    UINT = "uint" Uint;
    /// `uint8`
    UINT8 = "uint8" Uint8;
    /// `uint16`
    UINT16 = "uint16" Uint16;
    /// `uint32`
    UINT32 = "uint32" Uint32;
    /// `uint64`
    UINT64 = "uint64" Uint64;
    /// `uintptr`
    UINTPTR = "uintptr" Uintptr;
    /// `float32`
    FLOAT32 = "float32" Float32;
    /// `float64`
    FLOAT64 = "float64" Float64;
    /// `complex64`
    COMPLEX64 = "complex64" Complex64;
    /// `complex128`
    COMPLEX128 = "complex128" Complex128;
    /// `string`
    STRING = "string" String;
    /// `interface {}`
    ANY = "interface {}" Interface;
    /// `reflect.Value`: a parameter that accepts everything, nil included. For built-ins.
    REFLECT_VALUE = "reflect.Value" Struct;
    /// The type of a function value whose exact type does not matter.
    FUNC = "func()" Func;
}

/// `io.Writer`: no template value can be given to it.
pub static IO_WRITER: Type = Type {
    has_interface_methods: true,
    ..Type::basic("io.Writer", Kind::Interface)
};
/// `[]uint8`
pub static BYTES: Type = Type::composite("[]uint8", Kind::Slice, &UINT8);
/// `[]interface {}`
pub static SLICE_ANY: Type = Type::composite("[]interface {}", Kind::Slice, &ANY);
/// `[][]interface {}`
pub static SLICE_SLICE_ANY: Type = Type::composite("[][]interface {}", Kind::Slice, &SLICE_ANY);
/// `[]string`
pub static SLICE_STRING: Type = Type::composite("[]string", Kind::Slice, &STRING);
/// `[]int`
pub static SLICE_INT: Type = Type::composite("[]int", Kind::Slice, &INT);
/// `[]int64`
pub static SLICE_INT64: Type = Type::composite("[]int64", Kind::Slice, &INT64);
/// `[]float64`
pub static SLICE_FLOAT64: Type = Type::composite("[]float64", Kind::Slice, &FLOAT64);
/// `[]bool`
pub static SLICE_BOOL: Type = Type::composite("[]bool", Kind::Slice, &BOOL);
/// `map[string]interface {}`
pub static MAP_ANY: Type = Type::composite("map[string]interface {}", Kind::Map, &ANY);
/// `map[string]string`
pub static MAP_STRING: Type = Type::composite("map[string]string", Kind::Map, &STRING);
/// `map[string][]uint8`
pub static MAP_BYTES: Type = Type::composite("map[string][]uint8", Kind::Map, &BYTES);
/// `[]map[string]interface {}`
pub static SLICE_MAP_ANY: Type =
    Type::composite("[]map[string]interface {}", Kind::Slice, &MAP_ANY);
