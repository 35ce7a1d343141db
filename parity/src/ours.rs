//! The same case through `kubepkg-helm`, in the words in which `helm template` prints it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use kubepkg_helm::{
    Capabilities, Chart, ChartLimits, ReleaseFacts, RenderError, RenderLimits, RenderOptions,
    ValueSources, render,
};

use crate::corpus::Case;
use crate::run::{Answer, NAME, NAMESPACE};

/// Renders a case, loading included, and says how long that took.
pub(crate) fn template(case: &Case, limit: Duration) -> (Answer, Duration) {
    let begin = Instant::now();
    let answer = catch_unwind(AssertUnwindSafe(|| printed(case, limit)));
    let took = begin.elapsed();
    let answer = answer.unwrap_or_else(|_| Answer::Refused("(the renderer panicked)".to_owned()));
    (answer, took)
}

fn printed(case: &Case, limit: Duration) -> Answer {
    let chart = match Chart::load_dir(&case.chart, &ChartLimits::default()) {
        Ok(chart) => chart,
        Err(error) => return Answer::Refused(error.to_string()),
    };
    let mut sources = ValueSources::default();
    if let Some(values) = &case.values {
        sources.files.push(values.to_string_lossy().into_owned());
    }
    let mut read = |file: &str| std::fs::read(file).map_err(|error| error.to_string());
    let user = match sources.merge(&mut read) {
        Ok(user) => user,
        Err(error) => return Answer::Refused(error.to_string()),
    };
    let limits = RenderLimits {
        wall_time: Some(limit),
        ..RenderLimits::default()
    };
    let options = RenderOptions {
        include_crds: true,
        limits: Some(&limits),
        ..RenderOptions::default()
    };
    let release = ReleaseFacts::install(NAME, NAMESPACE);
    match render(&chart, &user, &release, &Capabilities::default(), &options) {
        Ok(rendered) => {
            let mut text = format!("{}\n", rendered.manifest.trim());
            for hook in &rendered.hooks {
                for part in ["---\n# Source: ", &hook.path, "\n", &hook.manifest, "\n"] {
                    text.push_str(part);
                }
            }
            Answer::Rendered(text)
        }
        Err(RenderError::Limit { .. }) => Answer::Stopped,
        Err(error) => Answer::Refused(error.to_string().trim_end().to_owned()),
    }
}
