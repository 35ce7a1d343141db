//! Go's pattern grammar (`regexp/syntax`, Perl flags), and the same pattern for the `regex` crate.

use super::class;
use super::error::RegexpError;
use crate::runes;

/// Deepest nesting, as in Go.
const MAX_HEIGHT: usize = 1_000;

/// A pattern in the syntax of the `regex` crate, and the names of its groups.
pub(super) struct Translated {
    pub(super) pattern: String,
    pub(super) names: Vec<String>,
}

#[derive(Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "the flags of the syntax")]
struct Flags {
    fold: bool,
    multi_line: bool,
    dot_nl: bool,
    non_greedy: bool,
}

/// One parsed item.
struct Node {
    text: String,
    height: usize,
    /// The product of repetitions inside, for Go's limit of 1000 copies.
    copies: u32,
    /// Whether the text must be grouped before a repetition operator.
    compound: bool,
}

impl Node {
    fn atom(text: String) -> Self {
        Self {
            text,
            height: 1,
            copies: 1,
            compound: false,
        }
    }
}

/// What stands between two parentheses.
#[derive(Default)]
struct Group {
    alternatives: Vec<Node>,
    items: Vec<Node>,
    captures: bool,
    flags: Flags,
}

impl Group {
    fn end_alternative(&mut self) {
        let items = std::mem::take(&mut self.items);
        let height = items.iter().map(|n| n.height).max().unwrap_or(0);
        let copies = items.iter().map(|n| n.copies).max().unwrap_or(1);
        let single = items.len() == 1;
        let compound = if single {
            items.iter().any(|n| n.compound)
        } else {
            true
        };
        let text = items.into_iter().map(|n| n.text).collect();
        let height = if single { height } else { height + 1 };
        self.alternatives.push(Node {
            text,
            height,
            copies,
            compound,
        });
    }

    fn finish(mut self) -> Node {
        self.end_alternative();
        let height = self
            .alternatives
            .iter()
            .map(|n| n.height)
            .max()
            .unwrap_or(0);
        let copies = self
            .alternatives
            .iter()
            .map(|n| n.copies)
            .max()
            .unwrap_or(1);
        let several = self.alternatives.len() > 1;
        let text: Vec<String> = self.alternatives.into_iter().map(|n| n.text).collect();
        let open = if self.captures { "(" } else { "(?:" };
        Node {
            text: format!("{open}{})", text.join("|")),
            height: height + usize::from(several) + usize::from(self.captures),
            copies,
            compound: false,
        }
    }
}

struct Parser<'p> {
    whole: &'p [u8],
    rest: &'p [u8],
    flags: Flags,
    stack: Vec<Group>,
    group: Group,
    names: Vec<String>,
}

type Parsed<T> = Result<T, RegexpError>;

/// Reads `pattern` and writes it again.
pub(super) fn translate(pattern: &[u8]) -> Parsed<Translated> {
    let mut parser = Parser {
        whole: pattern,
        rest: pattern,
        flags: Flags::default(),
        stack: Vec::new(),
        group: Group::default(),
        names: vec![String::new()],
    };
    parser.run()?;
    if !parser.stack.is_empty() {
        return Err(RegexpError::new("missing closing )", pattern));
    }
    let node = parser.group.finish();
    if node.height > MAX_HEIGHT {
        return Err(RegexpError::new("expression nests too deeply", pattern));
    }
    Ok(Translated {
        pattern: node.text,
        names: parser.names,
    })
}

fn escape(c: char) -> String {
    if c.is_ascii_alphanumeric() {
        c.to_string()
    } else {
        format!("\\x{{{:X}}}", u32::from(c))
    }
}

fn next_char(text: &[u8]) -> Parsed<(char, &[u8])> {
    match runes::decode(text) {
        (Some(c), width) => Ok((c, text.get(width..).unwrap_or(b""))),
        (None, _) => Err(RegexpError::new("invalid UTF-8", text)),
    }
}

fn check_utf8(text: &[u8]) -> Parsed<()> {
    match std::str::from_utf8(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(RegexpError::new(
            "invalid UTF-8",
            text.get(error.valid_up_to()..).unwrap_or(text),
        )),
    }
}

/// `text` up to where `rest` begins.
fn until<'p>(text: &'p [u8], rest: &[u8]) -> &'p [u8] {
    text.get(..text.len() - rest.len().min(text.len()))
        .unwrap_or(text)
}

