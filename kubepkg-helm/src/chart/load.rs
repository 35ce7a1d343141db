//! A chart out of a list of files, whatever they came from.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{API_VERSION_V1, Chart, ChartError, ChartFile, ChartLimits, Lock, Metadata};
use crate::go::path::extension;
use crate::values::Values;

/// A file that was read and passed the checks of its source.
#[derive(Debug, Clone)]
pub(super) struct LoadedFile {
    pub(super) name: String,
    pub(super) data: Arc<[u8]>,
    /// When it was written, where the source knows and the caller wants to.
    pub(super) modified: Option<String>,
}

impl LoadedFile {
    pub(super) fn into_chart_file(self) -> ChartFile {
        ChartFile {
            name: self.name,
            data: self.data,
            modified: self.modified,
        }
    }
}

/// What is left of the limits; archives inside a chart draw on the same.
#[derive(Debug)]
pub(super) struct Budget<'a> {
    pub(super) limits: &'a ChartLimits,
    pub(super) bytes: u64,
    pub(super) files: usize,
    /// Whether files keep the time at which they were written.
    pub(super) keep_times: bool,
}

impl<'a> Budget<'a> {
    pub(super) fn new(limits: &'a ChartLimits) -> Self {
        Self {
            limits,
            bytes: limits.max_bytes,
            files: limits.max_files,
            keep_times: false,
        }
    }

    /// Counts a file.
    pub(super) fn file(&mut self) -> Result<(), ChartError> {
        let limit = self.limits.max_files;
        self.files = self
            .files
            .checked_sub(1)
            .ok_or(ChartError::TooManyFiles { limit })?;
        Ok(())
    }
}

/// Cuts the byte order mark off that Helm removes from every file.
pub(super) fn without_mark(data: &[u8]) -> &[u8] {
    data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data)
}

/// Makes the chart. `depth` counts the charts around this one.
pub(super) fn load_files(
    files: Vec<LoadedFile>,
    budget: &mut Budget<'_>,
    depth: usize,
) -> Result<Chart, ChartError> {
    let limit = budget.limits.max_depth;
    if depth > limit {
        return Err(ChartError::TooDeep { limit });
    }
    let mut chart = Chart::default();
    let mut metadata: Option<Metadata> = None;
    for file in files.iter().filter(|file| file.name == "Chart.yaml") {
        let read = metadata.get_or_insert_default();
        read.read_over("Chart.yaml", &file.data)?;
        if read.api_version.is_empty() {
            API_VERSION_V1.clone_into(&mut read.api_version);
        }
        chart.modified.clone_from(&file.modified);
    }

    let mut subcharts: BTreeMap<String, Vec<LoadedFile>> = BTreeMap::new();
    for file in files {
        match file.name.as_str() {
            "Chart.yaml" => {}
            "Chart.lock" => chart.lock = Lock::from_yaml("Chart.lock", &file.data)?,
            "values.yaml" => {
                let values = Values::from_yaml_documents(&file.data);
                let message = |error: crate::values::ValuesError| error.to_string();
                chart.values = Some(values.map_err(|error| ChartError::File {
                    file: "values.yaml",
                    message: message(error),
                })?);
                chart.raw_values = Some(file.data);
                chart.values_modified = file.modified;
            }
            "values.schema.json" => {
                chart.schema = Some(file.data);
                chart.schema_modified = file.modified;
            }
            "requirements.yaml" => {
                let read = metadata.get_or_insert_default();
                read.read_over("requirements.yaml", &file.data)?;
                if read.api_version == API_VERSION_V1 {
                    chart.files.push(file.into_chart_file());
                }
            }
            "requirements.lock" => {
                chart.lock = Lock::from_yaml("requirements.lock", &file.data)?;
                if metadata.get_or_insert_default().api_version == API_VERSION_V1 {
                    chart.files.push(file.into_chart_file());
                }
            }
            name if name.starts_with("templates/") => chart.templates.push(file.into_chart_file()),
            name => match name.strip_prefix("charts/") {
                Some(inner) if extension(inner) != ".prov" => {
                    let entry = inner.split('/').next().unwrap_or(inner).to_owned();
                    let inner = inner.to_owned();
                    let inner = LoadedFile {
                        name: inner,
                        ..file
                    };
                    subcharts.entry(entry).or_default().push(inner);
                }
                _ => chart.files.push(file.into_chart_file()),
            },
        }
    }

    chart.metadata = metadata.ok_or(ChartError::NoChartYaml)?;
    chart.metadata.validate()?;
    for (name, files) in subcharts {
        if name.starts_with(['_', '.']) {
            continue;
        }
        let subchart = load_subchart(chart.name(), &name, files, budget, depth + 1)?;
        chart.dependencies.push(subchart);
    }
    Ok(chart)
}

fn load_subchart(
    parent: &str,
    name: &str,
    files: Vec<LoadedFile>,
    budget: &mut Budget<'_>,
    depth: usize,
) -> Result<Chart, ChartError> {
    let loaded = if extension(name) == ".tgz" {
        let Some(archive) = files.into_iter().next() else {
            return Err(ChartError::EmptyArchive);
        };
        if archive.name != name {
            return Err(ChartError::SubchartArchive {
                parent: parent.to_owned(),
                expected: name.to_owned(),
                got: archive.name,
            });
        }
        super::archive::read(&archive.data, budget)
            .and_then(|files| load_files(files, budget, depth))
    } else {
        // A file right below charts/ has no folder to cut off: the list gets empty and has no Chart.yaml.
        let inner = |file: LoadedFile| {
            let name = file.name.split_once('/')?.1.to_owned();
            Some(LoadedFile { name, ..file })
        };
        load_files(files.into_iter().filter_map(inner).collect(), budget, depth)
    };
    loaded.map_err(|source| ChartError::Subchart {
        name: name.to_owned(),
        parent: parent.to_owned(),
        source: Box::new(source),
    })
}

impl Chart {
    /// Makes a chart of files in memory: pairs of path and contents, in the order that Helm would read them
    /// (byte order of the paths).
    ///
    /// # Errors
    /// As [`Chart::load_dir`], file system apart.
    pub fn from_files<N, D>(
        files: impl IntoIterator<Item = (N, D)>,
        limits: &ChartLimits,
    ) -> Result<Self, ChartError>
    where
        N: Into<String>,
        D: AsRef<[u8]>,
    {
        let mut budget = Budget::new(limits);
        let mut list = Vec::new();
        for (name, data) in files {
            budget.file()?;
            let size = data.as_ref().len() as u64;
            let limit = limits.max_bytes;
            budget.bytes = budget
                .bytes
                .checked_sub(size)
                .ok_or(ChartError::TooLarge { limit })?;
            list.push(LoadedFile {
                name: name.into(),
                data: without_mark(data.as_ref()).into(),
                modified: None,
            });
        }
        load_files(list, &mut budget, 0)
    }
}
