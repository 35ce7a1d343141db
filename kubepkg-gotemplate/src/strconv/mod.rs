//! Go's `strconv`: numbers and quoted strings, read and written exactly as Go does.
//!
//! Everything here works on primitives and knows no template value. The rules are those of the Go
//! standard library (`strconv` package documentation); the digits of a float come from Rust's own
//! shortest and exact conversions, which are defined by the same mathematics.

mod float;
mod int;
mod quote;

pub(crate) use float::{format_float, parse_float};
pub(crate) use int::{NumErrorKind, atoi, parse_int, parse_uint};
pub(crate) use quote::{
    can_backquote, chars, decode_rune, is_print, quote, quote_rune, quote_rune_to_ascii,
    quote_to_ascii, quote_with,
};
