//! Where output comes from: which line of a template each line of its output begins at.
//!
//! A mark stands in the output wherever text or an action of the template itself writes. What another text writes
//! (`template` and `include` of a definition elsewhere, `tpl`) belongs to the action that asked for it.

use std::sync::Arc;

use crate::node::{NodeId, NodeKind, Source};

pub(super) struct Marks {
    source: Arc<Source>,
    /// Where in the output, and the node that writes there.
    marks: Vec<(usize, NodeId)>,
}

impl Marks {
    pub(super) fn new(source: Arc<Source>) -> Self {
        Self {
            source,
            marks: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, source: &Arc<Source>, at: usize, node: NodeId) {
        if !Arc::ptr_eq(source, &self.source) {
            return;
        }
        match self.marks.last_mut() {
            // Nothing was written since.
            Some(last) if last.0 == at => last.1 = node,
            _ => self.marks.push((at, node)),
        }
    }

    /// For each line of the output the line of the template that its first visible sign comes from, from 1.
    pub(super) fn lines(&self, out: &[u8]) -> Vec<usize> {
        let mut marks = self.marks.iter().peekable();
        let mut lines = Vec::new();
        // The line of the template where the current mark begins, and the line of the output where it does.
        let (mut line, mut began, mut follows) = (1, 0, false);
        let mut at = 0;
        let ends = memchr::memchr_iter(b'\n', out).chain([out.len()]);
        for (number, end) in ends.enumerate() {
            if marks.peek().is_none_or(|(mark, _)| *mark > end) {
                lines.push(if follows { line + number - began } else { line });
                at = end + 1;
                continue;
            }
            let text = out.get(at..end).unwrap_or_default();
            let blank = text.iter().take_while(|byte| byte.is_ascii_whitespace());
            let seen = at + blank.count();
            while let Some((_, node)) = marks.next_if(|(mark, _)| *mark <= seen) {
                line = self.source.position(*node).0;
                began = number;
                follows = matches!(self.source.kind(*node), NodeKind::Text(_));
            }
            lines.push(if follows { line + number - began } else { line });
            at = end + 1;
            // A text that began on this line but behind its first sign goes on from here.
            while let Some((_, node)) = marks.next_if(|(mark, _)| *mark < at) {
                line = self.source.position(*node).0;
                began = number;
                follows = matches!(self.source.kind(*node), NodeKind::Text(_));
            }
        }
        lines
    }
}
