//! `values.schema.json`, message by message.

use kubepkg_helm::{
    Chart, ChartLimits, Values, coalesce_values, validate_against_schema, validate_values,
};
use serde_json::Value;

use crate::vectors::{run, same, text};

fn judge(outcome: Result<(), String>, case: &Value) -> Result<(), String> {
    match (outcome, case["valid"].as_bool().unwrap()) {
        (Ok(()), true) => Ok(()),
        (Ok(()), false) => Err(format!("no error, wanted {}", case["error"])),
        (Err(error), true) => Err(format!("refused: {error}")),
        (Err(error), false) => match case.get("error_lines_any_order") {
            None => same("error", &Value::from(error), &case["error"]),
            Some(lines) => {
                let mut got: Vec<&str> = error.lines().collect();
                got.sort_unstable();
                let lines: Vec<&str> = lines
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|line| line.as_str().unwrap())
                    .collect();
                let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
                same("lines", &got, &lines)
            }
        },
    }
}

#[test]
fn words_schema_errors_as_helm() {
    run("jsonschema-single", |case| {
        let values = Values::from_yaml_documents(&text(case, "values").unwrap())
            .map_err(|error| error.to_string())?;
        judge(
            validate_against_schema(&text(case, "schema").unwrap(), &values),
            case,
        )
    });
}

#[test]
fn asks_every_chart_with_a_schema() {
    run("jsonschema-charts", |case| {
        let mut files = Vec::new();
        let mut folders = std::collections::BTreeMap::new();
        for row in case["charts"].as_array().unwrap() {
            let cell = |at: usize| row[at].as_str().unwrap().to_owned();
            let folder = match folders.get(&cell(0)) {
                None => String::new(),
                Some(parent) => format!("{parent}charts/{}/", cell(1)),
            };
            folders.insert(cell(1), folder.clone());
            let yaml = format!("name: {}\nversion: 1.0.0\napiVersion: v2\n", cell(1));
            files.push((format!("{folder}Chart.yaml"), yaml));
            files.push((format!("{folder}values.yaml"), cell(3)));
            if !cell(2).is_empty() {
                files.push((format!("{folder}values.schema.json"), cell(2)));
            }
        }
        let chart =
            Chart::from_files(files, &ChartLimits::default()).map_err(|error| error.to_string())?;
        let user = Values::from_yaml_documents(&text(case, "values").unwrap())
            .map_err(|error| error.to_string())?;
        let values = coalesce_values(&chart, &user).map_err(|error| error.to_string());
        judge(
            values.and_then(|coalesced| validate_values(&chart, &coalesced.values)),
            case,
        )
    });
}
