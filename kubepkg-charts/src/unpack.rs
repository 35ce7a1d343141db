//! An archive as a folder, as `helm pull --untar` writes it.
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
    /// It is no chart.
    #[error("the archive can't be unpacked")]
    Chart(#[from] ChartError),
    /// The chart has no name that can be one of a folder.
    #[error("the chart's name {name:?} is no name of a folder")]
    Name {
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
    let metadata = files
        .iter()
        .find(|file| file.name == "Chart.yaml")
        .map(|file| Metadata::from_yaml(&file.data))
        .transpose()?;
    let name = metadata.map(|metadata| metadata.name).unwrap_or_default();
    if !is_folder_name(&name) {
        return Err(UnpackError::Name { name });
    }
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

fn is_folder_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let one = matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none();
    one && !name.contains(['/', '\\'])
}
