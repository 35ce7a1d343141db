//! YAML: what loads, loads the same in every form; what is written, reads back.

use kubepkg_yaml::{
    Limits, YamlError, json_to_yaml_with, load_spanned, load_strict_with, load_values_with,
    load_with, split_documents, to_go_json, to_yaml_with, yaml_to_json_with,
};
use serde_json::Value;

use crate::guard::soon;

const LIMITS: Limits = Limits {
    input: 1 << 20,
    nodes: 200_000,
    output: 4 << 20,
    value_depth: 256,
    documents: 1_000,
};

pub(crate) fn check(input: &[u8]) {
    let loaded = soon("loading", || load_with(input, &LIMITS));
    let json = soon("converting", || yaml_to_json_with(input, &LIMITS));
    if !limited(&loaded) && !limited(&json) {
        assert_eq!(loaded.is_ok(), json.is_ok(), "a value and its JSON");
    }
    if let Err(error) = &loaded {
        place_is_in_the_text(error, input);
    }
    let strict = soon("strict loading", || load_strict_with(input, &LIMITS));
    match (&strict, &loaded) {
        (Ok(strict), Ok(loaded)) => assert_eq!(strict, loaded, "strict loading changes nothing"),
        (Ok(_), Err(error)) => panic!("only strict loading accepts this: {error}"),
        // Two errors may differ in their texts, as Go's do: one that shows a map shows it without the second of two
        // equal keys when reading is strict.
        (Err(YamlError::DuplicateKeys(_) | YamlError::Limit { .. }), _) | (Err(_), Err(_)) => {}
        (Err(strict), Ok(_)) => panic!("only strict loading refuses this: {strict}"),
    }
    let spanned = soon("loading with places", || load_spanned(input, 1, &LIMITS));
    if let (Ok(spanned), Ok(loaded)) = (&spanned, &loaded) {
        assert_eq!(&spanned.value, loaded, "places change nothing");
        let lines = lines(input);
        for (pointer, span) in spanned.iter() {
            assert!(loaded.pointer(pointer).is_some(), "{pointer:?} is nowhere");
            assert!(span.value.line <= lines, "{pointer:?} is behind the end");
        }
    }
    if let Ok(json) = &json {
        assert!(
            serde_json::from_str::<Value>(json).is_ok() || loaded.as_ref().is_ok_and(deep),
            "not JSON: {json}"
        );
        let _ = soon("writing JSON as YAML", || json_to_yaml_with(json, &LIMITS));
    }
    if let Ok(value) = &loaded {
        reads_back(value);
    }
    stream(input);
}

/// Writing is a fixed point, and reading gives back what was written.
pub(crate) fn reads_back(value: &Value) {
    let Ok(yaml) = soon("writing", || to_yaml_with(value, &LIMITS)) else {
        return;
    };
    if !survives(value) {
        return;
    }
    let again = match soon("reading back", || load_with(yaml.as_bytes(), &LIMITS)) {
        Err(YamlError::Limit { .. }) => return,
        again => again.unwrap_or_else(|error| panic!("{error}: {yaml}")),
    };
    assert_eq!(
        to_go_json(&again),
        to_go_json(value),
        "read back from {yaml}"
    );
    let twice = to_yaml_with(&again, &LIMITS);
    assert_eq!(twice.as_deref(), Ok(yaml.as_str()), "written again");
}

fn stream(input: &[u8]) {
    let documents = soon("splitting", || split_documents(input, &LIMITS));
    let values = soon("loading values", || load_values_with(input, &LIMITS));
    let Ok(documents) = documents else {
        assert!(values.is_err(), "values of a stream that can't be split");
        return;
    };
    let lines = lines(input);
    let mut before = 0;
    for document in &documents {
        assert!(before < document.line && document.line <= lines);
        before = document.line;
    }
    if let Err(error) = &values {
        place_is_in_the_text(error, input);
    }
    let each = documents.iter().map(|document| {
        load_with(&document.text, &LIMITS)
            .is_ok_and(|value| matches!(value, Value::Null | Value::Object(_)))
    });
    let readable = each.fold(true, |all, one| all & one);
    if !limited(&values) {
        // All numbers are floats there, and those too large for one are refused.
        assert!(
            readable || values.is_err(),
            "values of unreadable documents"
        );
    }
}

/// What Go's own round trip through JSON and YAML keeps: no control characters or separators, no key that is a merge
/// when read, no negative zero.
fn survives(value: &Value) -> bool {
    fn text(text: &str) -> bool {
        let lost = |c: char| {
            (c.is_control() && c != '\n' && c != '\t')
                || matches!(
                    c,
                    '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
                )
        };
        !text.contains(lost)
    }
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::Number(number) => number
            .as_f64()
            .is_none_or(|float| float != 0.0 || float.is_sign_positive()),
        Value::String(string) => text(string),
        Value::Array(items) => items.iter().all(survives),
        Value::Object(map) => map
            .iter()
            .all(|(key, value)| key != "<<" && text(key) && survives(value)),
    }
}

/// Nested deeper than the JSON reader used here goes.
fn deep(value: &Value) -> bool {
    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }
    depth(value) > 100
}

fn limited<T>(outcome: &Result<T, YamlError>) -> bool {
    match outcome {
        Err(YamlError::Document { source, .. } | YamlError::Convert { source }) => {
            limited::<()>(&Err((**source).clone()))
        }
        Err(YamlError::Limit { .. }) => true,
        _ => false,
    }
}

/// Lines, however they end (a carriage return, U+0085 and the separators end one too), and one behind the last.
fn lines(input: &[u8]) -> usize {
    // In UTF-16 any byte may be part of a line end.
    input.len() + 2
}

fn place_is_in_the_text(error: &YamlError, input: &[u8]) {
    if let Some(place) = error.position() {
        assert!(place.line >= 1 && place.line <= lines(input), "{error}");
    }
    assert!(!error.to_string().is_empty());
}
