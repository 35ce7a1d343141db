//! The parser: tokens to nodes, one flat store per text, no recursion.
//!
//! Blocks and parentheses are kept on explicit stacks, so depth costs heap only; parentheses stop
//! at Go's 10,000. Function names are looked up here, once. Error texts and lines, including
//! which token's line an error names, follow `text/template/parse` of Go 1.26.

mod pipeline;

use std::collections::BTreeMap;

use crate::bytestring::GoString;
use crate::error::ParseError;
use crate::func::FuncTable;
use crate::lex::{Item, Lexer, Tok};
use crate::node::{BranchKind, Node, NodeId, NodeKind, Source, Span};
use crate::pool::Pool;
use crate::quote::quote;

/// The templates of one parsed text: roots by name, in order of the names.
pub(crate) struct Parsed {
    pub(crate) source: Source,
    pub(crate) roots: BTreeMap<GoString, NodeId>,
}

/// Parses a text under a name; `define` and `block` add more templates.
pub(crate) fn parse(
    name: &str,
    text: &GoString,
    funcs: &FuncTable,
    pool: &mut Pool,
) -> Result<Parsed, ParseError> {
    let has = |f: &str| funcs.get(f).is_some();
    let mut parser = Parser {
        name,
        lexer: Lexer::new(text, !has("break"), !has("continue")),
        funcs,
        token: [None; 3],
        peek_count: 0,
        source: Source::new(name, text.clone()),
        roots: BTreeMap::new(),
        tree: TreeState::new(),
        blocks: Vec::new(),
        nodes: Vec::new(),
        text,
        pool,
        words: Vec::new(),
        commands: Vec::new(),
    };
    parser.run()?;
    parser.source.finish();
    Ok(Parsed {
        source: parser.source,
        roots: parser.roots,
    })
}

/// The state that Go keeps per tree: a `define` or `block` starts with a fresh one.
struct TreeState<'a> {
    vars: Vec<&'a [u8]>,
    /// Where the action that is being read begins.
    action: Option<usize>,
    range_depth: usize,
}

impl TreeState<'_> {
    fn new() -> Self {
        Self {
            vars: vec![b"$"],
            action: None,
            range_depth: 0,
        }
    }
}

/// A block whose end has not come yet.
struct Open<'a> {
    kind: OpenKind<'a>,
    /// Where its nodes begin.
    nodes: usize,
}

enum OpenKind<'a> {
    /// `{{define "name"}}`
    Define {
        name: GoString,
        outer: TreeState<'a>,
    },
    /// `{{block "name" pipe}}`
    Block {
        name: GoString,
        pos: usize,
        pipe: NodeId,
        outer: TreeState<'a>,
        /// Where the last token begins that the tree around it has read.
        read: usize,
    },
    Branch {
        kind: BranchKind,
        pos: usize,
        pipe: NodeId,
        /// The first list, once `else` was seen.
        then_list: Option<NodeId>,
        vars_mark: usize,
        /// An `else if` or `else with`: closed by the end of the branch around it.
        implied: bool,
    },
}

/// What one action turned out to be.
enum Action {
    Node(NodeId),
    Opened,
    Else,
    End,
}

struct Parser<'a> {
    name: &'a str,
    lexer: Lexer<'a>,
    funcs: &'a FuncTable,
    /// Three-token look-ahead; the first is always the newest token read.
    token: [Option<Item<'a>>; 3],
    peek_count: usize,
    source: Source,
    roots: BTreeMap<GoString, NodeId>,
    tree: TreeState<'a>,
    blocks: Vec<Open<'a>>,
    /// Nodes of the lists that are being parsed, those of the innermost block last.
    nodes: Vec<NodeId>,
    text: &'a [u8],
    pool: &'a mut Pool,
    /// Words of the commands that are being parsed, those of the innermost last.
    words: Vec<NodeId>,
    /// Commands of the pipelines that are being parsed.
    commands: Vec<NodeId>,
}

type Res<T> = Result<T, ParseError>;

impl<'a> Parser<'a> {
    fn error<T>(&self, message: impl Into<String>) -> Res<T> {
        Err(self.error_at(self.newest(), message))
    }

    fn error_at(&self, pos: usize, message: impl Into<String>) -> ParseError {
        ParseError {
            template: self.name.to_owned(),
            line: self.line(pos),
            message: message.into(),
        }
    }

