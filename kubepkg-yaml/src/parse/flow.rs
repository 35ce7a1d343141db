//! Flow sequences and mappings, and single pairs in flow sequences (`[a: b]`).

use super::{Allowed, Event, EventKind, Look, Parser, State, Step, empty_scalar, fault};

impl<'a> Parser<'a> {
    pub(super) fn flow_sequence_entry(&mut self, first: bool) -> Step<'a> {
        if first {
            self.enter()?;
        }
        let (mut token, mut start, _) = self.look()?;
        if token != Look::FlowSequenceEnd && !first {
            if token != Look::FlowEntry {
                let context = self.marks.pop().unwrap_or_default();
                return fault("did not find expected ',' or ']'", context, start);
            }
            self.skip();
            (token, start, _) = self.look()?;
        }
        match token {
            Look::FlowSequenceEnd => Ok(self.leave(EventKind::SequenceEnd, start)),
            Look::Key => {
                self.state = State::FlowSequenceMappingKey;
                self.skip();
                Ok(Event {
                    kind: EventKind::MappingStart(None),
                    start,
                })
            }
            _ => {
                let then = State::FlowSequenceEntry { first: false };
                self.node(token, start, then, Allowed::Flow)
            }
        }
    }

    pub(super) fn flow_sequence_mapping_key(&mut self) -> Step<'a> {
        let (token, start, end) = self.look()?;
        if matches!(token, Look::Value | Look::FlowEntry | Look::FlowSequenceEnd) {
            // libyaml passes the token here, and so the value of `[? : x]` is lost.
            self.skip();
            self.state = State::FlowSequenceMappingValue;
            return Ok(empty_scalar(end));
        }
        let then = State::FlowSequenceMappingValue;
        self.node(token, start, then, Allowed::Flow)
    }

    pub(super) fn flow_sequence_mapping_value(&mut self) -> Step<'a> {
        let (mut token, mut start, _) = self.look()?;
        if token == Look::Value {
            self.skip();
            (token, start, _) = self.look()?;
            if !matches!(token, Look::FlowEntry | Look::FlowSequenceEnd) {
                let then = State::FlowSequenceMappingEnd;
                return self.node(token, start, then, Allowed::Flow);
            }
        }
        self.state = State::FlowSequenceMappingEnd;
        Ok(empty_scalar(start))
    }

    pub(super) fn flow_mapping_key(&mut self, first: bool) -> Step<'a> {
        if first {
            self.enter()?;
        }
        let (mut token, mut start, _) = self.look()?;
        if token != Look::FlowMappingEnd && !first {
            if token != Look::FlowEntry {
                let context = self.marks.pop().unwrap_or_default();
                return fault("did not find expected ',' or '}'", context, start);
            }
            self.skip();
            (token, start, _) = self.look()?;
        }
        match token {
            Look::FlowMappingEnd => Ok(self.leave(EventKind::MappingEnd, start)),
            Look::Key => {
                self.skip();
                let (token, start, _) = self.look()?;
                if matches!(token, Look::Value | Look::FlowEntry | Look::FlowMappingEnd) {
                    self.state = State::FlowMappingValue { empty: false };
                    return Ok(empty_scalar(start));
                }
                let then = State::FlowMappingValue { empty: false };
                self.node(token, start, then, Allowed::Flow)
            }
            _ => {
                let then = State::FlowMappingValue { empty: true };
                self.node(token, start, then, Allowed::Flow)
            }
        }
    }

    pub(super) fn flow_mapping_value(&mut self, empty: bool) -> Step<'a> {
        let then = State::FlowMappingKey { first: false };
        let (mut token, mut start, _) = self.look()?;
        if !empty && token == Look::Value {
            self.skip();
            (token, start, _) = self.look()?;
            if !matches!(token, Look::FlowEntry | Look::FlowMappingEnd) {
                return self.node(token, start, then, Allowed::Flow);
            }
        }
        self.state = then;
        Ok(empty_scalar(start))
    }
}
