//! Laws that hold for every input, and refusals that no vector speaks of.

use kubepkg_helm::{
    Capabilities, Chart, ChartError, ChartLimits, IgnoreRules, KubeVersion, PostRender,
    PostRenderError, PostRenderStrategy, PostRenderer, ReleaseFacts, RenderError, RenderLimits,
    RenderOptions, Rendered, Values, render, render_errors, set, set_json, set_literal,
    sort_manifests, split_manifests,
};
use proptest::prelude::*;
use serde_json::json;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_makes_a_reader_panic(text in "\\PC{0,60}|[a-c.=,\\[\\]{}0-9\\\\ \\-\"]{0,40}") {
        let mut values = Values::default();
        let _ = set(&mut values, &text);
        let _ = set_json(&mut values, &text);
        let _ = set_literal(&mut values, &text);
        let _ = Values::from_yaml_documents(text.as_bytes());
        let _ = KubeVersion::parse(&text);
        if let Ok(rules) = IgnoreRules::parse(text.as_bytes()) {
            rules.ignores("a/b.txt", false);
        }
        let _ = Chart::from_files([("Chart.yaml", &text)], &ChartLimits::default());
    }

    #[test]
    fn no_bytes_make_an_archive_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), gzip in any::<bool>()) {
        let bytes = if gzip { pack(&bytes) } else { bytes };
        let _ = Chart::load_archive(&bytes, &ChartLimits::default());
    }

    #[test]
    fn splitting_keeps_every_line_that_is_no_separator(lines in prop::collection::vec("[a-z]: [0-9]|---|  ", 0..20)) {
        let text = lines.join("\n");
        let documents = split_manifests(&text);
        let kept: Vec<&str> = documents.iter().flat_map(|document| document.text.lines()).filter(|line| !line.trim().is_empty()).collect();
        let wanted: Vec<&str> = lines.iter().map(String::as_str).filter(|line| line.contains(':')).collect();
        prop_assert_eq!(kept, wanted);
        for document in documents {
            let first = document.text.lines().next();
            prop_assert_eq!(text.lines().nth(document.line - 1).map(str::trim_start), first);
        }
    }
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

fn tgz(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, data) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *data).unwrap();
    }
    pack(&builder.into_inner().unwrap())
}

const CHART: &str = "apiVersion: v2\nname: c\nversion: 1.0.0\n";

fn chart(template: &str) -> Chart {
    Chart::from_files(
        [("Chart.yaml", CHART), ("templates/t.yaml", template)],
        &ChartLimits::default(),
    )
    .unwrap()
}

fn rendered(
    chart: &Chart,
    options: &RenderOptions<'_>,
) -> Result<kubepkg_helm::Rendered, RenderError> {
    let release = ReleaseFacts::install("rel", "ns1");
    render(
        chart,
        &Values::default(),
        &release,
        &Capabilities::default(),
        options,
    )
}

#[test]
fn a_seed_makes_random_charts_repeatable() {
    let chart =
        chart("kind: A\nmetadata: {name: {{ randAlpha 20 }}-{{ uuidv4 }}-{{ now | unixEpoch }}}\n");
    let options = RenderOptions {
        seed: Some([7; 32]),
        now: Some((1_700_000_000, 0)),
        ..RenderOptions::default()
    };
    let other = RenderOptions {
        seed: Some([8; 32]),
        ..options
    };
    assert_eq!(
        rendered(&chart, &options).unwrap(),
        rendered(&chart, &options).unwrap()
    );
    assert_ne!(
        rendered(&chart, &options).unwrap().manifest,
        rendered(&chart, &other).unwrap().manifest
    );
}

#[test]
fn an_endless_template_is_stopped() {
    let chart = chart("{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}");
    let limits = RenderLimits {
        steps: 100_000,
        ..RenderLimits::default()
    };
    let options = RenderOptions {
        limits: Some(&limits),
        ..RenderOptions::default()
    };
    assert!(
        matches!(rendered(&chart, &options), Err(RenderError::Limit { template, .. }) if template == "c/templates/t.yaml")
    );
}

