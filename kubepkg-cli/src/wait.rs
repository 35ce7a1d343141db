//! Following packages until they are as wanted: a pure judgement of one Package, and a loop over a watch.
//!
//! A condition that stood there before the change says nothing about the change, even when the Package's
//! generation did not move (a PackageSource changed, or a rollback was asked for by an annotation). Such a goal
//! carries the old condition, and only another one counts.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt as _;
use kube::runtime::{WatchStreamExt as _, watcher};
use kubepkg_api::{Guarded, Package, PackageReason, condition, keys};

use crate::cluster::Cluster;
use crate::error::CliError;
use crate::out::Out;
use crate::progress::Progress;
use crate::table::one_line;

/// How long something that a person has to change may stand before the wait ends.
const GRACE: Duration = Duration::from_secs(5);
/// How often a wait looks at the clock.
const TICK: Duration = Duration::from_secs(1);

/// What is waited for on one package.
#[derive(Clone, Debug)]
pub(crate) enum Goal {
    /// It is ready.
    Ready {
        /// At this generation of the Package, or a later one.
        generation: i64,
        /// With this version applied, when it is known.
        version: Option<String>,
        /// By another condition than this one.
        not: Option<Box<Condition>>,
    },
    /// The object with this uid is gone.
    Gone {
        /// The uid.
        uid: Option<String>,
    },
}

/// How far a package has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not there yet; what it waits for.
    Waiting(String),
    /// There.
    Reached(String),
    /// Something that a person has to change, if it lasts: the operator may not have seen every object yet.
    Stuck(String),
    /// A revision failed, or the object is gone.
    Failed(String),
}

/// Judges a Package by its goal; `None` is an object that does not exist.
pub(crate) fn judge(goal: &Goal, package: Option<&Package>) -> State {
    match (goal, package) {
        (Goal::Gone { uid }, Some(package)) if package.metadata.uid == *uid => {
            State::Waiting(match ready(package) {
                // Deleting raises the generation: what was said before it is about something else.
                Some(condition)
                    if package.metadata.deletion_timestamp.is_some()
                        && condition.observed_generation == package.metadata.generation =>
                {
                    format!("being removed: {}", one_line(&condition.message))
                }
                _ => "being removed".to_owned(),
            })
        }
        (Goal::Gone { .. }, _) => State::Reached("removed".to_owned()),
        (Goal::Ready { .. }, None) => State::Failed("the Package is gone".to_owned()),
        (
            Goal::Ready {
                generation,
                version,
                not,
            },
            Some(package),
        ) => judge_ready(package, *generation, version.as_deref(), not.as_deref()),
    }
}

fn judge_ready(
    package: &Package,
    generation: i64,
    version: Option<&str>,
    not: Option<&Condition>,
) -> State {
    if package.metadata.deletion_timestamp.is_some() {
        return State::Failed("the Package is being removed".to_owned());
    }
    if package.annotations().contains_key(keys::ROLLBACK_TO) {
        return State::Waiting("the operator has not taken up the rollback yet".to_owned());
    }
    let Some(condition) = ready(package) else {
        return State::Waiting("the operator has not looked at it yet".to_owned());
    };
    if condition.observed_generation.unwrap_or_default() < generation || not == Some(condition) {
        return State::Waiting("the operator has not looked at the change yet".to_owned());
    }
    let text = said(condition);
    let status = package.status.clone().unwrap_or_default();
    if condition.status == "True" {
        return match version {
            Some(wanted) if wanted != status.version => State::Waiting(format!(
                "runs {}, {wanted} is to come",
                or_none(&status.version)
            )),
            _ => State::Reached(format!(
                "ready, version {}, revision {}",
                or_none(&status.version),
                status.current_revision
            )),
        };
    }
    match condition.reason.parse::<PackageReason>() {
        Ok(
            PackageReason::UpgradeFailed
            | PackageReason::UpgradeRolledBack
            | PackageReason::RollbackFailed,
        ) => State::Failed(text),
        Ok(reason) if reason.is_stalled() => State::Stuck(text),
        _ => State::Waiting(text),
    }
}

/// A Package's `Ready` condition.
pub(crate) fn ready(package: &Package) -> Option<&Condition> {
    condition::find(&package.status.as_ref()?.conditions, keys::READY)
}

