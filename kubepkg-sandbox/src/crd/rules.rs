//! Rules in CEL: `x-kubernetes-validations`.
//!
//! What can't be compiled is passed over: definitions with such rules are refused, and a test server that refuses good
//! objects is worse than one that accepts bad ones. There is no budget for the time that a rule takes.

use std::sync::Arc;

use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::{self, Context};
use serde_json::Value;

use super::MAX_DEPTH;
use super::cel::{Program, as_cel, context, program};
use super::path::FieldError;
use super::prune::is_true;

/// Runs the rules of a schema on an object, and on what it replaces.
pub(super) fn check(object: &Value, old: Option<&Value>, schema: &Value) -> Vec<FieldError> {
    let mut walk = Walk {
        context: context(),
        errors: Vec::new(),
    };
    walk.value("", object, old, schema, 0);
    walk.errors
}

struct Walk {
    context: Context<'static>,
    errors: Vec<FieldError>,
}

impl Walk {
    fn value(
        &mut self,
        path: &str,
        value: &Value,
        old: Option<&Value>,
        schema: &Value,
        depth: usize,
    ) {
        if depth > MAX_DEPTH || value.is_null() {
            return;
        }
        let rules = schema.get("x-kubernetes-validations");
        if let Some(rules) = rules.and_then(Value::as_array).filter(|it| !it.is_empty()) {
            self.rules(path, value, old, schema, rules);
        }
        match value {
            Value::Object(fields) => {
                let properties = schema.get("properties").and_then(Value::as_object);
                for (key, schema) in properties.into_iter().flatten() {
                    if let Some(value) = fields.get(key) {
                        let old = old.and_then(|old| old.get(key));
                        self.value(&format!("{path}.{key}"), value, old, schema, depth + 1);
                    }
                }
                let additional = schema.get("additionalProperties");
                if let Some(schema) = additional.filter(|it| it.is_object()) {
                    let others = fields
                        .iter()
                        .filter(|(key, _)| properties.is_none_or(|it| !it.contains_key(*key)));
                    for (key, value) in others {
                        let old = old.and_then(|old| old.get(key));
                        self.value(&format!("{path}[{key}]"), value, old, schema, depth + 1);
                    }
                }
            }
            Value::Array(items) => {
                let Some(inner) = schema.get("items") else {
                    return;
                };
                for (index, item) in items.iter().enumerate() {
                    let old = old.and_then(|old| super::schema::before(old, item, schema));
                    self.value(&format!("{path}[{index}]"), item, old, inner, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn rules(
        &mut self,
        path: &str,
        value: &Value,
        old: Option<&Value>,
        schema: &Value,
        rules: &[Value],
    ) {
        let mut scope = self.context.new_inner_scope();
        scope.add_variable_from_value("self", as_cel(value, Some(schema)));
        let before = old.map(|old| as_cel(old, Some(schema)));
        if let Some(before) = before.clone() {
            scope.add_variable_from_value("oldSelf", before);
        }
        let mut perhaps = scope.new_inner_scope();
        let before = before.map_or_else(OptionalValue::none, OptionalValue::of);
        perhaps.add_variable_from_value("oldSelf", cel::Value::Opaque(Arc::new(before)));
        let mut found = Vec::new();
        for rule in rules {
            let optional = is_true(rule, "optionalOldSelf");
            let scope = if optional { &perhaps } else { &scope };
            found.extend(outcome(path, value, old, rule, scope));
        }
        self.errors.extend(found);
    }
}

/// What a rule says of a value.
fn outcome(
    path: &str,
    value: &Value,
    old: Option<&Value>,
    rule: &Value,
    scope: &Context<'_>,
) -> Option<FieldError> {
    let text = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default();
    let source = text("rule").trim();
    let program: Arc<Program> = program(source).ok()?;
    let is_transition = program.uses("oldSelf");
    let optional = is_true(rule, "optionalOldSelf");
    // A rule about the change has nothing to say without one; what was so before may stay so.
    if (is_transition && !optional && old.is_none()) || (!is_transition && old == Some(value)) {
        return None;
    }
    match program.run(scope) {
        Ok(cel::Value::Bool(true)) => None,
        Ok(_) => {
            let detail = message(rule, scope).unwrap_or_else(|| format!("failed rule: {source}"));
            let at = format!("{path}{}", text("fieldPath"));
            Some(FieldError::rule(&at, value, text("reason"), &detail))
        }
        Err(fault) if fault.is_gap => None,
        Err(fault) => {
            let detail = format!("{} evaluating rule: {source}", fault.words);
            let kind = Value::from(type_of(value));
            Some(FieldError::invalid(path, &kind, &detail))
        }
    }
}

/// The message of a rule: made by an expression, or written down.
fn message(rule: &Value, scope: &Context<'_>) -> Option<String> {
    let text = |key: &str| {
        let text = rule.get(key).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty())
    };
    let made = text("messageExpression").and_then(|source| {
        let made = program(source).ok()?.run(scope).ok()?;
        match made {
            cel::Value::String(made) => Some(made.as_str().to_owned()),
            _ => None,
        }
    });
    let made = made.filter(|made| !made.trim().is_empty() && !made.contains('\n'));
    made.or_else(|| text("message").map(str::to_owned))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
