//! Everything that is decided without a template: metadata, archives, ignore files, values, dependencies,
//! manifests, names.

use std::collections::BTreeMap;

use kubepkg_helm::{
    Chart, ChartLimits, Coalesced, Dependency, Hook, IgnoreRules, KindOrder, Manifest,
    ResourcePolicy, SetError, Values, ValuesError, coalesce_values, merge_values,
    process_dependencies, set, set_json, set_literal, set_string, sort_manifests, split_manifests,
    to_go_json, validate_object_name, validate_release_name,
};
use serde_json::{Value, json};

use crate::vectors::{run, same, text};

fn files(case: &Value) -> Vec<(String, Vec<u8>)> {
    let files = case["files"].as_object().unwrap();
    files
        .iter()
        .map(|(path, text)| (path.clone(), text.as_str().unwrap().as_bytes().to_vec()))
        .collect()
}

fn load(case: &Value) -> Result<Chart, String> {
    Chart::from_files(files(case), &ChartLimits::default()).map_err(|error| error.to_string())
}

fn written(values: &Values) -> Value {
    serde_json::from_slice(&to_go_json(values).unwrap()).unwrap()
}

#[test]
fn reads_metadata_as_helm() {
    run("helm-misc-chart-metadata", |case| {
        if case["group"] == "load-files" {
            return loaded(case);
        }
        let input = text(case, "input").unwrap();
        let chart = Chart::from_files([("Chart.yaml", input)], &ChartLimits::default());
        match (chart, case.get("error")) {
            (Err(error), wanted) => same(
                "error",
                &Value::from(error.to_string()),
                wanted.unwrap_or(&Value::Null),
            ),
            (Ok(_), Some(wanted)) => Err(format!("no error, wanted {wanted}")),
            (Ok(chart), None) => {
                let json = String::from_utf8(to_go_json(&chart.metadata).unwrap()).unwrap();
                same(
                    "metadata",
                    &json.as_str(),
                    &case["metadata"].as_str().unwrap(),
                )?;
                let written = chart.metadata.to_yaml().unwrap();
                same(
                    "written",
                    &written.as_str(),
                    &case["written"].as_str().unwrap(),
                )?;
                let name = format!("{}-{}", chart.metadata.name, chart.metadata.version);
                same(
                    "full name",
                    &name.as_str(),
                    &case["full_name"].as_str().unwrap(),
                )
            }
        }
    });
}

fn tree(chart: &Chart) -> Value {
    let names = |files: &[kubepkg_helm::ChartFile]| {
        files
            .iter()
            .map(|file| file.name.clone())
            .collect::<Vec<_>>()
    };
    let mut tree = json!({
        "charts": chart.dependencies.iter().map(tree).collect::<Vec<_>>(),
        "files": names(&chart.files),
        "name": chart.name(),
        "schema": String::from_utf8_lossy(chart.schema.as_deref().unwrap_or_default()),
        "templates": names(&chart.templates),
        "values": chart.values.as_ref().map(written),
    });
    if !chart.metadata.dependencies.is_empty() {
        tree["dependencies"] = serde_json::to_value(&chart.metadata.dependencies).unwrap();
    }
    if let Some(lock) = &chart.lock {
        tree["lock"] = serde_json::to_value(lock).unwrap();
    }
    tree
}

fn drop_raw(tree: &mut Value) {
    if let Some(map) = tree.as_object_mut() {
        map.remove("raw");
        map.values_mut().for_each(drop_raw);
    } else if let Some(list) = tree.as_array_mut() {
        list.iter_mut().for_each(drop_raw);
    }
}

/// What is loaded, the list of raw files apart, which this crate does not keep.
fn loaded(case: &Value) -> Result<(), String> {
    let got = match load(case) {
        Ok(chart) => tree(&chart),
        Err(error) => json!({ "error": error }),
    };
    let mut wanted = case["result"].clone();
    drop_raw(&mut wanted);
    same("chart", &got, &wanted)
}

