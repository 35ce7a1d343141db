//! Directives, anchors, aliases and tags.
//!
//! Anchors are ASCII letters, digits, `_` and `-`; tags are URIs with `%` escapes; a directive is
//! `%YAML` or `%TAG`, and any other is refused (libyaml 0.1 behaviour).

use std::borrow::Cow;

use super::{Scanner, TagText, Token, TokenKind};
use crate::error::Fault;
use crate::read::Mark;

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_uri(byte: u8) -> bool {
    is_word(byte) || b";/?:@&=+$,.!~*'()[]%".contains(&byte)
}

impl<'a> Scanner<'a> {
    /// Takes ASCII letters, digits, `_` and `-`.
    fn take_word(&mut self) -> Result<&'a str, Fault> {
        let start = self.reader.pos();
        self.reader.ensure(1)?;
        while is_word(self.reader.byte(0)) {
            self.reader.skip();
            self.reader.ensure(1)?;
        }
        Ok(self.reader.slice(start, self.reader.pos()))
    }

    pub(super) fn scan_directive(&mut self) -> Result<Token<'a>, Fault> {
        let start = self.reader.mark();
        self.reader.skip();
        let name = self.take_word()?;
        if name.is_empty() {
            return self.fault(start, "could not find expected directive name");
        }
        if !self.reader.is_blank_or_end(0) {
            return self.fault(start, "found unexpected non-alphabetical character");
        }
        let kind = match name {
            "YAML" => {
                self.reader.skip_blanks()?;
                let major = self.take_version_number(start)?;
                if self.reader.byte(0) != b'.' {
                    return self.fault(start, "did not find expected digit or '.' character");
                }
                self.reader.skip();
                let minor = self.take_version_number(start)?;
                TokenKind::VersionDirective { major, minor }
            }
            "TAG" => {
                self.reader.skip_blanks()?;
                let handle = self.take_tag_handle(true, start)?;
                self.reader.ensure(1)?;
                if !self.reader.is_blank(0) {
                    return self.fault(start, "did not find expected whitespace");
                }
                self.reader.skip_blanks()?;
                let prefix = self.take_tag_uri(None, start)?;
                self.reader.ensure(1)?;
                if !self.reader.is_blank_or_end(0) {
                    return self.fault(start, "did not find expected whitespace or line break");
                }
                TokenKind::TagDirective(Box::new(TagText {
                    handle: Cow::Borrowed(handle),
                    rest: prefix,
                }))
            }
            _ => return self.fault(start, "found unknown directive name"),
        };
        let end = self.reader.mark();
        self.finish_line(start)?;
        Ok(Token { kind, start, end })
    }

    fn take_version_number(&mut self, start: Mark) -> Result<u32, Fault> {
        self.reader.ensure(1)?;
        let mut value = 0;
        let mut length = 0;
        while self.reader.byte(0).is_ascii_digit() {
            length += 1;
            if length > 2 {
                return self.fault(start, "found extremely long version number");
            }
            value = value * 10 + u32::from(self.reader.byte(0) - b'0');
            self.reader.skip();
            self.reader.ensure(1)?;
        }
        if length == 0 {
            return self.fault(start, "did not find expected version number");
        }
        Ok(value)
    }

    pub(super) fn scan_anchor(&mut self, alias: bool) -> Result<Token<'a>, Fault> {
        let start = self.reader.mark();
        self.reader.skip();
        let name = self.take_word()?;
        let end = self.reader.mark();
        let ends_well = self.reader.is_blank_or_end(0)
            || matches!(
                self.reader.byte(0),
                b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
            );
        if name.is_empty() || !ends_well {
            return self.fault(
                start,
                "did not find expected alphabetic or numeric character",
            );
        }
        let kind = if alias {
            TokenKind::Alias(name)
        } else {
            TokenKind::Anchor(name)
        };
        Ok(Token { kind, start, end })
    }

    pub(super) fn scan_tag(&mut self) -> Result<Token<'a>, Fault> {
        let start = self.reader.mark();
        self.reader.ensure(2)?;
        let (handle, suffix) = if self.reader.byte(1) == b'<' {
            self.reader.skip();
            self.reader.skip();
            let suffix = self.take_tag_uri(None, start)?;
            if self.reader.byte(0) != b'>' {
                return self.fault(start, "did not find the expected '>'");
            }
            self.reader.skip();
            (Cow::Borrowed(""), suffix)
        } else {
            let handle = self.take_tag_handle(false, start)?;
            if handle.len() > 1 && handle.ends_with('!') {
                (Cow::Borrowed(handle), self.take_tag_uri(None, start)?)
            } else {
                let suffix = self.take_tag_uri(Some(handle), start)?;
                if suffix.is_empty() {
                    (Cow::Borrowed(""), Cow::Borrowed("!"))
                } else {
                    (Cow::Borrowed("!"), suffix)
                }
            }
        };
        self.reader.ensure(1)?;
        if !self.reader.is_blank_or_end(0) {
            return self.fault(start, "did not find expected whitespace or line break");
        }
        let end = self.reader.mark();
        Ok(Token {
            kind: TokenKind::Tag(Box::new(TagText {
                handle,
                rest: suffix,
            })),
            start,
            end,
        })
    }

    fn take_tag_handle(&mut self, directive: bool, start: Mark) -> Result<&'a str, Fault> {
        self.reader.ensure(1)?;
        if self.reader.byte(0) != b'!' {
            return self.fault(start, "did not find expected '!'");
        }
        let from = self.reader.pos();
        self.reader.skip();
        self.take_word()?;
        if self.reader.byte(0) == b'!' {
            self.reader.skip();
        } else if directive && self.reader.slice(from, self.reader.pos()) != "!" {
            return self.fault(start, "did not find expected '!'");
        }
        Ok(self.reader.slice(from, self.reader.pos()))
    }

    /// Takes a URI; `head` is a `!word` already taken that turned out to belong to it.
    fn take_tag_uri(&mut self, head: Option<&'a str>, start: Mark) -> Result<Cow<'a, str>, Fault> {
        let head_text = head.and_then(|head| head.get(1..)).unwrap_or_default();
        let mut uri = head_text.as_bytes().to_vec();
        let mut any = head.is_some();
        self.reader.ensure(1)?;
        while is_uri(self.reader.byte(0)) {
            if self.reader.byte(0) == b'%' {
                self.take_uri_escape(start, &mut uri)?;
            } else {
                uri.push(self.reader.byte(0));
                self.reader.skip();
            }
            self.reader.ensure(1)?;
            any = true;
        }
        if !any {
            return self.fault(start, "did not find expected tag URI");
        }
        // Escapes may spell bytes that are no UTF-8 (overlong forms); tags are only compared.
        Ok(Cow::Owned(String::from_utf8_lossy(&uri).into_owned()))
    }

    fn take_uri_escape(&mut self, start: Mark, uri: &mut Vec<u8>) -> Result<(), Fault> {
        let mut left = None;
        loop {
            self.reader.ensure(3)?;
            let digits = (
                char::from(self.reader.byte(1)).to_digit(16),
                char::from(self.reader.byte(2)).to_digit(16),
            );
            let (b'%', (Some(high), Some(low))) = (self.reader.byte(0), digits) else {
                return self.fault(start, "did not find URI escaped octet");
            };
            let octet = u8::try_from(high * 16 + low).unwrap_or(0);
            let rest = match left {
                None => match octet {
                    0x00..=0x7F => 0,
                    0xC0..=0xDF => 1,
                    0xE0..=0xEF => 2,
                    0xF0..=0xF7 => 3,
                    _ => return self.fault(start, "found an incorrect leading UTF-8 octet"),
                },
                Some(_) if octet & 0xC0 != 0x80 => {
                    return self.fault(start, "found an incorrect trailing UTF-8 octet");
                }
                Some(left) => left - 1,
            };
            uri.push(octet);
            self.reader.skip();
            self.reader.skip();
            self.reader.skip();
            if rest == 0 {
                return Ok(());
            }
            left = Some(rest);
        }
    }
}
