//! Label and field selectors, with the messages of `k8s.io/apimachinery/pkg/labels` and `fields`.

use std::borrow::Cow;

use serde_json::Value;

use super::failure::Failure;
use super::kind::Kind;
use super::names;
use super::object;

/// A condition on labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Labels(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    Exists(String),
    Missing(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Greater(String, i64),
    Less(String, i64),
}

impl Labels {
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let mut parser = Parser {
            tokens: tokens(text),
            at: 0,
        };
        parser.selector().map(Self).map_err(Failure::bad_request)
    }

    /// A selector of `matchLabels` and `matchExpressions`; `None` when it is not there.
    pub(crate) fn of(selector: &Value) -> Option<Self> {
        let selector = selector.as_object()?;
        let mut all = Vec::new();
        let equal = selector.get("matchLabels").and_then(Value::as_object);
        for (key, value) in equal.into_iter().flatten() {
            let value = value.as_str().unwrap_or_default().to_owned();
            all.push(Requirement::In(key.clone(), vec![value]));
        }
        let expressions = selector.get("matchExpressions").unwrap_or(&Value::Null);
        for expression in object::list(expressions) {
            let key = object::text(expression, "key").to_owned();
            let values: Vec<String> = object::list(&expression["values"])
                .filter_map(|value| value.as_str().map(str::to_owned))
                .collect();
            all.push(match object::text(expression, "operator") {
                "In" => Requirement::In(key, values),
                "NotIn" => Requirement::NotIn(key, values),
                "Exists" => Requirement::Exists(key),
                _ => Requirement::Missing(key),
            });
        }
        Some(Self(all))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        let get = |key: &str| labels.get(key).and_then(Value::as_str);
        self.0.iter().all(|requirement| match requirement {
            Requirement::Exists(key) => get(key).is_some(),
            Requirement::Missing(key) => get(key).is_none(),
            Requirement::In(key, values) => {
                get(key).is_some_and(|value| values.iter().any(|one| one == value))
            }
            Requirement::NotIn(key, values) => {
                get(key).is_none_or(|value| values.iter().all(|one| one != value))
            }
            Requirement::Greater(key, bound) => number(get(key)).is_some_and(|n| n > *bound),
            Requirement::Less(key, bound) => number(get(key)).is_some_and(|n| n < *bound),
        })
    }
}

fn number(value: Option<&str>) -> Option<i64> {
    value?.parse().ok()
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Symbol(symbol) => symbol,
            Self::End => "",
        }
    }
}

