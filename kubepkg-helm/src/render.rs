//! Rendering: a chart, the user's values and facts about release and cluster become manifests, hooks and notes.

mod options;
mod rendered;

pub use options::{Lookup, LookupError, NoLookup, ReleaseFacts, RenderLimits, RenderOptions};
pub use rendered::{Rendered, RenderedObject};
