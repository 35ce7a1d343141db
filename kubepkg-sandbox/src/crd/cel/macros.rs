//! Macros that `kube-cel` doesn't expand: comprehensions over two variables, `optMap`, `optFlatMap`, `sortBy`.
//!
//! They become what it has: a list of pairs to go through, and variables bound to the parts of a pair. The names of
//! functions that only stand in expansions start with `@`, which no expression can write.
#![allow(
    clippy::needless_pass_by_value,
    reason = "the signatures that the interpreter calls"
)]

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr};
use kube_cel::cel::extractors::Arguments;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::parser::{Expression, Parser};
use kube_cel::cel::{Context, ExecutionError, Value};

use super::MAX_NESTING;
use super::functions::{EQUAL, INDEX, PERHAPS, UNEQUAL};
use super::values::of_key;

const PAIRS: &str = "@pairs";
const MERGED: &str = "@merged";
const SORTED: &str = "@sorted";
const NEGATED: &str = "@negated";
const PAIR: &str = "__pair__";

/// Expands the macros in an expression, and refuses what can't be evaluated.
pub(super) fn expand(parsed: Expression, source: &str) -> Result<Expression, String> {
    let mut parsed = parsed;
    walk(&mut parsed, source, 0)?;
    Ok(parsed)
}

fn walk(node: &mut Expression, source: &str, depth: usize) -> Result<(), String> {
    if depth > MAX_NESTING {
        return Err("expression nested too deeply".to_owned());
    }
    match &mut node.expr {
        Expr::Unspecified => return Err(format!("no expression in {source:?}")),
        Expr::Struct(object) => {
            return Err(super::in_source(
                source,
                (1, 1),
                &format!(
                    "undeclared reference to '{}' (in container '')",
                    object.type_name
                ),
            ));
        }
        Expr::Ident(_) | Expr::Literal(_) => {}
        Expr::Call(call) => {
            for part in call
                .target
                .iter_mut()
                .map(AsMut::as_mut)
                .chain(&mut call.args)
            {
                walk(part, source, depth + 1)?;
            }
        }
        Expr::Comprehension(all) => {
            for part in [
                &mut all.iter_range,
                &mut all.accu_init,
                &mut all.loop_cond,
                &mut all.loop_step,
                &mut all.result,
            ] {
                walk(part, source, depth + 1)?;
            }
        }
        Expr::List(list) => {
            for part in &mut list.elements {
                walk(part, source, depth + 1)?;
            }
        }
        Expr::Map(map) => {
            for entry in &mut map.entries {
                match &mut entry.expr {
                    EntryExpr::MapEntry(entry) => {
                        walk(&mut entry.key, source, depth + 1)?;
                        walk(&mut entry.value, source, depth + 1)?;
                    }
                    EntryExpr::StructField(field) => walk(&mut field.value, source, depth + 1)?,
                }
            }
        }
        Expr::Select(select) => walk(&mut select.operand, source, depth + 1)?,
    }
    if let Expr::Call(call) = &mut node.expr {
        // The library's own negation overflows, and its own equality tells 1 from 1.0.
        match call.func_name.as_str() {
            "-_" => NEGATED.clone_into(&mut call.func_name),
            "_==_" => EQUAL.clone_into(&mut call.func_name),
            "_!=_" => UNEQUAL.clone_into(&mut call.func_name),
            // Nor does it have optional fields of maps, or numbers of other types as places in lists.
            "_[_]" => INDEX.clone_into(&mut call.func_name),
            "_[?_]" | "_?._" => PERHAPS.clone_into(&mut call.func_name),
            _ => {}
        }
    }
    if let Expr::Call(call) = &node.expr
        && let Some(expanded) = of_call(call)
    {
        *node = expanded;
    }
    Ok(())
}

/// What a call stands for, when it is one of a macro.
fn of_call(call: &CallExpr) -> Option<Expression> {
    let target = call.target.as_deref()?;
    let names: Vec<Option<&str>> = call
        .args
        .iter()
        .map(|arg| match &arg.expr {
            Expr::Ident(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    match (
        call.func_name.as_str(),
        call.args.as_slice(),
        names.as_slice(),
    ) {
        (name @ ("optMap" | "optFlatMap"), [_, body], [Some(variable), _]) => {
            let template = if name == "optMap" {
                "__target__.hasValue() ? optional.of(__body__) : optional.none()"
            } else {
                "__target__.hasValue() ? __body__ : optional.none()"
            };
            let value = of_target("value", target);
            filled(
                template,
                &[
                    ("__target__", target.clone()),
                    ("__body__", bound(variable, value, body.clone())),
                ],
            )
        }
        ("sortBy", [_, key], [Some(variable), _]) => {
            let keys = filled(
                "__target__.map(__pair__, __body__)",
                &[
                    ("__target__", target.clone()),
                    ("__body__", bound(variable, ident(PAIR), key.clone())),
                ],
            )?;
            Some(global(SORTED, vec![target.clone(), keys]))
        }
        (name, [_, _, bodies @ ..], [Some(first), Some(second), ..]) => {
            let template = match (name, bodies.len()) {
                ("all", 1) => "__target__.all(__pair__, __0__)",
                ("exists", 1) => "__target__.exists(__pair__, __0__)",
                ("existsOne" | "exists_one", 1) => "__target__.exists_one(__pair__, __0__)",
                ("transformMap", 1) => "__target__.map(__pair__, {__pair__[0]: __0__})",
                ("transformMap", 2) => "__target__.map(__pair__, __0__, {__pair__[0]: __1__})",
                ("transformList" | "transformMapEntry", 1) => "__target__.map(__pair__, __0__)",
                ("transformList" | "transformMapEntry", 2) => {
                    "__target__.map(__pair__, __0__, __1__)"
                }
                _ => return None,
            };
            let both = |body: &Expression| {
                let inner = bound(second, part(1), body.clone());
                bound(first, part(0), inner)
            };
            let mut filling = vec![("__target__", global(PAIRS, vec![target.clone()]))];
            let names = ["__0__", "__1__"];
            filling.extend(names.into_iter().zip(bodies.iter().map(both)));
            let expanded = filled(template, &filling)?;
            Some(if name.starts_with("transformMap") {
                global(MERGED, vec![expanded])
            } else {
                expanded
            })
        }
        _ => None,
    }
}

fn node(expr: Expr) -> Expression {
    Expression { id: 0, expr }
}

fn ident(name: &str) -> Expression {
    node(Expr::Ident(name.to_owned()))
}

fn global(name: &str, args: Vec<Expression>) -> Expression {
    node(Expr::Call(CallExpr {
        func_name: name.to_owned(),
        target: None,
        args,
    }))
}

fn of_target(name: &str, target: &Expression) -> Expression {
    node(Expr::Call(CallExpr {
        func_name: name.to_owned(),
        target: Some(Box::new(target.clone())),
        args: Vec::new(),
    }))
}

/// `__pair__[index]`.
fn part(index: usize) -> Expression {
    let source = format!("{PAIR}[{index}]");
    Parser::new().parse(&source).unwrap_or_default()
}

/// An expression with a variable in it: a comprehension over nothing, as cel-go writes `cel.bind`.
fn bound(variable: &str, value: Expression, body: Expression) -> Expression {
    node(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: node(Expr::List(ListExpr::new(Vec::new()))),
        iter_var: "#unused".to_owned(),
        iter_var2: None,
        accu_var: variable.to_owned(),
        accu_init: value,
        loop_cond: Parser::new().parse("false").unwrap_or_default(),
        loop_step: ident(variable),
        result: body,
    })))
}

