//! The life of a package in a sandbox, by the operator: every version in turn, back, and away.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kube::api::DynamicObject;
use kubepkg_api::{ApiGroup, GoDuration, Kind as _, Package, PackageSpec, Upgrade, Variant, keys};
use serde_json::json;

use super::check::check;
use super::objects::{self, Id};
use super::{Case, Charts, Finding, Rule, Tried};
use crate::cluster::Cluster;
use crate::error::CliError;
use crate::out::Out;
use crate::sandbox::{self, Sandbox};
use crate::wait::{self, Goal, ready};

/// What is tried.
pub(crate) struct Settings<'a> {
    /// The group of the kinds.
    pub(crate) group: &'a ApiGroup,
    /// The variant.
    pub(crate) variant: &'a str,
    /// How long a component may take.
    pub(crate) timeout: GoDuration,
}

/// Tries the versions of a package in this order, and gives what happened.
pub(crate) async fn run(
    settings: &Settings<'_>,
    versions: &[Tried],
    charts: &Charts,
    out: &mut Out,
) -> Result<Vec<Case>, CliError> {
    let mut cases = Vec::new();
    let mut places = BTreeMap::new();
    for tried in versions {
        let begin = Instant::now();
        let variant = variant(tried, settings.variant)?;
        let checked = check(tried, variant, charts).await;
        places.extend(checked.places);
        cases.push(Case {
            version: tried.version().to_owned(),
            step: "check".to_owned(),
            took: begin.elapsed(),
            skipped: String::new(),
            findings: checked.findings,
        });
    }
    let started = sandbox::Settings {
        group: settings.group.clone(),
        ..sandbox::Settings::default()
    };
    let failed = |failure| CliError::Sandbox(Box::new(failure));
    let sandbox = Sandbox::start(&started).await.map_err(failed)?;
    let client = sandbox.client();
    let life = Life {
        settings,
        before: objects(&client, settings.group).await?,
        cluster: Cluster::open(client, settings.group.clone()).await?,
        places,
    };
    life.live(versions, &mut cases, out).await?;
    sandbox.end().await;
    Ok(cases)
}

/// The variant of a version.
fn variant<'a>(tried: &'a Tried, name: &str) -> Result<&'a Variant, CliError> {
    tried.spec.variant(name).ok_or_else(|| {
        let known: Vec<&str> = tried
            .spec
            .variants
            .iter()
            .map(|variant| variant.name.as_str())
            .collect();
        CliError::Document {
            path: tried.file.clone(),
            number: 1,
            problem: format!("there is no variant {name}; there is: {}", known.join(", ")),
        }
    })
}

async fn objects(
    client: &kube::Client,
    group: &ApiGroup,
) -> Result<BTreeMap<Id, DynamicObject>, CliError> {
    objects::all(client, group.as_str())
        .await
        .map_err(|source| CliError::Request {
            action: "list the objects of the sandbox".to_owned(),
            source: Box::new(source),
        })
}

/// A package in its sandbox.
struct Life<'a> {
    settings: &'a Settings<'a>,
    before: BTreeMap<Id, DynamicObject>,
    cluster: Cluster,
    places: BTreeMap<Id, String>,
}

