//! Pipelines: declarations, commands, operands and terms, with parentheses on a stack of their own.

use super::{Parser, Res};
use crate::bytestring::GoString;
use crate::funcs::Builtin;
use crate::lex::{Item, Tok};
use crate::node::{Name, NodeId, NodeKind, Target};
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
    cmds: Vec<NodeId>,
    cmd: Option<(usize, Vec<NodeId>)>,
}

impl<'a> Parser<'a> {
    pub(super) fn pipeline(&mut self, context: &'static str, end: Tok) -> Res<NodeId> {
        let mut frame = self.open_pipe(context, end)?;
        let mut frames: Vec<PipeFrame> = Vec::new();
        loop {
            if frame.cmd.is_none() {
                let token = self.next_non_space();
                match token.kind {
                    kind if kind == frame.end => {
                        let node = self.close_pipe(&mut frame)?;
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
                        frame.cmd = Some((pos, Vec::new()));
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
            cmds: Vec::new(),
            cmd: None,
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

    fn close_pipe(&mut self, frame: &mut PipeFrame) -> Res<NodeId> {
        if frame.cmds.is_empty() {
            return self.error(format!("missing value for {}", frame.context));
        }
        for (i, cmd) in frame.cmds.iter().enumerate().skip(1) {
            let NodeKind::Command(args) = self.kind(*cmd) else {
                continue;
            };
            let Some(first) = args.first() else { continue };
            if matches!(
                self.kind(*first),
                NodeKind::Bool(_)
                    | NodeKind::Dot
                    | NodeKind::Nil
                    | NodeKind::Number(_)
                    | NodeKind::String { .. }
            ) {
                return self.error(format!(
                    "non executable command in pipeline stage {}",
                    i + 1
                ));
            }
        }
        self.add(
            frame.pos,
            NodeKind::Pipe {
                is_assign: frame.is_assign,
                decl: std::mem::take(&mut frame.decl),
                cmds: std::mem::take(&mut frame.cmds),
            },
        )
    }

    /// Fields after a term, then what ends the operand or the command.
    fn after_term(&mut self, frame: &mut PipeFrame, term: Option<NodeId>) -> Res<()> {
        let Some((pos, mut args)) = frame.cmd.take() else {
            return self.error("operand outside of a command");
        };
        if let Some(term) = term {
            let operand = self.operand(term)?;
            args.push(operand);
        }
        let token = self.next();
        match token.kind {
            Tok::Space => {
                frame.cmd = Some((pos, args));
                return Ok(());
            }
            Tok::RightDelim | Tok::RightParen => self.backup(),
            Tok::Pipe => {}
            _ => return self.unexpected(&token, "operand"),
        }
        if args.is_empty() {
            return self.error("empty command");
        }
        let cmd = self.add(pos, NodeKind::Command(args))?;
        frame.cmds.push(cmd);
        Ok(())
    }

    fn operand(&mut self, term: NodeId) -> Res<NodeId> {
        let first = self.peek();
        if first.kind != Tok::Field {
            return Ok(term);
        }
        let mut fields: Vec<Name> = Vec::new();
        while self.peek().kind == Tok::Field {
            let field = self.next();
            fields.push(GoString::from(field.val.get(1..).unwrap_or_default()));
        }
        let kind = match self.kind(term) {
            NodeKind::Field(names) => {
                let mut names = names.clone();
                names.append(&mut fields);
                NodeKind::Field(names)
            }
            NodeKind::Variable(names) => {
                let mut names = names.clone();
                names.append(&mut fields);
                NodeKind::Variable(names)
            }
            NodeKind::Bool(_)
            | NodeKind::String { .. }
            | NodeKind::Number(_)
            | NodeKind::Nil
            | NodeKind::Dot => {
                let text = self.source.node_text(term);
                return self.error(format!(
                    "unexpected . after term {}",
                    quote(text.as_bytes())
                ));
            }
            _ => NodeKind::Chain { node: term, fields },
        };
        self.add(first.pos, kind)
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
            Tok::Field => {
                NodeKind::Field(vec![GoString::from(token.val.get(1..).unwrap_or_default())])
            }
            Tok::Bool => NodeKind::Bool(token.val == b"true"),
            Tok::CharConstant | Tok::Complex | Tok::Number => {
                match parse_number(token.val, token.kind) {
                    Ok(number) => NodeKind::Number(Box::new(number)),
                    Err(message) => return self.error(message),
                }
            }
            Tok::String | Tok::RawString => match unquote(token.val) {
                Ok(text) => NodeKind::String {
                    quoted: GoString::from(token.val),
                    text: GoString::from(text),
                },
                Err(e) => return self.error(e.to_string()),
            },
            _ => {
                self.backup();
                return Ok(None);
            }
        };
        self.add(token.pos, kind).map(Some)
    }

    fn identifier(&mut self, token: &Item<'a>) -> Res<NodeKind> {
        let name = String::from_utf8_lossy(token.val);
        let target = match self.funcs.get(&name) {
            Some(function) => Target::Function(function.clone()),
            None => match Builtin::from_name(&name) {
                Some(builtin) => Target::Builtin(builtin),
                None => {
                    return self.error(format!("function {} not defined", quote(token.val)));
                }
            },
        };
        Ok(NodeKind::Identifier {
            name: GoString::from(token.val),
            target,
        })
    }

    fn variable(&mut self, pos: usize, text: &[u8]) -> Res<NodeId> {
        self.add(pos, NodeKind::Variable(vec![GoString::from(text)]))
    }
}
