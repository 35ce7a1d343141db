//! `cargo xtask bench helm`: what rendering costs, beside the helm program and beside Helm's library.
//!
//! The measuring is a program of its own (`bench/`), built for release as what it measures; Helm's library is a Go
//! program (`tools/helm-library`) at the version of the helm program. With `--write` the tables become part of
//! docs/performance.md.

use std::fs;
use std::path::PathBuf;

use crate::assets;
use crate::run::{Failure, Result, cargo, file, output, root, run};

const PAGE: &str = "docs/performance.md";
const BEGIN: &str = "<!-- measurements: written by `cargo xtask bench helm --write` -->";
const END: &str = "<!-- end of measurements -->";

/// Measures charts, or those that the bench makes.
pub(crate) fn helm(charts: &[PathBuf], json: bool, write: bool, runs: usize) -> Result<()> {
    let programs = assets::ensure()?;
    let library = assets::helm_tool("helm-library")?;
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "kubepkg-bench",
        "--",
        "compare",
    ]);
    command.arg("--helm").arg(programs.join("helm"));
    command.arg("--library").arg(library);
    command.arg(format!("--runs={runs}"));
    command.args(json.then_some("--json"));
    for chart in charts {
        command.arg(std::path::absolute(chart).map_err(file("find", chart))?);
    }
    if !write {
        return run(&mut command, "");
    }
    command.stderr(std::process::Stdio::inherit());
    let tables = output(&mut command, "")?;
    let path = root().join(PAGE);
    let old = fs::read_to_string(&path).map_err(file("read", &path))?;
    fs::write(&path, replace(&old, &tables)?).map_err(file("write", &path))
}

/// The page with new tables between the markers.
fn replace(page: &str, tables: &str) -> Result<String> {
    let parts = page
        .split_once(BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = parts else {
        return Err(Failure::Message(format!("{PAGE} lacks {BEGIN} or {END}")));
    };
    Ok(format!("{before}{BEGIN}\n\n{tables}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_replaced_between_their_markers_only() {
        let page = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let new = replace(&page, "| new |\n").unwrap();
        assert_eq!(new, format!("before\n{BEGIN}\n\n| new |\n\n{END}\nafter\n"));
        assert!(replace("no markers", "| new |").is_err());
    }
}
