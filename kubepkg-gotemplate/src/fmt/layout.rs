//! One operand with flags, width and precision: the value-independent half of Go's `fmt`.

use crate::strconv::{
    can_backquote, decode_rune, format_float, is_print, quote, quote_rune, quote_rune_to_ascii,
    quote_to_ascii,
};

/// Flags of one verb, as parsed from `%+-# 0w.p`.
#[derive(Debug, Clone, Copy, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "the flags of a verb are that many switches"
)]
pub(super) struct Flags {
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
    pub(super) minus: bool,
    pub(super) plus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    pub(super) plus_v: bool,
    pub(super) sharp_v: bool,
}

/// The number of characters, a broken byte counting as one.
fn rune_count(bytes: &[u8]) -> usize {
    let mut count = 0;
    let mut rest = bytes;
    while !rest.is_empty() {
        let (_, size) = decode_rune(rest);
        rest = rest.get(size..).unwrap_or(b"");
        count += 1;
    }
    count
}

/// Bytes of the first `n` characters.
fn truncate(bytes: &[u8], n: usize) -> &[u8] {
    let mut at = 0;
    for _ in 0..n {
        let (_, size) = decode_rune(bytes.get(at..).unwrap_or(b""));
        if size == 0 {
            break;
        }
        at += size;
    }
    bytes.get(..at).unwrap_or(bytes)
}

/// Output of a format call, with the flags of the verb at hand.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) out: Vec<u8>,
    pub(super) flags: Flags,
}

