//! Pushing a chart to a registry, as `helm push` does.
//!
//! The config is `Chart.yaml` as JSON, the layers are the archive and, when there is one, its provenance file, ordered
//! by digest; annotations come from `Chart.yaml`, of which title and version can't be overridden. Config and manifest
//! have the bytes that Helm gives them, so the digests are equal. The repository is the destination with the chart's
//! name, the tag its version with `+` as `_`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use kubepkg_helm::{Chart, ChartError, ChartLimits, Metadata, to_go_json};
use kubepkg_source::{
    Artifact, Blob, ChartLocation, Charts, FetchError, LocationError, Pushed, ReferenceError,
};

const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
const CONTENT: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const PROVENANCE: &str = "application/vnd.cncf.helm.chart.provenance.v1.prov";
const TITLE: &str = "org.opencontainers.image.title";
const VERSION: &str = "org.opencontainers.image.version";

/// A chart can't be pushed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// The archive is no chart.
    #[error("the archive can't be pushed")]
    Chart(#[from] ChartError),
    /// The destination is no registry.
    #[error("{destination:?} is not an oci:// location")]
    Destination {
        /// What was given.
        destination: String,
        /// Why, when it is no location at all.
        #[source]
        source: Option<LocationError>,
    },
    /// Name or version of the chart can't be written in a registry.
    #[error("chart {name} {version} has no place in a registry")]
    Reference {
        /// The chart's name.
        name: String,
        /// Its version.
        version: String,
        /// Why.
        #[source]
        source: ReferenceError,
    },
    /// A file can't be read.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
    /// The metadata has no JSON form.
    #[error("the chart's metadata can't be written")]
    Config(#[source] serde_json::Error),
    /// The registry did not take it.
    #[error("pushing the chart")]
    Registry(#[source] Box<FetchError>),
}

/// A chart to push.
#[derive(Debug, Clone)]
pub struct PushRequest {
    /// The archive.
    pub archive: Bytes,
    /// Its provenance file.
    pub provenance: Option<Bytes>,
    /// Where to: `oci://host/path`, to which the chart's name is added.
    pub destination: String,
    /// The time that the manifest names, RFC 3339; Helm takes when the archive was written.
    pub created: String,
    /// Repositories of the same registry that may have the same archive.
    pub mount_from: Vec<String>,
}

impl PushRequest {
    /// The archive in a file and the provenance file beside it, if there is one. Blocks.
    ///
    /// # Errors
    /// A file can't be read.
    pub fn of_file(path: &Path, destination: &str) -> Result<Self, PushError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| PushError::Io { path, source }
        };
        let archive = std::fs::read(path).map_err(io(path))?;
        let written = std::fs::metadata(path)
            .and_then(|metadata| metadata.modified())
            .map_err(io(path))?;
        let beside = provenance_path(path);
        let provenance = match std::fs::read(&beside) {
            Ok(text) => Some(Bytes::from(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(io(&beside)(error)),
        };
        Ok(Self {
            archive: archive.into(),
            provenance,
            destination: destination.to_owned(),
            created: rfc3339(written),
            mount_from: Vec::new(),
        })
    }
}

/// The provenance file of an archive.
pub(crate) fn provenance_path(archive: &Path) -> PathBuf {
    let mut name = archive.as_os_str().to_owned();
    name.push(".prov");
    PathBuf::from(name)
}

/// Whole seconds with the offset of this machine, as Go's `RFC3339`.
fn rfc3339(time: std::time::SystemTime) -> String {
    let Ok(moment) = jiff::Timestamp::try_from(time) else {
        return String::new();
    };
    let zoned = moment.to_zoned(jiff::tz::TimeZone::system());
    match zoned.offset().seconds() {
        0 => zoned.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        _ => zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
    }
}

/// Pushes a chart.
///
/// # Errors
/// [`PushError`].
pub async fn push(charts: &Charts, request: &PushRequest) -> Result<Pushed, PushError> {
    let destination = |source| PushError::Destination {
        destination: request.destination.clone(),
        source,
    };
    let location = match ChartLocation::parse(&request.destination) {
        Ok(ChartLocation::Oci(location)) => location,
        Ok(_) => return Err(destination(None)),
        Err(error) => return Err(destination(Some(error))),
    };
    let archive = request.archive.clone();
    let limits = ChartLimits::default();
    let loaded = tokio::task::spawn_blocking(move || Chart::load_archive(&archive, &limits));
    let chart = loaded.await.map_err(|error| PushError::Io {
        path: PathBuf::new(),
        source: std::io::Error::other(error),
    })??;
    let artifact = artifact(&chart.metadata, request)?;
    let reference = location
        .reference(&chart.metadata.name, &chart.metadata.version)
        .map_err(|source| PushError::Reference {
            name: chart.metadata.name.clone(),
            version: chart.metadata.version.clone(),
            source,
        })?;
    charts
        .push(&reference, &artifact)
        .await
        .map_err(|error| PushError::Registry(Box::new(error)))
}

/// What is pushed for a chart with this metadata.
fn artifact(metadata: &Metadata, request: &PushRequest) -> Result<Artifact, PushError> {
    let blob = |media_type: &str, content: Bytes| Blob {
        media_type: media_type.to_owned(),
        content,
    };
    let mut layers = vec![blob(CONTENT, request.archive.clone())];
    layers.extend(
        request
            .provenance
            .clone()
            .map(|text| blob(PROVENANCE, text)),
    );
    layers.sort_by_key(|layer| layer.descriptor().digest);
    let config = to_go_json(metadata).map_err(PushError::Config)?;
    Ok(Artifact {
        config: blob(CONFIG, config.into()),
        layers,
        annotations: annotations(metadata, &request.created),
        mount_from: request.mount_from.clone(),
    })
}

/// The manifest's annotations.
fn annotations(metadata: &Metadata, created: &str) -> BTreeMap<String, String> {
    let authors: Vec<String> = metadata
        .maintainers
        .iter()
        .flatten()
        .map(|person| match person.email.as_str() {
            "" => person.name.clone(),
            email => format!("{} ({email})", person.name),
        })
        .collect();
    let source = metadata.sources.first().map_or("", String::as_str);
    let mut annotations: BTreeMap<String, String> = [
        (
            "org.opencontainers.image.description",
            metadata.description.as_str(),
        ),
        (TITLE, &metadata.name),
        (VERSION, &metadata.version),
        ("org.opencontainers.image.url", &metadata.home),
        ("org.opencontainers.image.created", created),
        ("org.opencontainers.image.source", source),
        ("org.opencontainers.image.authors", &authors.join(", ")),
    ]
    .into_iter()
    .filter(|(_, text)| !text.trim().is_empty())
    .map(|(key, text)| (key.to_owned(), text.to_owned()))
    .collect();
    for (key, text) in &metadata.annotations {
        if key != TITLE && key != VERSION {
            annotations.insert(key.clone(), text.clone());
        }
    }
    annotations
}
