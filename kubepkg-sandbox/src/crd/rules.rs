//! Rules in CEL: `x-kubernetes-validations`, as `schema/cel/validation.go` of `apiextensions-apiserver` runs them.
//!
//! All rules of an object together may cost ten million units, each at most one million. What can't be compiled is
//! passed over: definitions with such rules are refused, and a test server that refuses good objects is worse than one
//! that accepts bad ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube_cel::cel;
use kube_cel::cel::objects::OptionalValue;
use serde_json::Value;

use super::MAX_DEPTH;
use super::cel::{Fault, Program, Type, as_cel, check as compile, of_schema};
use super::definition::shown_path;
use super::kept::Kept;
use super::path::FieldError;
use super::prune::is_true;

/// What the rules of an object may cost.
const MAX_COST: u64 = 10_000_000;
/// A message that is made may have as many bytes.
const MAX_MESSAGE: usize = 5 * 1024;
const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// Runs the rules of a schema on a value, and on what it replaces.
pub(super) fn check(
    value: &Value,
    old: Option<&Value>,
    schema: &Value,
    resource: bool,
) -> Vec<FieldError> {
    let mut walk = Walk {
        left: Some(MAX_COST),
        rules: BTreeMap::new(),
        errors: Vec::new(),
    };
    let at = Place {
        path: "",
        old,
        unchanged: false,
        resource,
    };
    walk.value(at, value, schema, 0);
    walk.errors
}

/// A rule that compiles.
struct Rule {
    /// As it is written.
    source: String,
    program: Program,
    /// Makes the message.
    made: Option<Program>,
    message: Option<String>,
    reason: String,
    field: String,
    /// Whether it is about what was before.
    uses_old: bool,
    takes_none: bool,
}

type Rules = Arc<Vec<Rule>>;

/// The rules of one place of a schema.
fn rules_of(schema: &Value, resource: bool) -> Rules {
    static COMPILED: Kept<Rules> = Kept::new();
    let source = format!("{resource} {schema}");
    COMPILED.or_compile(&source, |_| {
        let all = schema["x-kubernetes-validations"].as_array();
        let Some(this) = of_schema(schema, resource) else {
            return Rules::default();
        };
        let all = all.into_iter().flatten();
        Arc::new(
            all.filter_map(|rule| compiled(rule, &this, schema))
                .collect(),
        )
    })
}

fn compiled(rule: &Value, this: &Type, schema: &Value) -> Option<Rule> {
    let text = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default();
    let takes_none = is_true(rule, "optionalOldSelf");
    let before = if takes_none {
        Type::optional(this.clone())
    } else {
        this.clone()
    };
    let variables = [("self", this.clone()), ("oldSelf", before)];
    let program = |source: &str| {
        let checked = compile(source, &variables).ok()?;
        Some((Program::new(&checked).ok()?, checked.variables))
    };
    let (main, used) = program(text("rule"))?;
    let made = Some(text("messageExpression")).filter(|source| !source.is_empty());
    let message = Some(text("message")).filter(|message| !message.is_empty());
    Some(Rule {
        source: text("rule").trim().to_owned(),
        program: main,
        made: made.and_then(program).map(|(program, _)| program),
        message: message.map(|message| message.trim().to_owned()),
        reason: text("reason").to_owned(),
        field: shown_path(text("fieldPath"), schema)
            .map_or_else(String::new, |field| format!(".{field}")),
        uses_old: used.iter().any(|name| name == "oldSelf"),
        takes_none,
    })
}

impl Rule {
    /// What errors call the rule.
    fn name(&self) -> &str {
        self.message.as_deref().unwrap_or(&self.source)
    }
}

/// A value's place in an object.
#[derive(Clone, Copy)]
struct Place<'p> {
    path: &'p str,
    old: Option<&'p Value>,
    /// Whether what it is in was there before as it is now.
    unchanged: bool,
    /// Whether it is a whole object.
    resource: bool,
}

struct Walk {
    /// What may still be spent; none when nothing is run any more.
    left: Option<u64>,
    /// Rules by the address of their schema, which doesn't change meanwhile.
    rules: BTreeMap<*const Value, Rules>,
    errors: Vec<FieldError>,
}

impl Walk {
    fn value(&mut self, at: Place<'_>, value: &Value, schema: &Value, depth: usize) {
        if depth > MAX_DEPTH || value.is_null() || self.left.is_none() {
            return;
        }
        let unchanged = at.unchanged || at.old == Some(value);
        let at = Place { unchanged, ..at };
        let rules = schema.get("x-kubernetes-validations");
        if rules
            .and_then(Value::as_array)
            .is_some_and(|it| !it.is_empty())
        {
            self.rules(at, value, schema);
        }
        match value {
            Value::Object(fields) => {
                let properties = schema.get("properties").and_then(Value::as_object);
                for (key, schema) in properties.into_iter().flatten() {
                    if let Some(value) = fields.get(key) {
                        let old = at.old.and_then(|old| old.get(key));
                        let path = format!("{}.{key}", at.path);
                        self.below((&path, old, unchanged), value, schema, depth);
                    }
                }
                let additional = schema.get("additionalProperties");
                if let Some(schema) = additional.filter(|it| it.is_object()) {
                    let others = fields
                        .iter()
                        .filter(|(key, _)| properties.is_none_or(|it| !it.contains_key(*key)));
                    for (key, value) in others {
                        let old = at.old.and_then(|old| old.get(key));
                        let path = format!("{}[{key}]", at.path);
                        self.below((&path, old, unchanged), value, schema, depth);
                    }
                }
            }
            Value::Array(items) => {
                let Some(inner) = schema.get("items") else {
                    return;
                };
                for (index, item) in items.iter().enumerate() {
                    let old = at
                        .old
                        .and_then(|old| super::schema::before(old, item, schema));
                    let path = format!("{}[{index}]", at.path);
                    self.below((&path, old, unchanged), item, inner, depth);
                }
            }
            _ => {}
        }
    }

