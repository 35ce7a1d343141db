//! JSON as Go's `encoding/json` writes it: `<`, `>`, `&` and the two Unicode line separators escaped, floats
//! without needless point, `-0` kept. Release records and lock digests depend on these bytes.

use kubepkg_yaml::GoJsonFormatter;
use serde::Serialize;

/// Writes `value` as Go's `json.Marshal` would: compact, HTML-safe, Go's floats. Field order is serde's,
/// map order is that of the map.
///
/// # Errors
/// When the value can't be written as JSON at all (a map with keys that are no texts).
pub fn to_go_json<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(
        &mut out,
        GoJsonFormatter,
    ))?;
    Ok(out)
}

/// Go names the first character that does not fit and what it looked for; the place comes from Rust's error.
pub(crate) fn syntax_error(text: &[u8], error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected EOF".into();
    }
    let line = text
        .split(|byte| *byte == b'\n')
        .nth(error.line().saturating_sub(1))
        .unwrap_or_default();
    let at = error.column().saturating_sub(1);
    let found = String::from_utf8_lossy(line.get(at..).unwrap_or_default())
        .chars()
        .next();
    let message = error.to_string();
    let wanted = if message.starts_with("expected `:`") {
        "after object key"
    } else if message.starts_with("expected `,` or `}`") {
        "after object key:value pair"
    } else if message.starts_with("expected `,` or `]`") {
        "after array element"
    } else if message.starts_with("key must be a string") || message.starts_with("trailing comma") {
        "looking for beginning of object key string"
    } else {
        "looking for beginning of value"
    };
    match found {
        Some(found) => format!("invalid character '{found}' {wanted}"),
        None => "unexpected EOF".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::to_go_json;

    #[test]
    fn escapes_html_and_shortens_floats() {
        // Go: json.Marshal(map[string]any{"a": "<&>\u2028", "f": 5000000.0})
        let value = serde_json::json!({"a": "<&>\u{2028}", "f": 5_000_000.0});
        assert_eq!(
            to_go_json(&value).unwrap(),
            br#"{"a":"\u003c\u0026\u003e\u2028","f":5000000}"#
        );
    }
}
