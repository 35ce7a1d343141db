//! The patterns of `.Files.Glob`: those of `gobwas/glob` with `/` as separator.
//!
//! `*` and `?` stop at `/`, `**` does not, `[abc]`, `[a-z]` and `[!a]` are classes, `{a,b}` are alternatives, `\`
//! takes the next character as it is. A pattern that can't be read matches everything, as in Helm; so does one with
//! more than fifty alternatives inside each other.

use regex::{Regex, RegexBuilder};

/// Alternatives inside alternatives; compiling works by recursion.
const MOST_LEVELS: u32 = 50;

/// A compiled pattern.
pub(crate) struct Glob(Option<Regex>);

impl Glob {
    /// Compiles `pattern`.
    pub(crate) fn new(pattern: &str) -> Self {
        let compile = |pattern: String| {
            let mut builder = RegexBuilder::new(&pattern);
            builder.nest_limit(MOST_LEVELS).build().ok()
        };
        Self(translate(pattern).and_then(compile))
    }

    /// Whether the whole of `name` matches.
    pub(crate) fn matches(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|pattern| pattern.is_match(name))
    }
}

fn translate(pattern: &str) -> Option<String> {
    let mut out = String::from("(?s)^");
    let mut open = 0_usize;
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '*' if chars.next_if_eq(&'*').is_some() => out.push_str(".*"),
            '*' => out.push_str("[^/]*"),
            '?' => out.push_str("[^/]"),
            '[' => out.push_str(&class(&mut chars)?),
            '{' => {
                open += 1;
                out.push_str("(?:");
            }
            '}' if open > 0 => {
                open -= 1;
                out.push(')');
            }
            ',' if open > 0 => out.push('|'),
            '\\' => out.push_str(&regex::escape(&chars.next()?.to_string())),
            c => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    out.push('$');
    (open == 0).then_some(out)
}

fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let negated = chars.next_if_eq(&'!').is_some();
    let mut members: Vec<char> = Vec::new();
    loop {
        match chars.next()? {
            ']' if !members.is_empty() => break,
            ']' => return None,
            '\\' => members.push(chars.next()?),
            c => members.push(c),
        }
    }
    let literal = |c: &char| {
        regex::escape(&c.to_string())
            .replace('&', "\\&")
            .replace('~', "\\~")
    };
    let body = match members.as_slice() {
        [low, '-', high] if low <= high => format!("{}-{}", literal(low), literal(high)),
        [_, '-', ..] => return None,
        members => members.iter().map(literal).collect(),
    };
    Some(format!("[{}{body}]", if negated { "^" } else { "" }))
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn separators_stop_single_stars() {
        // Rows of the corpus for .Files.Glob.
        for (pattern, name, matched) in [
            ("data/*", "data/a.txt", true),
            ("data/*", "data/sub/c.txt", false),
            ("data/**.txt", "data/sub/c.txt", true),
            ("{data,other}*", "other.cfg", true),
            ("{data,other}*", "data/a.txt", false),
            ("data/[!a].txt", "data/a.txt", false),
            ("data/[ab].txt", "data/b.txt", true),
            ("{data/a,data/b}.txt", "data/a.txt", true),
            ("[", "anything", true),
        ] {
            assert_eq!(
                Glob::new(pattern).matches(name),
                matched,
                "{pattern} {name}"
            );
        }
    }
}