fn said(condition: &Condition) -> String {
    let message = one_line(&condition.message);
    if message.is_empty() {
        condition.reason.clone()
    } else {
        format!("{}: {message}", condition.reason)
    }
}

fn or_none(version: &str) -> &str {
    if version.is_empty() { "none" } else { version }
}

/// Follows packages until each has reached its goal, one has failed, or the time is over. Says on the way what
/// changes.
///
/// # Errors
/// [`CliError::Failed`] as soon as one package failed; [`CliError::NotReady`] when the time is over.
pub(crate) async fn follow(
    cluster: &Cluster,
    goals: &BTreeMap<String, Goal>,
    limit: Duration,
    out: &mut Out,
) -> Result<(), CliError> {
    let mut progress = Progress::new(goals.keys());
    let outcome = tokio::time::timeout(limit, watch(cluster, goals, &mut progress, out)).await;
    match outcome {
        Ok(result) => result,
        Err(_) => Err(CliError::NotReady {
            packages: progress.pending(),
        }),
    }
}

async fn watch(
    cluster: &Cluster,
    goals: &BTreeMap<String, Goal>,
    progress: &mut Progress,
    out: &mut Out,
) -> Result<(), CliError> {
    let api = cluster.api::<Guarded<Package>>();
    let mut events = pin!(watcher(api, watcher::Config::default()).default_backoff());
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    let mut listed = false;
    loop {
        // Nothing happens to a package that is stuck, so the clock has to look at it.
        let Ok(event) = tokio::time::timeout(TICK, events.next()).await else {
            if listed && settled(goals, &packages, progress, out)? {
                return Ok(());
            }
            continue;
        };
        match event {
            Some(Ok(event)) => listed |= take(event, goals, &mut packages),
            Some(Err(error)) => {
                out.message(&format!(
                    "the watch of packages broke, trying again: {error}"
                ));
                continue;
            }
            None => return Ok(()),
        }
        if listed && settled(goals, &packages, progress, out)? {
            return Ok(());
        }
    }
}

/// Takes in what the watch says. Returns whether the list of packages is complete.
fn take(
    event: watcher::Event<Guarded<Package>>,
    goals: &BTreeMap<String, Goal>,
    packages: &mut BTreeMap<String, Package>,
) -> bool {
    match event {
        watcher::Event::Init => packages.clear(),
        watcher::Event::InitDone => return true,
        watcher::Event::InitApply(object) | watcher::Event::Apply(object) => {
            if let (true, Ok(package)) = (goals.contains_key(&object.name_any()), object.0) {
                packages.insert(package.name_any(), package);
            }
        }
        watcher::Event::Delete(object) => {
            packages.remove(&object.name_any());
        }
    }
    false
}

