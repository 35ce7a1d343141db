//! The character source of the scanner: a cursor over UTF-8 text that finds bad bytes when the
//! scanner gets near them and not before.
//!
//! libyaml decodes its input in blocks of 512 bytes, whenever the scanner needs to look further
//! than what is decoded. A control character or a broken UTF-8 sequence is therefore reported
//! only if no syntax error comes well before it, and never if the first document ends earlier.
//! This cursor keeps that order. Input that is clean as a whole (nearly all input) takes none of
//! the block-wise steps. The byte rules are those of the YAML 1.1 "printable" production.

use std::borrow::Cow;

use crate::error::{Fault, Problem};

/// A place in the text, all parts counted from zero; `index` and `column` in characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) index: usize,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

const BLOCK: usize = 512;
const CONTROL: &str = "control characters are not allowed";

/// A sequence that is no character, right after the text.
#[derive(Clone, Copy)]
struct BadBytes {
    problem: &'static str,
    /// Bytes that must be in the block for libyaml to see the problem; a sequence that is cut
    /// off is seen only when the end of the input is known.
    needs: usize,
}

const CUT_OFF: usize = usize::MAX;

/// Text after decoding, and the fault that stands at its end, if any.
pub(crate) struct Decoded<'a> {
    text: Cow<'a, str>,
    fault: Option<BadBytes>,
    /// Ends of the blocks in `text`, for input that is not UTF-8.
    blocks: Option<Vec<usize>>,
    /// Bytes of a byte order mark that precede `text` in the first block.
    lead: usize,
    clean: bool,
}

impl<'a> Decoded<'a> {
    /// Decodes UTF-8, or UTF-16 of either byte order when a byte order mark announces it.
    pub(crate) fn new(input: &'a [u8]) -> Self {
        match input {
            [0xFF, 0xFE, rest @ ..] => Decoded::utf16(rest, u16::from_le_bytes),
            [0xFE, 0xFF, rest @ ..] => Decoded::utf16(rest, u16::from_be_bytes),
            [0xEF, 0xBB, 0xBF, rest @ ..] => Decoded::utf8(rest, 3),
            _ => Decoded::utf8(input, 0),
        }
    }

    fn utf8(input: &'a [u8], lead: usize) -> Self {
        let (text, fault) = match std::str::from_utf8(input) {
            Ok(text) => (text, None),
            Err(error) => {
                let (good, bad) = input.split_at(error.valid_up_to());
                (
                    std::str::from_utf8(good).unwrap_or_default(),
                    Some(utf8_fault(bad, input.len() + lead)),
                )
            }
        };
        // A byte order mark in the text wakes a quirk of the scanner that needs block positions.
        let clean =
            fault.is_none() && first_forbidden(text).is_none() && !text.contains('\u{FEFF}');
        Decoded {
            text: Cow::Borrowed(text),
            fault,
            blocks: None,
            lead,
            clean,
        }
    }

    fn utf16(input: &'a [u8], unit: fn([u8; 2]) -> u16) -> Self {
        let mut text = String::with_capacity(input.len());
        let mut blocks = Vec::new();
        let mut fault = None;
        let mut at = 0;
        let mut block_end = BLOCK - 2;
        let read = |at: usize| match input.get(at..at + 2) {
            Some(&[a, b]) => Some(u32::from(unit([a, b]))),
            _ => None,
        };
        while at < input.len() {
            if at + 2 > block_end {
                blocks.push(text.len());
                block_end = at + BLOCK;
            }
            let bad = |problem, bytes| {
                let seen = at + bytes <= block_end && at + bytes <= input.len();
                let needs = if seen { 0 } else { CUT_OFF };
                Some(BadBytes { problem, needs })
            };
            let Some(first) = read(at) else {
                fault = bad("incomplete UTF-16 character", 2);
                break;
            };
            let (code, width) = match first & 0xFC00 {
                0xDC00 => {
                    fault = bad("unexpected low surrogate area", 2);
                    break;
                }
                0xD800 => {
                    let Some(second) = read(at + 2) else {
                        fault = bad("incomplete UTF-16 surrogate pair", 4);
                        break;
                    };
                    if second & 0xFC00 != 0xDC00 {
                        fault = bad("expected low surrogate area", 4);
                        break;
                    }
                    if at + 4 > block_end {
                        blocks.push(text.len());
                        block_end = at + BLOCK;
                    }
                    (0x1_0000 + ((first & 0x3FF) << 10) + (second & 0x3FF), 4)
                }
                _ => (first, 2),
            };
            text.push(char::from_u32(code).unwrap_or('\u{FFFD}'));
            at += width;
        }
        Decoded {
            text: Cow::Owned(text),
            fault,
            blocks: Some(blocks),
            lead: 0,
            clean: false,
        }
    }
}

