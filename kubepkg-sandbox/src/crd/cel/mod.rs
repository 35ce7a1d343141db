//! CEL as the API server has it for CRDs: the language of `kube-cel`, with what it leaves out.
//!
//! `kube-cel` brings the interpreter and the libraries of Kubernetes. Added here are `type()`, `dyn()`, comprehensions
//! over two variables, `optMap`, `optFlatMap` and `sortBy`, and the words of cel-go for what goes wrong.
//! There is no limit on the work of a rule, so those who run foreign ones must have one.

mod check;
mod cost;
mod fit;
mod functions;
mod library;
mod macros;
mod parse;
mod typed;
mod values;

use std::sync::Arc;

use cel_syntax::common::ast::{EntryExpr, Expr, IdedEntryExpr, IdedExpr, MapEntryExpr};
use kube_cel::KubeCelExt as _;
use kube_cel::cel::parser::{Expression, Parser};
use kube_cel::cel::{self, Context, ExecutionError};
use serde_json::Value;

use super::kept::Kept;

pub(super) use check::{Checked, check};
pub(super) use cost::{Declared, estimate};
pub(super) use fit::{Type, of_schema};
pub(super) use values::as_cel;

/// An expression has at most as many bytes as a request to the API server.
const MAX_SOURCE: usize = 3 * 1024 * 1024;

/// How deep an expression may be nested.
const MAX_NESTING: usize = 200;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Program(Expression);

impl Program {
    /// The value of the expression in a scope.
    pub(super) fn run(&self, scope: &Context<'_>) -> Result<cel::Value, Fault> {
        cel::Value::resolve(&self.0, scope).map_err(|error| Fault {
            is_gap: matches!(
                error,
                ExecutionError::UndeclaredReference(_)
                    | ExecutionError::NotSupportedAsMethod { .. }
                    | ExecutionError::UnsupportedFunctionCallIdentifierType(_)
                    | ExecutionError::UnsupportedFieldsConstruction(_)
            ),
            words: in_words(&error),
        })
    }

    /// Whether it speaks of a variable.
    pub(super) fn uses(&self, variable: &str) -> bool {
        self.0.references().has_variable(variable)
    }
}

/// Why an expression has no value.
pub(super) struct Fault {
    /// In the words of cel-go, where those are known.
    pub(super) words: String,
    /// Whether the interpreter does not know what the API server knows.
    pub(super) is_gap: bool,
}

type Compiled = Result<Arc<Program>, String>;

/// Compiles an expression, or says why that can't be.
pub(super) fn program(source: &str) -> Compiled {
    static COMPILED: Kept<Compiled> = Kept::new();
    COMPILED.or_compile(source, compile)
}

fn compile(source: &str) -> Compiled {
    if source.len() > MAX_SOURCE {
        return Err("expression too long".to_owned());
    }
    let parsed = Parser::new()
        .enable_optional_syntax(true)
        .parse(source)
        .map_err(|errors| {
            let all: Vec<String> = errors
                .errors
                .iter()
                .map(|error| in_source(source, error.pos, &error.msg))
                .collect();
            all.join("\n")
        })?;
    let expanded = macros::expand(parsed, source)?;
    Ok(Arc::new(Program(expanded)))
}

/// An error at a line and a column, with the line, as cel-go shows it.
fn in_source(source: &str, (line, column): (isize, isize), message: &str) -> String {
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

/// The functions and types of the API server.
pub(super) fn context() -> Context<'static> {
    let mut context = Context::default().with_all();
    macros::register(&mut context);
    typed::register(&mut context);
    functions::register(&mut context);
    context
}

/// An error as cel-go words it, where that is known.
fn in_words(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(_, cel::Value::UInt(_), _) => {
            "unsigned integer overflow".to_owned()
        }
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        ExecutionError::IndexOutOfBounds(cel::Value::Int(index)) => {
            format!("index out of bounds: {index}")
        }
        ExecutionError::UnsupportedListIndex(index) => {
            format!("unsupported index type '{}' in list", typed::name(index))
        }
        _ => "no such overload".to_owned(),
    }
}

/// Evaluates an expression over `self`, which has no schema.
///
/// A value is an object with its `type` and `value`: numbers are texts, bytes are in base64, maps are lists of pairs
/// that are sorted by key, and an optional has the value in it or null.
///
/// # Errors
/// Why it does not compile, or what went wrong, in the words of cel-go where those are known.
pub fn evaluate(source: &str, this: &Value) -> Result<Value, String> {
    check(source, &[("self", Type::Dyn)])?;
    let program = program(source)?;
    let mut scope = context();
    scope.add_variable_from_value("self", as_cel(this, None));
    program
        .run(&scope)
        .map(|value| typed::shown(&value))
        .map_err(|fault| fault.words)
}

/// The type of an expression over `self`, which has no schema.
///
/// # Errors
/// Why it does not compile, in the words of cel-go.
pub fn type_of(source: &str) -> Result<String, String> {
    let checked = check(source, &[("self", Type::Dyn)])?;
    // Errors call these otherwise than types do.
    let name = checked.of.to_string();
    let name = name.replace("duration", "google.protobuf.Duration");
    Ok(name.replace("timestamp", "google.protobuf.Timestamp"))
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

fn map_entry(entry: &IdedEntryExpr) -> Option<&MapEntryExpr> {
    match &entry.expr {
        EntryExpr::MapEntry(entry) => Some(entry),
        EntryExpr::StructField(_) => None,
    }
}
