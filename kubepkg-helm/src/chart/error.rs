//! Why a chart was refused. The words are Helm's where Helm refuses the same thing, so that a text printed
//! by either can be searched for.

use std::path::PathBuf;

/// A chart that could not be loaded. `Display` is the whole sentence, causes included, as Helm prints it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChartError {
    /// One of the chart's own files can't be read as what it should be.
    #[error("cannot load {file}: {message}")]
    File {
        /// `Chart.yaml`, `values.yaml`, ...
        file: &'static str,
        /// What the decoder says.
        message: String,
    },
    /// There is no `Chart.yaml`.
    #[error("Chart.yaml file is missing")]
    NoChartYaml,
    /// The folder has no readable `Chart.yaml`.
    #[error(
        "unable to detect chart at {}: {}",
        path.display(),
        crate::go::os::path_error("open", &path.display(), source)
    )]
    NotAChart {
        /// Where it was looked for.
        path: PathBuf,
        /// Why it can't be read.
        source: std::io::Error,
    },
    /// There is neither folder nor archive.
    #[error("{}", crate::go::os::path_error("stat", &path.display(), source))]
    Missing {
        /// Where one was looked for.
        path: PathBuf,
        /// Why it was not found.
        source: std::io::Error,
    },
    /// `Chart.yaml` breaks a rule.
    #[error("validation: {message}")]
    Validation {
        /// The rule.
        message: String,
    },
    /// A chart under `charts/` was refused.
    #[error("error unpacking subchart {name} in {parent}: {source}")]
    Subchart {
        /// The entry under `charts/`.
        name: String,
        /// Name of the chart that holds it.
        parent: String,
        /// Why.
        source: Box<ChartError>,
    },
    /// A folder with the name of an archive holds something else.
    #[error("error unpacking subchart tar in {parent}: expected {expected}, got {got}")]
    SubchartArchive {
        /// Name of the chart that holds it.
        parent: String,
        /// The entry under `charts/`.
        expected: String,
        /// The first file found there.
        got: String,
    },
    /// Subcharts stand in each other deeper than the limit.
    #[error("subcharts nest deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The archive holds no file.
    #[error("no files in chart archive")]
    EmptyArchive,
    /// An entry's path is absolute once its first folder is cut off.
    #[error("chart illegally contains absolute paths")]
    AbsolutePath {
        /// The entry's name.
        entry: String,
    },
    /// An entry stands outside the chart's folder.
    #[error(
        "chart illegally contains content outside the base directory: {}",
        crate::go::text::quote(entry)
    )]
    OutsideBase {
        /// The entry's name.
        entry: String,
    },
    /// An entry climbs with `..`.
    #[error("chart illegally references parent directory")]
    ParentReference {
        /// The entry's name.
        entry: String,
    },
    /// An entry's path begins with a drive letter.
    #[error("chart contains illegally named files")]
    DriveLetter {
        /// The entry's name.
        entry: String,
    },
    /// The first folder is called `Chart.yaml`.
    #[error("chart yaml not in base directory")]
    ChartYamlNotInBase {
        /// The entry's name.
        entry: String,
    },
    /// A link, device or pipe. Helm reads it as an empty file; here it is refused.
    #[error(
        "chart archive entry {} is a {kind}, only files and folders are allowed",
        crate::go::text::quote(entry)
    )]
    SpecialEntry {
        /// The entry's name.
        entry: String,
        /// `symbolic link`, `hard link`, `device` or `pipe`.
        kind: &'static str,
    },
    /// Decompressed, the archive reaches the limit.
    #[error("decompressed chart is larger than the maximum size {limit}")]
    TooLarge {
        /// Bytes.
        limit: u64,
    },
    /// More entries than the limit.
    #[error("chart holds more than {limit} files")]
    TooManyFiles {
        /// The limit.
        limit: usize,
    },
    /// A folder where an archive file is wanted.
    #[error("cannot load a directory")]
    Folder,
    /// A YAML file where an archive is wanted: most likely a values file in the wrong place.
    #[error("file '{path}' seems to be a YAML file, but expected a gzipped archive")]
    YamlFile {
        /// The file.
        path: String,
    },
    /// A file that is no archive.
    #[error("file '{path}' does not appear to be a gzipped archive; got '{found}'")]
    NotAnArchive {
        /// The file.
        path: String,
        /// What it looks like.
        found: &'static str,
    },
    /// The bytes are no gzip or tar stream.
    #[error("{message}")]
    Corrupt {
        /// What is wrong with them.
        message: String,
    },
    /// A file of a folder passes the rest of the size limit.
    #[error("error reading {path}: chart exceeds maximum decompressed size of {limit} bytes")]
    FolderTooLarge {
        /// Path inside the chart.
        path: String,
        /// Bytes.
        limit: u64,
    },
    /// Something in the folder is neither file nor folder.
    #[error("cannot load irregular file {} as it has file mode type bits set", path.display())]
    Irregular {
        /// Where it is.
        path: PathBuf,
    },
    /// A symbolic link leads to nothing.
    #[error("error evaluating symlink {}: {}", path.display(), crate::go::os::path_error("lstat", &missing.display(), source))]
    BrokenLink {
        /// Where the link is.
        path: PathBuf,
        /// The part of its way that is missing.
        missing: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A symbolic link leads out of the chart's folder.
    #[error("symbolic link {} leads out of the chart", path.display())]
    LinkOutside {
        /// Where the link is.
        path: PathBuf,
    },
    /// `.helmignore` can't be read as rules.
    #[error("{message}")]
    Ignore {
        /// What is wrong with the rule.
        message: &'static str,
    },
    /// The file system said no.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// What was read.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}
