//! Specifications as kube-apiserver prints its own, internal types of them: every field, by its name in Go.
//!
//! The server shows them where it refuses a change; see `pkg/apis/core/types.go` of Kubernetes.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use serde_json::Value;

/// Written by `tools/internal-form`.
static RECORDED: &[u8] = include_bytes!("data/internal.json.gz");

/// The fields of a type: its name when printed, its name in the API, the type of the structures in it, and what it is
/// when nobody has written it.
type Fields = Vec<(String, String, String, String)>;

/// What of a pod's specification stands in its security context.
const OF_SECURITY: [&str; 5] = [
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "shareProcessNamespace",
    "hostUsers",
];

fn types() -> &'static BTreeMap<String, Fields> {
    static TYPES: OnceLock<BTreeMap<String, Fields>> = OnceLock::new();
    TYPES.get_or_init(|| {
        let mut text = Vec::new();
        // The data is part of the program; a test reads it, so neither step fails.
        let read = GzDecoder::new(RECORDED).read_to_end(&mut text);
        let types = read.ok().and_then(|_| serde_json::from_slice(&text).ok());
        types.unwrap_or_default()
    })
}

/// A value of this type in lines, with one blank for each level.
pub(crate) fn lines(of: &str, value: &Value) -> String {
    let mut out = String::new();
    Printer { indented: true }.print(of, value, 0, &mut out);
    out.push('\n');
    out
}

/// The same in one line.
pub(crate) fn line(of: &str, value: &Value) -> String {
    let mut out = String::new();
    Printer { indented: false }.print(of, value, 0, &mut out);
    out
}

struct Printer {
    indented: bool,
}

impl Printer {
    fn print(&self, of: &str, value: &Value, depth: usize, out: &mut String) {
        match value {
            Value::Array(items) => {
                let items = items.iter().map(|item| (None, of, item));
                self.print_all(('[', ']'), items.collect(), depth, out);
            }
            Value::Object(_) if types().contains_key(of) => {
                let moved = (of == "PodSpec").then(|| with_own_security(value));
                let value = moved.as_ref().unwrap_or(value);
                let mut fields = Vec::new();
                collect(of, value, &mut fields);
                let fields = fields
                    .iter()
                    .map(|(name, inner, value)| (Some(*name), *inner, value));
                self.print_all(('{', '}'), fields.collect(), depth, out);
            }
            Value::Object(entries) => {
                let entries = entries.iter();
                let entries = entries.map(|(key, value)| (Some(key.as_str()), "", value));
                self.print_all(('{', '}'), entries.collect(), depth, out);
            }
            Value::String(text) => out.push_str(&quoted(text)),
            other => out.push_str(&other.to_string()),
        }
    }

    fn print_all(
        &self,
        (open, close): (char, char),
        items: Vec<(Option<&str>, &str, &Value)>,
        depth: usize,
        out: &mut String,
    ) {
        out.push(open);
        let empty = items.is_empty();
        for (index, (name, of, value)) in items.into_iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            self.new_line(depth + 1, out);
            if let Some(name) = name {
                out.push_str(&quoted(name));
                out.push_str(if self.indented { ": " } else { ":" });
            }
            self.print(of, value, depth + 1, out);
        }
        if !empty {
            self.new_line(depth, out);
        }
        out.push(close);
    }

    fn new_line(&self, depth: usize, out: &mut String) {
        if self.indented {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', depth));
        }
    }
}

/// The fields of a structure in Go's order: name, type of what is in it, value.
fn collect(of: &str, value: &Value, out: &mut Vec<(&'static str, &'static str, Value)>) {
    for (shown, api, inner, empty) in types().get(of).into_iter().flatten() {
        let found = if api.is_empty() { value } else { &value[api] };
        if shown.is_empty() {
            collect(inner, found, out);
            continue;
        }
        let value = match (empty.as_str(), found) {
            ("o", Value::Null) => continue,
            ("s", Value::Null) => "".into(),
            ("q", Value::Null) => "0".into(),
            ("z", Value::Null) => 0.into(),
            ("f", Value::Null) => false.into(),
            ("m", Value::Null) => Value::Object(serde_json::Map::new()),
            _ => found.clone(),
        };
        out.push((shown, inner, value));
    }
}

/// The server keeps what of the host a pod shares with the rest of its security.
fn with_own_security(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for field in OF_SECURITY {
        if let Some(value) = spec.get(field).cloned() {
            spec["securityContext"][field] = value;
        }
    }
    spec
}

/// A text as Go writes it in JSON.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for character in Value::from(text).to_string().chars() {
        match character {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_inline_structure_stands_among_the_fields_and_what_is_not_there_is_shown() {
        // `json.Marshal(core.Probe{...})` of Kubernetes 1.36.
        let probe = json!({"tcpSocket": {"port": "web"}, "periodSeconds": 5});
        assert_eq!(
            line("Probe", &probe),
            r#"{"Exec":null,"HTTPGet":null,"TCPSocket":{"Port":"web","Host":""},"GRPC":null,"InitialDelaySeconds":0,"TimeoutSeconds":0,"PeriodSeconds":5,"SuccessThreshold":0,"FailureThreshold":0,"TerminationGracePeriodSeconds":null}"#
        );
    }

    #[test]
    fn texts_are_escaped_for_web_pages() {
        // As Go's `encoding/json` does.
        let environment = json!({"name": "a", "value": "<&>"});
        assert_eq!(
            line("EnvVar", &environment),
            r#"{"Name":"a","Value":"\u003c\u0026\u003e","ValueFrom":null}"#
        );
    }
}