fn coalesced(outcome: Result<Coalesced, ValuesError>) -> Value {
    match outcome {
        Ok(coalesced) => json!({ "values": written(&coalesced.values) }),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

#[test]
fn coalesces_values_as_helm() {
    run("helm-misc-coalesce", |case| {
        let field = |name: &str| case[name].as_str().unwrap_or_default().to_owned();
        let chart_yaml = |name: &str| format!("name: {name}\nversion: 1.0.0\napiVersion: v2\n");
        let files = [
            ("Chart.yaml", chart_yaml("parent")),
            ("values.yaml", field("parent")),
            ("charts/sub/Chart.yaml", chart_yaml("sub")),
            ("charts/sub/values.yaml", field("sub")),
            ("charts/sub/charts/deep/Chart.yaml", chart_yaml("deep")),
            ("charts/sub/charts/deep/values.yaml", field("deep")),
        ];
        let chart =
            Chart::from_files(files, &ChartLimits::default()).map_err(|error| error.to_string())?;
        let user = Values::from_yaml_documents(field("user").as_bytes())
            .map_err(|error| error.to_string())?;
        for (name, outcome) in [
            ("coalesced", coalesce_values(&chart, &user)),
            ("merged", merge_values(&chart, &user)),
        ] {
            let mut wanted = case[name].clone();
            if wanted.get("error").is_some() {
                wanted.as_object_mut().unwrap().remove("values");
            }
            same(name, &coalesced(outcome), &wanted)?;
        }
        Ok(())
    });
}

fn sort_charts(chart: &mut Value) {
    if let Some(charts) = chart.get_mut("charts").and_then(Value::as_array_mut) {
        charts.iter_mut().for_each(sort_charts);
        charts.sort_by_key(|chart| chart["name"].as_str().unwrap().to_owned());
    }
}

#[test]
fn processes_dependencies_as_helm() {
    run("helm-misc-dependencies", |case| {
        fn shape(chart: &Chart) -> Value {
            let names = |dependency: &Dependency| match dependency.alias.as_str() {
                "" => dependency.name.clone(),
                alias => format!("{}={alias}", dependency.name),
            };
            let mut charts: Vec<Value> = chart.dependencies.iter().map(shape).collect();
            charts.sort_by_key(|chart| chart["name"].as_str().unwrap().to_owned());
            let declared = chart
                .metadata
                .dependencies
                .iter()
                .flatten()
                .map(names)
                .collect::<Vec<_>>()
                .join(" ");
            json!({
                "charts": charts,
                "metadata_dependencies": declared,
                "name": chart.name(),
                "values": chart.values.as_ref().map(written),
            })
        }
        let mut chart = load(case)?;
        let user = Values::from_yaml_documents(&text(case, "user_values").unwrap())
            .map_err(|error| error.to_string())?;
        let got = match process_dependencies(&mut chart, &user) {
            Ok(_) => shape(&chart),
            Err(error) => json!({ "error": error.to_string() }),
        };
        let mut wanted = case["result"].clone();
        sort_charts(&mut wanted);
        same("chart", &got, &wanted)
    });
}

fn ignore_text(case: &Value) -> Vec<u8> {
    let mut all = text(case, "helmignore").unwrap();
    if let Some(repeat) = case.get("helmignore_repeat") {
        let times = usize::try_from(repeat[1].as_u64().unwrap()).unwrap();
        all.extend(repeat[0].as_str().unwrap().repeat(times).into_bytes());
    }
    all
}

#[test]
fn ignores_as_helm() {
    let all = crate::vectors::read("helm-misc-ignore");
    let paths = all.iter().find(|case| case["id"] == "paths/paths").unwrap()["paths"]
        .as_array()
        .unwrap()
        .clone();
    run("helm-misc-ignore", |case| {
        if case["group"] == "paths" {
            return Ok(());
        }
        let rules = match (IgnoreRules::parse(&ignore_text(case)), case.get("error")) {
            (Err(error), Some(wanted)) => {
                return same("error", &Value::from(error.to_string()), wanted);
            }
            (Ok(_), Some(wanted)) => return Err(format!("no error, wanted {wanted}")),
            (Err(error), None) => return Err(error.to_string()),
            (Ok(rules), None) => rules,
        };
        let ignored = |rules: &IgnoreRules| -> Vec<String> {
            let paths = paths.iter().map(|path| path.as_str().unwrap());
            let hit = |path: &&str| rules.ignores(path.trim_end_matches('/'), path.ends_with('/'));
            paths.filter(hit).map(str::to_owned).collect()
        };
        let wanted = |field: &str| -> Vec<String> {
            serde_json::from_value(case[field].clone()).unwrap_or_default()
        };
        same("ignored", &ignored(&rules), &wanted("ignored"))?;
        same(
            "with defaults",
            &ignored(&rules.with_defaults()),
            &wanted("ignored_with_defaults"),
        )
    });
}

fn hook(hook: &Hook) -> Value {
    json!({
        "Name": hook.name, "Kind": hook.kind, "Path": hook.path, "Manifest": hook.manifest, "Weight": hook.weight,
        "Events": hook.events, "DeletePolicies": hook.delete_policies, "OutputLogPolicies": hook.output_log_policies,
    })
}

fn resource(manifest: &Manifest) -> Value {
    let mut row = json!({
        "path": manifest.path, "content": manifest.content,
        "apiVersion": manifest.head.api_version, "kind": manifest.head.kind,
    });
    if let Some(metadata) = &manifest.head.metadata {
        row["name"] = metadata.name.as_str().into();
    }
    row
}

#[test]
fn splits_and_sorts_manifests_as_helm() {
    run("helm-misc-manifests", |case| {
        if case["group"] == "split" {
            let input = String::from_utf8(text(case, "input").unwrap()).unwrap();
            let got: Vec<&str> = split_manifests(&input)
                .iter()
                .map(|document| document.text)
                .collect();
            return same("documents", &json!(got), &case["docs"]);
        }
        let order = if case["order"] == "uninstall" {
            KindOrder::Uninstall
        } else {
            KindOrder::Install
        };
        let files: BTreeMap<String, String> =
            serde_json::from_value(case["files"].clone()).unwrap();
        let sorted = sort_manifests(
            files
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_str())),
            order,
        );
        if case["group"] == "resource-policy" {
            let manifests = sorted.unwrap().manifests;
            let with = |policy| {
                let chosen = manifests
                    .iter()
                    .filter(|manifest| manifest.head.resource_policy() == policy);
                let name =
                    |manifest: &Manifest| manifest.head.metadata.clone().unwrap_or_default().name;
                json!(
                    chosen
                        .map(|manifest| format!("{}/{}", manifest.head.kind, name(manifest)))
                        .collect::<Vec<_>>()
                )
            };
            same("keep", &with(ResourcePolicy::Keep), &case["keep"])?;
            return same("delete", &with(ResourcePolicy::Delete), &case["delete"]);
        }
        let got = match sorted {
            Err(error) => json!({ "error": error.to_string() }),
            Ok(sorted) => json!({
                "hooks": sorted.hooks.iter().map(hook).collect::<Vec<_>>(),
                 "manifests": sorted.manifests.iter().map(resource).collect::<Vec<_>>(),
            }),
        };
        same("sorted", &got, &case["result"])
    });
}

