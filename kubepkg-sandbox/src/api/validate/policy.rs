//! ValidatingAdmissionPolicies and their bindings: `pkg/apis/admissionregistration/validation`.

use serde_json::{Value, json};

use super::parts::{name, one_of, one_of_if_given, selector};
use super::webhook;
use crate::api::failure::Cause;
use crate::api::names;
use crate::api::object::{self, list, text};
use crate::api::policies::{Environment, Wanted};
use crate::crd::cel::{RESERVED, Type};

const EMPTY: &str = "must be non-empty if specified";
const UNNAMED: &str = "requires metadata.name be non-empty";
const NONE: &str = "validations or auditAnnotations must contain at least one item";
const MAX_ANNOTATIONS: usize = 20;
const MAX_ANNOTATION: usize = 5 * 1024;

/// A policy.
pub(super) fn policy(causes: &mut Vec<Cause>, policy: &Value) {
    let spec = &policy["spec"];
    one_of(
        causes,
        "spec.failurePolicy",
        text(spec, "failurePolicy"),
        &["Fail", "Ignore"],
    );
    let params = !spec["paramKind"].is_null();
    if params {
        param_kind(causes, &spec["paramKind"]);
    }
    let constraints = &spec["matchConstraints"];
    if constraints.is_null() {
        causes.push(Cause::required("spec.matchConstraints", ""));
    } else {
        resources(causes, "spec.matchConstraints", constraints);
        if list(&constraints["resourceRules"]).next().is_none() {
            causes.push(Cause::required("spec.matchConstraints.resourceRules", ""));
        }
    }
    let plain = Environment {
        params,
        authorizer: true,
        composed: None,
    };
    conditions(
        causes,
        "spec.matchConditions",
        &spec["matchConditions"],
        &plain,
    );
    let mut environment = plain;
    for (index, one) in list(&spec["variables"]).enumerate() {
        variable(
            causes,
            &format!("spec.variables[{index}]"),
            one,
            &mut environment,
        );
    }
    let some = |field: &str| list(&spec[field]).next().is_some();
    if !some("validations") && !some("auditAnnotations") {
        causes.push(Cause::required("spec.validations", NONE));
        causes.push(Cause::required("spec.auditAnnotations", NONE));
        return;
    }
    for (index, one) in list(&spec["validations"]).enumerate() {
        validation(
            causes,
            &format!("spec.validations[{index}]"),
            one,
            &environment,
        );
    }
    let annotations = &spec["auditAnnotations"];
    if list(annotations).count() > MAX_ANNOTATIONS {
        let why = format!("must not have more than {MAX_ANNOTATIONS} auditAnnotations");
        // The server shows these by their names in Go.
        let shown: Vec<Value> = list(annotations)
            .map(|one| json!({"Key": text(one, "key"), "ValueExpression": text(one, "valueExpression")}))
            .collect();
        causes.push(Cause::invalid("spec.auditAnnotations", &json!(shown), &why));
    }
    let mut seen = Vec::new();
    for (index, one) in list(annotations).enumerate() {
        let at = format!("spec.auditAnnotations[{index}]");
        annotation(causes, &at, (object::name(policy), one), &environment);
        let key = text(one, "key");
        if seen.contains(&key) {
            causes.push(Cause::duplicate(format!("{at}.key"), key));
        }
        seen.push(key);
    }
}

/// A binding.
pub(super) fn binding(causes: &mut Vec<Cause>, spec: &Value) {
    match text(spec, "policyName") {
        "" => causes.push(Cause::required("spec.policyName", "")),
        own => name(causes, "spec.policyName", own, names::subdomain),
    }
    if !spec["paramRef"].is_null() {
        param_ref(causes, &spec["paramRef"]);
    }
    if !spec["matchResources"].is_null() {
        resources(causes, "spec.matchResources", &spec["matchResources"]);
    }
    let at = "spec.validationActions";
    let actions = &spec["validationActions"];
    let mut seen: Vec<&str> = Vec::new();
    for (index, action) in list(actions).filter_map(Value::as_str).enumerate() {
        let at = format!("{at}[{index}]");
        one_of(causes, &at, action, &["Audit", "Deny", "Warn"]);
        if seen.contains(&action) {
            causes.push(Cause::duplicate(at, action));
        }
        seen.push(action);
    }
    if seen.contains(&"Deny") && seen.contains(&"Warn") {
        let why = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
            response and headers serves no purpose)";
        causes.push(Cause::invalid(at, actions, why));
    }
    if seen.is_empty() {
        let why = "at least one validation action is required";
        causes.push(Cause::required(at, why));
    }
}

