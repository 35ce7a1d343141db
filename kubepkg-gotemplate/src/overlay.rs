//! What `tpl` defines: names on top of the set, seen only while that `tpl` runs.
//!
//! Helm copies the whole template set for every `tpl`; here each `tpl` adds one small layer that
//! points to the layer below, so that a call costs what its own text costs.

use std::rc::Rc;
use std::sync::Arc;

use crate::code::Template;
use crate::context::ParsedText;
use crate::set::TemplateSet;

/// One layer.
#[derive(Debug)]
pub(crate) struct Overlay {
    below: Option<Rc<Overlay>>,
    templates: Vec<Arc<Template>>,
}

impl Overlay {
    /// A layer with the templates of one parsed text. An empty definition does not hide one that
    /// exists, except that of the text itself.
    pub(crate) fn new(below: Option<Rc<Overlay>>, parsed: &ParsedText, set: &TemplateSet) -> Self {
        let is_own = |t: &Template| *t.name == *set.name().as_bytes();
        let exists = |name: &[u8]| {
            below.as_ref().is_some_and(|o| o.lookup(name).is_some()) || set.lookup(name).is_some()
        };
        let templates = parsed
            .iter()
            .filter(|t| !t.is_empty || is_own(t) || !exists(&t.name))
            .cloned()
            .collect();
        // A layer without definitions of its own says nothing to the layers above it.
        let below = match below {
            Some(layer) if layer.templates.iter().all(|t| is_own(t)) => layer.below.clone(),
            other => other,
        };
        Self { below, templates }
    }

    /// The template of this name in this layer or one below.
    pub(crate) fn lookup(&self, name: &[u8]) -> Option<&Arc<Template>> {
        let mut layer = self;
        loop {
            if let Some(found) = layer.templates.iter().find(|t| *t.name == *name) {
                return Some(found);
            }
            layer = layer.below.as_deref()?;
        }
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        // Layer by layer, for a chain may be thousands long.
        let mut below = self.below.take();
        while let Some(layer) = below {
            match Rc::try_unwrap(layer) {
                Ok(mut layer) => below = layer.below.take(),
                Err(_) => break,
            }
        }
    }
}
