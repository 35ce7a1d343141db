//! From tokens to events: the grammar of documents, block and flow collections.
//!
//! A pushdown machine without recursion, so nesting costs no stack. Productions and messages are
//! those of libyaml's parser. Only the first document of a stream is asked for by the loaders;
//! what follows it is never looked at, as in Go.

mod block;
mod flow;

use std::borrow::Cow;

use crate::error::{Fault, Problem};
use crate::read::{Decoded, Mark};
use crate::scan::{ScalarStyle, Scanner, TagText, TokenKind};

/// What happens next in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EventKind<'a> {
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(&'a str),
    Scalar {
        properties: Option<Box<Properties<'a>>>,
        value: Cow<'a, str>,
        /// The value decides about the type: plain without a tag, or with the tag `!`.
        plain_implicit: bool,
    },
    SequenceStart(Option<Box<Properties<'a>>>),
    SequenceEnd,
    MappingStart(Option<Box<Properties<'a>>>),
    MappingEnd,
}

/// Anchor and resolved tag of a node; boxed in events, because few nodes have either.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Properties<'a> {
    pub(crate) anchor: Option<&'a str>,
    pub(crate) tag: Option<Cow<'a, str>>,
}

/// An event and where it begins.
#[derive(Debug, Clone)]
pub(crate) struct Event<'a> {
    pub(crate) kind: EventKind<'a>,
    pub(crate) start: Mark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceEntry { first: bool },
    IndentlessSequenceEntry,
    BlockMappingKey { first: bool },
    BlockMappingValue,
    FlowSequenceEntry { first: bool },
    FlowSequenceMappingKey,
    FlowSequenceMappingValue,
    FlowSequenceMappingEnd,
    FlowMappingKey { first: bool },
    FlowMappingValue { empty: bool },
    End,
}

/// Which nodes may stand in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    /// No block collections.
    Flow,
    Block,
    /// Also a sequence that is not indented.
    BlockMember,
}

/// The parser.
pub(crate) struct Parser<'a> {
    scanner: Scanner<'a>,
    state: State,
    /// What comes after each collection that is open.
    states: Vec<State>,
    marks: Vec<Mark>,
    /// Tag handles of this document's directives, and what they stand for.
    tags: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

type Step<'a> = Result<Event<'a>, Fault>;

/// A token's kind without its contents, to decide on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    StreamEnd,
    VersionDirective,
    TagDirective,
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias,
    Anchor,
    Tag,
    Scalar,
}

fn look(kind: &TokenKind<'_>) -> Look {
    match kind {
        TokenKind::StreamEnd => Look::StreamEnd,
        TokenKind::VersionDirective { .. } => Look::VersionDirective,
        TokenKind::TagDirective(_) => Look::TagDirective,
        TokenKind::DocumentStart => Look::DocumentStart,
        TokenKind::DocumentEnd => Look::DocumentEnd,
        TokenKind::BlockSequenceStart => Look::BlockSequenceStart,
        TokenKind::BlockMappingStart => Look::BlockMappingStart,
        TokenKind::BlockEnd => Look::BlockEnd,
        TokenKind::FlowSequenceStart => Look::FlowSequenceStart,
        TokenKind::FlowSequenceEnd => Look::FlowSequenceEnd,
        TokenKind::FlowMappingStart => Look::FlowMappingStart,
        TokenKind::FlowMappingEnd => Look::FlowMappingEnd,
        TokenKind::BlockEntry => Look::BlockEntry,
        TokenKind::FlowEntry => Look::FlowEntry,
        TokenKind::Key => Look::Key,
        TokenKind::Value => Look::Value,
        TokenKind::Alias(_) => Look::Alias,
        TokenKind::Anchor(_) => Look::Anchor,
        TokenKind::Tag(_) => Look::Tag,
        TokenKind::Scalar { .. } => Look::Scalar,
    }
}

fn fault<T>(text: &'static str, context: Mark, at: Mark) -> Result<T, Fault> {
    Err(Fault::new(Problem::Parser, text, context, at))
}

fn empty_scalar<'a>(start: Mark) -> Event<'a> {
    Event {
        kind: EventKind::Scalar {
            properties: None,
            value: Cow::Borrowed(""),
            plain_implicit: true,
        },
        start,
    }
}

impl<'a> Parser<'a> {
    pub(crate) fn new(decoded: &'a Decoded<'_>) -> Self {
        Parser {
            scanner: Scanner::new(decoded),
            state: State::ImplicitDocumentStart,
            states: Vec::new(),
            marks: Vec::new(),
            tags: Vec::new(),
        }
    }