    fn below(
        &mut self,
        (path, old, unchanged): (&str, Option<&Value>, bool),
        value: &Value,
        schema: &Value,
        depth: usize,
    ) {
        let at = Place {
            path,
            old,
            unchanged,
            resource: is_true(schema, "x-kubernetes-embedded-resource"),
        };
        self.value(at, value, schema, depth + 1);
    }

    /// Nothing is run any more.
    fn stop(&mut self, error: FieldError) {
        self.left = None;
        self.errors.push(error);
    }

    fn rules(&mut self, at: Place<'_>, value: &Value, schema: &Value) {
        let kind = schema
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let invalid = |why: &str| FieldError::invalid(at.path, &kind.into(), why);
        if self.left == Some(0) {
            return self.stop(invalid(OUT_OF_BUDGET));
        }
        let known = self.rules.entry(std::ptr::from_ref(schema));
        let rules = known.or_insert_with(|| rules_of(schema, at.resource));
        let rules = Arc::clone(rules);
        let this = ("self", as_cel(value, Some(schema)));
        let before = at.old.map(|old| as_cel(old, Some(schema)));
        let perhaps = before
            .clone()
            .map_or_else(OptionalValue::none, OptionalValue::of);
        let perhaps = ("oldSelf", cel::Value::Opaque(Arc::new(perhaps)));
        let perhaps = [this.clone(), perhaps];
        let plain: Vec<_> = std::iter::once(this)
            .chain(before.map(|before| ("oldSelf", before)))
            .collect();
        for rule in rules.iter() {
            // A rule about the change has nothing to say without one.
            if rule.uses_old && !rule.takes_none && at.old.is_none() {
                continue;
            }
            let variables = if rule.takes_none {
                &perhaps[..]
            } else {
                &plain
            };
            let (outcome, cost) = rule.program.run(variables);
            if !self.spend(cost) {
                return self.stop(invalid(OUT_OF_BUDGET));
            }
            match outcome {
                Ok(cel::Value::Bool(true)) | Err(Fault::Gap) => {}
                Ok(_) => {
                    let detail = match self.made(rule, &plain) {
                        Ok(made) => made,
                        Err(why) => return self.stop(invalid(&why)),
                    };
                    // What was so before may stay so.
                    if rule.uses_old || !at.unchanged {
                        let detail = detail
                            .or_else(|| rule.message.clone())
                            .unwrap_or_else(|| format!("failed rule: {}", rule.source));
                        let field = format!("{}{}", at.path, rule.field);
                        let error = FieldError::rule(&field, value, &rule.reason, &detail);
                        self.errors.push(error);
                    }
                }
                Err(fault @ Fault::Cost) => {
                    let why = format!(
                        "'{}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                        fault.words(),
                        rule.name()
                    );
                    return self.stop(invalid(&why));
                }
                Err(fault) => {
                    let (words, name) = (fault.words(), rule.name());
                    let why = if words.starts_with("no such overload") {
                        format!(
                            "'{words}': call arguments did not match a supported operator, function or macro \
                             signature for rule: {name}"
                        )
                    } else {
                        format!("{words} evaluating rule: {name}")
                    };
                    self.errors.push(invalid(&why));
                }
            }
        }
    }

    /// Whether there was as much left.
    fn spend(&mut self, cost: u64) -> bool {
        self.left = self.left.and_then(|left| left.checked_sub(cost));
        self.left.is_some()
    }

    /// The message of a rule, where one is made. What is no message is as good as none; what costs too much ends all.
    fn made(
        &mut self,
        rule: &Rule,
        variables: &[(&str, cel::Value)],
    ) -> Result<Option<String>, String> {
        let Some(program) = &rule.made else {
            return Ok(None);
        };
        let (outcome, cost) = program.run(variables);
        if !self.spend(cost) {
            let why = "messageExpression evaluation failed due to running out of cost budget, no further \
                validation rules will be run";
            return Err(why.to_owned());
        }
        match outcome {
            Ok(cel::Value::String(made)) => {
                let made = made.trim();
                let good = !made.is_empty() && made.len() <= MAX_MESSAGE && !made.contains('\n');
                Ok(good.then(|| made.to_owned()))
            }
            Err(Fault::Cost) => Err(
                "no further validation rules will be run due to call cost exceeds limit for \
                messageExpression"
                    .to_owned(),
            ),
            _ => Ok(None),
        }
    }
}
