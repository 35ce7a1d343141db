//! The executor: runs the instructions of templates.
//!
//! One loop, one stack of values, one stack of variables, one stack of suspended templates. All of
//! it is on the heap: `template`, `include` and `tpl` nest without native recursion. Output goes
//! to one buffer; what `include` captures is cut off its end.

mod call;
mod marks;
mod nest;
mod scope;

use std::rc::Rc;
use std::sync::Arc;

pub(crate) use crate::access::printable;
use crate::budget::LimitExceeded;
use crate::bytestring::GoString;
use crate::code::{Label, Op, Template, VarId, root_var};
use crate::constant::{Const, literal, nil_argument};
use crate::context::Context;
use crate::error::{ExecError, Root};
use crate::fault::{Fault, Step};
use crate::fmt::display;
use crate::iterate::Iter;
use crate::node::NodeId;
use crate::object::Method;
use crate::overlay::Overlay;
use crate::stack::{Slot, Stack};
use crate::value::Value;
use call::walk;
use marks::Marks;

pub(crate) const NO_VALUE: &[u8] = b"<no value>";

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

/// As [`execute`], and for each line of the output the line of the template that it comes from.
pub(crate) fn execute_with_lines(
    ctx: &mut Context<'_>,
    name: &str,
    data: &Value,
) -> Result<(Vec<u8>, Vec<usize>), ExecError> {
    let Some(template) = ctx.lookup(name.as_bytes()) else {
        return Err(ExecError {
            frames: Vec::new(),
            root: Root::NoTemplate(name.to_owned(), ctx.set.name().to_owned()),
        });
    };
    let source = Arc::clone(&template.source);
    let mut machine = Machine::new(Arc::new(template.once()), data.clone());
    machine.marks = Some(Marks::new(source));
    match machine.run(ctx) {
        Ok(()) => {
            let lines = machine.marks.map(|marks| marks.lines(&machine.out));
            Ok((machine.out, lines.unwrap_or_default()))
        }
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
    /// Where the output comes from, when that is wanted.
    marks: Option<Marks>,
    /// How many `include` and `tpl` are under way, whose output is cut off again.
    captures: usize,
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
            marks: None,
            captures: 0,
        }
    }

    fn run(&mut self, ctx: &mut Context<'_>) -> Step<()> {
        loop {
            // Held here, so that instructions can be read while the machine changes.
            let template = self.frame.template.clone();
            let ops = template.ops();
            let mut pc = self.frame.pc;
            loop {
                let Some(op) = ops.get(pc) else {
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
            Op::Text(text, node) => {
                self.mark(template, *node);
                self.write(ctx, template.source.bytes(*text))?;
            }
            Op::Print(node) => {
                self.mark(template, *node);
                self.print(ctx, template, *node)?;
            }
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
                self.mark(template, *node);
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
                let fields = names.get(1..).unwrap_or_default();
                let slot = walk(ctx, &slot.value, slot.is_interface, fields, *node)?;
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

    /// What follows in the output comes from this node.
    fn mark(&mut self, template: &Template, node: NodeId) {
        if let Some(marks) = &mut self.marks
            && self.captures == 0
        {
            marks.add(&template.source, self.out.len(), node);
        }
    }

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
                let pointer_text = match other {
                    Value::Object(object) => object.pointer_text(),
                    _ => None,
                };
                if let Some(text) = pointer_text {
                    self.write(ctx, &text)?;
                } else {
                    let text = printable(other)
                        .and_then(|value| display(&value))
                        .map_err(|e| Fault::message(e.to_string()))?;
                    self.write(ctx, &text)?;
                }
            }
        }
        Ok(())
    }
}
