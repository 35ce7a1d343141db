//! A policy that is compiled, and what it says of an object: `validating/validator.go`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::super::object::{list, text};
use super::environment::{Environment, Wanted};
use crate::crd::cel::{Fault, Held, Outcome, Program, Type, Variables};
use crate::crd::kept::Kept;

/// What the expressions of a policy may cost together.
const MAX_COST: u64 = 10_000_000;
/// The same of its conditions.
const MAX_CONDITIONS: u64 = 2_500_000;
/// A message that is made may have as many bytes.
const MAX_MESSAGE: usize = 5 * 1024;
const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// What expressions look at.
#[derive(Clone)]
pub(super) struct Input {
    pub(super) object: Held,
    pub(super) old: Held,
    pub(super) request: Held,
    pub(super) namespace: Held,
    pub(super) params: Held,
}

/// Something that a policy has against an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) message: String,
    pub(super) reason: &'static str,
    /// Whether it is refused for this whatever the binding says.
    pub(super) stays: bool,
}

impl Finding {
    fn of(message: String) -> Self {
        Self {
            message,
            reason: "Invalid",
            stays: false,
        }
    }
}

/// An expression, and why it can't be run where it can't.
#[derive(Debug)]
struct Expression {
    source: String,
    program: Result<Program, String>,
    of: Type,
}

impl Expression {
    fn new(source: &str, environment: &Environment, wanted: Wanted) -> Self {
        let (program, of) = match environment.compile(source, wanted) {
            Ok((program, of)) => (Ok(program), of),
            Err(why) => (Err(why), Type::Dyn),
        };
        Self {
            source: source.to_owned(),
            program,
            of,
        }
    }
}

#[derive(Debug)]
struct Validation {
    expression: Expression,
    message: String,
    made: Option<Expression>,
    reason: &'static str,
}

/// A compiled policy.
#[derive(Debug)]
pub(super) struct Policy {
    conditions: Vec<Expression>,
    variables: BTreeMap<String, Expression>,
    validations: Vec<Validation>,
    annotations: Vec<Expression>,
}

impl Policy {
    /// The policy of a `spec`.
    pub(super) fn of(spec: &Value) -> Arc<Self> {
        static COMPILED: Kept<Arc<Policy>> = Kept::new();
        COMPILED.or_compile(&spec.to_string(), |_| Arc::new(Self::compile(spec)))
    }

    fn compile(spec: &Value) -> Self {
        let mut environment = Environment {
            params: !spec["paramKind"].is_null(),
            authorizer: true,
            composed: Some(BTreeMap::new()),
        };
        let mut variables = BTreeMap::new();
        for variable in list(&spec["variables"]) {
            let source = text(variable, "expression");
            let expression = Expression::new(source, &environment, Wanted::Anything);
            let name = text(variable, "name");
            environment.add(name, &expression.of);
            variables.insert(name.to_owned(), expression);
        }
        let of_messages = Environment {
            authorizer: false,
            ..environment.clone()
        };
        let each = |field: &str, source: &'static str, wanted: Wanted| -> Vec<Expression> {
            list(&spec[field])
                .map(|one| Expression::new(text(one, source), &environment, wanted))
                .collect()
        };
        let validations = list(&spec["validations"]).map(|validation| {
            let made = Some(text(validation, "messageExpression")).filter(|it| !it.is_empty());
            Validation {
                expression: Expression::new(
                    text(validation, "expression"),
                    &environment,
                    Wanted::Bool,
                ),
                message: text(validation, "message").trim().to_owned(),
                made: made.map(|source| Expression::new(source, &of_messages, Wanted::String)),
                reason: match text(validation, "reason") {
                    "Forbidden" => "Forbidden",
                    "RequestEntityTooLarge" => "RequestEntityTooLarge",
                    _ => "Invalid",
                },
            }
        });
        Self {
            conditions: each("matchConditions", "expression", Wanted::Bool),
            validations: validations.collect(),
            annotations: each("auditAnnotations", "valueExpression", Wanted::StringOrNull),
            variables,
        }
    }

    /// What the policy has against an object. Errors count where it `fails` on them.
    pub(super) fn judge(&self, input: &Input, fails: bool) -> Vec<Finding> {
        let broken = |why: String| fails.then(|| Finding::of(why)).into_iter().collect();
        match self.applies(input) {
            Ok(true) => {}
            Ok(false) => return Vec::new(),
            Err(why) => return broken(why),
        }
        let mut left = MAX_COST;
        let expressions = self.validations.iter().map(|it| Some(&it.expression));
        let judged = match Run::new(self, input).all(expressions, &mut left) {
            Ok(judged) => judged,
            Err(why) => return broken(why),
        };
        let messages = self.validations.iter().map(|it| it.made.as_ref());
        let messages = Run::new(self, input).all(messages, &mut left);
        let mut findings = Vec::new();
        for (index, (validation, outcome)) in self.validations.iter().zip(judged).enumerate() {
            let finding = match (outcome, &messages) {
                (Evaluated::Failed(why), _) => fails.then(|| Finding::of(why)),
                (_, Err(why)) => {
                    fails.then(|| Finding::of(format!("failed messageExpression: {why}")))
                }
                (Evaluated::Value(Held::Bool(true)) | Evaluated::Unknown, _) => None,
                (Evaluated::Value(_), Ok(messages)) => Some(Finding {
                    message: validation.words(messages.get(index)),
                    reason: validation.reason,
                    stays: false,
                }),
            };
            findings.extend(finding);
        }
        let annotations = self.annotations.iter().map(Some);
        let mut left = MAX_COST;
        match Run::new(self, input).all(annotations, &mut left) {
            Err(why) => return broken(why),
            Ok(values) => {
                for value in values {
                    if let (Evaluated::Failed(message), true) = (value, fails) {
                        let stays = true;
                        findings.push(Finding {
                            stays,
                            ..Finding::of(message)
                        });
                    }
                }
            }
        }
        findings
    }

    /// Whether all conditions are met.
    fn applies(&self, input: &Input) -> Result<bool, String> {
        // Conditions don't see the namespace.
        let input = Input {
            namespace: Held::Null,
            ..input.clone()
        };
        let mut left = MAX_CONDITIONS;
        let conditions = self.conditions.iter().map(Some);
        let mut wrong = Vec::new();
        for met in Run::new(self, &input).all(conditions, &mut left)? {
            match met {
                Evaluated::Value(Held::Bool(false)) => return Ok(false),
                Evaluated::Failed(why) if !wrong.contains(&why) => wrong.push(why),
                _ => {}
            }
        }
        match wrong.as_slice() {
            [] => Ok(true),
            [one] => Err(one.clone()),
            some => Err(format!("[{}]", some.join(", "))),
        }
    }
}

