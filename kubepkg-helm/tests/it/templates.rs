//! Templates, values and whole charts, rendered as Helm renders them.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use kubepkg_helm::{
    Capabilities, Chart, ChartLimits, Hook, KindOrder, KubeVersion, ReleaseFacts, RenderOptions,
    ValueSources, Values, coalesce_values, process_dependencies, render, render_templates,
    sort_manifests,
};
use regex::bytes::RegexBuilder;
use serde_json::{Value, json};

use crate::vectors::{run, same};

/// What a case gives, or the error's text.
type Answer = Result<Value, String>;

fn check(case: &Value) -> Result<(), String> {
    let answer = match case["kind"].as_str() {
        Some("template") => template(case),
        Some("values") => values(case),
        Some("chart") => chart(case),
        other => panic!("unknown kind {other:?}"),
    };
    judge(case, answer)
}

fn judge(case: &Value, answer: Answer) -> Result<(), String> {
    let lines = |text: &str| {
        let mut lines: Vec<String> = text
            .lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    };
    if let Some(wanted) = case.get("error") {
        return same(
            "error",
            &answer.map(|value| value.to_string()),
            &Err(wanted.as_str().unwrap().to_owned()),
        );
    }
    if let Some(parts) = case.get("errorContains") {
        let error = answer.map_or_else(|error| error, |value| format!("no error, got {value}"));
        let parts: Vec<&str> = parts
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part.as_str().unwrap())
            .collect();
        return match parts.iter().find(|part| !error.contains(**part)) {
            None => Ok(()),
            Some(part) => Err(format!(
                "error\n   got    {error:?}\n   wanted {part:?} in it"
            )),
        };
    }
    if let Some(wanted) = case.get("errorLinesAnyOrder") {
        let wanted: Vec<String> = serde_json::from_value(wanted.clone()).unwrap();
        return same(
            "lines",
            &answer
                .map_err(|error| lines(&error))
                .map(|value| value.to_string()),
            &Err(lines(&wanted.join("\n"))),
        );
    }
    let got = answer.map_err(|error| format!("error {error:?}, wanted {}", wanted_of(case)))?;
    for field in [
        "output",
        "expect",
        "expectTyped",
        "manifest",
        "hooks",
        "notes",
        "uninstallOrder",
    ] {
        if let Some(wanted) = case.get(field) {
            same(field, &got[field], wanted)?;
        }
    }
    if let Some(wanted) = case.get("outputBase64") {
        same("output", &got["outputBase64"], wanted)?;
    }
    if let Some(shape) = case.get("shape") {
        let shape = shape.as_str().unwrap();
        let pattern = RegexBuilder::new(shape)
            .dot_matches_new_line(true)
            .size_limit(1 << 28)
            .build()
            .unwrap();
        let output = base64::engine::general_purpose::STANDARD
            .decode(got["outputBase64"].as_str().unwrap())
            .unwrap();
        let whole = pattern
            .find_iter(&output)
            .any(|found| found.len() == output.len());
        if !whole {
            return Err(format!(
                "shape\n   got    {}\n   wanted {shape}",
                String::from_utf8_lossy(&output)
            ));
        }
    }
    Ok(())
}

fn wanted_of(case: &Value) -> String {
    let fields = [
        "output",
        "expect",
        "expectTyped",
        "manifest",
        "shape",
        "uninstallOrder",
    ];
    fields
        .iter()
        .find_map(|field| case.get(*field))
        .map(ToString::to_string)
        .unwrap_or_default()
}

fn facts(case: &Value) -> ReleaseFacts {
    let release = &case["release"];
    let upgrade = release["isUpgrade"].as_bool().unwrap_or(false);
    ReleaseFacts {
        name: release["name"].as_str().unwrap_or("rel").to_owned(),
        namespace: release["namespace"].as_str().unwrap_or("ns1").to_owned(),
        revision: u32::try_from(release["revision"].as_u64().unwrap_or(1)).unwrap(),
        is_install: !upgrade,
        is_upgrade: upgrade,
    }
}

fn capabilities(case: &Value) -> Result<Capabilities, String> {
    let mut capabilities = Capabilities::default();
    if let Some(version) = case["caps"]["kubeVersion"].as_str() {
        capabilities.kube_version = KubeVersion::parse(version)
            .map_err(|error| format!("invalid kube version '{version}': {error}"))?;
    }
    for version in case["caps"]["apiVersions"].as_array().into_iter().flatten() {
        capabilities
            .api_versions
            .push(version.as_str().unwrap().to_owned());
    }
    Ok(capabilities)
}

