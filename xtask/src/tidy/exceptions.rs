//! Where kubepkg is known not to be what it is compared with: the lists of exceptions beside the vectors, as tables
//! where people read of it.
//!
//! A list is `*/tests/vectors/exceptions.txt`, with lines of id, tab and reason. The tests hold it to the truth: a
//! listed case that passes fails them. This module only copies it to where people read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::run::{Failure, Result, file};

/// Pages with a table, and the crate whose list each has; the first has those of all others.
const PAGES: [(&str, Option<&str>); 2] = [
    ("docs/helm-compatibility.md", None),
    ("kubepkg-sandbox/README.md", Some("kubepkg-sandbox")),
];
const BEGIN: &str = "<!-- exceptions: written by `cargo xtask tidy --write` -->";
const END: &str = "<!-- end of exceptions -->";

/// An offence for every page whose table is stale.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut offences = Vec::new();
    for (page, old, new) in pages(root)? {
        if old != new {
            offences.push(format!(
                "{page}: exceptions are stale; run `cargo xtask tidy --write`"
            ));
        }
    }
    Ok(offences)
}

/// Writes the tables into the pages.
pub(super) fn write(root: &Path) -> Result<()> {
    for (page, old, new) in pages(root)? {
        let path = root.join(page);
        if old != new {
            fs::write(&path, new).map_err(file("write", &path))?;
        }
    }
    Ok(())
}

/// The pages as they are, and as they should be.
fn pages(root: &Path) -> Result<Vec<(&'static str, String, String)>> {
    let mut lists = lists(root)?;
    let mut written = Vec::new();
    for (page, of) in PAGES.iter().rev() {
        let here = match of {
            Some(name) => lists.remove_entry(*name).into_iter().collect(),
            None => std::mem::take(&mut lists),
        };
        let path = root.join(page);
        let old = fs::read_to_string(&path).map_err(file("read", &path))?;
        let parts = old
            .split_once(BEGIN)
            .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
        let Some((before, after)) = parts else {
            return Err(Failure::Message(format!("{page} lacks {BEGIN} or {END}")));
        };
        let new = format!("{before}{BEGIN}\n{}{END}{after}", table(&here));
        written.push((*page, old, new));
    }
    Ok(written)
}

/// The lists, by crate.
fn lists(root: &Path) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root).map_err(file("read", root))?.flatten() {
        let path = entry.path().join("tests/vectors/exceptions.txt");
        if path.is_file() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).map_err(file("read", &path))?;
            found.insert(name, text);
        }
    }
    Ok(found)
}

fn table(lists: &BTreeMap<String, String>) -> String {
    let mut text = String::from("\n| crate | case | why |\n|---|---|---|\n");
    for (name, list) in lists {
        let lines = list.lines().filter(|line| !line.starts_with('#'));
        for (id, reason) in lines.filter_map(|line| line.split_once('\t')) {
            let _ = writeln!(text, "| {name} | `{id}` | {reason} |");
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_case_is_a_row() {
        let lists = [("a".to_owned(), "# head\nx/1\twhy\n".to_owned())];
        let text = table(&lists.into());
        assert!(
            text.ends_with("|---|---|---|\n| a | `x/1` | why |\n\n"),
            "{text}"
        );
    }
}
