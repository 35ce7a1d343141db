//! Writing objects as a client: releases that were made so go on so. A new object is made by a POST; one that
//! exists is read and patched with what differs, by a three-way strategic merge of what the revision before
//! said, what this one says and what is there, for kinds that Kubernetes itself has, and by a merge of the first
//! two for others. A patch that would change nothing is not sent.
//! Source of the rules: Helm 4.3.1 `pkg/kube/client.go`, `createPatch`.

use super::{ApplyError, Existing, Owner, Target, Writer, require_owner};
use crate::cluster::{Answer, Call, Verb};
use crate::objects::ManifestObject;
use kubepkg_patch::schema::GroupVersionKind;
use kubepkg_patch::{builtin, merge, strategic};
use serde_json::Value;

/// How often an object is looked at that comes and goes meanwhile.
const TRIES: u32 = 5;

impl Writer<'_> {
    /// Makes or patches an object of a release. `original` is what the revision before said about it.
    pub(crate) async fn write_as_client(
        &self,
        target: &Target<'_>,
        owner: Owner<'_>,
        existing: Existing,
        original: Option<&ManifestObject>,
        dry_run: bool,
    ) -> Result<Answer, ApplyError> {
        let wanted = target.marked(owner);
        let known = matches!(existing, Existing::Ours | Existing::OursFromClient);
        let original = original
            .filter(|_| known)
            .map(|original| Target::at(original, target.resource.clone(), owner.namespace).body());
        // What this revision brings anew is likely not to exist.
        let mut look = known;
        for _ in 0..TRIES {
            let live = if look { self.read(target).await? } else { None };
            let Some(live) = live else {
                match self.post(target, &wanted, dry_run).await {
                    Err(error) if error.reason() == "AlreadyExists" => look = true,
                    Err(source) if source.is_transient() || owner.operation == "install" => {
                        return Err(source.into());
                    }
                    Err(source) => return Err(ApplyError::Create { source }),
                    Ok(answer) => return Ok(answer),
                }
                continue;
            };
            require_owner(target, owner, existing, &live)
                .map_err(|source| owner.refuses(source))?;
            let made = patch_of(original.as_ref().unwrap_or(&wanted), &wanted, &live);
            let (verb, patch) = made.map_err(|reason| ApplyError::NoPatch { reason })?;
            if patch.as_object().is_some_and(serde_json::Map::is_empty) {
                return Ok(Answer::unwritten(live));
            }
            let mut query = vec![("fieldManager", self.field_manager)];
            query.extend(dry_run.then_some(("dryRun", "All")));
            let call = Call::new(verb, target.path()).query(&query).body(&patch);
            match self.cluster.call(call).await {
                Ok(answer) => return Ok(answer),
                // Deleted meanwhile.
                Err(error) if error.is_not_found() => look = false,
                Err(source) if source.is_transient() => return Err(source.into()),
                Err(source) => {
                    return Err(ApplyError::Patch {
                        name: target.object.name.clone(),
                        kind: target.object.kind.clone(),
                        source,
                    });
                }
            }
        }
        self.post(target, &wanted, dry_run)
            .await
            .map_err(ApplyError::from)
    }

    /// Makes an object as it is (hooks). One that exists is the one that an earlier try has made.
    pub(crate) async fn create_plain(&self, target: &Target<'_>) -> Result<Answer, ApplyError> {
        match self.post(target, &target.body(), false).await {
            Err(error) if error.reason() == "AlreadyExists" => match self.read(target).await? {
                Some(live) => Ok(Answer::unwritten(live)),
                None => Err(error.into()),
            },
            outcome => Ok(outcome?),
        }
    }

    async fn post(
        &self,
        target: &Target<'_>,
        body: &Value,
        dry_run: bool,
    ) -> Result<Answer, crate::cluster::ApiError> {
        let mut query = vec![("fieldManager", self.field_manager)];
        query.extend(dry_run.then_some(("dryRun", "All")));
        let path = target.resource.collection(&target.namespace);
        self.cluster
            .call(Call::new(Verb::Post, path).query(&query).body(body))
            .await
    }
}

/// The patch that gives a live object what `wanted` says and takes away what only `original` said.
fn patch_of(original: &Value, wanted: &Value, live: &Value) -> Result<(Verb, Value), String> {
    match builtin::model().kind(&GroupVersionKind::of(wanted)) {
        Some(kind) => strategic::three_way(original, wanted, live, &kind, true, &[])
            .map(|patch| (Verb::StrategicPatch, patch))
            .map_err(|error| error.to_string()),
        None => merge::create(original, wanted)
            .map(|patch| (Verb::MergePatch, patch))
            .map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::patch_of;
    use crate::cluster::Verb;
    use serde_json::json;

    /// By the rules of `strategicpatch.CreateThreeWayMergePatch` and `jsonpatch.CreateMergePatch`.
    #[test]
    fn kinds_of_kubernetes_are_merged_with_what_is_there_and_others_are_not() {
        let map = |data: serde_json::Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data});
        let (verb, patch) = patch_of(
            &map(json!({"a": "1", "gone": "x"})),
            &map(json!({"a": "1"})),
            &map(json!({"a": "theirs", "gone": "x", "other": "o"})),
        )
        .expect("patch");
        assert_eq!(
            (verb, patch),
            (
                Verb::StrategicPatch,
                json!({"data": {"a": "1", "gone": null}})
            )
        );
        let custom =
            |spec: serde_json::Value| json!({"apiVersion": "x.test/v1", "kind": "X", "spec": spec});
        let (verb, patch) = patch_of(
            &custom(json!({"a": 1, "gone": 1})),
            &custom(json!({"a": 1})),
            &custom(json!({"a": 2})),
        )
        .expect("patch");
        assert_eq!(
            (verb, patch),
            (Verb::MergePatch, json!({"spec": {"gone": null}}))
        );
    }
}