/// What is wrong with the sequence at the start of `bytes`, in libyaml's words. `total` is the
/// length of the whole input.
fn utf8_fault(bytes: &[u8], total: usize) -> BadBytes {
    // The first three bytes are asked for at once, so the end of shorter input is known.
    let cut_off = if total < 3 { 0 } else { CUT_OFF };
    let lead = bytes.first().copied().unwrap_or(0);
    let (width, least) = match lead {
        0x00..=0x7F => (1, 0),
        0xC0..=0xDF => (2, 0x80),
        0xE0..=0xEF => (3, 0x800),
        0xF0..=0xF7 => (4, 0x1_0000),
        _ => {
            return BadBytes {
                problem: "invalid leading UTF-8 octet",
                needs: 1,
            };
        }
    };
    let Some(tail) = bytes.get(1..width) else {
        return BadBytes {
            problem: "incomplete UTF-8 octet sequence",
            needs: cut_off,
        };
    };
    let mut value = u32::from(lead) & (0x7F >> width);
    for byte in tail {
        if byte & 0xC0 != 0x80 {
            return BadBytes {
                problem: "invalid trailing UTF-8 octet",
                needs: width,
            };
        }
        value = (value << 6) | u32::from(byte & 0x3F);
    }
    let problem = if value < least {
        "invalid length of a UTF-8 sequence"
    } else {
        "invalid Unicode character"
    };
    BadBytes {
        problem,
        needs: width,
    }
}

