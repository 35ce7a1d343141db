//! Reads what a decision is made from.
//!
//! The Package is read again at the start of every pass, not taken from a watch: a request that was just taken away
//! must not be seen a second time. Revisions are listed by their label. Charts and releases are asked for only when a
//! decision wants to know.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::api::ListParams;
use kube::core::DeserializeGuard;
use kubepkg_api::{Package, keys, revision_name};

use super::act::problem;
use super::observed::{Observed, Question, Source};
use super::revision::Revision;
use super::{Context, Error};

/// Reads the package of this name and all that belongs to it; `None` when it is gone.
pub(super) async fn observe(ctx: &Context, name: &str) -> Result<Option<Observed>, Error> {
    let found = ctx
        .api::<DeserializeGuard<Package>>()
        .get_opt(name)
        .await
        .map_err(|source| Error::api("reading", "Package", name, source))?;
    let package = match found {
        None => return Ok(None),
        Some(DeserializeGuard(Ok(package))) => package,
        Some(DeserializeGuard(Err(invalid))) => {
            return Err(Error::Malformed {
                package: name.to_owned(),
                why: invalid.error,
            });
        }
    };
    let source = source(ctx, name).await?;
    let by_label = ListParams::default().labels(&format!("{}={name}", keys::PACKAGE_LABEL));
    let mut revisions: Vec<Revision> = ctx
        .revisions()
        .list(&by_label)
        .await
        .map_err(|source| Error::api("listing the revisions of", "Package", name, source))?
        .items
        .iter()
        .filter(|r| r.spec.package == name && r.metadata.deletion_timestamp.is_none())
        .map(Revision::read)
        .collect();
    revisions.sort_by_key(|r| r.number);
    newest_is_listed(ctx, &package, &revisions).await?;
    Ok(Some(Observed {
        now: ctx.now(),
        package,
        source,
        revisions,
        charts: BTreeMap::new(),
        releases: BTreeMap::new(),
        marked: None,
        outcomes: BTreeMap::new(),
        settings: ctx.settings.clone(),
    }))
}

/// Looks for the newest revision that the Package's status tells of, when the list lacks it: a record that somebody
/// removed is no obstacle, one that is there shows that the list is older than the Package. To go on from it would
/// record a second revision beside one that is under way.
async fn newest_is_listed(
    ctx: &Context,
    package: &Package,
    revisions: &[Revision],
) -> Result<(), Error> {
    let told = package.status.iter().flat_map(|status| &status.history);
    let Some(newest) = told.map(|entry| entry.revision).max() else {
        return Ok(());
    };
    let listed = revisions.last().map(|r| r.number);
    if u64::try_from(newest).is_ok_and(|newest| listed.is_some_and(|listed| listed >= newest)) {
        return Ok(());
    }
    let revision = revision_name(&package.name_any(), newest);
    let found = ctx.revisions().get_opt(&revision).await;
    let found = found.map_err(|e| Error::api("reading", "PackageRevision", &revision, e))?;
    match found.filter(|r| r.metadata.deletion_timestamp.is_none()) {
        Some(_) => Err(Error::Outdated { revision }),
        None => Ok(()),
    }
}

async fn source(ctx: &Context, name: &str) -> Result<Source, Error> {
    let found = ctx
        .api::<DeserializeGuard<kubepkg_api::PackageSource>>()
        .get_opt(name)
        .await
        .map_err(|source| Error::api("reading", "PackageSource", name, source))?;
    Ok(match found {
        None => Source::Missing,
        Some(DeserializeGuard(Ok(source))) => Source::Present(Box::new(source.spec)),
        Some(DeserializeGuard(Err(invalid))) => Source::Malformed(invalid.error),
    })
}

/// Finds the answer to a question.
pub(super) async fn answer(ctx: &Context, o: &mut Observed, question: Question) {
    match question {
        Question::Charts(charts) => {
            for chart in charts {
                let digest = ctx.backend.prepare(&chart).await.map_err(|e| problem(&e));
                o.charts.insert(chart.to_string(), digest);
            }
        }
        Question::Releases(placements) => {
            let package = o.package.name_any();
            for placement in placements {
                let state = ctx
                    .backend
                    .status(&package, &placement)
                    .await
                    .map_err(|e| problem(&e));
                o.releases.insert(placement, state);
            }
        }
        Question::Marked => {
            let uid = o.package.uid().unwrap_or_default();
            o.marked = Some(ctx.backend.releases(&uid).await.map_err(|e| problem(&e)));
        }
    }
}
