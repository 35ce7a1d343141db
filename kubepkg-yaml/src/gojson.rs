//! Go's JSON for types that have a `Serialize` of their own: a formatter for `serde_json`'s serializer.
//!
//! It follows `encoding/json` of Go 1.26: `<`, `>`, `&`, U+2028 and U+2029 are escaped, floats are written without a
//! needless point and with an exponent below 1e-6 and from 1e21 on. Order is the serializer's: fields as declared,
//! maps as they iterate. For a [`serde_json::Value`] there is [`to_go_json`](crate::to_go_json), which has limits.

use std::io;

use serde_json::ser::Formatter;

use crate::number;

/// Writes compact JSON with the bytes of Go's `json.Marshal`; for `serde_json::Serializer::with_formatter`.
#[derive(Debug, Clone, Copy, Default)]
pub struct GoJsonFormatter;

impl Formatter for GoJsonFormatter {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let mut text = String::new();
        number::json(&mut text, value);
        writer.write_all(text.as_bytes())
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (before, special) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            let mut chars = special.chars();
            if let Some(c) = chars.next() {
                write!(writer, "\\u{:04x}", u32::from(c))?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}
