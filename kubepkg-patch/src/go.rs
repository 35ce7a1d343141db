//! Values as Go prints them in messages.

use kubepkg_yaml::{go_float, go_quote};
use serde_json::{Number, Value};

use crate::value::as_int;

/// A value as Go prints it with `%v`, as messages of the API server do.
pub fn plain(value: &Value) -> String {
    let mut out = String::new();
    write_plain(value, &mut out);
    out
}

fn write_plain(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&self::number(number)),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write_plain(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push_str("map[");
            for (index, (key, item)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write_plain(item, out);
            }
            out.push(']');
        }
    }
}

/// `%#v`.
pub(crate) fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(_) | Value::Number(_) => plain(value),
        Value::String(text) => go_quote(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(key, item)| format!("{}:{}", go_quote(key), syntax(item)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
    }
}

/// `%T`.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if as_int(number).is_some() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// `%s` of a type, which there is none of for null.
pub(crate) fn type_name_or_bad(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        other => type_name(other),
    }
}

/// `%s`: what is no text is marked.
pub(crate) fn string_verb(value: &Value) -> String {
    match value {
        Value::Null => "%!s(<nil>)".to_owned(),
        Value::Bool(_) | Value::Number(_) => {
            format!("%!s({}={})", type_name(value), plain(value))
        }
        other => plain(other),
    }
}

/// A number as `%v` prints it.
pub(crate) fn number(number: &Number) -> String {
    match (as_int(number), number.as_f64()) {
        (Some(int), _) => int.to_string(),
        (None, Some(float)) => go_float(float),
        (None, None) => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What `fmt.Sprintf` of Go 1.26 gives.
    #[test]
    fn values_are_printed_as_go_prints_them() {
        let value = json!({"b": [1, 2.5, null], "a": {"x": "y z", "t": true}});
        assert_eq!(plain(&value), "map[a:map[t:true x:y z] b:[1 2.5 <nil>]]");
        assert_eq!(
            syntax(&value),
            r#"map[string]interface {}{"a":map[string]interface {}{"t":true, "x":"y z"}, "b":[]interface {}{1, 2.5, interface {}(nil)}}"#
        );
        assert_eq!(plain(&json!(1e21)), "1e+21");
        assert_eq!(plain(&json!(1_000_000.0)), "1e+06");
        assert_eq!(plain(&json!(0.000_01)), "1e-05");
    }
}
