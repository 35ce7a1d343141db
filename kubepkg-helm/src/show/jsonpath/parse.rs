//! A template into its nodes.

use std::sync::LazyLock;

use regex::Regex;

use super::{EndOf, Node};

/// Templates in templates: unions and filters read their parts as templates of their own.
const MAX_DEPTH: usize = 16;

pub(super) fn parse(text: &str) -> Result<Vec<Node>, String> {
    parse_at(text, 0)
}

fn parse_at(text: &str, depth: usize) -> Result<Vec<Node>, String> {
    if depth > MAX_DEPTH {
        return Err("expression nests too deep".into());
    }
    let mut nodes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        if !before.is_empty() {
            nodes.push(Node::Text(before.to_owned()));
        }
        let mut action = Action {
            rest: after,
            depth,
            nodes: Vec::new(),
        };
        action.read()?;
        rest = action.rest;
        nodes.push(Node::List(action.nodes));
    }
    if !rest.is_empty() {
        nodes.push(Node::Text(rest.to_owned()));
    }
    Ok(nodes)
}

/// The nodes of a text that stands for the inside of braces.
fn inside(text: &str, depth: usize) -> Result<Vec<Node>, String> {
    match parse_at(&format!("{{{text}}}"), depth + 1)?
        .into_iter()
        .next()
    {
        Some(Node::List(nodes)) => Ok(nodes),
        _ => Ok(Vec::new()),
    }
}

struct Action<'a> {
    rest: &'a str,
    depth: usize,
    nodes: Vec<Node>,
}

