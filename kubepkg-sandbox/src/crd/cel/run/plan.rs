//! What a checked expression does, step by step: the plan that cel-go makes of it (`interpreter/planner.go`,
//! `interpreter/decorators.go`), since steps are what costs are counted by.
//!
//! Lists and maps of constants are constants, conversions of constants are made here, and so is the search in a list of
//! constants prepared.

use std::collections::HashMap;
use std::sync::Arc;

use cel_syntax::common::ast::{ComprehensionExpr, Expr, IdedExpr, LiteralValue};
use kube_cel::cel::Value;
use kube_cel::cel::objects::Map;

use super::super::check::{Callee, Checked};
use super::super::cost::Price;
use super::super::fit::Type;
use super::super::functions::{self, Called, Function};
use super::super::parse::{ACCUMULATOR, INSERT};
use super::super::{map_entry, typed};
use super::{Fault, Meter, operators};

/// A step, with the steps that it takes first.
#[derive(Debug)]
pub(super) enum Node {
    Constant(Value),
    Attribute(Box<Attribute>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    /// `or` and `orValue`.
    Instead {
        both: Box<[Node; 2]>,
        /// Whether what comes out is still an optional.
        keeps: bool,
    },
    NotFalse(Box<Node>),
    /// Whether a value is among constants.
    Among(Box<Node>, Vec<Value>),
    List(Vec<Item>),
    Map(Vec<(Node, Item)>),
    /// Adds a list to what a comprehension builds up.
    Append(Box<Node>),
    /// Adds entries to the map that a comprehension builds up.
    Insert(Vec<Node>),
    Call(Box<Call>),
    Loop(Box<Loop>),
}

/// What stands in a list or a map. An optional one is left out when it has no value.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) node: Node,
    pub(super) optional: bool,
}

/// A value, and the way to a part of it.
#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) base: Base,
    pub(super) steps: Vec<Step>,
}

#[derive(Debug)]
pub(super) enum Base {
    Variable(String),
    Node(Node),
    Choice(Box<Choice>),
}

#[derive(Debug)]
pub(super) struct Choice {
    pub(super) condition: Node,
    pub(super) yes: Attribute,
    pub(super) no: Attribute,
}

#[derive(Debug)]
pub(super) struct Step {
    pub(super) key: StepKey,
    pub(super) optional: bool,
    /// Whether only the presence of the part matters.
    pub(super) test: bool,
}

#[derive(Debug)]
pub(super) enum StepKey {
    Constant(Value),
    Attribute(Attribute),
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) member: bool,
    pub(super) function: Function,
    pub(super) price: Price,
    pub(super) operands: Vec<Node>,
}

#[derive(Debug)]
pub(super) struct Loop {
    pub(super) range: Node,
    pub(super) first: String,
    pub(super) second: Option<String>,
    pub(super) accumulator: String,
    pub(super) start: Node,
    pub(super) go_on: Node,
    pub(super) step: Node,
    pub(super) result: Node,
}

/// Plans an expression. The error is that of a constant that can't be converted.
pub(super) fn plan(checked: &Checked) -> Result<Node, String> {
    Planner { checked }.node(&checked.root)
}

struct Planner<'c> {
    checked: &'c Checked,
}

/// Conversions that are made at once.
const CONVERSIONS: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "string",
    "timestamp",
    "type",
    "uint",
];