fn tokens(text: &str) -> Vec<Token> {
    const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", ",", "(", ")", ">", "<"];
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if rest.is_empty() {
            tokens.push(Token::End);
            return tokens;
        }
        if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            tokens.push(Token::Symbol(symbol));
            rest = rest.get(symbol.len()..).unwrap_or_default();
            continue;
        }
        let end = rest
            .find(|c: char| " \t\r\n=!,()><".contains(c))
            .unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        tokens.push(Token::Word(word.to_owned()));
        rest = tail;
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut all = Vec::new();
        loop {
            match self.peek() {
                Token::Word(_) | Token::Symbol("!") => {
                    let requirement = self
                        .requirement()
                        .map_err(|error| format!("unable to parse requirement: {error}"))?;
                    all.push(requirement);
                    match self.next() {
                        Token::End => return Ok(all),
                        Token::Symbol(",") => {
                            if !matches!(self.peek(), Token::Word(_) | Token::Symbol("!")) {
                                let found = self.peek().text();
                                return Err(format!(
                                    "found '{found}', expected: identifier after ','"
                                ));
                            }
                        }
                        other => {
                            return Err(format!(
                                "found '{}', expected: ',' or 'end of string'",
                                other.text()
                            ));
                        }
                    }
                }
                Token::End => return Ok(all),
                other @ Token::Symbol(_) => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.text()
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let missing = *self.peek() == Token::Symbol("!");
        if missing {
            self.next();
        }
        let key = match self.next() {
            Token::Word(word) => word,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        check_key(&key)?;
        if missing {
            return Ok(Requirement::Missing(key));
        }
        match self.peek().clone() {
            Token::End | Token::Symbol(",") => Ok(Requirement::Exists(key)),
            Token::Symbol("=" | "==") => {
                self.next();
                let value = self.exact_value()?;
                check_values(&key, std::slice::from_ref(&value))?;
                Ok(Requirement::In(key, vec![value]))
            }
            Token::Symbol("!=") => {
                self.next();
                let value = self.exact_value()?;
                check_values(&key, std::slice::from_ref(&value))?;
                Ok(Requirement::NotIn(key, vec![value]))
            }
            Token::Symbol(symbol @ (">" | "<")) => {
                self.next();
                let value = self.exact_value()?;
                let Ok(bound) = value.parse() else {
                    return Err(format!(
                        "values[0]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must \
                         be an integer"
                    ));
                };
                Ok(if symbol == ">" {
                    Requirement::Greater(key, bound)
                } else {
                    Requirement::Less(key, bound)
                })
            }
            Token::Word(word) if word == "in" || word == "notin" => {
                self.next();
                let values = self.values()?;
                check_values(&key, &values)?;
                Ok(if word == "in" {
                    Requirement::In(key, values)
                } else {
                    Requirement::NotIn(key, values)
                })
            }
            other => Err(format!(
                "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                other.text()
            )),
        }
    }

    fn exact_value(&mut self) -> Result<String, String> {
        match self.peek().clone() {
            Token::End | Token::Symbol(",") => Ok(String::new()),
            Token::Word(word) => {
                self.next();
                Ok(word)
            }
            other @ Token::Symbol(_) => {
                Err(format!("found '{}', expected: identifier", other.text()))
            }
        }
    }

    fn values(&mut self) -> Result<Vec<String>, String> {
        let open = self.next();
        if open != Token::Symbol("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        let mut values = Vec::new();
        let mut expect_value = true;
        loop {
            match self.next() {
                Token::Word(word) if expect_value => {
                    values.push(word);
                    expect_value = false;
                }
                Token::Symbol(",") => {
                    if expect_value {
                        values.push(String::new());
                    }
                    expect_value = true;
                }
                Token::Symbol(")") => {
                    if expect_value {
                        values.push(String::new());
                    }
                    values.sort();
                    values.dedup();
                    return Ok(values);
                }
                other if expect_value && values.is_empty() => {
                    return Err(format!(
                        "found '{}', expected: ',', ')' or identifier",
                        other.text()
                    ));
                }
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
    }
}

fn check_key(key: &str) -> Result<(), String> {
    match names::qualified_name(key).first() {
        None => Ok(()),
        Some(why) => Err(format!("<nil>: Invalid value: \"{key}\": {why}")),
    }
}

fn check_values(key: &str, values: &[String]) -> Result<(), String> {
    for (index, value) in values.iter().enumerate() {
        if let Some(why) = names::label_value(value) {
            return Err(format!(
                "values[{index}][{key}]: Invalid value: \"{value}\": {why}"
            ));
        }
    }
    Ok(())
}

/// A condition on a few fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: String,
    /// Where it stands in an object.
    pointer: String,
    value: String,
    equal: bool,
}

impl Fields {
    pub(crate) fn parse(kind: &Kind, text: &str) -> Result<Self, Failure> {
        let mut terms = Vec::new();
        for part in split_terms(text) {
            if part.is_empty() {
                continue;
            }
            let Some((field, operator, value)) = split_term(part) else {
                return Err(Failure::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{part}'"
                )));
            };
            let value = unescape(value).map_err(Failure::bad_request)?;
            let term = Term {
                field: field.to_owned(),
                pointer: pointer(kind, field),
                value,
                equal: operator != "!=",
            };
            terms.push(term);
        }
        for term in &terms {
            if !term.field.is_empty() && !known(kind, &term.field) {
                return Err(Failure::bad_request(unknown(kind, &term.field)));
            }
        }
        Ok(Self(terms))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let mut terms = self.0.iter();
        terms.all(|term| (term.value_in(object) == term.value) == term.equal)
    }
}

impl Term {
    fn value_in<'o>(&self, object: &'o Value) -> Cow<'o, str> {
        match object.pointer(&self.pointer) {
            Some(Value::String(text)) => text.into(),
            Some(Value::Null) | None => empty(&self.field).into(),
            Some(other) => other.to_string().into(),
        }
    }
}

/// Parts between commas that no backslash escapes.
fn split_terms(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

fn split_term(part: &str) -> Option<(&str, &str, &str)> {
    for (at, _) in part.char_indices() {
        let rest = part.get(at..)?;
        for operator in ["!=", "==", "="] {
            if let Some(value) = rest.strip_prefix(operator) {
                return Some((part.get(..at)?, operator, value));
            }
        }
    }
    None
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some(next @ ('\\' | ',' | '=')) => out.push(next),
                Some(next) => {
                    return Err(format!(
                        "invalid field selector: invalid escape sequence: \\{next}"
                    ));
                }
                None => {
                    return Err("invalid field selector: invalid escape sequence: \\".to_owned());
                }
            },
            ',' | '=' => {
                return Err(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(c)
                ));
            }
            _ => out.push(c),
        }
    }
    Ok(out)
}

