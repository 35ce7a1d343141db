//! Rules about single files: length, names, docs, words that have no place.

use std::path::Path;

/// Files longer than this are to be split.
const MOST_LINES: usize = 1_000;
/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["utils.rs", "util.rs", "types.rs", "helpers.rs", "common.rs"];
/// Endings of files that people write.
const ENDINGS: &[&str] = &[
    ".rs", ".toml", ".md", ".yaml", ".yml", ".json", ".tpl", ".mod",
];

/// Words that must not be in code. Split, so that this file passes its own check.
const UNFINISHED: &[&str] = &[
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("// TO", "DO"),
    concat!("// FIX", "ME"),
    concat!("#[ign", "ore"),
    concat!("allow(dead", "_code"),
];
/// Starts of paths that exist on one machine only.
const MACHINE_PATHS: &[&str] = &[
    concat!("/wor", "k/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Use", "rs/"),
];

/// Whether a path is text that these rules are for. Vectors and snapshots are data.
pub(super) fn is_text(path: &str) -> bool {
    let data = ["/vectors/", "/testdata/", "/snapshots/"]
        .iter()
        .any(|part| path.contains(part));
    let script = path.starts_with(".ci/");
    !data && (script || ENDINGS.iter().any(|ending| path.ends_with(ending)))
}

/// The offences of one file.
pub(super) fn check(path: &str, text: &str) -> Vec<String> {
    let mut offences = Vec::new();
    let name = path.rsplit('/').next().unwrap_or(path);
    if Path::new(path)
        .extension()
        .is_some_and(|ending| ending == "rs")
    {
        if EMPTY_NAMES.contains(&name) {
            offences.push(format!("{path}: a name that says what is inside is wanted"));
        }
        let lines = text.lines().count();
        // Generated tables are data in the shape of code.
        if lines > MOST_LINES && !name.ends_with("tables.rs") {
            offences.push(format!(
                "{path}: {lines} lines, more than {MOST_LINES}; split it"
            ));
        }
        // The names of test files and of their tests say the rule.
        if !path.contains("/tests/") && !opens_with_docs(text) {
            offences.push(format!(
                "{path}: does not open with a paragraph of docs (`//!`)"
            ));
        }
        for (number, line) in text.lines().enumerate() {
            for word in UNFINISHED.iter().filter(|word| line.contains(**word)) {
                offences.push(format!("{path}:{}: {word}", number + 1));
            }
        }
    }
    for (number, line) in text.lines().enumerate() {
        for word in MACHINE_PATHS.iter().filter(|word| line.contains(**word)) {
            offences.push(format!(
                "{path}:{}: path of one machine, {word}",
                number + 1
            ));
        }
    }
    offences
}

/// Whether the first line that is no attribute is documentation.
fn opens_with_docs(text: &str) -> bool {
    let mut in_attribute = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#![doc") || line.starts_with("//!") {
            return true;
        }
        if line.starts_with("#![") {
            in_attribute = true;
        }
        let skipped = in_attribute || line.is_empty();
        if line.ends_with(']') {
            in_attribute = false;
        }
        if !skipped {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_without_docs_is_reported() {
        assert_eq!(check("a/src/b.rs", "//! Why.\nfn f() {}\n"), [""; 0]);
        assert_eq!(
            check("a/src/b.rs", "#![allow(\n  x,\n)]\n//! Why.\n"),
            [""; 0]
        );
        assert_eq!(
            check("a/src/lib.rs", "#![doc = include_str!(\"../README.md\")]\n"),
            [""; 0]
        );
        assert_eq!(
            check("a/src/b.rs", "use std::fs;\n//! Late.\n"),
            ["a/src/b.rs: does not open with a paragraph of docs (`//!`)"]
        );
    }

    #[test]
    fn empty_names_and_long_files_are_reported() {
        let long = format!("//! Why.\n{}", "\n".repeat(1_000));
        let offences = check("a/src/utils.rs", &long);
        assert_eq!(offences.len(), 2, "{offences:?}");
    }

    #[test]
    fn unfinished_code_and_machine_paths_are_reported_with_their_line() {
        let text = concat!("//! Why.\nfn f() { todo", "!() }\n// see /ro", "ot/x\n");
        let offences = check("a/src/b.rs", text);
        assert_eq!(offences.len(), 2, "{offences:?}");
        assert!(
            offences
                .iter()
                .any(|offence| offence.starts_with("a/src/b.rs:2: todo"))
        );
        assert!(
            offences
                .iter()
                .any(|offence| offence.starts_with("a/src/b.rs:3: path"))
        );
    }

    #[test]
    fn vectors_are_data() {
        assert!(!is_text("a/tests/vectors/x.yaml"));
        assert!(is_text("a/src/lib.rs"));
    }
}