/// A decimal without leading zeros; far too large ones are -1.
fn integer(text: &[u8]) -> Option<(i64, &[u8])> {
    let count = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(count);
    if digits.is_empty() || digits.len() >= 2 && digits.first() == Some(&b'0') {
        return None;
    }
    if digits.len() > 8 {
        return Some((-1, rest));
    }
    Some((
        digits.iter().fold(0, |n, d| n * 10 + i64::from(d - b'0')),
        rest,
    ))
}

/// `{min}`, `{min,}` (max -1) or `{min,max}`; a number far too large makes min -1.
fn counts(text: &[u8]) -> Option<(i64, i64, &[u8])> {
    let (mut min, rest) = integer(text.strip_prefix(b"{")?)?;
    let (max, rest) = match rest.strip_prefix(b",") {
        None => (min, rest),
        Some(rest) if rest.first() == Some(&b'}') => (-1, rest),
        Some(rest) => {
            let (max, rest) = integer(rest)?;
            if max < 0 {
                min = -1;
            }
            (max, rest)
        }
    };
    Some((min, max, rest.strip_prefix(b"}")?))
}

impl<'p> Parser<'p> {
    fn push(&mut self, text: String) {
        self.group.items.push(Node::atom(text));
    }

    fn folded(&self, text: String) -> String {
        if self.flags.fold {
            format!("(?i:{text})")
        } else {
            text
        }
    }

    fn literal(&mut self, c: char) {
        let text = self.folded(escape(c));
        self.push(text);
    }

    fn run(&mut self) -> Parsed<()> {
        // The text from the last repetition operator on, when the item before is a repetition.
        let mut last_repeat: Option<&'p [u8]> = None;
        while let Some(first) = self.rest.first() {
            let before = self.rest;
            let after = before.get(1..).unwrap_or(b"");
            let mut repeat = None;
            match first {
                b'(' if after.first() == Some(&b'?') => self.perl_group()?,
                b'(' => {
                    self.names.push(String::new());
                    self.open(true);
                    self.rest = after;
                }
                b'|' => {
                    self.group.end_alternative();
                    self.rest = after;
                }
                b')' => {
                    self.close()?;
                    self.rest = after;
                }
                b'^' | b'$' | b'.' => {
                    let text = match (first, self.flags.multi_line, self.flags.dot_nl) {
                        (b'^', true, _) => "(?m:^)",
                        (b'^', ..) => "\\A",
                        (b'$', true, _) => "(?m:$)",
                        (b'$', ..) => "\\z",
                        (_, _, true) => "(?s:.)",
                        _ => "(?-s:.)",
                    };
                    self.push(text.to_owned());
                    self.rest = after;
                }
                b'[' => self.class()?,
                b'*' | b'+' | b'?' => {
                    let (min, max) = match first {
                        b'*' => (0, -1),
                        b'+' => (1, -1),
                        _ => (0, 1),
                    };
                    self.repeat(min, max, false, before, after, last_repeat)?;
                    repeat = Some(before);
                }
                b'{' => match counts(before) {
                    None => {
                        self.literal('{');
                        self.rest = after;
                    }
                    Some((min, max, after)) => {
                        if !(0..=1000).contains(&min) || max > 1000 || max >= 0 && min > max {
                            let text = until(before, after);
                            return Err(RegexpError::new("invalid repeat count", text));
                        }
                        self.repeat(min, max, true, before, after, last_repeat)?;
                        repeat = Some(before);
                    }
                },
                b'\\' => self.backslash(before)?,
                _ => {
                    let (c, rest) = next_char(before)?;
                    self.literal(c);
                    self.rest = rest;
                }
            }
            last_repeat = repeat;
        }
        Ok(())
    }

    fn open(&mut self, captures: bool) {
        let group = Group {
            captures,
            flags: self.flags,
            ..Group::default()
        };
        self.stack.push(std::mem::replace(&mut self.group, group));
    }

    fn close(&mut self) -> Parsed<()> {
        let Some(outer) = self.stack.pop() else {
            return Err(RegexpError::new("unexpected )", self.whole));
        };
        let group = std::mem::replace(&mut self.group, outer);
        self.flags = group.flags;
        let node = group.finish();
        if node.height > MAX_HEIGHT {
            return Err(RegexpError::new("expression nests too deeply", self.whole));
        }
        self.group.items.push(node);
        Ok(())
    }

