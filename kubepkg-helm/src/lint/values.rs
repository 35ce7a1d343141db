//! Rules about `values.yaml`: it is there, it is YAML, and with the user's values it meets `values.schema.json`.

use super::tree::{Entry, Tree};
use super::{Found, LintOptions, Severity};
use crate::schema::validate_against_schema;
use crate::values::{Values, coalesce_tables};

const FILE: &str = "values.yaml";

pub(super) fn check(tree: &Tree, user: &Values, options: &LintOptions, found: &mut Found) {
    let there = match tree.entry(FILE) {
        Entry::Missing => Err("file does not exist".to_owned()),
        Entry::File | Entry::Folder => Ok(()),
    };
    if found.rule(Severity::Info, FILE, there) {
        let outcome = file(tree, user, options.skip_schema);
        found.rule(Severity::Error, FILE, outcome);
    }
}

fn file(tree: &Tree, user: &Values, skip_schema: bool) -> Result<(), String> {
    let unreadable = |why: String| format!("unable to parse YAML: {why}");
    let text = tree.read(FILE).map_err(unreadable)?;
    let read = kubepkg_yaml::read_values(&text);
    let read = read.map_err(|error| unreadable(error.to_string()))?;
    // Only the top chart's own values, as in Helm.
    let over = coalesce_tables(&Values::default(), user);
    let values = coalesce_tables(&over, &Values::from_json(read.into()));
    let schema = tree.read("values.schema.json").unwrap_or_default();
    if schema.is_empty() || skip_schema {
        return Ok(());
    }
    validate_against_schema(&schema, &values)
}
