//! Deep and large inputs on the stack of a worker thread (2 MiB): an error or an answer, never an overflow, never
//! memory without bound.

use std::time::Duration;

use kubepkg_helm::{
    Capabilities, Chart, ChartLimits, ReleaseFacts, RenderLimits, RenderOptions, Values, render,
    set, set_json, validate_against_schema,
};

const LIMITS: RenderLimits = RenderLimits {
    steps: 200_000,
    output_bytes: 4 << 20,
    wall_time: Some(Duration::from_mins(2)),
    documents: 1_000,
};

/// Renders one template on a small stack.
fn rendered(template: String, values: String) -> Result<String, String> {
    on_a_small_stack(move || {
        let files = [
            (
                "Chart.yaml",
                "apiVersion: v2\nname: c\nversion: 1.0.0\n".to_owned(),
            ),
            ("templates/t.yaml", template),
            ("values.yaml", values),
        ];
        let chart =
            Chart::from_files(files, &ChartLimits::default()).map_err(|error| error.to_string())?;
        let options = RenderOptions {
            seed: Some([1; 32]),
            limits: Some(&LIMITS),
            ..RenderOptions::default()
        };
        let release = ReleaseFacts::install("rel", "ns1");
        let (user, capabilities) = (Values::default(), Capabilities::default());
        render(&chart, &user, &release, &capabilities, &options)
            .map(|rendered| rendered.manifest)
            .map_err(|error| error.to_string())
    })
}

fn on_a_small_stack<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    thread.spawn(job).unwrap().join().unwrap()
}

fn nested(open: &str, close: &str, depth: usize) -> String {
    format!("{}{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn deep_values_are_refused_or_read() {
    for depth in [400, 600, 9_000, 100_000] {
        for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", "x"), ("? ", "x")] {
            let values = format!("v: {}\n", nested(open, close, depth));
            let _ = rendered(
                "a: {{ toJson .Values | quote }}\n".to_owned(),
                values.clone(),
            );
            let text = format!("a:\n  {}", nested(open, close, depth));
            let _ = rendered(text, String::new());
            let quoted = values.replace('"', "");
            let from = format!(
                "a: {{{{ fromYaml \"{}\" | toJson | quote }}}}\n",
                quoted.trim_end()
            );
            let _ = rendered(from, String::new());
        }
        let json = nested("[", "]", depth);
        let from = format!("a: {{{{ mustFromJson \"{json}\" | toJson | quote }}}}\n");
        let _ = rendered(from, String::new());
        let toml = format!("a: {{{{ fromToml \"a = {json}\" | toJson | quote }}}}\n");
        let _ = rendered(toml, String::new());
    }
}

#[test]
fn values_that_templates_nest_are_refused_when_they_are_too_deep() {
    let deep = "{{ $x := list 1 }}{{ range 20000 }}{{ $x = list $x }}{{ end }}";
    let map = "{{ $x := dict }}{{ range 20000 }}{{ $x = dict \"a\" $x }}{{ end }}";
    for make in [deep, map] {
        for call in [
            "toYaml $x",
            "toYamlPretty $x",
            "toJson $x",
            "toToml (dict \"a\" $x)",
            "print $x",
            "printf \"%#v\" $x",
            "quote $x",
            "deepCopy $x",
            "deepEqual $x $x",
            "has $x (list $x)",
            "uniq (list $x $x)",
            "merge (dict \"a\" $x) (dict \"a\" $x)",
            "toString $x | len",
            "empty $x",
            "kindOf $x",
            "join \",\" $x",
            "sortAlpha $x",
            "compact $x",
            "set $.Values \"x\" $x | keys",
        ] {
            // Dropping the value is part of it.
            let _ = rendered(
                format!("{make}a: {{{{ {call} | quote }}}}\n"),
                String::new(),
            );
        }
    }
}

