//! Whether the rules of a schema compile: `x-kubernetes-validations`.

use serde_json::Value;

use super::super::cel::{self, Type};
use super::super::path::FieldError;
use super::{flag, list, print, some, text};

/// Checks the rules at one place of a schema. In `uncorrelated` old values can't be told to belong to new ones.
pub(super) fn check(
    schema: &Value,
    resource: bool,
    at: &str,
    uncorrelated: Option<&str>,
    errors: &mut Vec<FieldError>,
) {
    let Some(this) = cel::of_schema(schema, resource) else {
        let why = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to \
            convert structural schema to CEL declarations";
        errors.push(FieldError::internal(at, why));
        return;
    };
    for (index, rule) in list(&schema["x-kubernetes-validations"]).iter().enumerate() {
        let at = format!("{at}[{index}]");
        let before = if flag(rule, "optionalOldSelf") {
            Type::optional(this.clone())
        } else {
            this.clone()
        };
        let variables = [("self", this.clone()), ("oldSelf", before)];
        let uses_old = of_rule(rule, &variables, &at, errors);
        if let (true, Some(outer)) = (uses_old, uncorrelated) {
            let why = format!(
                "oldSelf cannot be used on the uncorrelatable portion of the schema within {outer}"
            );
            let source = Value::from(text(rule, "rule"));
            errors.push(FieldError::invalid(&format!("{at}.rule"), &source, &why));
        }
        if let (false, Some(optional)) = (uses_old, some(rule, "optionalOldSelf")) {
            let why = "may not be set if oldSelf is not used in rule";
            let at = format!("{at}.optionalOldSelf");
            errors.push(FieldError::invalid(&at, optional, why));
        }
    }
}

/// Compiles a rule and its message; says whether the rule speaks of what was before.
fn of_rule(
    rule: &Value,
    variables: &[(&str, Type)],
    at: &str,
    errors: &mut Vec<FieldError>,
) -> bool {
    let mut refused = |field: &str, why: &str| {
        let at = format!("{at}.{field}");
        errors.push(FieldError::invalid_shown(&at, &print::rule(rule), why));
    };
    let checked = match cel::check(text(rule, "rule"), variables) {
        Ok(checked) => checked,
        Err(why) => {
            refused("rule", &format!("compilation failed: {why}"));
            return false;
        }
    };
    if checked.of != Type::Plain("bool") {
        refused("rule", "cel expression must evaluate to a bool");
        return false;
    }
    let message = text(rule, "messageExpression");
    if !message.is_empty() {
        match cel::check(message, variables) {
            Err(why) => {
                let why = format!("messageExpression compilation failed: {why}");
                refused("messageExpression", &why);
            }
            Ok(checked) if checked.of != Type::Plain("string") => {
                refused(
                    "messageExpression",
                    "messageExpression must evaluate to a string",
                );
            }
            Ok(_) => {}
        }
    }
    checked.variables.iter().any(|name| name == "oldSelf")
}
