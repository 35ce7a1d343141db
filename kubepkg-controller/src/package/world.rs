//! A world in memory for the tests of decisions: it performs every action on data, with a backend that fails and waits
//! as told, and can lose everything that is not stored, as a killed operator does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt;
use kubepkg_api::{
    ApiGroup, Kind, Package, PackageReason, PackageSourceSpec, PackageSpec, Phase, condition, keys,
};
use kubepkg_backend::{Capabilities, Outcome, Phase as ReleasePhase, Placement, State};
use serde_json::json;

use super::decide::{Action, Decision, decide};
use super::observed::{Observed, Problem, Question, Settings, Source};
use super::report::{Next, Report, Settled};
use super::revision::Revision;
use super::status::status;

/// One revision of a release in the backend's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) package_revision: u64,
    pub(super) chart: String,
    pub(super) failed: bool,
    looks: u32,
}

/// Everything that is stored, and how the backend behaves.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) now: Timestamp,
    pub(super) package: Option<Package>,
    pub(super) source: Source,
    pub(super) revisions: Vec<Revision>,
    pub(super) releases: BTreeMap<Placement, Vec<Entry>>,
    pub(super) foreign: BTreeSet<Placement>,
    /// Charts, by version, that never become healthy; the flag says that trying again cannot help.
    pub(super) broken: BTreeMap<String, bool>,
    /// Charts, by version, that cannot be fetched; the flag says that trying again can help.
    pub(super) unfetchable: BTreeMap<String, bool>,
    /// States of releases cannot be read for now.
    pub(super) blind: bool,
    /// How often a release is looked at before it is ready.
    pub(super) looks: u32,
    /// What was done, in words.
    pub(super) log: Vec<String>,
}

impl World {
    /// A package with components `a` and `b` (which depends on `a`), both at chart version `version`.
    pub(super) fn new(version: &str) -> Self {
        let mut package = Package::new(&ApiGroup::default(), "demo", PackageSpec::default());
        package.metadata.generation = Some(1);
        package.metadata.uid = Some("11111111-1111-1111-1111-111111111111".to_owned());
        let mut world = Self {
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            package: Some(package),
            source: Source::Missing,
            revisions: Vec::new(),
            releases: BTreeMap::new(),
            foreign: BTreeSet::new(),
            broken: BTreeMap::new(),
            unfetchable: BTreeMap::new(),
            blind: false,
            looks: 0,
            log: Vec::new(),
        };
        world.source(version, &[("a", version), ("b", version)], true);
        world
    }

    /// Makes the source offer `version` with these components at these chart versions, each depending on the one
    /// before it.
    pub(super) fn source(&mut self, version: &str, components: &[(&str, &str)], safe: bool) {
        let mut before: Option<&str> = None;
        let mut list = Vec::new();
        for (name, chart) in components {
            list.push(json!({
                "name": name,
                "chart": { "repository": "https://charts.example.org", "name": name, "version": chart },
                "install": { "namespace": "demo", "dependsOn": before.into_iter().collect::<Vec<_>>() },
            }));
            before = Some(name);
        }
        self.source_json(json!({
            "version": version,
            "rollback": { "safe": safe },
            "variants": [{ "name": "default", "components": list }],
        }));
    }

    pub(super) fn source_json(&mut self, spec: serde_json::Value) {
        let spec: PackageSourceSpec = serde_json::from_value(spec).unwrap();
        self.source = Source::Present(Box::new(spec));
    }

    pub(super) fn package(&mut self) -> &mut Package {
        self.package.as_mut().unwrap()
    }

    pub(super) fn annotate(&mut self, key: &str, value: &str) {
        self.package()
            .annotations_mut()
            .insert(key.to_owned(), value.to_owned());
    }

