//! 5,261 random templates against what Go 1.26's own `text/template` answered (`tests/vectors/go.jsonl.gz`),
//! and random text against nothing: it must only not panic.

use std::io::Read as _;

use kubepkg_gotemplate::{
    Budget, FuncTable, MissingKey, SeededEnv, TemplateSet, Value, helm_funcs,
};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

/// The data that Go was given.
fn data() -> Value {
    Value::from(&json!({
        "a": "A", "b": {"c": 1.5}, "l": [1.0, "two", null, {"k": true}],
        "m": {"x": 3.0, "y": null}, "s": "str", "n": {"k": []}, "nil": null
    }))
}

#[test]
fn random_templates_answer_as_in_go() {
    let mut text = String::new();
    let packed = include_bytes!("../vectors/go.jsonl.gz");
    flate2::read::GzDecoder::new(packed.as_slice())
        .read_to_string(&mut text)
        .unwrap();
    let data = data();
    let mut failures = Vec::new();
    for line in text.lines() {
        let row: Json = serde_json::from_str(line).unwrap();
        let missing_key = match row["missingkey"].as_str().unwrap() {
            "zero" => MissingKey::Zero,
            "error" => MissingKey::Error,
            _ => MissingKey::Invalid,
        };
        let template = row["template"].as_str().unwrap();
        let mut set = TemplateSet::new("t.txt", FuncTable::default()).with_missing_key(missing_key);
        let answer = match set.parse("t.txt", template) {
            Err(error) => Err(error.to_string()),
            Ok(()) => set
                .execute("t.txt", &data, &mut SeededEnv::default())
                .map_err(|error| error.to_string()),
        };
        let wanted = match row["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(row["output"].as_str().unwrap().as_bytes().to_vec()),
        };
        if answer != wanted {
            failures.push(format!("{}: {template:?}", row["id"]));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Executes whatever parses, under a small budget.
fn run(text: &[u8]) {
    let mut funcs = FuncTable::default();
    funcs.extend(helm_funcs::functions(false));
    let mut set = TemplateSet::new("gotpl", funcs);
    if set.parse("t", text).is_ok() {
        let budget = Budget {
            steps: 20_000,
            output_bytes: 100_000,
            ..Budget::default()
        };
        let _ = set
            .session(&mut SeededEnv::default(), budget)
            .execute("t", &data());
    }
}

proptest! {
    #[test]
    fn random_bytes_do_not_panic(text in prop::collection::vec(any::<u8>(), 0..200)) {
        run(&text);
    }

    #[test]
    fn random_words_do_not_panic(words in prop::collection::vec(
        prop::sample::select(vec![
            "{{", "}}", "{{- ", " -}}", "if ", "else ", "end", "range ", "with ", "define ", "block ",
            "template ", "break", "continue", "nil ", "$", "$x", " := ", " = ", ", ", ".", ".a", ".l.k ",
            "(", ")", "|", "\"a\" ", "`", "'a' ", "1 ", "-2.5e3 ", "0x", "include ", "tpl ", "index ",
            "slice ", "len ", "printf ", "\n", " ", "/*", "*/", "é", "\u{0}",
        ]),
        0..60,
    )) {
        run(words.concat().as_bytes());
    }
}
