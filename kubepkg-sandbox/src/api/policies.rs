//! ValidatingAdmissionPolicies: what administrators let nobody write, in CEL.
//!
//! A policy is asked where a binding binds it to a request: by rules, by labels of the namespace and of the object, and
//! by its own conditions. It may look at parameters, which are objects of a kind that it names. This follows
//! `apiserver/pkg/admission/plugin/policy` of Kubernetes 1.36. Policies hold from the moment that they are written;
//! the real server takes up to some seconds. Nobody is authorized here, so an expression that asks the authorizer lets
//! pass; annotations for the audit log are worked out, since they can fail, and not kept.

mod binding;
mod environment;
mod matching;
mod program;

use std::cell::LazyCell;
use std::sync::Arc;

use serde_json::{Value, json};

pub(crate) use environment::{Environment, Wanted};

use super::encode;
use super::failure::Failure;
use super::kind::Kind;
use super::object::{self, text};
use super::request::Call;
use super::world::World;
use crate::crd::cel::{Held, as_cel};
use program::{Finding, Input, Policy};

const GROUP: &str = "admissionregistration.k8s.io";
const POLICIES: &str = "validatingadmissionpolicies.admissionregistration.k8s.io";
const BINDINGS: &str = "validatingadmissionpolicybindings.admissionregistration.k8s.io";

/// What is about to happen to an object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'c> {
    Create(&'c Value),
    Update(&'c Value, &'c Value),
    Delete(&'c Value),
}

impl<'c> Change<'c> {
    /// The word of the API.
    fn operation(self) -> &'static str {
        match self {
            Self::Create(_) => "CREATE",
            Self::Update(..) => "UPDATE",
            Self::Delete(_) => "DELETE",
        }
    }

    fn object(self) -> Option<&'c Value> {
        match self {
            Self::Create(new) | Self::Update(_, new) => Some(new),
            Self::Delete(_) => None,
        }
    }

    fn old(self) -> Option<&'c Value> {
        match self {
            Self::Create(_) => None,
            Self::Update(old, _) | Self::Delete(old) => Some(old),
        }
    }

    /// The object, or the one that is about to go.
    fn either(self) -> &'c Value {
        match self {
            Self::Create(object) | Self::Update(_, object) | Self::Delete(object) => object,
        }
    }
}

/// Who asks for a change, and how.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asker {
    /// The name of the user.
    pub(crate) user: String,
    /// `CreateOptions` and their like, as far as the request has them.
    pub(crate) options: Value,
    pub(crate) dry_run: bool,
}

impl Asker {
    /// Who sends a request to write.
    pub(crate) fn of(call: &Call) -> Self {
        let given = ["fieldManager", "fieldValidation"].map(|name| (name, call.query.get(name)));
        let given = given.into_iter().filter(|(_, value)| !value.is_empty());
        let options = given.map(|(name, value)| (name.to_owned(), value.into()));
        Self {
            user: call.user.0.clone(),
            options: Value::Object(options.collect()),
            dry_run: call.is_dry_run(),
        }
    }

    /// A part of the control plane.
    pub(crate) fn internal(name: &str) -> Self {
        Self {
            user: format!("system:{name}"),
            ..Self::default()
        }
    }

    /// A user as the API tells of one. Whoever is no service account is an administrator, with an identifier that is
    /// the name.
    pub(crate) fn user_info(user: &str) -> Value {
        let account = user.strip_prefix("system:serviceaccount:");
        match account.and_then(|account| account.split_once(':')) {
            Some((namespace, _)) => json!({
                "username": user,
                "groups": [
                    "system:serviceaccounts",
                    format!("system:serviceaccounts:{namespace}"),
                    "system:authenticated",
                ],
            }),
            None => json!({
                "username": user, "uid": user, "groups": ["system:masters", "system:authenticated"],
            }),
        }
    }
}

/// A change that is to be admitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'r> {
    /// The resource, in the version of the request.
    pub(crate) kind: &'r Arc<Kind>,
    pub(crate) subresource: &'r str,
    /// The kind of the object where it is not the resource's own, with its group and version.
    pub(crate) shape: Option<(&'r str, &'r str, &'r str)>,
    /// As the request knows it: empty when the server makes the name, and when many are deleted at once.
    pub(crate) name: &'r str,
    pub(crate) change: Change<'r>,
    pub(crate) asker: &'r Asker,
}

impl<'r> Request<'r> {
    /// The namespace; that of a Namespace is itself.
    fn namespace(&self) -> &'r str {
        if self.kind.is("", "namespaces") {
            return object::name(self.change.either());
        }
        object::namespace(self.change.either())
    }

    /// An object as expressions see it, in the version that a policy is about.
    fn seen(&self, of: &Kind, object: Option<&Value>) -> Held {
        let typed = object.map(|object| match self.shape {
            None => encode::with_type(of, object),
            Some(_) => object.clone(),
        });
        typed.map_or(Held::Null, |typed| as_cel(&typed, None))
    }

    /// The variable `request`.
    fn as_variable(&self, of: &Kind) -> Held {
        let kind_of = |kind: &Kind| match self.shape {
            None => json!({"group": kind.group, "version": kind.version, "kind": kind.kind}),
            Some((group, version, kind)) => {
                json!({"group": group, "version": version, "kind": kind})
            }
        };
        let resource_of = |kind: &Kind| json!({"group": kind.group, "version": kind.version, "resource": kind.plural});
        let mut all = json!({
            "uid": "", "kind": kind_of(of), "resource": resource_of(of),
            "requestKind": kind_of(self.kind), "requestResource": resource_of(self.kind),
            "operation": self.change.operation(),
            "userInfo": Asker::user_info(&self.asker.user),
            "dryRun": self.asker.dry_run, "options": self.options(),
        });
        let texts = [
            ("subResource", self.subresource),
            ("requestSubResource", self.subresource),
            ("name", self.name),
            ("namespace", self.namespace()),
        ];
        for (field, value) in texts.into_iter().filter(|(_, value)| !value.is_empty()) {
            all[field] = value.into();
        }
        as_cel(&all, None)
    }

    fn options(&self) -> Value {
        let mut options = self.asker.options.clone();
        options["kind"] = match self.change {
            Change::Create(_) => "CreateOptions",
            Change::Update(..) => "UpdateOptions",
            Change::Delete(_) => "DeleteOptions",
        }
        .into();
        options["apiVersion"] = "meta.k8s.io/v1".into();
        if self.asker.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        options
    }
}