impl<'a> Action<'a> {
    /// Reads up to the closing brace and over it.
    fn read(&mut self) -> Result<(), String> {
        loop {
            if let Some(rest) = self.rest.strip_prefix('}') {
                self.rest = rest;
                return Ok(());
            }
            if let Some(rest) = self.rest.strip_prefix("[?(") {
                self.rest = rest;
                self.filter()?;
                continue;
            }
            if let Some(rest) = self.rest.strip_prefix("..") {
                if self.nodes.last() == Some(&Node::Recursive) {
                    return Err("invalid multiple recursive descent".into());
                }
                self.rest = rest;
                self.nodes.push(Node::Recursive);
                if rest.starts_with(is_word) {
                    self.field();
                }
                continue;
            }
            let mut signs = self.rest.chars();
            let Some(sign) = signs.next().filter(|sign| !matches!(sign, '\r' | '\n')) else {
                return Err("unclosed action".into());
            };
            match sign {
                ' ' | '@' | '$' => self.rest = signs.as_str(),
                '[' => self.array()?,
                '"' | '\'' => self.quoted(sign)?,
                '.' => {
                    self.rest = signs.as_str();
                    self.field();
                }
                '+' | '-' | '0'..='9' => self.number()?,
                sign if is_word(sign) => self.identifier(),
                other => {
                    let code = u32::from(other);
                    return Err(format!(
                        "unrecognized character in action: U+{code:04X} '{other}'"
                    ));
                }
            }
        }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    fn field(&mut self) {
        let (mut length, mut escaped) = (0, false);
        for sign in self.rest.chars() {
            if !escaped && is_terminator(sign) {
                break;
            }
            escaped = !escaped && sign == '\\';
            length += sign.len_utf8();
        }
        let name = self.take(length);
        self.nodes.push(if name == "*" {
            Node::Wildcard
        } else {
            Node::Field(name.replace('\\', ""))
        });
    }

    fn identifier(&mut self) {
        let length = self.rest.find(is_terminator).unwrap_or(self.rest.len());
        let node = match self.take(length) {
            "true" => Node::Bool(true),
            "false" => Node::Bool(false),
            name => Node::Identifier(name.to_owned()),
        };
        self.nodes.push(node);
    }

    fn number(&mut self) -> Result<(), String> {
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let digits = self.rest.get(sign..).unwrap_or_default();
        let length = digits.find(|c: char| c != '.' && !c.is_ascii_digit());
        let text = self.take(sign + length.unwrap_or(digits.len()));
        self.nodes.push(match (text.parse(), text.parse()) {
            (Ok(whole), _) => Node::Int(whole),
            (_, Ok(float)) => Node::Float(float),
            _ => return Err(format!("cannot parse number {text}")),
        });
        Ok(())
    }

    fn quoted(&mut self, end: char) -> Result<(), String> {
        let (mut length, mut before) = (end.len_utf8(), end);
        let body = self.rest.get(length..).unwrap_or_default();
        let mut closed = false;
        for sign in body.chars() {
            if sign == '\n' {
                break;
            }
            length += sign.len_utf8();
            if sign == end && before != '\\' {
                closed = true;
                break;
            }
            before = sign;
        }
        if !closed {
            return Err("unterminated quoted string".into());
        }
        let text = self.take(length);
        let inner = text.get(1..text.len() - 1).unwrap_or_default();
        // Go's rules of escapes are those of its double quotes, but for the quote itself.
        let plain = if end == '\'' {
            inner.replace("\\'", "'").replace('"', "\\\"")
        } else {
            inner.to_owned()
        };
        let unquoted = kubepkg_gotemplate::unquote(format!("\"{plain}\"").as_bytes());
        let unquoted =
            unquoted.map_err(|_| format!("unquote string {text} error invalid syntax"))?;
        self.nodes.push(Node::Text(
            String::from_utf8_lossy(unquoted.as_ref()).into_owned(),
        ));
        Ok(())
    }

    fn array(&mut self) -> Result<(), String> {
        static KEY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("^'([^']*)'$").ok());
        static SLICE: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r"^(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?$").ok());
        let end = self.rest.find([']', '\n']);
        let Some(end) = end.filter(|end| self.rest.as_bytes().get(*end) == Some(&b']')) else {
            return Err("unterminated array".into());
        };
        let text = self.take(end + 1);
        let text = text.get(1..end).unwrap_or_default();
        let text = if text == "*" { ":" } else { text };
        if text.contains(',') {
            let parts = text.split(',');
            let parts =
                parts.map(|part| inside(&format!("[{}]", part.trim_matches(' ')), self.depth));
            self.nodes
                .push(Node::Union(parts.collect::<Result<_, _>>()?));
            return Ok(());
        }
        if let Some(key) = KEY.as_ref().and_then(|key| key.captures(text)) {
            let name = key.get(1).map_or("", |name| name.as_str());
            self.nodes.extend(inside(&format!(".{name}"), self.depth)?);
            return Ok(());
        }
        let Some(parts) = SLICE.as_ref().and_then(|slice| slice.captures(text)) else {
            return Err(format!("invalid array index {text}"));
        };
        let mut numbers = [None; 3];
        let mut end_of = EndOf::Slice;
        for (at, number) in numbers.iter_mut().enumerate() {
            let part = parts.get(at + 1).map_or("", |part| part.as_str());
            let digits = part.strip_prefix(':').unwrap_or(part);
            if !digits.is_empty() {
                let parsed = digits.parse();
                *number =
                    Some(parsed.map_err(|_| format!("array index {digits} is not a number"))?);
            } else if at == 1 && part.is_empty() {
                end_of = EndOf::Index;
            }
        }
        if end_of == EndOf::Index {
            let [start, end, _] = &mut numbers;
            *end = Some(start.unwrap_or(0_i64).saturating_add(1));
        }
        self.nodes.push(Node::Array(numbers, end_of));
        Ok(())
    }

    fn filter(&mut self) -> Result<(), String> {
        static PARTS: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new("^([^!<>=]+)([!<>=]+)(.+?)$").ok());
        let (mut begun, mut ended, mut pair, mut before) = (false, false, '"', '(');
        let mut close = None;
        for (at, sign) in self.rest.char_indices() {
            match sign {
                '\n' => break,
                '"' | '\'' if !begun => (begun, pair) = (true, sign),
                '"' | '\'' if before != '\\' && sign == pair => ended = true,
                ')' if begun == ended => {
                    close = Some(at);
                    break;
                }
                _ => {}
            }
            before = sign;
        }
        let close = close.ok_or("unterminated filter")?;
        let text = self.take(close + 1);
        let text = text.get(..close).unwrap_or_default();
        self.rest = self
            .rest
            .strip_prefix(']')
            .ok_or("unclosed array expect ]")?;
        let parts = PARTS.as_ref().and_then(|parts| parts.captures(text));
        let part = |at: usize| {
            let part = parts.as_ref().and_then(|parts| parts.get(at));
            part.map_or("", |part| part.as_str())
        };
        self.nodes.push(if parts.is_none() {
            Node::Filter(inside(text, self.depth)?, Vec::new(), "exists".into())
        } else {
            Node::Filter(
                inside(part(1), self.depth)?,
                inside(part(3), self.depth)?,
                part(2).to_owned(),
            )
        });
        Ok(())
    }
}

fn is_word(sign: char) -> bool {
    sign == '_' || sign.is_alphanumeric()
}

fn is_terminator(sign: char) -> bool {
    matches!(
        sign,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}
