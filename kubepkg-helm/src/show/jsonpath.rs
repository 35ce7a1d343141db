//! The templates of kubectl's `-o jsonpath`: text with paths in braces, `range` and `end`.
//!
//! Read as `k8s.io/client-go/util/jsonpath` 0.37.1 reads them. Entries of maps come in the order of their keys, where Go
//! takes them as they come.

mod parse;
mod walk;

use serde_json::Value;

/// A template that can't be read. The words are the Go library's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("error parsing jsonpath {template}: {message}")]
pub struct JsonPathError {
    /// The template.
    pub template: String,
    /// What is wrong with it.
    pub message: String,
}

/// A template that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    /// Texts and actions, one after the other.
    nodes: Vec<Node>,
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq)]
enum Node {
    List(Vec<Node>),
    Text(String),
    Field(String),
    Array([Option<i64>; 3], EndOf),
    Filter(Vec<Node>, Vec<Node>, String),
    Int(i64),
    Float(f64),
    Bool(bool),
    Wildcard,
    Recursive,
    Union(Vec<Vec<Node>>),
    Identifier(String),
}

/// Where the end of a slice comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndOf {
    /// It was written, or left open.
    Slice,
    /// It follows the one index that was written.
    Index,
}

impl JsonPath {
    /// Reads a template.
    ///
    /// # Errors
    /// [`JsonPathError`].
    pub fn parse(template: &str) -> Result<Self, JsonPathError> {
        let nodes = parse::parse(template).map_err(|message| JsonPathError {
            template: template.to_owned(),
            message,
        })?;
        Ok(Self { nodes })
    }

    /// Fills the template. What is not there leaves all of it empty.
    pub fn print(&self, data: &Value) -> String {
        walk::print(&self.nodes, data).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::JsonPath;

    fn print(template: &str) -> String {
        let data = json!({
            "kind": "List",
            "n": 1e6,
            "items": [
                {"name": "a", "on": true, "list": [1, 2]},
                {"name": "b", "on": false, "list": []},
            ],
        });
        JsonPath::parse(template).unwrap().print(&data)
    }

    #[test]
    fn prints_as_client_go() {
        // What client-go 0.37.1 prints for these templates and this data, numbers being floats.
        for (template, wanted) in [
            ("kind is {.kind}", "kind is List"),
            ("{.n} {.none}", ""),
            ("{.n}", "1e+06"),
            ("{.items[*].name}", "a b"),
            ("{.items[0:2].name}", "a b"),
            ("{.items[-1].name}", "b"),
            ("{.items[0]['name','on']}", "a true"),
            ("{.items[?(@.on==true)].name}", "a"),
            ("{.items[?(@.name!=\"a\")].name}", "b"),
            (
                "{range .items[*]}[{.name}, {.on}] {end}",
                "[a, true] [b, false] ",
            ),
            ("{range .items[*]}{.name}{\"\\n\"}{end}", "a\nb\n"),
            ("{.items[0].list}", "[1,2]"),
            ("{..name}", "a b"),
            ("{.items[5].name}", ""),
        ] {
            assert_eq!(print(template), wanted, "{template}");
        }
    }

    #[test]
    fn refuses_as_client_go() {
        for (template, message) in [
            ("{.a", "unclosed action"),
            ("{[a}", "unterminated array"),
            ("{[a]}", "invalid array index a"),
            ("{!}", "unrecognized character in action: U+0021 '!'"),
        ] {
            let error = JsonPath::parse(template).unwrap_err();
            assert_eq!(error.message, message, "{template}");
        }
    }
}
