//! Keys like `name: `, plain and on one line.
//!
//! Nearly all keys are of this kind, and their tokens need none of the scanner's foresight. They
//! are queued at once where nothing can go wrong before the parser has taken what stands in the
//! queue already, so that errors come in the same order as without this.

use std::borrow::Cow;

use super::scalar::{PLAIN, run_length};
use super::{MAX_SIMPLE_KEY, ScalarStyle, Scanner, TokenKind};
use crate::error::Fault;

impl Scanner<'_> {
    /// The length of the plain scalar here, if it is surely a key: a word before `: ` where a key
    /// may begin.
    pub(super) fn sees_plain_key(&self) -> Option<usize> {
        let fits = self.flow_level == 0
            && self.simple_key_allowed
            && (self.tokens.is_empty() || self.indent >= i64::from(self.reader.column()));
        if !fits {
            return None;
        }
        let ready = self.reader.ready();
        let length = run_length(ready, PLAIN);
        let ends = matches!(ready.get(length..), Some([b':', b' ' | b'\n', ..]));
        (ends && length <= MAX_SIMPLE_KEY as usize).then_some(length)
    }

    /// Takes the key that [`Scanner::sees_plain_key`] has seen, and its `:`.
    pub(super) fn fetch_plain_key(&mut self, length: usize) -> Result<(), Fault> {
        self.remove_simple_key()?;
        let start = self.reader.mark();
        let from = self.reader.pos();
        self.reader.skip_ascii(length);
        let end = self.reader.mark();
        let kind = TokenKind::BlockMappingStart;
        self.roll_indent(start.column, None, kind, start)?;
        self.push_certain(TokenKind::Key, start, start);
        let value = Cow::Borrowed(self.reader.slice(from, from + length));
        let style = ScalarStyle::Plain;
        self.push_certain(TokenKind::Scalar { value, style }, start, end);
        self.reader.skip_ascii(1);
        self.push_certain(TokenKind::Value, end, self.reader.mark());
        self.simple_key_allowed = false;
        Ok(())
    }
}
