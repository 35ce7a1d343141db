//! Steps that run hooks. A hook must not run twice: before it is created, the record says that it runs, and
//! from then on its object is applied, never deleted and made anew; an object that exists already is the
//! one this operation made, because what an earlier operation left was deleted before that.
//! Source of the rules: Helm 4.3.1 `pkg/action/hooks.go`.

use super::error::{Failure, ObjectStatus, StepError};
use super::objects::located;
use super::wait::Look;
use super::{Done, Operation};
use crate::apply::{Deletion, Target, Writer};
use crate::cluster::{Seen, undeleted};
use crate::plan::{Step, deletes};
use crate::readiness::{Reading, Status, assess_as};
use crate::release::ApplyMethod;
use crate::{DeletePolicy, HookPhase};
use serde_json::Value;

impl Operation {
    /// The event for which a hook of this operation runs.
    pub(super) fn event_of(&self, hook: usize) -> String {
        let later = self
            .plan
            .iter()
            .skip(self.cursor)
            .find_map(|step| match step {
                Step::HooksDone(event) => Some(event.clone()),
                _ => None,
            });
        let event = later.or_else(|| {
            // Deletions after the event.
            self.plan
                .iter()
                .take(self.cursor)
                .rev()
                .find_map(|step| match step {
                    Step::HooksDone(event) => Some(event.clone()),
                    _ => None,
                })
        });
        let fallback = || self.release.hooks.get(hook)?.events.first().cloned();
        event
            .or_else(fallback)
            .map(|event| event.to_string())
            .unwrap_or_default()
    }

