//! YAML text, byte-equal to Go's `yaml.Marshal`.
//!
//! Block style throughout: two spaces of indentation, sequences in maps not indented, empty
//! collections as `[]` and `{}`, keys in natural order (`order.rs`), lines folded after column
//! 80 (`quote.rs`). The state kept here (column, whether the last character was a blank, whether
//! only indentation stands on the line) is that of libyaml's emitter, because its choices depend
//! on it.

use crate::error::{LimitKind, YamlError};
use crate::number;
use crate::order;
use crate::quote::{self, Analysis, Style};
use crate::scalar::{self, Meaning};
use crate::tree::{Tree, Val};

/// The most bytes of a key that is written without `? `.
const MAX_SIMPLE_KEY: usize = 128;
const INDENT: isize = 2;
const SPACES: &str = "                                ";

enum Open<'n> {
    Seq {
        items: std::vec::IntoIter<Val<'n>>,
        outer: isize,
    },
    Map {
        entries: std::vec::IntoIter<(Val<'n>, Val<'n>)>,
        outer: isize,
    },
}

/// The writer and its place on the line.
pub(crate) struct Emitter {
    pub(crate) out: String,
    pub(crate) column: usize,
    indent: isize,
    /// The last character written was a blank or a break.
    pub(crate) whitespace: bool,
    /// Only indentation and indicators stand on this line.
    pub(crate) indention: bool,
}

/// Writes one document.
pub(crate) fn write(tree: &Tree<'_>, limit: usize) -> Result<String, YamlError> {
    let mut emitter = Emitter {
        out: String::new(),
        column: 0,
        indent: -1,
        whitespace: true,
        indention: true,
    };
    let mut open = Vec::new();
    emitter.node(tree, tree.root, false, &mut open);
    while let Some(top) = open.last_mut() {
        if emitter.out.len() > limit {
            return Err(YamlError::Limit {
                kind: LimitKind::Output,
                limit,
            });
        }
        match top {
            Open::Seq { items, outer } => {
                if let Some(item) = items.next() {
                    emitter.write_indent();
                    emitter.indicator("-", true, false, true);
                    emitter.node(tree, item, false, &mut open);
                } else {
                    emitter.indent = *outer;
                    open.pop();
                }
            }
            Open::Map { entries, outer } => {
                if let Some((key, item)) = entries.next() {
                    emitter.write_indent();
                    emitter.key(key);
                    // Go looks values up by key, and nothing is found under NaN.
                    let lost = matches!(key, Val::Float(value) if value.is_nan());
                    let item = if lost { Val::Null } else { item };
                    emitter.node(tree, item, true, &mut open);
                } else {
                    emitter.indent = *outer;
                    open.pop();
                }
            }
        }
    }
    emitter.write_indent();
    if emitter.out.len() > limit {
        return Err(YamlError::Limit {
            kind: LimitKind::Output,
            limit,
        });
    }
    Ok(emitter.out)
}

impl Emitter {
    fn increase_indent(&mut self, flow: bool, indentless: bool) -> isize {
        let outer = self.indent;
        if outer < 0 {
            self.indent = if flow { INDENT } else { 0 };
        } else if !indentless {
            self.indent += INDENT;
        }
        outer
    }

