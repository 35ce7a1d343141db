//! The syntax tree: all nodes of one parsed text in one flat store, addressed by number.
//!
//! A flat store is dropped, walked and printed without recursion, so that a template nested ten
//! thousand deep is no danger. A chart's templates are parsed anew for every rendering, so a node
//! is cheap to make and to drop: what a node holds of its text is a stretch of it, its children are
//! a stretch of one list, and chains of names that are written alike are one. Nodes keep byte
//! offsets; lines and columns are counted only when an error is reported. [`Source::node_text`]
//! writes a node back as Go does in its error texts.

use std::sync::{Arc, OnceLock};

use crate::bytestring::GoString;
use crate::func::Function;
use crate::funcs::Builtin;
use crate::quote::quote;

/// The number of a node in its [`Source`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(pub(crate) u32);

/// A parsed text and its nodes; several templates (`define`) may come from one source.
#[derive(Debug)]
pub(crate) struct Source {
    /// The name under which the text was parsed.
    pub(crate) parse_name: String,
    pub(crate) text: GoString,
    pub(crate) nodes: Vec<Node>,
    /// Children of all nodes.
    lists: Vec<NodeId>,
    /// Offsets at which lines begin, found when the first error is reported.
    lines: OnceLock<Vec<usize>>,
}

/// A stretch of a source's text or of its lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The stretch, unless it lies beyond what a source may hold.
    pub(crate) fn new(start: usize, end: usize) -> Option<Self> {
        Some(Self {
            start: u32::try_from(start).ok()?,
            end: u32::try_from(end).ok()?,
        })
    }

    pub(crate) fn is_empty(self) -> bool {
        self.start >= self.end
    }

    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) pos: u32,
    pub(crate) kind: NodeKind,
}

/// A name in a chain of fields.
pub(crate) type Name = GoString;

/// A chain of names.
pub(crate) type Names = Arc<[Name]>;

#[derive(Debug)]
pub(crate) enum NodeKind {
    Text(Span),
    Action(NodeId),
    Branch {
        kind: BranchKind,
        pipe: NodeId,
        list: NodeId,
        else_list: Option<NodeId>,
    },
    Template {
        name: Box<GoString>,
        pipe: Option<NodeId>,
    },
    Break,
    Continue,
    List(Span),
    Pipe {
        is_assign: bool,
        decl: Span,
        cmds: Span,
    },
    Command(Span),
    Identifier(Target),
    /// The name of the variable, then fields.
    Variable(Names),
    Field(Names),
    Chain {
        node: NodeId,
        fields: Names,
    },
    Dot,
    Nil,
    Bool(bool),
    Number(Box<Number>),
    /// A text in quotes, and what it stands for when that is not what is between the quotes.
    String(Span, Option<Box<GoString>>),
}

/// What a function name stands for, found when it is parsed.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Function(Arc<Function>),
    Builtin(Builtin),
}

impl Target {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Function(function) => function.name,
            Self::Builtin(builtin) => builtin.name(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BranchKind {
    If,
    With,
    Range,
}

impl BranchKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::With => "with",
            Self::Range => "range",
        }
    }
}

/// A number constant under every type that can hold it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Number {
    pub(crate) int: Option<i64>,
    pub(crate) uint: Option<u64>,
    pub(crate) float: Option<f64>,
    pub(crate) complex: Option<(f64, f64)>,
    pub(crate) text: String,
}

