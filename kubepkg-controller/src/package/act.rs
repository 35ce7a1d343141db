//! Performs one action: one write to the API server, or one call of the backend.
//!
//! What the server answers is put back into [`Observed`], so that the next decision is made from what is stored and not
//! from what was meant. Every write is safe to make twice: revisions have names made of their number, metadata and
//! revisions are changed at the resource version they were read at, so that nothing is decided on what has passed,
//! statuses are applied whole.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kubepkg_api::{
    Kind, Package, PackageReason, PackageRevision, PackageRevisionStatus, Phase,
    RevisionComponentStatus, chain, condition, keys,
};
use kubepkg_backend::BackendError;
use serde_json::{Value, json};

use super::decide::Action;
use super::events;
use super::observed::{Observed, Problem};
use super::report::{Next, Report};
use super::revision::{NewRevision, Revision};
use super::status::{shorten, status, whole_seconds};
use super::{Context, Error, MANAGER};

/// Performs `action` and puts what came of it into `o`.
pub(super) async fn act(ctx: &Context, o: &mut Observed, action: Action) -> Result<(), Error> {
    tracing::debug!(package = %o.package.name_any(), ?action, "acting");
    let event = events::of(o, &action);
    match action {
        Action::AddFinalizer => {
            finalizers(ctx, o, |all| all.push(keys::CLEANUP_FINALIZER.into())).await?;
        }
        Action::RemoveFinalizer => {
            finalizers(ctx, o, |all| all.retain(|f| f != keys::CLEANUP_FINALIZER)).await?;
        }
        Action::DropRollbackRequest => drop_rollback_request(ctx, o).await?,
        Action::RefuseRollback { message } => {
            let report = Report {
                reason: PackageReason::RollbackFailed,
                message,
                next: Next::Person,
                retry: None,
            };
            write_status(ctx, o, &report).await?;
            drop_rollback_request(ctx, o).await?;
        }
        Action::Record(new) => record(ctx, o, &new).await?,
        Action::RecordComponent {
            revision,
            component,
            backend_revision,
        } => {
            update(ctx, o, revision, |r| {
                if let Some(done) = r.components.iter_mut().find(|c| c.name == component) {
                    done.backend_revision = Some(backend_revision);
                }
            })
            .await?;
        }
        Action::SetPhase {
            revision,
            phase,
            message,
            permanent,
        } => {
            let now = ctx.now();
            update(ctx, o, revision, |r| {
                r.phase = phase;
                if !message.is_empty() {
                    r.message = shorten(&message);
                }
                r.permanent = permanent;
                r.finished_at = r.finished_at.or_else(|| Some(whole_seconds(now)));
            })
            .await?;
            if let Some(revision) = o.revision(revision) {
                ctx.telemetry.revision(&o.package.name_any(), revision);
            }
            // What the backend answered has been written down; the next decision looks at the cluster afresh.
            o.outcomes.clear();
            o.releases.clear();
        }
        Action::Restamp {
            revision,
            desired_digest,
        } => restamp(ctx, o, revision, desired_digest).await?,
        Action::Prune { revision } => prune(ctx, o, revision).await?,
        Action::Apply(component) => {
            let placement = component.target.placement.clone();
            let outcome = ctx.backend.apply(&component).await;
            o.releases.remove(&placement);
            o.outcomes
                .insert(placement, outcome.map_err(|e| problem(&e)));
        }
        Action::Rollback { target, to } => {
            let outcome = ctx.backend.rollback(&target, to).await;
            o.releases.remove(&target.placement);
            o.outcomes
                .insert(target.placement, outcome.map_err(|e| problem(&e)));
        }
        Action::Uninstall(target) => {
            let outcome = ctx.backend.uninstall(&target).await;
            o.releases.remove(&target.placement);
            o.outcomes
                .insert(target.placement, outcome.map_err(|e| problem(&e)));
        }
    }
    if let Some(event) = event {
        ctx.publish(&o.package, &event).await;
    }
    Ok(())
}

/// What an error of the backend means for decisions.
pub(super) fn problem(error: &BackendError) -> Problem {
    Problem {
        message: chain(error),
        transient: error.is_transient(),
    }
}

/// Writes the package's status, unless it is that already.
pub(super) async fn write_status(
    ctx: &Context,
    o: &mut Observed,
    report: &Report,
) -> Result<(), Error> {
    let wanted = status(o, report);
    if o.package.status.as_ref() == Some(&wanted) {
        // An operator that was just started has not told anybody yet.
        ctx.telemetry.package(&o.package);
        return Ok(());
    }
    let name = o.package.name_any();
    let before = reason(&o.package);
    let body = json!({
        "apiVersion": ctx.group.api_version(),
        "kind": Package::KIND,
        "metadata": { "name": name },
        "status": wanted,
    });
    o.package = ctx
        .packages()
        .patch_status(
            &name,
            &PatchParams::apply(MANAGER).force(),
            &Patch::Apply(body),
        )
        .await
        .map_err(|source| Error::api("writing the status of", "Package", &name, source))?;
    if before.as_deref() != Some(report.reason.as_str())
        && let Some(event) = events::of_report(report)
    {
        ctx.publish(&o.package, &event).await;
    }
    ctx.telemetry.package(&o.package);
    Ok(())
}