/// Byte position of the first character that YAML does not allow in a stream.
pub(crate) fn first_forbidden(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            0x20..=0x7E | b'\n' | b'\t' | b'\r' => {}
            0x00..=0x7F => return Some(at),
            0xC2 => {
                if let Some(0x80..=0x84 | 0x86..=0x9F) = bytes.get(at + 1) {
                    return Some(at);
                }
            }
            0xEF => {
                if let Some([0xBF, 0xBE | 0xBF]) = bytes.get(at + 1..at + 3) {
                    return Some(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The cursor.
pub(crate) struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pos: usize,
    pub(crate) mark: Mark,
    /// Everything before this byte is decoded and allowed.
    decoded: usize,
    /// NULs that libyaml would have added at the end so far.
    padding: usize,
    /// What libyaml would have at the start of its buffer.
    buffer_start: usize,
    /// Raw bytes already taken by the byte order mark in the first block.
    lead: usize,
    blocks: Option<(&'a [usize], usize)>,
    fault: Option<BadBytes>,
    clean: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(decoded: &'a Decoded<'_>) -> Self {
        let text: &'a str = &decoded.text;
        Reader {
            text,
            bytes: text.as_bytes(),
            pos: 0,
            mark: Mark::default(),
            decoded: if decoded.clean { text.len() } else { 0 },
            padding: 0,
            buffer_start: 0,
            lead: decoded.lead,
            blocks: decoded.blocks.as_deref().map(|ends| (ends, 0)),
            fault: decoded.fault,
            clean: decoded.clean,
        }
    }

    /// Makes `count` characters from here available, or reports the bad byte among them.
    #[inline]
    pub(crate) fn ensure(&mut self, count: usize) -> Result<(), Fault> {
        if self.clean || self.pos + 4 * count <= self.decoded {
            return Ok(());
        }
        self.decode(count)
    }

    fn fault_here(&self, problem: &'static str) -> Result<(), Fault> {
        Err(Fault::new(Problem::Reader, problem, self.mark, self.mark))
    }

    #[cold]
    fn decode(&mut self, count: usize) -> Result<(), Fault> {
        loop {
            let ready = self.text.get(self.pos..self.decoded).unwrap_or_default();
            if ready.chars().take(count).count() + self.padding >= count {
                return Ok(());
            }
            self.buffer_start = self.pos;
            if self.decoded >= self.text.len() {
                if let Some(bad) = self.fault {
                    return self.fault_here(bad.problem);
                }
                self.padding += 1;
                return Ok(());
            }
            let raw_end = if let Some((ends, next)) = &mut self.blocks {
                let end = ends.get(*next).copied().unwrap_or(self.text.len());
                *next += 1;
                end
            } else {
                self.decoded + BLOCK - self.lead
            };
            let mut end = raw_end.min(self.text.len());
            self.lead = 0;
            while !self.text.is_char_boundary(end) {
                end -= 1;
            }
            let block = self.text.get(self.decoded..end).unwrap_or_default();
            if first_forbidden(block).is_some() {
                return self.fault_here(CONTROL);
            }
            self.decoded = end;
            // The bad bytes may stand in the same block as the last good character.
            if end == self.text.len()
                && let Some(bad) = self.fault
                && end.saturating_add(bad.needs) <= raw_end
            {
                return self.fault_here(bad.problem);
            }
        }
    }

    /// The byte at `offset` from here; 0 past the end.
    #[inline]
    pub(crate) fn byte(&self, offset: usize) -> u8 {
        self.bytes.get(self.pos + offset).copied().unwrap_or(0)
    }

    /// Byte position of the cursor.
    #[inline]
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    /// The text between two byte positions.
    #[inline]
    pub(crate) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// Bytes that may be looked at without asking [`Reader::ensure`], from the cursor on.
    #[inline]
    pub(crate) fn ready(&self) -> &'a [u8] {
        if self.clean {
            return self.bytes.get(self.pos..).unwrap_or_default();
        }
        let mut end = self.decoded.saturating_sub(8);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        self.bytes.get(self.pos..end).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn is_end(&self) -> bool {
        self.byte(0) == 0
    }

    #[inline]
    pub(crate) fn is_blank(&self, offset: usize) -> bool {
        matches!(self.byte(offset), b' ' | b'\t')
    }

    /// Length in bytes of the line break at `offset`, 0 if there is none. CR LF counts as CR.
    #[inline]
    pub(crate) fn break_len(&self, offset: usize) -> usize {
        match self.byte(offset) {
            b'\n' | b'\r' => 1,
            0xC2 if self.byte(offset + 1) == 0x85 => 2,
            0xE2 if self.byte(offset + 1) == 0x80
                && matches!(self.byte(offset + 2), 0xA8 | 0xA9) =>
            {
                3
            }
            _ => 0,
        }
    }

    #[inline]
    pub(crate) fn is_break(&self) -> bool {
        self.break_len(0) != 0
    }

    #[inline]
    pub(crate) fn is_break_or_end(&self) -> bool {
        self.is_end() || self.is_break()
    }

    #[inline]
    pub(crate) fn is_blank_or_end(&self, offset: usize) -> bool {
        matches!(self.byte(offset), 0 | b' ' | b'\t') || self.break_len(offset) != 0
    }

    /// Whether libyaml would see a byte order mark here: it looks at the start of its buffer, not
    /// at the cursor.
    pub(crate) fn sees_byte_order_mark(&self) -> bool {
        !self.clean
            && self.bytes.get(self.buffer_start..self.buffer_start + 3) == Some(&[0xEF, 0xBB, 0xBF])
    }

    /// Passes one character that is no line break.
    #[inline]
    pub(crate) fn skip(&mut self) {
        self.mark.index += 1;
        self.mark.column += 1;
        let width = match self.byte(0) {
            0x00..=0x7F => 1,
            0x80..=0xDF => 2,
            0xE0..=0xEF => 3,
            _ => 4,
        };
        self.pos = (self.pos + width).min(self.bytes.len());
    }

    /// Passes `bytes` bytes of the current line, which must end at a character boundary.
    #[inline]
    pub(crate) fn skip_run(&mut self, bytes: usize) {
        let run = self.slice(self.pos, self.pos + bytes);
        let chars = if run.is_ascii() {
            bytes
        } else {
            run.chars().count()
        };
        self.mark.index += chars;
        self.mark.column += chars;
        self.pos += bytes;
    }

    /// Passes a line break; returns what it contributes to a scalar (nothing at the end).
    #[inline]
    pub(crate) fn take_break(&mut self) -> &'static str {
        let (width, chars, text) = match self.byte(0) {
            b'\r' if self.byte(1) == b'\n' => (2, 2, "\n"),
            b'\r' | b'\n' => (1, 1, "\n"),
            0xC2 if self.byte(1) == 0x85 => (2, 1, "\n"),
            0xE2 if self.byte(1) == 0x80 && self.byte(2) == 0xA8 => (3, 1, "\u{2028}"),
            0xE2 if self.byte(1) == 0x80 && self.byte(2) == 0xA9 => (3, 1, "\u{2029}"),
            _ => return "",
        };
        self.pos += width;
        self.mark.index += chars;
        self.mark.column = 0;
        self.mark.line += 1;
        text
    }

    /// Counts a line that the text does not have: the end of a stream without a final break.
    pub(crate) fn force_line(&mut self) {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
    }
}