/// Conditions under which a policy or a webhook is asked.
pub(super) fn conditions(
    causes: &mut Vec<Cause>,
    at: &str,
    conditions: &Value,
    environment: &Environment,
) {
    let count = list(conditions).count();
    if count > 64 {
        causes.push(Cause::too_many(at, count, 64));
    }
    let mut seen = Vec::new();
    for (index, condition) in list(conditions).enumerate() {
        let at = format!("{at}[{index}]");
        match text(condition, "expression").trim() {
            "" => causes.push(Cause::required(format!("{at}.expression"), "")),
            source => compiled(
                causes,
                &format!("{at}.expression"),
                source,
                Wanted::Bool,
                environment,
            ),
        }
        match text(condition, "name") {
            "" => causes.push(Cause::required(format!("{at}.name"), "")),
            own => {
                name(causes, &format!("{at}.name"), own, names::qualified_name);
                if seen.contains(&own) {
                    causes.push(Cause::duplicate(format!("{at}.name"), own));
                }
                seen.push(own);
            }
        }
    }
}

/// An expression must compile.
fn compiled(
    causes: &mut Vec<Cause>,
    at: &str,
    source: &str,
    wanted: Wanted,
    environment: &Environment,
) {
    if let Err(why) = environment.compile(source, wanted) {
        causes.push(Cause::invalid(at, &json!(source), &why));
    }
}

fn param_kind(causes: &mut Vec<Cause>, kind: &Value) {
    let at = "spec.paramKind.apiVersion";
    let given = text(kind, "apiVersion");
    let parts: Vec<&str> = given.split('/').collect();
    let named = match (given, parts.as_slice()) {
        ("", _) => {
            causes.push(Cause::required(at, ""));
            None
        }
        ("/", _) => Some(("", "")),
        (_, [version]) => Some(("", *version)),
        (_, [group, version]) => Some((*group, *version)),
        _ => {
            let why = format!("unexpected GroupVersion string: {given}");
            causes.push(Cause::invalid(at, &json!(given), &why));
            None
        }
    };
    if let Some((group, version)) = named {
        let mut all = |value: &str, wrong: Vec<String>| {
            if !wrong.is_empty() {
                causes.push(Cause::invalid(at, &json!(value), &wrong.join(",")));
            }
        };
        if !group.is_empty() {
            all(group, names::subdomain(group));
        }
        if version.is_empty() {
            all(given, vec!["version must be specified".to_owned()]);
        } else {
            all(version, names::old_label(version));
        }
    }
    let own = text(kind, "kind");
    let wrong = names::old_label(&own.to_lowercase());
    if own.is_empty() {
        causes.push(Cause::required("spec.paramKind.kind", ""));
    } else if !wrong.is_empty() {
        let why = format!(
            "may have mixed case, but should otherwise match: {}",
            wrong.join(",")
        );
        causes.push(Cause::invalid("spec.paramKind.kind", &json!(own), &why));
    }
}

fn param_ref(causes: &mut Vec<Cause>, params: &Value) {
    const EITHER: &str = "name and selector are mutually exclusive";
    let at = "spec.paramRef";
    let own = text(params, "name");
    let chosen = &params["selector"];
    if !own.is_empty() {
        name(causes, &format!("{at}.name"), own, names::path_segment);
        if !chosen.is_null() {
            causes.push(Cause::forbidden(format!("{at}.name"), EITHER));
        }
    }
    if !chosen.is_null() {
        selector(causes, &format!("{at}.selector"), chosen);
        if !own.is_empty() {
            causes.push(Cause::forbidden(format!("{at}.selector"), EITHER));
        }
    }
    if own.is_empty() && chosen.is_null() {
        let why = "one of name or selector must be specified";
        causes.push(Cause::required(at, why));
    }
    let action = text(params, "parameterNotFoundAction");
    let at = format!("{at}.parameterNotFoundAction");
    if action.is_empty() {
        causes.push(Cause::required(at, ""));
    } else {
        one_of(causes, &at, action, &["Deny", "Allow"]);
    }
}

