//! Writing objects: by server-side apply, one request an object, or as a client (`apply/client.rs`).
//!
//! A new object must not take over somebody else's. Instead of reading each object first, the first apply of
//! a new object names a resource version that no existing object has: the server creates the object when
//! there is none, and answers 409 without touching anything when there is one. Only then is the object's
//! metadata read and its owner checked. So an install costs one request an object, and is safe against an
//! object that appears between check and write.
//!
//! Objects that the previous revision had are applied without that. Nothing is forced unless the caller
//! asks, as in Helm 4. Field validation is asked for on the request, and the answer is the live object, so
//! nothing is read before or after.
//! Source of the rules and texts: Helm 4.3.1 `pkg/kube/client.go`.

mod client;
mod unchanged;

use crate::cluster::{Answer, ApiError, Call, Cluster, ResourceKind, Sighting, Verb};
use crate::guard::{self, Foreign};
use crate::objects::ManifestObject;
use serde_json::{Value, json};
use std::time::Duration;

/// How often a request is sent anew while somebody else writes the object, or counts the same quota.
const CONFLICT_TRIES: u32 = 5;

/// The field manager of Helm itself.
const HELM: &str = "helm";

/// A version that no stored object has: etcd's first revision is taken before any object is written.
const NO_SUCH_VERSION: &str = "1";

/// Why an object could not be written. Texts are Helm's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// It belongs to somebody else.
    #[error("unable to continue with {operation}: {source}")]
    Foreign {
        /// `install` or `update`.
        operation: &'static str,
        /// Whose it is.
        #[source]
        source: Foreign,
    },
    /// Another field manager holds fields with other values.
    #[error("conflict occurred while applying object {namespace}/{name} {go_kind}: {source}")]
    Conflict {
        /// Namespace of the object.
        namespace: String,
        /// Name of the object.
        name: String,
        /// Group, version and kind as Go prints them.
        go_kind: String,
        /// The server's answer.
        #[source]
        source: ApiError,
    },
    /// The server refused it.
    #[error("server-side apply failed for object {namespace}/{name} {go_kind}: {source}")]
    Refused {
        /// Namespace of the object.
        namespace: String,
        /// Name of the object.
        name: String,
        /// Group, version and kind as Go prints them.
        go_kind: String,
        /// The server's answer.
        #[source]
        source: ApiError,
    },
    /// The server refused to make it, for a client.
    #[error("failed to create resource: {source}")]
    Create {
        /// The server's answer.
        #[source]
        source: ApiError,
    },
    /// The server refused a client's patch.
    #[error("cannot patch {name:?} with kind {kind}: {source}")]
    Patch {
        /// Name of the object.
        name: String,
        /// Kind of the object.
        kind: String,
        /// The server's answer.
        #[source]
        source: ApiError,
    },
    /// What was, is and shall be can't be made into a patch.
    #[error("failed to create patch: {reason}")]
    NoPatch {
        /// Why not.
        reason: String,
    },
    /// The server does not serve its kind.
    #[error(
        "resource mapping not found for name: {name:?} namespace: {namespace:?} from \"\": no matches for kind {kind:?} in version {api_version:?}\nensure CRDs are installed first"
    )]
    NoKind {
        /// Namespace of the object, as written.
        namespace: String,
        /// Name of the object.
        name: String,
        /// `apiVersion` of the object.
        api_version: String,
        /// Kind of the object.
        kind: String,
    },
    /// Something else failed on the way.
    #[error(transparent)]
    Api(#[from] ApiError),
}

impl ApplyError {
    /// True when asking again later may help.
    pub fn is_transient(&self) -> bool {
        match self {
            ApplyError::Conflict { source, .. }
            | ApplyError::Refused { source, .. }
            | ApplyError::Create { source }
            | ApplyError::Patch { source, .. }
            | ApplyError::Api(source) => source.is_transient(),
            ApplyError::Foreign { .. } | ApplyError::NoPatch { .. } | ApplyError::NoKind { .. } => {
                false
            }
        }
    }

    /// True when the path itself was not found: the kind is not served yet.
    pub(crate) fn is_unserved(&self) -> bool {
        match self {
            ApplyError::NoKind { .. } => true,
            ApplyError::Refused {
                source:
                    ApiError::Status {
                        code: 404, message, ..
                    },
                ..
            }
            | ApplyError::Api(ApiError::Status {
                code: 404, message, ..
            })
            | ApplyError::Create {
                source:
                    ApiError::Status {
                        code: 404, message, ..
                    },
            } => {
                message.contains("could not find the requested resource")
                    || message.contains("404 page not found")
            }
            _ => false,
        }
    }
}

