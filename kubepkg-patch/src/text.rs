//! Documents as text, opened only as far as a patch looks into them: what is not looked into keeps its bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kubepkg_yaml::{JsonScanner, JsonSyntaxError, JsonToken, to_go_json, unescape_json};
use serde_json::Value;

/// How deep documents and patches may be nested, and how deep a path may reach.
pub(crate) const MAX_DEPTH: usize = 512;

/// A value of a document. Go's JSON null is none of these but a missing node.
#[derive(Debug, Clone)]
pub(crate) enum Node<'t> {
    /// Text that nobody has looked into.
    Raw(Cow<'t, str>),
    /// The value null of an operation, which isn't quite the null of a document.
    Null,
    Object(Object<'t>),
    Array(Vec<Option<Node<'t>>>),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Object<'t> {
    /// Keys as they stand in the text, with those that stand there twice.
    pub(crate) keys: Vec<String>,
    pub(crate) fields: BTreeMap<String, Option<Node<'t>>>,
}

impl<'t> Object<'t> {
    pub(crate) fn set(&mut self, key: &str, value: Option<Node<'t>>) {
        if !self.fields.contains_key(key) {
            self.keys.push(key.to_owned());
        }
        self.fields.insert(key.to_owned(), value);
    }

    /// Whether the key was there.
    pub(crate) fn remove(&mut self, key: &str) -> bool {
        if let Some(at) = self.keys.iter().position(|known| known == key) {
            self.keys.remove(at);
        }
        self.fields.remove(key).is_some()
    }
}

/// Why a text is no document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextError {
    Syntax(JsonSyntaxError),
    Depth,
}

/// Checks a whole text.
pub(crate) fn check(text: &str) -> Result<(), TextError> {
    let mut scanner = JsonScanner::new(text.as_bytes());
    let mut depth = 0_usize;
    while let Some(token) = scanner.next().map_err(TextError::Syntax)? {
        match token {
            JsonToken::ArrayStart | JsonToken::ObjectStart => depth += 1,
            JsonToken::ArrayEnd | JsonToken::ObjectEnd => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(TextError::Depth);
        }
    }
    Ok(())
}

/// The first level of a checked text.
pub(crate) enum Level<'t> {
    Object(Vec<(String, &'t str)>),
    Array(Vec<&'t str>),
    Null,
    /// What Go calls the kind of a scalar.
    Scalar(&'static str),
}

pub(crate) fn level(text: &str) -> Level<'_> {
    let mut scanner = JsonScanner::new(text.as_bytes());
    let (mut fields, mut items) = (Vec::new(), Vec::new());
    let (mut key, mut is_object) = (None, false);
    // Where the part starts that is being read, and how many brackets are open.
    let (mut from, mut depth) = (0, 0_usize);
    while let Ok(Some(token)) = scanner.next() {
        let (start, end) = scanner.span();
        let is_start = matches!(token, JsonToken::ArrayStart | JsonToken::ObjectStart);
        let is_end = matches!(token, JsonToken::ArrayEnd | JsonToken::ObjectEnd);
        match (depth, token) {
            (0, JsonToken::ObjectStart) => is_object = true,
            (0, JsonToken::ArrayStart) => {}
            (0, JsonToken::Null) => return Level::Null,
            (0, JsonToken::String(_)) => return Level::Scalar("string"),
            (0, JsonToken::Number(_)) => return Level::Scalar("number"),
            (0, _) => return Level::Scalar("bool"),
            (1, JsonToken::Key(body)) => key = Some(unescape_json(body)),
            _ => {}
        }
        if depth == 1 && !is_end {
            from = start;
        }
        if is_start {
            depth += 1;
        } else if is_end {
            depth = depth.saturating_sub(1);
        }
        let is_key = matches!(token, JsonToken::Key(_));
        let is_whole = depth == 1 && !is_key && (is_end || !is_start);
        if is_whole && let Some(part) = text.get(from..end) {
            match key.take() {
                Some(key) => fields.push((key, part)),
                None if !is_object => items.push(part),
                None => {}
            }
        }
    }
    if is_object {
        Level::Object(fields)
    } else {
        Level::Array(items)
    }
}

/// The text that a string stands for.
pub(crate) fn unquoted(raw: &str) -> String {
    let body = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
    unescape_json(body.unwrap_or(raw).as_bytes())
}

fn node(part: &str) -> Option<Node<'_>> {
    (part != "null").then_some(Node::Raw(Cow::Borrowed(part)))
}

fn owned(part: &str) -> Option<Node<'static>> {
    (part != "null").then(|| Node::Raw(Cow::Owned(part.to_owned())))
}

impl<'t> Node<'t> {
    /// A checked text, its first level opened.
    pub(crate) fn open(text: &'t str) -> Option<Self> {
        match level(text) {
            Level::Null => None,
            Level::Scalar(_) => Some(Self::Raw(Cow::Borrowed(text))),
            Level::Array(items) => Some(Self::Array(items.into_iter().map(node).collect())),
            Level::Object(fields) => {
                let mut object = Object::default();
                for (key, part) in fields {
                    object.keys.push(key.clone());
                    object.fields.insert(key, node(part));
                }
                Some(Self::Object(object))
            }
        }
    }

    fn look(&mut self) {
        let opened = match self {
            Self::Raw(Cow::Borrowed(text)) => Self::open(text),
            Self::Raw(Cow::Owned(text)) => match level(text) {
                Level::Null | Level::Scalar(_) => None,
                Level::Array(items) => Some(Self::Array(items.into_iter().map(owned).collect())),
                Level::Object(fields) => {
                    let mut object = Object::default();
                    for (key, part) in fields {
                        object.keys.push(key.clone());
                        object.fields.insert(key, owned(part));
                    }
                    Some(Self::Object(object))
                }
            },
            _ => None,
        };
        if let Some(opened) = opened {
            *self = opened;
        }
    }

    /// The value as an object, if it is one. Null is an empty one to Go, where it stands as text.
    pub(crate) fn as_object(&mut self) -> Option<&mut Object<'t>> {
        if matches!(self, Self::Raw(text) if text == "null") {
            *self = Self::Object(Object::default());
        }
        self.look();
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The value as a list, if it is one.
    pub(crate) fn as_array(&mut self) -> Option<&mut Vec<Option<Node<'t>>>> {
        self.look();
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The text of the value.
    pub(crate) fn write(&self, style: Style, out: &mut String) {
        match self {
            Self::Raw(text) => compact(text, style.html, out),
            Self::Null => out.push_str("null"),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_or_null(item.as_ref(), style, out);
                }
                out.push(']');
            }
            Self::Object(object) => {
                out.push('{');
                let mut first = true;
                let mut field = |key: &str, value: Option<&Node<'_>>, out: &mut String| {
                    if !std::mem::take(&mut first) {
                        out.push(',');
                    }
                    let key = to_go_json(&Value::from(key)).unwrap_or_default();
                    out.push_str(&key);
                    out.push(':');
                    write_or_null(value, style, out);
                };
                if style.sorted {
                    for (key, value) in &object.fields {
                        field(key, value.as_ref(), out);
                    }
                } else {
                    for key in &object.keys {
                        let value = object.fields.get(key).and_then(Option::as_ref);
                        field(key, value, out);
                    }
                }
                out.push('}');
            }
        }
    }

    /// The value as text that nobody has looked into.
    pub(crate) fn closed(&self, html: bool) -> String {
        let mut out = String::new();
        let style = Style { sorted: true, html };
        self.write(style, &mut out);
        out
    }
}

