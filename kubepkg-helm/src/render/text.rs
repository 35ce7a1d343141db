//! A rendering as `helm template` prints it.

use std::sync::LazyLock;

use regex::Regex;

use super::Rendered;
use crate::go::path::matches;
use crate::hook::HookEvent;
use crate::manifest::split_manifests;

/// Which parts of a rendering are printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// Hooks are left out.
    pub no_hooks: bool,
    /// Hooks that are tests are left out.
    pub skip_tests: bool,
    /// Only documents of these templates: patterns of paths in the chart, `templates/*.yaml`.
    pub show_only: Vec<String>,
}

/// No document comes from a template that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("could not find template {pattern} in chart")]
pub struct NoSuchTemplate {
    /// What was asked for.
    pub pattern: String,
}

impl Rendered {
    /// What `helm template` prints.
    ///
    /// # Errors
    /// [`NoSuchTemplate`] for the first pattern that no document answers to.
    pub fn to_text(&self, options: &TextOptions) -> Result<String, NoSuchTemplate> {
        static SOURCE: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new("# Source: [^/\n]+/(.+)").ok());
        let mut text = format!("{}\n", self.manifest.trim());
        for hook in &self.hooks {
            let is_test = hook.events.contains(&HookEvent::Test);
            if options.no_hooks || (options.skip_tests && is_test) {
                continue;
            }
            for part in ["---\n# Source: ", &hook.path, "\n", &hook.manifest, "\n"] {
                text.push_str(part);
            }
        }
        if options.show_only.is_empty() {
            return Ok(text);
        }
        let documents = split_manifests(&text);
        let template = |document: &str| {
            let found = SOURCE.as_ref()?.captures(document)?;
            found.get(1).map(|path| path.as_str().to_owned())
        };
        let mut chosen = String::new();
        for pattern in &options.show_only {
            let mut missing = true;
            for document in &documents {
                let path = template(document.text);
                if path.is_some_and(|path| matches(pattern, &path).unwrap_or(false)) {
                    missing = false;
                    for part in ["---\n", document.text, "\n"] {
                        chosen.push_str(part);
                    }
                }
            }
            if missing {
                return Err(NoSuchTemplate {
                    pattern: pattern.clone(),
                });
            }
        }
        Ok(chosen)
    }
}
