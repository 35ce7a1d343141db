//! Runs expressions, and counts what they cost as they run.
//!
//! The library's interpreter can't count, copies whatever it looks at, and has other words for what goes wrong; so
//! this is cel-go's (`interpreter/interpretable.go`, `interpreter/attributes.go`, `interpreter/runtimecost.go`) over the
//! library's values. An expression ends when it has cost a million units, as on the API server. Some things that
//! cost a unit there take longer the more there is to look at, so there is a second limit: on the values and the bytes
//! that are looked at, which no rule comes near that is not made to.

mod operators;
mod plan;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::{Key, Map, OptionalValue};

use super::check::Checked;
use super::cost::{NEW_LIST, NEW_MAP, STEP, actual};
use super::functions::Called;
use super::parse::ACCUMULATOR;
use super::together;
use super::typed;
use super::values::of_key;
pub(super) use operators::{calculated, compared, entry, equal, no_operator};
#[cfg(test)]
mod tests;
pub(super) use plan::constant;
use plan::{Attribute, Base, Call, Item, Loop, Node, Step, StepKey};

/// What an expression may cost.
const MAX_COST: u64 = 1_000_000;
/// Values and bytes that an expression may look at.
const MAX_WORK: u64 = 20_000_000;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// In the words of cel-go, where those are known.
    Error(String),
    /// It cost too much.
    Cost,
    /// A library does not know what the API server knows.
    Gap,
}

impl Fault {
    pub(super) fn error(why: impl Into<String>) -> Self {
        Self::Error(why.into())
    }

    pub(super) fn no_overload() -> Self {
        Self::error("no such overload")
    }

    pub(crate) fn words(&self) -> &str {
        match self {
            Self::Error(why) => why,
            Self::Cost => "operation cancelled: actual cost limit exceeded",
            Self::Gap => "not known",
        }
    }
}

pub(crate) type Outcome = Result<Value, Fault>;

/// What an expression has cost.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    cost: u64,
    work: u64,
}

impl Meter {
    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    fn pay(&mut self, cost: u64) -> Result<(), Fault> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > MAX_COST {
            return Err(Fault::Cost);
        }
        Ok(())
    }

    /// Counts what is looked at.
    pub(super) fn look(&mut self, count: usize) -> Result<(), Fault> {
        self.work = self.work.saturating_add(count as u64);
        if self.work > MAX_WORK {
            self.cost = MAX_COST + 1;
            return Err(Fault::Cost);
        }
        Ok(())
    }
}

/// Where an expression finds what it speaks of.
pub(crate) trait Variables {
    /// A variable by its name; none for one that is not there.
    fn variable(&self, name: &str) -> Option<Outcome>;

    /// A part of a variable that is worked out when somebody asks for it; none where the variable is a value like others.
    fn part(&self, _variable: &str, _name: &str) -> Option<Outcome> {
        None
    }
}

impl Variables for &[(&str, Value)] {
    fn variable(&self, name: &str) -> Option<Outcome> {
        let found = self.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| Ok(value.clone()))
    }
}

/// An expression that can be run.
#[derive(Debug)]
pub(crate) struct Program(Node);

impl Program {
    /// # Errors
    /// A constant in it that has no value, in the words of cel-go.
    pub(crate) fn new(checked: &Checked) -> Result<Self, String> {
        plan::plan(checked).map(Self)
    }

    /// The value of the expression with some variables, and what it cost.
    pub(crate) fn run(&self, variables: &[(&str, Value)]) -> (Outcome, u64) {
        self.run_with(&variables)
    }

    /// The same with variables that come from elsewhere.
    pub(crate) fn run_with(&self, variables: &dyn Variables) -> (Outcome, u64) {
        let mut machine = Machine {
            variables,
            meter: Meter::default(),
        };
        let outcome = machine.value(&self.0, None);
        (outcome, machine.meter.cost())
    }
}

struct Machine<'m> {
    variables: &'m dyn Variables,
    meter: Meter,
}

/// A variable of a comprehension, and those around it.
struct Scope<'s> {
    outer: Option<&'s Scope<'s>>,
    name: &'s str,
    /// What is evaluated when somebody asks for it first, in the scope around.
    start: Option<&'s Node>,
    value: RefCell<Option<Outcome>>,
}

impl<'s> Scope<'s> {
    fn new(outer: Option<&'s Scope<'s>>, name: &'s str, start: Option<&'s Node>) -> Self {
        Self {
            outer,
            name,
            start,
            value: RefCell::new(None),
        }
    }

    fn set(&self, outcome: Outcome) {
        *self.value.borrow_mut() = Some(outcome);
    }