    /// Where the newest token begins.
    fn newest(&self) -> usize {
        self.token[0].map_or(0, |token| token.pos)
    }

    /// The line of a position, from 1.
    fn line(&self, pos: usize) -> usize {
        let before = self.text.get(..pos).unwrap_or_default();
        1 + memchr::memchr_iter(b'\n', before).count()
    }

    fn unexpected<T>(&self, token: &Item<'a>, context: &str) -> Res<T> {
        let shown = self.lexer.show(token);
        if token.kind == Tok::Error {
            let started = self.tree.action.map(|pos| self.line(pos));
            let mut extra = String::new();
            if let Some(started) = started.filter(|line| *line != self.line(token.pos)) {
                let prefix = if shown.ends_with(" action") {
                    ""
                } else {
                    " in action"
                };
                extra = format!("{prefix} started at {}:{started}", self.name);
            }
            return self.error(format!("{shown}{extra}"));
        }
        self.error(format!("unexpected {shown} in {context}"))
    }

    fn next(&mut self) -> Item<'a> {
        if self.peek_count > 0 {
            self.peek_count -= 1;
        } else {
            self.token[0] = Some(self.lexer.next_item());
        }
        match self.token.get(self.peek_count).copied().flatten() {
            Some(token) => token,
            None => self.lexer.next_item(),
        }
    }

    fn backup(&mut self) {
        self.peek_count += 1;
    }

    fn backup2(&mut self, t1: Item<'a>) {
        self.token[1] = Some(t1);
        self.peek_count = 2;
    }

    fn backup3(&mut self, t2: Item<'a>, t1: Item<'a>) {
        self.token[1] = Some(t1);
        self.token[2] = Some(t2);
        self.peek_count = 3;
    }

    fn peek(&mut self) -> Item<'a> {
        let token = self.next();
        self.backup();
        token
    }

    fn next_non_space(&mut self) -> Item<'a> {
        loop {
            let token = self.next();
            if token.kind != Tok::Space {
                return token;
            }
        }
    }

    fn peek_non_space(&mut self) -> Item<'a> {
        let token = self.next_non_space();
        self.backup();
        token
    }

    fn expect(&mut self, kind: Tok, context: &str) -> Res<Item<'a>> {
        let token = self.next_non_space();
        if token.kind == kind {
            Ok(token)
        } else {
            self.unexpected(&token, context)
        }
    }

    fn add(&mut self, pos: usize, kind: NodeKind) -> Res<NodeId> {
        let (Ok(id), Ok(pos)) = (u32::try_from(self.source.nodes.len()), u32::try_from(pos)) else {
            return self.error("template is too large");
        };
        self.source.nodes.push(Node { pos, kind });
        Ok(NodeId(id))
    }

    fn kind(&self, id: NodeId) -> &NodeKind {
        self.source.kind(id)
    }

    /// The token as a stretch of the text.
    fn span(&self, token: &Item<'a>) -> Res<Span> {
        self.stored(Span::new(token.pos, token.pos + token.val.len()))
    }

    fn list(&mut self, children: &[NodeId]) -> Res<Span> {
        let span = self.source.add_list(children);
        self.stored(span)
    }

    fn stored(&self, span: Option<Span>) -> Res<Span> {
        match span {
            Some(span) => Ok(span),
            None => self.error("template is too large"),
        }
    }

    // Blocks.

    fn run(&mut self) -> Res<()> {
        loop {
            let token = self.peek_non_space();
            if token.kind == Tok::Eof {
                if !self.blocks.is_empty() {
                    return self.error("unexpected EOF");
                }
                break;
            }
            if self.blocks.is_empty() && token.kind == Tok::LeftDelim {
                let delim = self.next();
                if self.next_non_space().kind == Tok::Define {
                    self.open_define()?;
                    continue;
                }
                self.backup2(delim);
            }
            match self.text_or_action()? {
                Action::Node(node) => self.nodes.push(node),
                Action::Opened => {}
                Action::Else => self.on_else()?,
                Action::End => {
                    if let Some(node) = self.on_end()? {
                        self.tree.action = None;
                        self.nodes.push(node);
                    }
                }
            }
        }
        let list = self.close_list(0)?;
        self.install(GoString::from(self.name), list)
    }

    /// Go's `Tree.add`: a second definition in one text replaces an empty one only.
    fn install(&mut self, name: GoString, list: NodeId) -> Res<()> {
        match self.roots.get(&name) {
            Some(old) if !self.source.is_empty_tree(*old) => {
                if !self.source.is_empty_tree(list) {
                    return self.error(format!(
                        "template: multiple definition of template {}",
                        quote(&name)
                    ));
                }
            }
            _ => {
                self.roots.insert(name, list);
            }
        }
        Ok(())
    }

    /// The list of the nodes from the one of this number on.
    fn close_list(&mut self, first: usize) -> Res<NodeId> {
        let nodes = self.nodes.get(first..).unwrap_or_default();
        let nodes = self.source.add_list(nodes);
        self.nodes.truncate(first);
        let nodes = self.stored(nodes)?;
        self.add(0, NodeKind::List(nodes))
    }

    fn open_define(&mut self) -> Res<()> {
        const CONTEXT: &str = "define clause";
        let outer = std::mem::replace(&mut self.tree, TreeState::new());
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        self.expect(Tok::RightDelim, CONTEXT)?;
        self.blocks.push(Open {
            kind: OpenKind::Define { name, outer },
            nodes: self.nodes.len(),
        });
        Ok(())
    }

    fn text_or_action(&mut self) -> Res<Action> {
        let token = self.next_non_space();
        match token.kind {
            Tok::Text => {
                let text = self.span(&token)?;
                let node = self.add(token.pos, NodeKind::Text(text))?;
                Ok(Action::Node(node))
            }
            Tok::LeftDelim => {
                self.tree.action = Some(token.pos);
                let action = self.action()?;
                // An opened block stays "the action" until one inside it is complete.
                if !matches!(action, Action::Opened) {
                    self.tree.action = None;
                }
                Ok(action)
            }
            _ => self.unexpected(&token, "input"),
        }
    }

    fn action(&mut self) -> Res<Action> {
        let token = self.next_non_space();
        match token.kind {
            Tok::Block => self.open_block(),
            Tok::Break => self.loop_control(&token, NodeKind::Break, "{{break}}"),
            Tok::Continue => self.loop_control(&token, NodeKind::Continue, "{{continue}}"),
            Tok::Else => {
                let peek = self.peek_non_space();
                if !matches!(peek.kind, Tok::If | Tok::With) {
                    self.expect(Tok::RightDelim, "else")?;
                }
                Ok(Action::Else)
            }
            Tok::End => {
                self.expect(Tok::RightDelim, "end")?;
                Ok(Action::End)
            }
            Tok::If => self.open_branch(BranchKind::If, false),
            Tok::Range => self.open_branch(BranchKind::Range, false),
            Tok::With => self.open_branch(BranchKind::With, false),
            Tok::Template => self.template_control(),
            _ => {
                self.backup();
                let token = self.peek();
                let pipe = self.pipeline("command", Tok::RightDelim)?;
                let node = self.add(token.pos, NodeKind::Action(pipe))?;
                Ok(Action::Node(node))
            }
        }
    }

    fn loop_control(&mut self, token: &Item<'a>, kind: NodeKind, text: &str) -> Res<Action> {
        let next = self.next_non_space();
        if next.kind != Tok::RightDelim {
            return self.unexpected(&next, text);
        }
        if self.tree.range_depth == 0 {
            return self.error(format!("{text} outside {{{{range}}}}"));
        }
        let node = self.add(token.pos, kind)?;
        Ok(Action::Node(node))
    }

    fn open_branch(&mut self, kind: BranchKind, implied: bool) -> Res<Action> {
        let vars_mark = self.tree.vars.len();
        let pipe = self.pipeline(kind.name(), Tok::RightDelim)?;
        if kind == BranchKind::Range {
            self.tree.range_depth += 1;
        }
        let pos = self.source.pos(pipe);
        self.blocks.push(Open {
            kind: OpenKind::Branch {
                kind,
                pos,
                pipe,
                then_list: None,
                vars_mark,
                implied,
            },
            nodes: self.nodes.len(),
        });
        Ok(Action::Opened)
    }

    fn open_block(&mut self) -> Res<Action> {
        const CONTEXT: &str = "block clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let pipe = self.pipeline(CONTEXT, Tok::RightDelim)?;
        let outer = std::mem::replace(&mut self.tree, TreeState::new());
        let read = self.newest();
        self.blocks.push(Open {
            kind: OpenKind::Block {
                name,
                pos: token.pos,
                pipe,
                outer,
                read,
            },
            nodes: self.nodes.len(),
        });
        Ok(Action::Opened)
    }

    fn template_control(&mut self) -> Res<Action> {
        const CONTEXT: &str = "template clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let mut pipe = None;
        if self.next_non_space().kind != Tok::RightDelim {
            self.backup();
            pipe = Some(self.pipeline(CONTEXT, Tok::RightDelim)?);
        }
        let name = Box::new(name);
        let node = self.add(token.pos, NodeKind::Template { name, pipe })?;
        Ok(Action::Node(node))
    }

    fn template_name(&mut self, token: &Item<'a>, context: &str) -> Res<GoString> {
        match token.kind {
            Tok::String | Tok::RawString => self.string(token.val),
            _ => self.unexpected(token, context),
        }
    }

    /// `{{else}}`, `{{else if`, `{{else with`: the first list of the innermost branch is complete.
    fn on_else(&mut self) -> Res<()> {
        let Some(open) = self.blocks.last_mut() else {
            return self.error("unexpected {{else}}");
        };
        let (branch, has_else) = match &open.kind {
            OpenKind::Define { .. } => return self.error("unexpected {{else}} in define clause"),
            OpenKind::Block { read, .. } => {
                // Told by the tree around the block, which has read no further than its begin.
                let read = *read;
                return Err(self.error_at(read, "unexpected {{else}} in block clause"));
            }
            OpenKind::Branch {
                kind, then_list, ..
            } => (*kind, then_list.is_some()),
        };
        if has_else {
            return self.error("expected end; found {{else}}");
        }
        let nodes = open.nodes;
        let list = self.close_list(nodes)?;
        if let Some(Open {
            kind: OpenKind::Branch { then_list, .. },
            ..
        }) = self.blocks.last_mut()
        {
            *then_list = Some(list);
        }
        if branch == BranchKind::Range {
            self.tree.range_depth -= 1;
        }
        // `else if` and `else with` continue the same action.
        let follows = self.peek().kind;
        if (branch == BranchKind::If && follows == Tok::If)
            || (branch == BranchKind::With && follows == Tok::With)
        {
            self.next();
            self.open_branch(branch, true)?;
        }
        Ok(())
    }

    /// `{{end}}`: closes the innermost block, and with it every implied branch. Gives the node to
    /// add to the list around it, if there is one.
    fn on_end(&mut self) -> Res<Option<NodeId>> {
        loop {
            let Some(open) = self.blocks.pop() else {
                return self.error("unexpected {{end}}");
            };
            let list = self.close_list(open.nodes)?;
            match open.kind {
                OpenKind::Define { name, outer } => {
                    self.install(name, list)?;
                    self.tree = outer;
                    return Ok(None);
                }
                OpenKind::Block {
                    name,
                    pos,
                    pipe,
                    outer,
                    ..
                } => {
                    self.install(name.clone(), list)?;
                    self.tree = outer;
                    let node = self.add(
                        pos,
                        NodeKind::Template {
                            name: Box::new(name),
                            pipe: Some(pipe),
                        },
                    )?;
                    return Ok(Some(node));
                }
                OpenKind::Branch {
                    kind,
                    pos,
                    pipe,
                    then_list,
                    vars_mark,
                    implied,
                } => {
                    if kind == BranchKind::Range && then_list.is_none() {
                        self.tree.range_depth -= 1;
                    }
                    self.tree.vars.truncate(vars_mark);
                    let (list, else_list) = match then_list {
                        Some(then_list) => (then_list, Some(list)),
                        None => (list, None),
                    };
                    let node = self.add(
                        pos,
                        NodeKind::Branch {
                            kind,
                            pipe,
                            list,
                            else_list,
                        },
                    )?;
                    if !implied {
                        return Ok(Some(node));
                    }
                    if self.blocks.is_empty() {
                        return self.error("unexpected {{end}}");
                    }
                    self.nodes.push(node);
                }
            }
        }
    }
}
