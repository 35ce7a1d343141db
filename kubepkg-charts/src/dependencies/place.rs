//! `charts/` with new archives in place of the old ones, all or nothing.
//!
//! A folder aside gets what stays (folders, and files that are no charts or belong to a dependency without a
//! repository) and the new archives. Then the old folder is renamed away and the new one takes its name; when that
//! fails, the old one comes back. Files are linked, not copied, where the file system can.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kubepkg_helm::{Chart, ChartLimits};

use super::{Archive, DependencyError};

/// How deep folders below `charts/` may stand.
const MAX_DEPTH: usize = 64;

fn failed(path: &Path) -> impl FnOnce(io::Error) -> DependencyError {
    let path = path.to_owned();
    move |source| DependencyError::Io { path, source }
}

/// Replaces the archives in the `charts/` of a chart's folder; which ones are gone.
pub(super) fn replace(
    folder: &Path,
    archives: &[Archive],
    local: &BTreeSet<&str>,
    limits: &ChartLimits,
) -> Result<Vec<String>, DependencyError> {
    // A `charts` that is a link stays one: what it leads to is replaced.
    let charts = folder.join("charts");
    let charts = charts.canonicalize().unwrap_or(charts);
    let parent = charts.parent().unwrap_or(folder).to_owned();
    let aside = tempfile::Builder::new()
        .prefix(".charts-")
        .tempdir_in(&parent)
        .map_err(failed(&parent))?;
    let (new, old) = (aside.path().join("new"), aside.path().join("old"));
    fs::create_dir(&new).map_err(failed(&new))?;
    for archive in archives {
        for (file, content) in archive.files() {
            let path = new.join(file);
            fs::write(&path, content).map_err(failed(&path))?;
        }
    }
    let mut removed = Vec::new();
    let there = match fs::read_dir(&charts) {
        Ok(entries) => Some(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(&charts)(error)),
    };
    let had_one = there.is_some();
    for entry in there.into_iter().flatten() {
        let entry = entry.map_err(failed(&charts))?;
        let (path, target) = (entry.path(), new.join(entry.file_name()));
        if target.exists() {
            continue;
        }
        if outdated(&path, local, limits) {
            removed.push(entry.file_name().to_string_lossy().into_owned());
        } else {
            carry(&path, &target, MAX_DEPTH)?;
        }
    }
    removed.sort();
    if had_one {
        if let Ok(found) = fs::metadata(&charts) {
            fs::set_permissions(&new, found.permissions()).map_err(failed(&new))?;
        }
        fs::rename(&charts, &old).map_err(failed(&charts))?;
    }
    if let Err(error) = fs::rename(&new, &charts) {
        if had_one {
            // If this fails too, what was there is in the folder aside, which is then kept.
            if let Err(error) = fs::rename(&old, &charts) {
                let kept = aside.keep();
                return Err(failed(&kept.join("old"))(error));
            }
        }
        return Err(failed(&charts)(error));
    }
    Ok(removed)
}

/// Whether a file is a chart that the lock does not have any more.
fn outdated(path: &Path, local: &BTreeSet<&str>, limits: &ChartLimits) -> bool {
    path.is_file()
        && Chart::load_file(path, limits).is_ok_and(|chart| !local.contains(chart.name()))
}

/// Brings a file or folder to another place, leaving it where it is.
fn carry(from: &Path, to: &Path, depth: usize) -> Result<(), DependencyError> {
    let kind = from.symlink_metadata().map_err(failed(from))?.file_type();
    if kind.is_symlink() {
        return link(from, to).map_err(failed(from));
    }
    if !kind.is_dir() {
        return match fs::hard_link(from, to) {
            Ok(()) => Ok(()),
            Err(_) => fs::copy(from, to).map(drop).map_err(failed(from)),
        };
    }
    let Some(depth) = depth.checked_sub(1) else {
        return Err(failed(from)(io::Error::other(
            "too many folders in folders",
        )));
    };
    fs::create_dir(to).map_err(failed(to))?;
    let mut names: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(from).map_err(failed(from))? {
        names.push(entry.map_err(failed(from))?.file_name().into());
    }
    for name in names {
        carry(&from.join(&name), &to.join(&name), depth)?;
    }
    let found = fs::metadata(from).map_err(failed(from))?;
    fs::set_permissions(to, found.permissions()).map_err(failed(to))
}

/// A link with the same target.
#[cfg(unix)]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(fs::read_link(from)?, to)
}

/// Elsewhere what the link leads to is copied: links there have kinds.
#[cfg(not(unix))]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to).map(drop)
}