impl Layout {
    pub(super) fn write(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    pub(super) fn write_char(&mut self, c: char) {
        let mut buffer = [0; 4];
        self.out
            .extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
    }

    fn padding(&mut self, count: usize, zero: bool) {
        let byte = if zero && !self.flags.minus {
            b'0'
        } else {
            b' '
        };
        self.out.extend(std::iter::repeat_n(byte, count));
    }

    fn pad_with(&mut self, text: &[u8], zero: bool) {
        let width = self.flags.width.unwrap_or(0);
        let missing = if width == 0 {
            0
        } else {
            width.saturating_sub(rune_count(text))
        };
        if self.flags.minus {
            self.out.extend_from_slice(text);
            self.padding(missing, zero);
        } else {
            self.padding(missing, zero);
            self.out.extend_from_slice(text);
        }
    }

    pub(super) fn pad(&mut self, text: &[u8]) {
        self.pad_with(text, self.flags.zero);
    }

    pub(super) fn boolean(&mut self, value: bool) {
        self.pad(if value { b"true" } else { b"false" });
    }

    /// An integer in `base` 2, 8, 10 or 16.
    pub(super) fn integer(&mut self, magnitude: u64, negative: bool, base: u8, verb: char) {
        let flags = self.flags;
        let mut precision = 0;
        if let Some(wanted) = flags.precision {
            precision = wanted;
            if wanted == 0 && magnitude == 0 {
                self.padding(flags.width.unwrap_or(0), false);
                return;
            }
        } else if flags.zero
            && !flags.minus
            && let Some(width) = flags.width
        {
            precision = width;
            if negative || flags.plus || flags.space {
                precision = precision.saturating_sub(1);
            }
        }
        let digits = match (base, verb) {
            (2, _) => format!("{magnitude:b}"),
            (8, _) => format!("{magnitude:o}"),
            (16, 'X') => format!("{magnitude:X}"),
            (16, _) => format!("{magnitude:x}"),
            _ => magnitude.to_string(),
        };
        let zeros = precision.saturating_sub(digits.len());
        let mut text = Vec::with_capacity(zeros + digits.len() + 3);
        if negative {
            text.push(b'-');
        } else if flags.plus {
            text.push(b'+');
        } else if flags.space {
            text.push(b' ');
        }
        if verb == 'O' {
            text.extend_from_slice(b"0o");
        }
        if flags.sharp {
            match base {
                2 => text.extend_from_slice(b"0b"),
                8 if zeros == 0 && !digits.starts_with('0') => text.push(b'0'),
                16 => text.extend_from_slice(if verb == 'X' { b"0X" } else { b"0x" }),
                _ => {}
            }
        }
        text.extend(std::iter::repeat_n(b'0', zeros));
        text.extend_from_slice(digits.as_bytes());
        self.pad_with(&text, false);
    }

    /// `%U`; `bits` is the 64-bit pattern of the operand.
    pub(super) fn unicode(&mut self, bits: u64) {
        let precision = self.flags.precision.unwrap_or(4).max(4);
        let mut text = format!("U+{bits:0precision$X}");
        if self.flags.sharp
            && let Some(c) = u32::try_from(bits).ok().and_then(char::from_u32)
            && is_print(c)
        {
            text.push_str(" '");
            text.push(c);
            text.push('\'');
        }
        self.pad_with(text.as_bytes(), false);
    }

    /// `%c`.
    pub(super) fn character(&mut self, bits: u64) {
        let c = u32::try_from(bits).ok().and_then(char::from_u32);
        let mut buffer = [0; 4];
        let text = c
            .unwrap_or(char::REPLACEMENT_CHARACTER)
            .encode_utf8(&mut buffer);
        let text = text.as_bytes().to_vec();
        self.pad(&text);
    }

    /// `%q` of an integer.
    pub(super) fn quoted_character(&mut self, bits: u64) {
        let rune = u32::try_from(bits).unwrap_or(0xfffd);
        let text = if self.flags.plus {
            quote_rune_to_ascii(rune)
        } else {
            quote_rune(rune)
        };
        self.pad(text.as_bytes());
    }

    /// `%s`.
    pub(super) fn string(&mut self, text: &[u8]) {
        match self.flags.precision {
            Some(n) => self.pad(truncate(text, n)),
            None => self.pad(text),
        }
    }

    /// `%q`.
    pub(super) fn quoted(&mut self, text: &[u8]) {
        let text = self.flags.precision.map_or(text, |n| truncate(text, n));
        if self.flags.sharp && can_backquote(text) {
            let mut raw = vec![b'`'];
            raw.extend_from_slice(text);
            raw.push(b'`');
            self.pad(&raw);
            return;
        }
        let text = if self.flags.plus {
            quote_to_ascii(text)
        } else {
            quote(text)
        };
        self.pad(text.as_bytes());
    }

    /// `%x` and `%X` of a string or byte slice.
    pub(super) fn hex_string(&mut self, text: &[u8], upper: bool) {
        let flags = self.flags;
        let text = flags.precision.and_then(|n| text.get(..n)).unwrap_or(text);
        if text.is_empty() {
            self.padding(flags.width.unwrap_or(0), flags.zero);
            return;
        }
        let prefix = if upper { "0X" } else { "0x" };
        let mut shown = String::with_capacity(text.len() * 2 + 2);
        if flags.sharp {
            shown.push_str(prefix);
        }
        for (i, byte) in text.iter().enumerate() {
            if flags.space && i > 0 {
                shown.push(' ');
                if flags.sharp {
                    shown.push_str(prefix);
                }
            }
            for nibble in [byte >> 4, byte & 15] {
                let digit = char::from_digit(u32::from(nibble), 16).unwrap_or('0');
                shown.push(if upper {
                    digit.to_ascii_uppercase()
                } else {
                    digit
                });
            }
        }
        self.pad(shown.as_bytes());
    }

    /// A float; `verb` is one `strconv` knows, `default` the precision without an explicit one.
    pub(super) fn float(&mut self, value: f64, bits: u32, verb: u8, default: Option<usize>) {
        let flags = self.flags;
        let precision = flags.precision.or(default);
        let text = format_float(value, verb, precision, bits);
        let (mut sign, mut number) = match text.strip_prefix(['-', '+']) {
            Some(rest) if text.starts_with('-') => ('-', rest.to_owned()),
            Some(rest) => ('+', rest.to_owned()),
            None => ('+', text),
        };
        if flags.space && sign == '+' && !flags.plus {
            sign = ' ';
        }
        if value.is_nan() || value.is_infinite() {
            if value.is_infinite() || flags.space || flags.plus {
                number.insert(0, sign);
            }
            self.pad_with(number.as_bytes(), false);
            return;
        }
        if flags.sharp && verb != b'b' {
            number = keep_zeros(&number, verb, precision);
        }
        if flags.plus || sign != '+' {
            if flags.zero
                && !flags.minus
                && let Some(width) = flags.width
                && width > number.len() + 1
            {
                self.write_char(sign);
                self.padding(width - number.len() - 1, true);
                self.write(&number);
                return;
            }
            number.insert(0, sign);
        }
        self.pad(number.as_bytes());
    }
}

/// The `#` flag: a decimal point always, and the zeros that `%g` dropped.
fn keep_zeros(number: &str, verb: u8, precision: Option<usize>) -> String {
    let mut digits: i64 = match verb {
        b'g' | b'G' | b'x' => precision.map_or(6, |p| i64::try_from(p).unwrap_or(i64::MAX)),
        _ => 0,
    };
    let mut body = String::new();
    let mut tail = String::new();
    let (mut point, mut seen) = (false, false);
    for (i, c) in number.char_indices() {
        match c {
            '.' => point = true,
            'p' | 'P' => {
                number.get(i..).unwrap_or("").clone_into(&mut tail);
                break;
            }
            'e' | 'E' if verb != b'x' && verb != b'X' => {
                number.get(i..).unwrap_or("").clone_into(&mut tail);
                break;
            }
            _ => {
                seen |= c != '0';
                if seen {
                    digits -= 1;
                }
            }
        }
        body.push(c);
    }
    if !point {
        if body == "0" {
            digits -= 1;
        }
        body.push('.');
    }
    body.extend(std::iter::repeat_n(
        '0',
        usize::try_from(digits).unwrap_or(0),
    ));
    body.push_str(&tail);
    body
}
