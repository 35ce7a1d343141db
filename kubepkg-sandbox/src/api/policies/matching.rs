//! Whether a policy or a binding is about a request: `MatchResources`.

use std::sync::Arc;

use serde_json::Value;

use super::super::kind::Kind;
use super::super::object::{list, text};
use super::super::selector::Labels;
use super::super::world::World;
use super::{Change, Request};

/// Whether a request is meant, and in which version.
pub(super) enum Matched {
    Yes(Arc<Kind>),
    No,
}

impl World {
    /// # Errors
    /// Why that can't be said.
    pub(super) fn matches(
        &self,
        request: &Request<'_>,
        resources: &Value,
    ) -> Result<Matched, String> {
        let labels = |field: &str| Labels::of(&resources[field]).unwrap_or_default();
        let by_namespace = self.in_namespace(request, &labels("namespaceSelector"));
        if by_namespace == Ok(false) {
            return Ok(Matched::No);
        }
        let wanted = labels("objectSelector");
        let change = request.change;
        let mut both = change.object().into_iter().chain(change.old());
        if !wanted.is_empty() && !both.any(|object| wanted.matches(object)) {
            return Ok(Matched::No);
        }
        let fuzzy = text(resources, "matchPolicy") != "Exact";
        let kinds = || {
            let others = self.registry.versions_of(&request.kind.stored_in);
            let others =
                others.filter(|other| other.api_version() != request.kind.api_version() && fuzzy);
            std::iter::once(request.kind).chain(others)
        };
        let meant = |field: &str| {
            kinds().find(|kind| list(&resources[field]).any(|rule| names(rule, request, kind)))
        };
        if meant("excludeResourceRules").is_some() {
            return Ok(Matched::No);
        }
        let rules = list(&resources["resourceRules"]).next().is_some();
        let kind = match meant("resourceRules") {
            Some(kind) => kind,
            None if !rules => request.kind,
            None => return Ok(Matched::No),
        };
        by_namespace.map(|_| Matched::Yes(Arc::clone(kind)))
    }

    /// Whether the request is about a namespace with such labels, or about none.
    fn in_namespace(&self, request: &Request<'_>, wanted: &Labels) -> Result<bool, String> {
        let name = request.namespace();
        if name.is_empty() || wanted.is_empty() {
            return Ok(true);
        }
        let own = request.kind.is("", "namespaces") && request.subresource.is_empty();
        if let (true, Change::Create(new) | Change::Update(_, new)) = (own, request.change) {
            return Ok(wanted.matches(new));
        }
        let found = self.store.get("namespaces", "", name);
        let found = found.ok_or_else(|| format!("namespaces \"{name}\" not found"))?;
        Ok(wanted.matches(found))
    }
}

/// Whether a rule names the request, taken as one for this version of its resource.
fn names(rule: &Value, request: &Request<'_>, kind: &Kind) -> bool {
    let has = |field: &str, wanted: &str| list(&rule[field]).any(|one| one == "*" || one == wanted);
    let resource = |named: &Value| {
        let named = named.as_str().unwrap_or_default();
        let (main, sub) = named.split_once('/').unwrap_or((named, ""));
        (main == "*" || main == kind.plural) && (sub == "*" || sub == request.subresource)
    };
    let cluster = !kind.namespaced;
    let in_scope = match text(rule, "scope") {
        "Cluster" => cluster,
        "Namespaced" => !cluster,
        _ => true,
    };
    let mut names = list(&rule["resourceNames"]).peekable();
    in_scope
        && has("operations", request.change.operation())
        && has("apiGroups", &kind.group)
        && has("apiVersions", &kind.version)
        && list(&rule["resources"]).any(resource)
        && (names.peek().is_none() || names.any(|name| name == request.name))
}