fn options(case: &Value) -> RenderOptions<'static> {
    let on = |field: &str| case[field].as_bool().unwrap_or(false);
    RenderOptions {
        lint: on("lint"),
        include_crds: on("includeCRDs"),
        sub_notes: on("subNotes"),
        skip_schema: on("skipSchemaValidation"),
        ..RenderOptions::default()
    }
}

/// All files of a case, by path.
fn files(case: &Value) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for (path, text) in case["files"].as_object().into_iter().flatten() {
        files.insert(path.clone(), text.as_str().unwrap().as_bytes().to_vec());
    }
    for (path, text) in case["filesBase64"].as_object().into_iter().flatten() {
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(text.as_str().unwrap())
            .unwrap();
        files.insert(path.clone(), bytes);
    }
    files
}

fn user_values(case: &Value, folder: &Path) -> Result<Values, String> {
    let mut sources = ValueSources::default();
    for pair in case["set"].as_array().into_iter().flatten() {
        let argument = pair[1].as_str().unwrap().to_owned();
        match pair[0].as_str().unwrap() {
            "--set" => sources.set.push(argument),
            "--set-string" => sources.strings.push(argument),
            "--set-json" => sources.json.push(argument),
            "--set-literal" => sources.literals.push(argument),
            "--set-file" => sources.set_files.push(argument),
            "-f" => sources.files.push(argument),
            other => panic!("unknown flag {other}"),
        }
    }
    let mut read = |name: &str| match std::fs::read(folder.join(name)) {
        Ok(text) if !name.is_empty() => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::IsADirectory && !name.is_empty() => {
            Err(format!("read {name}: is a directory"))
        }
        _ => Err(format!("open {name}: no such file or directory")),
    };
    sources.merge(&mut read).map_err(|error| error.to_string())
}

/// Writes the files of a case: the chart's below `c`, those of `../` beside it.
fn write(case: &Value, chart_folder: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("c")).unwrap();
    for (path, bytes) in files(case) {
        let path = match path.strip_prefix("../") {
            Some(beside) => folder.path().join(beside),
            None => folder.path().join(chart_folder).join(path),
        };
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

fn bytes(output: &[u8]) -> Value {
    let encoded = base64::engine::general_purpose::STANDARD.encode(output);
    json!({ "output": String::from_utf8_lossy(output), "outputBase64": encoded })
}

fn template(case: &Value) -> Answer {
    let mut files = files(case);
    files
        .entry("Chart.yaml".into())
        .or_insert_with(|| b"apiVersion: v2\nname: c\nversion: 0.1.0\n".to_vec());
    let text = |field: &str| case[field].as_str().unwrap_or_default().as_bytes().to_vec();
    if case.get("template").is_some() {
        files.insert("templates/t.txt".into(), text("template"));
    }
    files
        .entry("values.yaml".into())
        .or_insert_with(|| text("values"));
    let chart =
        Chart::from_files(files, &ChartLimits::default()).map_err(|error| error.to_string())?;
    let outputs = render_templates(
        &chart,
        &Values::default(),
        &facts(case),
        &capabilities(case)?,
        &options(case),
    )
    .map_err(|error| error.to_string())?;
    let texts: BTreeMap<&String, String> = outputs
        .iter()
        .map(|(path, output)| (path, output.text()))
        .collect();
    let mut answer = outputs
        .get("c/templates/t.txt")
        .map(|output| bytes(&output.bytes))
        .unwrap_or(json!({}));
    answer["expect"] = json!(texts);
    Ok(answer)
}

fn typed(value: &Value) -> Value {
    match value {
        Value::Null => json!("nil"),
        Value::Bool(yes) => json!(format!("bool:{yes}")),
        Value::Number(number) if number.is_f64() => {
            let text = printed(number.as_f64().unwrap());
            json!(format!("float64:{text}"))
        }
        Value::Number(number) => json!(format!("int64:{number}")),
        Value::String(text) => json!(format!("string:{text}")),
        Value::Array(items) => items.iter().map(typed).collect(),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| (key.clone(), typed(value)))
                .collect(),
        ),
    }
}

