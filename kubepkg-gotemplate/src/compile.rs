//! The compiler: from the syntax tree to instructions, with a list of work instead of recursion.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::code::{BuiltinOp, CallOp, Label, MethodOp, Op, RangeOp, VarId, root_var};
use crate::constant::{Const, ideal, literal, nil_argument};
use crate::func::Signature;
use crate::funcs::Builtin;
use crate::gotype::{REFLECT_VALUE, Type};
use crate::node::{BranchKind, Name, Names, NodeId, NodeKind, Source, Span, Target};

/// The instructions of a template: of a source, from this node on.
pub(crate) fn compile(source: &Source, root: NodeId) -> Vec<Op> {
    let mut compiler = Compiler {
        source,
        names: HashMap::default(),
        ops: Vec::with_capacity(32),
        labels: Vec::new(),
        work: Vec::with_capacity(32),
        later: 0,
        loops: Vec::new(),
    };
    compiler.work.push(Task::Emit(Op::Return));
    compiler.work.push(Task::Stmt(root));
    compiler.run();
    compiler.finish()
}

/// What type an argument must have.
#[derive(Clone, Copy)]
enum ArgType {
    /// Anything goes: the base of a chain.
    Untyped,
    Static(&'static Type),
    /// The parameter of a method that is found at run time.
    Param(usize),
}

enum Task {
    Stmt(NodeId),
    Pipe(NodeId),
    Cmd(NodeId, bool),
    Arg(NodeId, ArgType),
    Emit(Op),
    Bind(Label),
    PushLoop(Label, Label),
    PopLoop,
}

struct Compiler<'s> {
    source: &'s Source,
    /// The numbers of variables other than `$`.
    names: HashMap<&'s [u8], VarId, RandomState>,
    ops: Vec<Op>,
    /// Where each label stands.
    labels: Vec<usize>,
    /// What is still to do, the next on top.
    work: Vec<Task>,
    /// How much of that was there before the present task.
    later: usize,
    /// Labels of the next round and the end of the ranges around.
    loops: Vec<(Label, Label)>,
}

impl<'s> Compiler<'s> {
    fn run(&mut self) {
        while let Some(task) = self.work.pop() {
            self.later = self.work.len();
            match task {
                Task::Emit(op) => self.ops.push(op),
                Task::Bind(label) => {
                    let here = self.ops.len();
                    if let Some(place) = self.labels.get_mut(label) {
                        *place = here;
                    }
                }
                Task::PushLoop(next, end) => self.loops.push((next, end)),
                Task::PopLoop => {
                    self.loops.pop();
                }
                Task::Stmt(id) => self.stmt(id),
                Task::Pipe(id) => self.pipe(id),
                Task::Cmd(id, has_final) => self.command(id, has_final),
                Task::Arg(id, ty) => self.arg(id, ty),
            }
            // Tasks are added in reading order; the first must be on top.
            if let Some(new) = self.work.get_mut(self.later..) {
                new.reverse();
            }
        }
    }

    /// Replaces labels by instruction numbers.
    fn finish(mut self) -> Vec<Op> {
        let labels = std::mem::take(&mut self.labels);
        let resolve = |label: &mut Label| *label = labels.get(*label).copied().unwrap_or(0);
        for op in &mut self.ops {
            match op {
                Op::Jump(l)
                | Op::If(l)
                | Op::With(l)
                | Op::Next(l)
                | Op::Continue(l)
                | Op::Break(l)
                | Op::AndOr { target: l, .. } => resolve(l),
                Op::Range(range) => resolve(&mut range.otherwise),
                Op::Method(method) | Op::CallMethod(method) => resolve(&mut method.end),
                _ => {}
            }
        }
        self.ops
    }

    fn label(&mut self) -> Label {
        self.labels.push(0);
        self.labels.len() - 1
    }

    fn var(&mut self, name: &'s Name) -> VarId {
        if **name == *b"$" {
            return root_var();
        }
        let next = VarId::try_from(self.names.len() + 1).unwrap_or(VarId::MAX);
        *self.names.entry(name.as_bytes()).or_insert(next)
    }

    /// Adds an instruction, behind what the present task has left to do.
    fn emit(&mut self, op: Op) {
        if self.work.len() == self.later {
            self.ops.push(op);
        } else {
            self.work.push(Task::Emit(op));
        }
    }

