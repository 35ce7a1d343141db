//! Every limit is a refusal that names itself, and deep text costs no stack.

use kubepkg_yaml::{
    LimitKind, Limits, YamlError, json_to_yaml_with, load, load_spanned, load_values_with,
    load_with, split_documents, to_yaml, to_yaml_with, yaml_to_json, yaml_to_json_with,
};
use serde_json::{Value, json};

fn limited<T: std::fmt::Debug>(result: Result<T, YamlError>) -> Option<LimitKind> {
    match result.unwrap_err() {
        YamlError::Limit { kind, .. } => Some(kind),
        _ => None,
    }
}

#[test]
fn input_is_counted_in_bytes() {
    let limits = Limits {
        input: 4,
        ..Limits::DEFAULT
    };
    assert!(yaml_to_json_with(b"a: 1", &limits).is_ok());
    assert_eq!(
        limited(yaml_to_json_with(b"a: 12", &limits)),
        Some(LimitKind::Input)
    );
    assert_eq!(
        limited(load_values_with(b"a: 12", &limits)),
        Some(LimitKind::Input)
    );
    assert_eq!(
        limited(json_to_yaml_with("[1, 2]", &limits)),
        Some(LimitKind::Input)
    );
    assert_eq!(
        limited(split_documents(b"a\n---\nb", &limits)),
        Some(LimitKind::Input)
    );
}

#[test]
fn nodes_are_counted_before_aliases_are_expanded() {
    let limits = Limits {
        nodes: 5,
        ..Limits::DEFAULT
    };
    assert!(load_with(b"[a, b, c, d]", &limits).is_ok());
    assert_eq!(
        limited(load_with(b"[a, b, c, d, e]", &limits)),
        Some(LimitKind::Nodes)
    );
}

#[test]
fn output_is_counted_after_aliases_are_expanded() {
    let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(10_000), "*a, ".repeat(90));
    let limits = Limits {
        output: 500_000,
        ..Limits::DEFAULT
    };
    assert_eq!(
        limited(yaml_to_json_with(text.as_bytes(), &limits)),
        Some(LimitKind::Output)
    );
    assert_eq!(
        limited(load_with(text.as_bytes(), &limits)),
        Some(LimitKind::Output)
    );
    assert_eq!(
        limited(json_to_yaml_with(&text, &limits)),
        Some(LimitKind::Output)
    );
    let value = load(text.as_bytes()).unwrap();
    assert_eq!(
        limited(to_yaml_with(&value, &limits)),
        Some(LimitKind::Output)
    );
}

#[test]
fn documents_are_counted() {
    let limits = Limits {
        documents: 2,
        ..Limits::DEFAULT
    };
    assert!(load_values_with(b"a: 1\n---\nb: 2\n", &limits).is_ok());
    let three = b"a: 1\n---\nb: 2\n---\nc: 3\n";
    assert_eq!(
        limited(load_values_with(three, &limits)),
        Some(LimitKind::Documents)
    );
}

#[test]
fn a_value_is_not_nested_deeper_than_asked_for() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(load(nested(513).as_bytes()).is_ok());
    assert_eq!(
        limited(load(nested(514).as_bytes())),
        Some(LimitKind::ValueDepth)
    );
    let spanned = load_spanned(nested(9_000).as_bytes(), 1, &Limits::DEFAULT);
    assert_eq!(limited(spanned), Some(LimitKind::ValueDepth));
    let value = (0..40).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let limits = Limits {
        value_depth: 10,
        ..Limits::DEFAULT
    };
    assert_eq!(
        limited(to_yaml_with(&value, &limits)),
        Some(LimitKind::ValueDepth)
    );
}

#[test]
fn deep_text_costs_no_stack() {
    let depth = 9_999;
    let flow = format!("{}1{}", "{a: [".repeat(depth / 2), "]}".repeat(depth / 2));
    let block = (0..500)
        .map(|level| format!("{}a:\n", " ".repeat(level)))
        .collect::<Vec<_>>()
        .concat();
    let dashes = "- ".repeat(depth);
    let chain: String = (1..20_000)
        .map(|level| format!("- &a{level} [*a{}]\n", level - 1))
        .fold("- &a0 []\n".to_owned(), |text, line| text + &line);
    for text in [flow, block, dashes, chain] {
        let json = yaml_to_json(text.as_bytes());
        assert!(json.is_ok() || json.unwrap_err().to_string().contains("excessive aliasing"));
    }
}

#[test]
fn the_classic_bomb_is_refused() {
    let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        let inner = format!("*a{},", level - 1).repeat(10);
        text = format!("{text}a{level}: &a{level} [{inner}]\n");
    }
    let error = yaml_to_json(text.as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "yaml: document contains excessive aliasing"
    );
}

#[test]
fn large_text_is_read_in_linear_time() {
    // A quadratic step would take minutes here.
    let items = (0..60_000)
        .map(|index| format!("- key{index}: 'it''s {index}'\n"))
        .collect::<Vec<_>>()
        .concat();
    let flow = format!("[{}]", "{a: 1, b: [x, y]}, ".repeat(30_000));
    let open = format!("{{{}}}", "? a, ".repeat(50_000));
    let merged = format!("a: &a {{b: 1}}\nc:\n{}", "  <<: *a\n".repeat(30));
    // Breaks that are not ASCII, in comments and in a block.
    let comments = format!("{}a: 1\n", "#\u{85}".repeat(400_000));
    let block = format!("a: |\n{}\n", "  b\u{2028}".repeat(200_000));
    for text in [items, flow, open, merged, comments, block] {
        yaml_to_json(text.as_bytes()).unwrap();
    }
    let written = Value::from(format!("\n{}", "b\u{2028}".repeat(400_000)));
    to_yaml(&written).unwrap();
}
