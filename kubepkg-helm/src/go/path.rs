//! Paths as Go's `path` and `path/filepath` see them on Unix.

/// A pattern that can't be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadPattern;

/// A pattern of `filepath.Match`: `*` and `?` stop at `/`, `[a-z]` and `[^a]` are classes, `\` escapes. The whole name
/// must match.
#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    /// Most are a name,
    Name(String),
    /// or the end of one.
    End(String),
    Any(Vec<char>),
}

impl Pattern {
    /// A pattern that may be bad.
    pub(crate) fn new(text: &str) -> Self {
        let plain = |text: &str| !text.contains(['*', '?', '[', '\\']);
        match text.strip_prefix('*') {
            Some(end) if plain(end) => Self::End(end.to_owned()),
            None if plain(text) => Self::Name(text.to_owned()),
            _ => Self::Any(text.chars().collect()),
        }
    }

    /// Whether it matches.
    ///
    /// # Errors
    /// [`BadPattern`], also when Go notices it only because the name reached that far.
    pub(crate) fn matches(&self, name: &str) -> Result<bool, BadPattern> {
        match self {
            Self::Name(text) => Ok(name == text),
            Self::End(end) => {
                let before = name.strip_suffix(end.as_str());
                Ok(before.is_some_and(|before| !before.contains('/')))
            }
            Self::Any(pattern) => match_from(pattern, &name.chars().collect::<Vec<_>>()),
        }
    }
}

/// Whether a pattern matches, for one that is used once.
///
/// # Errors
/// As [`Pattern::matches`].
pub(crate) fn matches(pattern: &str, name: &str) -> Result<bool, BadPattern> {
    Pattern::new(pattern).matches(name)
}

fn match_from(mut pattern: &[char], mut name: &[char]) -> Result<bool, BadPattern> {
    'pattern: while !pattern.is_empty() {
        let (star, chunk, rest) = scan_chunk(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Ok(!name.contains(&'/'));
        }
        if let Some(after) = match_chunk(chunk, name)?
            && (after.is_empty() || !pattern.is_empty())
        {
            name = after;
            continue;
        }
        if star {
            for at in 0..name.len() {
                if name.get(at) == Some(&'/') {
                    break;
                }
                if let Some(after) = match_chunk(chunk, name.get(at + 1..).unwrap_or_default())? {
                    if pattern.is_empty() && !after.is_empty() {
                        continue;
                    }
                    name = after;
                    continue 'pattern;
                }
            }
        }
        // The rest of the pattern is still read, so that a bad one is reported.
        while !pattern.is_empty() {
            let (_, chunk, rest) = scan_chunk(pattern);
            pattern = rest;
            match_chunk(chunk, &[])?;
        }
        return Ok(false);
    }
    Ok(name.is_empty())
}

/// Cuts the leading stars and the literal part up to the next star.
fn scan_chunk(pattern: &[char]) -> (bool, &[char], &[char]) {
    let stars = pattern.iter().take_while(|c| **c == '*').count();
    let rest = pattern.get(stars..).unwrap_or_default();
    let mut in_class = false;
    let mut at = 0;
    while let Some(c) = rest.get(at) {
        match c {
            '\\' if at + 1 < rest.len() => at += 1,
            '[' => in_class = true,
            ']' => in_class = false,
            '*' if !in_class => break,
            _ => {}
        }
        at += 1;
    }
    let (chunk, after) = rest.split_at(at.min(rest.len()));
    (stars > 0, chunk, after)
}

