//! Helm's words for template errors, made from the structured errors of this crate.
//!
//! Helm rewrites the text of Go's errors: a parse error keeps what follows the last `: `; an
//! execution error becomes one line for `fail` and `required`, a block of three lines per level when
//! every level is the template package's own text, and stays Go's untouched text otherwise. The
//! rules work on text, so they are applied to text here too. Source: `pkg/engine/engine.go` of
//! Helm 4.3.1 (`cleanupParseError`, `reformatExecErrorMsg`).

use std::fmt::Write as _;

use crate::error::{Context, ExecError, FAIL_END, FAIL_START, Frame, ParseError};

/// `parse error at (FILE:LINE): WORDS`.
pub fn helm_parse_error(error: &ParseError) -> String {
    let text = error.to_string();
    let mut parts = text.split(": ");
    parts.next();
    let location = parts.next().unwrap_or_default();
    let last = text.rsplit(": ").next().unwrap_or_default();
    format!("parse error at ({location}): {last}")
}

/// What Helm prints for a failed execution of the template `file`.
pub fn helm_exec_error(error: &ExecError, file: &str) -> String {
    let text = error.to_string();
    // Helm rewrites errors of an execution only; an unknown template is none.
    if error.frames.is_empty() {
        return text;
    }
    let mut tokens = text.splitn(3, ": ");
    let (Some(_), Some(location), Some(rest)) = (tokens.next(), tokens.next(), tokens.next())
    else {
        return format!("execution error in ({file}): {text}");
    };
    if let Some(message) = between_markers(rest) {
        return format!("execution error at ({location}): {message}");
    }
    blocks(error, &text).unwrap_or(text)
}

/// The text between the first start marker and the last end marker.
fn between_markers(text: &str) -> Option<&str> {
    let from = text.find(FAIL_START)? + FAIL_START.len();
    let tail = text.get(from..)?;
    tail.get(..tail.rfind(FAIL_END)?)
}

/// One block per level; `None` when a level is not the template package's own text.
fn blocks(error: &ExecError, text: &str) -> Option<String> {
    let mut seen: Vec<Traced<'_>> = Vec::new();
    let mut level = text;
    let mut note = |level| {
        let traced = trace(level)?;
        if seen.last() != Some(&traced) {
            seen.push(traced);
        }
        Some(())
    };
    for frame in &error.frames {
        note(level)?;
        if frame.function.is_none() {
            break;
        }
        // What the function answered. Its own words before an inner error are no template text.
        level = level.get(prefix_len(frame)..)?;
        if frame.context != Context::None {
            note(level)?;
        }
    }
    if error.frames.last().is_some_and(|f| f.function.is_some()) {
        note(level)?;
    }
    let mut out = String::new();
    for traced in seen {
        traced.write(&mut out);
    }
    Some(out.trim().to_owned())
}

/// The length of a level's own text, without the words its function puts before the inner error.
fn prefix_len(frame: &Frame) -> usize {
    let mut text = match &frame.place {
        Some(place) => format!("template: {place}: "),
        None => format!("template: {}: ", frame.name),
    };
    if let Some(function) = &frame.function {
        // Writing to a String cannot fail.
        let _ = write!(text, "error calling {function}: ");
    }
    text.len()
}

/// Helm's `TraceableError`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Traced<'t> {
    location: &'t str,
    executing: String,
    message: &'t str,
}

impl Traced<'_> {
    fn write(&self, out: &mut String) {
        for (part, end) in [
            (self.location, "\n  "),
            (self.executing.as_str(), "\n    "),
            (self.message, "\n"),
        ] {
            if !part.is_empty() {
                out.push_str(part);
                out.push_str(end);
            }
        }
    }
}

fn trace(text: &str) -> Option<Traced<'_>> {
    let rest = text.strip_prefix("template: ")?;
    if rest.starts_with("no template ") {
        return Some(Traced {
            location: "",
            executing: String::new(),
            message: text,
        });
    }
    trace_executing(rest).or_else(|| trace_simple(rest))
}

/// `NAME: executing "F" at <NODE>: MESSAGE[ template:...]`
fn trace_executing(rest: &str) -> Option<Traced<'_>> {
    let (location, after) = rest.split_once(": executing ")?;
    let after = after.strip_prefix('"')?;
    let (function, after) = after.split_once('"')?;
    let (node, message) = after.strip_prefix(" at <")?.split_once(">: ")?;
    Some(Traced {
        location,
        executing: format!("executing \"{function}\" at <{node}>:"),
        message: before_next_template(message),
    })
}

/// `NAME: MESSAGE`
fn trace_simple(rest: &str) -> Option<Traced<'_>> {
    let (location, message) = rest.rsplit_once(": ")?;
    Some(Traced {
        location,
        executing: String::new(),
        message: before_next_template(message),
    })
}

fn before_next_template(message: &str) -> &str {
    message
        .find(" template:")
        .and_then(|at| message.get(..at))
        .unwrap_or(message)
}
