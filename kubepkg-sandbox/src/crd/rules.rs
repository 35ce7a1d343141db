//! Rules in CEL: `x-kubernetes-validations`, as `schema/cel/validation.go` of `apiextensions-apiserver` runs them.
//!
//! All rules of an object together may cost ten million units, each at most one million. What can't be compiled is
//! passed over: definitions with such rules are refused, and a test server that refuses good objects is worse than one
//! that accepts bad ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube_cel::cel;
use kube_cel::cel::objects::OptionalValue;
use kubepkg_yaml::go_quote;
use serde_json::Value;

use super::MAX_DEPTH;
use super::cel::{Fault, Program, Type, as_cel, check as compile, of_schema};
use super::definition::shown_path;
use super::kept::Kept;
use super::path::FieldError;
use super::prune::is_true;
use super::ratchet::Pair;

/// What the rules of an object may cost.
const MAX_COST: u64 = 10_000_000;
/// A message that is made may have as many bytes.
const MAX_MESSAGE: usize = 5 * 1024;
const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// Whether a rule that isn't met may stay so where the value was there before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    MayStay,
    MustFit,
}

/// What is wrong with a custom resource.
#[derive(Debug, Default)]
pub struct Verdict {
    /// What it is refused for.
    pub errors: Vec<FieldError>,
    /// Rules that it doesn't meet where it is as it was before: the API server warns of these.
    pub stays: Vec<FieldError>,
}

/// Runs the rules of a schema on a value, and on what it replaces.
pub(super) fn check(
    value: &Value,
    old: Option<&Value>,
    schema: &Value,
    (resource, before): (bool, Before),
) -> Verdict {
    let mut walk = Walk {
        left: Some(MAX_COST),
        rules: BTreeMap::new(),
        verdict: Verdict::default(),
    };
    let pair = |old| Pair {
        new: value,
        old,
        schema,
    };
    let at = Place {
        path: "",
        old,
        pair: old.filter(|_| before == Before::MayStay).map(pair),
        outer: None,
        resource,
    };
    walk.value(at, value, schema, 0);
    walk.verdict
}

/// A rule that compiles.
struct Rule {
    /// As it is written.
    source: String,
    program: Program,
    /// Makes the message, with how it is written.
    made: Option<(Program, String)>,
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
        made: made.and_then(|source| Some((program(source)?.0, source.to_owned()))),
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
    /// What rules about the change see.
    old: Option<&'p Value>,
    /// The value with what it takes the place of, where that is known.
    pair: Option<Pair<'p>>,
    /// The same of the nearest value that it is in.
    outer: Option<Pair<'p>>,
    /// Whether it is a whole object.
    resource: bool,
}

impl<'p> Place<'p> {
    /// Whether the value was there before, itself or in what it is in.
    fn is_unchanged(&self) -> bool {
        self.pair.or(self.outer).is_some_and(Pair::is_unchanged)
    }

    /// The place of a field or an item.
    fn below<'b>(
        &self,
        path: &'b str,
        old: Option<&'b Value>,
        value: &'b Value,
        schema: &'b Value,
    ) -> Place<'b>
    where
        'p: 'b,
    {
        let pair = old.filter(|_| self.pair.is_some()).map(|old| Pair {
            new: value,
            old,
            schema,
        });
        Place {
            path,
            old,
            pair,
            outer: self.pair.or(self.outer),
            resource: is_true(schema, "x-kubernetes-embedded-resource"),
        }
    }
}

struct Walk {
    /// What may still be spent; none when nothing is run any more.
    left: Option<u64>,
    /// Rules by the address of their schema, which doesn't change meanwhile.
    rules: BTreeMap<*const Value, Rules>,
    verdict: Verdict,
}

impl Walk {
    fn value(&mut self, at: Place<'_>, value: &Value, schema: &Value, depth: usize) {
        if depth > MAX_DEPTH || value.is_null() || self.left.is_none() {
            return;
        }
        let rules = schema.get("x-kubernetes-validations");
        if rules
            .and_then(Value::as_array)
            .is_some_and(|it| !it.is_empty())
        {
            self.rules(at, value, schema);
        }
        match value {
            Value::Object(fields) => {
                let root = at.outer.is_none();
                let properties = schema.get("properties").and_then(Value::as_object);
                for (key, schema) in properties.into_iter().flatten() {
                    if let Some(value) = fields.get(key) {
                        let old = at.old.and_then(|old| old.get(key));
                        let path = format!("{}.{key}", at.path);
                        let mut below = at.below(&path, old, value, schema);
                        // Both are of the version that is written, so that nobody sees what they were.
                        if root && matches!(key.as_str(), "apiVersion" | "kind") {
                            (below.pair, below.outer) = (None, None);
                        }
                        self.value(below, value, schema, depth + 1);
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
                        let below = at.below(&path, old, value, schema);
                        self.value(below, value, schema, depth + 1);
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
                    let below = at.below(&path, old, item, inner);
                    self.value(below, item, inner, depth + 1);
                }
            }
            _ => {}
        }
    }

    /// Nothing is run any more.
    fn stop(&mut self, error: FieldError) {
        self.left = None;
        self.verdict.errors.push(error);
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
        let old = at.old.filter(|old| !old.is_null());
        let before = old.map(|old| as_cel(old, Some(schema)));
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
            if rule.uses_old && !rule.takes_none && old.is_none() {
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
                    let field = format!("{}{}", at.path, rule.field);
                    let (error, last) = match self.made(rule, &plain) {
                        Ok(made) => {
                            let detail = made
                                .or_else(|| rule.message.clone())
                                .unwrap_or_else(|| format!("failed rule: {}", rule.source));
                            let error = FieldError::rule(&field, value, &rule.reason, &detail);
                            (error, false)
                        }
                        Err(why) => (FieldError::invalid(&field, &kind.into(), &why), true),
                    };
                    if rule.uses_old || !at.is_unchanged() {
                        self.verdict.errors.push(error);
                    } else {
                        self.verdict.stays.push(error);
                    }
                    if last {
                        self.left = None;
                        return;
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
                    self.verdict.errors.push(invalid(&why));
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
        let Some((program, source)) = &rule.made else {
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
            Err(Fault::Cost) => Err(format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                go_quote(source)
            )),
            _ => Ok(None),
        }
    }
}