/// Why a request is refused.
struct Denial {
    policy: String,
    binding: Option<String>,
    message: String,
    reason: &'static str,
}

impl Denial {
    fn into_failure(self, request: &Request<'_>) -> Failure {
        let policy = &self.policy;
        let binding = self
            .binding
            .map(|binding| format!(" with binding '{binding}'"));
        let why = format!(
            "ValidatingAdmissionPolicy '{policy}'{} denied request: {}",
            binding.unwrap_or_default(),
            self.message
        );
        let name = match (request.name, request.change.object()) {
            ("", Some(made)) => object::name(made),
            ("", None) => "Unknown",
            (name, _) => name,
        };
        let mut failure = Failure::forbidden(request.kind, name, &why);
        failure.reason = Some(self.reason);
        failure.code = match self.reason {
            "Forbidden" => 403,
            "RequestEntityTooLarge" => 413,
            _ => 422,
        };
        if let Some(details) = &mut failure.details {
            details["causes"] = json!([{"message": why}]);
        }
        failure
    }
}

impl World {
    /// Asks the policies; `warnings` gets what those say that only warn.
    ///
    /// # Errors
    /// The refusal of the first that denies.
    pub(crate) fn admit(
        &self,
        request: &Request<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Failure> {
        // Otherwise a policy could keep itself from being mended.
        if request.kind.custom.is_none() && request.kind.group == GROUP {
            return Ok(());
        }
        let mut denied = None;
        for (_, policy) in self.store.list(POLICIES, "", None) {
            let denials = self.ask(policy, request, warnings);
            denied = denied.or(denials.into_iter().next());
        }
        match denied {
            None => Ok(()),
            Some(denial) => Err(denial.into_failure(request)),
        }
    }

    /// What one policy says, by all its bindings.
    fn ask(
        &self,
        policy: &Value,
        request: &Request<'_>,
        warnings: &mut Vec<String>,
    ) -> Vec<Denial> {
        let (name, spec) = (object::name(policy), &policy["spec"]);
        let bindings = self.store.list(BINDINGS, "", None);
        let mut bindings = bindings
            .map(|(_, binding)| binding)
            .filter(|binding| text(&binding["spec"], "policyName") == name)
            .peekable();
        if bindings.peek().is_none() {
            return Vec::new();
        }
        let fails = text(spec, "failurePolicy") != "Ignore";
        let misconfigured = |what: &str, why: &str, binding: Option<&str>| {
            let denial = fails.then(|| Denial {
                policy: name.to_owned(),
                binding: binding.map(str::to_owned),
                message: format!("failed to configure {what}: {why}"),
                reason: "Invalid",
            });
            denial.into_iter().collect()
        };
        let about = match self.is_about(spec, request) {
            Ok(Some(about)) => about,
            Ok(None) => return Vec::new(),
            Err(why) => return misconfigured("policy", &why, None),
        };
        let compiled = Policy::of(spec);
        // The same for all bindings, and not needed where none is about the request.
        let seen = LazyCell::new(|| Input {
            object: request.seen(&about.kind, request.change.object()),
            old: request.seen(&about.kind, request.change.old()),
            request: request.as_variable(&about.kind),
            namespace: self.namespace_of(request),
            params: Held::Null,
        });
        let mut denials = Vec::new();
        for binding in bindings {
            let bound = object::name(binding);
            let all = match self.params_of(request, &binding["spec"], about.params.as_ref()) {
                Ok(all) => all,
                Err(why) => {
                    denials.extend(misconfigured("binding", &why, Some(bound)));
                    continue;
                }
            };
            for params in all {
                let input = Input {
                    params,
                    ..seen.clone()
                };
                let findings = compiled.judge(&input, fails).into_iter();
                denials
                    .extend(findings.filter_map(|finding| finding.told(name, binding, warnings)));
            }
        }
        denials
    }
}

impl Finding {
    /// Warns where a binding wants that, and denies where it wants that.
    fn told(self, policy: &str, binding: &Value, warnings: &mut Vec<String>) -> Option<Denial> {
        let bound = object::name(binding);
        let wants = |action: &str| {
            object::list(&binding["spec"]["validationActions"]).any(|it| it == action)
        };
        if wants("Warn") && !self.stays {
            warnings.push(format!(
                "Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{bound}': {}",
                self.message
            ));
        }
        (self.stays || wants("Deny")).then(|| Denial {
            policy: policy.to_owned(),
            binding: Some(bound.to_owned()),
            message: self.message,
            reason: self.reason,
        })
    }
}