    /// The scope of a name.
    fn of<'n>(scope: Option<&'n Self>, name: &str) -> Option<&'n Self> {
        let mut at = scope;
        while let Some(scope) = at {
            if scope.name == name {
                break;
            }
            at = scope.outer;
        }
        at
    }
}

pub(super) fn optional(value: Option<Value>) -> Value {
    let optional = value.map_or_else(OptionalValue::none, OptionalValue::of);
    Value::Opaque(Arc::new(optional))
}

pub(super) fn as_optional(value: &Value) -> Option<&OptionalValue> {
    typed::held(value)
}

impl Machine<'_> {
    fn value(&mut self, node: &Node, scope: Option<&Scope<'_>>) -> Outcome {
        match node {
            Node::Constant(value) => Ok(value.clone()),
            Node::Attribute(attribute) => {
                let found = self.resolved(attribute, scope);
                let tests = attribute.steps.last().is_some_and(|step| step.test);
                if !tests && !matches!(attribute.base, Base::Choice(_)) {
                    self.meter.pay(STEP)?;
                }
                match found {
                    Ok(value) if tests => {
                        let found = as_optional(&value).map(|it| it.value().is_some());
                        Ok(found.map_or(value, Value::Bool))
                    }
                    found => found,
                }
            }
            Node::And(both) => self.both(both, false, scope),
            Node::Or(both) => self.both(both, true, scope),
            Node::Instead { both, keeps } => {
                let [one, other] = both.as_ref();
                let found = self.value(one, scope)?;
                match as_optional(&found).map(OptionalValue::value) {
                    Some(None) => self.value(other, scope),
                    Some(Some(inner)) => {
                        // What `orValue` gives is not an optional, what `or` gives is one.
                        Ok(if *keeps { found.clone() } else { inner.clone() })
                    }
                    // What is no optional stands for itself.
                    None => Ok(found),
                }
            }
            Node::NotFalse(of) => {
                let found = match self.value(of, scope) {
                    Ok(Value::Bool(found)) => found,
                    Ok(_) | Err(Fault::Error(_)) => true,
                    Err(other) => return Err(other),
                };
                self.meter.pay(STEP)?;
                Ok(Value::Bool(found))
            }
            Node::Among(what, all) => {
                let value = self.value(what, scope)?;
                self.meter.look(all.len())?;
                let mut found = false;
                for other in all {
                    found = found || equal(&value, other, &mut self.meter)?;
                }
                Ok(Value::Bool(found))
            }
            Node::List(items) => {
                let items = self.items(items, scope)?;
                self.meter.pay(NEW_LIST)?;
                Ok(Value::List(Arc::new(items)))
            }
            Node::Map(entries) => self.map(entries, scope),
            Node::Append(items) => self.append(items, scope),
            Node::Insert(entry) => self.insert(entry, scope),
            Node::Call(call) => self.call(call, scope),
            Node::Loop(all) => self.run(all, scope),
        }
    }

    fn items(&mut self, items: &[Item], scope: Option<&Scope<'_>>) -> Result<Vec<Value>, Fault> {
        let mut all = Vec::with_capacity(items.len());
        for item in items {
            all.extend(self.item(item, scope)?);
        }
        Ok(all)
    }

    fn item(&mut self, item: &Item, scope: Option<&Scope<'_>>) -> Result<Option<Value>, Fault> {
        let value = self.value(&item.node, scope)?;
        if !item.optional {
            return Ok(Some(value));
        }
        match as_optional(&value) {
            Some(inner) => Ok(inner.value().cloned()),
            None => Err(Fault::error(
                "cannot initialize optional list element from non-optional value",
            )),
        }
    }

    fn map(&mut self, entries: &[(Node, Item)], scope: Option<&Scope<'_>>) -> Outcome {
        let mut all = HashMap::with_capacity(entries.len());
        for (key, value) in entries {
            let name = self.value(key, scope)?;
            let name = operators::key(&name).ok_or_else(|| {
                Fault::error(format!(
                    "unsupported key type: {}",
                    super::typed::name(&name)
                ))
            })?;
            match self.item(value, scope)? {
                Some(value) => all.insert(name, value),
                None => all.remove(&name),
            };
        }
        self.meter.pay(NEW_MAP)?;
        Ok(Value::Map(Map { map: Arc::new(all) }))
    }

    /// `&&`, or `||` when what is `sought` is true: what is false or true alone decides, and an error does not.
    fn both(&mut self, both: &[Node; 2], sought: bool, scope: Option<&Scope<'_>>) -> Outcome {
        let mut error = None;
        for node in both {
            match self.value(node, scope) {
                Ok(Value::Bool(found)) if found == sought => return Ok(Value::Bool(sought)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => {
                    error.get_or_insert_with(Fault::no_overload);
                }
                Err(Fault::Error(why)) => {
                    error.get_or_insert(Fault::Error(why));
                }
                Err(other) => return Err(other),
            }
        }
        error.map_or(Ok(Value::Bool(!sought)), Err)
    }

    /// The value of an attribute, without the cost of looking at it.
    fn resolved(&mut self, attribute: &Attribute, scope: Option<&Scope<'_>>) -> Outcome {
        let base = match &attribute.base {
            Base::Variable(name) => {
                if let Some((value, rest)) = self.part(name, &attribute.steps, scope) {
                    return self.stepped(value?, rest, scope);
                }
                self.variable(name, scope)?
            }
            Base::Node(node) => self.value(node, scope)?,
            Base::Choice(choice) => match self.value(&choice.condition, scope)? {
                Value::Bool(true) => self.resolved(&choice.yes, scope)?,
                Value::Bool(false) => self.resolved(&choice.no, scope)?,
                _ => return Err(Fault::no_overload()),
            },
        };
        self.stepped(base, &attribute.steps, scope)
    }

    /// A part of a variable that is worked out now, and the steps that are left to go from there.
    fn part<'s>(
        &mut self,
        name: &str,
        steps: &'s [Step],
        scope: Option<&Scope<'_>>,
    ) -> Option<(Outcome, &'s [Step])> {
        let (step, rest) = steps.split_first()?;
        let StepKey::Constant(Value::String(key)) = &step.key else {
            return None;
        };
        if step.optional || Scope::of(scope, name).is_some() {
            return None;
        }
        let found = self.variables.part(name, key)?;
        let paid = self.meter.pay(STEP);
        Some((
            paid.and(if step.test {
                found.map(|_| Value::Bool(true))
            } else {
                found
            }),
            rest,
        ))
    }

    fn stepped(&mut self, base: Value, steps: &[Step], scope: Option<&Scope<'_>>) -> Outcome {
        if steps.is_empty() {
            return Ok(base);
        }
        let (mut at, mut perhaps) = (base, false);
        if let Some(inner) = as_optional(&at) {
            let Some(inner) = inner.value() else {
                return Ok(at);
            };
            perhaps = true;
            at = inner.clone();
        }
        for step in steps {
            perhaps |= step.optional;
            let key = match &step.key {
                StepKey::Constant(key) => key.clone(),
                StepKey::Attribute(attribute) => self.resolved(attribute, scope)?,
            };
            let found = operators::part(&together::plain(&at), &key, perhaps || step.test);
            if !perhaps || step.test || matches!(found, Ok(Some(_))) {
                self.meter.pay(STEP)?;
            }
            at = match (found?, step.test) {
                (found, true) if !perhaps => Value::Bool(found.is_some()),
                (Some(found), _) => found,
                (None, _) => return Ok(optional(None)),
            };
        }
        Ok(if perhaps { optional(Some(at)) } else { at })
    }

    fn variable(&mut self, name: &str, scope: Option<&Scope<'_>>) -> Outcome {
        let Some(scope) = Scope::of(scope, name) else {
            let missing = || Err(Fault::error(format!("no such attribute(s): {name}")));
            return self.variables.variable(name).unwrap_or_else(missing);
        };
        if let Some(known) = scope.value.borrow().as_ref() {
            return known.clone();
        }
        let outcome = match scope.start {
            Some(start) => self.value(start, scope.outer),
            None => Err(Fault::no_overload()),
        };
        scope.set(outcome.clone());
        outcome
    }

    /// What a comprehension has built up, taken from where it is kept so that it can be added to.
    fn taken(&mut self, scope: Option<&Scope<'_>>) -> Outcome {
        self.meter.pay(STEP)?;
        let found = self.variable(ACCUMULATOR, scope)?;
        if let Some(scope) = Scope::of(scope, ACCUMULATOR) {
            scope.set(Ok(Value::Null));
        }
        Ok(found)
    }

    fn append(&mut self, items: &Node, scope: Option<&Scope<'_>>) -> Outcome {
        let before = self.taken(scope)?;
        let added = self.value(items, scope)?;
        self.meter.pay(STEP)?;
        let (Value::List(mut before), Value::List(added)) = (before, added) else {
            return Err(Fault::no_overload());
        };
        Arc::make_mut(&mut before).extend(added.iter().cloned());
        Ok(Value::List(before))
    }

    fn insert(&mut self, entry: &[Node], scope: Option<&Scope<'_>>) -> Outcome {
        let before = self.taken(scope)?;
        let mut added = Vec::with_capacity(entry.len());
        for part in entry {
            added.push(self.value(part, scope)?);
        }
        self.meter.pay(STEP)?;
        let Value::Map(mut before) = before else {
            return Err(Fault::no_overload());
        };
        let all = Arc::make_mut(&mut before.map);
        let mut add = |name: Key, value: Value| {
            let there = operators::entry(all, &of_key(&name)).is_some();
            if there {
                let shown = super::typed::plain(&of_key(&name));
                return Err(Fault::error(format!(
                    "insert failed: key {shown} already exists"
                )));
            }
            all.insert(name, value);
            Ok(())
        };
        match added.as_slice() {
            [name, value] => {
                let name = operators::key(name).ok_or_else(Fault::no_overload)?;
                add(name, value.clone())?;
            }
            [Value::Map(added)] => {
                let mut names: Vec<&Key> = added.map.keys().collect();
                names.sort();
                for name in names {
                    if let Some(value) = added.map.get(name) {
                        add(name.clone(), value.clone())?;
                    }
                }
            }
            _ => return Err(Fault::no_overload()),
        }
        Ok(Value::Map(before))
    }

    fn call(&mut self, call: &Call, scope: Option<&Scope<'_>>) -> Outcome {
        let (mut values, mut fault) = (Vec::with_capacity(call.operands.len()), None);
        // For these it matters whether a list is a set or a map.
        let whole = matches!(call.name.as_str(), "_==_" | "_!=_" | "_+_");
        for operand in &call.operands {
            match self.value(operand, scope) {
                Ok(value) if whole => values.push(value),
                Ok(value) => values.push(together::plain(&value)),
                // One and two operands are all looked at; what has three ends with the first that is none.
                Err(Fault::Error(why)) if fault.is_none() && call.operands.len() <= 2 => {
                    values.push(Value::Null);
                    fault = Some(Fault::Error(why));
                }
                Err(Fault::Error(_)) if fault.is_some() => values.push(Value::Null),
                Err(fault) => return Err(fault),
            }
        }
        if let Some(fault) = fault {
            self.meter.pay(actual(call.price, &values, None))?;
            return Err(fault);
        }
        let mut called = Called {
            name: &call.name,
            member: call.member,
            values: &values,
            meter: &mut self.meter,
        };
        let outcome = (call.function)(&mut called);
        let cost = actual(call.price, &values, outcome.as_ref().ok());
        self.meter.pay(cost)?;
        outcome
    }

    fn run(&mut self, all: &Loop, scope: Option<&Scope<'_>>) -> Outcome {
        let range = together::plain(&self.value(&all.range, scope)?);
        let built = Scope::new(scope, &all.accumulator, Some(&all.start));
        let first = Scope::new(Some(&built), &all.first, None);
        let second = all.second.as_deref().unwrap_or_default();
        let second = Scope::new(Some(&first), second, None);
        let inner = if all.second.is_some() {
            &second
        } else {
            &first
        };
        let two = all.second.is_some();
        match &range {
            Value::List(items) => {
                for (index, item) in (0_i64..).zip(items.iter()) {
                    if two {
                        first.set(Ok(Value::Int(index)));
                        second.set(Ok(item.clone()));
                    } else {
                        first.set(Ok(item.clone()));
                    }
                    if !self.step(all, &built, inner)? {
                        break;
                    }
                }
            }
            Value::Map(map) => {
                self.meter.look(map.map.len())?;
                let mut names: Vec<&Key> = map.map.keys().collect();
                names.sort();
                for name in names {
                    first.set(Ok(of_key(name)));
                    if two {
                        second.set(Ok(map.map.get(name).cloned().unwrap_or(Value::Null)));
                    }
                    if !self.step(all, &built, inner)? {
                        break;
                    }
                }
            }
            other => {
                let of = operators::go_type(other);
                return Err(Fault::error(if two {
                    format!("unsupported comprehension range type: {of}")
                } else {
                    format!("got '{of}', expected iterable type")
                }));
            }
        }
        self.value(&all.result, Some(&built))
    }

    /// Goes on with the next item; false at the end.
    fn step(&mut self, all: &Loop, built: &Scope<'_>, inner: &Scope<'_>) -> Result<bool, Fault> {
        match self.value(&all.go_on, Some(inner)) {
            Ok(Value::Bool(false)) => return Ok(false),
            Err(fault) if !matches!(fault, Fault::Error(_)) => return Err(fault),
            _ => {}
        }
        let outcome = self.value(&all.step, Some(inner));
        if let Err(fault @ (Fault::Cost | Fault::Gap)) = outcome {
            return Err(fault);
        }
        built.set(outcome);
        Ok(true)
    }
}
