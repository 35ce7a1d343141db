//! Installs: the first revision of a release.
//! Source of the rules: Helm 4.3.1 `pkg/action/install.go`.

use super::begin::{Parts, check_name, manifest_objects, method_of, of_rendered, settings_of};
use super::request::{CrdPolicy, InstallRequest};
use super::{Operation, OperationError};
use crate::helm::Helm;
use crate::objects::{Located, ManifestObject};
use crate::plan::OperationKind;
use crate::progress::Progress;
use crate::release::{Info, Release, ReleaseStatus, check_labels};
use crate::storage::RecordHead;
use crate::{CrdFile, Rendered};

impl Helm {
    /// Begins an install of what was rendered already; writes nothing yet. `request.values` do not matter.
    ///
    /// # Errors
    /// When a release of that name exists, or a kind is not served.
    pub async fn begin_install_rendered(
        &self,
        request: InstallRequest,
        rendered: Rendered,
    ) -> Result<Operation, OperationError> {
        let replaced = self.check_install(&request).await?;
        self.install_of(request, rendered, replaced).await
    }

    /// The newest revision that an install replaces, if there is one.
    pub(super) async fn check_install(
        &self,
        request: &InstallRequest,
    ) -> Result<Option<RecordHead>, OperationError> {
        check_name(&request.name)?;
        check_labels(&request.options.labels)?;
        match self.latest(&request.namespace, &request.name).await? {
            None => Ok(None),
            Some(head)
                if request.options.replace
                    && matches!(
                        head.status,
                        ReleaseStatus::Uninstalled | ReleaseStatus::Failed
                    ) =>
            {
                Ok(Some(head))
            }
            Some(head) => Err(OperationError::NameInUse {
                name: request.name.clone(),
                revision: head.revision,
                status: head.status,
            }),
        }
    }

    pub(super) async fn install_of(
        &self,
        request: InstallRequest,
        rendered: Rendered,
        replaced: Option<RecordHead>,
    ) -> Result<Operation, OperationError> {
        let options = request.options;
        let policy = options.crds.unwrap_or(CrdPolicy::Create);
        let crds = crd_objects(&rendered.crds, policy)?;
        let warnings = rendered.warnings.clone();
        let places = Located::all(&rendered);
        let now = self.now();
        let release = Release {
            name: request.name,
            namespace: request.namespace,
            revision: replaced
                .as_ref()
                .map_or(1, |last| last.revision.saturating_add(1)),
            info: Info {
                first_deployed: Some(now.into()),
                last_deployed: Some(now.into()),
                description: "Initial install underway".to_owned(),
                status: ReleaseStatus::PendingInstall,
                notes: rendered.notes.clone(),
                ..Info::default()
            },
            labels: options.labels.clone(),
            apply_method: method_of(options.server_side.unwrap_or(true)),
            ..of_rendered(rendered)
        };
        let mut progress = Progress::new(
            OperationKind::Install,
            now,
            options.timeout,
            settings_of(&options),
        );
        // A failed revision stays what it is, as in Helm.
        progress.supersede = replaced
            .iter()
            .filter(|last| last.status == ReleaseStatus::Uninstalled)
            .map(|last| last.revision)
            .collect();
        let mut operation = Operation::assemble(
            self,
            Parts {
                crds,
                crd_policy: policy,
                namespace: options.create_namespace,
                warnings,
                ..Parts::recorded(release, progress)
            },
        )?;
        operation.locate(&places);
        operation.preflight(options.preflight).await?;
        Ok(operation)
    }
}

/// The objects of a chart's `crds/`.
pub(super) fn crd_objects(
    files: &[CrdFile],
    policy: CrdPolicy,
) -> Result<Vec<ManifestObject>, OperationError> {
    let mut objects = Vec::new();
    if policy != CrdPolicy::Skip {
        for file in files {
            let text = String::from_utf8_lossy(&file.data);
            objects.extend(manifest_objects(&text, &file.path)?);
        }
    }
    Ok(objects)
}