/// `%v` of a float64.
fn printed(number: f64) -> String {
    let text =
        kubepkg_gotemplate::fmt::printf(b"%v", &[kubepkg_gotemplate::Value::float64(number)])
            .unwrap();
    String::from_utf8(text).unwrap()
}

fn values(case: &Value) -> Answer {
    let folder = write(case, ".");
    let user = user_values(case, folder.path())?;
    let seen = match case["values"].as_str() {
        None => user,
        Some(text) => {
            let files = [
                ("Chart.yaml", "apiVersion: v2\nname: c\nversion: 0.1.0\n"),
                ("values.yaml", text),
            ];
            let chart = Chart::from_files(files, &ChartLimits::default())
                .map_err(|error| error.to_string())?;
            coalesce_values(&chart, &user)
                .map_err(|error| error.to_string())?
                .values
        }
    };
    Ok(json!({ "expectTyped": typed(&seen.into_json()) }))
}

fn chart(case: &Value) -> Answer {
    let folder = write(case, "c");
    let user = user_values(case, folder.path())?;
    let mut chart = Chart::load_dir(&folder.path().join("c"), &ChartLimits::default())
        .map_err(|error| error.to_string())?;
    let (facts, capabilities, options) = (facts(case), capabilities(case)?, options(case));
    let outputs = |chart: &Chart| {
        let outputs = render_templates(chart, &user, &facts, &capabilities, &options)
            .map_err(|error| error.to_string())?;
        Ok::<_, String>(
            outputs
                .into_iter()
                .map(|(path, output)| (path, output.text()))
                .collect::<BTreeMap<_, _>>(),
        )
    };
    match case["mode"].as_str().unwrap() {
        "install" => {
            let rendered = render(&chart, &user, &facts, &capabilities, &options)
                .map_err(|error| error.to_string())?;
            let hooks: Vec<Value> = rendered.hooks.iter().map(hook).collect();
            Ok(json!({ "manifest": rendered.manifest, "hooks": hooks, "notes": rendered.notes }))
        }
        "engine" => Ok(json!({ "expect": outputs(&chart)? })),
        "values" => {
            process_dependencies(&mut chart, &user).map_err(|error| error.to_string())?;
            let seen = coalesce_values(&chart, &user)
                .map_err(|error| error.to_string())?
                .values;
            Ok(json!({ "expectTyped": typed(&seen.into_json()) }))
        }
        "uninstallOrder" => {
            let outputs = outputs(&chart)?;
            let files = outputs
                .iter()
                .filter(|(path, _)| !path.ends_with("NOTES.txt"));
            let sorted = sort_manifests(
                files.map(|(path, text)| (path.as_str(), text.as_str())),
                KindOrder::Uninstall,
            )
            .map_err(|error| error.to_string())?;
            let name = |manifest: &kubepkg_helm::Manifest| {
                manifest.head.metadata.clone().unwrap_or_default().name
            };
            let rows = sorted.manifests.iter();
            let rows =
                rows.map(|row| json!(format!("{} {}/{}", row.path, row.head.kind, name(row))));
            Ok(
                json!({ "uninstallOrder": rows.collect::<Vec<_>>(), "hooks": sorted.hooks.iter().map(hook).collect::<Vec<_>>() }),
            )
        }
        other => panic!("unknown mode {other}"),
    }
}

fn hook(hook: &Hook) -> Value {
    let mut row = json!({
        "name": hook.name, "kind": hook.kind, "path": hook.path, "manifest": hook.manifest,
        "weight": hook.weight, "events": hook.events, "deletePolicies": hook.delete_policies,
    });
    if !hook.output_log_policies.is_empty() {
        row["outputLogPolicies"] = json!(hook.output_log_policies);
    }
    row
}

#[test]
fn renders_charts_as_helm() {
    run("helm-chart", check);
}

#[test]
fn reads_values_as_helm() {
    run("helm-vals", check);
}

#[test]
fn runs_the_functions_of_helm() {
    run("helm-helm", check);
}

#[test]
fn runs_the_functions_of_sprig() {
    run("helm-sprig", check);
}

#[test]
fn formats_as_go() {
    run("helm-fmt", check);
}

#[test]
fn speaks_the_template_language() {
    run("helm-lang", check);
}