    pub(super) fn delete(&mut self) {
        let now = self.now;
        let meta = &mut self.package().metadata;
        meta.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now));
    }

    pub(super) fn observe(&self, package: &Package) -> Observed {
        Observed {
            now: self.now,
            package: package.clone(),
            source: self.source.clone(),
            revisions: self.revisions.clone(),
            charts: BTreeMap::new(),
            releases: BTreeMap::new(),
            marked: None,
            outcomes: BTreeMap::new(),
            settings: Settings::new(Capabilities {
                rollback: true,
                trees: false,
                synchronous: true,
            }),
        }
    }

    /// One pass, which dies after `actions` actions if it gets that far. Says what it settled on.
    pub(super) fn pass(&mut self, actions: Option<usize>) -> Option<Settled> {
        let mut o = self.observe(&self.package.clone()?);
        let mut done = 0;
        for _ in 0..500 {
            o.now = self.now;
            match decide(&o) {
                Decision::Ask(question) => self.answer(&mut o, question),
                Decision::Act(action) => {
                    self.act(&mut o, action);
                    done += 1;
                    if actions == Some(done) || self.package.is_none() {
                        return None;
                    }
                }
                Decision::Settle(settled) => {
                    o.package.status = Some(status(&o, &settled.report));
                    self.package = Some(o.package);
                    return Some(settled);
                }
            }
        }
        panic!(
            "a pass does not end; last: {:?}",
            self.log.iter().rev().take(5).collect::<Vec<_>>()
        );
    }

    /// Passes until nothing is under way any more; moves the clock over waits, but not over retries.
    pub(super) fn settle(&mut self) -> Settled {
        for _ in 0..500 {
            let Some(settled) = self.pass(None) else {
                continue;
            };
            if settled.report.reason != PackageReason::Progressing {
                return settled;
            }
            self.advance(settled.look_again.unwrap());
        }
        panic!("the package does not come to rest");
    }

    pub(super) fn advance(&mut self, by: Duration) {
        self.now = self.now.saturating_add(by).unwrap();
    }

    /// The history as `kubectl get pkgrev` tells it.
    pub(super) fn history(&self) -> Vec<String> {
        self.revisions
            .iter()
            .map(|r| match r.restored_from {
                Some(from) => format!("{} {} {} from {from}", r.number, r.version, r.phase),
                None => format!("{} {} {}", r.number, r.version, r.phase),
            })
            .collect()
    }

    /// What runs in the cluster: release and chart version.
    pub(super) fn running(&self) -> Vec<String> {
        self.releases
            .iter()
            .filter_map(|(placement, entries)| {
                let last = entries.last()?;
                Some(format!("{} {}", placement.release, last.chart))
            })
            .collect()
    }

    fn answer(&self, o: &mut Observed, question: Question) {
        match question {
            Question::Charts(charts) => {
                for chart in charts {
                    let text = chart.to_string();
                    let version = text.rsplit(' ').next().unwrap().to_owned();
                    let answer = match self.unfetchable.get(&version) {
                        Some(transient) => Err(Problem {
                            message: format!("chart {text}: not to be had"),
                            transient: *transient,
                        }),
                        None => Ok(digest_of(&text).parse().unwrap()),
                    };
                    o.charts.insert(text, answer);
                }
            }
            Question::Releases(placements) => {
                for placement in placements {
                    let state = if self.blind {
                        Err(Problem {
                            message: format!("release {placement}: cannot be read now"),
                            transient: true,
                        })
                    } else {
                        Ok(self.state(&placement))
                    };
                    o.releases.insert(placement, state);
                }
            }
            Question::Marked => o.marked = Some(Ok(self.releases.keys().cloned().collect())),
        }
    }

    fn state(&self, placement: &Placement) -> State {
        if self.foreign.contains(placement) {
            return State {
                phase: ReleasePhase::Foreign,
                ..State::absent()
            };
        }
        let Some(entries) = self.releases.get(placement) else {
            return State::absent();
        };
        let last = entries.last().unwrap();
        State {
            phase: if last.failed {
                ReleasePhase::Failed
            } else if last.looks < self.looks {
                ReleasePhase::Progressing
            } else {
                ReleasePhase::Ready
            },
            revision: Some(entries.len() as u64),
            package_revision: Some(last.package_revision),
            restorable: (1..=entries.len() as u64)
                .filter(|n| !entries[usize::try_from(*n).unwrap() - 1].failed)
                .collect(),
            message: String::new(),
        }
    }

    fn go_on(&mut self, placement: &Placement, package_revision: u64, chart: &str) -> Outcome {
        let entries = self.releases.entry(placement.clone()).or_default();
        if entries
            .last()
            .is_none_or(|last| last.package_revision != package_revision)
        {
            self.log
                .push(format!("apply {} {chart}", placement.release));
            entries.push(Entry {
                package_revision,
                chart: chart.to_owned(),
                failed: self.broken.contains_key(chart),
                looks: 0,
            });
        }
        let revision = entries.len() as u64;
        let last = entries.last_mut().unwrap();
        if last.failed {
            return Outcome::Failed {
                revision: Some(revision),
                message: format!("Deployment {} is not available", placement.release),
                permanent: self.broken[chart],
            };
        }
        if last.looks < self.looks {
            last.looks += 1;
            return Outcome::Waiting {
                message: format!("Deployment {} is coming up", placement.release),
                check_after: Duration::from_secs(1),
            };
        }
        Outcome::Ready { revision }
    }

    fn act(&mut self, o: &mut Observed, action: Action) {
        match action {
            Action::AddFinalizer => {
                o.package
                    .finalizers_mut()
                    .push(keys::CLEANUP_FINALIZER.to_owned());
                self.package = Some(o.package.clone());
            }
            Action::RemoveFinalizer => {
                self.package = None;
                self.revisions.clear();
            }
            Action::DropRollbackRequest => self.drop_request(o),
            Action::RefuseRollback { message } => {
                self.log.push(format!("refuse rollback: {message}"));
                let report = Report {
                    reason: PackageReason::RollbackFailed,
                    message,
                    next: Next::Person,
                    retry: None,
                };
                o.package.status = Some(status(o, &report));
                self.drop_request(o);
            }
            Action::Record(new) => {
                let object = new.object(&ApiGroup::default(), &o.package);
                assert!(
                    self.revisions.iter().all(|r| r.number < new.number),
                    "history only grows"
                );
                self.revisions.push(Revision::read(&object));
                self.stored(o);
            }
            Action::RecordComponent {
                revision,
                component,
                backend_revision,
            } => {
                let placement = {
                    let done = self.revision(revision);
                    let component = done
                        .components
                        .iter_mut()
                        .find(|c| c.name == component)
                        .unwrap();
                    component.backend_revision = Some(backend_revision);
                    component.placement.clone()
                };
                o.outcomes.remove(&placement);
                self.stored(o);
            }
            Action::SetPhase {
                revision,
                phase,
                message,
                permanent,
            } => {
                let now = self.now;
                let stored = self.revision(revision);
                stored.phase = phase;
                stored.message = message;
                stored.permanent = permanent;
                stored.finished_at = stored.finished_at.or(Some(now));
                o.outcomes.clear();
                o.releases.clear();
                self.stored(o);
            }
            Action::Restamp {
                revision,
                desired_digest,
            } => {
                self.revision(revision).desired_digest = desired_digest;
                self.stored(o);
            }
            Action::Prune { revision } => {
                self.log.push(format!("prune {revision}"));
                self.revisions.retain(|r| r.number != revision);
                self.stored(o);
            }
            Action::Apply(_) | Action::Rollback { .. } | Action::Uninstall(_) => {
                self.backend(o, action);
            }
        }
    }

    /// Performs the calls of the backend.
    fn backend(&mut self, o: &mut Observed, action: Action) {
        match action {
            Action::Apply(component) => {
                let chart = component.chart.to_string();
                let version = chart.rsplit(' ').next().unwrap();
                let target = &component.target;
                let outcome = if self.foreign.contains(&target.placement) {
                    Err(Problem {
                        message: "belongs to another".to_owned(),
                        transient: false,
                    })
                } else {
                    Ok(self.go_on(&target.placement, target.revision, version))
                };
                o.releases.remove(&target.placement);
                o.outcomes.insert(target.placement.clone(), outcome);
            }
            Action::Rollback { target, to } => {
                let entries = &self.releases[&target.placement];
                let chart = entries[usize::try_from(to).unwrap() - 1].chart.clone();
                if entries.last().unwrap().package_revision != target.revision {
                    self.log
                        .push(format!("roll back {} to {to}", target.placement.release));
                }
                let outcome = self.go_on(&target.placement, target.revision, &chart);
                o.releases.remove(&target.placement);
                o.outcomes.insert(target.placement, Ok(outcome));
            }
            Action::Uninstall(target) => {
                assert!(
                    !self.foreign.contains(&target.placement),
                    "nothing foreign is touched"
                );
                self.log
                    .push(format!("uninstall {}", target.placement.release));
                self.releases.remove(&target.placement);
                o.releases.remove(&target.placement);
                o.outcomes.insert(target.placement, Ok(Outcome::Gone));
            }
            other => panic!("no call of the backend: {other:?}"),
        }
    }

    fn drop_request(&mut self, o: &mut Observed) {
        o.package.annotations_mut().remove(keys::ROLLBACK_TO);
        self.package = Some(o.package.clone());
    }

    fn revision(&mut self, number: u64) -> &mut Revision {
        self.revisions
            .iter_mut()
            .find(|r| r.number == number)
            .unwrap()
    }

    fn stored(&self, o: &mut Observed) {
        o.revisions.clone_from(&self.revisions);
        let in_flight = self.revisions.iter().filter(|r| r.is_in_flight()).count();
        assert!(in_flight <= 1, "one revision in flight at most");
        let applied = self
            .revisions
            .iter()
            .filter(|r| r.phase == Phase::Applied)
            .count();
        assert!(
            applied <= 2,
            "at most one is applied, but for the moment before the older one is superseded"
        );
    }

    /// The message and transition time of a condition of the package.
    pub(super) fn condition(&self, type_: &str) -> Option<String> {
        let status = self.package.as_ref()?.status.as_ref()?;
        let found = condition::find(&status.conditions, type_)?;
        Some(format!("{} {}", found.status, found.reason))
    }
}

/// A digest that stands for a chart.
fn digest_of(text: &str) -> String {
    kubepkg_api::canonical::digest(text).unwrap().to_string()
}
