//! Pipelines: declarations, commands, operands and terms, with parentheses on a stack of their own.

use super::{Parser, Res};
use crate::bytestring::GoString;
use crate::funcs::Builtin;
use crate::lex::{Item, Tok};
use crate::node::{Names, NodeId, NodeKind, Target};
use crate::number::parse_number;
use crate::quote::{quote, unquote};

/// Go's limit on nested parentheses.
const MAX_PAREN_DEPTH: usize = 10_000;

/// A pipeline under construction; parentheses stack them.
struct PipeFrame {
    context: &'static str,
    end: Tok,
    pos: usize,
    is_assign: bool,
    decl: Vec<NodeId>,
    /// Where its commands begin.
    commands: usize,
    /// Position of the command that is being parsed, and where its words begin.
    command: Option<(usize, usize)>,
}

impl<'a> Parser<'a> {
    pub(super) fn pipeline(&mut self, context: &'static str, end: Tok) -> Res<NodeId> {
        let mut frame = self.open_pipe(context, end)?;
        let mut frames: Vec<PipeFrame> = Vec::new();
        loop {
            if frame.command.is_none() {
                let token = self.next_non_space();
                match token.kind {
                    kind if kind == frame.end => {
                        let node = self.close_pipe(&frame)?;
                        match frames.pop() {
                            None => return Ok(node),
                            Some(outer) => {
                                frame = outer;
                                self.after_term(&mut frame, Some(node))?;
                            }
                        }
                    }
                    Tok::Bool
                    | Tok::CharConstant
                    | Tok::Complex
                    | Tok::Dot
                    | Tok::Field
                    | Tok::Identifier
                    | Tok::Number
                    | Tok::Nil
                    | Tok::RawString
                    | Tok::String
                    | Tok::Variable
                    | Tok::LeftParen => {
                        self.backup();
                        let pos = self.peek_non_space().pos;
                        frame.command = Some((pos, self.words.len()));
                    }
                    _ => return self.unexpected(&token, frame.context),
                }
                continue;
            }
            // Inside a command: skip leading spaces, then a term.
            let token = self.next_non_space();
            if token.kind == Tok::LeftParen {
                if frames.len() >= MAX_PAREN_DEPTH {
                    return self.error("max expression depth exceeded");
                }
                let inner = self.open_pipe("parenthesized pipeline", Tok::RightParen)?;
                frames.push(std::mem::replace(&mut frame, inner));
                continue;
            }
            let node = self.term(&token)?;
            self.after_term(&mut frame, node)?;
        }
    }

    /// The start of a pipeline: position and declarations.
    fn open_pipe(&mut self, context: &'static str, end: Tok) -> Res<PipeFrame> {
        let mut frame = PipeFrame {
            context,
            end,
            pos: self.peek_non_space().pos,
            is_assign: false,
            decl: Vec::new(),
            commands: self.commands.len(),
            command: None,
        };
        loop {
            let v = self.peek_non_space();
            if v.kind != Tok::Variable {
                return Ok(frame);
            }
            self.next();
            // "$x foo" needs a token more than "$x := foo": remember what stands beside the variable.
            let after = self.peek();
            let next = self.peek_non_space();
            match next.kind {
                Tok::Assign | Tok::Declare => {
                    frame.is_assign = next.kind == Tok::Assign;
                    self.next_non_space();
                    let node = self.variable(v.pos, v.val)?;
                    frame.decl.push(node);
                    self.tree.vars.push(v.val);
                    return Ok(frame);
                }
                Tok::Char if next.val == b"," => {
                    self.next_non_space();
                    let node = self.variable(v.pos, v.val)?;
                    frame.decl.push(node);
                    self.tree.vars.push(v.val);
                    if context == "range" && frame.decl.len() < 2 {
                        match self.peek_non_space().kind {
                            Tok::Variable | Tok::RightDelim | Tok::RightParen => continue,
                            _ => return self.error("range can only initialize variables"),
                        }
                    }
                    return self.error(format!("too many declarations in {context}"));
                }
                _ if after.kind == Tok::Space => {
                    self.backup3(v, after);
                    return Ok(frame);
                }
                _ => {
                    self.backup2(v);
                    return Ok(frame);
                }
            }
        }
    }

    fn close_pipe(&mut self, frame: &PipeFrame) -> Res<NodeId> {
        let commands = self.commands.get(frame.commands..).unwrap_or_default();
        if commands.is_empty() {
            return self.error(format!("missing value for {}", frame.context));
        }
        for (i, command) in commands.iter().enumerate().skip(1) {
            let NodeKind::Command(words) = self.kind(*command) else {
                continue;
            };
            let Some(first) = self.source.list(*words).first() else {
                continue;
            };
            if matches!(
                self.kind(*first),
                NodeKind::Bool(_)
                    | NodeKind::Dot
                    | NodeKind::Nil
                    | NodeKind::Number(_)
                    | NodeKind::String(..)
            ) {
                return self.error(format!(
                    "non executable command in pipeline stage {}",
                    i + 1
                ));
            }
        }
        let cmds = self.source.add_list(commands);
        self.commands.truncate(frame.commands);
        let cmds = self.stored(cmds)?;
        let decl = self.list(&frame.decl)?;
        let kind = NodeKind::Pipe {
            is_assign: frame.is_assign,
            decl,
            cmds,
        };
        self.add(frame.pos, kind)
    }