impl Validation {
    /// Why an object is refused.
    fn words(&self, made: Option<&Evaluated>) -> String {
        let made = match made {
            Some(Evaluated::Value(Held::String(made))) => made.trim(),
            _ => "",
        };
        let source = self.expression.source.trim();
        if !made.is_empty() && made.len() <= MAX_MESSAGE && !made.contains('\n') {
            made.to_owned()
        } else if self.message.is_empty() {
            format!("failed expression: {source}")
        } else {
            self.message.clone()
        }
    }
}

/// What an expression came out as.
#[derive(Debug)]
enum Evaluated {
    Value(Held),
    Failed(String),
    /// It was left out, or it asks what nobody knows here.
    Unknown,
}

/// Expressions that are run on one input. Variables are worked out once, when the first asks.
struct Run<'r> {
    policy: &'r Policy,
    input: &'r Input,
    known: RefCell<BTreeMap<String, Outcome>>,
    /// What variables have cost since somebody looked.
    cost: Cell<u64>,
}

impl<'r> Run<'r> {
    fn new(policy: &'r Policy, input: &'r Input) -> Self {
        Self {
            policy,
            input,
            known: RefCell::default(),
            cost: Cell::new(0),
        }
    }

    /// # Errors
    /// They cost more than is left.
    fn all<'e>(
        &self,
        expressions: impl Iterator<Item = Option<&'e Expression>>,
        left: &mut u64,
    ) -> Result<Vec<Evaluated>, String> {
        let mut all = Vec::new();
        for expression in expressions {
            let Some(expression) = expression else {
                all.push(Evaluated::Unknown);
                continue;
            };
            let program = match &expression.program {
                Ok(program) => program,
                Err(why) => {
                    all.push(Evaluated::Failed(format!("compilation error: {why}")));
                    continue;
                }
            };
            let (outcome, cost) = program.run_with(self);
            for cost in [self.cost.take(), cost] {
                *left = left.checked_sub(cost).ok_or(OUT_OF_BUDGET)?;
            }
            all.push(match outcome {
                Ok(value) => Evaluated::Value(value),
                Err(Fault::Gap) => Evaluated::Unknown,
                Err(fault) => Evaluated::Failed(format!(
                    "expression '{}' resulted in error: {}",
                    expression.source,
                    fault.words()
                )),
            });
        }
        Ok(all)
    }

    fn composed(&self, name: &str) -> Option<Outcome> {
        let expression = self.policy.variables.get(name)?;
        if let Some(known) = self.known.borrow().get(name) {
            return Some(known.clone());
        }
        let failed = |what: &str, why: &str| {
            Err(Fault::Error(format!(
                "composited variable \"{name}\" fails to {what}: {why}"
            )))
        };
        let outcome = match &expression.program {
            Err(why) => failed("compile", why),
            Ok(program) => {
                let (outcome, cost) = program.run_with(self);
                self.cost.set(self.cost.get().saturating_add(cost));
                match outcome {
                    Err(fault @ (Fault::Error(_) | Fault::Cost)) => {
                        failed("evaluate", fault.words())
                    }
                    other => other,
                }
            }
        };
        let mut known = self.known.borrow_mut();
        known.insert(name.to_owned(), outcome.clone());
        Some(outcome)
    }
}

impl Variables for Run<'_> {
    fn variable(&self, name: &str) -> Option<Outcome> {
        let input = self.input;
        let found = match name {
            "object" => &input.object,
            "oldObject" => &input.old,
            "request" => &input.request,
            "namespaceObject" => &input.namespace,
            "params" => &input.params,
            // Nobody is authorized here.
            "authorizer" => return Some(Err(Fault::Gap)),
            _ => return None,
        };
        Some(Ok(found.clone()))
    }

    fn part(&self, variable: &str, name: &str) -> Option<Outcome> {
        (variable == "variables").then(|| self.composed(name))?
    }
}
