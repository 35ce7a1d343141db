//! Go structs, pointers and defined scalar types as templates see them.
//!
//! An [`Object`] is anything that is neither a plain Go value nor a list or map: `time.Time`,
//! `time.Duration`, `*semver.Version`, `*common.Capabilities`. The host implements the trait; the
//! executor finds methods through the object's [`Type`] first and fields second, as
//! `text/template` does. Maps and lists of defined types (`common.Values`) need no object: a
//! [`Type::defined`] with methods is enough.

use std::any::Any;
use std::fmt;

use crate::bytestring::GoString;
use crate::context::Context;
use crate::func::{FuncResult, Signature};
use crate::gotype::Type;
use crate::value::Value;

/// A method that templates can call.
pub struct Method {
    /// The exported name.
    pub name: &'static str,
    /// Parameters (without the receiver) and result.
    pub signature: Signature,
    /// The code; the second argument is the receiver.
    pub call: fn(&mut Context<'_>, &Value, &[Value]) -> FuncResult,
}

impl Method {
    /// A method from its name, the types it takes and gives, and its code.
    pub const fn new(
        name: &'static str,
        params: &'static [&'static Type],
        result: &'static Type,
        call: fn(&mut Context<'_>, &Value, &[Value]) -> FuncResult,
    ) -> Self {
        Self {
            name,
            signature: Signature::new(params, result),
            call,
        }
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Method({})", self.name)
    }
}

/// What a struct answers for a field name.
pub enum Field {
    /// A field of a concrete type.
    Value(Value),
    /// A field of type `interface {}`; nil is allowed.
    Interface(Value),
    /// The struct has the field, but it is not exported.
    Unexported,
}

/// A struct, a pointer to one, or a value of a defined scalar type.
pub trait Object: Any {
    /// The Go type. For a pointer: kind `Pointer` with the struct as `elem`.
    fn go_type(&self) -> &'static Type;

    /// The field of this name, of the struct or of the struct pointed to.
    fn field(&self, name: &str) -> Option<Field> {
        let _ = name;
        None
    }

    /// All exported fields in order of declaration, for encoding.
    fn fields(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// The fields as JSON has them: under the names of their tags, without those that are left out.
    fn json_fields(&self) -> Vec<(&'static str, Value)> {
        self.fields()
    }

    /// All fields in order of declaration, those that are not exported too, for `fmt`.
    fn printed_fields(&self) -> Vec<(&'static str, Value)> {
        self.fields()
    }

    /// The plain value of a defined scalar type: `time.Duration` gives its `int64`.
    fn underlying(&self) -> Option<Value> {
        None
    }

    /// What `Error()` or `String()` returns, when the type has one; `fmt` prints that for `%v` and `%s`.
    fn text(&self) -> Option<GoString> {
        None
    }

    /// What `String()` of a pointer to this value returns, when only the pointer has it. An action
    /// that prints a field of a struct behind a pointer uses it.
    fn pointer_text(&self) -> Option<GoString> {
        None
    }

    /// What `MarshalJSON` or `MarshalText` makes of the value, as JSON text; `None` means the
    /// encoder uses [`Object::underlying`] or [`Object::json_fields`].
    fn json(&self) -> Option<String> {
        None
    }

    /// What a function is given for this value, when that is another: Go copies a struct that is
    /// passed as an interface, and a copy lacks the methods that only a pointer has.
    fn copied(&self) -> Option<Value> {
        None
    }

    /// What a pointer points to, when a function parameter takes the struct itself.
    fn deref(&self) -> Option<Value> {
        None
    }

    /// Go's `==` for two values of the same type; `None` when the type cannot be compared.
    fn go_eq(&self, other: &dyn Object) -> Option<bool> {
        let _ = other;
        None
    }
}

impl dyn Object {
    /// The concrete Rust value behind the object, for functions that work on one kind of object.
    pub fn downcast_ref<T: Object>(&self) -> Option<&T> {
        let any: &dyn Any = self;
        any.downcast_ref::<T>()
    }
}

impl fmt::Debug for dyn Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({})", self.go_type().name)
    }
}