/// How a document is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// Opened objects with their keys sorted, or as they stood in the text.
    pub(crate) sorted: bool,
    /// With `<`, `>` and `&` escaped.
    pub(crate) html: bool,
}

pub(crate) fn write_or_null(node: Option<&Node<'_>>, style: Style, out: &mut String) {
    match node {
        Some(node) => node.write(style, out),
        None => out.push_str("null"),
    }
}

/// The text without needless space.
pub(crate) fn compact(text: &str, html: bool, out: &mut String) {
    let (mut in_string, mut escaped) = (false, false);
    for character in text.chars() {
        match character {
            ' ' | '\t' | '\n' | '\r' if !in_string => continue,
            '<' if html => out.push_str("\\u003c"),
            '>' if html => out.push_str("\\u003e"),
            '&' if html => out.push_str("\\u0026"),
            '\u{2028}' if html => out.push_str("\\u2028"),
            '\u{2029}' if html => out.push_str("\\u2029"),
            other => out.push(other),
        }
        match character {
            '"' if !escaped => in_string = !in_string,
            _ => {}
        }
        escaped = in_string && character == '\\' && !escaped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_looked_into_is_opened() {
        let mut node = Node::open(r#"{"b": {"z":1, "y":[ 2.0 ]}, "a" : "<"}"#).unwrap();
        assert_eq!(node.closed(true), r#"{"a":"\u003c","b":{"z":1,"y":[2.0]}}"#);
        let object = node.as_object().unwrap();
        let inner = object.fields.get_mut("b").unwrap().as_mut().unwrap();
        assert!(inner.as_array().is_none());
        assert!(inner.as_object().is_some());
        assert_eq!(node.closed(false), r#"{"a":"<","b":{"y":[2.0],"z":1}}"#);
    }

    #[test]
    fn space_goes_outside_of_strings_only() {
        let mut out = String::new();
        compact("{ \"a b\\\" \" : [ 1 ,\n2 ] }", false, &mut out);
        assert_eq!(out, "{\"a b\\\" \":[1,2]}");
    }

    #[test]
    fn deep_texts_are_refused() {
        let deep = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(check(&deep(MAX_DEPTH)), Ok(()));
        assert_eq!(check(&deep(MAX_DEPTH + 1)), Err(TextError::Depth));
    }
}