#[test]
fn too_many_documents_are_refused() {
    let chart = chart("{{ range until 11 }}---\nkind: A\n{{ end }}");
    let limits = RenderLimits {
        documents: 10,
        ..RenderLimits::default()
    };
    let options = RenderOptions {
        limits: Some(&limits),
        ..RenderOptions::default()
    };
    assert!(matches!(
        rendered(&chart, &options),
        Err(RenderError::TooManyDocuments { limit: 10 })
    ));
}

#[test]
fn each_object_knows_its_chart_template_and_line() {
    let files = [
        (
            "Chart.yaml",
            "apiVersion: v2\nname: c\nversion: 1.0.0\ndependencies:\n- {name: s, version: 1.x, alias: web}\n",
        ),
        (
            "charts/s/Chart.yaml",
            "apiVersion: v2\nname: s\nversion: 1.2.0\n",
        ),
        (
            "charts/s/templates/a.yaml",
            "\nkind: A\n---\n# why\nkind: B\nmetadata:\n  name: b\n",
        ),
    ];
    let chart = Chart::from_files(files, &ChartLimits::default()).unwrap();
    let objects = rendered(&chart, &RenderOptions::default()).unwrap().objects;
    let seen: Vec<_> = objects
        .iter()
        .map(|object| &object.place)
        .map(|place| (place.chart.as_str(), place.template.as_str(), place.line))
        .collect();
    assert_eq!(
        seen,
        [
            ("web", "c/charts/web/templates/a.yaml", 2),
            ("web", "c/charts/web/templates/a.yaml", 4)
        ]
    );
    assert_eq!(
        objects[1].value,
        json!({"kind": "B", "metadata": {"name": "b"}})
    );
}

#[test]
fn a_bad_document_is_refused_with_its_file_and_line() {
    let error = sort_manifests(
        [("c/t.yaml", "kind: A\n---\nkind: [\n")],
        kubepkg_helm::KindOrder::Install,
    )
    .unwrap_err();
    assert_eq!((error.path.as_str(), error.line), ("c/t.yaml", 3));
}

#[test]
fn archives_inside_an_archive_share_its_limits() {
    let big = vec![b'x'; 3000];
    let inner = tgz(&[("d/Chart.yaml", CHART.as_bytes()), ("d/big.txt", &big)]);
    let outer = tgz(&[
        ("c/Chart.yaml", CHART.as_bytes()),
        ("c/charts/d.tgz", &inner),
        ("c/big.txt", &big),
    ]);
    let limits = |max_bytes| ChartLimits {
        max_bytes,
        ..ChartLimits::default()
    };
    assert!(Chart::load_archive(&outer, &limits(8000)).is_ok());
    let error = Chart::load_archive(&outer, &limits(5000)).unwrap_err();
    assert!(
        matches!(&error, ChartError::Subchart { source, .. } if matches!(**source, ChartError::TooLarge { limit: 5000 })),
        "{error}"
    );
    let few = ChartLimits {
        max_files: 4,
        ..ChartLimits::default()
    };
    assert!(Chart::load_archive(&outer, &few).is_err());
    let flat = ChartLimits {
        max_depth: 0,
        ..ChartLimits::default()
    };
    assert!(Chart::load_archive(&outer, &flat).is_err());
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "s").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("Chart.yaml"), CHART).unwrap();
    std::fs::write(folder.path().join("real.txt"), "text").unwrap();
    std::os::unix::fs::symlink("real.txt", folder.path().join("inside.txt")).unwrap();
    let loaded = Chart::load_dir(folder.path(), &ChartLimits::default()).unwrap();
    assert_eq!(
        loaded
            .files
            .iter()
            .map(|file| file.name.as_str())
            .collect::<Vec<_>>(),
        ["inside.txt", "real.txt"]
    );
    std::os::unix::fs::symlink(outside.path().join("secret"), folder.path().join("out.txt"))
        .unwrap();
    let error = Chart::load_dir(folder.path(), &ChartLimits::default()).unwrap_err();
    assert!(matches!(error, ChartError::LinkOutside { .. }), "{error}");
}

