//! The format string of `Printf`: flags, widths, precisions, argument indexes.

use super::FormatError;
use super::layout::Flags;
use super::print::Printer;
use crate::strconv::decode_rune;
use crate::value::Value;

/// Widths and precisions stop here.
const MAX_NUMBER: i64 = 1_000_000;

/// Where reading of the format string stands.
struct Reader<'a> {
    format: &'a [u8],
    at: usize,
    args: &'a [Value],
    arg: usize,
    reordered: bool,
    good_index: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    /// A decimal number; `None` when there is none or it is far too large (then reading ends).
    fn number(&mut self, end: usize) -> Option<usize> {
        let mut value: Option<i64> = None;
        while self.at < end
            && let Some(digit) = self.peek().filter(u8::is_ascii_digit)
        {
            if value.unwrap_or(0) > MAX_NUMBER {
                self.at = end;
                return None;
            }
            value = Some(value.unwrap_or(0) * 10 + i64::from(digit - b'0'));
            self.at += 1;
        }
        value.and_then(|v| usize::try_from(v).ok())
    }

    /// An argument index in brackets; whether one was there and good.
    fn index(&mut self) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.reordered = true;
        let start = self.at;
        let rest = self.format.get(start..).unwrap_or(b"");
        let close = rest
            .iter()
            .position(|b| *b == b']')
            .filter(|_| rest.len() >= 3);
        let Some(close) = close else {
            self.at = start + 1;
            self.good_index = false;
            return false;
        };
        let close = start + close;
        self.at = start + 1;
        let number = self.number(close);
        let whole = number.filter(|_| self.at == close);
        self.at = close + 1;
        match whole {
            Some(n) if n >= 1 && n <= self.args.len() => {
                self.arg = n - 1;
                true
            }
            other => {
                self.good_index = false;
                other.is_some()
            }
        }
    }

    /// The operand of `*`: an integer of any type.
    fn star(&mut self) -> Option<i64> {
        let value = self.args.get(self.arg)?;
        self.arg += 1;
        let n = match value {
            Value::Uint(_, n) => i64::try_from(*n).ok(),
            other => other.as_int(),
        }?;
        (-MAX_NUMBER..=MAX_NUMBER).contains(&n).then_some(n)
    }
}

fn width_and_precision(reader: &mut Reader<'_>, printer: &mut Printer) -> Flags {
    let mut flags = printer.layout.flags;
    let end = reader.format.len();
    let mut after_index = reader.index();
    if reader.peek() == Some(b'*') {
        reader.at += 1;
        match reader.star() {
            Some(n) => {
                flags.width = usize::try_from(n.unsigned_abs()).ok();
                if n < 0 {
                    flags.minus = true;
                    flags.zero = false;
                }
            }
            None => printer.layout.write("%!(BADWIDTH)"),
        }
        after_index = false;
    } else {
        flags.width = reader.number(end);
        if after_index && flags.width.is_some() {
            reader.good_index = false;
        }
    }
    if reader.at + 1 < end && reader.peek() == Some(b'.') {
        reader.at += 1;
        if after_index {
            reader.good_index = false;
        }
        after_index = reader.index();
        if reader.peek() == Some(b'*') {
            reader.at += 1;
            let precision = reader.star();
            flags.precision = precision.and_then(|n| usize::try_from(n).ok());
            if flags.precision.is_none() {
                printer.layout.write("%!(BADPREC)");
            }
            after_index = false;
        } else {
            flags.precision = Some(reader.number(end).unwrap_or(0));
        }
    }
    if !after_index {
        reader.index();
    }
    flags
}

/// `fmt.Sprintf`.
///
/// # Errors
/// Too much text, or a value nested too deep.
pub fn printf(format: &[u8], args: &[Value]) -> Result<Vec<u8>, FormatError> {
    let mut printer = Printer::default();
    let mut reader = Reader {
        format,
        at: 0,
        args,
        arg: 0,
        reordered: false,
        good_index: true,
    };
    loop {
        reader.good_index = true;
        let rest = format.get(reader.at..).unwrap_or(b"");
        let plain = rest.iter().position(|b| *b == b'%').unwrap_or(rest.len());
        printer
            .layout
            .out
            .extend_from_slice(rest.get(..plain).unwrap_or(rest));
        reader.at += plain;
        if reader.at >= format.len() {
            break;
        }
        reader.at += 1;
        let mut flags = Flags::default();
        while let Some(byte) = reader.peek() {
            match byte {
                b'#' => flags.sharp = true,
                b'0' => flags.zero = true,
                b'+' => flags.plus = true,
                b'-' => flags.minus = true,
                b' ' => flags.space = true,
                _ => break,
            }
            reader.at += 1;
        }
        printer.layout.flags = flags;
        flags = width_and_precision(&mut reader, &mut printer);
        if reader.at >= format.len() {
            printer.layout.write("%!(NOVERB)");
            break;
        }
        let (verb, size) = decode_rune(format.get(reader.at..).unwrap_or(b""));
        reader.at += size;
        if verb == '%' {
            printer.layout.write("%");
            continue;
        }
        let complaint = if !reader.good_index {
            "(BADINDEX)"
        } else if reader.arg >= args.len() {
            "(MISSING)"
        } else {
            if matches!(verb, 'v' | 'w') {
                flags.sharp_v = std::mem::take(&mut flags.sharp);
                flags.plus_v = std::mem::take(&mut flags.plus);
            }
            printer.layout.flags = flags;
            if let Some(arg) = args.get(reader.arg) {
                printer.argument(arg, verb)?;
            }
            reader.arg += 1;
            continue;
        };
        printer.layout.write("%!");
        printer.layout.write_char(verb);
        printer.layout.write(complaint);
    }
    if !reader.reordered && reader.arg < args.len() {
        printer.layout.flags = Flags::default();
        printer.layout.write("%!(EXTRA ");
        for (i, arg) in args.iter().enumerate().skip(reader.arg) {
            if i > reader.arg {
                printer.layout.write(", ");
            }
            if matches!(arg, Value::Nil) {
                printer.layout.write("<nil>");
            } else {
                printer.layout.write(arg.type_name());
                printer.layout.write("=");
                printer.argument(arg, 'v')?;
            }
        }
        printer.layout.write(")");
    }
    printer.finish()
}