enum Piece<'a> {
    Node(NodeId),
    Bytes(&'a [u8]),
    Text(&'static str),
    Quoted(&'a [u8]),
}

impl Source {
    /// A source without nodes yet.
    pub(crate) fn new(parse_name: &str, text: GoString) -> Self {
        // What an ordinary template comes to, so that the lists need not grow.
        let nodes = (text.len() / 12).min(4096);
        Self {
            parse_name: parse_name.to_owned(),
            text,
            nodes: Vec::with_capacity(nodes),
            lists: Vec::with_capacity(nodes),
            lines: OnceLock::new(),
        }
    }

    /// Gives back what the nodes did not need: a chart's templates are all parsed before the first is run.
    pub(crate) fn finish(&mut self) {
        self.nodes.shrink_to_fit();
        self.lists.shrink_to_fit();
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }

    pub(crate) fn kind(&self, id: NodeId) -> &NodeKind {
        // Every id comes from the parser of this very source.
        self.node(id).map_or(&NodeKind::Nil, |n| &n.kind)
    }

    /// Stores children; `None` when there are more than a source may hold.
    pub(crate) fn add_list(&mut self, children: &[NodeId]) -> Option<Span> {
        let start = self.lists.len();
        self.lists.extend_from_slice(children);
        Span::new(start, self.lists.len())
    }

    /// Children.
    pub(crate) fn list(&self, span: Span) -> &[NodeId] {
        self.lists.get(span.range()).unwrap_or_default()
    }

    /// A stretch of the text.
    pub(crate) fn bytes(&self, span: Span) -> &[u8] {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// What a text in quotes stands for.
    pub(crate) fn string(&self, quoted: Span, text: Option<&GoString>) -> GoString {
        if let Some(text) = text {
            return text.clone();
        }
        match self.bytes(quoted) {
            [_, plain @ .., _] => GoString::from(plain),
            _ => GoString::default(),
        }
    }

    /// Where a node begins in the text.
    pub(crate) fn pos(&self, id: NodeId) -> usize {
        self.node(id).map_or(0, |node| node.pos as usize)
    }

    /// Line (from 1) and column (bytes, from 0) of a node.
    pub(crate) fn position(&self, id: NodeId) -> (usize, usize) {
        let pos = self.pos(id);
        let lines = self.lines.get_or_init(|| {
            let newlines = memchr::memchr_iter(b'\n', &self.text);
            std::iter::once(0)
                .chain(newlines.map(|at| at + 1))
                .collect()
        });
        let line = lines.partition_point(|start| *start <= pos);
        let start = line.checked_sub(1).and_then(|i| lines.get(i)).copied();
        (line, pos - start.unwrap_or(0))
    }

    /// The text of a node as Go's `Node.String` writes it.
    pub(crate) fn node_text(&self, id: NodeId) -> String {
        let mut out = Vec::new();
        let mut work = vec![Piece::Node(id)];
        while let Some(piece) = work.pop() {
            match piece {
                Piece::Bytes(bytes) => out.extend_from_slice(bytes),
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Quoted(bytes) => out.extend_from_slice(quote(bytes).as_bytes()),
                Piece::Node(id) => {
                    let at = work.len();
                    self.pieces(id, &mut work);
                    // Written in reading order; the stack wants the first piece on top.
                    if let Some(new) = work.get_mut(at..) {
                        new.reverse();
                    }
                }
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Pushes the parts of a node's text in reading order.
    fn pieces<'a>(&'a self, id: NodeId, work: &mut Vec<Piece<'a>>) {
        match self.kind(id) {
            NodeKind::Text(text) => work.push(Piece::Bytes(self.bytes(*text))),
            NodeKind::Action(pipe) => {
                work.extend([Piece::Text("{{"), Piece::Node(*pipe), Piece::Text("}}")]);
            }
            NodeKind::Branch {
                kind,
                pipe,
                list,
                else_list,
            } => {
                work.extend([
                    Piece::Text("{{"),
                    Piece::Text(kind.name()),
                    Piece::Text(" "),
                    Piece::Node(*pipe),
                    Piece::Text("}}"),
                    Piece::Node(*list),
                ]);
                if let Some(list) = else_list {
                    work.extend([Piece::Text("{{else}}"), Piece::Node(*list)]);
                }
                work.push(Piece::Text("{{end}}"));
            }
            NodeKind::Template { name, pipe } => {
                work.extend([Piece::Text("{{template "), Piece::Quoted(name)]);
                if let Some(pipe) = pipe {
                    work.extend([Piece::Text(" "), Piece::Node(*pipe)]);
                }
                work.push(Piece::Text("}}"));
            }
            NodeKind::Break => work.push(Piece::Text("{{break}}")),
            NodeKind::Continue => work.push(Piece::Text("{{continue}}")),
            NodeKind::List(nodes) => {
                work.extend(self.list(*nodes).iter().map(|n| Piece::Node(*n)));
            }
            NodeKind::Pipe {
                is_assign,
                decl,
                cmds,
            } => {
                for (i, variable) in self.list(*decl).iter().enumerate() {
                    if i > 0 {
                        work.push(Piece::Text(", "));
                    }
                    work.push(Piece::Node(*variable));
                }
                if !decl.is_empty() {
                    work.push(Piece::Text(if *is_assign { " = " } else { " := " }));
                }
                for (i, cmd) in self.list(*cmds).iter().enumerate() {
                    if i > 0 {
                        work.push(Piece::Text(" | "));
                    }
                    work.push(Piece::Node(*cmd));
                }
            }
            NodeKind::Command(args) => {
                for (i, arg) in self.list(*args).iter().enumerate() {
                    if i > 0 {
                        work.push(Piece::Text(" "));
                    }
                    self.parenthesized(*arg, work);
                }
            }
            NodeKind::Identifier(target) => work.push(Piece::Text(target.name())),
            NodeKind::Variable(names) => {
                for (i, name) in names.iter().enumerate() {
                    if i > 0 {
                        work.push(Piece::Text("."));
                    }
                    work.push(Piece::Bytes(name));
                }
            }
            NodeKind::Field(names) => {
                for name in names.iter() {
                    work.extend([Piece::Text("."), Piece::Bytes(name)]);
                }
            }
            NodeKind::Chain { node, fields } => {
                self.parenthesized(*node, work);
                for name in fields.iter() {
                    work.extend([Piece::Text("."), Piece::Bytes(name)]);
                }
            }
            NodeKind::Dot => work.push(Piece::Text(".")),
            NodeKind::Nil => work.push(Piece::Text("nil")),
            NodeKind::Bool(b) => work.push(Piece::Text(if *b { "true" } else { "false" })),
            NodeKind::Number(number) => work.push(Piece::Bytes(number.text.as_bytes())),
            NodeKind::String(quoted, _) => work.push(Piece::Bytes(self.bytes(*quoted))),
        }
    }

    fn parenthesized<'a>(&'a self, id: NodeId, work: &mut Vec<Piece<'a>>) {
        if matches!(self.kind(id), NodeKind::Pipe { .. }) {
            work.extend([Piece::Text("("), Piece::Node(id), Piece::Text(")")]);
        } else {
            work.push(Piece::Node(id));
        }
    }

    /// Whether a list holds nothing but white space. Only a bare list of text counts: an action,
    /// even one that prints nothing, does not.
    pub(crate) fn is_empty_tree(&self, root: NodeId) -> bool {
        match self.kind(root) {
            NodeKind::List(nodes) => self.list(*nodes).iter().all(|n| match self.kind(*n) {
                NodeKind::Text(text) => is_blank(self.bytes(*text)),
                _ => false,
            }),
            _ => false,
        }
    }
}

/// `bytes.TrimSpace` leaves nothing.
fn is_blank(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while !rest.is_empty() {
        let (c, width) = crate::runes::decode(rest);
        if !c.is_some_and(|c| {
            matches!(
                c,
                '\t' | '\n'
                    | '\u{b}'
                    | '\u{c}'
                    | '\r'
                    | ' '
                    | '\u{85}'
                    | '\u{a0}'
                    | '\u{1680}'
                    | '\u{2000}'
                    ..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
            )
        }) {
            return false;
        }
        rest = rest.get(width..).unwrap_or_default();
    }
    true
}