/// A template with its variables replaced.
fn filled(template: &str, filling: &[(&str, Expression)]) -> Option<Expression> {
    let mut parsed = Parser::new().parse(template).ok()?;
    fill(&mut parsed, filling);
    Some(parsed)
}

/// Templates are shallow; what stands in them is not looked into.
fn fill(node: &mut Expression, filling: &[(&str, Expression)]) {
    if let Expr::Ident(name) = &node.expr {
        if let Some((_, with)) = filling.iter().find(|(variable, _)| variable == name) {
            *node = with.clone();
        }
        return;
    }
    match &mut node.expr {
        Expr::Call(call) => {
            for part in call
                .target
                .iter_mut()
                .map(AsMut::as_mut)
                .chain(&mut call.args)
            {
                fill(part, filling);
            }
        }
        Expr::Comprehension(all) => {
            for part in [&mut all.iter_range, &mut all.loop_step] {
                fill(part, filling);
            }
        }
        Expr::List(list) => list
            .elements
            .iter_mut()
            .for_each(|part| fill(part, filling)),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    fill(&mut entry.value, filling);
                }
            }
        }
        _ => {}
    }
}

pub(super) fn register(context: &mut Context<'_>) {
    context.add_function(PAIRS, pairs);
    context.add_function(MERGED, merged);
    context.add_function(SORTED, sorted);
    context.add_function(NEGATED, negated);
}

type Outcome = Result<Value, ExecutionError>;

fn list(items: Vec<Value>) -> Value {
    Value::List(Arc::new(items))
}

/// Index and value of each item of a list, key and value of each entry of a map.
fn pairs(of: Value) -> Outcome {
    match of {
        Value::List(items) => {
            let pairs = (0_i64..)
                .zip(items.iter())
                .map(|(index, item)| list(vec![Value::Int(index), item.clone()]));
            Ok(list(pairs.collect()))
        }
        Value::Map(map) => {
            let mut entries: Vec<(&Key, &Value)> = map.map.iter().collect();
            entries.sort_by_key(|(key, _)| format!("{key:?}"));
            let pairs = entries
                .into_iter()
                .map(|(key, value)| list(vec![of_key(key), value.clone()]));
            Ok(list(pairs.collect()))
        }
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// One map of all entries of some.
fn merged(maps: Arc<Vec<Value>>) -> Outcome {
    let mut all = HashMap::new();
    for map in maps.iter() {
        let Value::Map(map) = map else {
            return Err(ExecutionError::NoSuchOverload);
        };
        for (key, value) in map.map.iter() {
            if all.insert(key.clone(), value.clone()).is_some() {
                let why = "insert failed: key already exists";
                return Err(ExecutionError::function_error("transformMapEntry", why));
            }
        }
    }
    Ok(Value::Map(Map { map: Arc::new(all) }))
}

fn negated(value: Value) -> Outcome {
    match value {
        Value::Int(number) => match number.checked_neg() {
            Some(number) => Ok(Value::Int(number)),
            None => Err(ExecutionError::function_error(NEGATED, "integer overflow")),
        },
        Value::Float(number) => Ok(Value::Float(-number)),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// Items in the order of their keys.
fn sorted(Arguments(arguments): Arguments) -> Outcome {
    let [Value::List(items), Value::List(keys)] = arguments.as_slice() else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let mut both: Vec<(&Value, &Value)> = keys.iter().zip(items.iter()).collect();
    if both
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.0.partial_cmp(b.0).is_none()))
    {
        return Err(ExecutionError::NoSuchOverload);
    }
    both.sort_by(|a, b| a.0.partial_cmp(b.0).unwrap_or(std::cmp::Ordering::Equal));
    Ok(list(
        both.into_iter().map(|(_, item)| item.clone()).collect(),
    ))
}
