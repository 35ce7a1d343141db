//! The rules that `Metadata.Validate` of Helm has for a chart, in its order and words.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::{ChartError, Dependency, Metadata};
use crate::go::text::{is_print, is_space, quote};
use crate::version;

impl Metadata {
    /// Cleans texts (every white space becomes a blank, unprintable characters go) and checks the rules.
    ///
    /// # Errors
    /// [`ChartError::Validation`] with Helm's sentence for the first rule broken.
    pub fn validate(&mut self) -> Result<(), ChartError> {
        let refuse = |message: String| Err(ChartError::Validation { message });
        for text in [
            &mut self.name,
            &mut self.description,
            &mut self.home,
            &mut self.icon,
            &mut self.condition,
            &mut self.tags,
            &mut self.app_version,
            &mut self.kube_version,
        ] {
            sanitize(text);
        }
        self.sources.iter_mut().for_each(sanitize);
        self.keywords.iter_mut().for_each(sanitize);

        if self.api_version.is_empty() {
            return refuse("chart.metadata.apiVersion is required".into());
        }
        if self.name.is_empty() {
            return refuse("chart.metadata.name is required".into());
        }
        if self.name == "." || self.name == ".." {
            return refuse(format!(
                "chart.metadata.name {} is not allowed",
                quote(&self.name)
            ));
        }
        if self.name.contains('/') {
            return refuse(format!(
                "chart.metadata.name {} is invalid",
                quote(&self.name)
            ));
        }
        if self.version.is_empty() {
            return refuse("chart.metadata.version is required".into());
        }
        if !version::is_version(&self.version) {
            return refuse(format!(
                "chart.metadata.version {} is invalid",
                quote(&self.version)
            ));
        }
        if !matches!(self.chart_type.as_str(), "" | "application" | "library") {
            return refuse("chart.metadata.type must be application or library".into());
        }
        for maintainer in &mut self.maintainers {
            let Some(maintainer) = maintainer else {
                return refuse("maintainers must not contain empty or null nodes".into());
            };
            sanitize(&mut maintainer.name);
            sanitize(&mut maintainer.email);
            sanitize(&mut maintainer.url);
        }
        let mut seen = BTreeSet::new();
        for dependency in &mut self.dependencies {
            let Some(dependency) = dependency else {
                return refuse("dependencies must not contain empty or null nodes".into());
            };
            dependency.validate()?;
            let key = if dependency.alias.is_empty() {
                &dependency.name
            } else {
                &dependency.alias
            };
            if !seen.insert(key.clone()) {
                return refuse(format!(
                    "more than one dependency with name or alias {}",
                    quote(key)
                ));
            }
        }
        Ok(())
    }
}

static ALIAS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("^[a-zA-Z0-9_-]+$").ok());

impl Dependency {
    fn validate(&mut self) -> Result<(), ChartError> {
        for text in [
            &mut self.name,
            &mut self.version,
            &mut self.repository,
            &mut self.condition,
        ] {
            sanitize(text);
        }
        self.tags.iter_mut().for_each(sanitize);
        let legal = ALIAS
            .as_ref()
            .is_some_and(|alias| alias.is_match(&self.alias));
        if !self.alias.is_empty() && !legal {
            let message = format!(
                "dependency {} has disallowed characters in the alias",
                quote(&self.name)
            );
            return Err(ChartError::Validation { message });
        }
        Ok(())
    }
}

/// `sanitizeString` of Helm.
fn sanitize(text: &mut String) {
    if text.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
        return;
    }
    *text = text
        .chars()
        .filter_map(|c| {
            if is_space(c) {
                Some(' ')
            } else {
                Some(c).filter(|c| is_print(*c))
            }
        })
        .collect();
}
