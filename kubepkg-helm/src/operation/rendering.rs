//! Rendering a chart for an operation: with the cluster's version, the kinds that it serves and those that
//! the chart's `crds/` will bring, and with `lookup` on the cluster. Rendering blocks, so it has a thread of
//! its own.

use super::install::crd_objects;
use super::request::{CrdPolicy, InstallRequest, PostRendering, ReleaseOptions, UpgradeRequest};
use super::{Operation, OperationError, Outcome};
use crate::cluster::{ClusterLookup, Discovery, kinds_of_crd};
use crate::helm::Helm;
use crate::release::ReleaseStatus;
use crate::{
    Chart, Lookup, LookupError, ReleaseFacts, RenderError, RenderOptions, Rendered, Values,
    process_dependencies,
};
use serde_json::Value;
use std::sync::Arc;

impl Helm {
    /// Begins an install: renders, refuses what can be refused, writes nothing yet.
    ///
    /// # Errors
    /// When a release of that name exists, the chart can't be rendered, or a kind is not served.
    pub async fn begin_install(
        &self,
        request: InstallRequest,
    ) -> Result<Operation, OperationError> {
        let replaced = self.check_install(&request).await?;
        let facts = ReleaseFacts::install(&request.name, &request.namespace);
        let policy = request.options.crds.unwrap_or(CrdPolicy::Create);
        let (chart, values) = (Arc::clone(&request.chart), request.values.clone());
        let rendered = self
            .render(chart, values, facts, policy, &request.options)
            .await?;
        self.install_of(request, rendered, replaced).await
    }

    /// Begins an upgrade: renders, refuses what can be refused, writes nothing yet.
    ///
    /// # Errors
    /// When there is no revision to upgrade from, another operation is under way, the chart can't be
    /// rendered, or a kind is not served.
    pub async fn begin_upgrade(
        &self,
        request: UpgradeRequest,
    ) -> Result<Operation, OperationError> {
        let base = self.upgrade_base(&request).await?;
        let facts = ReleaseFacts::upgrade(&request.name, &request.namespace, base.revision());
        let policy = request.options.crds.unwrap_or(CrdPolicy::Skip);
        let (chart, values) = base.values_of(&request)?;
        let rendered = self
            .render(chart, values, facts, policy, &request.options)
            .await?;
        self.upgrade_of(request, base, rendered).await
    }

    /// Begins an upgrade, or an install when there is no such release or it was removed with its history kept
    /// (`helm upgrade --install`).
    ///
    /// # Errors
    /// As [`Helm::begin_install`] and [`Helm::begin_upgrade`].
    pub async fn begin_upgrade_or_install(
        &self,
        request: UpgradeRequest,
    ) -> Result<Operation, OperationError> {
        let last = self.latest(&request.namespace, &request.name).await?;
        let replace = match last {
            None => false,
            Some(last) if last.status == ReleaseStatus::Uninstalled => true,
            Some(_) => return self.begin_upgrade(request).await,
        };
        let UpgradeRequest {
            name,
            namespace,
            chart,
            values,
            options,
        } = request;
        let options = ReleaseOptions { replace, ..options };
        self.begin_install(InstallRequest {
            name,
            namespace,
            chart,
            values,
            options,
        })
        .await
    }

    /// Installs and waits for the end.
    ///
    /// # Errors
    /// When it can't begin or its record can't be kept; a failed install is an [`Outcome`].
    pub async fn install(&self, request: InstallRequest) -> Result<Outcome, OperationError> {
        let options = request.options.clone();
        let outcome = self.begin_install(request).await?.run().await?;
        self.undo_if_asked(outcome, &options).await
    }

    /// Upgrades and waits for the end.
    ///
    /// # Errors
    /// When it can't begin or its record can't be kept; a failed upgrade is an [`Outcome`].
    pub async fn upgrade(&self, request: UpgradeRequest) -> Result<Outcome, OperationError> {
        let options = request.options.clone();
        let outcome = self.begin_upgrade(request).await?.run().await?;
        self.undo_if_asked(outcome, &options).await
    }

    /// Upgrades, or installs what is not there, and waits for the end.
    ///
    /// # Errors
    /// When it can't begin or its record can't be kept; a failure is an [`Outcome`].
    pub async fn upgrade_or_install(
        &self,
        request: UpgradeRequest,
    ) -> Result<Outcome, OperationError> {
        let options = request.options.clone();
        let outcome = self.begin_upgrade_or_install(request).await?.run().await?;
        self.undo_if_asked(outcome, &options).await
    }

    /// Renders a chart for this cluster, as an install or upgrade of it with these options would, which call it.
    /// Of the options `skip_schema` and `post_render` count.
    ///
    /// # Errors
    /// When the cluster can't be asked or the chart can't be rendered.
    pub async fn render(
        &self,
        chart: Arc<Chart>,
        values: Values,
        facts: ReleaseFacts,
        crds: CrdPolicy,
        options: &ReleaseOptions,
    ) -> Result<Rendered, OperationError> {
        let mut known = Discovery::clone(&*self.cluster().discovery().await?);
        if crds != CrdPolicy::Skip && !chart.crds().is_empty() {
            // Only subcharts that take part bring their CRDs.
            let mut processed = Chart::clone(&chart);
            process_dependencies(&mut processed, &values).map_err(RenderError::from)?;
            for object in crd_objects(&processed.crds(), crds)? {
                for kind in kinds_of_crd(&object.value) {
                    known.learn(kind);
                }
            }
        }
        let capabilities = known.capabilities()?;
        let inline = self.is_inline();
        let lookup = ClusterLookup::new(self.shared_cluster(), tokio::runtime::Handle::current());
        let (skip_schema, post_render) = (options.skip_schema, options.post_render.clone());
        let render = move || {
            let lookup: &dyn Lookup = if inline { &RefusedLookup } else { &lookup };
            let options = RenderOptions {
                lookup: Some(lookup),
                skip_schema,
                post_render: post_render.as_ref().map(PostRendering::of_rendering),
                ..RenderOptions::default()
            };
            crate::render(&chart, &values, &facts, &capabilities, &options)
        };
        if inline {
            return render().map_err(OperationError::from);
        }
        tokio::task::spawn_blocking(render)
            .await
            .map_err(|_| OperationError::Interrupted)?
            .map_err(OperationError::from)
    }
}

/// Refuses every question: whoever renders inline has nobody else who could ask the cluster.
struct RefusedLookup;

impl Lookup for RefusedLookup {
    fn lookup(&self, _: &str, _: &str, _: &str, _: &str) -> Result<Value, LookupError> {
        Err(LookupError {
            message: "nothing can be looked up while rendering inline".to_owned(),
        })
    }
}
