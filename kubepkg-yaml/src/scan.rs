//! From characters to tokens: indentation, simple keys, flow nesting.
//!
//! The scanner behaves as libyaml's, whose Go form Kubernetes uses: YAML 1.1 with a few
//! simplifications, block structure made explicit by `Block…Start` and `BlockEnd` tokens, and a
//! mapping key without `?` recognised when its `:` comes on the same line within 1,024
//! characters. Nesting deeper than 10,000 is refused. How scalars are read is in `scalar.rs`,
//! tags, anchors and directives in `property.rs`, indentation and keys in `nesting.rs`, the short
//! way for simple keys in `key.rs`.

mod key;
mod nesting;
mod property;
mod scalar;

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::error::{Fault, Problem};
use crate::read::{Decoded, Mark, Reader};

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScalarStyle {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
    Folded,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenKind<'a> {
    StreamEnd,
    VersionDirective {
        major: u32,
        minor: u32,
    },
    TagDirective(Box<TagText<'a>>),
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
    Alias(&'a str),
    Anchor(&'a str),
    Tag(Box<TagText<'a>>),
    Scalar {
        value: Cow<'a, str>,
        style: ScalarStyle,
    },
}

/// The two parts of a tag, or of what a directive says about tags. Rare, and so not kept in the
/// token itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TagText<'a> {
    pub(crate) handle: Cow<'a, str>,
    /// What stands after the handle, or what the handle means.
    pub(crate) rest: Cow<'a, str>,
}

/// A token and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind<'a>,
    pub(crate) start: Mark,
    pub(crate) end: Mark,
}

/// A place where a key without `?` may have begun.
#[derive(Debug, Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    required: bool,
    token_number: usize,
    mark: Mark,
}

/// A token that waits for the parser.
struct Queued<'a> {
    token: Token<'a>,
    /// The flow level whose simple key this token may begin.
    key_level: Option<u32>,
}

/// Deepest nesting of flow collections, and of block collections.
const MAX_DEPTH: usize = 10_000;
/// The farthest that the `:` of a key without `?` may stand from its start, in characters.
const MAX_SIMPLE_KEY: u32 = 1_024;
/// Room for tokens: more are in the queue only while a long key may begin.
const QUEUE: usize = 8;
const DEPTH: &str = "exceeded max depth of 10000";
const NO_COLON: &str = "could not find expected ':'";

/// The scanner: a queue of tokens, filled as far as the grammar needs.
pub(crate) struct Scanner<'a> {
    pub(crate) reader: Reader<'a>,
    tokens: VecDeque<Queued<'a>>,
    /// Number of tokens already handed out.
    parsed: usize,
    /// Set between saving a simple key and queueing the token that it starts with.
    next_key_level: Option<u32>,
    simple_keys: Vec<SimpleKey>,
    pub(crate) simple_key_allowed: bool,
    pub(crate) flow_level: usize,
    /// Column of the current block collection; -1 outside.
    pub(crate) indent: i64,
    indents: Vec<i64>,
    token_available: bool,
    stream_ended: bool,
}

