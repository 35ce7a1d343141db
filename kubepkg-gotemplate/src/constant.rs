//! Constants of a template as values: under a parameter's type, or by their own syntax.
//!
//! Unlike [`Value`] a constant can be shared between threads, so that a compiled template can.
//! Source: `evalArg` and `idealConstant` of `text/template/exec.go` in Go 1.26. A constant given to
//! a parameter of a defined scalar type (`time.Duration`) arrives as its underlying value.

use std::rc::Rc;

use crate::bytestring::GoString;
use crate::code::Op;
use crate::gotype::{Kind, REFLECT_VALUE, Type};
use crate::node::{NodeId, NodeKind, Number, Source};
use crate::value::{ComplexKind, FloatKind, IntKind, UintKind, Value};

#[derive(Clone, Debug)]
pub(crate) enum Const {
    Bool(bool),
    Int(IntKind, i64),
    Uint(UintKind, u64),
    Float(FloatKind, f64),
    Complex(ComplexKind, Box<(f64, f64)>),
    Str(GoString),
    /// The zero value of a type that can be nil.
    Zero(&'static Type),
}

impl Const {
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Bool(b) => Value::Bool(*b),
            Self::Int(kind, n) => Value::Int(*kind, *n),
            Self::Uint(kind, n) => Value::Uint(*kind, *n),
            Self::Float(kind, x) => Value::Float(*kind, *x),
            Self::Complex(kind, parts) => Value::Complex(*kind, Rc::new(**parts)),
            Self::Str(text) => Value::String(text.clone()),
            Self::Zero(ty) => Value::zero(ty),
        }
    }
}

/// The value of a number where no type is asked for: its syntax decides.
pub(crate) fn ideal(number: &Number) -> Result<Const, String> {
    let text = number.text.as_str();
    if let Some(parts) = number.complex {
        return Ok(Const::Complex(ComplexKind::Complex128, Box::new(parts)));
    }
    let is_rune = text.starts_with('\'');
    let is_hex_int = text.len() > 2
        && (text.starts_with("0x") || text.starts_with("0X"))
        && !text.contains(['p', 'P']);
    if let Some(x) = number.float
        && !is_rune
        && !is_hex_int
        && text.contains(['.', 'e', 'E', 'p', 'P'])
    {
        return Ok(Const::Float(FloatKind::Float64, x));
    }
    match number.int {
        Some(n) => Ok(Const::Int(IntKind::Int, n)),
        None => Err(format!("{text} overflows int")),
    }
}

/// The instruction for `nil` as an argument.
pub(crate) fn nil_argument(ty: &'static Type) -> Result<Op, String> {
    if ty.is(&REFLECT_VALUE) {
        Ok(Op::Invalid)
    } else if ty.kind == Kind::Interface {
        Ok(Op::NilInterface)
    } else if ty.kind.is_nillable() {
        Ok(Op::Const(Const::Zero(ty)))
    } else {
        Err(format!("cannot assign nil to {ty}"))
    }
}

/// A literal as an argument of the given type.
#[expect(
    clippy::cast_possible_truncation,
    reason = "Go's SetInt, SetUint and SetFloat keep the low bits"
)]
pub(crate) fn literal(
    source: &Source,
    id: NodeId,
    kind: &NodeKind,
    ty: &'static Type,
) -> Result<Const, String> {
    let number = match kind {
        NodeKind::Number(number) => Some(number.as_ref()),
        _ => None,
    };
    let expected = |what: &str| Err(format!("expected {what}; found {}", source.node_text(id)));
    let int = number.and_then(|n| n.int);
    let uint = number.and_then(|n| n.uint);
    let float = number.and_then(|n| n.float);
    Ok(match ty.kind {
        Kind::Bool => match kind {
            NodeKind::Bool(b) => Const::Bool(*b),
            _ => return expected("bool"),
        },
        Kind::String => match kind {
            NodeKind::String(quoted, text) => Const::Str(source.string(*quoted, text.as_deref())),
            _ => return expected("string"),
        },
        Kind::Int | Kind::Int8 | Kind::Int16 | Kind::Int32 | Kind::Int64 => match int {
            Some(n) => match ty.kind {
                Kind::Int8 => Const::Int(IntKind::Int8, i64::from(n as i8)),
                Kind::Int16 => Const::Int(IntKind::Int16, i64::from(n as i16)),
                Kind::Int32 => Const::Int(IntKind::Int32, i64::from(n as i32)),
                Kind::Int64 => Const::Int(IntKind::Int64, n),
                _ => Const::Int(IntKind::Int, n),
            },
            None => return expected("integer"),
        },
        Kind::Uint | Kind::Uint8 | Kind::Uint16 | Kind::Uint32 | Kind::Uint64 | Kind::Uintptr => {
            match uint {
                Some(n) => match ty.kind {
                    Kind::Uint8 => Const::Uint(UintKind::Uint8, u64::from(n as u8)),
                    Kind::Uint16 => Const::Uint(UintKind::Uint16, u64::from(n as u16)),
                    Kind::Uint32 => Const::Uint(UintKind::Uint32, u64::from(n as u32)),
                    Kind::Uint64 => Const::Uint(UintKind::Uint64, n),
                    Kind::Uintptr => Const::Uint(UintKind::Uintptr, n),
                    _ => Const::Uint(UintKind::Uint, n),
                },
                None => return expected("unsigned integer"),
            }
        }
        Kind::Float32 | Kind::Float64 => match float {
            Some(x) if ty.kind == Kind::Float32 => {
                Const::Float(FloatKind::Float32, f64::from(x as f32))
            }
            Some(x) => Const::Float(FloatKind::Float64, x),
            None => return expected("float"),
        },
        Kind::Complex64 | Kind::Complex128 => match number.and_then(|n| n.complex) {
            Some((re, im)) if ty.kind == Kind::Complex64 => Const::Complex(
                ComplexKind::Complex64,
                Box::new((f64::from(re as f32), f64::from(im as f32))),
            ),
            Some(parts) => Const::Complex(ComplexKind::Complex128, Box::new(parts)),
            None => return expected("complex"),
        },
        _ if ty.is_empty_interface() || ty.is(&REFLECT_VALUE) => match kind {
            NodeKind::Bool(b) => Const::Bool(*b),
            NodeKind::String(quoted, text) => Const::Str(source.string(*quoted, text.as_deref())),
            NodeKind::Number(number) => ideal(number)?,
            _ => {
                return Err(format!(
                    "can't handle assignment of {} to empty interface argument",
                    source.node_text(id)
                ));
            }
        },
        _ => {
            return Err(format!(
                "can't handle {} for arg of type {ty}",
                source.node_text(id)
            ));
        }
    })
}
