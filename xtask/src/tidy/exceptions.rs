//! Where kubepkg is known not to be Helm: the lists of exceptions beside the vectors, as a table in
//! docs/helm-compatibility.md.
//!
//! A list is `*/tests/vectors/exceptions.txt`, with lines of id, tab and reason. The tests hold it to the truth: a
//! listed case that passes fails them. This module only copies it to where people read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::run::{Failure, Result, file};

const PAGE: &str = "docs/helm-compatibility.md";
const BEGIN: &str = "<!-- exceptions: written by `cargo xtask tidy --write` -->";
const END: &str = "<!-- end of exceptions -->";

/// An offence when the table on the page is stale.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let (old, new) = page(root)?;
    if old == new {
        return Ok(Vec::new());
    }
    Ok(vec![format!(
        "{PAGE}: exceptions are stale; run `cargo xtask tidy --write`"
    )])
}

/// Writes the table into the page.
pub(super) fn write(root: &Path) -> Result<()> {
    let (old, new) = page(root)?;
    let path = root.join(PAGE);
    if old != new {
        fs::write(&path, new).map_err(file("write", &path))?;
    }
    Ok(())
}

/// The page as it is, and as it should be.
fn page(root: &Path) -> Result<(String, String)> {
    let path = root.join(PAGE);
    let old = fs::read_to_string(&path).map_err(file("read", &path))?;
    let parts = old
        .split_once(BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = parts else {
        return Err(Failure::Message(format!("{PAGE} lacks {BEGIN} or {END}")));
    };
    let new = format!("{before}{BEGIN}\n{}{END}{after}", table(&lists(root)?));
    Ok((old, new))
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
