//! Whether the rules of a schema compile, and what they may cost: `x-kubernetes-validations`.

use serde_json::Value;

use super::super::cel::{self, Declared, Type};
use super::super::path::FieldError;
use super::budget::{Budget, Count, Expression};
use super::{flag, list, print, some, text};

/// What is known of the place of rules.
pub(super) struct Place<'p> {
    /// Whether they are about a whole object.
    pub(super) resource: bool,
    /// Where old values can't be told to belong to new ones.
    pub(super) uncorrelated: Option<&'p str>,
    pub(super) count: Count,
}

/// Checks the rules at one place of a schema.
pub(super) fn check(
    schema: &Value,
    at: &str,
    place: &Place<'_>,
    budget: &mut Budget,
    errors: &mut Vec<FieldError>,
) {
    let types = cel::of_schema(schema, place.resource);
    let sizes = Declared::of_schema(schema, place.resource);
    let (Some(this), Some(declared)) = (types, sizes) else {
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
        let mut costs = Costs {
            declared: &declared,
            count: place.count,
            budget,
        };
        let uses_old = of_rule(rule, &variables, &at, &mut costs, errors);
        if let (true, Some(outer)) = (uses_old, place.uncorrelated) {
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

/// What the costs of expressions come from, and where they are counted.
struct Costs<'c> {
    declared: &'c Declared,
    count: Count,
    budget: &'c mut Budget,
}

/// Compiles a rule and its message; says whether the rule speaks of what was before.
fn of_rule(
    rule: &Value,
    variables: &[(&str, Type)],
    at: &str,
    costs: &mut Costs<'_>,
    errors: &mut Vec<FieldError>,
) -> bool {
    let (declared, count) = (costs.declared, costs.count);
    let mut add =
        |expression, checked: &cel::Checked, field: &str, errors: &mut Vec<FieldError>| {
            let at = format!("{at}.{field}");
            costs
                .budget
                .add(expression, checked, (declared, count), &at, errors);
        };
    let refused = |field: &str, why: &str, errors: &mut Vec<FieldError>| {
        let at = format!("{at}.{field}");
        errors.push(FieldError::invalid_shown(&at, &print::rule(rule), why));
    };
    let checked = match cel::check(text(rule, "rule"), variables) {
        Ok(checked) => checked,
        Err(why) => {
            refused("rule", &format!("compilation failed: {why}"), errors);
            return false;
        }
    };
    if checked.of != Type::Plain("bool") {
        refused("rule", "cel expression must evaluate to a bool", errors);
        return false;
    }
    add(Expression::Rule, &checked, "rule", errors);
    let (field, message) = ("messageExpression", text(rule, "messageExpression"));
    if !message.is_empty() {
        match cel::check(message, variables) {
            Err(why) => {
                let why = format!("messageExpression compilation failed: {why}");
                refused(field, &why, errors);
            }
            Ok(message) if message.of != Type::Plain("string") => {
                let why = "messageExpression must evaluate to a string";
                refused(field, why, errors);
            }
            Ok(message) => add(Expression::Message, &message, field, errors),
        }
    }
    checked.variables.iter().any(|name| name == "oldSelf")
}
