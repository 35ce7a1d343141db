//! Rules about the files of `crds/`: they hold custom resource definitions.

use super::documents::{Object, objects};
use super::tree::{Entry, Tree};
use super::{Found, Severity};
use crate::chart::{Chart, ChartError, ChartFile};

const FOLDER: &str = "crds/";

pub(super) fn check(tree: &Tree, chart: &Result<Chart, ChartError>, found: &mut Found) {
    let is_folder = match tree.entry("crds") {
        Entry::Missing => return,
        Entry::File => Err("not a directory".to_owned()),
        Entry::Folder => Ok(()),
    };
    if !found.rule(Severity::Error, FOLDER, is_folder) {
        return;
    }
    let Some(chart) = found.loaded(FOLDER, chart) else {
        return;
    };
    let mut files = Vec::new();
    collect(chart, &mut files);
    for ChartFile { name, data, .. } in files {
        for object in objects(data) {
            match object {
                Ok(object) => definition(&object, name, found),
                Err(why) => {
                    let why = format!("unable to parse YAML: {why}");
                    found.rule(Severity::Error, name, Err(why));
                    return;
                }
            }
        }
    }
}

fn definition(object: &Object, file: &str, found: &mut Found) {
    if !object.api_version.starts_with("apiextensions.k8s.io") {
        let why = "apiVersion is not in 'apiextensions.k8s.io'".to_owned();
        found.rule(Severity::Error, file, Err(why));
    }
    if object.kind != "CustomResourceDefinition" {
        let why = "object kind is not 'CustomResourceDefinition'".to_owned();
        found.rule(Severity::Error, file, Err(why));
    }
}

/// The files of the chart, then those of its subcharts.
fn collect<'a>(chart: &'a Chart, files: &mut Vec<&'a ChartFile>) {
    files.extend(chart.files.iter().filter(|file| file.is_crd()));
    for subchart in &chart.dependencies {
        collect(subchart, files);
    }
}