/// The reason of the package's `Ready` condition.
fn reason(package: &Package) -> Option<String> {
    let status = package.status.as_ref()?;
    condition::find(&status.conditions, keys::READY).map(|ready| ready.reason.clone())
}

async fn patch_metadata(ctx: &Context, o: &mut Observed, metadata: Value) -> Result<(), Error> {
    let name = o.package.name_any();
    o.package = ctx
        .packages()
        .patch(
            &name,
            &PatchParams::default(),
            &Patch::Merge(json!({ "metadata": metadata })),
        )
        .await
        .map_err(|source| Error::api("changing the metadata of", "Package", &name, source))?;
    Ok(())
}

async fn finalizers(
    ctx: &Context,
    o: &mut Observed,
    change: impl FnOnce(&mut Vec<String>),
) -> Result<(), Error> {
    let mut all = o.package.finalizers().to_vec();
    change(&mut all);
    let version = o.package.resource_version();
    patch_metadata(
        ctx,
        o,
        json!({ "finalizers": all, "resourceVersion": version }),
    )
    .await
}

async fn drop_rollback_request(ctx: &Context, o: &mut Observed) -> Result<(), Error> {
    let version = o.package.resource_version();
    let metadata =
        json!({ "annotations": { keys::ROLLBACK_TO: null }, "resourceVersion": version });
    patch_metadata(ctx, o, metadata).await
}

async fn record(ctx: &Context, o: &mut Observed, new: &NewRevision) -> Result<(), Error> {
    let object = new.object(&ctx.group, &o.package);
    let name = object.name_any();
    let api = ctx.revisions();
    let created = api
        .create(
            &PostParams {
                field_manager: Some(MANAGER.into()),
                ..PostParams::default()
            },
            &object,
        )
        .await
        .map_err(|source| Error::api("recording", "PackageRevision", &name, source))?;
    o.revisions.push(Revision::read(&created));
    update(ctx, o, new.number, |r| r.phase = Phase::Applying).await
}

/// Changes a revision's record and writes its status.
async fn update(
    ctx: &Context,
    o: &mut Observed,
    number: u64,
    change: impl FnOnce(&mut Revision),
) -> Result<(), Error> {
    let package = o.package.name_any();
    let name = format!("{package}-{number}");
    let Some(revision) = o.revisions.iter_mut().find(|r| r.number == number) else {
        return Err(Error::Vanished { revision: name });
    };
    change(revision);
    let body = json!({
        "apiVersion": ctx.group.api_version(),
        "kind": PackageRevision::KIND,
        "metadata": { "name": name, "resourceVersion": revision.resource_version },
        "status": revision_status(revision),
    });
    let stored = ctx
        .revisions()
        .patch_status(
            &name,
            &PatchParams::apply(MANAGER).force(),
            &Patch::Apply(body),
        )
        .await
        .map_err(|source| Error::api("writing the status of", "PackageRevision", &name, source))?;
    *revision = Revision::read(&stored);
    let placements: Vec<_> = revision
        .components
        .iter()
        .filter(|c| c.backend_revision.is_some())
        .map(|c| c.placement.clone())
        .collect();
    // The answers for components that are on record now have been used.
    for placement in placements {
        o.outcomes.remove(&placement);
    }
    Ok(())
}

async fn restamp(
    ctx: &Context,
    o: &mut Observed,
    number: u64,
    desired_digest: String,
) -> Result<(), Error> {
    let name = format!("{}-{number}", o.package.name_any());
    let Some(revision) = o.revisions.iter_mut().find(|r| r.number == number) else {
        return Err(Error::Vanished { revision: name });
    };
    let body = json!({ "metadata": {
        "resourceVersion": revision.resource_version,
        "annotations": { keys::DESIRED_DIGEST: desired_digest },
    } });
    let marked = ctx
        .revisions()
        .patch(&name, &PatchParams::default(), &Patch::Merge(body))
        .await
        .map_err(|source| Error::api("marking", "PackageRevision", &name, source))?;
    *revision = Revision::read(&marked);
    Ok(())
}

fn revision_status(revision: &Revision) -> PackageRevisionStatus {
    PackageRevisionStatus {
        phase: Some(revision.phase),
        message: revision.message.clone(),
        permanent: revision.permanent,
        finished_at: revision.finished_at.map(Time),
        components: revision
            .components
            .iter()
            .filter_map(|c| {
                Some(RevisionComponentStatus {
                    name: c.name.clone(),
                    backend_revision: Some(i64::try_from(c.backend_revision?).ok()?),
                    started_at: None,
                    ready: true,
                })
            })
            .collect(),
    }
}

async fn prune(ctx: &Context, o: &mut Observed, number: u64) -> Result<(), Error> {
    let name = format!("{}-{number}", o.package.name_any());
    let revision = o.revisions.iter().find(|r| r.number == number);
    let unchanged = DeleteParams::default().preconditions(Preconditions {
        resource_version: revision.map(|r| r.resource_version.clone()),
        uid: None,
    });
    match ctx.revisions().delete(&name, &unchanged).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        Err(source) => {
            return Err(Error::api("pruning", "PackageRevision", &name, source));
        }
    }
    o.revisions.retain(|r| r.number != number);
    Ok(())
}
