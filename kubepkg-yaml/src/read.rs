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

/// A place in the text, both parts counted from zero, the column in characters. No text is so
/// long that they need more bits: `check_input` sees to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) line: u32,
    pub(crate) column: u32,
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

    /// Bytes of text.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
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
        let clean = fault.is_none() && is_clean(text);
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

/// Whether the character that begins with `byte` and goes on with `rest` is allowed in a stream.
fn is_allowed(byte: u8, rest: &[u8]) -> bool {
    match byte {
        0x20..=0x7E | b'\n' | b'\t' | b'\r' => true,
        0x00..=0x7F => false,
        0xC2 => !matches!(rest, [0x80..=0x84 | 0x86..=0x9F, ..]),
        0xEF => !matches!(rest, [0xBF, 0xBE | 0xBF, ..]),
        _ => true,
    }
}

/// Whether `wanted` holds for all bytes of `text` that are not ordinary in any text, each with
/// what follows it. Long stretches of ordinary bytes are passed in steps that the compiler turns
/// into a few instructions.
fn all_suspects(text: &str, wanted: impl Fn(u8, &[u8]) -> bool) -> bool {
    const STEP: usize = 32;
    fn is_suspect(byte: u8) -> bool {
        (byte < b' ' && byte != b'\n') || byte == 0x7F || byte == 0xC2 || byte == 0xEF
    }
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let (step, after) = rest.split_at(STEP.min(rest.len()));
        if step
            .iter()
            .fold(false, |found, &byte| found | is_suspect(byte))
        {
            let good = step.iter().enumerate().all(|(at, &byte)| {
                !is_suspect(byte) || wanted(byte, rest.get(at + 1..).unwrap_or_default())
            });
            if !good {
                return false;
            }
        }
        rest = after;
    }
    true
}

/// Whether `text` has only characters that YAML allows in a stream.
pub(crate) fn is_allowed_text(text: &str) -> bool {
    all_suspects(text, is_allowed)
}

/// Whether nothing in `text` needs block positions: neither a character that is not allowed nor a
/// byte order mark, which wakes a quirk of the scanner.
fn is_clean(text: &str) -> bool {
    all_suspects(text, |byte, rest| {
        is_allowed(byte, rest) && !(byte == 0xEF && rest.starts_with(&[0xBB, 0xBF]))
    })
}

/// Whether a line break that is not ASCII begins at `at`.
fn begins_rare_break(bytes: &[u8], at: usize) -> bool {
    matches!(
        bytes.get(at..),
        Some([0xC2, 0x85, ..] | [0xE2, 0x80, 0xA8 | 0xA9, ..])
    )
}

