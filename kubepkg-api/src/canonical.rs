//! Canonical JSON: the bytes that digests are taken over (reference §2.3).
//!
//! It is what Go's `encoding/json` writes, because indexes that are published already were digested so:
//! compact; the fields of a struct in the order of their declaration; maps sorted by key; empty optional fields
//! left out (the types of this crate do that); `<`, `>`, `&`, U+2028 and U+2029 escaped as `\u003c` and so on;
//! numbers that are not whole in the shortest form, with an exponent below 1e-6 and from 1e21 on.

use kubepkg_yaml::GoJsonFormatter;
use serde::Serialize;

use crate::digest::Digest;

/// A value that has no canonical JSON: a map with keys that are not strings. None of the types of this crate is
/// one.
#[derive(Debug, thiserror::Error)]
#[error("value has no canonical JSON")]
pub struct CanonicalError(#[from] serde_json::Error);

/// The canonical JSON of a value.
///
/// # Errors
/// [`CanonicalError`] for a value that JSON cannot hold.
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    let mut bytes = Vec::with_capacity(256);
    value.serialize(&mut serde_json::Serializer::with_formatter(
        &mut bytes,
        GoJsonFormatter,
    ))?;
    Ok(bytes)
}

/// The digest of a value's canonical JSON.
///
/// # Errors
/// [`CanonicalError`] for a value that JSON cannot hold.
pub fn digest<T: Serialize + ?Sized>(value: &T) -> Result<Digest, CanonicalError> {
    Ok(Digest::of(&to_vec(value)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(value: &serde_json::Value) -> String {
        String::from_utf8(to_vec(value).unwrap()).unwrap()
    }

    /// By the documentation of Go's `json.Marshal`: HTML escaping, sorted keys, ES6 numbers.
    #[test]
    fn strings_are_escaped_as_go_does() {
        assert_eq!(
            text(&json!(">=1.0.0 <2.0.0 & \u{2028}\u{2029}")),
            r#""\u003e=1.0.0 \u003c2.0.0 \u0026 \u2028\u2029""#
        );
        assert_eq!(
            text(&json!("\"\\\n\r\t\u{1}\u{7f}ä")),
            "\"\\\"\\\\\\n\\r\\t\\u0001\u{7f}ä\""
        );
        assert_eq!(
            text(&json!({ "b": 1, "a": { "<": null } })),
            r#"{"a":{"\u003c":null},"b":1}"#
        );
    }

    #[test]
    fn numbers_are_written_as_go_does() {
        for (number, written) in [
            (json!(1), "1"),
            (json!(-0.5), "-0.5"),
            (json!(1.0), "1"),
            (json!(1e20), "100000000000000000000"),
            (json!(1e21), "1e+21"),
            (json!(1.5e-7), "1.5e-7"),
            (json!(1e-6), "0.000001"),
            (json!(0.0), "0"),
            (json!(u64::MAX), "18446744073709551615"),
        ] {
            assert_eq!(text(&number), written);
        }
    }

    /// A feature of `serde_json` that another crate could switch on would change every digest.
    #[test]
    fn maps_are_sorted_whatever_the_order_of_insertion() {
        let value: serde_json::Value = serde_json::from_str(r#"{"z":1,"a":2}"#).unwrap();
        assert_eq!(text(&value), r#"{"a":2,"z":1}"#);
    }
}