    fn repeat(
        &mut self,
        min: i64,
        max: i64,
        counted: bool,
        before: &'p [u8],
        after: &'p [u8],
        last_repeat: Option<&'p [u8]>,
    ) -> Parsed<()> {
        let lazy_mark = after.strip_prefix(b"?");
        let lazy = lazy_mark.is_some() != self.flags.non_greedy;
        let after = lazy_mark.unwrap_or(after);
        if let Some(last) = last_repeat {
            return Err(RegexpError::new(
                "invalid nested repetition operator",
                until(last, after),
            ));
        }
        let Some(item) = self.group.items.pop() else {
            let text = until(before, after);
            return Err(RegexpError::new(
                "missing argument to repetition operator",
                text,
            ));
        };
        let mut copies = item.copies;
        if counted {
            let times = if max < 0 { min } else { max };
            copies = if max == 0 {
                1
            } else {
                copies.saturating_mul(u32::try_from(times.max(1)).unwrap_or(u32::MAX))
            };
            if (min >= 2 || max >= 2) && copies > 1000 {
                return Err(RegexpError::new(
                    "invalid repeat count",
                    until(before, after),
                ));
            }
        }
        let height = item.height + 1;
        if height > MAX_HEIGHT {
            return Err(RegexpError::new("expression nests too deeply", self.whole));
        }
        let operator = match (counted, min, max) {
            (false, 0, -1) => "*".to_owned(),
            (false, 1, _) => "+".to_owned(),
            (false, ..) => "?".to_owned(),
            (true, min, -1) => format!("{{{min},}}"),
            (true, min, max) => format!("{{{min},{max}}}"),
        };
        let mark = if lazy { "?" } else { "" };
        let text = if item.compound {
            format!("(?:{}){operator}{mark}", item.text)
        } else {
            format!("{}{operator}{mark}", item.text)
        };
        self.group.items.push(Node {
            text,
            height,
            copies,
            compound: true,
        });
        self.rest = after;
        Ok(())
    }