#[test]
fn deep_expressions_are_refused_or_compiled() {
    for depth in [999, 20_000] {
        for pattern in [
            nested("(", ")", depth),
            format!("a{}", "*".repeat(depth)),
            nested("(?:a|", ")", depth),
            nested("(a", "){2}", depth),
            "a{1000}".repeat(depth.min(100)),
            "[[:alpha:]]".repeat(depth),
            "\\\\pL{500}".repeat(depth.min(10)),
        ] {
            let call = format!("a: {{{{ regexMatch \"{pattern}\" \"aaaa\" | quote }}}}\n");
            let _ = rendered(call, String::new());
        }
        let parts = ".".repeat(depth) + "x";
        let _ = rendered(
            format!("a: {{{{ semverCompare \"{parts}\" \"1.2.3\" }}}}\n"),
            String::new(),
        );
        let dotted = format!("a: {{{{ .Values{} }}}}\n", ".a".repeat(depth));
        assert!(rendered(dotted, String::new()).is_err());
    }
}

#[test]
fn huge_requests_end_in_a_limit() {
    for call in [
        "repeat 1000000000 \"ab\"",
        "repeat 1000000000 (repeat 1000 \"ab\")",
        "until 1000000000",
        "untilStep 0 9223372036854775807 1",
        "seq 1 1000000000",
        "indent 1000000000 \"a\"",
        "nindent 1000000000 \"a\"",
        "randAlphaNum 1000000000",
        "randAscii 1000000000",
        "randBytes 1000000000",
        "replace \"a\" (repeat 4000 \"b\") (repeat 100000 \"a\")",
        "replace \"\" (repeat 4000 \"b\") (repeat 100000 \"a\")",
        "regexReplaceAll \"a\" (repeat 100000 \"a\") (repeat 4000 \"b\")",
        "regexReplaceAll \"(a+)\" (repeat 10000 \"a\") (repeat 10000 \"$1\")",
        "regexReplaceAllLiteral \"a\" (repeat 100000 \"a\") (repeat 4000 \"b\")",
        "join (repeat 4000 \"b\") (until 100000)",
        "wrapWith 1 (repeat 4000 \"b\") (repeat 40000 \"a \")",
        "printf (repeat 1000 \"%[1]*[2]d\") 999999 1",
        "regexFindAll \".*[^a]|a\" (repeat 1000000 \"a\") -1",
    ] {
        let outcome = rendered(
            format!("a: {{{{ {call} | toString | len }}}}\n"),
            String::new(),
        );
        assert!(outcome.is_err(), "{call}: {outcome:?}");
    }
    for text in [
        "{{ range 1000000000 }}{{ end }}",
        "{{ range 1000000000 }}x{{ end }}",
        "{{ range 1000000000 }}{{ $_ := htpasswd \"u\" \"p\" }}{{ end }}",
        "{{ range 1000000000 }}{{ $_ := derivePassword 1 \"long\" \"p\" \"u\" \"s\" }}{{ end }}",
        "{{ range 1000000000 }}{{ $_ := genPrivateKey \"ecdsa\" }}{{ end }}",
        "{{ range 1000000000 }}{{ $_ := genPrivateKey \"rsa\" }}{{ end }}",
        "{{ $x := \"aaaaaaaaaa\" }}{{ range 60 }}{{ $x = print $x $x }}{{ end }}",
        "{{ $x := \"aaaaaaaaaa\" }}{{ range 60 }}{{ $x = cat $x $x }}{{ end }}",
        "{{ $x := \"aaaaaaaaaa\" }}{{ range 60 }}{{ $x = quote $x $x }}{{ end }}",
        "{{ $x := \"aaaaaaaaaa\" }}{{ range 60 }}{{ $x = printf \"%s%s\" $x $x }}{{ end }}",
        "{{ $x := list 1 2 3 4 }}{{ range 60 }}{{ $x = concat $x $x }}{{ end }}",
        "{{ $l := list }}{{ $x := repeat 1000000 \"a\" }}{{ range 100000 }}{{ $l = append $l (upper $x) }}{{ end }}",
        "{{ define \"a\" }}{{ include \"a\" . }}{{ include \"a\" . }}{{ end }}{{ include \"a\" . }}",
        "{{ define \"a\" }}{{ $x := repeat 100000 \"a\" }}{{ range 1000000 }}{{ $_ := tpl $x . }}{{ end }}{{ end }}{{ include \"a\" . }}",
    ] {
        let outcome = rendered(text.to_owned(), String::new());
        let error = outcome.expect_err(text);
        assert!(
            [
                "more than",
                "larger than",
                "longer than",
                "deeper than",
                "nested reference",
                "rendered manifests"
            ]
            .iter()
            .any(|word| error.contains(word)),
            "{text}: {error}"
        );
    }
}

