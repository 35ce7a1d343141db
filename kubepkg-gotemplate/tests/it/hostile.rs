//! Functions on hostile values end in an error or an empty answer, soon.

use std::time::Duration;

use kubepkg_gotemplate::{
    Budget, FuncTable, MissingKey, SeededEnv, TemplateSet, Value, helm_funcs, sprig,
};

fn run(text: &str) -> Result<String, String> {
    let mut funcs = FuncTable::default();
    funcs.extend(sprig::functions());
    funcs.extend(helm_funcs::functions(false));
    let mut set = TemplateSet::new("gotpl", funcs).with_missing_key(MissingKey::Zero);
    set.parse("t", text).map_err(|error| error.to_string())?;
    let budget = Budget {
        steps: 300_000,
        output_bytes: 8 << 20,
        wall_time: Some(Duration::from_secs(20)),
        ..Budget::default()
    };
    let mut env = SeededEnv::default();
    let output = set.session(&mut env, budget).execute("t", &Value::Nil);
    output
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .map_err(|e| e.to_string())
}

/// A map whose text is exponentially larger than itself.
const WIDE: &str = r#"{{ $m := dict "k" 1 }}{{ range 60 }}{{ $m = dict "a" $m "b" $m }}{{ end }}"#;

#[test]
fn values_that_unfold_exponentially_end_soon() {
    for call in [
        "deepCopy $m",
        "mergeOverwrite (deepCopy $m) $m",
        "deepEqual $m (deepCopy $m)",
    ] {
        assert!(
            run(&format!("{WIDE}{{{{ $x := {call} }}}}")).is_err(),
            "{call}"
        );
    }
    let wide_list = "{{ $m := list 1 }}{{ range 60 }}{{ $m = list $m $m }}{{ end }}";
    assert!(run(&format!("{wide_list}{{{{ toToml $m }}}}")).is_ok_and(|text| text.len() < 100));
}

#[test]
fn maps_that_contain_themselves_are_refused() {
    let cycle = r#"{{ $m := dict "a" 1 }}{{ $_ := set $m "self" $m }}"#;
    for call in [
        "printf \"%v\" $m",
        "mustToJson $m",
        "mustToYaml $m",
        "toYamlPretty $m",
        "deepCopy $m",
        "toString $m",
    ] {
        assert!(run(&format!("{cycle}{{{{ {call} }}}}")).is_err(), "{call}");
    }
    assert_eq!(
        run(&format!("{cycle}{{{{ toYaml $m }}}}{{{{ toJson $m }}}}")),
        Ok(String::new())
    );
}

#[test]
fn sizes_are_charged_before_memory_is_taken() {
    for call in [
        "repeat 1000000000 \"ab\"",
        "until 1000000000",
        "seq 1 1000000000",
        "indent 1000000000 \"a\"",
        "randAlpha 1000000000",
        "randBytes 1000000000",
        "untilStep 0 9223372036854775807 1",
    ] {
        assert!(run(&format!("{{{{ $x := {call} }}}}")).is_err(), "{call}");
    }
}