    fn perl_group(&mut self) -> Parsed<()> {
        let whole = self.rest;
        let name_at = if whole.starts_with(b"(?P<") && whole.len() > 4 {
            Some(4)
        } else if whole.starts_with(b"(?<") && whole.len() > 3 {
            Some(3)
        } else {
            None
        };
        if let Some(name_at) = name_at {
            let Some(end) = whole.iter().position(|b| *b == b'>') else {
                check_utf8(whole)?;
                return Err(RegexpError::new("invalid named capture", whole));
            };
            let name = whole.get(name_at..end).unwrap_or(b"");
            check_utf8(name)?;
            if name.is_empty() || !name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_') {
                let capture = whole.get(..=end).unwrap_or(whole);
                return Err(RegexpError::new("invalid named capture", capture));
            }
            self.names.push(String::from_utf8_lossy(name).into_owned());
            self.open(true);
            self.rest = whole.get(end + 1..).unwrap_or(b"");
            return Ok(());
        }
        let mut rest = whole.get(2..).unwrap_or(b"");
        let mut flags = self.flags;
        let (mut on, mut saw_flag) = (true, false);
        while !rest.is_empty() {
            let (c, after) = next_char(rest)?;
            rest = after;
            match c {
                'i' => flags.fold = on,
                'm' => flags.multi_line = on,
                's' => flags.dot_nl = on,
                'U' => flags.non_greedy = on,
                '-' if on => {
                    on = false;
                    saw_flag = false;
                    continue;
                }
                ':' | ')' if on || saw_flag => {
                    if c == ':' {
                        self.open(false);
                    }
                    self.flags = flags;
                    self.rest = rest;
                    return Ok(());
                }
                _ => break,
            }
            saw_flag = true;
        }
        Err(RegexpError::new(
            "invalid or unsupported Perl syntax",
            until(whole, rest),
        ))
    }

    fn backslash(&mut self, before: &'p [u8]) -> Parsed<()> {
        let after = before.get(2..).unwrap_or(b"");
        match before.get(1) {
            Some(b'A') => self.push("\\A".to_owned()),
            Some(b'b') => self.push("(?-u:\\b)".to_owned()),
            Some(b'B') => self.push("(?-u:\\B)".to_owned()),
            Some(b'z') => self.push("\\z".to_owned()),
            Some(b'C') => {
                let text = before.get(..2).unwrap_or(before);
                return Err(RegexpError::new("invalid escape sequence", text));
            }
            Some(b'Q') => {
                let end = after.windows(2).position(|w| w == b"\\E");
                let (mut text, rest) = match end {
                    Some(end) => after.split_at(end),
                    None => (after, &b""[..]),
                };
                while !text.is_empty() {
                    let (c, tail) = next_char(text)?;
                    self.literal(c);
                    text = tail;
                }
                self.rest = rest.strip_prefix(b"\\E").unwrap_or(rest);
                return Ok(());
            }
            Some(b'p' | b'P') => {
                let (item, rest) = unicode_class(before)?;
                let text = self.folded(format!("[{item}]"));
                self.push(text);
                self.rest = rest;
                return Ok(());
            }
            Some(letter) if let Some((ranges, negated)) = class::perl(*letter) => {
                let sign = if negated { "^" } else { "" };
                let text = self.folded(format!("[{sign}{ranges}]"));
                self.push(text);
            }
            _ => {
                let (c, rest) = escaped(before)?;
                self.literal(c);
                self.rest = rest;
                return Ok(());
            }
        }
        self.rest = after;
        Ok(())
    }

    fn class(&mut self) -> Parsed<()> {
        let whole = self.rest;
        let mut rest = whole.get(1..).unwrap_or(b"");
        let mut text = String::from("[");
        if let Some(after) = rest.strip_prefix(b"^") {
            text.push('^');
            rest = after;
        }
        let mut first = true;
        while first || rest.first() != Some(&b']') {
            first = false;
            if let Some(after) = rest.strip_prefix(b"[:")
                && let Some(end) = after.windows(2).position(|w| w == b":]")
                && !after.is_empty()
            {
                let name = after.get(..end).unwrap_or(b"");
                let (negated, bare) = match name.strip_prefix(b"^") {
                    Some(bare) => (true, bare),
                    None => (false, name),
                };
                let Some(ranges) = class::posix(bare) else {
                    let shown = rest.get(..end + 4).unwrap_or(rest);
                    return Err(RegexpError::new("invalid character class range", shown));
                };
                text.push_str(if negated { "[^" } else { "[" });
                text.push_str(ranges);
                text.push(']');
                rest = after.get(end + 2..).unwrap_or(b"");
                continue;
            }
            if rest.starts_with(b"\\p") || rest.starts_with(b"\\P") {
                let (item, after) = unicode_class(rest)?;
                text.push_str(&item);
                rest = after;
                continue;
            }
            if let Some(b'\\') = rest.first()
                && let Some((ranges, negated)) = rest.get(1).and_then(|b| class::perl(*b))
            {
                text.push_str(if negated { "[^" } else { "[" });
                text.push_str(ranges);
                text.push(']');
                rest = rest.get(2..).unwrap_or(b"");
                continue;
            }
            let start = rest;
            let (low, after) = class_char(rest, whole)?;
            rest = after;
            let mut high = low;
            if rest.len() >= 2 && rest.first() == Some(&b'-') && rest.get(1) != Some(&b']') {
                (high, rest) = class_char(rest.get(1..).unwrap_or(b""), whole)?;
                if high < low {
                    let shown = until(start, rest);
                    return Err(RegexpError::new("invalid character class range", shown));
                }
            }
            text.push_str(&escape(low));
            if high != low {
                text.push('-');
                text.push_str(&escape(high));
            }
        }
        text.push(']');
        let text = self.folded(text);
        self.push(text);
        self.rest = rest.get(1..).unwrap_or(b"");
        Ok(())
    }
}

fn class_char<'p>(text: &'p [u8], whole: &[u8]) -> Parsed<(char, &'p [u8])> {
    match text.first() {
        None => Err(RegexpError::new("missing closing ]", whole)),
        Some(b'\\') => escaped(text),
        Some(_) => next_char(text),
    }
}