/// `MatchResources`.
fn resources(causes: &mut Vec<Cause>, at: &str, resources: &Value) {
    one_of_if_given(
        causes,
        at,
        resources,
        "matchPolicy",
        &["Equivalent", "Exact"],
    );
    for field in ["namespaceSelector", "objectSelector"] {
        selector(causes, &format!("{at}.{field}"), &resources[field]);
    }
    for field in ["resourceRules", "excludeResourceRules"] {
        for (index, rule) in list(&resources[field]).enumerate() {
            let at = format!("{at}.{field}[{index}]");
            let mut seen = Vec::new();
            let named = list(&rule["resourceNames"]).filter_map(Value::as_str);
            for (index, own) in named.enumerate() {
                let at = format!("{at}.resourceNames[{index}]");
                name(causes, &at, own, names::path_segment);
                if seen.contains(&own) {
                    causes.push(Cause::duplicate(at, own));
                } else {
                    seen.push(own);
                }
            }
            webhook::rule(causes, &at, rule);
        }
    }
}

fn variable(causes: &mut Vec<Cause>, at: &str, variable: &Value, environment: &mut Environment) {
    let own = text(variable, "name");
    let plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    let identifier = !own.starts_with(|sign: char| sign.is_ascii_digit())
        && own.chars().all(plain)
        && !RESERVED.contains(&own);
    if own.trim().is_empty() {
        let why = "name is not specified";
        causes.push(Cause::required(format!("{at}.name"), why));
    } else if !identifier {
        let why = "must be a valid CEL identifier";
        causes.push(Cause::invalid(format!("{at}.name"), &json!(own), why));
    }
    let source = text(variable, "expression");
    let at = format!("{at}.expression");
    if source.trim().is_empty() {
        let why = "expression is not specified";
        causes.push(Cause::required(at, why));
        return;
    }
    environment.composed.get_or_insert_default();
    match environment.compile(source, Wanted::Anything) {
        Ok((_, of)) => environment.add(own, &of),
        Err(why) => {
            causes.push(Cause::invalid(at, &json!(source), &why));
            environment.add(own, &Type::Dyn);
        }
    }
}

fn validation(causes: &mut Vec<Cause>, at: &str, validation: &Value, environment: &Environment) {
    let source = text(validation, "expression");
    let field = |name: &str| format!("{at}.{name}");
    if source.trim().is_empty() {
        let why = "expression is not specified";
        causes.push(Cause::required(field("expression"), why));
    } else {
        compiled(
            causes,
            &field("expression"),
            source,
            Wanted::Bool,
            environment,
        );
    }
    let made = text(validation, "messageExpression");
    if !made.is_empty() && made.trim().is_empty() {
        causes.push(Cause::invalid(
            field("messageExpression"),
            &json!(made),
            EMPTY,
        ));
    } else if !made.is_empty() {
        let environment = Environment {
            authorizer: false,
            ..environment.clone()
        };
        compiled(
            causes,
            &field("messageExpression"),
            made,
            Wanted::String,
            &environment,
        );
    }
    let message = text(validation, "message");
    if !message.is_empty() && message.trim().is_empty() {
        causes.push(Cause::invalid(field("message"), &json!(message), EMPTY));
    } else if message.trim().contains(['\n', '\r']) {
        let why = "must not contain line breaks";
        causes.push(Cause::invalid(field("message"), &json!(message), why));
    }
    let known = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
    one_of_if_given(causes, at, validation, "reason", &known);
}

fn annotation(
    causes: &mut Vec<Cause>,
    at: &str,
    (policy, annotation): (&str, &Value),
    environment: &Environment,
) {
    let key = text(annotation, "key");
    if policy.is_empty() {
        causes.push(Cause::invalid(format!("{at}.key"), &json!(key), UNNAMED));
    } else {
        let whole = format!("{policy}/{key}");
        name(causes, &format!("{at}.key"), &whole, names::qualified_name);
    }
    let given = text(annotation, "valueExpression");
    let source = given.trim();
    let at = format!("{at}.valueExpression");
    if source.is_empty() {
        let why = "valueExpression is not specified";
        causes.push(Cause::required(at, why));
    } else if source.len() > MAX_ANNOTATION {
        let why = format!("must not exceed {MAX_ANNOTATION} bytes in length");
        causes.push(Cause::required(at, &why));
    } else if let Err(why) = environment.compile(source, Wanted::StringOrNull) {
        causes.push(Cause::invalid(at, &json!(given), &why));
    }
}
