//! Writes the CRDs of a group into a folder, one file for each kind: `crds [--check] [GROUP] FOLDER`.
//!
//! With `--check` nothing is written; the program fails and names the files that differ. `cargo xtask crds`
//! runs it for the operator's chart.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use kubepkg_api::{ApiGroup, crd};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    let check = arguments
        .iter()
        .position(|argument| argument == "--check")
        .map(|at| arguments.remove(at))
        .is_some();
    let folder = PathBuf::from(
        arguments
            .pop()
            .ok_or("usage: crds [--check] [GROUP] FOLDER")?,
    );
    let group = match arguments.pop() {
        Some(group) => ApiGroup::new(&group)?,
        None => ApiGroup::default(),
    };

    let mut stale = Vec::new();
    for definition in crd::crds(&group) {
        let text = crd::to_yaml(&definition)?;
        let path = folder.join(crd::file_name(&definition));
        if !check {
            fs::create_dir_all(&folder)?;
            fs::write(path, text)?;
        } else if fs::read_to_string(&path).ok().as_deref() != Some(&text) {
            stale.push(path);
        }
    }
    if stale.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let names: Vec<String> = stale
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Err(format!("stale, run `cargo xtask crds`: {}", names.join(", ")).into())
}
