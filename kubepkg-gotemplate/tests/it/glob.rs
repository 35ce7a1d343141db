//! File patterns as far as the vectors use them: `*`, `**`, `?`, `[ab]`, `[!a]`, `{a,b}`.

/// Whether a pattern matches a path; a pattern that cannot be read matches everything, as in Helm.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    if pattern.matches('[').count() != pattern.matches(']').count() {
        return true;
    }
    alternatives(pattern)
        .iter()
        .any(|p| here(p.as_bytes(), path.as_bytes()))
}

fn alternatives(pattern: &str) -> Vec<String> {
    let Some((head, rest)) = pattern.split_once('{') else {
        return vec![pattern.to_owned()];
    };
    let (list, tail) = rest.split_once('}').unwrap_or((rest, ""));
    list.split(',')
        .flat_map(|choice| alternatives(&format!("{head}{choice}{tail}")))
        .collect()
}

fn here(pattern: &[u8], path: &[u8]) -> bool {
    match pattern {
        [] => path.is_empty(),
        [b'*', b'*', rest @ ..] => (0..=path.len()).any(|i| here(rest, &path[i..])),
        [b'*', rest @ ..] => (0..=path.len())
            .take_while(|i| !path[..*i].contains(&b'/'))
            .any(|i| here(rest, &path[i..])),
        [b'?', rest @ ..] => path.first().is_some_and(|c| *c != b'/') && here(rest, &path[1..]),
        [b'[', rest @ ..] => {
            let end = rest.iter().position(|c| *c == b']').unwrap();
            let (set, rest) = (&rest[..end], &rest[end + 1..]);
            let (negated, set) = match set {
                [b'!', set @ ..] => (true, set),
                set => (false, set),
            };
            path.first().is_some_and(|c| set.contains(c) != negated) && here(rest, &path[1..])
        }
        [c, rest @ ..] => path.first() == Some(c) && here(rest, &path[1..]),
    }
}
