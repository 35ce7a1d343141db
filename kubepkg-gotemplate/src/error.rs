//! Errors of parsing and executing, as data: template, line, column, node text and cause.
//!
//! Go's words are put together only when an error is shown ([`std::fmt::Display`]); Helm's block
//! form is made from the same data by [`crate::message`]. Source of the texts: `text/template`
//! of Go 1.26.

use std::fmt;

use crate::budget::LimitExceeded;
use crate::bytestring::GoString;

/// A template text that cannot be parsed. Displays as `template: NAME:LINE: MESSAGE`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("template: {template}:{line}: {message}")]
pub struct ParseError {
    /// The name under which the text was parsed.
    pub template: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, in Go's words.
    pub message: String,
}

/// Where an execution stood when it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name under which the failing text was parsed: the file.
    pub template: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 0, as Go counts it.
    pub column: usize,
    /// The name of the executing template: the file, or the name of a `define`.
    pub executing: String,
    /// The text of the failing node as Go writes it back.
    pub node: String,
}

/// One level of a failed execution: a template that was executing, and the function it had called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where the template stood; `None` when it failed before its first node.
    pub place: Option<Place>,
    /// The name of the executing template.
    pub name: String,
    /// The function or method whose error is told by the next frame, or by the root.
    pub function: Option<String>,
    /// What that function put before the error it passed on.
    pub context: Context,
}

/// The words a function puts before an error that it passes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Context {
    /// Nothing.
    #[default]
    None,
    /// `tpl` could not parse this text.
    TplParse(GoString),
    /// `tpl` executed this text.
    TplExecution(GoString),
    /// Other text, ending in `: `.
    Text(String),
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::TplParse(text) => {
                write!(f, "cannot parse template {}: ", crate::quote::quote(text))
            }
            Self::TplExecution(text) => write!(
                f,
                "error during tpl function execution for {}: ",
                crate::quote::quote(text)
            ),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The innermost cause of a failed execution.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Root {
    /// The template package's own complaint.
    Message(String),
    /// A called function answered with ordinary error text.
    Function(String),
    /// A called function met a Go run-time panic.
    Panic(String),
    /// `fail` or `required` was called with this text.
    Fail(String),
    /// A text given to `tpl` could not be parsed.
    Parse(ParseError),
    /// There is no template of this name in the set of the second name.
    NoTemplate(String, String),
    /// A limit of the budget was passed.
    Limit(LimitExceeded),
}

/// A failed execution. Displays as Go's whole text, inner errors included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecError {
    /// The levels, outermost first.
    pub frames: Vec<Frame>,
    /// The innermost cause.
    pub root: Root,
}

impl ExecError {
    /// The limit that ended the execution.
    pub fn limit(&self) -> Option<LimitExceeded> {
        match self.root {
            Root::Limit(limit) => Some(limit),
            _ => None,
        }
    }

    /// The place of the outermost level: where in the rendered file the failure shows.
    pub fn place(&self) -> Option<&Place> {
        self.frames.first().and_then(|frame| frame.place.as_ref())
    }
}

/// Markers that Helm's engine puts around the text of `fail` and `required`.
pub(crate) const FAIL_START: &str = "HELM_ERR_START";
pub(crate) const FAIL_END: &str = "HELM_ERR_END";

impl fmt::Display for Place {
    /// Writes `FILE:LINE:COLUMN: executing "NAME" at <NODE>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}: executing {} at <{}>",
            self.template,
            self.line,
            self.column,
            crate::quote::quote(self.executing.as_bytes()),
            self.node
        )
    }
}

impl fmt::Display for Frame {
    /// Writes the level up to where the next one, or the root, begins.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "template: {place}: ")?,
            None => write!(f, "template: {}: ", self.name)?,
        }
        if let Some(function) = &self.function {
            write!(f, "error calling {function}: {}", self.context)?;
        }
        Ok(())
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(text) | Self::Function(text) | Self::Panic(text) => f.write_str(text),
            Self::Fail(text) => write!(f, "{FAIL_START}{text}{FAIL_END}"),
            Self::Parse(error) => write!(f, "{error}"),
            Self::NoTemplate(name, set) => write!(
                f,
                "template: no template {} associated with template {}",
                crate::quote::quote(name.as_bytes()),
                crate::quote::quote(set.as_bytes())
            ),
            Self::Limit(limit) => write!(f, "{limit}"),
        }
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for frame in &self.frames {
            write!(f, "{frame}")?;
        }
        write!(f, "{}", self.root)
    }
}

impl std::error::Error for ExecError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.root {
            Root::Parse(error) => Some(error),
            Root::Limit(limit) => Some(limit),
            _ => None,
        }
    }
}
