//! A template's nodes over data.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::{EndOf, Node};
use crate::go::json::to_go_json;
use crate::go::text::float_g;

type Found<'a> = Vec<Cow<'a, Value>>;

/// What an empty range runs over.
static NOTHING: Value = Value::Null;
/// How many values one node may find.
const MAX_FOUND: usize = 1_000_000;

/// The template filled; `None` when a path leads nowhere.
pub(super) fn print(nodes: &[Node], data: &Value) -> Option<String> {
    let mut walk = Walk::default();
    let mut results = Vec::new();
    walk.block(nodes, data, &mut results)?;
    let mut out = String::new();
    for found in results {
        let texts: Vec<String> = found.iter().map(|value| text(value)).collect();
        out.push_str(&texts.join(" "));
    }
    Some(out)
}

#[derive(Default)]
struct Walk {
    depth: usize,
}

/// How a block came to its end.
enum End {
    /// There was nothing left.
    Text,
    /// An `end` at this node.
    At(usize),
}

impl Walk {
    /// Runs nodes up to the `end` of the range that they are in.
    fn block<'a>(
        &mut self,
        nodes: &'a [Node],
        data: &'a Value,
        results: &mut Vec<Found<'a>>,
    ) -> Option<End> {
        let mut at = 0;
        while let Some(node) = nodes.get(at) {
            match keyword(node) {
                Some(("end", _)) if self.depth > 0 => return Some(End::At(at)),
                Some(("range", path)) => {
                    let inner = nodes.get(at + 1..).unwrap_or_default();
                    let over = list(vec![Cow::Borrowed(data)], path)?;
                    self.depth += 1;
                    // Without anything to range over, the block is still walked to find its end.
                    let mut end = None;
                    if over.is_empty() {
                        let mut unseen = Vec::new();
                        end = Some(self.block(inner, &NOTHING, &mut unseen)?);
                    }
                    for value in over {
                        // Values found lie in the data or in the template; made ones are plain.
                        match value {
                            Cow::Borrowed(value) => {
                                end = Some(self.block(inner, value, results)?);
                            }
                            Cow::Owned(value) => {
                                let mut own = Vec::new();
                                end = Some(self.block(inner, &value, &mut own)?);
                                let own = own.into_iter().map(|found| {
                                    let owned = found.into_iter();
                                    owned.map(|one| Cow::Owned(one.into_owned())).collect()
                                });
                                results.extend(own);
                            }
                        }
                    }
                    self.depth -= 1;
                    match end {
                        Some(End::At(end)) => at += end + 1,
                        _ => return Some(End::Text),
                    }
                }
                Some(_) => return None,
                None => results.push(step(vec![Cow::Borrowed(data)], node)?),
            }
            at += 1;
        }
        Some(End::Text)
    }
}

/// The word that an action begins with, and what follows it.
fn keyword(node: &Node) -> Option<(&str, &[Node])> {
    let Node::List(nodes) = node else {
        return None;
    };
    match nodes.split_first()? {
        (Node::Identifier(name), rest) => Some((name, rest)),
        _ => None,
    }
}

fn list<'a>(mut found: Found<'a>, nodes: &'a [Node]) -> Option<Found<'a>> {
    for node in nodes {
        found = step(found, node)?;
        if found.len() > MAX_FOUND {
            return None;
        }
    }
    Some(found)
}

fn step<'a>(input: Found<'a>, node: &'a Node) -> Option<Found<'a>> {
    let constant = |value: Value| Some(input.iter().map(|_| Cow::Owned(value.clone())).collect());
    match node {
        Node::List(nodes) => list(input, nodes),
        Node::Text(text) => Some(vec![Cow::Owned(Value::from(text.as_str()))]),
        Node::Int(number) => constant(Value::from(*number)),
        Node::Float(number) => constant(Value::from(*number)),
        Node::Bool(yes) => constant(Value::from(*yes)),
        Node::Identifier(_) => None,
        Node::Field(name) => {
            if input.is_empty() {
                return Some(input);
            }
            let mut found = Vec::new();
            for value in input {
                found.extend(get(value, |value| value.get(name)));
            }
            (!found.is_empty()).then_some(found)
        }
        Node::Wildcard => Some(input.into_iter().flat_map(children).collect()),
        Node::Recursive => {
            let mut found = Vec::new();
            descend(input, &mut found)?;
            Some(found)
        }
        Node::Union(parts) => {
            let mut found = Vec::new();
            for part in parts {
                found.extend(list(input.clone(), part)?);
            }
            Some(found)
        }
        Node::Array(numbers, end_of) => array(input, *numbers, *end_of),
        Node::Filter(left, right, operator) => filter(input, left, right, operator),
    }
}