/// Matches a chunk at the start of `name`; what is left of the name, or `None`.
fn match_chunk<'a>(
    mut chunk: &[char],
    mut name: &'a [char],
) -> Result<Option<&'a [char]>, BadPattern> {
    let mut failed = false;
    while let Some((head, tail)) = chunk.split_first() {
        failed |= name.is_empty();
        let letter = name.first().copied().filter(|_| !failed);
        match head {
            '[' => {
                let (inside, rest) = class(tail, letter)?;
                chunk = rest;
                failed |= !inside;
            }
            '?' => {
                failed |= letter == Some('/');
                chunk = tail;
            }
            '\\' => {
                let (escaped, rest) = tail.split_first().ok_or(BadPattern)?;
                failed |= letter != Some(*escaped);
                chunk = rest;
            }
            literal => {
                failed |= letter != Some(*literal);
                chunk = tail;
            }
        }
        if !failed {
            name = name.get(1..).unwrap_or_default();
        }
    }
    Ok((!failed).then_some(name))
}

/// Reads a class behind its `[`; whether `letter` is in it, and the chunk behind its `]`.
fn class(mut chunk: &[char], letter: Option<char>) -> Result<(bool, &[char]), BadPattern> {
    let negated = chunk.first() == Some(&'^');
    if negated {
        chunk = chunk.get(1..).unwrap_or_default();
    }
    let mut inside = false;
    let mut ranges = 0;
    loop {
        if let Some((']', rest)) = chunk.split_first()
            && ranges > 0
        {
            return Ok((letter.is_some() && inside != negated, rest));
        }
        let (low, rest) = class_letter(chunk)?;
        chunk = rest;
        let mut high = low;
        if let Some(('-', rest)) = chunk.split_first() {
            (high, chunk) = class_letter(rest)?;
        }
        inside |= letter.is_some_and(|letter| (low..=high).contains(&letter));
        ranges += 1;
    }
}

fn class_letter(chunk: &[char]) -> Result<(char, &[char]), BadPattern> {
    let (mut letter, mut rest) = chunk.split_first().ok_or(BadPattern)?;
    if matches!(letter, '-' | ']') {
        return Err(BadPattern);
    }
    if *letter == '\\' {
        (letter, rest) = rest.split_first().ok_or(BadPattern)?;
    }
    if rest.is_empty() {
        Err(BadPattern)
    } else {
        Ok((*letter, rest))
    }
}

/// `path.Clean`.
pub(crate) fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => {
                kept.pop();
            }
            ".." if rooted => {}
            part => kept.push(part),
        }
    }
    let joined = kept.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".into(),
        (false, false) => joined,
    }
}

/// `path.Base`.
pub(crate) fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        "/"
    } else {
        trimmed.rsplit('/').next().unwrap_or(trimmed)
    }
}

/// `path.Ext`: from the last dot of the last part.
pub(crate) fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rfind('.')
        .and_then(|dot| name.get(dot..))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{BadPattern, clean, matches};

    #[test]
    fn matches_as_go() {
        // Rows of the documentation and tests of path/filepath, checked by hand.
        for (pattern, name, matched) in [
            ("abc", "abc", true),
            ("*", "a/b", false),
            ("a*", "ab/c", false),
            ("a*/b", "abc/b", true),
            ("a*b*c*d*e*/f", "axbxcxdxe/f", true),
            ("a*b?c*x", "abxbbxdbxebxczzx", true),
            ("ab[c]", "abc", true),
            ("ab[^e-g]", "abc", true),
            ("a\\*b", "a*b", true),
            ("a?b", "a/b", false),
            ("[\\]a]", "]", true),
            ("*x", "xxx", true),
        ] {
            assert_eq!(matches(pattern, name), Ok(matched), "{pattern} {name}");
        }
        for pattern in ["[]a]", "[-]", "[x-]", "[a-b-c]", "[", "[^", "a[", "\\"] {
            assert_eq!(matches(pattern, "a"), Err(BadPattern), "{pattern}");
        }
    }

    #[test]
    fn cleans_as_go() {
        for (path, cleaned) in [
            ("a//b/./c/..", "a/b"),
            ("../../a", "../../a"),
            ("/..", "/"),
            ("", "."),
            ("a/..", "."),
        ] {
            assert_eq!(clean(path), cleaned);
        }
    }
}
