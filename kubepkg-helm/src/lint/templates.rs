//! Rules about templates: they render, their files have known endings, and what they wrote are objects that Kubernetes
//! can name and still serves.

use std::collections::BTreeMap;

use serde_json::Value;

use super::documents::{Object, objects};
use super::tree::{Entry, Tree};
use super::{Found, LintOptions, Severity, deprecations, name};
use crate::capabilities::Capabilities;
use crate::chart::{Chart, ChartError};
use crate::go::decode::{GoField, GoStruct, GoType, decode_yaml};
use crate::go::path::{clean, extension};
use crate::go::text::{is_blank, quote};
use crate::render::{RenderOptions, TemplateOutput, lint_templates};
use crate::values::Values;

const FOLDER: &str = "templates/";
/// The longest line that Go's scanner takes.
const LONGEST_LINE: usize = 64 * 1024;

pub(super) fn check(
    tree: &Tree,
    chart: &Result<Chart, ChartError>,
    values: &Values,
    options: &LintOptions,
    found: &mut Found,
) {
    let entry = tree.entry("templates");
    let there = match entry {
        Entry::Missing => Err("directory does not exist".to_owned()),
        Entry::File | Entry::Folder => Ok(()),
    };
    if !found.rule(Severity::Warning, FOLDER, there) {
        return;
    }
    let is_folder = match entry {
        Entry::File => Err("not a directory".to_owned()),
        Entry::Missing | Entry::Folder => Ok(()),
    };
    if !found.rule(Severity::Error, FOLDER, is_folder) {
        return;
    }
    let Some(chart) = found.loaded(FOLDER, chart) else {
        return;
    };
    let mut capabilities = Capabilities::default();
    if let Some(version) = &options.kube_version {
        capabilities.kube_version = version.clone();
    }
    let namespace = match options.namespace.as_str() {
        "" => "default",
        namespace => namespace,
    };
    let rendering = RenderOptions {
        lint: true,
        skip_schema: options.skip_schema,
        limits: Some(&options.render_limits),
        ..RenderOptions::default()
    };
    match lint_templates(chart, values, namespace, &capabilities, &rendering) {
        Ok(Some(outputs)) => files(chart, &outputs, options, found),
        // Values that don't fit together are passed over in silence, as in Helm.
        Ok(None) => {}
        Err(error) => {
            found.rule(Severity::Error, FOLDER, Err(error.to_string()));
        }
    }
}

fn files(
    chart: &Chart,
    outputs: &BTreeMap<String, TemplateOutput>,
    options: &LintOptions,
    found: &mut Found,
) {
    for template in &chart.templates {
        let file = template.name.as_str();
        let ending = extension(file);
        let known = [".yaml", ".yml", ".tpl", ".txt"].contains(&ending);
        let outcome = if known {
            Ok(())
        } else {
            Err(format!(
                "file extension '{ending}' not valid. Valid extensions are .yaml, .yml, .tpl, or .txt"
            ))
        };
        found.rule(Severity::Error, file, outcome);
        if !matches!(ending.to_lowercase().as_str(), ".yaml" | ".yml") {
            continue;
        }
        let output = outputs.get(&clean(&format!("{}/{file}", chart.name())));
        let text = output.map(TemplateOutput::text).unwrap_or_default();
        if is_blank(&text) {
            continue;
        }
        found.rule(Severity::Warning, file, top_indent(&text));
        for object in objects(text.as_bytes()) {
            match object {
                Ok(object) => check_object(&object, &text, file, options, found),
                Err(why) => {
                    let why = format!("unable to parse YAML: {why}");
                    found.rule(Severity::Error, file, Err(why));
                    return;
                }
            }
        }
    }
}

fn check_object(object: &Object, text: &str, file: &str, options: &LintOptions, found: &mut Found) {
    found.rule(Severity::Warning, file, name::check(object));
    let deprecated = deprecations::check(object, options.kube_version.as_ref());
    found.rule(Severity::Warning, file, deprecated);
    found.rule(Severity::Error, file, selector(object, text));
    found.rule(Severity::Error, file, list_annotations(object, text));
}

/// The first line with something on it is not indented.
fn top_indent(text: &str) -> Result<(), String> {
    for line in text.lines() {
        if line.len() >= LONGEST_LINE {
            return Err("bufio.Scanner: token too long".into());
        }
        if is_blank(line) {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            return Err(format!(
                "document starts with an illegal indent: {}, which may cause parsing problems",
                quote(line)
            ));
        }
        break;
    }
    Ok(())
}

/// Workloads say which pods are theirs, somewhere in the file.
fn selector(object: &Object, text: &str) -> Result<(), String> {
    let workload = matches!(
        object.kind.as_str(),
        "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet"
    );
    if !workload || text.contains("matchLabels") || text.contains("matchExpressions") {
        return Ok(());
    }
    Err(format!(
        "a {} must contain matchLabels or matchExpressions, and {} does not",
        object.kind,
        quote(object.name())
    ))
}

static ANNOTATIONS: GoType = GoType::Map(&GoType::Text);
static METADATA: GoType = GoType::Struct(&GoStruct {
    name: "",
    printed: "struct { Annotations map[string]string }",
    fields: &[GoField {
        json: "Annotations",
        ty: &ANNOTATIONS,
    }],
});
static ITEM: GoType = GoType::Struct(&GoStruct {
    name: "",
    printed: "struct { Metadata struct { Annotations map[string]string } }",
    fields: &[GoField {
        json: "Metadata",
        ty: &METADATA,
    }],
});
static ITEMS: GoType = GoType::Slice(&ITEM);
static LIST: GoType = GoType::Struct(&GoStruct {
    name: "",
    printed: "struct { Items []struct { Metadata struct { Annotations map[string]string } } }",
    fields: &[GoField {
        json: "Items",
        ty: &ITEMS,
    }],
});

/// Items of a list can't ask to be kept: nobody looks.
fn list_annotations(object: &Object, text: &str) -> Result<(), String> {
    if object.kind != "List" {
        return Ok(());
    }
    let list = decode_yaml(text.as_bytes(), &LIST);
    let list = list.map_err(|why| format!("unable to parse YAML: {why}"))?;
    let items = list.as_ref().and_then(|list| list.get("Items"));
    let mut items = items.and_then(Value::as_array).into_iter().flatten();
    let asks = |item: &Value| {
        let annotations = item.pointer("/Metadata/Annotations");
        annotations.is_some_and(|all| all.get("helm.sh/resource-policy").is_some())
    };
    if items.any(asks) {
        return Err("annotation 'helm.sh/resource-policy' within List objects are ignored".into());
    }
    Ok(())
}
