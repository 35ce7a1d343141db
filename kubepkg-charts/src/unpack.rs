//! An archive as a folder, as `helm pull --untar` writes it; what can't be one is refused in Helm's words.
//!
//! The folder has the chart's name. It is written aside and renamed, so that it is there whole or not at all; one that
//! is there already is refused. Which entries an archive may have is decided by `kubepkg-helm`: nothing outside the
//! folder can be written, and no link.

use std::path::{Component, Path, PathBuf};

use kubepkg_helm::{Chart, ChartError, ChartLimits, Metadata};

/// An archive can't be unpacked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// It is no archive of a chart.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// The chart has no name.
    #[error("chart name not specified")]
    NoName,
    /// The chart's name leads out of the folder, or nowhere.
    #[error("chart name {name:?} is not allowed")]
    Name {
        /// The name.
        name: String,
    },
    /// The chart's name is a path.
    #[error("chart name {name:?} must not contain path separators")]
    Path {
        /// The name.
        name: String,
    },
    /// There is something of that name.
    #[error("{} is already there", path.display())]
    There {
        /// The folder.
        path: PathBuf,
    },
    /// A file can't be written.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
}

/// Unpacks an archive below a folder, which is made when it is missing; the chart's folder. Blocks.
///
/// # Errors
/// [`UnpackError`]; nothing is left behind.
pub fn unpack(archive: &[u8], below: &Path, limits: &ChartLimits) -> Result<PathBuf, UnpackError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| UnpackError::Io { path, source }
    };
    let files = Chart::archive_files(archive, limits)?;
    let mut name = String::new();
    // The last one counts, as for the files that are written.
    for file in files.iter().filter(|file| file.name == "Chart.yaml") {
        name = Metadata::from_yaml(&file.data)?.name;
    }
    let name = folder_name(name)?;
    std::fs::create_dir_all(below).map_err(io(below))?;
    let target = below.join(&name);
    if target.symlink_metadata().is_ok() {
        return Err(UnpackError::There { path: target });
    }
    let aside = tempfile::Builder::new()
        .prefix(".unpack-")
        .tempdir_in(below)
        .map_err(io(below))?;
    let chart = aside.path().join(&name);
    std::fs::create_dir(&chart).map_err(io(&chart))?;
    for file in files {
        // A later entry replaces an earlier one, as when it is loaded.
        let path = chart.join(&file.name);
        let folder = path.parent().unwrap_or(&chart);
        std::fs::create_dir_all(folder).map_err(io(folder))?;
        std::fs::write(&path, &file.data).map_err(io(&path))?;
    }
    std::fs::rename(&chart, &target).map_err(io(&target))?;
    Ok(target)
}

/// A name that is one of a folder.
fn folder_name(name: String) -> Result<String, UnpackError> {
    let mut parts = Path::new(&name).components();
    match (parts.next(), parts.next()) {
        (None, _) => Err(UnpackError::NoName),
        (Some(Component::CurDir | Component::ParentDir), None) => Err(UnpackError::Name { name }),
        (Some(Component::Normal(_)), None) if !name.contains(['/', '\\']) => Ok(name),
        _ => Err(UnpackError::Path { name }),
    }
}
