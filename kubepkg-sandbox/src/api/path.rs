//! The simple JSONPath of printer columns: fields, indices, `[*]`, and filters for equality such as
//! `.status.conditions[?(@.type=="Ready")].status`. The first match counts.

use serde_json::Value;

/// The first value at a path; `None` when there is none or the path cannot be read.
pub(crate) fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut found = vec![value];
    let mut rest = path.trim_start_matches('$');
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix('.') {
            rest = tail;
            continue;
        }
        if let Some(tail) = rest.strip_prefix('[') {
            let end = closing(tail)?;
            let inner = tail.get(..end)?;
            rest = tail.get(end + 1..)?;
            found = step(found, inner);
        } else {
            let (name, tail) = field(rest);
            rest = tail;
            found = found
                .into_iter()
                .filter_map(|value| value.get(&name))
                .collect();
        }
    }
    found.into_iter().next()
}

/// A field name in which a backslash keeps a point.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => name.extend(characters.next().map(|(_, c)| c)),
            '.' | '[' => return (name, text.get(at..).unwrap_or_default()),
            _ => name.push(c),
        }
    }
    (name, "")
}

/// Where the bracket closes, texts in quotes left out.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            (Some(_) | None, _) => {}
        }
    }
    None
}

fn step<'a>(found: Vec<&'a Value>, inner: &str) -> Vec<&'a Value> {
    let inner = inner.trim();
    if inner == "*" {
        return found
            .into_iter()
            .flat_map(|value| value.as_array().into_iter().flatten())
            .collect();
    }
    if let Some(condition) = inner
        .strip_prefix("?(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        let Some((path, wanted)) = condition.split_once("==") else {
            return Vec::new();
        };
        let path = path.trim().trim_start_matches('@');
        let wanted = wanted.trim();
        let text = wanted.trim_matches(['"', '\'']);
        return found
            .into_iter()
            .flat_map(|value| value.as_array().into_iter().flatten())
            .filter(|item| match find(item, path) {
                Some(Value::String(value)) => value == text,
                Some(other) => other.to_string().as_str() == wanted,
                None => false,
            })
            .collect();
    }
    if let Ok(index) = inner.parse::<i64>() {
        return found
            .into_iter()
            .filter_map(|value| {
                let items = value.as_array()?;
                let at = if index < 0 {
                    items.len().checked_sub(usize::try_from(-index).ok()?)?
                } else {
                    usize::try_from(index).ok()?
                };
                items.get(at)
            })
            .collect();
    }
    let name = inner.trim_matches(['"', '\'']);
    found
        .into_iter()
        .filter_map(|value| value.get(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn finds_what_printer_columns_name() {
        let value = json!({
            "metadata": {"labels": {"a.b/c": "x"}},
            "status": {"conditions": [
                {"type": "A", "status": "False"}, {"type": "Ready", "status": "True"},
            ]},
        });
        let text = |path: &str| find(&value, path).and_then(Value::as_str);
        assert_eq!(
            text(".status.conditions[?(@.type==\"Ready\")].status"),
            Some("True")
        );
        assert_eq!(
            text(".status.conditions[?(@.type=='Ready')].status"),
            Some("True")
        );
        assert_eq!(text(".status.conditions[0].status"), Some("False"));
        assert_eq!(text(".status.conditions[-1].type"), Some("Ready"));
        assert_eq!(text(".metadata.labels.a\\.b/c"), Some("x"));
        assert_eq!(text(".metadata.labels['a.b/c']"), Some("x"));
        assert_eq!(text(".status.nope[0].x"), None);
        assert_eq!(text(".status.conditions[oops"), None);
    }
}