#[cold]
fn past_the_end(at: Mark) -> Fault {
    let text = "attempted to go past the end of stream; corrupted value?";
    Fault::new(Problem::Parser, text, at, at)
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(decoded: &'a Decoded<'_>) -> Self {
        Scanner {
            reader: Reader::new(decoded),
            tokens: VecDeque::with_capacity(QUEUE),
            // The stream start counts as a token, though it is not queued here.
            parsed: 1,
            next_key_level: None,
            simple_keys: vec![SimpleKey::default()],
            simple_key_allowed: true,
            flow_level: 0,
            indent: -1,
            indents: Vec::new(),
            token_available: false,
            stream_ended: false,
        }
    }

    pub(crate) fn fault<T>(&self, context: Mark, text: &'static str) -> Result<T, Fault> {
        Err(Fault::new(
            Problem::Scanner,
            text,
            context,
            self.reader.mark(),
        ))
    }

    /// The next token, left in the queue.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<&Token<'a>, Fault> {
        if !self.token_available {
            let certain = |head: &Queued<'_>| head.key_level.is_none();
            if !self.tokens.front().is_some_and(certain) {
                self.fetch_more()?;
            }
            self.token_available = true;
        }
        let past_end = self.reader.mark();
        match self.tokens.front() {
            Some(queued) => Ok(&queued.token),
            None => Err(past_the_end(past_end)),
        }
    }

    /// Takes the token that [`Scanner::peek`] has shown.
    pub(crate) fn take(&mut self) -> Option<Token<'a>> {
        self.token_available = false;
        self.parsed += 1;
        self.tokens.pop_front().map(|queued| queued.token)
    }

    /// Passes the token that [`Scanner::peek`] has shown.
    #[inline]
    pub(crate) fn skip(&mut self) {
        self.token_available = false;
        self.parsed += 1;
        self.tokens.pop_front();
    }

    fn fetch_more(&mut self) -> Result<(), Fault> {
        loop {
            if let Some(head) = self.tokens.front() {
                let Some(level) = head.key_level else {
                    return Ok(());
                };
                match self.simple_keys.get(level as usize) {
                    Some(key) if key.token_number == self.parsed => {
                        if !self.check_simple_key(level as usize)? {
                            return Ok(());
                        }
                    }
                    _ => return Ok(()),
                }
            }
            if !self.stream_ended {
                self.fetch_next()?;
            } else if self.tokens.is_empty() {
                let mark = self.reader.mark();
                self.push(TokenKind::StreamEnd, mark);
            } else {
                return Ok(());
            }
        }
    }

    fn push_token(&mut self, token: Token<'a>) {
        let key_level = self.next_key_level.take();
        self.tokens.push_back(Queued { token, key_level });
    }

    /// Adds a token that begins no key.
    fn push_certain(&mut self, kind: TokenKind<'a>, start: Mark, end: Mark) {
        self.tokens.push_back(Queued {
            token: Token { kind, start, end },
            key_level: None,
        });
    }

    fn push(&mut self, kind: TokenKind<'a>, mark: Mark) {
        self.push_token(Token {
            kind,
            start: mark,
            end: mark,
        });
    }

    fn is_document_marker(&self) -> bool {
        let reader = &self.reader;
        let first = reader.byte(0);
        reader.column() == 0
            && (first == b'-' || first == b'.')
            && reader.byte(1) == first
            && reader.byte(2) == first
            && reader.is_blank_or_end(3)
    }

    /// Whether a quoted or plain scalar must end here. Wants four characters ensured.
    pub(crate) fn at_document_marker(&self) -> bool {
        self.is_document_marker()
    }

    fn fetch_next(&mut self) -> Result<(), Fault> {
        self.reader.ensure(1)?;
        self.skip_to_token()?;
        let column = self.reader.column();
        self.unroll_indent(i64::from(column));
        self.reader.ensure(4)?;
        if self.reader.is_end() {
            return self.fetch_stream_end();
        }
        let byte = self.reader.byte(0);
        if column == 0 {
            if byte == b'%' {
                self.unroll_indent(-1);
                self.remove_simple_key()?;
                self.simple_key_allowed = false;
                let token = self.scan_directive()?;
                self.push_token(token);
                return Ok(());
            }
            if self.is_document_marker() {
                return self.fetch_document_marker(byte == b'-');
            }
        }
        let flow = self.flow_level > 0;
        match byte {
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => {
                self.remove_simple_key()?;
                self.simple_key_allowed = true;
                self.push_indicator(TokenKind::FlowEntry);
                Ok(())
            }
            b'-' if self.reader.is_blank_or_end(1) => self.fetch_block_entry(),
            b'?' if flow || self.reader.is_blank_or_end(1) => self.fetch_key(),
            b':' if flow || self.reader.is_blank_or_end(1) => self.fetch_value(),
            b'*' | b'&' => {
                self.save_simple_key()?;
                self.simple_key_allowed = false;
                let token = self.scan_anchor(byte == b'*')?;
                self.push_token(token);
                Ok(())
            }
            b'!' => {
                self.save_simple_key()?;
                self.simple_key_allowed = false;
                let token = self.scan_tag()?;
                self.push_token(token);
                Ok(())
            }
            b'|' | b'>' if !flow => {
                self.remove_simple_key()?;
                self.simple_key_allowed = true;
                let token = self.scan_block_scalar(byte == b'|')?;
                self.push_token(token);
                Ok(())
            }
            b'\'' | b'"' => {
                self.save_simple_key()?;
                self.simple_key_allowed = false;
                let token = self.scan_quoted(byte == b'\'')?;
                self.push_token(token);
                Ok(())
            }
            _ if self.may_start_plain(byte) => {
                if let Some(length) = self.sees_plain_key() {
                    return self.fetch_plain_key(length);
                }
                self.save_simple_key()?;
                self.simple_key_allowed = false;
                let token = self.scan_plain()?;
                self.push_token(token);
                Ok(())
            }
            _ => {
                let mark = self.reader.mark();
                self.fault(mark, "found character that cannot start any token")
            }
        }
    }

    fn may_start_plain(&self, byte: u8) -> bool {
        match byte {
            b'-' => !self.reader.is_blank(1),
            b'?' | b':' => self.flow_level == 0 && !self.reader.is_blank_or_end(1),
            b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\''
            | b'"' | b'%' | b'@' | b'`' => false,
            _ => !self.reader.is_blank_or_end(0),
        }
    }

    /// Passes blanks, comments and line breaks. Tabs separate only where no key may begin.
    fn skip_to_token(&mut self) -> Result<(), Fault> {
        loop {
            self.reader.ensure(1)?;
            if self.reader.column() == 0 && self.reader.sees_byte_order_mark() {
                self.reader.skip();
                self.reader.ensure(1)?;
            }
            self.reader.skip_spaces(usize::MAX)?;
            while self.reader.byte(0) == b'\t' && (self.flow_level > 0 || !self.simple_key_allowed)
            {
                self.reader.skip_ascii(1);
                self.reader.skip_spaces(usize::MAX)?;
            }
            if self.reader.byte(0) == b'#' {
                self.reader.skip_line()?;
            }
            if !self.reader.is_break() {
                return Ok(());
            }
            self.reader.ensure(2)?;
            self.reader.take_break();
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    /// Passes blanks, a comment and the line break that must follow.
    pub(crate) fn finish_line(&mut self, context: Mark) -> Result<(), Fault> {
        self.reader.skip_blanks()?;
        if self.reader.byte(0) == b'#' {
            self.reader.skip_line()?;
        }
        if !self.reader.is_break_or_end() {
            return self.fault(context, "did not find expected comment or line break");
        }
        if self.reader.is_break() {
            self.reader.ensure(2)?;
            self.reader.take_break();
        }
        Ok(())
    }

    fn fetch_stream_end(&mut self) -> Result<(), Fault> {
        self.reader.force_line();
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let mark = self.reader.mark();
        self.push(TokenKind::StreamEnd, mark);
        self.stream_ended = true;
        Ok(())
    }

    fn fetch_document_marker(&mut self, start: bool) -> Result<(), Fault> {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let from = self.reader.mark();
        self.reader.skip_ascii(3);
        let kind = if start {
            TokenKind::DocumentStart
        } else {
            TokenKind::DocumentEnd
        };
        let end = self.reader.mark();
        self.push_token(Token {
            kind,
            start: from,
            end,
        });
        Ok(())
    }

    #[inline]
    fn push_indicator(&mut self, kind: TokenKind<'a>) {
        let start = self.reader.mark();
        self.reader.skip();
        let end = self.reader.mark();
        self.push_token(Token { kind, start, end });
    }

    fn fetch_flow_start(&mut self, kind: TokenKind<'a>) -> Result<(), Fault> {
        self.save_simple_key()?;
        self.simple_keys.push(SimpleKey {
            token_number: self.parsed + self.tokens.len(),
            mark: self.reader.mark(),
            ..SimpleKey::default()
        });
        self.flow_level += 1;
        if self.flow_level > MAX_DEPTH {
            let context = self.reader.mark();
            return self.fault(context, DEPTH);
        }
        self.simple_key_allowed = true;
        self.push_indicator(kind);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind<'a>) -> Result<(), Fault> {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            // A collection without keys has the number of its own opening token here, and libyaml
            // forgets that this token may begin a key: it hands it out without looking further.
            if let Some(key) = self.simple_keys.pop()
                && let Some(at) = key.token_number.checked_sub(self.parsed)
                && let Some(queued) = self.tokens.get_mut(at)
            {
                queued.key_level = None;
            }
        }
        self.simple_key_allowed = false;
        self.push_indicator(kind);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), Fault> {
        let mark = self.reader.mark();
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return self.fault(
                    mark,
                    "block sequence entries are not allowed in this context",
                );
            }
            self.roll_indent(mark.column, None, TokenKind::BlockSequenceStart, mark)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), Fault> {
        let mark = self.reader.mark();
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return self.fault(mark, "mapping keys are not allowed in this context");
            }
            self.roll_indent(mark.column, None, TokenKind::BlockMappingStart, mark)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.push_indicator(TokenKind::Key);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), Fault> {
        let level = self.simple_keys.len().saturating_sub(1);
        if self.check_simple_key(level)? {
            let key = self.simple_keys.get(level).copied().unwrap_or_default();
            let token = Token {
                kind: TokenKind::Key,
                start: key.mark,
                end: key.mark,
            };
            self.insert(key.token_number, token);
            self.roll_indent(
                key.mark.column,
                Some(key.token_number),
                TokenKind::BlockMappingStart,
                key.mark,
            )?;
            if let Some(key) = self.simple_keys.get_mut(level) {
                key.possible = false;
            }
            self.simple_key_allowed = false;
        } else {
            let mark = self.reader.mark();
            if self.flow_level == 0 {
                if !self.simple_key_allowed {
                    return self.fault(mark, "mapping values are not allowed in this context");
                }
                self.roll_indent(mark.column, None, TokenKind::BlockMappingStart, mark)?;
            }
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.push_indicator(TokenKind::Value);
        Ok(())
    }
}
