//! Printing one value with a verb, and `Print` and `Println` of several.

use super::layout::Layout;
use super::{FormatError, MAX_TEXT};
use crate::gotype::Kind;
use crate::object::Object;
use crate::value::{ComplexKind, FloatKind, MAX_VALUE_DEPTH, Value};

/// The address that every pointer and function prints.
const ADDRESS: u64 = 0xc0_0001_0000;

/// What `p.arg` and `p.value` are in Go: the operand that a wrong verb complains about.
#[derive(Clone, Copy)]
enum Operand<'a> {
    /// The nil interface.
    Nil,
    /// Printed again by `printArg`: its methods count.
    Value(&'a Value),
}

/// A printer: output, flags, and whether a complaint is being written.
#[derive(Default)]
pub(super) struct Printer {
    pub(super) layout: Layout,
    erroring: bool,
    /// The defined type whose plain value is being printed.
    defined: Option<&'static str>,
}

type Printed = Result<(), FormatError>;

impl Printer {
    pub(super) fn finish(self) -> Result<Vec<u8>, FormatError> {
        self.check()?;
        Ok(self.layout.out)
    }

    fn check(&self) -> Printed {
        if self.layout.out.len() > MAX_TEXT {
            Err(FormatError::TooLarge)
        } else {
            Ok(())
        }
    }

    fn bad_verb(&mut self, verb: char, operand: Operand<'_>) -> Printed {
        let before = std::mem::replace(&mut self.erroring, true);
        self.layout.write("%!");
        self.layout.write_char(verb);
        self.layout.write("(");
        match operand {
            Operand::Nil | Operand::Value(Value::Nil) => self.layout.write("<nil>"),
            Operand::Value(value) => {
                let name = self.defined.take().unwrap_or(value.type_name());
                self.layout.write(name);
                self.layout.write("=");
                self.operand(value, 'v', 0)?;
            }
        }
        self.layout.write(")");
        self.erroring = before;
        Ok(())
    }

    /// Go's `printArg`.
    pub(super) fn argument(&mut self, value: &Value, verb: char) -> Printed {
        self.check()?;
        if matches!(value, Value::Nil) {
            if matches!(verb, 'T' | 'v') {
                self.layout.pad(b"<nil>");
                return Ok(());
            }
            return self.bad_verb(verb, Operand::Nil);
        }
        match verb {
            'T' => {
                self.layout.string(value.type_name().as_bytes());
                Ok(())
            }
            'p' => self.pointer(value, verb),
            _ => self.operand(value, verb, 0),
        }
    }