/// By hand from the templates: each document begins where its first sign stands.
#[test]
fn every_document_knows_the_line_of_its_template() {
    let files = [
        ("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n"),
        ("values.yaml", "names: [a, b]\n"),
        (
            "templates/_lib.tpl",
            "{{- define \"lib.secret\" -}}\nkind: Secret\nmetadata:\n  name: s\n{{- end }}\n",
        ),
        (
            "templates/many.yaml",
            "{{- /* a\ncomment */ -}}\n{{- range .Values.names }}\n---\n\n# {{ . }}\nkind: ConfigMap\n\
             metadata: {name: {{ . }}}\n{{- end }}\n---\n{{ include \"lib.secret\" $ }}\n---\n\
             {{- with $.Values }}\nkind: Service\nmetadata: {name: w}\n{{- end }}\n",
        ),
        (
            "templates/hook.yaml",
            "{{ if true }}\n\nkind: Job\nmetadata:\n  name: j\n  annotations: {helm.sh/hook: pre-install}\n{{ end }}\n",
        ),
        (
            "charts/s/Chart.yaml",
            "apiVersion: v2\nname: s\nversion: 1.0.0\n",
        ),
        (
            "charts/s/templates/x.yaml",
            "{{- $x := 1 }}\n{{- if $x }}\nkind: Pod\nmetadata: {name: p}\n{{- end }}\n",
        ),
    ];
    let chart = Chart::from_files(files, &ChartLimits::default()).unwrap();
    let rendered = rendered(&chart, &RenderOptions::default()).unwrap();
    let mut seen: Vec<String> = rendered
        .objects
        .iter()
        .map(|object| {
            format!(
                "{}/{} {} {}",
                object.kind, object.name, object.place.chart, object.place
            )
        })
        .collect();
    seen.sort();
    assert_eq!(
        seen,
        [
            "ConfigMap/a c c/templates/many.yaml:6",
            "ConfigMap/b c c/templates/many.yaml:6",
            "Pod/p s c/charts/s/templates/x.yaml:3",
            "Secret/s c c/templates/many.yaml:11",
            "Service/w c c/templates/many.yaml:14",
        ]
    );
    let hooks: Vec<String> = rendered
        .hook_places
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(hooks, ["c/templates/hook.yaml:3"]);
}

#[test]
fn all_errors_of_a_chart_are_told_and_the_first_is_helms() {
    let release = ReleaseFacts::install("r", "ns");
    let errors = |files: &[(&str, &str)]| {
        let head = [("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n")];
        let files = head.iter().chain(files).copied();
        let chart = Chart::from_files(files, &ChartLimits::default()).unwrap();
        let (values, options) = (Values::default(), RenderOptions::default());
        let capabilities = Capabilities::default();
        let first = render(&chart, &values, &release, &capabilities, &options).err();
        let all = render_errors(&chart, &values, &release, &capabilities, &options);
        let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(texts.first().cloned(), first.map(|error| error.to_string()));
        texts
    };
    let parse = errors(&[
        ("templates/a.yaml", "{{ if }}"),
        ("templates/b.yaml", "kind: A\n"),
        ("templates/c.yaml", "{{ nope }}"),
    ]);
    assert_eq!(
        parse,
        [
            "parse error at (c/templates/c.yaml:1): function \"nope\" not defined",
            "parse error at (c/templates/a.yaml:1): missing value for if",
        ]
    );
    let run = errors(&[
        ("templates/a.yaml", "{{ fail \"one\" }}"),
        ("templates/b.yaml", "a: b: c\n---\nkind: B\n---\n- x\n"),
        ("templates/c.yaml", "{{ required \"two\" .Values.x }}"),
    ]);
    assert_eq!(run.len(), 4, "{run:#?}");
    assert_eq!(run[0], "execution error at (c/templates/c.yaml:1:3): two");
    assert_eq!(run[1], "execution error at (c/templates/a.yaml:1:3): one");
    assert!(
        run[2].starts_with("YAML parse error on c/templates/b.yaml"),
        "{}",
        run[2]
    );
    assert!(run[3].contains("util.SimpleHead"), "{}", run[3]);
    assert!(errors(&[("templates/a.yaml", "kind: A\n")]).is_empty());
}

