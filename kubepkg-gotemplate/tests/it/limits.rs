//! Hostile templates end in an error, never in a stack overflow, and errors keep their places.

use std::fmt::Write as _;
use std::time::Duration;

use kubepkg_gotemplate::{
    Budget, ExecError, FuncTable, LimitExceeded, MissingKey, SeededEnv, TemplateSet, Value,
    helm_funcs,
};

fn set(texts: &[(&str, &str)]) -> TemplateSet {
    let mut funcs = FuncTable::default();
    funcs.extend(helm_funcs::functions(false));
    let mut set = TemplateSet::new("gotpl", funcs).with_missing_key(MissingKey::Zero);
    for (name, text) in texts {
        set.parse(name, *text).unwrap();
    }
    set
}

fn run_with(text: &str, budget: Budget) -> Result<String, ExecError> {
    let set = set(&[("t", text)]);
    let mut env = SeededEnv::default();
    let output = set.session(&mut env, budget).execute("t", &Value::Nil)?;
    Ok(String::from_utf8(output).unwrap())
}

fn run(text: &str) -> Result<String, ExecError> {
    run_with(text, Budget::default())
}

#[test]
fn a_set_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<TemplateSet>();
}

#[test]
fn templates_nest_a_hundred_thousand_deep_and_no_further() {
    let error =
        run(r#"{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"template: t:1:28: executing "a" at <{{template "a"}}>: exceeded maximum template depth (100000)"#
    );
}

#[test]
fn many_names_cannot_get_around_the_include_limit() {
    let mut text = String::new();
    for i in 0..200 {
        let next = (i + 1) % 200;
        write!(
            text,
            r#"{{{{ define "n{i}" }}}}{{{{ include "n{next}" . }}}}{{{{ end }}}}"#
        )
        .unwrap();
    }
    text += r#"{{ include "n0" . }}"#;
    let budget = Budget {
        total_depth: 150_000,
        ..Budget::default()
    };
    let error = run_with(&text, budget).unwrap_err();
    assert_eq!(error.limit(), Some(LimitExceeded::Depth(150_000)));
    assert!(
        error
            .to_string()
            .ends_with("templates nest deeper than 150000")
    );
}

#[test]
fn a_tpl_that_calls_itself_ends() {
    let text = r#"{{ define "x" }}{{ tpl "{{ template \"x\" }}" . }}{{ end }}{{ template "x" }}"#;
    let budget = Budget {
        total_depth: 20_000,
        ..Budget::default()
    };
    assert!(run_with(text, budget).unwrap_err().limit().is_some());
}

#[test]
fn endless_loops_and_floods_end() {
    let steps = Budget {
        steps: 100_000,
        ..Budget::default()
    };
    let error = run_with("{{ range 9223372036854775807 }}{{ end }}", steps).unwrap_err();
    assert_eq!(error.limit(), Some(LimitExceeded::Steps(100_000)));
    let output = Budget {
        output_bytes: 1_000,
        ..Budget::default()
    };
    let error = run_with("{{ range 9223372036854775807 }}x{{ end }}", output).unwrap_err();
    assert_eq!(error.limit(), Some(LimitExceeded::Output(1_000)));
    let time = Budget {
        steps: u64::MAX,
        wall_time: Some(Duration::from_millis(50)),
        ..Budget::default()
    };
    let error = run_with("{{ range 9223372036854775807 }}{{ end }}", time).unwrap_err();
    assert!(matches!(error.limit(), Some(LimitExceeded::WallTime(_))));
}

#[test]
fn deep_nesting_in_a_text_needs_no_stack() {
    let n = 9_999;
    let parens = format!("{{{{ {}1{} }}}}", "(".repeat(n), ")".repeat(n));
    assert_eq!(run(&parens).unwrap(), "1");
    let n = 100_000;
    let blocks = format!("{}x{}", "{{ if 1 }}".repeat(n), "{{ end }}".repeat(n));
    assert_eq!(run(&blocks).unwrap(), "x");
    let chain = format!("{{{{ if 0 }}}}{}{{{{ end }}}}", "{{ else if 0 }}".repeat(n));
    assert_eq!(run(&chain).unwrap(), "");
    let error = run(&format!(
        "{}{{{{ .a.b }}}}{}",
        "{{ if 1 }}".repeat(n),
        "{{ end }}".repeat(n)
    ));
    assert!(error.is_ok());
}

#[test]
fn a_skipped_declaration_leaves_the_variable_undefined() {
    assert_eq!(
        run("{{ and false ($x := 1) }}{{ $x }}")
            .unwrap_err()
            .to_string(),
        r#"template: t:1:28: executing "t" at <$x>: undefined variable: $x"#
    );
}

#[test]
fn break_and_continue_leave_inner_scopes() {
    assert_eq!(
        run("{{ range 5 }}{{ with 7 }}{{ if 1 }}{{ continue }}{{ end }}{{ end }}{{ end }}{{ . }}")
            .unwrap(),
        "<no value>"
    );
    assert_eq!(
        run("{{ $s := 0 }}{{ range $i := 5 }}{{ with 9 }}{{ $s = $i }}{{ if eq $i 2 }}{{ break }}{{ end }}{{ end }}{{ end }}{{ $s }}").unwrap(),
        "2"
    );
}

#[test]
fn what_tpl_defines_is_gone_after_it() {
    let error = run(
        r#"{{ tpl "{{ define \"a\" }}A{{ end }}{{ include \"a\" . }}" . }}{{ include "a" . }}"#,
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with(r#"template: no template "a" associated with template "gotpl""#)
    );
}