/// Go copies a struct that a function is given, and the copy lacks what only its pointer has. Helm 4.3.1 printed these.
#[test]
fn a_function_is_given_a_copy_of_a_struct() {
    let text = |template: &str| {
        let answer = template_answer(template);
        answer.unwrap_or_else(|error| error)
    };
    let no_method = |place: &str, of: &str| {
        format!(
            "c/templates/t.txt:{place}\n  executing \"c/templates/t.txt\" at <{of}>:\n    \
             can't evaluate field GitVersion in type common.KubeVersion"
        )
    };
    let kube = ".Capabilities.KubeVersion";
    assert_eq!(text("{{ .Capabilities.KubeVersion }}"), "v1.37.0");
    assert_eq!(
        text("{{ with .Capabilities.KubeVersion }}{{ .GitVersion }}{{ end }}"),
        "v1.37.0"
    );
    assert_eq!(
        text("{{ default .Capabilities.KubeVersion }}"),
        "{v1.37.0 v1.37.0 1 37}"
    );
    assert_eq!(
        text("{{ range list .Capabilities.KubeVersion }}{{ . }}{{ end }}"),
        "{v1.37.0 v1.37.0 1 37}"
    );
    assert_eq!(
        text("{{ (default .Capabilities.KubeVersion).GitVersion }}"),
        no_method("1:25", kube)
    );
    assert_eq!(
        text("{{ eq .Capabilities.KubeVersion .Capabilities.KubeVersion }}"),
        "true"
    );
    assert_eq!(
        text("{{ toJson .Capabilities.HelmVersion }}"),
        r#"{"version":"v4.3.1","go_version":"go1.26.8","kube_client_version":"v1.37"}"#
    );
}

fn template_answer(template: &str) -> Result<String, String> {
    let case = json!({ "kind": "template", "template": template });
    let answer = self::template(&case)?;
    Ok(answer["output"].as_str().unwrap_or_default().to_owned())
}

/// The answer of Helm 4.3.1 for the values and subcharts that a chart of these files ends up with.
fn seen_by(files: &[(&str, &str)]) -> Result<String, String> {
    let template = "{{ toJson .Values }} {{ keys .Subcharts | sortAlpha }}";
    let files: serde_json::Map<String, Value> = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), json!(text)))
        .collect();
    let answer =
        self::template(&json!({ "kind": "template", "template": template, "files": files }))?;
    Ok(answer["output"].as_str().unwrap_or_default().to_owned())
}

/// Helm 4.3.1 tells an empty list of dependencies from none: it coalesces values for the subcharts below the one, with
/// the values of the chart around it, and stops at the other.
#[test]
fn an_empty_list_of_dependencies_is_not_none() {
    let chart =
        "apiVersion: v2\nname: c\nversion: 0.1.0\ndependencies: [{name: sub, version: 0.1.0}]\n";
    let sub = "apiVersion: v2\nname: sub\nversion: 0.1.0\n";
    let listed = format!("{sub}dependencies: []\n");
    let files = |sub| {
        [
            ("Chart.yaml", chart),
            ("values.yaml", "deep: false\n"),
            ("charts/sub/Chart.yaml", sub),
            (
                "charts/sub/charts/deep/Chart.yaml",
                "apiVersion: v2\nname: deep\nversion: 0.1.0\n",
            ),
        ]
    };
    assert_eq!(
        seen_by(&files(sub)).unwrap(),
        r#"{"deep":false,"sub":{"deep":{"global":{}},"global":{}}} [sub]"#
    );
    assert_eq!(
        seen_by(&files(&listed)).unwrap_err(),
        "type mismatch on deep: false"
    );
}

/// Go decodes requirements.yaml into the dependencies that Chart.yaml has, place by place: the alias stays.
#[test]
fn requirements_are_read_over_the_dependencies_of_the_chart() {
    let files = [
        (
            "Chart.yaml",
            "apiVersion: v1\nname: c\nversion: 0.1.0\ndependencies: [{name: sub, version: 0.1.0, alias: one}]\n",
        ),
        (
            "requirements.yaml",
            "dependencies: [{name: sub, version: '*'}, {name: sub, version: '*'}]\n",
        ),
        (
            "charts/sub/Chart.yaml",
            "apiVersion: v2\nname: sub\nversion: 0.1.0\n",
        ),
    ];
    assert_eq!(
        seen_by(&files).unwrap(),
        r#"{"one":{"global":{}},"sub":{"global":{}}} [one sub]"#
    );
}