fn post_rendered(
    strategy: PostRenderStrategy,
    renderer: &dyn PostRenderer,
) -> Result<Rendered, RenderError> {
    let files = [
        ("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n"),
        (
            "templates/a.yaml",
            "# kept\nkind: ConfigMap\nmetadata: {name: a}\n---\nkind: Secret\nmetadata: {name: s}\n",
        ),
        (
            "templates/hook.yaml",
            "kind: Job\nmetadata: {name: j, annotations: {helm.sh/hook: pre-install}}\n",
        ),
    ];
    let chart = Chart::from_files(files, &ChartLimits::default()).unwrap();
    let post_render = Some(PostRender { renderer, strategy });
    let options = RenderOptions {
        post_render,
        ..RenderOptions::default()
    };
    rendered(&chart, &options)
}

#[test]
fn a_post_renderer_sees_hooks_as_its_strategy_says() {
    // Helm 4.3.1: combined sends all in one stream, separate two streams, nohooks the resources alone.
    for (strategy, wanted) in [
        (PostRenderStrategy::Combined, vec!["ConfigMap Secret Job"]),
        (
            PostRenderStrategy::Separate,
            vec!["Job", "Secret ConfigMap"],
        ),
        (PostRenderStrategy::NoHooks, vec!["Secret ConfigMap"]),
    ] {
        let seen = std::cell::RefCell::new(Vec::new());
        let changes = |stream: &str| {
            let kinds = stream
                .lines()
                .filter_map(|line| line.strip_prefix("kind: "));
            seen.borrow_mut().push(kinds.collect::<Vec<_>>().join(" "));
            Ok(stream.to_owned())
        };
        let rendered = post_rendered(strategy, &changes).unwrap();
        assert_eq!(*seen.borrow(), wanted, "{strategy:?}");
        // What nobody changed is what it was.
        assert_eq!(
            rendered.objects[1].text,
            "# kept\nkind: ConfigMap\nmetadata: {name: a}\n"
        );
        assert_eq!(
            rendered.objects[1].place.to_string(),
            "c/templates/a.yaml:1"
        );
        assert_eq!(
            rendered.objects[0].place.to_string(),
            "c/templates/a.yaml:5"
        );
        assert_eq!(rendered.hooks.len(), 1);
    }
}

#[test]
fn what_a_post_renderer_changes_and_adds_is_rendered() {
    let changes = |stream: &str| {
        let renamed = stream.replace("name: a\n", "name: b\n");
        Ok(format!("{renamed}---\nkind: Pod\nmetadata:\n  name: new\n"))
    };
    let rendered = post_rendered(PostRenderStrategy::Combined, &changes).unwrap();
    let seen: Vec<String> = rendered
        .objects
        .iter()
        .map(|object| format!("{} {} {}", object.kind, object.name, object.place))
        .collect();
    assert_eq!(
        seen,
        [
            "Secret s c/templates/a.yaml:5",
            "ConfigMap b c/templates/a.yaml",
            "Pod new generated-by-postrender-3.yaml"
        ]
    );
    assert!(
        !rendered.manifest.contains("postrender-filename"),
        "{}",
        rendered.manifest
    );
    let broken = |_: &str| Err(PostRenderError::new("no"));
    let error = post_rendered(PostRenderStrategy::Separate, &broken).unwrap_err();
    assert_eq!(
        error.to_string(),
        "error while running post render on hooks: no"
    );
    let empty = |_: &str| Ok(String::new());
    let error = post_rendered(PostRenderStrategy::Combined, &empty).unwrap_err();
    assert!(
        error.to_string().ends_with("produced empty output"),
        "{error}"
    );
}