/// Fields that can be selected by beside name and namespace: name in the selector, where it is.
/// From the conversion functions in `pkg/apis/*/v1/conversion.go` of Kubernetes.
fn selectable(kind: &Kind) -> &'static [(&'static str, &'static str)] {
    const INVOLVED: &[(&str, &str)] = &[
        ("involvedObject.kind", "/involvedObject/kind"),
        ("involvedObject.namespace", "/involvedObject/namespace"),
        ("involvedObject.name", "/involvedObject/name"),
        ("involvedObject.uid", "/involvedObject/uid"),
        ("involvedObject.apiVersion", "/involvedObject/apiVersion"),
        (
            "involvedObject.resourceVersion",
            "/involvedObject/resourceVersion",
        ),
        ("involvedObject.fieldPath", "/involvedObject/fieldPath"),
        ("reason", "/reason"),
        ("reportingComponent", "/reportingComponent"),
        ("source", "/source/component"),
        ("type", "/type"),
    ];
    // The same fields by the names of the newer group.
    const REGARDING: &[(&str, &str)] = &[
        ("regarding.kind", "/involvedObject/kind"),
        ("regarding.namespace", "/involvedObject/namespace"),
        ("regarding.name", "/involvedObject/name"),
        ("regarding.uid", "/involvedObject/uid"),
        ("regarding.apiVersion", "/involvedObject/apiVersion"),
        (
            "regarding.resourceVersion",
            "/involvedObject/resourceVersion",
        ),
        ("regarding.fieldPath", "/involvedObject/fieldPath"),
        ("reason", "/reason"),
        ("reportingController", "/reportingComponent"),
        ("type", "/type"),
    ];
    if kind.custom.is_some() {
        return &[];
    }
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "pods") => &[
            ("spec.nodeName", "/spec/nodeName"),
            ("spec.restartPolicy", "/spec/restartPolicy"),
            ("spec.schedulerName", "/spec/schedulerName"),
            ("spec.serviceAccountName", "/spec/serviceAccountName"),
            ("spec.hostNetwork", "/spec/hostNetwork"),
            ("status.phase", "/status/phase"),
            ("status.podIP", "/status/podIP"),
            ("status.podIPs", "/status/podIP"),
            ("status.nominatedNodeName", "/status/nominatedNodeName"),
        ],
        ("", "nodes") => &[("spec.unschedulable", "/spec/unschedulable")],
        ("", "namespaces") => &[("status.phase", "/status/phase")],
        ("", "secrets") => &[("type", "/type")],
        ("", "services") => &[
            ("spec.clusterIP", "/spec/clusterIP"),
            ("spec.type", "/spec/type"),
        ],
        ("", "replicationcontrollers") => &[("status.replicas", "/status/replicas")],
        ("batch", "jobs") => &[("status.successful", "/status/succeeded")],
        ("certificates.k8s.io", "certificatesigningrequests") => {
            &[("spec.signerName", "/spec/signerName")]
        }
        ("", "events") => INVOLVED,
        ("events.k8s.io", "events") => REGARDING,
        _ => &[],
    }
}

fn known(kind: &Kind, field: &str) -> bool {
    matches!(field, "metadata.name" | "metadata.namespace")
        || selectable(kind).iter().any(|(name, _)| *name == field)
        || custom_fields(kind).any(|path| path == field)
}

/// `selectableFields` of a custom resource, without the leading point.
fn custom_fields(kind: &Kind) -> impl Iterator<Item = &str> {
    let fields = kind
        .custom
        .iter()
        .flat_map(|c| object::list(&c.written["selectableFields"]));
    fields.filter_map(|field| field["jsonPath"].as_str()?.strip_prefix('.'))
}

/// Kinds with fields of their own have a shorter message.
fn unknown(kind: &Kind, field: &str) -> String {
    if kind.custom.is_some() {
        return format!("field label not supported: {field}");
    }
    if selectable(kind).is_empty() {
        return format!(
            "\"{field}\" is not a known field selector: only \"metadata.name\", \
             \"metadata.namespace\""
        );
    }
    match kind.plural.as_str() {
        "jobs" => format!("field label {field:?} not supported for Job"),
        _ => format!("field label not supported: {field}"),
    }
}

/// Where a field that can be selected stands in an object.
fn pointer(kind: &Kind, field: &str) -> String {
    match selectable(kind).iter().find(|(name, _)| *name == field) {
        Some((_, pointer)) => (*pointer).to_owned(),
        None => format!("/{}", field.replace('.', "/")),
    }
}

/// What an absent field counts as.
fn empty(field: &str) -> &'static str {
    match field {
        "spec.unschedulable" | "spec.hostNetwork" => "false",
        "status.replicas" | "status.successful" => "0",
        _ => "",
    }
}