/// The cursor.
pub(crate) struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pos: usize,
    line: u32,
    /// Where the line would begin if all its characters so far had one byte: the column is the
    /// distance from here.
    line_start: usize,
    /// The first LF or CR after some place before the cursor.
    ascii_break: Option<usize>,
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
            line: 0,
            line_start: 0,
            ascii_break: None,
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
        let here = self.mark();
        Err(Fault::new(Problem::Reader, problem, here, here))
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
            if !is_allowed_text(block) {
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

    /// Column of the cursor.
    #[inline]
    pub(crate) fn column(&self) -> u32 {
        u32::try_from(self.pos - self.line_start).unwrap_or(u32::MAX)
    }

    /// Place of the cursor.
    #[inline]
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            line: self.line,
            column: self.column(),
        }
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

    /// Bytes from the cursor on at each of which [`Reader::ensure`] gives four characters without
    /// decoding more, so that it need not be asked.
    #[inline]
    pub(crate) fn ready(&self) -> &'a [u8] {
        if self.clean {
            return self.bytes.get(self.pos..).unwrap_or_default();
        }
        self.ready_in_block()
    }

    #[cold]
    fn ready_in_block(&self) -> &'a [u8] {
        let mut end = self.decoded.saturating_sub(16);
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

    /// Passes one character that is no line break. Past the end, where the quirk of byte order
    /// marks may lead, only the column grows.
    #[inline]
    pub(crate) fn skip(&mut self) {
        let width = match self.byte(0) {
            0x00..=0x7F => 1,
            0x80..=0xDF => 2,
            0xE0..=0xEF => 3,
            _ => 4,
        };
        let after = (self.pos + width).min(self.bytes.len());
        self.line_start = (self.line_start + after - self.pos).saturating_sub(1);
        self.pos = after;
    }

    /// Passes `bytes` ASCII characters of the current line.
    #[inline]
    pub(crate) fn skip_ascii(&mut self, bytes: usize) {
        self.pos += bytes;
    }

    /// Passes blanks.
    #[inline]
    pub(crate) fn skip_blanks(&mut self) -> Result<(), Fault> {
        loop {
            self.ensure(1)?;
            if !self.is_blank(0) {
                return Ok(());
            }
            self.skip_ascii(1);
        }
    }

    /// Passes spaces, `most` at most.
    #[inline]
    pub(crate) fn skip_spaces(&mut self, most: usize) -> Result<(), Fault> {
        let mut left = most;
        loop {
            let ready = self.ready();
            let ready = ready.get(..left).unwrap_or(ready);
            let run = ready.iter().position(|&byte| byte != b' ');
            let run = run.unwrap_or(ready.len());
            self.skip_ascii(run);
            left -= run;
            self.ensure(1)?;
            if left == 0 || self.byte(0) != b' ' {
                return Ok(());
            }
            self.skip_ascii(1);
            left -= 1;
        }
    }

    /// Passes what is left of the line, up to its break or the end of the text.
    pub(crate) fn skip_line(&mut self) -> Result<(), Fault> {
        loop {
            let ready = self.ready();
            let end = self.ascii_line().min(ready.len());
            let line = ready.get(..end).unwrap_or_default();
            if line.is_ascii() {
                self.skip_ascii(line.len());
            } else {
                let rare = (0..line.len()).find(|&at| begins_rare_break(line, at));
                self.skip_run(line.get(..rare.unwrap_or(end)).unwrap_or_default());
            }
            self.ensure(1)?;
            if self.is_break_or_end() {
                return Ok(());
            }
            self.skip();
            self.ensure(1)?;
        }
    }

    /// Bytes up to the next LF or CR, or to the end of the text. The place is remembered: a text
    /// may have many other breaks before it.
    fn ascii_line(&mut self) -> usize {
        if self.ascii_break.is_none_or(|at| at < self.pos) {
            let rest = self.bytes.get(self.pos..).unwrap_or_default();
            let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            self.ascii_break = Some(self.pos + length);
        }
        self.ascii_break.map_or(0, |at| at - self.pos)
    }

    /// Passes `run`, which is what comes next and has no line break.
    fn skip_run(&mut self, run: &[u8]) {
        // All bytes of a character but its first are 0x80 to 0xBF.
        let more = run.iter().filter(|&&byte| byte & 0xC0 == 0x80).count();
        self.pos += run.len();
        self.line_start += more;
    }

    /// Passes a line break; returns what it contributes to a scalar (nothing at the end).
    #[inline]
    pub(crate) fn take_break(&mut self) -> &'static str {
        let (width, text) = match self.byte(0) {
            b'\r' if self.byte(1) == b'\n' => (2, "\n"),
            b'\n' | b'\r' => (1, "\n"),
            0xC2 if self.byte(1) == 0x85 => (2, "\n"),
            0xE2 if self.byte(1) == 0x80 && self.byte(2) == 0xA8 => (3, "\u{2028}"),
            0xE2 if self.byte(1) == 0x80 && self.byte(2) == 0xA9 => (3, "\u{2029}"),
            _ => return "",
        };
        self.pos += width;
        self.line_start = self.pos;
        self.line += 1;
        text
    }

    /// Counts a line that the text does not have: the end of a stream without a final break.
    pub(crate) fn force_line(&mut self) {
        if self.pos != self.line_start {
            self.line_start = self.pos;
            self.line += 1;
        }
    }
}
