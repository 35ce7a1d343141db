//! Fates laid down by a test, in addition to the annotations on the pods.
//!
//! A rule is a file in the plane's `pods` folder, so that every process that joined a plane can
//! lay one down, and it is in force as soon as the call returns: hold the pods of a release
//! *before* it is installed, look at the world while it waits, let go. The newest rule that
//! matches a pod wins over older ones and over annotations.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::{Result, SandboxError};
use crate::fate::{Fate, Plan};
use crate::folder::write_private;

/// The pods of a plane.
#[derive(Clone, Debug)]
pub struct Pods {
    folder: PathBuf,
}

impl Pods {
    pub(crate) fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Holds pods back: they are bound, and stay `Pending` until the rule is released.
    ///
    /// `selector` is a comma separated list of `key=value`, all of which must hold; empty means
    /// all pods of the namespace.
    ///
    /// # Errors
    ///
    /// [`SandboxError::File`] when the rule cannot be written.
    pub fn hold(&self, namespace: &str, selector: &str) -> Result<FateRule> {
        self.decide(namespace, selector, Fate::Never)
    }

    /// Gives pods a fate. Pods that exist change to it, those that have ended excepted.
    ///
    /// # Errors
    ///
    /// As [`Pods::hold`].
    pub fn decide(&self, namespace: &str, selector: &str, fate: Fate) -> Result<FateRule> {
        self.decide_after(namespace, selector, fate, Duration::ZERO)
    }

    /// Gives pods a fate that comes true some time after their start.
    ///
    /// # Errors
    ///
    /// As [`Pods::hold`].
    pub fn decide_after(
        &self,
        namespace: &str,
        selector: &str,
        fate: Fate,
        ready_after: Duration,
    ) -> Result<FateRule> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let rule = Rule {
            namespace: namespace.to_owned(),
            labels: parse_selector(selector),
            fate,
            ready_after_millis: u64::try_from(ready_after.as_millis()).unwrap_or(u64::MAX),
        };
        // Sorting by name is sorting by time.
        let time = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos();
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{time:030}-{}-{count:06}", std::process::id());
        let path = self.folder.join(format!("{name}.json"));
        let draft = self.folder.join(format!("{name}.new"));
        write_private(&draft, &json!(rule).to_string())?;
        fs::rename(&draft, &path).map_err(SandboxError::file("write", &path))?;
        Ok(FateRule { path })
    }
}

/// A fate in force; dropping it lifts it, and the pods go on.
#[derive(Debug)]
#[must_use = "the rule is lifted when it is dropped"]
pub struct FateRule {
    path: PathBuf,
}

impl FateRule {
    /// Lifts the rule: the pods follow older rules, their annotations, or simply run.
    pub fn release(self) {
        drop(self);
    }
}

impl Drop for FateRule {
    fn drop(&mut self) {
        // The plane may be gone already, and its folder with it.
        let _ = fs::remove_file(&self.path);
    }
}

/// A rule as it stands in its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Rule {
    namespace: String,
    labels: BTreeMap<String, String>,
    fate: Fate,
    ready_after_millis: u64,
}

impl Rule {
    fn matches(&self, pod: &Pod) -> bool {
        let none = BTreeMap::new();
        let labels = pod.metadata.labels.as_ref().unwrap_or(&none);
        pod.metadata.namespace.as_deref() == Some(self.namespace.as_str())
            && self
                .labels
                .iter()
                .all(|(key, value)| labels.get(key) == Some(value))
    }
}

/// All rules in force, read from the folder again when its list of files has changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    names: Vec<String>,
    rules: Vec<Rule>,
}

impl Rules {
    /// Brings the rules up to date and says whether they changed.
    pub(crate) fn refresh(&mut self, folder: &Path) -> bool {
        let mut names: Vec<String> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| {
                Path::new(name)
                    .extension()
                    .is_some_and(|ending| ending == "json")
            })
            .collect();
        names.sort_unstable();
        if names == self.names {
            return false;
        }
        self.rules = names
            .iter()
            .filter_map(|name| serde_json::from_slice(&fs::read(folder.join(name)).ok()?).ok())
            .collect();
        self.names = names;
        true
    }

    /// The plan for a pod: the newest matching rule, else its annotations.
    pub(crate) fn plan(&self, pod: &Pod) -> Plan {
        match self.rules.iter().rev().find(|rule| rule.matches(pod)) {
            Some(rule) => Plan {
                fate: rule.fate,
                ready_after: Duration::from_millis(rule.ready_after_millis),
            },
            None => Plan::of(pod),
        }
    }
}

fn parse_selector(text: &str) -> BTreeMap<String, String> {
    text.split(',')
        .filter(|part| !part.trim().is_empty())
        .map(|part| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            (
                key.trim().to_owned(),
                value.trim_start_matches('=').trim().to_owned(),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(namespace: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"namespace": namespace, "labels": {"app": "x"}},
        }))
        .unwrap()
    }

    #[test]
    fn newest_matching_rule_wins_until_it_is_lifted() {
        let folder = tempfile::tempdir().unwrap();
        let pods = Pods::in_folder(folder.path());
        let mut rules = Rules::default();
        let hold = pods.hold("a", "app=x").unwrap();
        let crash = pods.decide("a", "", Fate::Crash).unwrap();
        assert!(rules.refresh(folder.path()));
        assert!(!rules.refresh(folder.path()));
        assert_eq!(rules.plan(&pod("a")).fate, Fate::Crash);
        assert_eq!(rules.plan(&pod("b")).fate, Fate::Run);
        crash.release();
        assert!(rules.refresh(folder.path()));
        assert_eq!(rules.plan(&pod("a")).fate, Fate::Never);
        drop(hold);
        assert!(rules.refresh(folder.path()));
        assert_eq!(rules.plan(&pod("a")).fate, Fate::Run);
    }

    #[test]
    fn selector_is_a_list_of_equalities() {
        let labels = parse_selector("app = x, tier==db");
        assert_eq!(
            labels.into_iter().collect::<Vec<_>>(),
            [
                ("app".to_owned(), "x".to_owned()),
                ("tier".to_owned(), "db".to_owned())
            ]
        );
        assert!(parse_selector("").is_empty());
    }
}
