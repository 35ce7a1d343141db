//! `cargo xtask crds` and `crds-for-group`: the CRDs as files.
//!
//! They are made by the example `crds` of `kubepkg-api`, so that this tool need not compile a
//! Kubernetes client. It is built with the features of the whole workspace, as the tests are, so
//! that nothing is compiled twice.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Failure, Result, built, cargo, file, root, run};

/// The group of an unbranded kubepkg.
const GROUP: &str = "kubepkg.dev";

/// Where the operator's chart keeps its CRDs.
fn folder() -> PathBuf {
    root().join("charts/kubepkg/crds")
}

/// Writes the CRDs of the default group into the chart.
pub(crate) fn write() -> Result<()> {
    write_for_group(GROUP, &folder())
}

/// Writes the CRDs of a group into a folder, and says which files.
pub(crate) fn write_for_group(group: &str, out: &Path) -> Result<()> {
    generate(group, out)?;
    for name in read(out)?.keys() {
        println!("{}", out.join(name).display());
    }
    Ok(())
}

/// Fails when the files in the chart are not what the code says.
pub(crate) fn check() -> Result<()> {
    let desk = built()?.join("xtask-crds");
    if desk.exists() {
        fs::remove_dir_all(&desk).map_err(file("remove", &desk))?;
    }
    generate(GROUP, &desk)?;
    let wanted = read(&desk)?;
    let found = read(&folder())?;
    let stale: Vec<String> = wanted
        .keys()
        .chain(found.keys())
        .filter(|name| wanted.get(*name) != found.get(*name))
        .map(|name| format!("  charts/kubepkg/crds/{name}"))
        .collect();
    if stale.is_empty() {
        return Ok(());
    }
    let list = stale.into_iter().collect::<std::collections::BTreeSet<_>>();
    let list: Vec<String> = list.into_iter().collect();
    Err(Failure::Message(format!(
        "these files differ from the code; run `cargo xtask crds`\n{}",
        list.join("\n")
    )))
}

fn generate(group: &str, out: &Path) -> Result<()> {
    run(
        cargo().args(["build", "--quiet", "--workspace", "--example", "crds"]),
        "",
    )?;
    fs::create_dir_all(out).map_err(file("create", out))?;
    run(
        Command::new(built()?.join("examples/crds"))
            .arg(group)
            .arg(out),
        "",
    )
}

/// The files of a folder by name; a folder that is not there has none.
fn read(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_file() {
            let name = entry.file_name().to_string_lossy().into_owned();
            files.insert(name, fs::read(&path).map_err(file("read", &path))?);
        }
    }
    Ok(files)
}