/// In whose name objects are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner<'a> {
    pub(crate) release: &'a str,
    pub(crate) namespace: &'a str,
    /// `install` or `update`, for messages.
    pub(crate) operation: &'static str,
}

impl Owner<'_> {
    fn refuses(self, source: Foreign) -> ApplyError {
        ApplyError::Foreign {
            operation: self.operation,
            source,
        }
    }
}

/// What may be done to an object that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It was part of the previous revision: apply.
    Ours,
    /// It was part of the previous revision, which a client wrote by itself: take its fields over, then apply.
    OursFromClient,
    /// It is new in this revision: apply when it bears our marks.
    Check,
    /// It is new in this revision: apply unless it bears the marks of another release (rollbacks, as Helm).
    CheckOther,
    /// It is new in this revision: apply whoever made it.
    Take,
}

/// A resolved object: where it lives and what it says.
#[derive(Clone, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) object: &'a ManifestObject,
    pub(crate) resource: ResourceKind,
    pub(crate) namespace: String,
}

impl<'a> Target<'a> {
    /// Finds where an object lives. Objects of namespaced kinds without a namespace go to `default`.
    pub(crate) async fn resolve(
        cluster: &Cluster,
        object: &'a ManifestObject,
        default: &str,
    ) -> Result<Self, ApplyError> {
        let resource = cluster.resource(&object.api_version, &object.kind).await?;
        let resource = resource.ok_or_else(|| ApplyError::NoKind {
            namespace: object.namespace.clone(),
            name: object.name.clone(),
            api_version: object.api_version.clone(),
            kind: object.kind.clone(),
        })?;
        Ok(Self::at(object, resource, default))
    }

    pub(crate) fn at(object: &'a ManifestObject, resource: ResourceKind, default: &str) -> Self {
        let namespace = if !resource.namespaced {
            String::new()
        } else if object.namespace.is_empty() {
            default.to_owned()
        } else {
            object.namespace.clone()
        };
        Self {
            object,
            resource,
            namespace,
        }
    }

    pub(crate) fn path(&self) -> String {
        self.resource.object(&self.namespace, &self.object.name)
    }

    /// The object as it is applied in the name of a release.
    fn marked(&self, owner: Owner<'_>) -> Value {
        let mut body = self.body();
        guard::mark(&mut body, owner.release, owner.namespace);
        body
    }

    /// The object with its namespace filled in.
    fn body(&self) -> Value {
        let mut value = self.object.value.clone();
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            if self.namespace.is_empty() {
                metadata.remove("namespace");
            } else {
                metadata.insert("namespace".to_owned(), json!(self.namespace));
            }
        }
        value
    }

    fn conflict(&self, source: ApiError) -> ApplyError {
        let (namespace, name) = (self.namespace.clone(), self.object.name.clone());
        let go_kind = self.object.go_kind();
        if source.is_conflict() {
            ApplyError::Conflict {
                namespace,
                name,
                go_kind,
                source,
            }
        } else if source.is_transient() {
            ApplyError::Api(source)
        } else {
            ApplyError::Refused {
                namespace,
                name,
                go_kind,
                source,
            }
        }
    }
}

/// Refuses a live object of somebody else. One that is gone, or that nobody marked, may be fine.
fn require_owner(
    target: &Target<'_>,
    owner: Owner<'_>,
    existing: Existing,
    live: &Value,
) -> Result<(), Foreign> {
    let mut mismatches = guard::mismatches(live, owner.release, owner.namespace);
    match existing {
        Existing::Check if live.is_null() => mismatches.clear(),
        Existing::Check => {}
        Existing::CheckOther => mismatches.retain(|mark| mark.found.is_some()),
        Existing::Ours | Existing::OursFromClient | Existing::Take => mismatches.clear(),
    }
    if mismatches.is_empty() {
        return Ok(());
    }
    Err(Foreign {
        kind: target.object.kind.clone(),
        namespace: target.namespace.clone(),
        name: target.object.name.clone(),
        mismatches,
    })
}

/// What became of an object that was to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deletion<K> {
    /// It is gone.
    Gone,
    /// It goes, but something holds it.
    Going,
    /// It stays, for this reason.
    Kept(K),
}

/// Writes objects with one field manager.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) field_manager: &'a str,
}

