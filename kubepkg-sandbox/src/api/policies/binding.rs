//! What a policy and its bindings are about, and what they are given to look at.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::encode;
use super::super::kind::Kind;
use super::super::object::{self, text};
use super::super::selector::Labels;
use super::super::world::World;
use super::Request;
use super::matching::Matched;
use crate::crd::cel::{Held, as_cel};

/// What a policy is about.
pub(super) struct About {
    /// The kind of the object, in the version that the policy names.
    pub(super) kind: Arc<Kind>,
    /// The kind of the parameters.
    pub(super) params: Option<Arc<Kind>>,
}

impl World {
    /// The kinds that matter for a request; none where the policy is about something else.
    pub(super) fn is_about(
        &self,
        spec: &Value,
        request: &Request<'_>,
    ) -> Result<Option<About>, String> {
        let Matched::Yes(kind) = self.matches(request, &spec["matchConstraints"])? else {
            return Ok(None);
        };
        let params = self.kind_of_params(&spec["paramKind"])?;
        Ok(Some(About { kind, params }))
    }

    /// The parameters that a binding gives, one evaluation for each; none where it is not about the request.
    pub(super) fn params_of(
        &self,
        request: &Request<'_>,
        binding: &Value,
        kind: Option<&Arc<Kind>>,
    ) -> Result<Vec<Held>, String> {
        let resources = &binding["matchResources"];
        if !resources.is_null() && matches!(self.matches(request, resources)?, Matched::No) {
            return Ok(Vec::new());
        }
        let chosen = &binding["paramRef"];
        let (Some(kind), false) = (kind, chosen.is_null()) else {
            return Ok(vec![Held::Null]);
        };
        let given = text(chosen, "namespace");
        let namespace = match (kind.namespaced, given) {
            (false, "") => "",
            (false, _) => {
                return Err(
                    "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
                        .to_owned(),
                );
            }
            (true, "") if request.namespace().is_empty() => {
                return Err(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                        .to_owned(),
                );
            }
            (true, "") => request.namespace(),
            (true, given) => given,
        };
        let found: Vec<&Arc<Value>> = match text(chosen, "name") {
            "" => {
                let labels = Labels::of(&chosen["selector"]).unwrap_or_default();
                let all = self.store.list(&kind.stored_in, namespace, None);
                all.map(|(_, object)| object)
                    .filter(|object| labels.matches(object))
                    .collect()
            }
            name => self
                .store
                .get(&kind.stored_in, namespace, name)
                .into_iter()
                .collect(),
        };
        if found.is_empty() && text(chosen, "parameterNotFoundAction") == "Deny" {
            return Err(
                "no params found for policy binding with `Deny` parameterNotFoundAction".to_owned(),
            );
        }
        let shown = found
            .into_iter()
            .map(|object| as_cel(&encode::with_type(kind, object), None));
        Ok(shown.collect())
    }

    /// The kind of a policy's parameters, where it has any.
    fn kind_of_params(&self, named: &Value) -> Result<Option<Arc<Kind>>, String> {
        if named.is_null() {
            return Ok(None);
        }
        let (version, kind) = (text(named, "apiVersion"), text(named, "kind"));
        let found = self.registry.of_kind(version, kind).map(Arc::clone);
        found.map(Some).ok_or_else(|| {
            let version = if version.contains('/') {
                version.to_owned()
            } else {
                format!("/{version}")
            };
            format!("failed to find resource referenced by paramKind: '{version}, Kind={kind}'")
        })
    }

    /// The variable `namespaceObject`: the namespace without what no expression may see of it.
    pub(super) fn namespace_of(&self, request: &Request<'_>) -> Held {
        let name = request.namespace();
        if name.is_empty() || request.kind.is("", "namespaces") {
            return Held::Null;
        }
        let Some(found) = self.store.get("namespaces", "", name) else {
            return Held::Null;
        };
        let mut shown = json!({"metadata": found["metadata"], "spec": found["spec"], "status": found["status"]});
        for field in ["managedFields", "ownerReferences", "selfLink"] {
            object::unset(&mut shown, field);
        }
        as_cel(&shown, None)
    }
}
