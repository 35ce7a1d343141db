//! How much a text may cost.
//!
//! Go's own guards (nesting of 10,000, the ratio of nodes that come from aliases) always hold.
//! These limits come on top, because an operator reads text from strangers and keeps it in
//! memory. The rule comes from this project, not from Go.

/// Upper bounds for one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of input.
    pub input: usize,
    /// Nodes in one document, before aliases are expanded.
    pub nodes: usize,
    /// Bytes of JSON or YAML that may come out, after aliases are expanded.
    pub output: usize,
    /// Levels of nesting in a [`serde_json::Value`]; deeper text can still be converted to JSON
    /// text. A deeply nested value overflows the stack of whoever walks it.
    pub value_depth: usize,
    /// Documents in one stream.
    pub documents: usize,
}

impl Limits {
    /// 64 MiB in, 4 million nodes, 256 MiB out, 512 levels, 100,000 documents.
    pub const DEFAULT: Limits = Limits {
        input: 64 << 20,
        nodes: 4_000_000,
        output: 256 << 20,
        value_depth: 512,
        documents: 100_000,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Limits::DEFAULT
    }
}
