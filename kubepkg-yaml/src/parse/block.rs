//! Block sequences and mappings, and sequences that are not indented in their mapping.

use super::{Allowed, Event, EventKind, Look, Parser, State, Step, empty_scalar, fault};

impl<'a> Parser<'a> {
    pub(super) fn block_sequence_entry(&mut self, first: bool) -> Step<'a> {
        if first {
            self.enter()?;
        }
        let (token, start, end) = self.look()?;
        match token {
            Look::BlockEntry => {
                self.skip();
                let then = State::BlockSequenceEntry { first: false };
                let (token, start, _) = self.look()?;
                if matches!(token, Look::BlockEntry | Look::BlockEnd) {
                    self.state = then;
                    return Ok(empty_scalar(end));
                }
                self.node(token, start, then, Allowed::Block)
            }
            Look::BlockEnd => Ok(self.leave(EventKind::SequenceEnd, start)),
            _ => {
                let context = self.marks.pop().unwrap_or_default();
                fault("did not find expected '-' indicator", context, start)
            }
        }
    }

    pub(super) fn indentless_sequence_entry(&mut self) -> Step<'a> {
        let (token, start, end) = self.look()?;
        if token != Look::BlockEntry {
            self.pop_state();
            return Ok(Event {
                kind: EventKind::SequenceEnd,
                start,
            });
        }
        self.skip();
        let (token, start, _) = self.look()?;
        if matches!(
            token,
            Look::BlockEntry | Look::Key | Look::Value | Look::BlockEnd
        ) {
            self.state = State::IndentlessSequenceEntry;
            return Ok(empty_scalar(end));
        }
        let then = State::IndentlessSequenceEntry;
        self.node(token, start, then, Allowed::Block)
    }

    pub(super) fn block_mapping_key(&mut self, first: bool) -> Step<'a> {
        if first {
            self.enter()?;
        }
        let (token, start, end) = self.look()?;
        match token {
            Look::Key => {
                self.skip();
                let (token, start, _) = self.look()?;
                if matches!(token, Look::Key | Look::Value | Look::BlockEnd) {
                    self.state = State::BlockMappingValue;
                    return Ok(empty_scalar(end));
                }
                let then = State::BlockMappingValue;
                self.node(token, start, then, Allowed::BlockMember)
            }
            Look::BlockEnd => Ok(self.leave(EventKind::MappingEnd, start)),
            _ => {
                let context = self.marks.pop().unwrap_or_default();
                fault("did not find expected key", context, start)
            }
        }
    }

    pub(super) fn block_mapping_value(&mut self) -> Step<'a> {
        let then = State::BlockMappingKey { first: false };
        let (token, start, end) = self.look()?;
        if token != Look::Value {
            self.state = then;
            return Ok(empty_scalar(start));
        }
        self.skip();
        let (token, start, _) = self.look()?;
        if matches!(token, Look::Key | Look::Value | Look::BlockEnd) {
            self.state = then;
            return Ok(empty_scalar(end));
        }
        self.node(token, start, then, Allowed::BlockMember)
    }
}