/// Whether every goal is reached.
fn settled(
    goals: &BTreeMap<String, Goal>,
    packages: &BTreeMap<String, Package>,
    progress: &mut Progress,
    out: &mut Out,
) -> Result<bool, CliError> {
    let mut all = true;
    let mut failed = Vec::new();
    for (name, goal) in goals {
        let state = judge(goal, packages.get(name));
        if let Some(line) = progress.update(name, &state) {
            out.message(&line);
        }
        match state {
            State::Reached(_) => {}
            State::Stuck(why) if progress.unchanged(name) >= GRACE => {
                failed.push((name.clone(), why));
            }
            State::Waiting(_) | State::Stuck(_) => all = false,
            State::Failed(why) => failed.push((name.clone(), why)),
        }
    }
    if failed.is_empty() {
        Ok(all)
    } else {
        Err(CliError::Failed { packages: failed })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "call sites read json!(...)")]
    fn package(generation: i64, version: &str, ready: Value) -> Package {
        serde_json::from_value(json!({
            "metadata": { "name": "a", "uid": "u", "generation": generation },
            "status": { "version": version, "currentRevision": 3, "conditions": if ready.is_null() { json!([]) } else { json!([ready]) } }
        }))
        .unwrap()
    }

    fn condition(status: &str, reason: &str, generation: i64) -> Value {
        json!({
            "type": "Ready", "status": status, "reason": reason, "message": "m",
            "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": generation
        })
    }

    fn goal(generation: i64) -> Goal {
        Goal::Ready {
            generation,
            version: Some("1.0.0".into()),
            not: None,
        }
    }

    #[test]
    fn ready_counts_at_the_generation_and_version_that_is_waited_for() {
        let ready = |generation, version, observed| {
            judge(
                &goal(2),
                Some(&package(
                    generation,
                    version,
                    condition("True", "ReconciliationSucceeded", observed),
                )),
            )
        };
        assert_eq!(
            ready(2, "1.0.0", 2),
            State::Reached("ready, version 1.0.0, revision 3".into())
        );
        assert_eq!(
            ready(3, "1.0.0", 3),
            State::Reached("ready, version 1.0.0, revision 3".into())
        );
        assert_eq!(
            ready(2, "1.0.0", 1),
            State::Waiting("the operator has not looked at the change yet".into())
        );
        assert_eq!(
            ready(2, "0.9.0", 2),
            State::Waiting("runs 0.9.0, 1.0.0 is to come".into())
        );
    }

    #[test]
    fn a_condition_from_before_the_change_does_not_count() {
        let before = package(2, "1.0.0", condition("False", "UpgradeFailed", 2));
        let not = super::ready(&before).cloned().map(Box::new);
        let goal = Goal::Ready {
            generation: 2,
            version: None,
            not,
        };
        assert!(matches!(judge(&goal, Some(&before)), State::Waiting(_)));
        let after = package(2, "1.0.0", condition("False", "Progressing", 2));
        assert_eq!(
            judge(&goal, Some(&after)),
            State::Waiting("Progressing: m".into())
        );
    }

    #[test]
    fn failures_and_what_a_person_has_to_change_end_the_wait() {
        let state = |reason| {
            judge(
                &goal(1),
                Some(&package(1, "", condition("False", reason, 1))),
            )
        };
        for failed in ["UpgradeFailed", "UpgradeRolledBack", "RollbackFailed"] {
            assert_eq!(state(failed), State::Failed(format!("{failed}: m")));
        }
        for stuck in [
            "PackageSourceNotFound",
            "VariantNotFound",
            "InvalidConfiguration",
        ] {
            assert_eq!(state(stuck), State::Stuck(format!("{stuck}: m")));
        }
        for waiting in [
            "Progressing",
            "RequirementsNotMet",
            "VersionNotAvailable",
            "SomethingNew",
        ] {
            assert_eq!(state(waiting), State::Waiting(format!("{waiting}: m")));
        }
        assert!(matches!(
            judge(&goal(1), Some(&package(1, "", Value::Null))),
            State::Waiting(_)
        ));
        assert!(matches!(judge(&goal(1), None), State::Failed(_)));
    }

    #[test]
    fn a_rollback_is_waited_for_until_the_operator_took_it_up() {
        let mut asked = package(1, "1.0.0", condition("True", "ReconciliationSucceeded", 1));
        asked.metadata.annotations = Some([(keys::ROLLBACK_TO.to_owned(), "1".to_owned())].into());
        assert!(matches!(judge(&goal(1), Some(&asked)), State::Waiting(_)));
    }

    #[test]
    fn gone_is_gone_even_when_the_name_is_taken_again() {
        let goal = Goal::Gone {
            uid: Some("u".into()),
        };
        let mut package = package(1, "", Value::Null);
        assert_eq!(
            judge(&goal, Some(&package)),
            State::Waiting("being removed".into())
        );
        // Deleting raised the generation from 1 to 2.
        let mut deleted = self::package(2, "", condition("False", "UpgradeFailed", 1));
        deleted.metadata.deletion_timestamp =
            serde_json::from_value(json!("2026-01-02T03:04:05Z")).unwrap();
        assert_eq!(
            judge(&goal, Some(&deleted)),
            State::Waiting("being removed".into())
        );
        deleted = self::package(2, "", condition("False", "Progressing", 2));
        deleted.metadata.deletion_timestamp =
            serde_json::from_value(json!("2026-01-02T03:04:05Z")).unwrap();
        assert_eq!(
            judge(&goal, Some(&deleted)),
            State::Waiting("being removed: m".into())
        );
        package.metadata.uid = Some("other".into());
        assert_eq!(
            judge(&goal, Some(&package)),
            State::Reached("removed".into())
        );
        assert_eq!(judge(&goal, None), State::Reached("removed".into()));
    }
}