    fn fail(&mut self, message: String) {
        self.emit(Op::Fail(message.into_boxed_str()));
    }

    fn stmt(&mut self, id: NodeId) {
        match self.source.kind(id) {
            NodeKind::Text(text) if !text.is_empty() => self.emit(Op::Text(*text, id)),
            NodeKind::List(nodes) => {
                let nodes = self.source.list(*nodes);
                self.work.extend(nodes.iter().map(|n| Task::Stmt(*n)));
            }
            NodeKind::Action(pipe) => {
                self.work.push(Task::Pipe(*pipe));
                let declares = matches!(self.source.kind(*pipe), NodeKind::Pipe { decl, .. } if !decl.is_empty());
                self.emit(if declares { Op::Pop } else { Op::Print(id) });
            }
            NodeKind::Branch {
                kind: BranchKind::Range,
                pipe,
                list,
                else_list,
            } => self.range(*pipe, *list, *else_list),
            NodeKind::Branch {
                kind,
                pipe,
                list,
                else_list,
            } => {
                let (otherwise, end) = (self.label(), self.label());
                self.emit(Op::Enter);
                self.work.push(Task::Pipe(*pipe));
                self.emit(if *kind == BranchKind::If {
                    Op::If(otherwise)
                } else {
                    Op::With(otherwise)
                });
                self.work.push(Task::Stmt(*list));
                if let Some(else_list) = else_list {
                    self.emit(Op::Jump(end));
                    self.work.push(Task::Bind(otherwise));
                    self.work.push(Task::Stmt(*else_list));
                } else {
                    self.work.push(Task::Bind(otherwise));
                }
                self.work.push(Task::Bind(end));
                self.emit(Op::Leave);
            }
            NodeKind::Template { name, pipe } => {
                self.emit(Op::CheckTemplate(name.clone(), id));
                match pipe {
                    Some(pipe) => self.work.push(Task::Pipe(*pipe)),
                    None => self.emit(Op::Invalid),
                }
                self.emit(Op::CallTemplate(name.clone()));
            }
            NodeKind::Break => {
                if let Some((_, end)) = self.loops.last() {
                    let end = *end;
                    self.emit(Op::Break(end));
                }
            }
            NodeKind::Continue => {
                if let Some((next, _)) = self.loops.last() {
                    let next = *next;
                    self.emit(Op::Continue(next));
                }
            }
            _ => {}
        }
    }

    fn range(&mut self, pipe: NodeId, list: NodeId, else_list: Option<NodeId>) {
        let (next, end, otherwise) = (self.label(), self.label(), self.label());
        let (vars, is_assign) = match self.source.kind(pipe) {
            NodeKind::Pipe {
                decl, is_assign, ..
            } => {
                let vars = self.decl_vars(*decl).into_iter().map(|(var, _)| var);
                (vars.collect(), *is_assign)
            }
            _ => (Vec::new(), false),
        };
        self.emit(Op::Enter);
        self.work.push(Task::Pipe(pipe));
        self.emit(Op::Range(Box::new(RangeOp {
            vars,
            is_assign,
            otherwise,
        })));
        self.work.push(Task::PushLoop(next, end));
        self.work.push(Task::Bind(next));
        self.emit(Op::Next(end));
        self.work.push(Task::Stmt(list));
        self.emit(Op::Jump(next));
        self.work.push(Task::PopLoop);
        self.work.push(Task::Bind(otherwise));
        if let Some(else_list) = else_list {
            self.work.push(Task::Stmt(else_list));
        }
        self.work.push(Task::Bind(end));
        self.emit(Op::Leave);
    }

    fn decl_vars(&mut self, decl: Span) -> Vec<(VarId, Name)> {
        let source = self.source;
        let names = source
            .list(decl)
            .iter()
            .filter_map(|id| match source.kind(*id) {
                NodeKind::Variable(names) => names.first(),
                _ => None,
            });
        names.map(|name| (self.var(name), name.clone())).collect()
    }

    fn pipe(&mut self, id: NodeId) {
        let NodeKind::Pipe {
            is_assign,
            decl,
            cmds,
        } = self.source.kind(id)
        else {
            return;
        };
        self.emit(Op::At(id));
        for (i, cmd) in self.source.list(*cmds).iter().enumerate() {
            self.work.push(Task::Cmd(*cmd, i > 0));
            self.emit(Op::Unwrap);
        }
        for (var, name) in self.decl_vars(*decl) {
            self.emit(if *is_assign {
                Op::Assign(var, Box::new(name))
            } else {
                Op::Declare(var)
            });
        }
    }

