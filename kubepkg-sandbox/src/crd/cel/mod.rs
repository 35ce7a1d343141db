//! CEL as the API server has it for CRDs.
//!
//! An expression is read (`parse`), its types are found out (`check`), what it may cost is estimated (`cost`), and it is
//! run (`run`) until it has cost too much. The parser is `cel`'s, the values and many functions are `kube-cel`'s; what
//! comes between follows cel-go, in what is refused, in what things cost and in its words.

mod check;
mod cost;
mod fit;
mod functions;
mod library;
mod parse;
mod run;
mod together;
mod typed;
mod values;

use std::sync::Arc;

use cel_syntax::common::ast::{EntryExpr, Expr, IdedEntryExpr, IdedExpr, MapEntryExpr};
use kube_cel::cel::parser::{Expression, Parser};
use serde_json::Value;

use super::kept::Kept;

pub(crate) use check::{Checked, check};
pub(super) use cost::{Declared, estimate};
pub(crate) use fit::Type;
pub(super) use fit::of_schema;
pub(crate) use kube_cel::cel::Value as Held;
pub(crate) use run::{Fault, Outcome, Program, Variables};
pub(crate) use values::{RESERVED, as_cel};

/// How deep an expression may be nested.
const MAX_NESTING: usize = 200;

/// A call of the library's interpreter.
fn library_call(source: &str) -> Result<Arc<Expression>, String> {
    static PARSED: Kept<Result<Arc<Expression>, String>> = Kept::new();
    PARSED.or_compile(source, |source| {
        let parsed = Parser::new().parse(source);
        parsed.map(Arc::new).map_err(|errors| errors.to_string())
    })
}

/// An error at a line and a column, with the line, as cel-go shows it.
fn in_source(source: &str, (line, column): (isize, isize), message: &str) -> String {
    let message = if message.starts_with("invalid bytes literal") {
        "unable to unescape string"
    } else {
        message
    };
    // The parsers count these otherwise.
    let column = match message {
        "unsupported syntax: '`'" => column + 1,
        _ if source.is_empty() => 0,
        _ => column,
    };
    let text = usize::try_from(line - 1)
        .ok()
        .and_then(|line| source.lines().nth(line));
    let dots = ".".repeat(usize::try_from(column - 1).unwrap_or(0));
    let shown = text.map_or_else(String::new, |text| format!("\n | {text}\n | {dots}^"));
    format!("ERROR: <input>:{line}:{column}: {message}{shown}")
}

/// Evaluates an expression over `self`, which has no schema.
///
/// A value is an object with its `type` and `value`: numbers are texts, bytes are in base64, maps are lists of pairs
/// that are sorted by key, and an optional has the value in it or null.
///
/// # Errors
/// Why it does not compile, or what went wrong, in the words of cel-go where those are known.
pub fn evaluate(source: &str, this: &Value) -> Result<Value, String> {
    let checked = check(source, &[("self", Type::Dyn)])?;
    let program = Program::new(&checked)?;
    let (outcome, _) = program.run(&[("self", as_cel(this, None))]);
    match outcome {
        Ok(value) => Ok(typed::shown(&value)),
        Err(fault) => Err(fault.words().to_owned()),
    }
}

/// The type of an expression over `self`, which has no schema.
///
/// # Errors
/// Why it does not compile, in the words of cel-go.
pub fn type_of(source: &str) -> Result<String, String> {
    let checked = check(source, &[("self", Type::Dyn)])?;
    Ok(named(&checked.of))
}

/// A type by its whole name. Errors call some otherwise.
pub(crate) fn named(of: &Type) -> String {
    match of {
        Type::Of(name, parts) => {
            let parts: Vec<String> = parts.iter().map(named).collect();
            format!("{name}({})", parts.join(", "))
        }
        plain => typed::name_of_type(plain),
    }
}
/// The parts of an expression.
fn parts(node: &IdedExpr) -> Vec<&IdedExpr> {
    match &node.expr {
        Expr::Call(call) => {
            let target = call.target.iter().map(AsRef::as_ref);
            target.chain(&call.args).collect()
        }
        Expr::Select(select) => vec![&select.operand],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map
            .entries
            .iter()
            .filter_map(map_entry)
            .flat_map(|entry| [&entry.key, &entry.value])
            .collect(),
        Expr::Comprehension(all) => vec![
            &all.iter_range,
            &all.accu_init,
            &all.loop_cond,
            &all.loop_step,
            &all.result,
        ],
        _ => Vec::new(),
    }
}

/// The same, to be changed.
fn parts_mut(node: &mut IdedExpr) -> Vec<&mut IdedExpr> {
    match &mut node.expr {
        Expr::Call(call) => {
            let target = call.target.iter_mut().map(AsMut::as_mut);
            target.chain(&mut call.args).collect()
        }
        Expr::Select(select) => vec![&mut select.operand],
        Expr::List(list) => list.elements.iter_mut().collect(),
        Expr::Map(map) => map
            .entries
            .iter_mut()
            .filter_map(|entry| match &mut entry.expr {
                EntryExpr::MapEntry(entry) => Some(entry),
                EntryExpr::StructField(_) => None,
            })
            .flat_map(|entry| [&mut entry.key, &mut entry.value])
            .collect(),
        Expr::Comprehension(all) => vec![
            &mut all.iter_range,
            &mut all.accu_init,
            &mut all.loop_cond,
            &mut all.loop_step,
            &mut all.result,
        ],
        _ => Vec::new(),
    }
}

fn map_entry(entry: &IdedEntryExpr) -> Option<&MapEntryExpr> {
    match &entry.expr {
        EntryExpr::MapEntry(entry) => Some(entry),
        EntryExpr::StructField(_) => None,
    }
}
