//! Why a text was refused.
//!
//! The `Display` text of the first three variants of [`YamlError`] is byte-equal to what
//! `sigs.k8s.io/yaml` v1.6.0 says for the same input, because Helm and kubectl users search for
//! these words. Go's line numbers are often off by one, and missing on the first line; the exact
//! place is in the fields.

use std::fmt;

use crate::read::Mark;

/// A place in a text: line and column, both counted from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

impl From<Mark> for Position {
    fn from(mark: Mark) -> Self {
        Position {
            line: mark.line as usize + 1,
            column: mark.column as usize + 1,
        }
    }
}

/// One key that stands twice in a map, as strict loading reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateKey {
    /// Line of the second value, from 1.
    pub line: usize,
    /// The key as Go's `%#v` prints it: `"a"`, `1`, `true`.
    pub key: String,
}

/// Which limit was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitKind {
    /// Bytes of input.
    Input,
    /// Nodes in one document.
    Nodes,
    /// Bytes of output after aliases are expanded.
    Output,
    /// Nesting of a [`serde_json::Value`].
    ValueDepth,
    /// Documents in one stream.
    Documents,
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LimitKind::Input => "bytes of input",
            LimitKind::Nodes => "nodes",
            LimitKind::Output => "bytes of output",
            LimitKind::ValueDepth => "levels of nesting",
            LimitKind::Documents => "documents",
        })
    }
}

/// Why a text could not be loaded or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum YamlError {
    /// The text is not YAML, or its nodes don't fit together (aliases, merges, tags).
    #[error("yaml: {}{problem}", GoLine(*line))]
    Syntax {
        /// The line that Go's message names; 0 where it names none.
        line: usize,
        /// What is wrong, in go-yaml's words.
        problem: String,
        /// Where the problem is, where that is known.
        at: Option<Position>,
    },
    /// Strict loading found keys that stand twice in one map. Never empty.
    #[error("yaml: unmarshal errors:{}", Duplicates(.0))]
    DuplicateKeys(Vec<DuplicateKey>),
    /// A map key has no JSON form (null, a number above the signed 64-bit range).
    #[error("unsupported map key of type: {kind}, key: {key}, value: {value}")]
    UnsupportedKey {
        /// Go's type name.
        kind: &'static str,
        /// The key in Go syntax.
        key: String,
        /// The key's value in Go syntax.
        value: String,
    },
    /// An infinity or NaN, which JSON does not have.
    #[error("json: unsupported value: {0}")]
    NotFinite(&'static str),
    /// The document is well-formed but not a map, where a map is needed (values files).
    #[error(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type {target}"
    )]
    NotAMap {
        /// What stands there instead: `string`, `number`, `bool` or `array`.
        found: &'static str,
        /// Go's name of the wanted type.
        target: &'static str,
    },
    /// A line begins with `---` and goes on with something that is no comment.
    #[error("error reading yaml document: invalid Yaml document separator: {rest}")]
    Separator {
        /// What stands after the dashes.
        rest: String,
        /// The line, from 1.
        line: usize,
    },
    /// A values document is no YAML that has a JSON form.
    #[error("error converting YAML to JSON: {source}")]
    Convert {
        /// Why.
        #[source]
        source: Box<YamlError>,
    },
    /// An error in one document of a values file.
    #[error("cannot unmarshal yaml document: {source}")]
    Document {
        /// Line on which the document starts in the whole file, from 1.
        line: usize,
        /// What is wrong with the document.
        #[source]
        source: Box<YamlError>,
    },
    /// The text passes a limit that the caller has set.
    #[error("yaml text has more than {limit} {kind}")]
    Limit {
        /// What was counted.
        kind: LimitKind,
        /// The most that is allowed.
        limit: usize,
    },
}

impl YamlError {
    /// Where the problem is, if that is known.
    pub fn position(&self) -> Option<Position> {
        match self {
            YamlError::Syntax { at, .. } => *at,
            YamlError::DuplicateKeys(keys) => keys.first().map(|key| Position {
                line: key.line,
                column: 1,
            }),
            YamlError::Separator { line, .. } => Some(Position {
                line: *line,
                column: 1,
            }),
            YamlError::Convert { source } => source.position(),
            YamlError::Document { line, source } => source.position().map(|position| Position {
                line: position.line + line.saturating_sub(1),
                column: position.column,
            }),
            _ => None,
        }
    }

    /// A problem that go-yaml reports without a line.
    pub(crate) fn meaning(problem: impl Into<String>, at: Option<Position>) -> Self {
        YamlError::Syntax {
            line: 0,
            problem: problem.into(),
            at,
        }
    }
}

struct GoLine(usize);

impl fmt::Display for GoLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            Ok(())
        } else {
            write!(f, "line {}: ", self.0)
        }
    }
}

struct Duplicates<'a>(&'a [DuplicateKey]);

impl fmt::Display for Duplicates<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for key in self.0 {
            write!(
                f,
                "\n  line {}: key {} already set in map",
                key.line, key.key
            )?;
        }
        Ok(())
    }
}

/// Which stage found a fault: the line in Go's message depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    Reader,
    Scanner,
    Parser,
}

/// A fault of the reader, scanner or parser. Boxed: it is rare, and results stay small.
#[derive(Debug)]
pub(crate) struct Fault(Box<(Problem, &'static str, Mark, Mark)>);

impl Fault {
    pub(crate) fn new(stage: Problem, text: &'static str, context: Mark, at: Mark) -> Self {
        Fault(Box::new((stage, text, context, at)))
    }
}

impl From<Fault> for YamlError {
    fn from(fault: Fault) -> Self {
        let (stage, text, context, at) = *fault.0;
        let line = match stage {
            Problem::Reader => 0,
            Problem::Scanner if at.line != 0 => at.line as usize + 1,
            _ if at.line != 0 => at.line as usize,
            _ => context.line as usize,
        };
        YamlError::Syntax {
            line,
            problem: text.to_owned(),
            at: Some(at.into()),
        }
    }
}
