//! The executor: runs the instructions of templates.
//!
//! One loop, one stack of values, one stack of variables, one stack of suspended templates. All of
//! it is on the heap: `template`, `include` and `tpl` nest without native recursion. Output goes
//! to one buffer; what `include` captures is cut off its end.

use std::rc::Rc;
use std::sync::Arc;

pub(crate) use crate::access::printable;
use crate::access::{Member, fit, member};
use crate::budget::LimitExceeded;
use crate::bytestring::GoString;
use crate::code::{
    BuiltinOp, CallOp, Label, MethodOp, Op, RangeOp, Template, VarId, count_error, root_var,
};
use crate::constant::{Const, literal, nil_argument};
use crate::context::Context;
use crate::error::{self, ExecError, Place, Root};
use crate::fault::{Fault, Step};
use crate::fmt::display;
use crate::func::{Callable, FuncError, Signature};
use crate::funcs::{self, Builtin};
use crate::gotype::Type;
use crate::iterate::Iter;
use crate::node::{NodeId, NodeKind};
use crate::object::Method;
use crate::overlay::Overlay;
use crate::stack::{Slot, Stack};
use crate::value::Value;

const NO_VALUE: &[u8] = b"<no value>";

/// Executes a template of the context's set and gives its output.
pub(crate) fn execute(
    ctx: &mut Context<'_>,
    name: &str,
    data: &Value,
) -> Result<Vec<u8>, ExecError> {
    let Some(template) = ctx.lookup(name.as_bytes()) else {
        return Err(ExecError {
            frames: Vec::new(),
            root: Root::NoTemplate(name.to_owned(), ctx.set.name().to_owned()),
        });
    };
    let mut machine = Machine::new(template, data.clone());
    match machine.run(ctx) {
        Ok(()) => Ok(machine.out),
        Err(fault) => Err(machine.unwind(ctx, *fault)),
    }
}

/// A template that is executing, or suspended while another one does.
struct Frame {
    template: Arc<Template>,
    /// The next instruction.
    pc: usize,
    dot: Slot,
    /// The node that an error names.
    node: NodeId,
    /// Where its variables begin.
    vars_base: usize,
    /// Nested `template` actions, counted from the last `include` or `tpl`.
    depth: usize,
    /// How the template was started.
    origin: Origin,
}

enum Origin {
    /// The execution itself, or a `template` action.
    Template,
    Include {
        /// The calling command.
        node: NodeId,
        name: GoString,
        /// Where its output begins.
        start: usize,
    },
    Tpl {
        node: NodeId,
        text: GoString,
        start: usize,
        overlay: Option<Rc<Overlay>>,
    },
}

struct Var {
    id: VarId,
    slot: Slot,
}

/// An open scope.
enum Scope {
    /// `if`, `with`, and the frame of a `range`.
    Block { vars: usize, dot: Option<Slot> },
    Range {
        iter: Iter,
        /// Length of the variable stack at the start of each round.
        vars: usize,
        dot: Slot,
        /// The variables to assign, when they are not the range's own.
        assigned: Option<[Option<VarId>; 2]>,
        own: usize,
    },
}

/// A method that waits for its arguments.
struct Pending {
    method: &'static Method,
    receiver: Value,
}

struct Machine {
    stack: Stack,
    vars: Vec<Var>,
    scopes: Vec<Scope>,
    pending: Vec<Pending>,
    /// Suspended templates, the outermost first.
    suspended: Vec<Frame>,
    frame: Frame,
    out: Vec<u8>,
}

/// What a step asks of the loop.
enum Flow {
    Next,
    Jump(Label),
    /// The current template changed.
    Switched,
    /// The outermost template has returned.
    Done,
}

impl Machine {
    fn new(template: Arc<Template>, data: Value) -> Self {
        let dot = Slot::concrete(data);
        Self {
            stack: Stack::default(),
            vars: vec![Var {
                id: root_var(),
                slot: dot.clone(),
            }],
            scopes: Vec::new(),
            pending: Vec::new(),
            suspended: Vec::new(),
            frame: Frame {
                template,
                pc: 0,
                dot,
                node: NodeId(0),
                vars_base: 0,
                depth: 0,
                origin: Origin::Template,
            },
            out: Vec::new(),
        }
    }

