//! Templates inside templates: `template`, `include`, `tpl`, and the way back, with an output or
//! with an error that names every level.

use std::rc::Rc;
use std::sync::Arc;

use super::{Flow, Frame, Machine, Origin, Var};
use crate::budget::LimitExceeded;
use crate::bytestring::GoString;
use crate::code::{Template, root_var};
use crate::context::Context;
use crate::error::{self, ExecError, Place, Root};
use crate::fault::{Fault, Step};
use crate::func::FuncError;
use crate::helm_funcs::without_no_value;
use crate::node::NodeId;
use crate::overlay::Overlay;
use crate::stack::Slot;
use crate::value::Value;

impl Machine {
    pub(super) fn switch(
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
    pub(super) fn finish(&mut self, ctx: &mut Context<'_>) -> Flow {
        let Some(outer) = self.suspended.pop() else {
            return Flow::Done;
        };
        let ended = std::mem::replace(&mut self.frame, outer);
        self.vars.truncate(ended.vars_base);
        match ended.origin {
            Origin::Template => {}
            Origin::Include { name, start, .. } => {
                self.captures = self.captures.saturating_sub(1);
                leave_include(ctx, &name);
                let text = GoString::from(self.out.get(start..).unwrap_or_default());
                self.out.truncate(start);
                self.stack.push_value(Value::String(text), false);
            }
            Origin::Tpl { start, overlay, .. } => {
                self.captures = self.captures.saturating_sub(1);
                ctx.overlay = overlay;
                let text = without_no_value(self.out.get(start..).unwrap_or_default());
                let text = GoString::from(text.as_ref());
                self.out.truncate(start);
                self.stack.push_value(Value::String(text), false);
            }
        }
        Flow::Switched
    }

    pub(super) fn include(&mut self, ctx: &mut Context<'_>, node: NodeId) -> Step<Flow> {
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
        self.captures += 1;
        Ok(Flow::Switched)
    }

    pub(super) fn tpl(&mut self, ctx: &mut Context<'_>, node: NodeId) -> Step<Flow> {
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
        self.captures += 1;
        Ok(Flow::Switched)
    }

    /// Puts the places of all suspended templates to a fault and leaves what they had entered.
    pub(super) fn unwind(&mut self, ctx: &mut Context<'_>, fault: Fault) -> ExecError {
        let mut frames = fault.inner;
        frames.reverse();
        frames.push(level(
            &self.frame,
            fault.node,
            fault.function,
            fault.context,
        ));
        while let Some(outer) = self.suspended.pop() {
            let ended = std::mem::replace(&mut self.frame, outer);
            match ended.origin {
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