    /// Go's `printArg` after the special verbs at depth 0, `printValue` below.
    fn operand(&mut self, value: &Value, verb: char, depth: usize) -> Printed {
        self.check()?;
        if depth > MAX_VALUE_DEPTH {
            return Err(FormatError::TooDeep);
        }
        match value {
            // Only a nil inside a list, map or struct comes here.
            Value::Nil => {
                let text = if self.layout.flags.sharp_v {
                    "interface {}(nil)"
                } else {
                    "<nil>"
                };
                self.layout.write(text);
                Ok(())
            }
            Value::Bool(flag) => {
                if matches!(verb, 't' | 'v') {
                    self.layout.boolean(*flag);
                    return Ok(());
                }
                self.bad_verb(verb, Operand::Value(value))
            }
            Value::Int(_, n) => self.integer(value, n.unsigned_abs(), *n < 0, true, verb),
            Value::Uint(_, n) => self.integer(value, *n, false, false, verb),
            Value::Float(kind, x) => {
                let bits = if *kind == FloatKind::Float32 { 32 } else { 64 };
                self.float(value, *x, bits, verb)
            }
            Value::Complex(kind, parts) => {
                if !"vbgGxXfFeE".contains(verb) {
                    return self.bad_verb(verb, Operand::Value(value));
                }
                let bits = if *kind == ComplexKind::Complex64 {
                    32
                } else {
                    64
                };
                let plus = self.layout.flags.plus;
                self.layout.write("(");
                self.float(value, parts.0, bits, verb)?;
                self.layout.flags.plus = true;
                self.float(value, parts.1, bits, verb)?;
                self.layout.write("i)");
                self.layout.flags.plus = plus;
                Ok(())
            }
            Value::String(text) => self.string(value, text, verb),
            Value::Bytes(bytes) => self.bytes(value, bytes.as_bytes(), bytes.is_nil(), verb, depth),
            Value::List(list) => {
                if self.refuses_wrap(value, verb)? {
                    return Ok(());
                }
                let sharp = self.layout.flags.sharp_v;
                if sharp {
                    self.layout.write(list.go_type().name);
                    if list.is_nil() {
                        self.layout.write("(nil)");
                        return Ok(());
                    }
                }
                self.layout.write(if sharp { "{" } else { "[" });
                for (i, item) in list.iter().enumerate() {
                    self.separate(i);
                    self.operand(item, verb, depth + 1)?;
                }
                self.layout.write(if sharp { "}" } else { "]" });
                Ok(())
            }
            Value::Map(map) => {
                if self.refuses_wrap(value, verb)? {
                    return Ok(());
                }
                let sharp = self.layout.flags.sharp_v;
                if sharp {
                    self.layout.write(map.go_type().name);
                    if map.is_nil() {
                        self.layout.write("(nil)");
                        return Ok(());
                    }
                }
                self.layout.write(if sharp { "{" } else { "map[" });
                for (i, (key, item)) in map.borrow().iter().enumerate() {
                    self.separate(i);
                    self.operand(&Value::String(key.clone()), verb, depth + 1)?;
                    self.layout.write(":");
                    self.operand(item, verb, depth + 1)?;
                }
                self.layout.write(if sharp { "}" } else { "]" });
                Ok(())
            }
            Value::Object(object) => self.object(value, object.as_ref(), verb, depth),
            Value::Func(_) | Value::TypedNil(_) => {
                if self.refuses_wrap(value, verb)? {
                    return Ok(());
                }
                self.pointer(value, verb)
            }
        }
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.layout
                .write(if self.layout.flags.sharp_v { ", " } else { " " });
        }
    }

    /// `%w` is for `Errorf` only.
    fn refuses_wrap(&mut self, value: &Value, verb: char) -> Result<bool, FormatError> {
        if verb == 'w' && !self.erroring {
            self.bad_verb(verb, Operand::Value(value))?;
            return Ok(true);
        }
        Ok(false)
    }

    fn integer(
        &mut self,
        value: &Value,
        magnitude: u64,
        negative: bool,
        signed: bool,
        verb: char,
    ) -> Printed {
        // The 64-bit pattern that Go works on.
        let bits = if negative {
            0_u64.wrapping_sub(magnitude)
        } else {
            magnitude
        };
        match verb {
            'v' if self.layout.flags.sharp_v && !signed => self.prefixed_hex(magnitude, true),
            'v' | 'd' => self.layout.integer(magnitude, negative, 10, verb),
            'b' => self.layout.integer(magnitude, negative, 2, verb),
            'o' | 'O' => self.layout.integer(magnitude, negative, 8, verb),
            'x' | 'X' => self.layout.integer(magnitude, negative, 16, verb),
            'c' => self.layout.character(bits),
            'q' => self.layout.quoted_character(bits),
            'U' => self.layout.unicode(bits),
            _ => return self.bad_verb(verb, Operand::Value(value)),
        }
        Ok(())
    }

    fn prefixed_hex(&mut self, value: u64, prefix: bool) {
        let sharp = std::mem::replace(&mut self.layout.flags.sharp, prefix);
        self.layout.integer(value, false, 16, 'v');
        self.layout.flags.sharp = sharp;
    }

    fn float(&mut self, value: &Value, x: f64, bits: u32, verb: char) -> Printed {
        match verb {
            'b' => self.layout.float(x, bits, b'b', None),
            'v' | 'g' => self.layout.float(x, bits, b'g', None),
            'G' => self.layout.float(x, bits, b'G', None),
            'x' => self.layout.float(x, bits, b'x', None),
            'X' => self.layout.float(x, bits, b'X', None),
            'f' | 'F' => self.layout.float(x, bits, b'f', Some(6)),
            'e' => self.layout.float(x, bits, b'e', Some(6)),
            'E' => self.layout.float(x, bits, b'E', Some(6)),
            _ => return self.bad_verb(verb, Operand::Value(value)),
        }
        Ok(())
    }

    fn string(&mut self, value: &Value, text: &[u8], verb: char) -> Printed {
        match verb {
            'v' if self.layout.flags.sharp_v => self.layout.quoted(text),
            'v' | 's' => self.layout.string(text),
            'x' => self.layout.hex_string(text, false),
            'X' => self.layout.hex_string(text, true),
            'q' => self.layout.quoted(text),
            _ => return self.bad_verb(verb, Operand::Value(value)),
        }
        Ok(())
    }

    fn bytes(
        &mut self,
        value: &Value,
        bytes: &[u8],
        is_nil: bool,
        verb: char,
        depth: usize,
    ) -> Printed {
        match verb {
            's' => self.layout.string(bytes),
            'x' => self.layout.hex_string(bytes, false),
            'X' => self.layout.hex_string(bytes, true),
            'q' => self.layout.quoted(bytes),
            'w' if depth > 0 => return self.refuses_wrap(value, verb).map(|_| ()),
            _ if self.layout.flags.sharp_v => {
                self.layout
                    .write(if depth == 0 { "[]byte" } else { "[]uint8" });
                if is_nil {
                    self.layout.write("(nil)");
                    return Ok(());
                }
                self.layout.write("{");
                for (i, byte) in bytes.iter().enumerate() {
                    self.separate(i);
                    self.prefixed_hex(u64::from(*byte), true);
                }
                self.layout.write("}");
            }
            _ => {
                self.layout.write("[");
                for (i, byte) in bytes.iter().enumerate() {
                    self.separate(i);
                    let byte = Value::Uint(crate::value::UintKind::Uint8, u64::from(*byte));
                    self.operand(&byte, verb, depth + 1)?;
                }
                self.layout.write("]");
            }
        }
        Ok(())
    }

    fn object(&mut self, value: &Value, object: &dyn Object, verb: char, depth: usize) -> Printed {
        if !self.erroring {
            if verb == 'w' {
                return self.bad_verb(verb, Operand::Value(value));
            }
            if !self.layout.flags.sharp_v
                && matches!(verb, 'v' | 's' | 'x' | 'X' | 'q')
                && let Some(text) = object.text()
            {
                return self.string(value, &text, verb);
            }
        }
        let ty = object.go_type();
        if let Some(inner) = object.underlying() {
            self.defined = Some(ty.name);
            let printed = self.operand(&inner, verb, depth);
            self.defined = None;
            return printed;
        }
        if ty.kind == Kind::Pointer {
            if depth > 0 {
                return self.pointer(value, verb);
            }
            self.layout.write("&");
        }
        let shown = if ty.kind == Kind::Pointer {
            ty.elem.unwrap_or(ty)
        } else {
            ty
        };
        let (plus, sharp) = (self.layout.flags.plus_v, self.layout.flags.sharp_v);
        if sharp {
            self.layout.write(shown.name);
        }
        self.layout.write("{");
        for (i, (name, field)) in object.printed_fields().iter().enumerate() {
            self.separate(i);
            if plus || sharp {
                self.layout.write(name);
                self.layout.write(":");
            }
            self.operand(field, verb, depth + 1)?;
        }
        self.layout.write("}");
        Ok(())
    }

    fn pointer(&mut self, value: &Value, verb: char) -> Printed {
        if !matches!(
            value.kind(),
            Kind::Pointer | Kind::Func | Kind::Map | Kind::Slice | Kind::Chan
        ) {
            return self.bad_verb(verb, Operand::Value(value));
        }
        let address = if value.is_nil() { 0 } else { ADDRESS };
        let sharp = self.layout.flags.sharp;
        match verb {
            'v' if self.layout.flags.sharp_v => {
                self.layout.write("(");
                self.layout.write(value.type_name());
                self.layout.write(")(");
                if address == 0 {
                    self.layout.write("nil");
                } else {
                    self.prefixed_hex(address, true);
                }
                self.layout.write(")");
                Ok(())
            }
            'v' if address == 0 => {
                self.layout.pad(b"<nil>");
                Ok(())
            }
            'v' | 'p' => {
                self.prefixed_hex(address, !sharp);
                Ok(())
            }
            'b' | 'o' | 'd' | 'x' | 'X' => self.integer(value, address, false, false, verb),
            _ => self.bad_verb(verb, Operand::Value(value)),
        }
    }
}

/// `fmt.Sprint`: a space between two operands when neither is a string.
///
/// # Errors
/// Too much text, or a value nested too deep.
pub fn print(args: &[Value]) -> Result<Vec<u8>, FormatError> {
    let mut printer = Printer::default();
    let mut after_string = false;
    for (i, arg) in args.iter().enumerate() {
        let is_string = arg.kind() == Kind::String;
        if i > 0 && !is_string && !after_string {
            printer.layout.write(" ");
        }
        printer.argument(arg, 'v')?;
        after_string = is_string;
    }
    printer.finish()
}

/// `fmt.Sprintln`: a space between operands and a newline at the end.
///
/// # Errors
/// Too much text, or a value nested too deep.
pub fn println(args: &[Value]) -> Result<Vec<u8>, FormatError> {
    let mut printer = Printer::default();
    for (i, arg) in args.iter().enumerate() {
        if i > 0 {
            printer.layout.write(" ");
        }
        printer.argument(arg, 'v')?;
    }
    printer.layout.write("\n");
    printer.finish()
}

/// One value as `%v`.
///
/// # Errors
/// Too much text, or a value nested too deep.
pub fn display(value: &Value) -> Result<Vec<u8>, FormatError> {
    print(std::slice::from_ref(value))
}
