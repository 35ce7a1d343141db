//! Where the charts of a machine-written `index.yaml` begin and end, found without parsing it.
//!
//! Index files are written by Helm and its relatives: a block mapping, charts two columns in, one line a key. For such
//! a text one pass over the lines gives the place of each chart, and a chart is parsed when it is asked for. Lines are
//! followed through quoted texts, block texts and folded plain texts, so that a line that looks like a chart inside
//! one is not taken for one. Anything else (tabs, anchors, tags, flow collections over several lines, keys that may
//! not be texts, a chart that stands twice) is refused, and the caller parses the whole.

use std::collections::BTreeSet;
use std::ops::Range;

/// The parts of an index.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Skeleton {
    /// Each chart with the place of its key and everything below it.
    pub(super) charts: Vec<(String, Range<usize>)>,
    /// The text without its charts; `entries` is an empty map in it.
    pub(super) frame: Vec<u8>,
}

/// Where a line stands.
#[derive(Clone, Copy)]
enum Inside {
    /// At the beginning of something.
    Nothing,
    /// In a text that this quote ends.
    Quote(u8),
    /// In a block text, whose lines are further in than this column.
    Block(usize),
    /// Behind a plain text, which lines further in than this column go on with.
    Plain(usize),
}

/// Finds the charts, or `None` for a text that needs a parser.
pub(super) fn skeleton(text: &[u8]) -> Option<Skeleton> {
    let mut found = Skeleton {
        charts: Vec::new(),
        frame: Vec::new(),
    };
    let mut names = BTreeSet::new();
    let mut inside = Inside::Nothing;
    let mut in_entries = false;
    let mut seen_entries = false;
    let mut start = 0;
    while start < text.len() {
        let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |at| start + at);
        let line = &text[start..end];
        let next = (end + 1).min(text.len());
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let content = &line[indent..];
        if at_top(inside, indent, content) {
            if content.starts_with(b"entries:") {
                if seen_entries || !content[b"entries:".len()..].iter().all(|b| *b == b' ') {
                    return None;
                }
                (seen_entries, in_entries) = (true, true);
                found.frame.extend_from_slice(b"entries: {}\n");
                inside = Inside::Nothing;
                start = next;
                continue;
            }
            let marker = start == 0 && content == b"---";
            let item = !in_entries && content.starts_with(b"- ");
            if !marker && !item && !content[0].is_ascii_alphabetic() && content[0] != b'#' {
                return None;
            }
            in_entries &= content[0] == b'#';
            if marker {
                start = next;
                continue;
            }
        }
        if in_entries {
            if let Some(name) = chart_key(inside, indent, content)? {
                if !names.insert(name.clone()) {
                    return None;
                }
                found.charts.push((name, start..next));
                inside = Inside::Nothing;
                start = next;
                continue;
            }
            match found.charts.last_mut() {
                Some((_, range)) => range.end = next,
                None if content.is_empty() || content[0] == b'#' => {}
                None => return None,
            }
        } else {
            found.frame.extend_from_slice(&text[start..next]);
        }
        inside = after(inside, indent, content)?;
        start = next;
    }
    match inside {
        Inside::Quote(_) => None,
        _ if seen_entries => Some(found),
        _ => None,
    }
}

/// Whether a line begins something in the first column.
fn at_top(inside: Inside, indent: usize, content: &[u8]) -> bool {
    indent == 0 && !content.is_empty() && !matches!(inside, Inside::Quote(_))
}

/// The chart whose key a line is. The outer `None` refuses the text.
#[allow(
    clippy::option_option,
    reason = "the outer one ends the whole, the inner one says no"
)]
fn chart_key(inside: Inside, indent: usize, content: &[u8]) -> Option<Option<String>> {
    let text = matches!(inside, Inside::Quote(_));
    if text || content.is_empty() || content[0] == b'#' {
        return Some(None);
    }
    match indent {
        0 | 1 => None,
        2 if content[0] == b'-' => Some(None),
        2 => {
            let name = content.trim_ascii_end().strip_suffix(b":")?;
            is_plain_name(name).then(|| Some(String::from_utf8_lossy(name).into_owned()))
        }
        _ => Some(None),
    }
}

/// Whether a key is a text to every reader of YAML, and needs no quotes.
fn is_plain_name(name: &[u8]) -> bool {
    let letter_first = name.first().is_some_and(u8::is_ascii_alphabetic);
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    // Letters that no number has, for names that begin with a digit.
    let wordy = || {
        name.iter()
            .any(|byte| matches!(byte, b'g'..=b'n' | b'p'..=b'w' | b'y' | b'z'))
    };
    let word = name.to_ascii_lowercase();
    name.iter().all(plain)
        && (letter_first || (name.first().is_some_and(u8::is_ascii_digit) && wordy()))
        && !matches!(
            word.as_slice(),
            b"y" | b"n" | b"yes" | b"no" | b"on" | b"off" | b"true" | b"false" | b"null"
        )
}

