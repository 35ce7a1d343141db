//! Indentation and keys without `?`: what only becomes known later in the text.
//!
//! A deeper column opens a block collection, a shallower one closes it. A token that may begin a
//! key is remembered until its `:` comes; then the `Key` token is put before it in the queue.

use super::{
    DEPTH, MAX_DEPTH, MAX_SIMPLE_KEY, NO_COLON, Queued, Scanner, SimpleKey, Token, TokenKind,
};
use crate::error::Fault;
use crate::read::Mark;

impl<'a> Scanner<'a> {
    /// Whether the simple key of `level` can still find its `:`.
    pub(super) fn check_simple_key(&mut self, level: usize) -> Result<bool, Fault> {
        let here = self.reader.mark();
        let Some(key) = self.simple_keys.get_mut(level) else {
            return Ok(false);
        };
        if !key.possible {
            return Ok(false);
        }
        let distance = here.column.saturating_sub(key.mark.column);
        if key.mark.line < here.line || distance > MAX_SIMPLE_KEY {
            if key.required {
                let context = key.mark;
                return self.fault(context, NO_COLON);
            }
            key.possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    pub(super) fn save_simple_key(&mut self) -> Result<(), Fault> {
        if self.simple_key_allowed {
            let required = self.flow_level == 0 && self.indent == i64::from(self.reader.column());
            self.remove_simple_key()?;
            let key = SimpleKey {
                possible: true,
                required,
                token_number: self.parsed + self.tokens.len(),
                mark: self.reader.mark(),
            };
            if let Some(last) = self.simple_keys.last_mut() {
                *last = key;
            }
            self.next_key_level = u32::try_from(self.simple_keys.len() - 1).ok();
        }
        Ok(())
    }

    pub(super) fn remove_simple_key(&mut self) -> Result<(), Fault> {
        if let Some(key) = self.simple_keys.last_mut()
            && key.possible
        {
            if key.required {
                let context = key.mark;
                return self.fault(context, NO_COLON);
            }
            key.possible = false;
        }
        Ok(())
    }

    /// Opens a block collection at `column` unless one is open there. `number` is the token
    /// before which it opens; none is the end of the queue.
    pub(super) fn roll_indent(
        &mut self,
        column: u32,
        number: Option<usize>,
        kind: TokenKind<'a>,
        mark: Mark,
    ) -> Result<(), Fault> {
        let column = i64::from(column);
        if self.flow_level > 0 || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_DEPTH {
            let context = self.simple_keys.last().map_or(mark, |key| key.mark);
            return self.fault(context, DEPTH);
        }
        let token = Token {
            kind,
            start: mark,
            end: mark,
        };
        match number {
            Some(number) => self.insert(number, token),
            None => self.push_token(token),
        }
        Ok(())
    }

    pub(super) fn insert(&mut self, number: usize, token: Token<'a>) {
        let queued = Queued {
            token,
            key_level: None,
        };
        match number.checked_sub(self.parsed) {
            Some(0) => self.tokens.push_front(queued),
            Some(at) => self.tokens.insert(at.min(self.tokens.len()), queued),
            // The place is gone: libyaml then adds to the end, and the parser finds the error.
            None => self.tokens.push_back(queued),
        }
    }

    #[inline]
    pub(super) fn unroll_indent(&mut self, column: i64) {
        if self.indent > column && self.flow_level == 0 {
            self.close_deeper(column);
        }
    }

    /// Closes the block collections that are deeper than `column`.
    fn close_deeper(&mut self, column: i64) {
        while self.indent > column {
            let mark = self.reader.mark();
            self.push(TokenKind::BlockEnd, mark);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }
}
