//! Steps that write and delete objects: the chart's `crds/`, the objects of the release, the removal of what
//! the previous revision had and this one has not, and the removal of a release's objects.

use super::error::{Failure, FailureReason, ObjectStatus, StepError, reason_of};
use super::{CrdPolicy, Done, KeptBecause, KeptObject, Operation, OperationError};
use crate::apply::{ApplyError, Deletion, Existing, Target};
use crate::cluster::{Answer, ResourceKind, kinds_of_crd};
use crate::guard;
use crate::helm::Helm;
use crate::objects::{Located, ManifestObject, ObjectKey, locate, objects_of};
use crate::plan::OperationKind;
use crate::readiness::{Readiness, Status, assess};
use crate::release::ApplyMethod;
use futures::StreamExt as _;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What the server says against an object, and the template to look at. That an object belongs to somebody else is not
/// the template's fault.
pub(super) fn located(error: &ApplyError, object: Option<&ManifestObject>) -> String {
    let place = object.map(|object| &object.place);
    let place = place.filter(|place| !place.template.is_empty());
    match place.filter(|_| reason_of(error) != FailureReason::Foreign) {
        Some(place) => format!("{error} (template {place})"),
        None => error.to_string(),
    }
}

impl Operation {
    /// Tells the objects of the release and of its hooks where in their templates they begin.
    pub(super) fn locate(&mut self, rendered: &[Located]) {
        let hooks = self.hook_objects.iter_mut().flatten();
        locate(self.objects.iter_mut().chain(hooks), rendered);
    }

    pub(super) async fn apply_crds(&mut self) -> Result<Done, StepError> {
        let replace = self.crd_policy == CrdPolicy::CreateReplace;
        let helm = self.helm.clone();
        let mut warnings = Vec::new();
        for object in &self.crds {
            let target = Target::resolve(helm.cluster(), object, &self.release.namespace).await?;
            let applied = helm
                .crd_writer()
                .apply_crd(&target, replace)
                .await
                .map_err(|error| {
                    if error.is_transient() {
                        return StepError::Stopped(error.into());
                    }
                    let text = format!("failed to install CRD {}: {error}", object.name);
                    StepError::Failed(Failure::new(reason_of(&error), text))
                })?;
            if let Some(answer) = applied {
                warnings.extend(answer.warnings);
            }
        }
        for warning in warnings {
            self.warn(warning);
        }
        Ok(Done::Yes)
    }

    /// Waits until the CRDs are established and the server lists their kinds.
    pub(super) async fn await_crds(&mut self) -> Result<Done, StepError> {
        let helm = self.helm.clone();
        let mut open = Vec::new();
        for object in self.crds.iter().filter(|object| object.is_crd()) {
            let target = Target::resolve(helm.cluster(), object, &self.release.namespace).await?;
            let live = helm.writer().read(&target).await?;
            let answer = match &live {
                None => Ok(Readiness::not_found()),
                Some(live) => assess(live, helm.now()),
            };
            let (status, message) = match answer {
                Ok(answer) => (answer.status, answer.message),
                Err(error) => (Status::Unknown, error.to_string()),
            };
            if status != Status::Current {
                open.push(ObjectStatus::of(&target, status, message));
            }
        }
        if open.iter().any(|status| status.status != Status::Failed) {
            return Ok(Done::NotYet(open));
        }
        if !open.is_empty() {
            return Err(StepError::Failed(Failure::not_ready(open)));
        }
        // Kinds that CRDs among the templates bring come later, with the objects.
        for kind in self.crds.iter().flat_map(|crd| kinds_of_crd(&crd.value)) {
            if helm
                .cluster()
                .resource(&kind.api_version(), &kind.kind)
                .await?
                .is_none()
            {
                return Ok(Done::NotYet(vec![unserved(&kind)]));
            }
        }
        Ok(Done::Yes)
    }

    pub(super) async fn apply_objects(
        &mut self,
        from: usize,
        to: usize,
    ) -> Result<Done, StepError> {
        self.load_previous().await?;
        let helm = self.helm.clone();
        let settings = &self.progress.settings;
        let owner = self.owner();
        let unknown = match self.progress.operation {
            _ if settings.take_ownership => Existing::Take,
            OperationKind::Rollback => Existing::CheckOther,
            _ => Existing::Check,
        };
        let ours = if self.from_client {
            Existing::OursFromClient
        } else {
            Existing::Ours
        };
        let empty = BTreeMap::new();
        let previous = self.previous_objects.as_ref().unwrap_or(&empty);
        let by_client = self.release.apply_method == ApplyMethod::ClientSide;
        let expected = &self.expected;
        let force = settings.force_conflicts;
        let unchanged = &self.unchanged;
        let writes = (from..to).filter_map(|index| {
            let object = self.objects.get(index)?;
            if unchanged.contains(&index) {
                return None;
            }
            let helm = &helm;
            Some(async move {
                let target = resolve_expected(helm, object, owner.namespace, expected).await;
                let outcome = match target {
                    Ok(target) => {
                        let original = previous.get(&key_of(&target));
                        let existing = if original.is_some() { ours } else { unknown };
                        let writer = helm.writer();
                        if by_client {
                            writer
                                .write_as_client(&target, owner, existing, original, false)
                                .await
                        } else {
                            writer.apply(&target, owner, existing, force).await
                        }
                    }
                    Err(error) => Err(error),
                };
                (index, outcome)
            })
        });
        let results: Vec<(usize, Result<Answer, ApplyError>)> = futures::stream::iter(writes)
            .buffered(helm.concurrency())
            .collect()
            .await;
        self.take_results(results).await
    }

