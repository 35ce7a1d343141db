//! Helm's engine on top of the template engine: which templates are parsed and run in which order, and what they
//! see.
//!
//! Deep paths come before shallow ones, then reverse byte order; so a change that one template makes to shared
//! values is seen by the same others as in Helm, and of two faulty templates the same one is reported.

use std::collections::BTreeMap;

use kubepkg_gotemplate::message::{helm_exec_error, helm_parse_error};
use kubepkg_gotemplate::{
    Budget, ExecError, FuncTable, Map, MissingKey, TemplateSet, Value, helm_funcs, sprig,
};

use super::env::RenderEnv;
use super::objects::{self, VALUES};
use super::{ReleaseFacts, RenderError, RenderOptions};
use crate::capabilities::Capabilities;
use crate::chart::Chart;
use crate::go::path::{base, clean};
use crate::values::Table;

/// What a template wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateOutput {
    /// Name of the chart that the template belongs to.
    pub chart: String,
    /// What it wrote, `<no value>` removed.
    pub bytes: Vec<u8>,
}

impl TemplateOutput {
    /// The output as text; bytes that are no UTF-8 become replacement characters, as in a release record.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.bytes.len());
        for chunk in self.bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
        }
        text
    }
}

struct Template<'a> {
    chart: &'a str,
    text: &'a [u8],
    dot: Map,
    base_path: String,
}

pub(super) fn run(
    chart: &Chart,
    values: &Table,
    release: &ReleaseFacts,
    capabilities: &Capabilities,
    options: &RenderOptions<'_>,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<String, TemplateOutput>, RenderError> {
    let top = Top {
        release: objects::release(release),
        capabilities: objects::capabilities(capabilities),
    };
    let mut templates = BTreeMap::new();
    top.collect(
        chart,
        None,
        &objects::values_of(values),
        chart.name(),
        &mut templates,
    );
    let mut order: Vec<(&String, &Template<'_>)> = templates.iter().collect();
    order.sort_by_key(|(path, _)| std::cmp::Reverse((path.matches('/').count(), *path)));

    let mut set =
        TemplateSet::new("gotpl", functions(options.lint)).with_missing_key(MissingKey::Zero);
    for (path, template) in &order {
        set.parse(path, template.text)
            .map_err(|error| RenderError::Parse {
                template: (*path).clone(),
                line: error.line,
                message: helm_parse_error(&error),
            })?;
    }

    let mut env = RenderEnv::new(options);
    let mut outputs = BTreeMap::new();
    let outcome: Result<(), RenderError> = (|| {
        let limits = options.limits();
        let budget = Budget {
            steps: limits.steps,
            output_bytes: limits.output_bytes,
            wall_time: limits.wall_time,
            ..Budget::default()
        };
        let mut session = set.session(&mut env, budget);
        for (path, template) in &order {
            if base(path).starts_with('_') {
                continue;
            }
            template.dot.insert(
                "Template".into(),
                objects::template(path, &template.base_path),
            );
            let dot = Value::Map(template.dot.with_type(&VALUES));
            let written = session
                .execute(path, &dot)
                .map_err(|error| execution(&error, path))?;
            let output = TemplateOutput {
                chart: template.chart.to_owned(),
                bytes: without_no_value(written),
            };
            outputs.insert((*path).clone(), output);
        }
        Ok(())
    })();
    warnings.append(&mut env.warnings);
    let no_randomness = env.no_randomness;
    // Templates can tie maps into each other; what ties them is let go of here.
    for (_, template) in &order {
        template.dot.clear();
    }
    outcome?;
    if no_randomness {
        return Err(RenderError::NoRandomness);
    }
    Ok(outputs)
}

fn functions(lint: bool) -> FuncTable {
    let mut functions = FuncTable::default();
    functions.extend(sprig::functions());
    functions.extend(helm_funcs::functions(lint));
    functions
}

fn execution(error: &ExecError, path: &str) -> RenderError {
    let template = path.to_owned();
    if let Some(source) = error.limit() {
        return RenderError::Limit { template, source };
    }
    let place = error.place();
    RenderError::Execute {
        template,
        line: place.map_or(0, |place| place.line),
        column: place.map_or(0, |place| place.column),
        message: helm_exec_error(error, path),
    }
}

fn without_no_value(bytes: Vec<u8>) -> Vec<u8> {
    const NO_VALUE: &[u8] = b"<no value>";
    if !bytes
        .windows(NO_VALUE.len())
        .any(|window| window == NO_VALUE)
    {
        return bytes;
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes.as_slice();
    while let Some((first, tail)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(NO_VALUE) {
            rest = after;
        } else {
            out.push(*first);
            rest = tail;
        }
    }
    out
}

struct Top {
    release: Value,
    capabilities: Value,
}

impl Top {
    /// Collects the templates of a chart and of those below it; answers with the chart's dot.
    fn collect<'a>(
        &self,
        chart: &'a Chart,
        parent: Option<&Map>,
        values: &Map,
        path: &str,
        templates: &mut BTreeMap<String, Template<'a>>,
    ) -> Map {
        let values = match parent {
            None => values.clone(),
            Some(parent) => objects::table(parent, &format!("Values.{}", chart.name()))
                .unwrap_or_else(|_| Map::typed(&VALUES)),
        };
        let subcharts = Map::default();
        let dot = Map::default();
        for (key, value) in [
            ("Chart", objects::chart(&chart.metadata, parent.is_none())),
            ("Files", super::files::files(&chart.files)),
            ("Release", self.release.clone()),
            ("Capabilities", self.capabilities.clone()),
            ("Values", Value::Map(values.clone())),
            ("Subcharts", Value::Map(subcharts.clone())),
        ] {
            dot.insert(key.into(), value);
        }
        for subchart in &chart.dependencies {
            let path = format!("{path}/charts/{}", subchart.name());
            let below = self.collect(subchart, Some(&dot), &values, &path, templates);
            subcharts.insert(subchart.name().into(), Value::Map(below));
        }
        let library = chart.metadata.is_library();
        for file in &chart.templates {
            if library && !base(&file.name).starts_with('_') {
                continue;
            }
            let template = Template {
                chart: chart.name(),
                text: &file.data,
                dot: dot.clone(),
                base_path: clean(&format!("{path}/templates")),
            };
            templates.insert(clean(&format!("{path}/{}", file.name)), template);
        }
        dot
    }
}
