//! Laws that hold for every input.

use kubepkg_yaml::{
    Limits, json_to_yaml, load, load_spanned, load_strict, load_values, split_documents,
    to_go_json, to_yaml, yaml_to_json,
};
use proptest::prelude::*;
use serde_json::Value;

/// Text that both ways keep: what Go's writer breaks (control characters, U+0085, separators
/// U+2028 and U+2029 in blocks) is left to the vectors.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        "[a-z :#,'\"\\-\n]{0,40}",
        "[ -~\n\tà-ÿ日本😀]{0,20}",
        "( |\n|x|- |: |\\? ){0,12}",
        "([a-z]{1,9} {1,2}){8,30}",
        prop::sample::select(vec![
            "y",
            "no",
            "~",
            "null",
            "0x1f",
            "1_000",
            "08",
            "1e3",
            ".inf",
            "2001-01-01",
            "1:30",
            "<<",
            "=",
            "---",
            "...",
            "|",
            ">",
            "!",
            "&a",
            "*a",
            "%",
            "@",
            "`",
            "- a",
            "? a",
            "a: b",
            "",
        ])
        .prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            // Go writes -0 as 0.
            .prop_filter("finite, not -0", |value| value.is_finite() && *value != 0.0)
            .prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(
                text().prop_filter("`<<` is a merge when read", |key| key != "<<"),
                inner,
                0..6
            )
            .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reading_gives_back_what_was_written(value in value()) {
        let yaml = to_yaml(&value).unwrap();
        let read = load(yaml.as_bytes()).unwrap();
        prop_assert_eq!(to_go_json(&read), to_go_json(&value), "{}", yaml);
    }

    #[test]
    fn writing_a_value_is_writing_its_json(value in value()) {
        prop_assert_eq!(to_yaml(&value), json_to_yaml(to_go_json(&value).unwrap()));
    }

    #[test]
    fn written_text_is_a_fixed_point(value in value()) {
        let once = to_yaml(&value).unwrap();
        let twice = to_yaml(&load(once.as_bytes()).unwrap()).unwrap();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn no_input_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        everything(&bytes);
    }

    #[test]
    fn no_yaml_like_text_panics(
        text in "([-?:,\\[\\]{}#&*!|>'\"%@` \t\n\r]|a|1|<<|\\\\|\u{85}|\u{2028}|\u{feff}|é|---|\\.\\.\\.|%TAG|%YAML 1\\.1|&a |\\*a|!!int |!!binary ){0,60}"
    ) {
        everything(text.as_bytes());
        let utf16: Vec<u8> =
            std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        if !text.starts_with('\u{feff}') {
            prop_assert_eq!(yaml_to_json(&utf16).ok(), yaml_to_json(text.as_bytes()).ok());
        }
    }

    #[test]
    fn strict_refuses_more_and_changes_nothing(
        text in "([a-c]: [1-3]\n){0,4}(d: \\{(([a-c]: 1)|([a-c]: \\{a: 1\\}), )*\\}\n)?"
    ) {
        if let Ok(strict) = load_strict(text.as_bytes()) {
            prop_assert_eq!(Ok(strict), load(text.as_bytes()));
        }
    }
}

fn everything(bytes: &[u8]) {
    let limits = Limits::DEFAULT;
    let loaded = load(bytes);
    let json = yaml_to_json(bytes);
    assert_eq!(loaded.is_ok(), json.is_ok());
    let _ = load_strict(bytes);
    let _ = load_values(bytes);
    let _ = split_documents(bytes, &limits);
    if let Ok(spanned) = load_spanned(bytes, 1, &limits) {
        assert_eq!(Ok(&spanned.value), loaded.as_ref());
        for (pointer, _) in spanned.iter() {
            assert!(spanned.value.pointer(pointer).is_some(), "{pointer:?}");
        }
    }
    if let Ok(json) = json {
        let _ = json_to_yaml(&json);
    }
}
