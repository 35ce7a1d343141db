//! Types of expressions, and how one fits another: those of cel-go's checker.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::values::escaped;
use crate::crd::MAX_DEPTH;

/// The type of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// Something went wrong; nothing more is said of it.
    Error,
    /// Anything, as far as one knows before it runs.
    Dyn,
    /// A type without parts: `int`, `kubernetes.Quantity`.
    Plain(&'static str),
    /// `list`, `map`, `optional_type` or `type` of others.
    Of(&'static str, Vec<Type>),
    Object(Arc<Object>),
    /// A variable, which stands for a type that is found out.
    Var(usize),
}

/// A type with fields.
#[derive(Debug)]
pub(crate) struct Object {
    name: String,
    pub(crate) fields: BTreeMap<String, Type>,
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Type {
    pub(crate) fn list(of: Type) -> Self {
        Self::Of("list", vec![of])
    }

    pub(crate) fn map(key: Type, value: Type) -> Self {
        Self::Of("map", vec![key, value])
    }

    /// A type with these fields and no other.
    pub(crate) fn object<'f>(
        name: &str,
        fields: impl IntoIterator<Item = (&'f str, Type)>,
    ) -> Self {
        let fields = fields.into_iter();
        Self::Object(Arc::new(Object {
            name: name.to_owned(),
            fields: fields.map(|(name, of)| (name.to_owned(), of)).collect(),
        }))
    }

    pub(crate) fn optional(of: Type) -> Self {
        Self::Of("optional_type", vec![of])
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// What is in an optional.
    pub(crate) fn in_optional(&self) -> Option<&Type> {
        match self {
            Self::Of("optional_type", parts) => parts.first(),
            _ => None,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error => f.write_str("!error!"),
            Self::Dyn => f.write_str("dyn"),
            Self::Plain(name) => f.write_str(name),
            Self::Of(name, parts) => {
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                write!(f, "{name}({})", parts.join(", "))
            }
            Self::Object(object) => f.write_str(&object.name),
            Self::Var(number) => write!(f, "_var{number}"),
        }
    }
}

/// The type that a schema gives to values; none for those that rules may not look at.
pub(crate) fn of_schema(schema: &Value, resource: bool) -> Option<Type> {
    at(schema, resource, "object", 0)
}

fn at(schema: &Value, resource: bool, name: &str, depth: usize) -> Option<Type> {
    if depth > MAX_DEPTH {
        return None;
    }
    let flag = |schema: &Value, key: &str| schema.get(key) == Some(&Value::Bool(true));
    let embedded = |schema: &Value| flag(schema, "x-kubernetes-embedded-resource");
    if flag(schema, "x-kubernetes-int-or-string") {
        return Some(Type::Dyn);
    }
    let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
    Some(match text("type") {
        "array" => {
            let items = schema.get("items").filter(|it| it.is_object())?;
            let name = format!("{name}.@idx");
            Type::list(at(items, embedded(items), &name, depth + 1)?)
        }
        "object" => {
            let additional = schema.get("additionalProperties");
            if let Some(values) = additional.filter(|it| it.is_object() && !resource) {
                let name = format!("{name}.@elem");
                let values = at(values, embedded(values), &name, depth + 1)?;
                return Some(Type::map(Type::Plain("string"), values));
            }
            let mut fields = BTreeMap::new();
            let properties = schema.get("properties").and_then(Value::as_object);
            for (key, schema) in properties.into_iter().flatten() {
                let name = format!("{name}.{key}");
                if let Some(key) = escaped(key)
                    && let Some(found) = at(schema, embedded(schema), &name, depth + 1)
                {
                    fields.insert(key, found);
                }
            }
            if resource {
                let string = Type::Plain("string");
                let metadata = ["name", "generateName"].map(|key| (key.to_owned(), string.clone()));
                let metadata = Object {
                    name: format!("{name}.metadata"),
                    fields: BTreeMap::from(metadata),
                };
                fields.insert("kind".to_owned(), string.clone());
                fields.insert("apiVersion".to_owned(), string);
                fields.insert("metadata".to_owned(), Type::Object(Arc::new(metadata)));
            }
            let name = name.to_owned();
            Type::Object(Arc::new(Object { name, fields }))
        }
        "string" => Type::Plain(match text("format") {
            "byte" => "bytes",
            "duration" => "duration",
            "date" | "date-time" => "timestamp",
            _ => "string",
        }),
        "boolean" => Type::Plain("bool"),
        "number" => Type::Plain("double"),
        "integer" => Type::Plain("int"),
        _ => return None,
    })
}

/// What variables stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    found: BTreeMap<usize, Type>,
    next: usize,
}

impl Known {
    pub(crate) fn variable(&mut self) -> Type {
        self.next += 1;
        Type::Var(self.next)
    }

    /// A type with what is known in the place of variables; others become dynamic if `finish`.
    pub(crate) fn filled(&self, of: &Type, finish: bool) -> Type {
        match of {
            Type::Var(number) => match self.found.get(number) {
                Some(found) => self.filled(found, finish),
                None if finish => Type::Dyn,
                None => of.clone(),
            },
            Type::Of(name, parts) => {
                let parts = parts.iter().map(|part| self.filled(part, finish));
                Type::Of(name, parts.collect())
            }
            other => other.clone(),
        }
    }

    /// Whether values of types fit others, one by one. What was found out stays only if they do.
    pub(crate) fn fit_all(&mut self, given: &[Type], wanted: &[Type]) -> bool {
        let before = self.found.clone();
        let fits = given.len() == wanted.len()
            && given
                .iter()
                .zip(wanted)
                .all(|(given, wanted)| self.fits_at(given, wanted));
        if !fits {
            self.found = before;
        }
        fits
    }

    pub(crate) fn fits(&mut self, given: &Type, wanted: &Type) -> bool {
        self.fit_all(std::slice::from_ref(given), std::slice::from_ref(wanted))
    }

    fn fits_at(&mut self, one: &Type, other: &Type) -> bool {
        if let Type::Var(number) = other {
            match self.replaces(one, *number) {
                (true, _) => return true,
                (false, true) => return false,
                (false, false) => {}
            }
        }
        if let Type::Var(number) = one {
            return self.replaces(other, *number).0;
        }
        if one.is_dyn() || other.is_dyn() {
            return true;
        }
        let takes_null = |of: &Type| {
            matches!(
                of,
                Type::Plain("null" | "timestamp" | "duration")
                    | Type::Object(_)
                    | Type::Of("optional_type", _)
            ) || matches!(of, Type::Plain(name) if name.contains('.'))
        };
        match (one, other) {
            (Type::Plain("null"), other) => takes_null(other),
            (one, Type::Plain("null")) => takes_null(one),
            // A type is a type.
            (Type::Of("type", _), Type::Of("type", _)) => true,
            (Type::Of(a, one), Type::Of(b, other)) => {
                a == b
                    && one.len() == other.len()
                    && one
                        .iter()
                        .zip(other)
                        .all(|(one, other)| self.fits_at(one, other))
            }
            (one, other) => one == other,
        }
    }

    /// Whether a type can stand for a variable, and whether the variable already stood for one.
    fn replaces(&mut self, with: &Type, variable: usize) -> (bool, bool) {
        if *with == Type::Var(variable) {
            return (true, true);
        }
        if let Some(found) = self.found.get(&variable).cloned() {
            if *with == found {
                return (true, true);
            }
            if self.fits_at(with, &found) {
                let general = more_general(with, &found);
                if !self.mentions(&general, variable) {
                    self.found.insert(variable, general);
                }
                return (true, true);
            }
            return (false, true);
        }
        if self.mentions(with, variable) {
            return (false, false);
        }
        self.found.insert(variable, with.clone());
        (true, false)
    }

    fn mentions(&self, of: &Type, variable: usize) -> bool {
        match of {
            Type::Var(number) if *number == variable => true,
            Type::Var(number) => self
                .found
                .get(number)
                .is_some_and(|found| self.mentions(found, variable)),
            Type::Of(_, parts) => parts.iter().any(|part| self.mentions(part, variable)),
            _ => false,
        }
    }
}

/// The one of two types that says less.
pub(crate) fn more_general(one: &Type, other: &Type) -> Type {
    if says_less(one, other) { one } else { other }.clone()
}

fn says_less(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::Dyn | Type::Error | Type::Var(_), _) => true,
        (_, Type::Dyn | Type::Error | Type::Var(_)) => false,
        (Type::Of(a, one), Type::Of(b, other)) => {
            a == b
                && one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| says_less(one, other))
        }
        (one, other) => one == other,
    }
}