    fn command(&mut self, id: NodeId, has_final: bool) {
        let NodeKind::Command(words) = self.source.kind(id) else {
            return;
        };
        let Some((&first, args)) = self.source.list(*words).split_first() else {
            return;
        };
        let has_args = !args.is_empty() || has_final;
        match self.source.kind(first) {
            NodeKind::Field(names) => {
                self.emit(Op::At(first));
                if has_args {
                    self.emit(Op::Dot);
                    self.method_call(first, names, args, has_final);
                } else {
                    self.emit(Op::DotFields(names.clone(), first));
                }
            }
            NodeKind::Chain { node, fields } => {
                self.emit(Op::At(first));
                self.work.push(Task::Arg(*node, ArgType::Untyped));
                if has_args {
                    self.method_call(first, fields, args, has_final);
                } else {
                    self.emit(Op::Fields(fields.clone(), first));
                }
            }
            NodeKind::Variable(names) => {
                self.emit(Op::At(first));
                let Some((name, fields)) = names.split_first() else {
                    return;
                };
                let var = self.var(name);
                if has_args && fields.is_empty() {
                    self.emit(Op::Var(var));
                    self.not_a_function(first);
                } else if has_args {
                    self.emit(Op::Var(var));
                    self.method_call(first, fields, args, has_final);
                } else {
                    self.variable(first, var, names);
                }
            }
            NodeKind::Identifier(target) => self.call(first, target, id, args, has_final),
            NodeKind::Pipe { .. } => {
                if has_args {
                    self.not_a_function(first);
                } else {
                    self.work.push(Task::Pipe(first));
                }
            }
            kind => {
                self.emit(Op::At(first));
                if has_args {
                    self.not_a_function(first);
                    return;
                }
                match kind {
                    NodeKind::Dot => self.emit(Op::Dot),
                    NodeKind::Nil => self.fail("nil is not a command".to_owned()),
                    NodeKind::Bool(b) => self.emit(Op::Const(Const::Bool(*b))),
                    NodeKind::String(quoted, text) => {
                        let text = self.source.string(*quoted, text.as_deref());
                        self.emit(Op::Const(Const::Str(text)));
                    }
                    NodeKind::Number(number) => match ideal(number) {
                        Ok(constant) => self.emit(Op::Const(constant)),
                        Err(message) => self.fail(message),
                    },
                    _ => {
                        let text = crate::quote::quote(self.source.node_text(first).as_bytes());
                        self.fail(format!("can't evaluate command {text}"));
                    }
                }
            }
        }
    }

    fn not_a_function(&mut self, node: NodeId) {
        let text = self.source.node_text(node);
        self.fail(format!("can't give argument to non-function {text}"));
    }

    fn variable(&mut self, node: NodeId, var: VarId, names: &Names) {
        self.emit(if names.len() == 1 {
            Op::Var(var)
        } else {
            Op::VarFields(var, names.clone(), node)
        });
    }

    /// A chain of fields whose last one gets arguments; the first receiver is on the stack.
    fn method_call(&mut self, node: NodeId, names: &[Name], args: &[NodeId], has_final: bool) {
        let Some((last, path)) = names.split_last() else {
            return;
        };
        if !path.is_empty() {
            self.emit(Op::Fields(path.into(), node));
        }
        let end = self.label();
        let method = MethodOp {
            name: last.clone(),
            argc: args.len(),
            has_final,
            node,
            end,
        };
        self.emit(Op::Method(Box::new(method.clone())));
        for (i, arg) in args.iter().enumerate() {
            self.work.push(Task::Arg(*arg, ArgType::Param(i)));
        }
        self.emit(Op::CallMethod(Box::new(method)));
        self.work.push(Task::Bind(end));
    }

