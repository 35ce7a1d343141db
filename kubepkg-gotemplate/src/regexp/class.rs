//! Character classes that a pattern names: `\d`, `[:alpha:]`, `\p{Greek}`.

/// Ranges of `\d`, `\s` and `\w`, in the syntax of the `regex` crate inside brackets.
pub(super) fn perl(letter: u8) -> Option<(&'static str, bool)> {
    let ranges = match letter.to_ascii_lowercase() {
        b'd' => "0-9",
        b's' => "\\t\\n\\x0C\\r\\x20",
        b'w' => "0-9A-Z_a-z",
        _ => return None,
    };
    Some((ranges, letter.is_ascii_uppercase()))
}

/// Ranges of a POSIX class given by its bare name.
pub(super) fn posix(name: &[u8]) -> Option<&'static str> {
    Some(match name {
        b"alnum" => "0-9A-Za-z",
        b"alpha" => "A-Za-z",
        b"ascii" => "\\x00-\\x7F",
        b"blank" => "\\t\\x20",
        b"cntrl" => "\\x00-\\x1F\\x7F",
        b"digit" => "0-9",
        b"graph" => "\\x21-\\x7E",
        b"lower" => "a-z",
        b"print" => "\\x20-\\x7E",
        b"punct" => "\\x21-\\x2F\\x3A-\\x40\\x5B-\\x60\\x7B-\\x7E",
        b"space" => "\\t\\n\\x0B\\x0C\\r\\x20",
        b"upper" => "A-Z",
        b"word" => "0-9A-Z_a-z",
        b"xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}

/// A Unicode category or script as an item inside brackets; `None` when Go knows no such name.
pub(super) fn unicode(name: &str, negated: bool) -> Option<String> {
    let letter = if negated { 'P' } else { 'p' };
    if !name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b' '))
    {
        return None;
    }
    let canonical: String = name
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .collect();
    let any = match canonical.to_ascii_lowercase().as_str() {
        "any" => Some("Any"),
        "assigned" => Some("Assigned"),
        "ascii" => Some("ASCII"),
        _ => None,
    };
    let candidates = match any {
        Some(name) => vec![format!("\\{letter}{{{name}}}")],
        None => ["gc", "sc"]
            .iter()
            .map(|property| format!("\\{letter}{{{property}={canonical}}}"))
            .collect(),
    };
    candidates
        .into_iter()
        .find(|item| !canonical.is_empty() && regex_syntax::parse(item).is_ok())
}