    async fn take_results(
        &mut self,
        results: Vec<(usize, Result<Answer, ApplyError>)>,
    ) -> Result<Done, StepError> {
        let mut failures: Vec<(ApplyError, String)> = Vec::new();
        let mut transient = None;
        let mut not_served = Vec::new();
        let mut crd = false;
        for (index, outcome) in results {
            let object = self.objects.get(index);
            match outcome {
                Ok(answer) => {
                    crd |= object.is_some_and(ManifestObject::is_crd);
                    self.live.insert(index, answer.body);
                    if answer.created {
                        self.created.insert(index);
                    }
                    for warning in answer.warnings {
                        self.warn(warning);
                    }
                }
                Err(error) if error.is_transient() => transient = Some(error),
                Err(error) => {
                    let coming = object.and_then(|object| {
                        self.expected.iter().find(|kind| {
                            kind.kind == object.kind && kind.api_version() == object.api_version
                        })
                    });
                    match coming {
                        Some(kind) if error.is_unserved() => not_served.push(unserved(kind)),
                        _ => {
                            let text = located(&error, object);
                            failures.push((error, text));
                        }
                    }
                }
            }
        }
        if crd {
            self.helm.cluster().forget().await;
        }
        if let Some((first, _)) = failures.first() {
            let reason = reason_of(first);
            let separator = match self.progress.operation {
                OperationKind::Install => "\n",
                _ => " && ",
            };
            let message = failures
                .iter()
                .map(|(_, text)| text.as_str())
                .collect::<Vec<_>>()
                .join(separator);
            return Err(StepError::Failed(Failure::new(reason, message)));
        }
        if let Some(error) = transient {
            return Err(StepError::Stopped(error.into()));
        }
        if not_served.is_empty() {
            Ok(Done::Yes)
        } else {
            Ok(Done::NotYet(not_served))
        }
    }

