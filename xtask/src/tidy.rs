//! `cargo xtask tidy`: the rules of the house that a compiler does not check.
//!
//! All offences are reported at once. The same check is a test of this crate, so that plain
//! `cargo test` finds a file without docs. The rules and their reasons are in CONTRIBUTING.md.

mod exceptions;
mod features;
mod floors;
mod source;

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{Failure, Result, file, root};

/// Checks everything; with `write`, brings the generated parts up to date first.
pub(crate) fn run(write: bool) -> Result<()> {
    if write {
        floors::write(root())?;
        exceptions::write(root())?;
    }
    let offences = check(root())?;
    if offences.is_empty() {
        return Ok(());
    }
    Err(Failure::Message(format!(
        "the house is not tidy:\n  {}",
        offences.join("\n  ")
    )))
}

/// All offences in the tree, sorted.
fn check(root: &Path) -> Result<Vec<String>> {
    let mut offences = floors::check(root)?;
    offences.extend(exceptions::check(root)?);
    offences.extend(features::check()?);
    for path in files(root)? {
        let name = path
            .strip_prefix(root)
            .unwrap_or(&path)
            .to_string_lossy()
            .into_owned();
        if source::is_text(&name) {
            // A file that is not UTF-8 is data.
            if let Ok(text) = fs::read_to_string(&path) {
                offences.extend(source::check(&name, &text));
            }
        }
    }
    offences.sort();
    Ok(offences)
}

/// All files of the tree except what is built or hidden.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)
            .map_err(file("read", &folder))?
            .flatten()
        {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let skipped = name == "target" || name == ".git" || name == ".assets";
            if path.is_symlink() || skipped {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_tidy() {
        assert_eq!(check(root()).unwrap(), [""; 0]);
    }
}