    /// Fields after a term, then what ends the operand or the command.
    fn after_term(&mut self, frame: &mut PipeFrame, term: Option<NodeId>) -> Res<()> {
        let Some((pos, first)) = frame.command else {
            return self.error("operand outside of a command");
        };
        if let Some(term) = term {
            let operand = self.operand(term)?;
            self.words.push(operand);
        }
        let token = self.next();
        match token.kind {
            Tok::Space => return Ok(()),
            Tok::RightDelim | Tok::RightParen => self.backup(),
            Tok::Pipe => {}
            _ => return self.unexpected(&token, "operand"),
        }
        frame.command = None;
        let words = self.words.get(first..).unwrap_or_default();
        if words.is_empty() {
            return self.error("empty command");
        }
        let words = self.source.add_list(words);
        self.words.truncate(first);
        let words = self.stored(words)?;
        let command = self.add(pos, NodeKind::Command(words))?;
        self.commands.push(command);
        Ok(())
    }

    fn operand(&mut self, term: NodeId) -> Res<NodeId> {
        let first = self.peek();
        if first.kind != Tok::Field {
            return Ok(term);
        }
        let mut end = first.pos;
        while self.peek().kind == Tok::Field {
            let field = self.next();
            end = field.pos + field.val.len();
        }
        let start = self.source.pos(term);
        let kind = match self.kind(term) {
            // The fields follow the term without a space.
            NodeKind::Field(_) => NodeKind::Field(self.names(start, end)),
            NodeKind::Variable(_) => NodeKind::Variable(self.names(start, end)),
            NodeKind::Bool(_)
            | NodeKind::String(..)
            | NodeKind::Number(_)
            | NodeKind::Nil
            | NodeKind::Dot => {
                let text = self.source.node_text(term);
                return self.error(format!(
                    "unexpected . after term {}",
                    quote(text.as_bytes())
                ));
            }
            _ => NodeKind::Chain {
                node: term,
                fields: self.names(first.pos, end),
            },
        };
        self.add(first.pos, kind)
    }

    /// The names of a chain such as `.a.b` or `$x.a`: one for all chains that are written alike.
    fn names(&mut self, start: usize, end: usize) -> Names {
        self.pool
            .chain(self.text.get(start..end).unwrap_or_default())
    }

    /// A simple operand; `None` when the token does not begin one.
    fn term(&mut self, token: &Item<'a>) -> Res<Option<NodeId>> {
        let kind = match token.kind {
            Tok::Identifier => self.identifier(token)?,
            Tok::Dot => NodeKind::Dot,
            Tok::Nil => NodeKind::Nil,
            Tok::Variable => {
                let node = self.variable(token.pos, token.val)?;
                if !self.tree.vars.contains(&token.val) {
                    return self.error(format!("undefined variable {}", quote(token.val)));
                }
                return Ok(Some(node));
            }
            Tok::Field => NodeKind::Field(self.names(token.pos, token.pos + token.val.len())),
            Tok::Bool => NodeKind::Bool(token.val == b"true"),
            Tok::CharConstant | Tok::Complex | Tok::Number => {
                match parse_number(token.val, token.kind) {
                    Ok(number) => NodeKind::Number(Box::new(number)),
                    Err(message) => return self.error(message),
                }
            }
            Tok::String | Tok::RawString => {
                let mut text = None;
                if !is_plain(token.val) {
                    text = Some(Box::new(self.string(token.val)?));
                }
                NodeKind::String(self.span(token)?, text)
            }
            _ => {
                self.backup();
                return Ok(None);
            }
        };
        self.add(token.pos, kind).map(Some)
    }

    /// What a quoted string stands for.
    pub(super) fn string(&self, literal: &[u8]) -> Res<GoString> {
        match unquote(literal) {
            Ok(text) => Ok(GoString::from(text)),
            Err(e) => self.error(e.to_string()),
        }
    }

    fn identifier(&mut self, token: &Item<'a>) -> Res<NodeKind> {
        let name = std::str::from_utf8(token.val).unwrap_or_default();
        if let Some(function) = self.funcs.get(name) {
            return Ok(NodeKind::Identifier(Target::Function(function.clone())));
        }
        match Builtin::from_name(name) {
            Some(builtin) => Ok(NodeKind::Identifier(Target::Builtin(builtin))),
            None => self.error(format!("function {} not defined", quote(token.val))),
        }
    }

    fn variable(&mut self, pos: usize, text: &[u8]) -> Res<NodeId> {
        let names = self.names(pos, pos + text.len());
        self.add(pos, NodeKind::Variable(names))
    }
}

/// Whether the text between the quotes stands for itself: most do.
fn is_plain(literal: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii() && !matches!(byte, b'\\' | b'"' | b'\n');
    match literal {
        [b'"', inner @ .., b'"'] => inner.iter().all(plain),
        // Of a raw string only carriage returns are dropped.
        [b'`', inner @ .., b'`'] => memchr::memchr(b'\r', inner).is_none(),
        _ => false,
    }
}
