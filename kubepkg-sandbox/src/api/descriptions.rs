//! What OpenAPI documents say of kinds and fields, for `kubectl explain`.
//!
//! The texts are many times as large as the schemas, so they stay packed, and are read line by line when a document is
//! asked for: nothing of them stays in memory.

use std::io::{BufRead as _, BufReader, Read as _};

use flate2::read::GzDecoder;
use serde_json::{Map, Value};

/// Written by `cargo xtask schemas`: the name of a schema, a tab, its descriptions by JSON pointer.
static TEXTS: &[u8] = include_bytes!("data/descriptions.gz");
/// More than the longest line.
const LINE_LIMIT: u64 = 1 << 20;

/// Puts the descriptions into schemas.
pub(crate) fn describe(schemas: &mut Map<String, Value>) {
    let mut lines = BufReader::new(GzDecoder::new(TEXTS));
    let mut line = String::new();
    loop {
        line.clear();
        // The data is part of the program; a test reads it, so no line is cut off.
        match lines.by_ref().take(LINE_LIMIT).read_line(&mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let Some((name, texts)) = line.split_once('\t') else {
            continue;
        };
        let Some(schema) = schemas.get_mut(name) else {
            continue;
        };
        let texts: Map<String, Value> = serde_json::from_str(texts).unwrap_or_default();
        for (pointer, text) in texts {
            let place = schema.pointer_mut(&pointer);
            if let Some(place) = place.and_then(Value::as_object_mut) {
                place.insert("description".to_owned(), text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_has_its_place() {
        let openapi = kubepkg_patch::builtin::openapi();
        let mut text = String::new();
        GzDecoder::new(TEXTS).read_to_string(&mut text).unwrap();
        assert!(text.lines().count() > 500);
        for line in text.lines() {
            assert!(u64::try_from(line.len()).unwrap() < LINE_LIMIT);
            let (name, texts) = line.split_once('\t').unwrap();
            let texts: Map<String, Value> = serde_json::from_str(texts).unwrap();
            let schema = &openapi["schemas"][name];
            for pointer in texts.keys() {
                assert!(
                    schema.pointer(pointer).is_some_and(Value::is_object),
                    "{name}{pointer}"
                );
            }
        }
    }
}