/// Looks into a value, keeping what is borrowed borrowed.
fn get<'a>(
    value: Cow<'a, Value>,
    look: impl for<'v> Fn(&'v Value) -> Option<&'v Value>,
) -> Option<Cow<'a, Value>> {
    match value {
        Cow::Borrowed(value) => look(value).map(Cow::Borrowed),
        Cow::Owned(value) => look(&value).cloned().map(Cow::Owned),
    }
}

/// What a value holds. Go takes the bytes of a text for that, too.
fn children(value: Cow<'_, Value>) -> Vec<Cow<'_, Value>> {
    match value {
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Object(map)) => map.values().map(Cow::Borrowed).collect(),
        Cow::Owned(Value::Array(items)) => items.into_iter().map(Cow::Owned).collect(),
        Cow::Owned(Value::Object(map)) => map.into_values().map(Cow::Owned).collect(),
        other => match &*other {
            Value::String(text) => text.bytes().map(|byte| Cow::Owned(byte.into())).collect(),
            _ => Vec::new(),
        },
    }
}

fn descend<'a>(input: Found<'a>, found: &mut Found<'a>) -> Option<()> {
    for value in input {
        let inner = children(value.clone());
        if inner.is_empty() {
            continue;
        }
        if found.len() > MAX_FOUND {
            return None;
        }
        found.push(value);
        descend(inner, found)?;
    }
    Some(())
}

fn array(input: Found<'_>, numbers: [Option<i64>; 3], end_of: EndOf) -> Option<Found<'_>> {
    let mut found = Vec::new();
    for value in input {
        let length = match &*value {
            Value::Null => continue,
            Value::Array(items) => i64::try_from(items.len()).ok()?,
            _ => return None,
        };
        let [start, end, step] = numbers;
        let mut start = start.unwrap_or(0);
        if start < 0 {
            start += length;
        }
        let mut end = end.unwrap_or(length);
        if end < 0 || (end == 0 && end_of == EndOf::Index) {
            end += length;
        }
        if start == end {
            return Some(found);
        }
        let step = step.unwrap_or(1);
        let fits = (0..length).contains(&start) && (0..=length).contains(&end);
        if !fits || start > end || step <= 0 {
            return None;
        }
        let step = usize::try_from(step).ok()?;
        for at in (usize::try_from(start).ok()?..usize::try_from(end).ok()?).step_by(step) {
            found.extend(get(value.clone(), |value| value.get(at)));
        }
    }
    Some(found)
}

fn filter<'a>(
    input: Found<'a>,
    left: &'a [Node],
    right: &'a [Node],
    operator: &str,
) -> Option<Found<'a>> {
    let mut found = Vec::new();
    for value in input {
        if !value.is_array() {
            return None;
        }
        for item in children(value) {
            let lefts = list(vec![item.clone()], left);
            if operator == "exists" {
                if lefts.is_some_and(|lefts| !lefts.is_empty()) {
                    found.push(item);
                }
                continue;
            }
            let lefts = lefts?;
            let rights = list(vec![item.clone()], right)?;
            match (lefts.as_slice(), rights.as_slice()) {
                ([], _) | (_, []) => {}
                ([one], [two]) => {
                    if compare(one, two, operator)? {
                        found.push(item);
                    }
                }
                _ => return None,
            }
        }
    }
    Some(found)
}

/// Numbers with numbers of the same kind, texts with texts, booleans for equality only.
fn compare(one: &Value, two: &Value, operator: &str) -> Option<bool> {
    let order = match (one, two) {
        (Value::String(one), Value::String(two)) => one.cmp(two),
        (Value::Number(one), Value::Number(two)) if one.is_f64() == two.is_f64() => {
            one.as_f64()?.partial_cmp(&two.as_f64()?)?
        }
        (Value::Bool(one), Value::Bool(two)) if matches!(operator, "==" | "!=") => one.cmp(two),
        _ => return None,
    };
    Some(match operator {
        "<" => order == Ordering::Less,
        ">" => order == Ordering::Greater,
        "==" => order == Ordering::Equal,
        "!=" => order != Ordering::Equal,
        "<=" => order != Ordering::Greater,
        ">=" => order != Ordering::Less,
        _ => return None,
    })
}

/// A value as Go prints it; maps and lists as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => float_g(&format!("{float:e}")),
            None => number.to_string(),
        },
        Value::Null => "null".into(),
        Value::Bool(yes) => yes.to_string(),
        Value::Array(_) | Value::Object(_) => {
            String::from_utf8_lossy(&to_go_json(value).unwrap_or_default()).into_owned()
        }
    }
}
