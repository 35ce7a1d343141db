//! `--set` and its relatives: what is escaped is taken as it is, what was set stays set.

use kubepkg_helm::{SetError, Values, set, set_file, set_json, set_literal, set_string};
use serde_json::Value;

use crate::guard::soon;
use crate::parts;

type Setter = fn(&mut Values, &str) -> Result<(), SetError>;

/// Parts: arguments, one after the other; values in YAML to begin with last, if there are several.
pub(crate) fn check(input: &[u8]) {
    let mut arguments: Vec<&[u8]> = parts::split(input).collect();
    let base = if arguments.len() > 1 {
        arguments.pop().unwrap_or_default()
    } else {
        b""
    };
    let Ok(base) = Values::from_yaml_documents(base) else {
        return;
    };
    let setters: [Setter; 5] = [
        set,
        set_string,
        set_literal,
        set_json,
        |values, argument| set_file(values, argument, &mut |name| Ok(name.as_bytes().to_vec())),
    ];
    for setter in setters {
        let mut values = base.clone();
        for argument in &arguments {
            let argument = parts::text(argument);
            let before = values.clone();
            let done = soon("setting", || setter(&mut values, &argument));
            let mut again = before;
            assert_eq!(done, setter(&mut again, &argument), "two outcomes");
            assert_eq!(values, again, "two outcomes");
            if done.is_ok() && setter(&mut again, &argument).is_ok() {
                assert_eq!(values, again, "setting again");
            }
        }
    }
    if let Some(first) = arguments.first() {
        escapes(&parts::text(first));
    }
}

/// A text with every sign of the language escaped is one key, and one value.
fn escapes(text: &str) {
    if text.is_empty() {
        return;
    }
    let escaped: String = text.chars().flat_map(|sign| ['\\', sign]).collect();
    let mut values = Values::default();
    set_string(&mut values, &format!("{escaped}={escaped}")).expect("an escaped text");
    assert_eq!(one(&values), (text, Some(text)));
    let mut values = Values::default();
    set_literal(&mut values, &format!("key={text}")).expect("a literal text");
    assert_eq!(one(&values), ("key", Some(text)));
    let json = serde_json::to_string(text).expect("a text has JSON");
    let mut values = Values::default();
    set_json(&mut values, &format!("key={json}")).expect("a text in JSON");
    assert_eq!(one(&values), ("key", Some(text)));
}

fn one(values: &Values) -> (&str, Option<&str>) {
    let mut entries = values.as_map().iter();
    let (key, value) = entries.next().expect("an entry");
    assert!(entries.next().is_none(), "one entry");
    (key, Value::as_str(value))
}