impl Planner<'_> {
    fn node(&self, node: &IdedExpr) -> Result<Node, String> {
        Ok(match &node.expr {
            Expr::Literal(literal) => Node::Constant(constant(literal)),
            Expr::Ident(name) => match self.type_name(node, name) {
                Some(of) => Node::Constant(of),
                None => variable(name.clone()),
            },
            Expr::Select(select) => {
                if let Some(name) = super::super::check::qualified(node)
                    && let Some(of) = self.type_name(node, &name)
                {
                    return Ok(Node::Constant(of));
                }
                let mut attribute = attribute(self.node(&select.operand)?);
                attribute.steps.push(Step {
                    key: StepKey::Constant(text(&select.field)),
                    optional: false,
                    test: select.test,
                });
                Node::Attribute(Box::new(attribute))
            }
            Expr::Call(_) => self.call(node)?,
            Expr::List(list) => {
                let mut items = Vec::with_capacity(list.elements.len());
                for (index, item) in list.elements.iter().enumerate() {
                    items.push(Item {
                        node: self.node(item)?,
                        optional: list.optional_indices.contains(&index),
                    });
                }
                let constants: Option<Vec<Value>> = items.iter().map(Item::constant).collect();
                match constants {
                    Some(all) => Node::Constant(Value::List(Arc::new(all))),
                    None => Node::List(items),
                }
            }
            Expr::Map(map) => {
                let mut entries = Vec::with_capacity(map.entries.len());
                for entry in map.entries.iter().filter_map(map_entry) {
                    let value = Item {
                        node: self.node(&entry.value)?,
                        optional: entry.optional,
                    };
                    entries.push((self.node(&entry.key)?, value));
                }
                let constants: Option<HashMap<_, _>> = entries
                    .iter()
                    .map(|(key, value)| match key {
                        Node::Constant(key) => Some((operators::key(key)?, value.constant()?)),
                        _ => None,
                    })
                    .collect();
                match constants {
                    Some(all) => Node::Constant(Value::Map(Map { map: Arc::new(all) })),
                    None => Node::Map(entries),
                }
            }
            Expr::Comprehension(all) => self.comprehension(all)?,
            Expr::Struct(_) | Expr::Unspecified => Node::Constant(Value::Null),
        })
    }

    /// The type that a name stands for.
    fn type_name(&self, node: &IdedExpr, name: &str) -> Option<Value> {
        match self.checked.type_of(node) {
            Type::Of("type", _) => typed::named(name),
            _ => None,
        }
    }

    fn comprehension(&self, all: &ComprehensionExpr) -> Result<Node, String> {
        Ok(Node::Loop(Box::new(Loop {
            range: self.node(&all.iter_range)?,
            first: all.iter_var.clone(),
            second: all.iter_var2.clone(),
            accumulator: all.accu_var.clone(),
            start: self.node(&all.accu_init)?,
            go_on: self.node(&all.loop_cond)?,
            step: self.node(&all.loop_step)?,
            result: self.node(&all.result)?,
        })))
    }

    fn call(&self, node: &IdedExpr) -> Result<Node, String> {
        let (Expr::Call(call), Some(callee)) = (&node.expr, self.checked.calls.get(&node.id))
        else {
            return Ok(Node::Constant(Value::Null));
        };
        let mut operands = Vec::with_capacity(call.args.len() + 1);
        if let Some(target) = call.target.as_deref().filter(|_| callee.member) {
            operands.push(self.node(target)?);
        }
        for argument in &call.args {
            operands.push(self.node(argument)?);
        }
        planned(callee, operands)
    }
}

