//! A failure inside the executor, before the place is put to it.

use crate::budget::LimitExceeded;
use crate::error::{Context, ExecError, Frame, Root};
use crate::func::FuncError;
use crate::node::NodeId;

/// Why the executor stops.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The node to name; `None`: the node that is being evaluated.
    pub(crate) node: Option<NodeId>,
    /// The function or method that failed.
    pub(crate) function: Option<String>,
    pub(crate) context: Context,
    /// Levels of executions inside the function.
    pub(crate) inner: Vec<Frame>,
    pub(crate) root: Root,
}

/// The result of one step. The fault is boxed, so that success is cheap to return.
pub(crate) type Step<T> = Result<T, Box<Fault>>;

impl Fault {
    pub(crate) fn new(root: Root) -> Box<Self> {
        Box::new(Self {
            node: None,
            function: None,
            context: Context::None,
            inner: Vec::new(),
            root,
        })
    }

    /// The template package's own complaint about the node that is being evaluated.
    pub(crate) fn message(text: impl Into<String>) -> Box<Self> {
        Self::new(Root::Message(text.into()))
    }

    /// A called function failed.
    pub(crate) fn call(node: NodeId, function: &str, error: FuncError) -> Box<Self> {
        let mut fault = Self::new(Root::Function(String::new()));
        fault.node = Some(node);
        fault.function = Some(function.to_owned());
        fault.root = match error {
            FuncError::Message(text) => Root::Function(text),
            FuncError::Panic(text) => Root::Panic(text),
            FuncError::Fail(text) => Root::Fail(text),
            FuncError::Limit(limit) => Root::Limit(limit),
            FuncError::Template { context, source } => {
                let ExecError { frames, root } = *source;
                if !context.is_empty() {
                    fault.context = Context::Text(context);
                }
                fault.inner = frames;
                root
            }
        };
        fault
    }
}

impl From<LimitExceeded> for Box<Fault> {
    fn from(limit: LimitExceeded) -> Self {
        Fault::new(Root::Limit(limit))
    }
}