/// `\pL` or `\p{Name}` as an item inside brackets.
fn unicode_class(text: &[u8]) -> Parsed<(String, &[u8])> {
    let mut negated = text.get(1) == Some(&b'P');
    let (c, mut rest) = next_char(text.get(2..).unwrap_or(b""))?;
    let (shown, name);
    if c == '{' {
        let Some(end) = text.iter().position(|b| *b == b'}') else {
            check_utf8(text)?;
            return Err(RegexpError::new("invalid character class range", text));
        };
        (shown, rest) = text.split_at(end + 1);
        name = text.get(3..end).unwrap_or(b"");
        check_utf8(name)?;
    } else {
        shown = until(text, rest);
        name = shown.get(2..).unwrap_or(b"");
    }
    let name = match name.strip_prefix(b"^") {
        Some(name) => {
            negated = !negated;
            name
        }
        None => name,
    };
    let name = String::from_utf8_lossy(name);
    class::unicode(&name, negated)
        .map(|item| (item, rest))
        .ok_or_else(|| RegexpError::new("invalid character class range", shown))
}

/// One escaped character; `text` begins with the backslash.
fn escaped(text: &[u8]) -> Parsed<(char, &[u8])> {
    let after = text.get(1..).unwrap_or(b"");
    if after.is_empty() {
        return Err(RegexpError::new(
            "trailing backslash at end of expression",
            b"",
        ));
    }
    let (c, mut rest) = next_char(after)?;
    let bad = |rest: &[u8]| {
        Err(RegexpError::new(
            "invalid escape sequence",
            until(text, rest),
        ))
    };
    let octal = |rest: &[u8]| rest.first().filter(|b| (b'0'..=b'7').contains(*b)).copied();
    match c {
        '1'..='7' if octal(rest).is_none() => bad(rest),
        '0'..='7' => {
            let mut value = c.to_digit(8).unwrap_or(0);
            for _ in 0..2 {
                let Some(digit) = octal(rest) else {
                    break;
                };
                value = value * 8 + u32::from(digit - b'0');
                rest = rest.get(1..).unwrap_or(b"");
            }
            Ok((char::from_u32(value).unwrap_or('\0'), rest))
        }
        'x' => {
            if rest.is_empty() {
                return bad(rest);
            }
            let (first, mut rest) = next_char(rest)?;
            if first == '{' {
                let (mut value, mut digits) = (0_u32, 0);
                loop {
                    if rest.is_empty() {
                        return bad(rest);
                    }
                    let (digit, after) = next_char(rest)?;
                    rest = after;
                    if digit == '}' {
                        break;
                    }
                    let Some(digit) = digit.to_digit(16) else {
                        return bad(rest);
                    };
                    value = value * 16 + digit;
                    if value > 0x10_ffff {
                        return bad(rest);
                    }
                    digits += 1;
                }
                if digits == 0 {
                    return bad(rest);
                }
                // A surrogate can match nothing; U+FFFD is what a decoder makes of it.
                return Ok((char::from_u32(value).unwrap_or('\u{fffd}'), rest));
            }
            let (second, rest) = next_char(rest)?;
            match (first.to_digit(16), second.to_digit(16)) {
                (Some(high), Some(low)) => {
                    Ok((char::from_u32(high * 16 + low).unwrap_or('\0'), rest))
                }
                _ => bad(rest),
            }
        }
        'a' => Ok(('\u{7}', rest)),
        'f' => Ok(('\u{c}', rest)),
        'n' => Ok(('\n', rest)),
        'r' => Ok(('\r', rest)),
        't' => Ok(('\t', rest)),
        'v' => Ok(('\u{b}', rest)),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok((c, rest)),
        _ => bad(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(pattern: &str) -> String {
        match translate(pattern.as_bytes()) {
            Ok(translated) => format!("accepted as {}", translated.pattern),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn refuses_with_the_words_of_go() {
        // From the tests of Go's regexp/syntax.
        for (pattern, want) in [
            ("(", "missing closing ): `(`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a*+?", "invalid nested repetition operator: `*+?`"),
            ("(?i)(?s", "invalid or unsupported Perl syntax: `(?s`"),
            ("(|*)", "missing argument to repetition operator: `*`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?P<n", "invalid named capture: `(?P<n`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("(?:a{100}){100}", "invalid repeat count: `{100}`"),
            ("[a-\\Z]", "invalid escape sequence: `\\Z`"),
            ("\\p{Nope}", "invalid character class range: `\\p{Nope}`"),
            ("x[", "missing closing ]: `[`"),
            ("\\x{110000}", "invalid escape sequence: `\\x{110000`"),
        ] {
            assert_eq!(error(pattern), format!("error parsing regexp: {want}"));
        }
    }
}
