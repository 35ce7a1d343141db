//! Calls of functions, built-ins and methods, and chains of fields.

use super::{Flow, Machine, Pending};
use crate::access::{Member, fit, member};
use crate::bytestring::GoString;
use crate::code::{BuiltinOp, CallOp, MethodOp, Template};
use crate::compile::count_error;
use crate::context::Context;
use crate::fault::{Fault, Step};
use crate::func::{Callable, Signature};
use crate::funcs::{self, Builtin};
use crate::gotype::Type;
use crate::node::NodeId;
use crate::stack::Slot;
use crate::value::Value;

/// Steps for reading arguments: functions look at most of them once.
fn taking(args: &[Value]) -> u64 {
    let one = |value: &Value| match value {
        Value::String(text) => text.len() / 64,
        Value::Bytes(bytes) => bytes.len() / 64,
        Value::List(items) => items.len() / 8,
        Value::Map(map) => map.len() / 64,
        _ => 0,
    };
    args.iter().map(one).sum::<usize>() as u64
}

/// Steps for a result. They bound the memory of all values together: 16 bytes of text, or one item, for a step.
fn giving(value: &Value) -> u64 {
    let size = match value {
        Value::String(text) => text.len() / 16,
        Value::Bytes(bytes) => bytes.len() / 16,
        Value::List(items) => items.len(),
        _ => 0,
    };
    size as u64
}

impl Machine {
    pub(super) fn check(&mut self, ty: &'static Type) -> Step<()> {
        // Everything fits an interface as it is, but the objects that are copied into one.
        if ty.is_empty_interface() && !matches!(self.stack.top(), Value::Object(_)) {
            return Ok(());
        }
        if let Some(fitting) = fit(self.stack.top(), self.stack.top_mark(), ty)? {
            self.stack.drop_top();
            self.stack.push_value(fitting, false);
        }
        Ok(())
    }

    /// Brings the piped value behind the arguments and checks it. Gives where the arguments begin.
    pub(super) fn collect(
        &mut self,
        signature: &Signature,
        argc: usize,
        has_final: bool,
    ) -> Step<usize> {
        let given = argc + usize::from(has_final);
        let base = self.stack.len().saturating_sub(given);
        if has_final {
            self.stack.rotate(base);
            self.check(signature.param(given - 1))?;
        }
        Ok(base)
    }

    pub(super) fn call(&mut self, ctx: &mut Context<'_>, call: &CallOp) -> Step<Flow> {
        let function = call.function.as_ref();
        let base = self.collect(&function.signature, call.argc, call.has_final)?;
        let result = match &function.call {
            Callable::Include => return self.include(ctx, call.node),
            Callable::Tpl => return self.tpl(ctx, call.node),
            Callable::Plain(code) => {
                ctx.meter.step(taking(self.stack.from(base)))?;
                code(ctx, self.stack.from(base))
            }
            Callable::Closure(code) => {
                ctx.meter.step(taking(self.stack.from(base)))?;
                code(ctx, self.stack.from(base))
            }
        };
        match result {
            Ok(value) => {
                ctx.meter.step(giving(&value))?;
                self.stack.truncate(base);
                self.stack
                    .push_value(value, function.signature.result.is_empty_interface());
                Ok(Flow::Next)
            }
            Err(error) => Err(Fault::call(call.node, function.name, error)),
        }
    }

    pub(super) fn call_builtin(
        &mut self,
        ctx: &mut Context<'_>,
        template: &Template,
        call: &BuiltinOp,
    ) -> Step<()> {
        let signature = call.builtin.signature();
        let base = self.collect(&signature, call.argc, call.has_final)?;
        let args = self.stack.from(base);
        ctx.meter.step(taking(args))?;
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
            funcs::run(call.builtin, args, self.stack.marks_from(base))
        };
        match answer {
            Ok(answer) => {
                ctx.meter.step(giving(&answer.value))?;
                self.stack.truncate(base);
                self.stack.push_value(answer.value, answer.is_interface);
                Ok(())
            }
            Err(error) => Err(Fault::call(call.node, call.builtin.name(), error)),
        }
    }

    pub(super) fn param(&self, index: usize) -> &'static Type {
        match self.pending.last() {
            Some(pending) => pending.method.signature.param(index),
            None => &crate::gotype::ANY,
        }
    }

    pub(super) fn method(&mut self, ctx: &mut Context<'_>, call: &MethodOp) -> Step<Flow> {
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

    pub(super) fn call_method(&mut self, ctx: &mut Context<'_>, call: &MethodOp) -> Step<()> {
        let Some(Pending { method, receiver }) = self.pending.pop() else {
            return Ok(());
        };
        let base = self.collect(&method.signature, call.argc, call.has_final)?;
        ctx.meter.step(taking(self.stack.from(base)))?;
        match (method.call)(ctx, &receiver, self.stack.from(base)) {
            Ok(value) => {
                ctx.meter.step(giving(&value))?;
                self.stack.truncate(base);
                self.stack
                    .push_value(value, method.signature.result.is_empty_interface());
                Ok(())
            }
            Err(error) => Err(Fault::call(call.node, method.name, error)),
        }
    }
}

/// A chain of fields without arguments; methods on the way are called.
pub(super) fn walk(
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
                    Ok(value) => {
                        ctx.meter.step(giving(&value))?;
                        Slot {
                            value,
                            is_interface: method.signature.result.is_empty_interface(),
                        }
                    }
                    Err(error) => return Err(Fault::call(node, method.name, error)),
                }
            }
        };
    }
    Ok(current)
}
