//! Paths to fields: those of `fieldPath` and `selectableFields`, and those in errors.

use serde_json::Value;

use super::some;

/// Where a path leads, or why it leads nowhere.
pub(super) struct Found<'s> {
    pub(super) schema: &'s Value,
    /// Its steps, as Go writes them.
    pub(super) path: String,
    /// The first of them.
    pub(super) root: String,
}

/// Follows a path of `.name` and, where it is allowed, `['name']` through a schema.
pub(super) fn follow<'s>(
    path: &str,
    schema: &'s Value,
    brackets: bool,
) -> Result<Found<'s>, String> {
    let mut tokens = tokens(path).into_iter();
    let mut found = Found {
        schema,
        path: String::new(),
        root: String::new(),
    };
    let end = || "unexpected end of JSON path".to_owned();
    while let Some(token) = tokens.next() {
        match token {
            "[" if !brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = tokens.next().ok_or_else(end)?;
                let inner = quoted
                    .strip_prefix('\'')
                    .and_then(|rest| rest.strip_suffix('\''));
                let Some(inner) = inner else {
                    return Err(format!("expected single quoted string but got {quoted}"));
                };
                found.step(&inner.replace("\\'", "'"))?;
                match tokens.next().ok_or_else(end)? {
                    "]" => {}
                    other => return Err(format!("expected ] but got {other}")),
                }
            }
            "." => found.step(tokens.next().ok_or_else(end)?)?,
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok(found)
}

impl Found<'_> {
    fn step(&mut self, name: &str) -> Result<(), String> {
        let nowhere = || "does not refer to a valid field".to_owned();
        let properties = self.schema.get("properties").and_then(Value::as_object);
        if let Some(properties) = properties.filter(|it| !it.is_empty()) {
            self.schema = properties.get(name).ok_or_else(nowhere)?;
            if !self.path.is_empty() {
                self.path.push('.');
            }
            self.path.push_str(name);
        } else {
            self.schema = some(self.schema, "additionalProperties")
                .filter(|it| it.is_object())
                .ok_or_else(nowhere)?;
            self.path.extend(["[", name, "]"]);
        }
        if self.root.is_empty() {
            name.clone_into(&mut self.root);
        }
        Ok(())
    }
}

/// Splits a path at dots and brackets, which are tokens of their own; what is quoted stays whole.
fn tokens(path: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let length = if matches!(first, '.' | '[' | ']') {
            1
        } else if first == '\'' {
            let mut last = first;
            let end = rest.char_indices().skip(1).find(|(_, sign)| {
                let ends = *sign == '\'' && last != '\\';
                last = *sign;
                ends
            });
            end.map_or(rest.len(), |(at, _)| at + 1)
        } else {
            rest.find(['.', '[', ']']).unwrap_or(rest.len())
        };
        let (token, after) = rest.split_at(length);
        found.push(token);
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_names_properties_and_keys() {
        let schema = json!({"properties": {
            "a": {"properties": {"b.c": {"type": "string"}}},
            "m": {"additionalProperties": {"type": "integer"}},
        }});
        let follow = |path, brackets| {
            follow(path, &schema, brackets).map(|found| (found.path, found.schema.clone()))
        };
        let (path, found) = follow(".a['b.c']", true).unwrap();
        assert_eq!((path.as_str(), found), ("a.b.c", json!({"type": "string"})));
        assert_eq!(follow(".m.k", true).unwrap().0, "m[k]");
        assert!(follow("a", true).unwrap_err().contains("expected [ or ."));
        assert!(follow(".a['b", true).unwrap_err().contains("single quoted"));
        assert!(follow(".a['b.c']", false).unwrap_err().contains("array"));
        assert!(follow(".", true).unwrap_err().contains("unexpected end"));
        assert!(follow(".x", true).unwrap_err().contains("valid field"));
    }
}