#[test]
fn documents_that_unfold_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", [below.as_str(); 9].join(", "));
    }
    assert!(rendered("a: 1\n".to_owned(), bomb.clone()).is_err());
    assert!(rendered(bomb, String::new()).is_err());
}

#[test]
fn arguments_of_flags_stay_small() {
    for argument in [
        format!("a{}=1", "[0]".repeat(10_000)),
        format!("a{}=1", ".a".repeat(10_000)),
        format!("a={}{}", "{".repeat(10_000), "}".repeat(10_000)),
        format!("a=[{}", "[".repeat(10_000)),
        format!("a={}", nested("[", "]", 100_000)),
        (0..2_000).map(|n| format!("a{n}[65536]=1,")).collect(),
        format!("a{}=1", "[65536]".repeat(29)),
        (0..60_000).map(|n| format!("a[{n}]=1,")).collect(),
    ] {
        on_a_small_stack(move || {
            let mut values = Values::default();
            let _ = set(&mut values, &argument);
            let _ = set_json(&mut values, &argument);
        });
    }
}

#[test]
fn schemas_that_contain_themselves_answer() {
    let doubling: String = (0..40)
        .map(|n| format!("\"d{n}\":{{\"anyOf\":[{{\"$ref\":\"#/$defs/d{0}\"}},{{\"$ref\":\"#/$defs/d{0}\"}}]}},", n + 1))
        .collect();
    for schema in [
        r##"{"$ref":"#"}"##.to_owned(),
        r##"{"allOf":[{"$ref":"#"}]}"##.to_owned(),
        r##"{"properties":{"a":{"$ref":"#"}},"additionalProperties":{"$ref":"#"}}"##.to_owned(),
        r##"{"not":{"$ref":"#"}}"##.to_owned(),
        r##"{"$dynamicAnchor":"x","$dynamicRef":"#x"}"##.to_owned(),
        format!(
            "{{\"$ref\":\"#/$defs/d0\",\"$defs\":{{{doubling}\"d40\":{{\"type\":\"string\"}}}}}}"
        ),
        nested("{\"not\":", "}", 100).replace("{\"not\":}", "{\"not\":{}}"),
        nested("{\"not\":", "}", 100_000),
        r#"{"patternProperties":{"((a{1,100}){1,100}){1,100}":{}}}"#.to_owned(),
        r#"{"properties":{"a":{"pattern":"(a*)*b"}}}"#.to_owned(),
        r#"{"properties":{"a":{"uniqueItems":true}}}"#.to_owned(),
    ] {
        for values in [
            "a: 1\n".to_owned(),
            format!("a: {}\n", nested("[", "]", 400)),
            format!("a: {}\n", nested("{a: ", "}", 400)),
            format!(
                "a: [{}]\n",
                (0..20_000)
                    .map(|n| format!("{{k: {n}}},"))
                    .collect::<String>()
            ),
        ] {
            let schema = schema.clone();
            on_a_small_stack(move || {
                let values = Values::from_yaml_documents(values.as_bytes()).unwrap();
                let _ = validate_against_schema(schema.as_bytes(), &values);
            });
        }
    }
}