    /// The next token's kind, start and end.
    #[inline]
    fn look(&mut self) -> Result<(Look, Mark, Mark), Fault> {
        let token = self.scanner.peek()?;
        Ok((look(&token.kind), token.start, token.end))
    }

    fn skip(&mut self) {
        self.scanner.skip();
    }

    fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    /// The next event.
    pub(crate) fn next(&mut self) -> Step<'a> {
        match self.state {
            State::ImplicitDocumentStart => self.document_start(true),
            State::DocumentStart => self.document_start(false),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => {
                let (token, start, _) = self.look()?;
                self.node(token, start, State::DocumentEnd, Allowed::Block)
            }
            State::BlockSequenceEntry { first } => self.block_sequence_entry(first),
            State::IndentlessSequenceEntry => self.indentless_sequence_entry(),
            State::BlockMappingKey { first } => self.block_mapping_key(first),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceEntry { first } => self.flow_sequence_entry(first),
            State::FlowSequenceMappingKey => self.flow_sequence_mapping_key(),
            State::FlowSequenceMappingValue => self.flow_sequence_mapping_value(),
            State::FlowSequenceMappingEnd => {
                self.state = State::FlowSequenceEntry { first: false };
                let (_, start, _) = self.look()?;
                Ok(Event {
                    kind: EventKind::MappingEnd,
                    start,
                })
            }
            State::FlowMappingKey { first } => self.flow_mapping_key(first),
            State::FlowMappingValue { empty } => self.flow_mapping_value(empty),
            State::End => Ok(Event {
                kind: EventKind::StreamEnd,
                start: self.scanner.reader.mark(),
            }),
        }
    }

    fn document_start(&mut self, implicit: bool) -> Step<'a> {
        let (mut token, mut start, _) = self.look()?;
        if !implicit {
            while token == Look::DocumentEnd {
                self.skip();
                (token, start, _) = self.look()?;
            }
        }
        match token {
            Look::StreamEnd => {
                self.state = State::End;
                self.skip();
                return Ok(Event {
                    kind: EventKind::StreamEnd,
                    start,
                });
            }
            Look::VersionDirective | Look::TagDirective | Look::DocumentStart => {}
            _ if implicit => {
                self.state = State::BlockNode;
                return Ok(Event {
                    kind: EventKind::DocumentStart,
                    start,
                });
            }
            _ => {}
        }
        self.directives()?;
        let (token, at, _) = self.look()?;
        if token != Look::DocumentStart {
            return fault(
                "did not find expected <document start>",
                Mark::default(),
                at,
            );
        }
        self.state = State::DocumentContent;
        self.skip();
        Ok(Event {
            kind: EventKind::DocumentStart,
            start,
        })
    }

    /// What a tag handle stands for.
    fn prefix(&self, handle: &str) -> Option<&str> {
        match self.tags.iter().find(|(known, _)| known == handle) {
            Some((_, prefix)) => Some(prefix),
            None if handle == "!" => Some("!"),
            None if handle == "!!" => Some("tag:yaml.org,2002:"),
            None => None,
        }
    }

    fn directives(&mut self) -> Result<(), Fault> {
        let mut version_seen = false;
        loop {
            let token = self.scanner.peek()?;
            let start = token.start;
            match &token.kind {
                TokenKind::VersionDirective { major, minor } => {
                    if version_seen {
                        return fault("found duplicate %YAML directive", Mark::default(), start);
                    }
                    if (*major, *minor) != (1, 1) {
                        return fault("found incompatible YAML document", Mark::default(), start);
                    }
                    version_seen = true;
                }
                TokenKind::TagDirective(text) => {
                    let tag = (text.handle.clone(), text.rest.clone());
                    if self.tags.iter().any(|(known, _)| *known == tag.0) {
                        return fault("found duplicate %TAG directive", Mark::default(), start);
                    }
                    self.tags.push(tag);
                }
                _ => break,
            }
            self.skip();
        }
        Ok(())
    }

    fn document_content(&mut self) -> Step<'a> {
        let (token, start, _) = self.look()?;
        match token {
            Look::VersionDirective
            | Look::TagDirective
            | Look::DocumentStart
            | Look::DocumentEnd
            | Look::StreamEnd => {
                self.state = State::DocumentEnd;
                Ok(empty_scalar(start))
            }
            _ => self.node(token, start, State::DocumentEnd, Allowed::Block),
        }
    }

    fn document_end(&mut self) -> Step<'a> {
        let (token, start, _) = self.look()?;
        if token == Look::DocumentEnd {
            self.skip();
        }
        self.tags.clear();
        self.state = State::DocumentStart;
        Ok(Event {
            kind: EventKind::DocumentEnd,
            start,
        })
    }

    /// Anchor and tag in either order, the first of which is the next token.
    fn properties(&mut self) -> Result<Properties<'a>, Fault> {
        let mut properties = Properties::default();
        let (_, start, _) = self.look()?;
        let mut tag = None;
        for _ in 0..2 {
            let token = self.scanner.peek()?;
            match &token.kind {
                TokenKind::Anchor(name) if properties.anchor.is_none() => {
                    properties.anchor = Some(name);
                }
                TokenKind::Tag(text) if tag.is_none() => {
                    tag = Some((text.clone(), token.start));
                }
                _ => break,
            }
            self.skip();
        }
        if let Some((text, mark)) = tag {
            let TagText { handle, rest } = *text;
            let full = if handle.is_empty() {
                rest
            } else {
                match self.prefix(&handle) {
                    Some(prefix) if !(prefix.is_empty() && rest.is_empty()) => {
                        Cow::Owned(format!("{prefix}{rest}"))
                    }
                    _ => return fault("found undefined tag handle", start, mark),
                }
            };
            properties.tag = (!full.is_empty()).then_some(full);
        }
        Ok(properties)
    }

    /// A node, of which `token` is the first, not taken yet. `then` comes after it.
    fn node(&mut self, token: Look, start: Mark, then: State, allowed: Allowed) -> Step<'a> {
        let (mut token, mut token_start) = (token, start);
        let mut properties = None;
        if matches!(token, Look::Anchor | Look::Tag) {
            properties = Some(Box::new(self.properties()?));
            let (next, next_start, _) = self.look()?;
            (token, token_start) = (next, next_start);
        }
        let (kind, state) = match token {
            Look::Scalar => {
                self.state = then;
                return Ok(self.scalar(properties, start));
            }
            Look::Alias if properties.is_none() => {
                self.state = then;
                return Ok(self.alias(start));
            }
            Look::BlockEntry if allowed == Allowed::BlockMember => (
                EventKind::SequenceStart(properties),
                State::IndentlessSequenceEntry,
            ),
            Look::FlowSequenceStart => (
                EventKind::SequenceStart(properties),
                State::FlowSequenceEntry { first: true },
            ),
            Look::FlowMappingStart => (
                EventKind::MappingStart(properties),
                State::FlowMappingKey { first: true },
            ),
            Look::BlockSequenceStart if allowed != Allowed::Flow => (
                EventKind::SequenceStart(properties),
                State::BlockSequenceEntry { first: true },
            ),
            Look::BlockMappingStart if allowed != Allowed::Flow => (
                EventKind::MappingStart(properties),
                State::BlockMappingKey { first: true },
            ),
            _ => match properties {
                Some(properties) if properties.anchor.is_some() || properties.tag.is_some() => {
                    self.state = then;
                    let plain_implicit = properties.tag.is_none();
                    let kind = EventKind::Scalar {
                        properties: Some(properties),
                        value: Cow::Borrowed(""),
                        plain_implicit,
                    };
                    return Ok(Event { kind, start });
                }
                _ => return fault("did not find expected node content", start, token_start),
            },
        };
        self.states.push(then);
        self.state = state;
        Ok(Event { kind, start })
    }

    fn alias(&mut self, start: Mark) -> Event<'a> {
        let name = match self.scanner.take().map(|token| token.kind) {
            Some(TokenKind::Alias(name)) => name,
            _ => "",
        };
        let kind = EventKind::Alias(name);
        Event { kind, start }
    }

    fn scalar(&mut self, properties: Option<Box<Properties<'a>>>, start: Mark) -> Event<'a> {
        let (value, style) = match self.scanner.take().map(|token| token.kind) {
            Some(TokenKind::Scalar { value, style }) => (value, style),
            _ => (Cow::Borrowed(""), ScalarStyle::Plain),
        };
        let tag = properties.as_ref().and_then(|both| both.tag.as_deref());
        let plain_implicit = match tag {
            None => style == ScalarStyle::Plain,
            Some(tag) => tag == "!",
        };
        Event {
            kind: EventKind::Scalar {
                properties,
                value,
                plain_implicit,
            },
            start,
        }
    }

    /// Remembers where a collection begins and passes its first token.
    fn enter(&mut self) -> Result<(), Fault> {
        let (_, start, _) = self.look()?;
        self.marks.push(start);
        self.skip();
        Ok(())
    }

    /// Leaves a collection at its closing token.
    fn leave(&mut self, kind: EventKind<'a>, start: Mark) -> Event<'a> {
        self.pop_state();
        self.marks.pop();
        self.skip();
        Event { kind, start }
    }
}