    fn hook_targets(&self, hook: usize) -> &[crate::objects::ManifestObject] {
        self.hook_objects
            .get(hook)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// Deletes a hook's objects when they bear the hook's mark.
    pub(super) async fn delete_hook(&mut self, hook: usize) -> Result<Done, StepError> {
        let cluster = self.helm.cluster();
        let writer = Writer {
            cluster,
            field_manager: self.helm.field_manager(),
        };
        let mut foreign = Vec::new();
        let mut gone = true;
        for object in self.hook_targets(hook) {
            let target = Target::resolve(cluster, object, &self.release.namespace).await?;
            let why_not = |found: &Value| {
                let annotations = found.pointer("/metadata/annotations");
                let mark = annotations.and_then(|all| all.get(crate::HOOK_ANNOTATION));
                mark.is_none().then_some(())
            };
            match writer.delete(&target, "Background", why_not).await? {
                Deletion::Gone => {}
                Deletion::Going => gone = false,
                Deletion::Kept(()) => foreign.push(format!(
                    "{} {:?} in namespace {:?} exists and is no hook",
                    object.kind, object.name, target.namespace
                )),
            }
        }
        self.gone_hook = gone.then_some(hook);
        if foreign.is_empty() {
            Ok(Done::Yes)
        } else {
            Err(StepError::Failed(Failure::new(
                super::FailureReason::Foreign,
                foreign.join("; "),
            )))
        }
    }

    pub(super) async fn await_hook_gone(&mut self, hook: usize) -> Result<Done, StepError> {
        if self.gone_hook == Some(hook) {
            return Ok(Done::Yes);
        }
        let mut left = Vec::new();
        let mut subjects = Vec::new();
        for object in self.hook_targets(hook) {
            let namespace = &self.release.namespace;
            let target = Target::resolve(self.helm.cluster(), object, namespace).await?;
            let live = self.look(&target, None).await?;
            let look = Look { target, live };
            if look.live.is_some() {
                left.push(ObjectStatus::of(
                    &look.target,
                    Status::Terminating,
                    "Resource scheduled for deletion".to_owned(),
                ));
            }
            subjects.extend(look.subject());
        }
        self.follow(&subjects, false);
        Ok(if left.is_empty() {
            Done::Yes
        } else {
            Done::NotYet(left)
        })
    }

    pub(super) async fn run_hook(&mut self, hook: usize) -> Result<Done, StepError> {
        let now = self.helm.now().to_string();
        if let Some(hook) = self.release.hooks.get_mut(hook)
            && hook.last_run.phase != HookPhase::Running
        {
            hook.last_run.started_at = Some(now);
            hook.last_run.completed_at = None;
            hook.last_run.phase = HookPhase::Running;
        }
        self.checkpoint().await?;
        let cluster = self.helm.cluster();
        let writer = Writer {
            cluster,
            field_manager: self.helm.field_manager(),
        };
        let mut warnings = Vec::new();
        let mut versions = Vec::new();
        let mut answers = Vec::new();
        let by_client = self.release.apply_method != ApplyMethod::ServerSide;
        for object in self.hook_targets(hook) {
            let target = Target::resolve(cluster, object, &self.release.namespace).await?;
            let written = if by_client {
                writer.create_plain(&target).await
            } else {
                writer.apply_plain(&target).await
            };
            match written {
                Ok(answer) => {
                    let version = answer.body.pointer("/metadata/resourceVersion");
                    versions.push(version.and_then(Value::as_str).map(str::to_owned));
                    answers.push(Some(answer.body));
                    warnings.extend(answer.warnings);
                }
                Err(error) if error.is_transient() => return Err(error.into()),
                Err(error) => {
                    let path = self.release.hooks.get(hook).map(|hook| hook.path.clone());
                    return Err(StepError::Failed(Failure::new(
                        super::error::reason_of(&error),
                        format!(
                            "warning: Hook {} {} failed: {}",
                            self.event_of(hook),
                            path.unwrap_or_default(),
                            located(&error, Some(object))
                        ),
                    )));
                }
            }
        }
        for warning in warnings {
            self.warn(warning);
        }
        self.hook_versions.insert(hook, versions);
        self.hook_answers.insert(hook, answers);
        Ok(Done::Yes)
    }

    /// How a hook's object ended that is gone already, if a watch has told or the server still knows.
    async fn ended(
        &self,
        hook: usize,
        index: usize,
        target: &Target<'_>,
    ) -> Result<Option<Value>, StepError> {
        let following = self.following.as_ref();
        let seen = following.and_then(|following| following.state(&target.path()));
        let last = if let Some(Seen::Lost(last)) = seen {
            Some(undeleted(last))
        } else {
            let versions = self.hook_versions.get(&hook);
            let Some(Some(version)) = versions.and_then(|versions| versions.get(index)) else {
                return Ok(None);
            };
            let collection = target.resource.collection(&target.namespace);
            let name = &target.object.name;
            self.helm
                .cluster()
                .last_state(&collection, name, version)
                .await?
        };
        // One that somebody deleted before its end stays missing.
        Ok(last.filter(|last| {
            assess_as(last, Reading::Hook, self.helm.now())
                .is_ok_and(|found| matches!(found.status, Status::Current | Status::Failed))
        }))
    }

    pub(super) async fn await_hook(&mut self, hook: usize) -> Result<Done, StepError> {
        let mut statuses = Vec::new();
        let mut subjects = Vec::new();
        let mut written = self.hook_answers.remove(&hook).unwrap_or_default();
        for (index, object) in self.hook_targets(hook).iter().enumerate() {
            let waited_for = matches!(
                (object.group(), object.kind.as_str()),
                ("batch", "Job") | ("", "Pod")
            );
            if !waited_for {
                continue;
            }
            let namespace = &self.release.namespace;
            let target = Target::resolve(self.helm.cluster(), object, namespace).await?;
            let fresh = written.get_mut(index).and_then(Option::take);
            let live = match self.look(&target, fresh).await? {
                Some(live) => Some(live),
                None => self.ended(hook, index, &target).await?,
            };
            let now = self.helm.now();
            let status = super::wait::judge(&target, live.as_ref(), Reading::Hook, now, assess_as);
            let look = Look { target, live };
            subjects.extend(
                look.subject()
                    .filter(|_| status.status == Status::InProgress),
            );
            statuses.push(status);
        }
        self.follow(&subjects, false);
        statuses.retain(|status| status.status != Status::Current);
        let working = statuses
            .iter()
            .any(|status| status.status != Status::Failed);
        if working {
            return Ok(Done::NotYet(statuses));
        }
        let failed = !statuses.is_empty();
        let now = self.helm.now().to_string();
        if let Some(hook) = self.release.hooks.get_mut(hook) {
            hook.last_run.completed_at = Some(now);
            hook.last_run.phase = if failed {
                HookPhase::Failed
            } else {
                HookPhase::Succeeded
            };
        }
        self.keep_logs(hook, failed).await;
        if failed {
            Err(StepError::Failed(Failure::not_ready(statuses)))
        } else {
            Ok(Done::Yes)
        }
    }

    /// After the failure of a hook: deletes it if it asks for that, and those of its event that succeeded
    /// before it and ask for that. What goes wrong here is a warning.
    pub(super) async fn hook_failed(&mut self, step: &Step) {
        let (Step::AwaitHook(failed) | Step::RunHook(failed)) = *step else {
            return;
        };
        if let Some(hook) = self.release.hooks.get_mut(failed) {
            hook.last_run.phase = HookPhase::Failed;
            let now = self.helm.now().to_string();
            hook.last_run.completed_at.get_or_insert(now);
        }
        if !matches!(step, Step::AwaitHook(_)) {
            return;
        }
        let event = self.event_of(failed);
        let mut doomed = Vec::new();
        for step in self.plan.iter().take(self.cursor + 1) {
            if let Step::AwaitHook(index) = step {
                let policy = if *index == failed {
                    DeletePolicy::HookFailed
                } else {
                    DeletePolicy::HookSucceeded
                };
                let wanted = self.release.hooks.get(*index).is_some_and(|hook| {
                    deletes(hook, &policy)
                        && hook.events.iter().any(|known| known.as_str() == event)
                });
                if wanted {
                    doomed.push(*index);
                }
            }
        }
        for index in doomed {
            match self.delete_hook(index).await {
                Ok(_) => {}
                Err(StepError::Stopped(error)) => {
                    self.warn(format!("hook was not deleted: {error}"));
                }
                Err(StepError::Failed(failure)) => {
                    self.warn(format!("hook was not deleted: {failure}"));
                }
            }
        }
    }
}
