//! Go's `time` as templates see it: instants with a zone, layouts, durations.
//!
//! Layouts are Go's (`2006-01-02 15:04:05`), durations are Go's (`1h2m3.5s`), error texts too. Zone
//! rules come from the IANA data compiled into the program, so that the same template gives the same
//! text on every machine; `Local` is UTC.

mod duration;
mod instant;
mod layout;
mod parse;

pub use duration::Duration;
pub use instant::{GoTime, Zone};
pub use parse::parse;

/// Quotes as Go's `time` package does in its errors: bytes outside ASCII become `\xNN`.
fn quote(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for byte in text {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(*byte));
            }
            0x20..0x80 => out.push(char::from(*byte)),
            _ => {
                out.push_str("\\x");
                for nibble in [byte >> 4, byte & 15] {
                    out.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
                }
            }
        }
    }
    out.push('"');
    out
}
