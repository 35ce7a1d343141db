//! The difference of two texts as kube-apiserver shows it: unified, with three lines around, and the lines matched as
//! Python's `difflib` matches them, of which the server uses a port: the longest block of lines in common first, then what
//! is before it and after it. The least difference, which other libraries look for, is often another.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

/// Lines around a change.
const AROUND: usize = 3;
/// Pairs of equal lines that are looked at. Texts that need more are shown with longer changes than the server would show.
const EFFORT: usize = 50_000_000;

/// The difference of two texts.
pub(crate) fn unified(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut out = String::new();
    for group in groups(&changes(&old, &new)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let before = shown(&(first.old.start..last.old.end));
        let after = shown(&(first.new.start..last.new.end));
        // Writing into a text does not fail.
        let _ = writeln!(out, "@@ -{before} +{after} @@");
        for part in group {
            let lines = |sign: char, lines: &[&str], out: &mut String| {
                for line in lines {
                    let _ = writeln!(out, "{sign}{line}");
                }
            };
            if part.equal {
                lines(' ', &old[part.old], &mut out);
            } else {
                lines('-', &old[part.old], &mut out);
                lines('+', &new[part.new], &mut out);
            }
        }
    }
    out
}

/// A range of lines as `ed` writes it.
fn shown(range: &Range<usize>) -> String {
    match range.len() {
        1 => (range.start + 1).to_string(),
        0 => format!("{},0", range.start),
        length => format!("{},{length}", range.start + 1),
    }
}

/// Lines of the one and of the other that are equal, or stand for each other.
#[derive(Clone, Debug)]
struct Part {
    equal: bool,
    old: Range<usize>,
    new: Range<usize>,
}

/// How one text becomes the other.
fn changes(old: &[&str], new: &[&str]) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut from, mut to) = (0, 0);
    let end = (old.len(), new.len(), 0);
    for (a, b, length) in blocks(old, new).into_iter().chain([end]) {
        if from < a || to < b {
            parts.push(Part {
                equal: false,
                old: from..a,
                new: to..b,
            });
        }
        (from, to) = (a + length, b + length);
        if length > 0 {
            parts.push(Part {
                equal: true,
                old: a..from,
                new: b..to,
            });
        }
    }
    parts
}

/// Changes that are near each other, with the lines around them.
fn groups(parts: &[Part]) -> Vec<Vec<Part>> {
    let last = parts.len().saturating_sub(1);
    let (mut groups, mut group) = (Vec::new(), Vec::new());
    for (index, part) in parts.iter().enumerate() {
        let mut part = part.clone();
        if part.equal {
            let keep_start = |part: &Part| Part {
                old: part.old.start..part.old.end.min(part.old.start + AROUND),
                new: part.new.start..part.new.end.min(part.new.start + AROUND),
                ..*part
            };
            let keep_end = |part: &Part| Part {
                old: part.old.start.max(part.old.end.saturating_sub(AROUND))..part.old.end,
                new: part.new.start.max(part.new.end.saturating_sub(AROUND))..part.new.end,
                ..*part
            };
            if index == 0 {
                part = keep_end(&part);
            }
            if index == last {
                part = keep_start(&part);
            }
            if part.old.len() > 2 * AROUND {
                group.push(keep_start(&part));
                groups.push(std::mem::take(&mut group));
                part = keep_end(&part);
            }
        }
        group.push(part);
    }
    groups.push(group);
    groups.retain(|group| group.iter().any(|part| !part.equal));
    groups
}

/// The blocks of lines that both have, in order, and those that touch as one: where in each, and how long.
fn blocks(old: &[&str], new: &[&str]) -> Vec<(usize, usize, usize)> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in new.iter().enumerate() {
        places.entry(line).or_default().push(index);
    }
    if new.len() >= 200 {
        // Lines that are everywhere say nothing.
        places.retain(|_, places| places.len() <= new.len() / 100 + 1);
    }
    let mut effort = EFFORT;
    let mut found = Vec::new();
    let mut open = vec![(0..old.len(), 0..new.len())];
    while let Some((a, b)) = open.pop() {
        let (i, j, length) = longest((old, new), (&a, &b), &places, &mut effort);
        if length == 0 {
            continue;
        }
        found.push((i, j, length));
        if a.start < i && b.start < j {
            open.push((a.start..i, b.start..j));
        }
        if i + length < a.end && j + length < b.end {
            open.push((i + length..a.end, j + length..b.end));
        }
    }
    found.sort_unstable();
    let mut joined: Vec<(usize, usize, usize)> = Vec::new();
    for (i, j, length) in found {
        match joined.last_mut() {
            Some(last) if last.0 + last.2 == i && last.1 + last.2 == j => last.2 += length,
            _ => joined.push((i, j, length)),
        }
    }
    joined
}

/// The longest block in these ranges, the first of several.
fn longest(
    (old, new): (&[&str], &[&str]),
    (a, b): (&Range<usize>, &Range<usize>),
    places: &HashMap<&str, Vec<usize>>,
    effort: &mut usize,
) -> (usize, usize, usize) {
    let (mut i, mut j, mut length) = (a.start, b.start, 0);
    // How long the block is that ends with the line before, by its end in the new text.
    let mut ending: HashMap<usize, usize> = HashMap::new();
    for at in a.clone() {
        let mut here = HashMap::new();
        let all = places.get(old[at]).map(Vec::as_slice).unwrap_or_default();
        let first = all.partition_point(|place| *place < b.start);
        for &place in all[first..].iter().take_while(|place| **place < b.end) {
            let Some(left) = effort.checked_sub(1) else {
                return (a.start, b.start, 0);
            };
            *effort = left;
            let before = place.checked_sub(1).and_then(|before| ending.get(&before));
            let size = before.copied().unwrap_or(0) + 1;
            here.insert(place, size);
            if size > length {
                (i, j, length) = (at + 1 - size, place + 1 - size, size);
            }
        }
        ending = here;
    }
    // Lines that are everywhere belong to it, too.
    while i > a.start && j > b.start && old[i - 1] == new[j - 1] {
        (i, j, length) = (i - 1, j - 1, length + 1);
    }
    while i + length < a.end && j + length < b.end && old[i + length] == new[j + length] {
        length += 1;
    }
    (i, j, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, after the rules of `difflib`.
    #[test]
    fn the_longest_block_is_matched_before_the_first() {
        assert_eq!(
            unified("x\na\nb\nc\n", "a\nx\na\nb\nc\n"),
            "@@ -1,3 +1,4 @@\n+a\n x\n a\n b\n"
        );
        assert_eq!(
            unified("a\nb\nc\n", "b\nc\na\n"),
            "@@ -1,3 +1,3 @@\n-a\n b\n c\n+a\n"
        );
    }

    #[test]
    fn changes_far_apart_stand_in_blocks_of_their_own() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1!\n2\n3\n4\n5\n6\n7\n8\n9!\n";
        assert_eq!(
            unified(old, new),
            "@@ -1,4 +1,4 @@\n-1\n+1!\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+9!\n"
        );
        assert_eq!(unified(old, old), "");
    }

    #[test]
    fn nothing_becomes_something() {
        assert_eq!(unified("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
    }
}
