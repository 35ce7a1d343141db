//! Helm's engine on top of the template engine: which templates are parsed and run in which order, and what they
//! see.
//!
//! Deep paths come before shallow ones, then reverse byte order; so a change that one template makes to shared
//! values is seen by the same others as in Helm, and of two faulty templates the same one is reported.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use kubepkg_gotemplate::helm_funcs::{self, without_no_value};
use kubepkg_gotemplate::message::{helm_exec_error, helm_parse_error};
use kubepkg_gotemplate::{
    Budget, ExecError, FuncTable, Map, MissingKey, TemplateSet, Value, sprig,
};

use super::env::RenderEnv;
use super::objects::{self, VALUES};
use super::{ReleaseFacts, RenderError, RenderOptions};
use crate::beside::in_halves;
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
    /// For each line of it the line of the template, from 1, that it comes from.
    pub lines: Vec<usize>,
}

impl TemplateOutput {
    /// The output as text; bytes that are no UTF-8 become replacement characters, as in a release record.
    pub fn text(&self) -> String {
        kubepkg_gotemplate::encoded(&self.bytes)
    }

    /// The line of the template that a line of the output comes from, both from 1; 0 when there is none.
    pub fn source_line(&self, line: usize) -> usize {
        let line = line.checked_sub(1).and_then(|line| self.lines.get(line));
        line.copied().unwrap_or(0)
    }
}

struct Template<'a> {
    chart: &'a str,
    text: &'a Arc<[u8]>,
    dot: Map,
    base_path: String,
}

/// What a run takes.
pub(super) struct Input<'a> {
    pub(super) chart: &'a Chart,
    pub(super) values: &'a Table,
    pub(super) release: &'a ReleaseFacts,
    pub(super) capabilities: &'a Capabilities,
    pub(super) options: &'a RenderOptions<'a>,
}

/// Runs all templates; the first that fails ends it.
pub(super) fn run(
    input: &Input<'_>,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<String, TemplateOutput>, RenderError> {
    let mut first = None;
    let outputs = run_with(input, warnings, &mut |error| {
        first = Some(error);
        false
    });
    first.map_or(Ok(outputs), Err)
}

/// Runs all templates. Each that fails is told to `failed`, which says whether to go on with the others; none is run
/// when one of them can't be parsed.
pub(super) fn run_with(
    input: &Input<'_>,
    warnings: &mut Vec<String>,
    failed: &mut dyn FnMut(RenderError) -> bool,
) -> BTreeMap<String, TemplateOutput> {
    let Input {
        chart,
        values,
        release,
        capabilities,
        options,
    } = *input;
    let top = Top {
        release: objects::release(release),
        capabilities: objects::capabilities(capabilities),
    };
    let mut templates = BTreeMap::new();
    top.collect(
        chart,
        None,
        &values.with_type(&VALUES),
        chart.name(),
        &mut templates,
    );
    let mut order: Vec<(&String, &Template<'_>)> = templates.iter().collect();
    order.sort_by_cached_key(|(path, _)| std::cmp::Reverse((path.matches('/').count(), *path)));

    let (mut outputs, mut is_whole, mut goes_on) = (BTreeMap::new(), true, true);
    let texts: Vec<Text<'_>> = order
        .iter()
        .map(|(path, template)| (path.as_str(), template.text))
        .collect();
    let (set, errors) = parse(&texts, &functions(options.lint));
    for error in errors {
        is_whole = false;
        if !failed(error) {
            break;
        }
    }

    let mut env = RenderEnv::new(options);
    if is_whole {
        let limits = options.limits();
        let budget = Budget {
            steps: limits.steps,
            output_bytes: limits.output_bytes,
            wall_time: limits.wall_time,
            ..Budget::default()
        };
        let mut session = set.session(&mut env, budget);
        for (path, template) in &order {
            if !goes_on || base(path).starts_with('_') {
                continue;
            }
            template.dot.insert(
                "Template".into(),
                objects::template(path, &template.base_path),
            );
            let dot = Value::Map(template.dot.with_type(&VALUES));
            match session.execute_with_lines(path, &dot) {
                Ok((written, lines)) => {
                    let bytes = match without_no_value(&written) {
                        Cow::Owned(without) => without,
                        Cow::Borrowed(_) => written,
                    };
                    let output = TemplateOutput {
                        chart: template.chart.to_owned(),
                        bytes,
                        lines,
                    };
                    outputs.insert((*path).clone(), output);
                }
                Err(error) => {
                    // What a limit stopped has used up what the others would need.
                    let is_limit = error.limit().is_some();
                    goes_on = failed(execution(&error, path)) && !is_limit;
                }
            }
        }
    }
    warnings.append(&mut env.warnings);
    let no_randomness = env.no_randomness();
    // Templates can tie maps into each other; what ties them is let go of here.
    for (_, template) in &order {
        template.dot.clear();
    }
    if no_randomness && goes_on {
        failed(RenderError::NoRandomness);
    }
    outputs
}

/// The path and the contents of a template.
type Text<'a> = (&'a str, &'a Arc<[u8]>);

/// The set of all templates, and what is wrong with those that can't be parsed.
fn parse(texts: &[Text<'_>], functions: &FuncTable) -> (TemplateSet, Vec<RenderError>) {
    let work = |texts: &[Text<'_>]| {
        let mut set =
            TemplateSet::new("gotpl", functions.clone()).with_missing_key(MissingKey::Zero);
        let mut errors = Vec::new();
        for (path, text) in texts {
            if let Err(error) = set.parse(path, Arc::clone(text)) {
                errors.push(RenderError::Parse {
                    template: (*path).to_owned(),
                    line: error.line,
                    message: helm_parse_error(&error),
                });
            }
        }
        (set, errors)
    };
    let ((mut set, mut errors), second) = in_halves(texts, |(_, text)| text.len(), work);
    if let Some((more, more_errors)) = second {
        set.extend(more);
        errors.extend(more_errors);
    }
    (set, errors)
}

/// The functions of Sprig and of Helm, made once.
fn functions(lint: bool) -> FuncTable {
    fn table(lint: bool) -> FuncTable {
        let mut functions = FuncTable::default();
        functions.extend(sprig::functions());
        functions.extend(helm_funcs::functions(lint));
        functions
    }
    static PLAIN: LazyLock<FuncTable> = LazyLock::new(|| table(false));
    static LINT: LazyLock<FuncTable> = LazyLock::new(|| table(true));
    if lint { LINT.clone() } else { PLAIN.clone() }
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
