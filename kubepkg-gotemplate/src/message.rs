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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Place, Root};

    fn frame(executing: &str, node: &str, function: Option<&str>) -> Frame {
        Frame {
            place: Some(Place {
                template: "c/t.txt".to_owned(),
                line: 1,
                column: 3,
                executing: executing.to_owned(),
                node: node.to_owned(),
            }),
            name: executing.to_owned(),
            function: function.map(str::to_owned),
            context: Context::None,
        }
    }

    fn chain(root: Root, last: Option<&str>) -> ExecError {
        ExecError {
            frames: vec![
                frame("c/t.txt", "include \"a\" .", Some("include")),
                frame("a", ".x.y", last),
            ],
            root,
        }
    }

    // Expected texts: Helm 4.3.1, as in the vectors `helm.include`, `helm.required` and `lang.lexerr`.

    #[test]
    fn every_level_of_template_text_is_a_block() {
        let error = chain(
            Root::Message("nil pointer evaluating interface {}.y".to_owned()),
            None,
        );
        assert_eq!(
            helm_exec_error(&error, "c/t.txt"),
            "c/t.txt:1:3\n  executing \"c/t.txt\" at <include \"a\" .>:\n    error calling include:\n\
             c/t.txt:1:3\n  executing \"a\" at <.x.y>:\n    nil pointer evaluating interface {}.y"
        );
    }

    #[test]
    fn the_error_of_a_function_keeps_gos_text() {
        let error = chain(
            Root::Function("index out of range: 5".to_owned()),
            Some("index"),
        );
        assert_eq!(helm_exec_error(&error, "c/t.txt"), error.to_string());
        assert!(
            error
                .to_string()
                .ends_with("error calling index: index out of range: 5")
        );
    }

    #[test]
    fn fail_is_told_with_the_outermost_place() {
        let error = chain(Root::Fail("no: way".to_owned()), Some("fail"));
        assert_eq!(
            helm_exec_error(&error, "c/t.txt"),
            "execution error at (c/t.txt:1:3): no: way"
        );
    }

    #[test]
    fn a_parse_error_keeps_what_follows_the_last_colon() {
        let error = ParseError {
            template: "c/t.txt".to_owned(),
            line: 2,
            message: "bad number syntax: \"3x\"".to_owned(),
        };
        assert_eq!(
            helm_parse_error(&error),
            "parse error at (c/t.txt:2): \"3x\""
        );
    }
}
