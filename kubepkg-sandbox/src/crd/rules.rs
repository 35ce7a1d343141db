//! Rules in CEL: `x-kubernetes-validations`.
//!
//! What `kube-cel` can't evaluate (optional types, and with them `optionalOldSelf`; comprehensions over two variables;
//! `cel.bind`) is passed over: a test server that refuses good objects is worse than one that accepts bad ones.
//! There is no budget for the time that a rule takes.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube_cel::KubeCelExt as _;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{self, Context, ExecutionError, Program};
use serde_json::Value;

use super::MAX_DEPTH;
use super::path::FieldError;
use super::prune::is_true;

/// Programs that are kept compiled.
const MAX_PROGRAMS: usize = 1000;
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Runs the rules of a schema on an object, and on what it replaces.
pub(super) fn check(object: &Value, old: Option<&Value>, schema: &Value) -> Vec<FieldError> {
    let mut walk = Walk {
        context: Context::default().with_all(),
        errors: Vec::new(),
    };
    walk.value("", object, old, schema, 0);
    walk.errors
}

struct Walk {
    context: Context<'static>,
    errors: Vec<FieldError>,
}

fn program(source: &str) -> Option<Arc<Program>> {
    static COMPILED: LazyLock<Mutex<BTreeMap<String, Option<Arc<Program>>>>> =
        LazyLock::new(Mutex::default);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if compiled.len() > MAX_PROGRAMS {
        compiled.clear();
    }
    let program = compiled
        .entry(source.to_owned())
        .or_insert_with(|| Program::compile(source).ok().map(Arc::new));
    program.clone()
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
        scope.add_variable_from_value("self", as_cel(value, Some(schema), 0));
        if let Some(old) = old {
            scope.add_variable_from_value("oldSelf", as_cel(old, Some(schema), 0));
        }
        let mut found = Vec::new();
        for rule in rules {
            found.extend(outcome(path, value, old, rule, &scope));
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
    if is_true(rule, "optionalOldSelf") {
        return None;
    }
    let program = program(source)?;
    let is_transition = program.references().has_variable("oldSelf");
    // A rule about the change has nothing to say without one; what was so before may stay so.
    if (is_transition && old.is_none()) || (!is_transition && old == Some(value)) {
        return None;
    }
    match program.execute(scope) {
        Ok(cel::Value::Bool(true))
        | Err(
            ExecutionError::UndeclaredReference(_)
            | ExecutionError::NotSupportedAsMethod { .. }
            | ExecutionError::UnsupportedFunctionCallIdentifierType(_)
            | ExecutionError::UnsupportedFieldsConstruction(_),
        ) => None,
        Ok(_) => {
            let detail = message(rule, scope).unwrap_or_else(|| format!("failed rule: {source}"));
            let at = format!("{path}{}", text("fieldPath"));
            Some(FieldError::rule(&at, value, text("reason"), &detail))
        }
        Err(error) => {
            let detail = format!("{} evaluating rule: {source}", in_words(&error));
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
        let made = program(source)?.execute(scope).ok()?;
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

/// An error as cel-go words it, where that is known.
fn in_words(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        ExecutionError::IndexOutOfBounds(cel::Value::Int(index)) => {
            format!("index out of bounds: {index}")
        }
        _ => "no such overload".to_owned(),
    }
}

/// A value as rules see it: fields whose names mean something in CEL are escaped, and texts of some formats are
/// more than texts.
fn as_cel(value: &Value, schema: Option<&Value>, depth: usize) -> cel::Value {
    let text = |key: &str| schema.and_then(|it| it.get(key)).and_then(Value::as_str);
    match value {
        _ if depth > MAX_DEPTH => cel::Value::Null,
        Value::Null => cel::Value::Null,
        Value::Bool(flag) => cel::Value::Bool(*flag),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(int), _) if text("type") != Some("number") => cel::Value::Int(int),
            (_, Some(float)) => cel::Value::Float(float),
            _ => cel::Value::Null,
        },
        Value::String(plain) => {
            let plain_text = || cel::Value::String(Arc::new(plain.clone()));
            match text("format") {
                Some("byte") => STANDARD
                    .decode(plain)
                    .map_or_else(|_| plain_text(), |bytes| cel::Value::Bytes(Arc::new(bytes))),
                Some("date-time") => converted("timestamp(self)", plain).unwrap_or_else(plain_text),
                Some("date") => {
                    let midnight = format!("{plain}T00:00:00Z");
                    converted("timestamp(self)", &midnight).unwrap_or_else(plain_text)
                }
                Some("duration") => converted("duration(self)", plain).unwrap_or_else(plain_text),
                _ => plain_text(),
            }
        }
        Value::Array(items) => {
            let schema = schema.and_then(|it| it.get("items"));
            let items = items.iter().map(|item| as_cel(item, schema, depth + 1));
            cel::Value::List(Arc::new(items.collect()))
        }
        Value::Object(fields) => {
            let property = |key: &str| schema.and_then(|it| it.get("properties")?.get(key));
            let additional = schema.and_then(|it| it.get("additionalProperties"));
            let map: HashMap<Key, cel::Value> = fields
                .iter()
                .map(|(key, value)| {
                    let (name, schema) = match property(key) {
                        Some(schema) => (escaped(key), Some(schema)),
                        // Keys of maps are data.
                        None if additional.is_some() => (key.clone(), additional),
                        None => (escaped(key), None),
                    };
                    (Key::from(name), as_cel(value, schema, depth + 1))
                })
                .collect();
            cel::Value::Map(Map { map: Arc::new(map) })
        }
    }
}

/// What a text is to a function of CEL.
fn converted(source: &str, text: &str) -> Option<cel::Value> {
    let mut context = Context::default();
    context.add_variable_from_value("self", cel::Value::String(Arc::new(text.to_owned())));
    program(source)?.execute(&context).ok()
}

fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}
