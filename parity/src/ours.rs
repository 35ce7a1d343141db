//! The same case through `kubepkg-helm`, in the words in which the helm program prints it.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use kubepkg_helm::{
    Capabilities, Chart, ChartLimits, Env, ReleaseFacts, RenderError, RenderLimits, RenderOptions,
    Rendered, ValueSources, render,
};
use serde_json::{Value, json};

use crate::corpus::Case;
use crate::replay::Replay;
use crate::run::{Answer, NAME, NAMESPACE};

/// Renders a case as `helm template` prints it, loading included, and says how long that took.
pub(crate) fn template(case: &Case, limit: Duration, chance: Option<Replay>) -> (Answer, Duration) {
    let begin = Instant::now();
    let answer = caught(|| {
        let rendered = rendered(case, limit, true, chance)?;
        let mut text = format!("{}\n", rendered.manifest.trim());
        for hook in &rendered.hooks {
            for part in ["---\n# Source: ", &hook.path, "\n", &hook.manifest, "\n"] {
                text.push_str(part);
            }
        }
        Ok(text)
    });
    (answer, begin.elapsed())
}

/// What else a release holds: the notes, and what is known of its hooks.
pub(crate) fn rest(case: &Case, limit: Duration) -> Answer {
    caught(|| {
        let rendered = rendered(case, limit, false, None)?;
        let hooks = rendered.hooks.iter().map(|hook| {
            json!({
                "name": hook.name,
                "kind": hook.kind,
                "path": hook.path,
                "events": hook.events,
                "weight": hook.weight,
                "deletePolicies": hook.delete_policies,
                "outputLogPolicies": hook.output_log_policies,
            })
        });
        Ok(shown(&rendered.notes, hooks))
    })
}

/// Notes and hooks as a text in which differences can be shown.
pub(crate) fn shown(notes: &str, hooks: impl Iterator<Item = Value>) -> String {
    let mut text = String::new();
    for hook in hooks {
        text.push_str(&hook.to_string());
        text.push('\n');
    }
    format!("{text}NOTES:\n{notes}\n")
}

fn caught(print: impl FnOnce() -> Result<String, Answer>) -> Answer {
    match catch_unwind(AssertUnwindSafe(print)) {
        Ok(Ok(text)) => Answer::Rendered(text),
        Ok(Err(answer)) => answer,
        Err(_) => Answer::Refused("(the renderer panicked)".to_owned()),
    }
}

fn rendered(
    case: &Case,
    limit: Duration,
    include_crds: bool,
    chance: Option<Replay>,
) -> Result<Rendered, Answer> {
    let refused = |error: &dyn std::fmt::Display| Answer::Refused(error.to_string());
    let limits = ChartLimits::default();
    let chart = if case.chart.is_dir() {
        // Helm follows links anywhere.
        Chart::load_dir_within(&case.chart, Path::new("/"), &limits)
    } else {
        Chart::load_file(&case.chart, &limits)
    };
    let chart = chart.map_err(|error| refused(&error))?;
    let mut sources = ValueSources::default();
    if let Some(values) = &case.values {
        sources.files.push(values.to_string_lossy().into_owned());
    }
    let mut read = |file: &str| std::fs::read(file).map_err(|error| error.to_string());
    let user = sources.merge(&mut read).map_err(|error| refused(&error))?;
    let limits = RenderLimits {
        wall_time: Some(limit),
        ..RenderLimits::default()
    };
    let chance = chance.map(RefCell::new);
    let options = RenderOptions {
        include_crds,
        limits: Some(&limits),
        chance: chance.as_ref().map(|chance| chance as &RefCell<dyn Env>),
        ..RenderOptions::default()
    };
    let release = ReleaseFacts::install(NAME, NAMESPACE);
    match render(&chart, &user, &release, &Capabilities::default(), &options) {
        Ok(rendered) => Ok(rendered),
        Err(RenderError::Limit { .. }) => Err(Answer::Stopped),
        Err(error) => Err(Answer::Refused(error.to_string().trim_end().to_owned())),
    }
}