    fn call(
        &mut self,
        ident: NodeId,
        target: &Target,
        node: NodeId,
        args: &[NodeId],
        has_final: bool,
    ) {
        self.emit(Op::At(ident));
        let (name, signature) = match target {
            Target::Function(function) => (function.name, function.signature),
            Target::Builtin(builtin) => (builtin.name(), builtin.signature()),
        };
        if let Some(message) = count_error(name, &signature, args.len(), has_final) {
            self.fail(message);
            return;
        }
        match target {
            Target::Builtin(Builtin::And) => self.and_or(args, has_final, false),
            Target::Builtin(Builtin::Or) => self.and_or(args, has_final, true),
            Target::Builtin(builtin) => {
                self.args(args, &signature);
                self.emit(Op::CallBuiltin(BuiltinOp {
                    builtin: *builtin,
                    argc: args.len(),
                    has_final,
                    node,
                    callee: args.first().copied(),
                }));
            }
            Target::Function(function) => {
                self.args(args, &signature);
                self.emit(Op::Call(CallOp {
                    function: function.clone(),
                    argc: args.len(),
                    has_final,
                    node,
                }));
            }
        }
    }

    fn args(&mut self, args: &[NodeId], signature: &Signature) {
        for (i, arg) in args.iter().enumerate() {
            self.work
                .push(Task::Arg(*arg, ArgType::Static(signature.param(i))));
        }
    }

    fn and_or(&mut self, args: &[NodeId], has_final: bool, stop_on: bool) {
        let (decided, end) = (self.label(), self.label());
        for (i, arg) in args.iter().enumerate() {
            self.work
                .push(Task::Arg(*arg, ArgType::Static(&REFLECT_VALUE)));
            if i + 1 < args.len() || has_final {
                self.emit(Op::AndOr {
                    stop_on,
                    target: decided,
                });
                self.emit(Op::Pop);
            }
        }
        if has_final {
            // Not decided: the piped value, which lies below, is the result.
            self.emit(Op::Jump(end));
            self.work.push(Task::Bind(decided));
            self.emit(Op::Nip);
        } else {
            self.work.push(Task::Bind(decided));
        }
        self.work.push(Task::Bind(end));
    }

    fn arg(&mut self, id: NodeId, ty: ArgType) {
        self.emit(Op::At(id));
        match self.source.kind(id) {
            NodeKind::Dot => self.emit(Op::Dot),
            NodeKind::Nil => {
                match ty {
                    ArgType::Param(i) => self.emit(Op::NilParam(i)),
                    ArgType::Static(ty) => match nil_argument(ty) {
                        Ok(constant) => self.emit(constant),
                        Err(message) => self.fail(message),
                    },
                    // Refused by the parser.
                    ArgType::Untyped => self.emit(Op::Invalid),
                }
                return;
            }
            NodeKind::Field(names) => self.emit(Op::DotFields(names.clone(), id)),
            NodeKind::Variable(names) => {
                if let Some(name) = names.first() {
                    let var = self.var(name);
                    self.variable(id, var, names);
                }
            }
            NodeKind::Pipe { .. } => self.work.push(Task::Pipe(id)),
            NodeKind::Identifier(target) => self.call(id, target, id, &[], false),
            NodeKind::Chain { node, fields } => {
                self.work.push(Task::Arg(*node, ArgType::Untyped));
                self.emit(Op::Fields(fields.clone(), id));
            }
            kind => {
                match ty {
                    ArgType::Param(i) => self.emit(Op::LiteralParam(i, id)),
                    ArgType::Static(ty) => match literal(self.source, id, kind, ty) {
                        Ok(constant) => self.emit(Op::Const(constant)),
                        Err(message) => self.fail(message),
                    },
                    ArgType::Untyped => self.emit(Op::Invalid),
                }
                return;
            }
        }
        match ty {
            ArgType::Static(ty) if ty.is(&REFLECT_VALUE) => {}
            ArgType::Static(ty) => self.emit(Op::Check(ty)),
            ArgType::Param(i) => self.emit(Op::CheckParam(i)),
            ArgType::Untyped => {}
        }
    }
}

/// Go's complaint about the number of arguments, if there is one. `argc` does not count the piped value.
pub(crate) fn count_error(
    name: &str,
    signature: &Signature,
    argc: usize,
    has_final: bool,
) -> Option<String> {
    let given = argc + usize::from(has_final);
    let wanted = signature.params.len();
    if signature.variadic.is_some() {
        (given < wanted)
            .then(|| format!("wrong number of args for {name}: want at least {wanted} got {argc}"))
    } else {
        (given != wanted)
            .then(|| format!("wrong number of args for {name}: want {wanted} got {given}"))
    }
}