fn planned(callee: &Callee, operands: Vec<Node>) -> Result<Node, String> {
    let name = callee.name.as_str();
    let operands = match <[Node; 2]>::try_from(operands) {
        Ok([one, other]) => match name {
            "_&&_" => return Ok(Node::And(Box::new([one, other]))),
            "_||_" => return Ok(Node::Or(Box::new([one, other]))),
            "or" | "orValue" => {
                let keeps = name == "or";
                let both = Box::new([one, other]);
                return Ok(Node::Instead { both, keeps });
            }
            "_[_]" | "_[?_]" | "_?._" => return Ok(index(one, other, name != "_[_]")),
            "_+_"
                if is_accumulator(&one)
                    && matches!(other, Node::List(_) | Node::Constant(Value::List(_))) =>
            {
                return Ok(Node::Append(Box::new(other)));
            }
            "@in" => match (other, callee.overloads.as_slice()) {
                (Node::Constant(Value::List(all)), [overload])
                    if matches!(overload.arguments.last(), Some(Type::Of("list", _)))
                        && all.iter().all(is_plain) =>
                {
                    return Ok(Node::Among(Box::new(one), all.as_ref().clone()));
                }
                (other, _) => vec![one, other],
            },
            _ => vec![one, other],
        },
        Err(operands) => operands,
    };
    let operands = match (name, <[Node; 3]>::try_from(operands)) {
        ("_?_:_", Ok([condition, yes, no])) => {
            let base = Base::Choice(Box::new(Choice {
                condition,
                yes: attribute(yes),
                no: attribute(no),
            }));
            let steps = Vec::new();
            return Ok(Node::Attribute(Box::new(Attribute { base, steps })));
        }
        (_, Ok(operands)) => Vec::from(operands),
        (_, Err(operands)) => operands,
    };
    if name == INSERT {
        return Ok(Node::Insert(operands.into_iter().skip(1).collect()));
    }
    if let ("@not_strictly_false", 1) = (name, operands.len()) {
        return Ok(Node::NotFalse(Box::new(
            operands
                .into_iter()
                .next()
                .unwrap_or(Node::Constant(Value::Null)),
        )));
    }
    let overload = match callee.overloads.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    let function = functions::named(name);
    if let ([Node::Constant(value)], true) = (operands.as_slice(), CONVERSIONS.contains(&name)) {
        let mut meter = Meter::default();
        let mut conversion = Called {
            name,
            member: callee.member,
            values: std::slice::from_ref(value),
            meter: &mut meter,
        };
        return match function(&mut conversion) {
            Ok(value) => Ok(Node::Constant(value)),
            Err(Fault::Error(why)) => Err(why),
            Err(_) => Ok(Node::Constant(Value::Null)),
        };
    }
    if let Some(why) = functions::bad_pattern(name, &operands_of(&operands)) {
        return Err(why);
    }
    Ok(Node::Call(Box::new(Call {
        name: callee.name.clone(),
        member: callee.member,
        function,
        price: Price::of_call(name, overload),
        operands,
    })))
}

/// The constants among operands.
fn operands_of(operands: &[Node]) -> Vec<Option<&Value>> {
    let each = operands.iter().map(|node| match node {
        Node::Constant(value) => Some(value),
        _ => None,
    });
    each.collect()
}

impl Item {
    fn constant(&self) -> Option<Value> {
        match &self.node {
            Node::Constant(value) if !self.optional => Some(value.clone()),
            _ => None,
        }
    }
}

pub(crate) fn constant(literal: &LiteralValue) -> Value {
    match literal {
        LiteralValue::Boolean(flag) => Value::Bool(*flag.inner()),
        LiteralValue::Bytes(bytes) => Value::Bytes(Arc::new(bytes.inner().to_vec())),
        LiteralValue::Double(number) => Value::Float(*number.inner()),
        LiteralValue::Int(number) => Value::Int(*number.inner()),
        LiteralValue::Null => Value::Null,
        LiteralValue::String(plain) => text(plain.inner()),
        LiteralValue::UInt(number) => Value::UInt(*number.inner()),
    }
}

fn text(plain: &str) -> Value {
    Value::String(Arc::new(plain.to_owned()))
}

fn variable(name: String) -> Node {
    Node::Attribute(Box::new(Attribute {
        base: Base::Variable(name),
        steps: Vec::new(),
    }))
}

/// A node as one that one can go further from.
fn attribute(node: Node) -> Attribute {
    match node {
        Node::Attribute(attribute) => *attribute,
        node => Attribute {
            base: Base::Node(node),
            steps: Vec::new(),
        },
    }
}

/// `of[key]`, `of[?key]` and `of.?key`.
fn index(of: Node, key: Node, optional: bool) -> Node {
    let mut attribute = attribute(of);
    let key = match key {
        Node::Constant(value) => StepKey::Constant(value),
        key => StepKey::Attribute(self::attribute(key)),
    };
    attribute.steps.push(Step {
        key,
        optional,
        test: false,
    });
    Node::Attribute(Box::new(attribute))
}

fn is_accumulator(node: &Node) -> bool {
    matches!(node, Node::Attribute(attribute) if attribute.steps.is_empty()
        && matches!(&attribute.base, Base::Variable(name) if name == ACCUMULATOR))
}

/// Whether a value is found in a set by itself.
fn is_plain(value: &Value) -> bool {
    matches!(
        value,
        Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::String(_) | Value::Bool(_)
    )
}
