//! Variables, scopes of `if`, `with` and `range`, and the rounds of a range.
//!
//! Variables are searched by name from the top, as Go does, and never beyond the start of the
//! current template.

use super::{Flow, Machine, Scope, Var};
use crate::bytestring::GoString;
use crate::code::{Label, RangeOp, Template, VarId};
use crate::fault::{Fault, Step};
use crate::iterate::Iter;
use crate::node::NodeKind;
use crate::stack::Slot;

impl Machine {
    pub(super) fn own_vars(&self) -> &[Var] {
        self.vars.get(self.frame.vars_base..).unwrap_or_default()
    }

    pub(super) fn var(&self, id: VarId, template: &Template) -> Step<&Slot> {
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

    pub(super) fn assign(&mut self, id: VarId, slot: Slot, name: &GoString) -> Step<()> {
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

    pub(super) fn leave(&mut self) {
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

    pub(super) fn leave_to_range(&mut self) {
        while matches!(self.scopes.last(), Some(Scope::Block { .. })) {
            self.leave();
        }
    }

    pub(super) fn range(&mut self, range: &RangeOp) -> Step<Flow> {
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

    pub(super) fn next_round(&mut self, end: Label) -> Flow {
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
        if let Some([first, second]) = assigned {
            for (id, slot) in [(first, &index), (second, &element)] {
                let base = self.frame.vars_base;
                let own = self.vars.get_mut(base..).unwrap_or_default();
                if let Some(id) = id
                    && let Some(var) = own.iter_mut().rev().find(|var| var.id == id)
                {
                    var.slot = slot.clone();
                }
            }
        } else {
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
        self.frame.dot = element;
        Flow::Next
    }
}

/// A variable whose declaration was skipped (`and false ($x := 1)`).
fn undefined(name: &GoString) -> Box<Fault> {
    Fault::message(format!("undefined variable: {name}"))
}
