//! Instructions: what a syntax tree becomes before it is executed.
//!
//! Executing a list of instructions keeps every nesting (blocks, parentheses, `template`,
//! `include`, `tpl`) on the heap, so that no template can overflow the stack. The order of the
//! instructions is the order in which Go evaluates, and [`Op::At`] marks the node that Go would
//! name in an error. What can be decided early is: argument counts, constants under a parameter's
//! type, the functions themselves. Such failures become [`Op::Fail`], met only when they are reached.
//!
//! The stack of values holds, for a call, the piped value first (when there is one), then the
//! arguments.

use std::sync::{Arc, OnceLock};

use crate::bytestring::GoString;
use crate::compile::compile;
use crate::constant::Const;
use crate::func::Function;
use crate::funcs::Builtin;
use crate::gotype::Type;
use crate::node::{Name, Names, NodeId, Source, Span};

/// A variable name, numbered per template.
pub(crate) type VarId = u32;

/// An instruction number.
pub(crate) type Label = usize;

/// One instruction.
#[derive(Debug)]
pub(crate) enum Op {
    /// Writes a stretch of the source; the node is the text's.
    Text(Span, NodeId),
    /// Pops a value and writes it; the node is the action.
    Print(NodeId),
    Pop,
    /// Removes the value below the top.
    Nip,
    Jump(Label),
    /// Pops a value; jumps when it is not true.
    If(Label),
    /// Pops a value; makes it dot when true, else jumps.
    With(Label),
    /// Opens a scope for variables and dot.
    Enter,
    Leave,
    /// Pops the value to iterate over; jumps when there is nothing to do.
    Range(Box<RangeOp>),
    /// The next round of the innermost range, or a jump to its end.
    Next(Label),
    /// Leaves the scopes inside the innermost range; then starts its next round.
    Continue(Label),
    /// Leaves the innermost range.
    Break(Label),
    /// `template`: fails when there is no such template, before dot is evaluated.
    CheckTemplate(Box<GoString>, NodeId),
    /// `template`: pops dot and runs it.
    CallTemplate(Box<GoString>),
    Return,

    /// Marks the node that errors name.
    At(NodeId),
    Fail(Box<str>),
    Const(Const),
    /// The absence of a value.
    Invalid,
    /// The nil interface.
    NilInterface,
    Dot,
    Var(VarId),
    /// Fields of dot: no arguments.
    DotFields(Names, NodeId),
    /// Fields of a variable, behind its own name: no arguments.
    VarFields(VarId, Names, NodeId),
    /// Fields of the popped value: no arguments.
    Fields(Names, NodeId),
    /// An `interface {}` is replaced by what it holds.
    Unwrap,
    Declare(VarId),
    Assign(VarId, Box<Name>),

    /// Checks the top value against a parameter type.
    Check(&'static Type),
    /// `and`, `or`: jumps, keeping the value, when it decides.
    AndOr {
        stop_on: bool,
        target: Label,
    },
    Call(CallOp),
    CallBuiltin(BuiltinOp),
    /// Pops the receiver and looks for the method; a field without arguments, or no receiver at
    /// all, gives the result at once and jumps behind the call.
    Method(Box<MethodOp>),
    /// Checks the top value against a parameter of the pending method.
    CheckParam(usize),
    /// A constant under the type of a parameter of the pending method.
    LiteralParam(usize, NodeId),
    NilParam(usize),
    CallMethod(Box<MethodOp>),
}

#[derive(Debug)]
pub(crate) struct RangeOp {
    /// How many variables the range has, and their numbers.
    pub(crate) vars: Vec<VarId>,
    pub(crate) is_assign: bool,
    pub(crate) otherwise: Label,
}

#[derive(Debug)]
pub(crate) struct CallOp {
    pub(crate) function: Arc<Function>,
    pub(crate) argc: usize,
    pub(crate) has_final: bool,
    /// The command: where a failing call is reported.
    pub(crate) node: NodeId,
}

#[derive(Debug)]
pub(crate) struct BuiltinOp {
    pub(crate) builtin: Builtin,
    pub(crate) argc: usize,
    pub(crate) has_final: bool,
    pub(crate) node: NodeId,
    /// For `call`: how the template writes the function; `None` when it is piped.
    pub(crate) callee: Option<NodeId>,
}

#[derive(Clone, Debug)]
pub(crate) struct MethodOp {
    pub(crate) name: Name,
    pub(crate) argc: usize,
    pub(crate) has_final: bool,
    pub(crate) node: NodeId,
    /// Behind the call.
    pub(crate) end: Label,
}

/// A template.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) name: GoString,
    pub(crate) source: Arc<Source>,
    pub(crate) root: NodeId,
    /// Made when it is first run: of a library's templates most charts run a few.
    pub(crate) ops: OnceLock<Vec<Op>>,
    /// Whether the body holds nothing but white space.
    pub(crate) is_empty: bool,
}

impl Template {
    /// The same with instructions of its own, which go with it: a file of a chart is run once.
    pub(crate) fn once(&self) -> Self {
        Self {
            name: self.name.clone(),
            source: self.source.clone(),
            root: self.root,
            ops: OnceLock::new(),
            is_empty: self.is_empty,
        }
    }

    /// The instructions.
    pub(crate) fn ops(&self) -> &[Op] {
        self.ops.get_or_init(|| compile(&self.source, self.root))
    }
}

/// The numbers of variable names of a template. `$` is 0.
pub(crate) fn root_var() -> VarId {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_instructions_are_small() {
        assert_eq!(size_of::<crate::node::Node>(), 32);
        assert_eq!(size_of::<Op>(), 32);
    }
}