impl Writer<'_> {
    /// Applies an object of a release and returns the live object.
    pub(crate) async fn apply(
        &self,
        target: &Target<'_>,
        owner: Owner<'_>,
        existing: Existing,
        force: bool,
    ) -> Result<Answer, ApplyError> {
        let body = target.marked(owner);
        let answer = self
            .apply_marked(target, &body, owner, existing, force)
            .await?;
        if guard::may_delete(&answer.body, owner.release, owner.namespace) {
            let owner = (owner.release, owner.namespace);
            self.cluster
                .sightings()
                .remember(target.path(), &answer.body, owner);
        }
        Ok(answer)
    }

    async fn apply_marked(
        &self,
        target: &Target<'_>,
        body: &Value,
        owner: Owner<'_>,
        existing: Existing,
        force: bool,
    ) -> Result<Answer, ApplyError> {
        let known = matches!(existing, Existing::Ours | Existing::OursFromClient);
        if !known {
            match self.create_only(target, body).await {
                Ok(answer) => return Ok(answer),
                Err(error) if !error.is_conflict() => return Err(target.conflict(error)),
                Err(_) => {}
            }
            if matches!(existing, Existing::Check | Existing::CheckOther) {
                let live = self.metadata(target).await?.unwrap_or_default();
                require_owner(target, owner, existing, &live)
                    .map_err(|source| owner.refuses(source))?;
            }
        }
        if existing != Existing::Ours {
            self.take_fields_over(target).await?;
        }
        let patched = match self.patch(target, body, force).await {
            // Fields that this manager wrote by updates, as a client, are its own.
            Err(error) if existing == Existing::Ours && self.is_own_conflict(&error) => {
                self.take_fields_over(target).await?;
                self.patch(target, body, force).await
            }
            outcome => outcome,
        };
        patched.map_err(|error| target.conflict(error))
    }

    fn is_own_conflict(&self, error: &ApiError) -> bool {
        let own = format!("conflict with {:?} using ", self.field_manager);
        matches!(error, ApiError::Status { code: 409, message, .. } if message.contains(&own))
    }

    /// Gives the fields that an earlier Helm wrote by updates to this one, which applies.
    async fn take_fields_over(&self, target: &Target<'_>) -> Result<(), ApplyError> {
        let query = [("fieldManager", self.field_manager)];
        let mut tries = 0;
        loop {
            let Some(found) = self.read(target).await? else {
                return Ok(());
            };
            let old = [self.field_manager, HELM];
            let old = if self.field_manager == HELM {
                old.get(..1).unwrap_or_default()
            } else {
                old.as_slice()
            };
            let Some(patch) =
                kubepkg_patch::ssa::upgrade::patch_of(&found, old, self.field_manager)
            else {
                return Ok(());
            };
            let call = Call::new(Verb::JsonPatch, target.path())
                .query(&query)
                .body(&patch);
            match self.cluster.call(call).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) if error.is_conflict() && tries < CONFLICT_TRIES => tries += 1,
                Err(error) => return Err(target.conflict(error)),
            }
        }
    }

    /// The live object of an object that `apply` would leave as it is.
    pub(crate) async fn unchanged(
        &self,
        target: &Target<'_>,
        owner: Owner<'_>,
    ) -> Result<Option<Value>, ApiError> {
        let live = self.read(target).await?;
        Ok(live.filter(|live| {
            unchanged::is_as_wanted(&target.marked(owner), live, self.field_manager)
        }))
    }

    /// The object as an apply would leave it; nothing is written.
    pub(crate) async fn try_apply(
        &self,
        target: &Target<'_>,
        owner: Owner<'_>,
        force: bool,
    ) -> Result<Value, ApplyError> {
        let query = [
            ("fieldManager", self.field_manager),
            ("fieldValidation", "Strict"),
            ("force", if force { "true" } else { "false" }),
            ("dryRun", "All"),
        ];
        let body = target.marked(owner);
        let call = Call::new(Verb::Apply, target.path())
            .query(&query)
            .body(&body);
        let answer = self.cluster.call(call).await;
        Ok(answer.map_err(|error| target.conflict(error))?.body)
    }

    /// Applies an object as it is, without marks (hooks).
    pub(crate) async fn apply_plain(&self, target: &Target<'_>) -> Result<Answer, ApplyError> {
        let body = target.body();
        self.patch(target, &body, false)
            .await
            .map_err(|error| target.conflict(error))
    }

    /// Applies a CustomResourceDefinition as it is: only when it is new, or over what exists.
    /// `None` when it exists and stays as it is.
    pub(crate) async fn apply_crd(
        &self,
        target: &Target<'_>,
        replace: bool,
    ) -> Result<Option<Answer>, ApplyError> {
        let body = target.body();
        if replace {
            let patched = self.patch(target, &body, true).await;
            return patched.map(Some).map_err(|error| target.conflict(error));
        }
        let mut tries = 0;
        loop {
            match self.create_only(target, &body).await {
                Ok(answer) => return Ok(Some(answer)),
                Err(error) if error.is_conflict() => {
                    // A conflict says that it exists, or that the server was in two minds for a moment.
                    if tries == CONFLICT_TRIES || self.metadata(target).await?.is_some() {
                        return Ok(None);
                    }
                    tries += 1;
                }
                Err(error) => return Err(target.conflict(error)),
            }
        }
    }

    /// Checks the owner of an object that exists; one that does not is fine.
    pub(crate) async fn require_ours(
        &self,
        target: &Target<'_>,
        owner: Owner<'_>,
    ) -> Result<(), ApplyError> {
        match self.metadata(target).await? {
            None => Ok(()),
            Some(found) => require_owner(target, owner, Existing::Check, &found)
                .map_err(|source| owner.refuses(source)),
        }
    }

    /// Labels, annotations and so on of a live object; none when it does not exist.
    pub(crate) async fn metadata(&self, target: &Target<'_>) -> Result<Option<Value>, ApiError> {
        match self
            .cluster
            .call(Call::new(Verb::Get, target.path()).metadata_only())
            .await
        {
            Ok(answer) => Ok(Some(answer.body)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The live object; none when it does not exist.
    pub(crate) async fn read(&self, target: &Target<'_>) -> Result<Option<Value>, ApiError> {
        match self.cluster.call(Call::new(Verb::Get, target.path())).await {
            Ok(answer) => Ok(Some(answer.body)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deletes an object that may go, as it was when that was decided: one that has changed is looked at again, so that a
    /// mark is heeded that was set meanwhile. What changes faster than it can be looked at goes by its UID.
    pub(crate) async fn delete<K>(
        &self,
        target: &Target<'_>,
        propagation: &str,
        why_not: impl Fn(&Value) -> Option<K>,
    ) -> Result<Deletion<K>, ApiError> {
        let mut tries = 0;
        loop {
            let Some(found) = self.metadata(target).await? else {
                return Ok(Deletion::Gone);
            };
            if let Some(reason) = why_not(&found) {
                return Ok(Deletion::Kept(reason));
            }
            let metadata = &found["metadata"];
            let mut preconditions = json!({"uid": metadata["uid"]});
            if tries < CONFLICT_TRIES {
                preconditions["resourceVersion"] = metadata["resourceVersion"].clone();
            }
            match self.delete_if(target, &preconditions, propagation).await {
                Err(error) if error.is_conflict() && tries < CONFLICT_TRIES => tries += 1,
                outcome => return outcome,
            }
        }
    }

    /// Deletes an object when it is still as this process left it; `None` when it has to be looked at.
    pub(crate) async fn delete_unseen<K>(
        &self,
        target: &Target<'_>,
        left: &Sighting,
        propagation: &str,
    ) -> Result<Option<Deletion<K>>, ApiError> {
        let preconditions = json!({"uid": left.uid, "resourceVersion": left.resource_version});
        match self.delete_if(target, &preconditions, propagation).await {
            Ok(deletion) => Ok(Some(deletion)),
            Err(error) if error.is_conflict() => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn delete_if<K>(
        &self,
        target: &Target<'_>,
        preconditions: &Value,
        propagation: &str,
    ) -> Result<Deletion<K>, ApiError> {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation,
            "preconditions": preconditions,
        });
        let call = Call::new(Verb::Delete, target.path()).body(&options);
        match self.cluster.call(call).await {
            Ok(answer) if answer.body["kind"] == "Status" => Ok(Deletion::Gone),
            Ok(_) => Ok(Deletion::Going),
            Err(error) if error.is_not_found() => Ok(Deletion::Gone),
            Err(error) => Err(error),
        }
    }

    async fn create_only(&self, target: &Target<'_>, body: &Value) -> Result<Answer, ApiError> {
        let mut body = body.clone();
        if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".to_owned(), json!(NO_SUCH_VERSION));
        }
        self.patch(target, &body, false).await
    }

    async fn patch(
        &self,
        target: &Target<'_>,
        body: &Value,
        force: bool,
    ) -> Result<Answer, ApiError> {
        let query = [
            ("fieldManager", self.field_manager),
            ("fieldValidation", "Strict"),
            ("force", if force { "true" } else { "false" }),
        ];
        let versioned = body.pointer("/metadata/resourceVersion").is_some();
        let mut tries = 0;
        loop {
            let call = Call::new(Verb::Apply, target.path())
                .query(&query)
                .body(body);
            match self.cluster.call(call).await {
                Err(error) if tries < CONFLICT_TRIES && error.is_race(versioned) => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(10 << tries)).await;
                }
                outcome => return outcome,
            }
        }
    }
}