    fn run(&mut self, ctx: &mut Context<'_>) -> Step<()> {
        loop {
            // Held here, so that instructions can be read while the machine changes.
            let template = self.frame.template.clone();
            let mut pc = self.frame.pc;
            loop {
                let Some(op) = template.ops.get(pc) else {
                    return Ok(());
                };
                pc += 1;
                ctx.meter.step(1)?;
                self.frame.pc = pc;
                match self.step(ctx, &template, op)? {
                    Flow::Next => {}
                    Flow::Jump(target) => pc = target,
                    Flow::Switched => break,
                    Flow::Done => return Ok(()),
                }
            }
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm per instruction")]
    fn step(&mut self, ctx: &mut Context<'_>, template: &Template, op: &Op) -> Step<Flow> {
        match op {
            Op::Text(text) => self.write(ctx, text)?,
            Op::Print(node) => self.print(ctx, template, *node)?,
            Op::Pop => self.stack.drop_top(),
            Op::Nip => self.stack.nip(),
            Op::Jump(target) => return Ok(Flow::Jump(*target)),
            Op::If(otherwise) => {
                if !self.stack.pop().value.is_true() {
                    return Ok(Flow::Jump(*otherwise));
                }
            }
            Op::With(otherwise) => {
                let slot = self.stack.pop();
                if !slot.value.is_true() {
                    return Ok(Flow::Jump(*otherwise));
                }
                let outer = std::mem::replace(&mut self.frame.dot, slot);
                if let Some(Scope::Block { dot, .. }) = self.scopes.last_mut() {
                    *dot = Some(outer);
                }
            }
            Op::Enter => self.scopes.push(Scope::Block {
                vars: self.vars.len(),
                dot: None,
            }),
            Op::Leave => self.leave(),
            Op::Range(range) => return self.range(range),
            Op::Next(end) => return Ok(self.next_round(*end)),
            Op::Continue(next) => {
                self.leave_to_range();
                return Ok(Flow::Jump(*next));
            }
            Op::Break(end) => {
                self.leave_to_range();
                self.leave();
                return Ok(Flow::Jump(*end));
            }
            Op::CheckTemplate(name, node) => {
                self.frame.node = *node;
                if ctx.lookup(name).is_none() {
                    return Err(Fault::message(format!(
                        "template {} not defined",
                        crate::quote::quote(name)
                    )));
                }
                let limit = ctx.meter.budget.template_depth;
                if self.frame.depth >= limit {
                    return Err(Fault::message(format!(
                        "exceeded maximum template depth ({limit})"
                    )));
                }
            }
            Op::CallTemplate(name) => {
                let dot = self.stack.pop();
                if let Some(callee) = ctx.lookup(name) {
                    let depth = self.frame.depth + 1;
                    self.switch(ctx, callee, dot, depth, Origin::Template)?;
                    return Ok(Flow::Switched);
                }
            }
            Op::Return => return Ok(self.finish(ctx)),
            Op::At(node) => self.frame.node = *node,
            Op::Fail(message) => return Err(Fault::message(message.as_ref())),
            Op::Const(constant) => self.stack.push_value(constant.to_value(), false),
            Op::Invalid => self.stack.push_value(Value::Nil, false),
            Op::NilInterface => self.stack.push_value(Value::Nil, true),
            Op::Dot => self.stack.push(self.frame.dot.clone()),
            Op::Var(id) => {
                let slot = self.var(*id, template)?.clone();
                self.stack.push(slot);
            }
            Op::DotFields(names, node) => {
                self.frame.node = *node;
                let dot = &self.frame.dot;
                let slot = walk(ctx, &dot.value, dot.is_interface, names, *node)?;
                self.stack.push(slot);
            }
            Op::VarFields(id, names, node) => {
                self.frame.node = *node;
                let slot = self.var(*id, template)?;
                let slot = walk(ctx, &slot.value, slot.is_interface, names, *node)?;
                self.stack.push(slot);
            }
            Op::Fields(names, node) => {
                let base = self.stack.pop();
                let slot = walk(ctx, &base.value, base.is_interface, names, *node)?;
                self.stack.push(slot);
            }
            Op::Unwrap => self.stack.clear_mark(),
            Op::Declare(id) => self.vars.push(Var {
                id: *id,
                slot: Slot {
                    value: self.stack.top().clone(),
                    is_interface: self.stack.top_mark(),
                },
            }),
            Op::Assign(id, name) => {
                let slot = Slot {
                    value: self.stack.top().clone(),
                    is_interface: self.stack.top_mark(),
                };
                self.assign(*id, slot, name)?;
            }
            Op::Check(ty) => self.check(ty)?,
            Op::AndOr { stop_on, target } => {
                if self.stack.top().is_true() == *stop_on {
                    return Ok(Flow::Jump(*target));
                }
            }
            Op::Call(call) => return self.call(ctx, call),
            Op::CallBuiltin(call) => self.call_builtin(ctx, template, call)?,
            Op::Method(method) => return self.method(ctx, method),
            Op::CheckParam(index) => {
                let ty = self.param(*index);
                self.check(ty)?;
            }
            Op::LiteralParam(index, node) => {
                let ty = self.param(*index);
                let source = &template.source;
                let constant =
                    literal(source, *node, source.kind(*node), ty).map_err(Fault::message)?;
                self.stack.push_value(constant.to_value(), false);
            }
            Op::NilParam(index) => {
                match nil_argument(self.param(*index)).map_err(Fault::message)? {
                    Op::NilInterface => self.stack.push_value(Value::Nil, true),
                    Op::Const(Const::Zero(ty)) => self.stack.push_value(Value::zero(ty), false),
                    _ => self.stack.push_value(Value::Nil, false),
                }
            }
            Op::CallMethod(method) => self.call_method(ctx, method)?,
        }
        Ok(Flow::Next)
    }

    // Output.

    fn write(&mut self, ctx: &mut Context<'_>, bytes: &[u8]) -> Result<(), LimitExceeded> {
        ctx.meter.output(bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn print(&mut self, ctx: &mut Context<'_>, template: &Template, node: NodeId) -> Step<()> {
        self.frame.node = node;
        let value = self.stack.pop().value;
        match &value {
            Value::Nil => self.write(ctx, NO_VALUE)?,
            Value::String(text) => self.write(ctx, text)?,
            Value::Func(_) => {
                return Err(Fault::message(format!(
                    "can't print {} of type {}",
                    template.source.node_text(node),
                    value.type_name()
                )));
            }
            other => {
                let text = display(&printable(other)).map_err(|e| Fault::message(e.to_string()))?;
                self.write(ctx, &text)?;
            }
        }
        Ok(())
    }

    // Variables and scopes.

    fn own_vars(&self) -> &[Var] {
        self.vars.get(self.frame.vars_base..).unwrap_or_default()
    }

    fn var(&self, id: VarId, template: &Template) -> Step<&Slot> {
        match self.own_vars().iter().rev().find(|var| var.id == id) {
            Some(var) => Ok(&var.slot),
            None => Err(match template.source.kind(self.frame.node) {
                NodeKind::Variable(names) => {
                    undefined(names.first().unwrap_or(&GoString::default()))
                }
                _ => Fault::message("undefined variable"),
            }),
        }
    }

    fn assign(&mut self, id: VarId, slot: Slot, name: &GoString) -> Step<()> {
        let base = self.frame.vars_base;
        let own = self.vars.get_mut(base..).unwrap_or_default();
        match own.iter_mut().rev().find(|var| var.id == id) {
            Some(var) => {
                var.slot = slot;
                Ok(())
            }
            None => Err(undefined(name)),
        }
    }

    fn leave(&mut self) {
        match self.scopes.pop() {
            Some(Scope::Block { vars, dot }) => {
                self.vars.truncate(vars);
                if let Some(dot) = dot {
                    self.frame.dot = dot;
                }
            }
            Some(Scope::Range { vars, dot, .. }) => {
                self.vars.truncate(vars);
                self.frame.dot = dot;
            }
            None => {}
        }
    }

    fn leave_to_range(&mut self) {
        while matches!(self.scopes.last(), Some(Scope::Block { .. })) {
            self.leave();
        }
    }

    fn range(&mut self, range: &RangeOp) -> Step<Flow> {
        let value = self.stack.pop().value;
        let Some(iter) = Iter::over(value, range.vars.len())? else {
            return Ok(Flow::Jump(range.otherwise));
        };
        let var = |i: usize| range.vars.get(i).copied();
        self.scopes.push(Scope::Range {
            iter,
            vars: self.vars.len(),
            dot: self.frame.dot.clone(),
            // One variable takes the element; of two the first takes the index.
            assigned: range.is_assign.then(|| match range.vars.len() {
                0 | 1 => [None, var(0)],
                _ => [var(0), var(1)],
            }),
            own: range.vars.len(),
        });
        Ok(Flow::Next)
    }

    fn next_round(&mut self, end: Label) -> Flow {
        let Some(Scope::Range {
            iter,
            vars,
            assigned,
            own,
            ..
        }) = self.scopes.last_mut()
        else {
            return Flow::Jump(end);
        };
        let Some((index, element)) = iter.next() else {
            self.leave();
            return Flow::Jump(end);
        };
        let (mark, assigned, own) = (*vars, *assigned, *own);
        self.vars.truncate(mark);
        match assigned {
            Some([first, second]) => {
                for (id, slot) in [(first, &index), (second, &element)] {
                    let base = self.frame.vars_base;
                    let own = self.vars.get_mut(base..).unwrap_or_default();
                    if let Some(id) = id
                        && let Some(var) = own.iter_mut().rev().find(|var| var.id == id)
                    {
                        var.slot = slot.clone();
                    }
                }
            }
            None => {
                if own > 0
                    && let Some(var) = mark.checked_sub(1).and_then(|i| self.vars.get_mut(i))
                {
                    var.slot = element.clone();
                }
                if own > 1
                    && let Some(var) = mark.checked_sub(2).and_then(|i| self.vars.get_mut(i))
                {
                    var.slot = index;
                }
            }
        }
        self.frame.dot = element;
        Flow::Next
    }

    // Templates.

    fn switch(
        &mut self,
        ctx: &Context<'_>,
        template: Arc<Template>,
        dot: Slot,
        depth: usize,
        origin: Origin,
    ) -> Step<()> {
        let limit = ctx.meter.budget.total_depth;
        if self.suspended.len() >= limit {
            return Err(LimitExceeded::Depth(limit).into());
        }
        let vars_base = self.vars.len();
        self.vars.push(Var {
            id: root_var(),
            slot: dot.clone(),
        });
        let callee = Frame {
            template,
            pc: 0,
            dot,
            node: NodeId(0),
            vars_base,
            depth,
            origin,
        };
        self.suspended
            .push(std::mem::replace(&mut self.frame, callee));
        Ok(())
    }

    /// The current template has ended: back to the one that started it.
    fn finish(&mut self, ctx: &mut Context<'_>) -> Flow {
        let Some(caller) = self.suspended.pop() else {
            return Flow::Done;
        };
        let callee = std::mem::replace(&mut self.frame, caller);
        self.vars.truncate(callee.vars_base);
        match callee.origin {
            Origin::Template => {}
            Origin::Include { name, start, .. } => {
                leave_include(ctx, &name);
                let text = GoString::from(self.out.get(start..).unwrap_or_default());
                self.out.truncate(start);
                self.stack.push_value(Value::String(text), false);
            }
            Origin::Tpl { start, overlay, .. } => {
                ctx.overlay = overlay;
                let text = without_no_value(self.out.get(start..).unwrap_or_default());
                self.out.truncate(start);
                self.stack.push_value(Value::String(text), false);
            }
        }
        Flow::Switched
    }

    fn include(&mut self, ctx: &mut Context<'_>, node: NodeId) -> Step<Flow> {
        let data = Slot::concrete(self.stack.pop().value);
        let Value::String(name) = self.stack.pop().value else {
            return Err(Fault::call(
                node,
                "include",
                FuncError::new("name is not a string"),
            ));
        };
        let level = ctx.includes.entry(name.clone()).or_insert(0);
        if *level > ctx.meter.budget.include_depth {
            let text = format!(
                "rendering template has a nested reference name: {name}: unable to execute template"
            );
            return Err(Fault::call(node, "include", FuncError::Message(text)));
        }
        let Some(callee) = ctx.lookup(&name) else {
            let mut fault = Fault::call(node, "include", FuncError::new(""));
            fault.root =
                Root::NoTemplate(name.to_str_lossy().into_owned(), ctx.set.name().to_owned());
            return Err(fault);
        };
        if let Some(level) = ctx.includes.get_mut(&name) {
            *level += 1;
        }
        let start = self.out.len();
        let origin = Origin::Include { node, name, start };
        self.switch(ctx, callee, data, 0, origin)?;
        Ok(Flow::Switched)
    }

    fn tpl(&mut self, ctx: &mut Context<'_>, node: NodeId) -> Step<Flow> {
        let data = Slot::concrete(self.stack.pop().value);
        let Value::String(text) = self.stack.pop().value else {
            return Err(Fault::call(
                node,
                "tpl",
                FuncError::new("text is not a string"),
            ));
        };
        // Parsing is work in proportion to the text.
        ctx.meter
            .step(1 + u64::try_from(text.len() / 16).unwrap_or(u64::MAX))?;
        let parsed = match ctx.parse_text(&text) {
            Ok(parsed) => parsed,
            Err(error) => {
                let mut fault = Fault::call(node, "tpl", FuncError::new(""));
                fault.context = error::Context::TplParse(text);
                fault.root = Root::Parse(error);
                return Err(fault);
            }
        };
        let outer = ctx.overlay.clone();
        let overlay = Rc::new(Overlay::new(outer.clone(), &parsed, ctx.set));
        let Some(callee) = overlay.lookup(ctx.set.name().as_bytes()).cloned() else {
            return Err(Fault::call(
                node,
                "tpl",
                FuncError::new("text has no template"),
            ));
        };
        ctx.overlay = Some(overlay);
        let start = self.out.len();
        let origin = Origin::Tpl {
            node,
            text,
            start,
            overlay: outer,
        };
        self.switch(ctx, callee, data, 0, origin)?;
        Ok(Flow::Switched)
    }

    // Calls.

    fn check(&mut self, ty: &'static Type) -> Step<()> {
        if let Some(fitting) = fit(self.stack.top(), self.stack.top_mark(), ty)? {
            self.stack.drop_top();
            self.stack.push_value(fitting, false);
        }
        Ok(())
    }

    /// Brings the piped value behind the arguments and checks it. Gives where the arguments begin.
    fn collect(&mut self, signature: &Signature, argc: usize, has_final: bool) -> Step<usize> {
        let given = argc + usize::from(has_final);
        let base = self.stack.len().saturating_sub(given);
        if has_final {
            self.stack.rotate(base);
            self.check(signature.param(given - 1))?;
        }
        Ok(base)
    }

    fn call(&mut self, ctx: &mut Context<'_>, call: &CallOp) -> Step<Flow> {
        let function = call.function.as_ref();
        let base = self.collect(&function.signature, call.argc, call.has_final)?;
        let result = match &function.call {
            Callable::Plain(code) => code(ctx, self.stack.from(base)),
            Callable::Closure(code) => code(ctx, self.stack.from(base)),
            Callable::Include => return self.include(ctx, call.node),
            Callable::Tpl => return self.tpl(ctx, call.node),
        };
        match result {
            Ok(value) => {
                self.stack.truncate(base);
                self.stack
                    .push_value(value, function.signature.result.is_empty_interface());
                Ok(Flow::Next)
            }
            Err(error) => Err(Fault::call(call.node, function.name, error)),
        }
    }

    fn call_builtin(
        &mut self,
        ctx: &mut Context<'_>,
        template: &Template,
        call: &BuiltinOp,
    ) -> Step<()> {
        let signature = call.builtin.signature();
        let base = self.collect(&signature, call.argc, call.has_final)?;
        let args = self.stack.from(base);
        let answer = if call.builtin == Builtin::Call {
            let callee = match call.callee {
                Some(node) => template.source.node_text(node),
                None => match args.first() {
                    Some(Value::String(text)) => text.to_str_lossy().into_owned(),
                    Some(Value::Nil) | None => "<invalid Value>".to_owned(),
                    Some(other) => format!("<{} Value>", other.type_name()),
                },
            };
            funcs::call(ctx, &callee, args).map(|value| funcs::Answer {
                value,
                is_interface: true,
            })
        } else {
            funcs::run(call.builtin, args, self.stack.mark_at(base))
        };
        match answer {
            Ok(answer) => {
                self.stack.truncate(base);
                self.stack.push_value(answer.value, answer.is_interface);
                Ok(())
            }
            Err(error) => Err(Fault::call(call.node, call.builtin.name(), error)),
        }
    }

    fn param(&self, index: usize) -> &'static Type {
        match self.pending.last() {
            Some(pending) => pending.method.signature.param(index),
            None => &crate::gotype::ANY,
        }
    }

    fn method(&mut self, ctx: &mut Context<'_>, call: &MethodOp) -> Step<Flow> {
        let receiver = self.stack.pop();
        let found = member(
            &receiver.value,
            receiver.is_interface,
            &call.name,
            true,
            ctx.set.missing_key(),
        )?;
        match found {
            Member::Value(slot) => {
                if call.has_final {
                    self.stack.drop_top();
                }
                self.stack.push(slot);
                Ok(Flow::Jump(call.end))
            }
            Member::Method(method) => {
                if let Some(message) =
                    count_error(method.name, &method.signature, call.argc, call.has_final)
                {
                    return Err(Fault::message(message));
                }
                self.pending.push(Pending {
                    method,
                    receiver: receiver.value,
                });
                Ok(Flow::Next)
            }
        }
    }

    fn call_method(&mut self, ctx: &mut Context<'_>, call: &MethodOp) -> Step<()> {
        let Some(Pending { method, receiver }) = self.pending.pop() else {
            return Ok(());
        };
        let base = self.collect(&method.signature, call.argc, call.has_final)?;
        match (method.call)(ctx, &receiver, self.stack.from(base)) {
            Ok(value) => {
                self.stack.truncate(base);
                self.stack
                    .push_value(value, method.signature.result.is_empty_interface());
                Ok(())
            }
            Err(error) => Err(Fault::call(call.node, method.name, error)),
        }
    }

    // Errors.

    /// Puts the places of all suspended templates to a fault and leaves what they had entered.
    fn unwind(&mut self, ctx: &mut Context<'_>, fault: Fault) -> ExecError {
        let mut frames = fault.inner;
        frames.reverse();
        frames.push(level(
            &self.frame,
            fault.node,
            fault.function,
            fault.context,
        ));
        while let Some(caller) = self.suspended.pop() {
            let callee = std::mem::replace(&mut self.frame, caller);
            match callee.origin {
                Origin::Template => {}
                Origin::Include { node, name, .. } => {
                    leave_include(ctx, &name);
                    frames.push(level(
                        &self.frame,
                        Some(node),
                        Some("include".to_owned()),
                        error::Context::None,
                    ));
                }
                Origin::Tpl {
                    node,
                    text,
                    overlay,
                    ..
                } => {
                    ctx.overlay = overlay;
                    frames.push(level(
                        &self.frame,
                        Some(node),
                        Some("tpl".to_owned()),
                        error::Context::TplExecution(text),
                    ));
                }
            }
        }
        frames.reverse();
        ExecError {
            frames,
            root: fault.root,
        }
    }
}

fn level(
    frame: &Frame,
    node: Option<NodeId>,
    function: Option<String>,
    context: error::Context,
) -> error::Frame {
    let source = &frame.template.source;
    let node = node.unwrap_or(frame.node);
    let (line, column) = source.position(node);
    let name = frame.template.name.to_str_lossy().into_owned();
    error::Frame {
        place: Some(Place {
            template: source.parse_name.clone(),
            line,
            column,
            executing: name.clone(),
            node: source.node_text(node),
        }),
        name,
        function,
        context,
    }
}

fn leave_include(ctx: &mut Context<'_>, name: &GoString) {
    if let Some(level) = ctx.includes.get_mut(name) {
        *level = level.saturating_sub(1);
    }
}

/// Helm removes `<no value>` from what `tpl` gives, literal text included.
fn without_no_value(text: &[u8]) -> GoString {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(byte) = rest.first() {
        if let Some(tail) = rest.strip_prefix(NO_VALUE) {
            rest = tail;
        } else {
            out.push(*byte);
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    GoString::from(out)
}

/// A variable whose declaration was skipped (`and false ($x := 1)`).
fn undefined(name: &GoString) -> Box<Fault> {
    Fault::message(format!("undefined variable: {name}"))
}

/// A chain of fields without arguments; methods on the way are called.
fn walk(
    ctx: &mut Context<'_>,
    value: &Value,
    is_interface: bool,
    names: &[GoString],
    node: NodeId,
) -> Step<Slot> {
    let mut current = Slot {
        value: Value::Nil,
        is_interface: false,
    };
    for (i, name) in names.iter().enumerate() {
        let (receiver, through) = if i == 0 {
            (value, is_interface)
        } else {
            (&current.value, current.is_interface)
        };
        current = match member(receiver, through, name, false, ctx.set.missing_key())? {
            Member::Value(slot) => slot,
            Member::Method(method) => {
                if let Some(message) = count_error(method.name, &method.signature, 0, false) {
                    return Err(Fault::message(message));
                }
                match (method.call)(ctx, receiver, &[]) {
                    Ok(value) => Slot {
                        value,
                        is_interface: method.signature.result.is_empty_interface(),
                    },
                    Err(error) => return Err(Fault::call(node, method.name, error)),
                }
            }
        };
    }
    Ok(current)
}