    /// Starts a new line at the current indentation, unless that is where the line is.
    pub(crate) fn write_indent(&mut self) {
        let indent = usize::try_from(self.indent).unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.newline();
        }
        while self.column < indent {
            let spaces = SPACES.get(..indent - self.column).unwrap_or(SPACES);
            self.put(spaces, spaces.len());
        }
        self.whitespace = true;
        self.indention = true;
    }

    pub(crate) fn newline(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    /// Writes text that has no line break.
    #[inline]
    pub(crate) fn put(&mut self, text: &str, columns: usize) {
        self.out.push_str(text);
        self.column += columns;
    }

    pub(crate) fn indicator(
        &mut self,
        text: &str,
        need_whitespace: bool,
        is_whitespace: bool,
        is_indention: bool,
    ) {
        if need_whitespace && !self.whitespace {
            self.put(" ", 1);
        }
        self.put(text, text.len());
        self.whitespace = is_whitespace;
        self.indention = self.indention && is_indention;
    }

    fn node<'n>(
        &mut self,
        tree: &Tree<'n>,
        value: Val<'n>,
        in_map: bool,
        open: &mut Vec<Open<'n>>,
    ) {
        match value {
            Val::Seq(range) if range.start == range.end => self.empty("[", "]"),
            Val::Map(range) if range.start == range.end => self.empty("{", "}"),
            Val::Seq(range) => {
                let outer = self.increase_indent(false, in_map && !self.indention);
                let items = tree.items(range).to_vec().into_iter();
                open.push(Open::Seq { items, outer });
            }
            Val::Map(range) => {
                let outer = self.increase_indent(false, false);
                let entries = order::sort(tree.entries(range)).into_iter();
                open.push(Open::Map { entries, outer });
            }
            _ => {
                let scalar = Scalar::of(value);
                let analysis = quote::analyze(&scalar.text);
                self.scalar(&scalar, analysis, false);
            }
        }
    }

    fn empty(&mut self, start: &str, end: &str) {
        self.indicator(start, true, true, false);
        self.indicator(end, false, false, false);
    }

    fn key(&mut self, key: Val<'_>) {
        let scalar = Scalar::of(key);
        let analysis = quote::analyze(&scalar.text);
        if !analysis.multiline && scalar.text.len() + scalar.tag.len() <= MAX_SIMPLE_KEY {
            self.scalar(&scalar, analysis, true);
            self.indicator(":", false, false, false);
        } else {
            self.indicator("?", true, false, true);
            self.scalar(&scalar, analysis, false);
            self.write_indent();
            self.indicator(":", true, false, true);
        }
    }

    fn scalar(&mut self, scalar: &Scalar<'_>, analysis: Analysis, simple_key: bool) {
        let style = quote::select(scalar.style, &scalar.text, analysis, simple_key);
        if !scalar.tag.is_empty() {
            if !self.whitespace {
                self.put(" ", 1);
            }
            self.put(scalar.tag, scalar.tag.len());
            self.whitespace = false;
            self.indention = false;
        }
        let outer = self.increase_indent(true, false);
        let text = &scalar.text;
        match style {
            Style::Plain => quote::plain(self, text, !simple_key),
            Style::Single => quote::single(self, text, !simple_key),
            Style::Double => quote::double(self, text, !simple_key),
            Style::Literal => quote::literal(self, text),
        }
        self.indent = outer;
    }
}

/// A scalar's text and the style that its type asks for.
struct Scalar<'n> {
    text: std::borrow::Cow<'n, str>,
    style: Style,
    tag: &'static str,
}

impl<'n> Scalar<'n> {
    fn of(value: Val<'n>) -> Scalar<'n> {
        let (text, style, tag) = match value {
            Val::Str(text) => {
                let style = if text.contains('\n') {
                    Style::Literal
                } else if scalar::plain(text) == Meaning::Str && !scalar::is_sexagesimal(text) {
                    Style::Plain
                } else {
                    Style::Double
                };
                (text.into(), style, "")
            }
            Val::Bytes(bytes) => {
                let text = crate::base64::encode_lines(bytes);
                let style = if text.contains('\n') {
                    Style::Literal
                } else {
                    Style::Plain
                };
                (text.into(), style, "!!binary")
            }
            Val::Bool(true) => ("true".into(), Style::Plain, ""),
            Val::Bool(false) => ("false".into(), Style::Plain, ""),
            Val::Int(value) => (value.to_string().into(), Style::Plain, ""),
            Val::Uint(value) => (value.to_string().into(), Style::Plain, ""),
            Val::Float(value) => (float(value).into(), Style::Plain, ""),
            Val::Null | Val::Seq(_) | Val::Map(_) => ("null".into(), Style::Plain, ""),
        };
        Scalar { text, style, tag }
    }
}

fn float(value: f64) -> String {
    let mut text = String::new();
    number::general(&mut text, value);
    match text.as_str() {
        "+Inf" => ".inf".to_owned(),
        "-Inf" => "-.inf".to_owned(),
        "NaN" => ".nan".to_owned(),
        _ => text,
    }
}