impl Life<'_> {
    async fn live(
        &self,
        versions: &[Tried],
        cases: &mut Vec<Case>,
        out: &mut Out,
    ) -> Result<(), CliError> {
        let mut broken = false;
        let mut last: Option<&Tried> = None;
        for tried in versions {
            let step = match last {
                None => "install".to_owned(),
                Some(last) => format!("upgrade from {}", last.version()),
            };
            let case = self
                .case(tried, &step, broken, out, Change::Version)
                .await?;
            broken |= case.result() == "failed";
            cases.push(case);
            last = Some(tried);
        }
        let (Some(first), Some(last)) = (versions.first(), versions.last()) else {
            return Ok(());
        };
        if versions.len() > 1 {
            let step = format!("rollback to {}", first.version());
            let case = self
                .case(last, &step, broken, out, Change::Rollback)
                .await?;
            cases.push(case);
        }
        cases.push(
            self.case(last, "remove", false, out, Change::Removal)
                .await?,
        );
        Ok(())
    }

    /// Makes one change and waits until it is done.
    async fn case(
        &self,
        tried: &Tried,
        step: &str,
        skip: bool,
        out: &mut Out,
        change: Change,
    ) -> Result<Case, CliError> {
        let begin = Instant::now();
        let mut case = Case {
            version: tried.version().to_owned(),
            step: step.to_owned(),
            took: Duration::ZERO,
            skipped: String::new(),
            findings: Vec::new(),
        };
        if skip {
            "an earlier step failed".clone_into(&mut case.skipped);
            return Ok(case);
        }
        let changed = match change {
            Change::Version => self.version(tried, out).await,
            Change::Rollback => self.rollback(tried, out).await,
            Change::Removal => self.removal(tried, out).await,
        };
        match changed {
            Ok(()) => {}
            // The sandbox itself does not work: that is no finding about the package.
            Err(error @ CliError::Output(_)) => return Err(error),
            Err(error) => case.findings.push(Finding {
                rule: Rule::Settles,
                object: format!("{} {}", Package::KIND, tried.name),
                place: tried.file.display().to_string(),
                message: kubepkg_api::chain(&error),
                remedy: "mend what the message names; a longer --timeout helps only what is slow"
                    .to_owned(),
            }),
        }
        if matches!(change, Change::Removal) && case.findings.is_empty() {
            case.findings = self.left_over(tried).await?;
        }
        case.took = begin.elapsed();
        Ok(case)
    }

    /// Long enough for every component, one after the other.
    fn limit(&self, tried: &Tried) -> Duration {
        let components = tried
            .spec
            .variant(self.settings.variant)
            .map_or(1, |v| v.components.len());
        let each = self.settings.timeout.to_std().unwrap_or_default();
        each.saturating_mul(u32::try_from(components + 1).unwrap_or(u32::MAX))
    }

    async fn follow(&self, tried: &Tried, goal: Goal, out: &mut Out) -> Result<(), CliError> {
        let goals = BTreeMap::from([(tried.name.clone(), goal)]);
        wait::follow(&self.cluster, &goals, self.limit(tried), out).await
    }

    async fn version(&self, tried: &Tried, out: &mut Out) -> Result<(), CliError> {
        let before = self.cluster.package(&tried.name).await?;
        self.cluster
            .apply_source(&tried.name, &tried.document, false)
            .await?;
        let package = if let Some(package) = &before {
            package.clone()
        } else {
            let spec = PackageSpec {
                variant: self.settings.variant.to_owned(),
                upgrade: Some(Upgrade {
                    timeout: Some(self.settings.timeout),
                    ..Upgrade::default()
                }),
                ..PackageSpec::default()
            };
            let package = Package::new(self.settings.group, &tried.name, spec);
            self.cluster.create(&package, false).await?
        };
        let goal = Goal::Ready {
            generation: package.metadata.generation.unwrap_or_default(),
            version: Some(tried.version().to_owned()),
            not: before.as_ref().and_then(ready).cloned().map(Box::new),
        };
        self.follow(tried, goal, out).await
    }

    /// Back to the first revision, as a person asks for it.
    async fn rollback(&self, tried: &Tried, out: &mut Out) -> Result<(), CliError> {
        let Some(package) = self.cluster.package(&tried.name).await? else {
            return Err(CliError::NoPackage {
                package: tried.name.clone(),
            });
        };
        let fields = json!({ "metadata": { "annotations": { keys::ROLLBACK_TO: "1" } } });
        let patched = self.cluster.patch(&package, fields, false).await?;
        let goal = Goal::Ready {
            generation: patched.metadata.generation.unwrap_or_default(),
            version: None,
            not: ready(&package).cloned().map(Box::new),
        };
        self.follow(tried, goal, out).await
    }

    async fn removal(&self, tried: &Tried, out: &mut Out) -> Result<(), CliError> {
        let Some(package) = self.cluster.package(&tried.name).await? else {
            return Ok(());
        };
        self.cluster.delete(&package, false).await?;
        let goal = Goal::Gone {
            uid: package.metadata.uid.clone(),
        };
        self.follow(tried, goal, out).await
    }

    /// What is there and was not before, but for what is kept on purpose: CRDs and what says so itself, claims of
    /// StatefulSets, and what every namespace has.
    async fn left_over(&self, tried: &Tried) -> Result<Vec<Finding>, CliError> {
        let after = objects(&self.cluster.client(), self.settings.group).await?;
        let mut findings = Vec::new();
        for (id, object) in after {
            let annotations = object.metadata.annotations.unwrap_or_default();
            let kept = annotations
                .get(kubepkg_helm::RESOURCE_POLICY_ANNOTATION)
                .is_some_and(|policy| policy == "keep")
                || matches!(
                    id.kind.as_str(),
                    "CustomResourceDefinition" | "PersistentVolumeClaim" | "PersistentVolume"
                )
                || (id.kind == "ServiceAccount" && id.name == "default")
                || (id.kind == "ConfigMap" && id.name == "kube-root-ca.crt");
            if kept || self.before.contains_key(&id) {
                continue;
            }
            let hook = annotations.contains_key(kubepkg_helm::HOOK_ANNOTATION);
            let (message, remedy) = if hook {
                (
                    "the hook is left over after the removal of the package: Helm deletes hooks only where they say so",
                    "add helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded",
                )
            } else {
                (
                    "it is left over after the removal of the package",
                    "let a chart own it, or keep it on purpose with helm.sh/resource-policy: keep",
                )
            };
            findings.push(Finding {
                rule: Rule::NothingLeft,
                object: id.to_string(),
                place: self
                    .places
                    .get(&id)
                    .cloned()
                    .unwrap_or_else(|| tried.file.display().to_string()),
                message: message.to_owned(),
                remedy: remedy.to_owned(),
            });
        }
        Ok(findings)
    }
}

/// What a step changes.
#[derive(Clone, Copy)]
enum Change {
    Version,
    Rollback,
    Removal,
}