/// Where the next line stands.
fn after(inside: Inside, indent: usize, content: &[u8]) -> Option<Inside> {
    match inside {
        Inside::Quote(quote) => {
            return match closing(content, quote) {
                None => Some(inside),
                Some(at) => behind(&content[at + 1..]),
            };
        }
        _ if content.is_empty() => return Some(inside),
        Inside::Block(column) | Inside::Plain(column) if indent > column => return Some(inside),
        _ => {}
    }
    if content.contains(&b'\t') || content.contains(&b'\r') {
        return None;
    }
    let (mut column, mut rest) = (indent, content);
    while let Some(item) = rest.strip_prefix(b"-") {
        if item.is_empty() {
            return Some(Inside::Nothing);
        }
        let spaces = item.iter().take_while(|byte| **byte == b' ').count();
        if spaces == 0 {
            break;
        }
        let dash = column;
        (column, rest) = (column + 1 + spaces, &item[spaces..]);
        if !rest.starts_with(b"-") && !has_key(rest) {
            return value(rest, dash);
        }
    }
    if rest.starts_with(b"#") {
        return Some(Inside::Nothing);
    }
    match split_key(rest) {
        Some(after_key) => value(after_key.trim_ascii_start(), column),
        // A line of its own that is no key: only a text on the line after its key is one.
        None => value(rest, column.saturating_sub(1)),
    }
}

fn has_key(rest: &[u8]) -> bool {
    !matches!(rest.first(), None | Some(b'"' | b'\'' | b'[' | b'{')) && split_key(rest).is_some()
}

/// What stands behind a plain key.
fn split_key(rest: &[u8]) -> Option<&[u8]> {
    if matches!(rest.first(), Some(b'"' | b'\'' | b'[' | b'{')) {
        return None;
    }
    memchr::memchr_iter(b':', rest)
        .find(|at| matches!(rest.get(at + 1), None | Some(b' ')))
        .map(|at| &rest[at + 1..])
}

/// Where the line after a value stands.
fn value(text: &[u8], column: usize) -> Option<Inside> {
    let Some(first) = text.first() else {
        return Some(Inside::Nothing);
    };
    match first {
        b'"' | b'\'' => match closing(&text[1..], *first) {
            None => Some(Inside::Quote(*first)),
            Some(at) => behind(&text[at + 2..]),
        },
        b'|' | b'>' => Some(Inside::Block(column)),
        b'#' => Some(Inside::Nothing),
        b'[' | b'{' => {
            let quoted = text.iter().any(|byte| matches!(byte, b'"' | b'\'' | b'#'));
            let closes = matches!(text.last(), Some(b']' | b'}'));
            (closes && !quoted).then_some(Inside::Nothing)
        }
        b'&' | b'*' | b'!' | b'%' | b'@' | b'`' | b'?' => None,
        _ => Some(Inside::Plain(column)),
    }
}

/// Where a quoted text ends.
fn closing(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' if quote == b'"' => at += 1,
            b'\'' if quote == b'\'' && text.get(at + 1) == Some(&b'\'') => at += 1,
            byte if byte == quote => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Behind a quoted text stands nothing but a comment; a quoted key needs a parser.
fn behind(text: &[u8]) -> Option<Inside> {
    let rest = text.trim_ascii_start();
    (rest.is_empty() || (rest.starts_with(b"#") && rest.len() < text.len()))
        .then_some(Inside::Nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Option<Vec<String>> {
        let names = skeleton(text.as_bytes())?.charts.into_iter();
        Some(names.map(|(name, _)| name).collect())
    }

    fn index(body: &str) -> String {
        format!("apiVersion: v1\nentries:\n{body}generated: \"2024-01-01T00:00:00Z\"\n")
    }

    #[test]
    fn finds_charts_and_leaves_the_frame() {
        let text = index("  web:\n  - name: web\n    version: 1.0.0\n  db:\n  - name: db\n");
        let found = skeleton(text.as_bytes()).unwrap();
        let (name, range) = &found.charts[0];
        assert_eq!(name, "web");
        assert_eq!(
            &text[range.clone()],
            "  web:\n  - name: web\n    version: 1.0.0\n"
        );
        assert_eq!(
            String::from_utf8(found.frame).unwrap(),
            "apiVersion: v1\nentries: {}\ngenerated: \"2024-01-01T00:00:00Z\"\n"
        );
        // Indented lists, as yaml.v3 writes them.
        assert_eq!(
            names(&index(
                "  web:\n    - name: web\n      urls:\n        - a.tgz\n"
            )),
            Some(vec!["web".into()])
        );
    }

    #[test]
    fn texts_that_look_like_charts_are_texts() {
        for value in [
            "\"one\n  evil:\n  - x\"",
            "'it''s\n  evil:\n  two'",
            "|\n      text\n      evil:\n",
            "plain\n      \"evil:\n      more",
            "\"a \\\" b\n  evil:\n  \"",
        ] {
            let text = index(&format!(
                "  web:\n  - description: {value}\n    name: web\n  db:\n  - name: db\n"
            ));
            assert_eq!(
                names(&text),
                Some(vec!["web".into(), "db".into()]),
                "{value}"
            );
        }
    }

    #[test]
    fn what_needs_a_parser_is_refused() {
        for text in [
            "apiVersion: v1\n".to_owned(),
            "apiVersion: v1\nentries: {web: []}\n".to_owned(),
            index("  on:\n  - name: x\n"),
            index("  1.5:\n  - name: x\n"),
            index("  \"web\":\n  - name: web\n"),
            index("  web: []\n"),
            index("  web:\n  - name: web\n  web:\n  - name: web\n"),
            index("  web:\n  - &a\n    name: web\n"),
            index("  web:\n  - name: \"open\n"),
            index("  web:\n  - {name: web,\n     version: 1}\n"),
            index("  web:\n  -\tname: web\n"),
            index(" web:\n - name: web\n"),
        ] {
            assert_eq!(names(&text), None, "{text}");
        }
        assert!(is_plain_name(b"1password") && !is_plain_name(b"0x1f") && !is_plain_name(b"1e5"));
    }
}