    /// Deletes what older revisions had and this one has not.
    pub(super) async fn prune(&mut self) -> Result<Done, StepError> {
        let helm = self.helm.clone();
        let namespace = self.release.namespace.clone();
        let mut wanted = BTreeSet::new();
        for object in &self.objects {
            match resolve_expected(&helm, object, &namespace, &self.expected).await {
                Ok(target) => {
                    wanted.insert(key_of(&target));
                }
                Err(error) => return Err(error.into()),
            }
        }
        let mut doomed = Vec::new();
        let mut seen = BTreeSet::new();
        for revision in [self.progress.previous, self.progress.leftover]
            .into_iter()
            .flatten()
        {
            let Some(stored) = self.stored(revision).await? else {
                continue;
            };
            let objects = objects_of(&stored.release.manifest).map_err(|source| {
                StepError::Failed(Failure::new(
                    FailureReason::Record,
                    format!(
                        "unable to build kubernetes objects from current release manifest: {source}"
                    ),
                ))
            })?;
            for object in objects {
                match Target::resolve(helm.cluster(), &object, &namespace).await {
                    Ok(target) => {
                        let key = key_of(&target);
                        if !wanted.contains(&key) && seen.insert(key) {
                            doomed.push((object.clone(), target.resource.clone()));
                        }
                    }
                    // A kind that is no longer served has no objects.
                    Err(ApplyError::NoKind { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        for (object, resource) in doomed {
            let target = Target::at(&object, resource, &namespace);
            if object.is_crd() && self.progress.settings.shipped_crds.contains(&object.name) {
                self.keep(&target, KeptBecause::Shipped);
                continue;
            }
            if let Deletion::Kept(because) = self.delete_object(&helm, &target).await? {
                self.keep(&target, because);
            }
        }
        Ok(Done::Yes)
    }

    pub(super) async fn delete_objects(
        &mut self,
        from: usize,
        to: usize,
    ) -> Result<Done, StepError> {
        let helm = self.helm.clone();
        let namespace = self.release.namespace.clone();
        let this = &*self;
        let deletions = (from..to).filter_map(|index| {
            let object = this.objects.get(index)?;
            let (helm, namespace) = (&helm, &namespace);
            Some(async move {
                let target = match Target::resolve(helm.cluster(), object, namespace).await {
                    Ok(target) => target,
                    Err(ApplyError::NoKind { .. }) => return Ok((index, None, Deletion::Gone)),
                    Err(error) => return Err(StepError::from(error)),
                };
                let deleted = this.delete_object(helm, &target).await?;
                let kept = KeptObject {
                    kind: object.kind.clone(),
                    namespace: target.namespace.clone(),
                    name: object.name.clone(),
                    because: KeptBecause::Policy,
                };
                Ok((index, Some(kept), deleted))
            })
        });
        let results: Vec<Result<_, StepError>> = futures::stream::iter(deletions)
            .buffered(helm.concurrency())
            .collect()
            .await;
        for result in results {
            let (index, kept, deleted) = result?;
            match deleted {
                Deletion::Going => continue,
                Deletion::Gone => {}
                Deletion::Kept(because) => {
                    if let Some(kept) = kept {
                        self.remember_kept(KeptObject { because, ..kept });
                    }
                }
            }
            self.settled.insert(index);
        }
        Ok(Done::Yes)
    }

    /// Deletes a live object that is ours and may go.
    pub(super) async fn delete_object(
        &self,
        helm: &Helm,
        target: &Target<'_>,
    ) -> Result<Deletion<KeptBecause>, StepError> {
        if self.progress.settings.keep_crds && target.object.is_crd() {
            return Ok(Deletion::Kept(KeptBecause::Policy));
        }
        let propagation = self.progress.settings.propagation.as_str();
        let owner = (self.release.name.as_str(), self.release.namespace.as_str());
        if let Some(left) = helm.cluster().sightings().take(&target.path(), owner)
            && let Some(deleted) = helm
                .writer()
                .delete_unseen(target, &left, propagation)
                .await?
        {
            return Ok(deleted);
        }
        let why_not = |found: &Value| {
            if guard::keeps(found) {
                return Some(KeptBecause::Policy);
            }
            let (name, namespace) = (&self.release.name, &self.release.namespace);
            let ours = guard::mismatches(found, name, namespace).is_empty();
            (!ours).then_some(KeptBecause::NotOurs)
        };
        let deleted = helm.writer().delete(target, propagation, why_not).await?;
        if target.object.is_crd() && !matches!(deleted, Deletion::Kept(_)) {
            helm.cluster().forget().await;
        }
        Ok(deleted)
    }

    fn keep(&mut self, target: &Target<'_>, because: KeptBecause) {
        self.remember_kept(KeptObject {
            kind: target.object.kind.clone(),
            namespace: target.namespace.clone(),
            name: target.object.name.clone(),
            because,
        });
    }

    fn remember_kept(&mut self, kept: KeptObject) {
        if !self.kept.contains(&kept) {
            self.kept.push(kept);
        }
    }

    /// The objects that the previous revision had.
    async fn load_previous(&mut self) -> Result<(), StepError> {
        if self.previous_objects.is_some() {
            return Ok(());
        }
        let mut found = BTreeMap::new();
        if let Some(revision) = self.progress.previous {
            let helm = self.helm.clone();
            let namespace = self.release.namespace.clone();
            let Some(stored) = self.stored(revision).await? else {
                return Err(StepError::Stopped(OperationError::NoRevision {
                    name: self.release.name.clone(),
                    revision,
                }));
            };
            let from_client = stored.release.apply_method != ApplyMethod::ServerSide;
            let objects = objects_of(&stored.release.manifest).unwrap_or_default();
            self.from_client = from_client;
            for object in objects {
                match Target::resolve(helm.cluster(), &object, &namespace).await {
                    Ok(target) => {
                        let key = key_of(&target);
                        found.insert(key, object);
                    }
                    Err(ApplyError::NoKind { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        self.previous_objects = Some(found);
        Ok(())
    }
}

fn key_of(target: &Target<'_>) -> ObjectKey {
    ObjectKey {
        group: target.resource.group.clone(),
        kind: target.resource.kind.clone(),
        namespace: target.namespace.clone(),
        name: target.object.name.clone(),
    }
}

/// Resolves an object whose kind may be on its way.
pub(super) async fn resolve_expected<'a>(
    helm: &Helm,
    object: &'a ManifestObject,
    namespace: &str,
    expected: &[ResourceKind],
) -> Result<Target<'a>, ApplyError> {
    match Target::resolve(helm.cluster(), object, namespace).await {
        Err(error @ ApplyError::NoKind { .. }) => expected
            .iter()
            .find(|kind| kind.kind == object.kind && kind.api_version() == object.api_version)
            .map(|kind| Target::at(object, kind.clone(), namespace))
            .ok_or(error),
        outcome => outcome,
    }
}

fn unserved(kind: &ResourceKind) -> ObjectStatus {
    ObjectStatus {
        api_version: "apiextensions.k8s.io/v1".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
        namespace: String::new(),
        name: format!("{}.{}", kind.plural, kind.group),
        status: Status::InProgress,
        reason: String::new(),
        message: format!("{} of {} is not served yet", kind.kind, kind.api_version()),
        events: Vec::new(),
    }
}