#[test]
fn allows_the_names_that_helm_allows() {
    run("helm-misc-names", |case| {
        let name = case["input"].as_str().unwrap();
        let error = |outcome: Result<(), kubepkg_helm::NameError>| {
            outcome.err().map(|error| error.to_string())
        };
        let wanted = |field: &str| {
            case[field]
                .as_str()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        same(
            "release",
            &error(validate_release_name(name)),
            &wanted("release_error"),
        )?;
        same(
            "object",
            &error(validate_object_name(name)),
            &wanted("metadata_name_error"),
        )
    });
}

#[test]
fn sets_values_as_helm() {
    type Set = fn(&mut Values, &str) -> Result<(), SetError>;
    let outcome = |into: Value, input: &str, set: Set| {
        let mut values = Values::from_json(into);
        match set(&mut values, input) {
            Ok(()) => json!({ "values": written(&values) }),
            Err(error) => json!({ "error": error.to_string() }),
        }
    };
    run("helm-misc-set", |case| {
        let input = case["input"].as_str().unwrap();
        let into = json!({"a": {"b": "old", "l": ["x", "w"]}, "keep": true});
        let rows: Vec<(&str, Value, Set)> = if case["group"] == "set-json" {
            vec![("result", json!({}), set_json)]
        } else {
            vec![
                ("set", json!({}), set),
                ("set-string", json!({}), set_string),
                ("set-literal", json!({}), set_literal),
                ("set-into", into, set),
            ]
        };
        for (field, into, set) in rows {
            let mut wanted = case[field].clone();
            if wanted.get("error").is_some() {
                wanted.as_object_mut().unwrap().remove("values");
            }
            let mut got = outcome(into, input, set);
            if let Some(bytes) = wanted.get("values_bytes") {
                got = json!({ "values_bytes": got["values"].to_string().len() });
                wanted = json!({ "values_bytes": bytes });
            }
            same(field, &got, &wanted)?;
        }
        Ok(())
    });
}

#[test]
fn reads_archives_as_helm() {
    run("oci-tar-load", |case| {
        if case["group"] == "load-file" {
            return load_file(case);
        }
        let max = case["max_decompressed_chart_size"].as_u64();
        let limits = ChartLimits {
            max_bytes: max.unwrap_or(100 << 20),
            ..ChartLimits::default()
        };
        match (
            Chart::load_archive(&kubepkg_vectors::archive(case), &limits),
            case.get("load_error"),
        ) {
            (Err(error), Some(wanted)) => same("error", &Value::from(error.to_string()), wanted),
            (Err(error), None) => Err(format!("refused: {error}")),
            (Ok(_), Some(wanted)) => Err(format!("no error, wanted {wanted}")),
            (Ok(chart), None) => {
                let name = format!("{}-{}", chart.metadata.name, chart.metadata.version);
                same("chart", &Value::from(name), &case["chart"])
            }
        }
    });
}

fn load_file(case: &Value) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let name = case["file"].as_str().unwrap();
    let path = folder.path().join(name);
    if let Some(body) = text(case, "body") {
        std::fs::write(&path, body).unwrap();
    }
    let error = Chart::load_file(&path, &ChartLimits::default())
        .unwrap_err()
        .to_string();
    let error = error.replace(&format!("{}/", folder.path().display()), "");
    same("error", &Value::from(error), &case["error"])
}
