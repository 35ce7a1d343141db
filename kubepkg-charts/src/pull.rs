//! Pulling a chart: from a registry, from a repository, or from the address of an archive, as `helm pull` does.
//!
//! A version may be a constraint; an exact one asks no registry for a list of tags. The archive gets the name that Helm
//! gives it and is written aside and renamed. Its provenance file can be kept beside it, or checked before anything is
//! written (feature `provenance`).

use std::path::{Path, PathBuf};

use bytes::Bytes;
use kubepkg_api::{ChartRef, Digest};
use kubepkg_helm::ChartLimits;
use kubepkg_resolve::Version;
use kubepkg_source::{Charts, FetchError, FetchedChart, OciReference, ReferenceError};

use crate::push::provenance_path;
use crate::repositories::Repositories;
use crate::unpack::{UnpackError, unpack};

/// A chart can't be pulled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PullError {
    /// The text says no chart.
    #[error(
        "{text:?} is no chart: oci://host/path/name, https://host/file.tgz, or repository/name"
    )]
    Address {
        /// What was given.
        text: String,
        /// Why, when it is a broken reference.
        #[source]
        source: Option<ReferenceError>,
    },
    /// Nobody gave a repository this name.
    #[error("there is no repository named {name:?}")]
    Repository {
        /// The name.
        name: String,
    },
    /// Tag and version contradict each other.
    #[error("chart reference and version mismatch: {version} is not {tag}")]
    Mismatch {
        /// What was asked for.
        version: String,
        /// What the reference says.
        tag: String,
    },
    /// The chart can't be had.
    #[error(transparent)]
    Fetch(#[from] Box<FetchError>),
    /// There is no provenance file.
    #[error("{file} has no provenance file")]
    NoProvenance {
        /// The archive.
        file: String,
    },
    /// The provenance file does not vouch for the archive.
    #[cfg(feature = "provenance")]
    #[error("{file} is not what was signed")]
    Provenance {
        /// The archive.
        file: String,
        /// Why.
        #[source]
        source: crate::provenance::ProvenanceError,
    },
    /// The archive can't be unpacked.
    #[error("unpacking {file}")]
    Unpack {
        /// The archive.
        file: String,
        /// Why.
        #[source]
        source: UnpackError,
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

impl From<FetchError> for PullError {
    fn from(error: FetchError) -> Self {
        Self::Fetch(Box::new(error))
    }
}

/// Where a chart is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChartAddress {
    /// A chart of a repository or below a path of a registry.
    In {
        /// `https://…` or `oci://…`.
        repository: String,
        /// The chart's name.
        name: String,
    },
    /// The repository of a registry that is the chart, with its tag or digest if there is one.
    Registry(OciReference),
    /// An archive.
    Archive(String),
}

impl ChartAddress {
    /// Reads what a person calls a chart: `oci://host/path/name[:tag][@digest]`, the address of an archive, or
    /// `repository/name` with a name of `repositories`.
    ///
    /// # Errors
    /// It is none of these.
    pub fn parse(text: &str, repositories: &Repositories) -> Result<Self, PullError> {
        if text.starts_with("oci://") {
            return OciReference::parse(text)
                .map(Self::Registry)
                .map_err(|source| PullError::Address {
                    text: text.to_owned(),
                    source: Some(source),
                });
        }
        if text.starts_with("https://") || text.starts_with("http://") {
            return Ok(Self::Archive(text.to_owned()));
        }
        let Some((repository, name)) = text.split_once('/').filter(|(_, name)| !name.is_empty())
        else {
            return Err(PullError::Address {
                text: text.to_owned(),
                source: None,
            });
        };
        let known = repositories
            .named(repository)
            .ok_or_else(|| PullError::Repository {
                name: repository.to_owned(),
            })?;
        Ok(Self::In {
            repository: known.url.clone(),
            name: name.to_owned(),
        })
    }
}

/// What becomes of a chart's provenance file.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum ProvenanceWish {
    /// It is not asked for.
    #[default]
    Ignore,
    /// It is kept beside the archive when there is one, unchecked.
    Keep,
    /// There must be one, and a key of the ring must have made it.
    #[cfg(feature = "provenance")]
    Check(std::sync::Arc<crate::provenance::Keyring>),
    /// When there is one, a key of the ring must have made it. Without one the chart is taken unchecked
    /// ([`Pulled::signed`] is none), as `helm dependency build --verify` takes it.
    #[cfg(feature = "provenance")]
    CheckIfThere(std::sync::Arc<crate::provenance::Keyring>),
}

/// How a chart is pulled.
#[derive(Debug, Clone, Default)]
pub struct PullOptions {
    /// An exact version, a constraint, or empty for the highest stable one.
    pub version: String,
    /// What becomes of the provenance file.
    pub provenance: ProvenanceWish,
    /// What is read of archives when they are unpacked.
    pub limits: ChartLimits,
}

/// A chart that was pulled, in memory.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Pulled {
    /// The name of its file.
    pub file: String,
    /// The archive.
    pub archive: Bytes,
    /// Its digest.
    pub digest: Digest,
    /// Its provenance file, when it was asked for and is there.
    pub provenance: Option<Bytes>,
    /// Who signed it, when that was checked.
    #[cfg(feature = "provenance")]
    pub signed: Option<crate::provenance::Signed>,
}

impl Pulled {
    /// Writes archive and provenance file into a folder, which is made when it is missing; the archive's path. Blocks.
    ///
    /// # Errors
    /// A file can't be written.
    pub fn save(&self, folder: &Path) -> Result<PathBuf, PullError> {
        let path = folder.join(&self.file);
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| PullError::Io { path, source }
        };
        std::fs::create_dir_all(folder).map_err(io(folder))?;
        if let Some(text) = &self.provenance {
            let beside = provenance_path(&path);
            write_aside(&beside, text).map_err(io(&beside))?;
        }
        write_aside(&path, &self.archive).map_err(io(&path))?;
        Ok(path)
    }

    /// Unpacks the archive below a folder; the chart's folder. Blocks.
    ///
    /// # Errors
    /// The archive is refused, the folder is there already, or can't be written.
    pub fn unpack(&self, below: &Path, limits: &ChartLimits) -> Result<PathBuf, PullError> {
        unpack(&self.archive, below, limits).map_err(|source| PullError::Unpack {
            file: self.file.clone(),
            source,
        })
    }
}

/// Writes beside the file, then renames.
pub(crate) fn write_aside(path: &Path, content: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".part-")
        .tempfile_in(folder)?;
    file.write_all(content)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // What Helm gives archives; the files aside begin with less.
        let readable = std::fs::Permissions::from_mode(0o644);
        file.as_file().set_permissions(readable)?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Pulls a chart into memory.
///
/// # Errors
/// [`PullError`].
pub async fn pull(
    charts: &Charts,
    address: &ChartAddress,
    options: &PullOptions,
) -> Result<Pulled, PullError> {
    let (file, fetched, provenance) = match address {
        ChartAddress::In { repository, name } => {
            let chart = ChartRef {
                repository: repository.clone(),
                name: name.clone(),
                version: options.version.clone(),
                ..ChartRef::default()
            };
            of_reference(charts, chart, options).await?
        }
        ChartAddress::Registry(reference) => of_registry(charts, reference, options).await?,
        ChartAddress::Archive(url) => {
            let fetched = charts.fetch_url(url).await?;
            let provenance = match &options.provenance {
                ProvenanceWish::Ignore => None,
                _ => beside(charts, url).await?,
            };
            let path = url.split(['?', '#']).next().unwrap_or(url);
            let file = path.rsplit('/').next().unwrap_or(path).to_owned();
            (file, fetched, provenance)
        }
    };
    checked(file, fetched, provenance, options)
}

type Found = (String, FetchedChart, Option<Bytes>);

async fn of_reference(
    charts: &Charts,
    mut chart: ChartRef,
    options: &PullOptions,
) -> Result<Found, PullError> {
    chart.version = charts.resolve(&chart).await?;
    let fetched = charts.fetch(&chart).await?;
    let provenance = match &options.provenance {
        ProvenanceWish::Ignore => None,
        _ => charts.provenance(&chart).await?,
    };
    let file = format!("{}-{}.tgz", chart.name, chart.version);
    Ok((file, fetched, provenance))
}

async fn of_registry(
    charts: &Charts,
    reference: &OciReference,
    options: &PullOptions,
) -> Result<Found, PullError> {
    let (path, name) = match reference.repository.rsplit_once('/') {
        Some((path, name)) => (format!("/{path}"), name),
        None => (String::new(), reference.repository.as_str()),
    };
    let tag = reference.tag.replace('_', "+");
    let version = match (options.version.as_str(), tag.as_str()) {
        (version, "") => version,
        ("", tag) => tag,
        (version, tag) if version == tag => version,
        (version, tag) => {
            return Err(PullError::Mismatch {
                version: version.to_owned(),
                tag: tag.to_owned(),
            });
        }
    };
    // A digest says all; a tag that is no version, such as `latest`, is taken as it stands.
    let as_it_stands =
        !reference.digest.is_empty() || (!tag.is_empty() && Version::parse(&tag).is_err());
    if as_it_stands {
        let mut exact = reference.clone();
        if !exact.digest.is_empty() {
            exact.tag.clear();
        }
        let fetched = charts.fetch_reference(&exact).await?;
        let provenance = match &options.provenance {
            ProvenanceWish::Ignore => None,
            _ => charts.reference_provenance(&exact).await?,
        };
        let behind = if version.is_empty() {
            "digest"
        } else {
            version
        };
        return Ok((format!("{name}-{behind}.tgz"), fetched, provenance));
    }
    let chart = ChartRef {
        repository: format!("oci://{}{path}", reference.registry),
        name: name.to_owned(),
        version: version.to_owned(),
        ..ChartRef::default()
    };
    of_reference(charts, chart, options).await
}

/// The provenance file at an address with `.prov` behind it.
async fn beside(charts: &Charts, url: &str) -> Result<Option<Bytes>, PullError> {
    match charts.fetch_url(&format!("{url}.prov")).await {
        Ok(fetched) => Ok(Some(fetched.bytes)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg_attr(
    not(feature = "provenance"),
    expect(clippy::unnecessary_wraps, reason = "only a check can fail")
)]
fn checked(
    file: String,
    fetched: FetchedChart,
    provenance: Option<Bytes>,
    options: &PullOptions,
) -> Result<Pulled, PullError> {
    #[cfg(feature = "provenance")]
    let signed = match (&options.provenance, &provenance) {
        (ProvenanceWish::Check(_), None) => return Err(PullError::NoProvenance { file }),
        (ProvenanceWish::Check(ring) | ProvenanceWish::CheckIfThere(ring), Some(text)) => {
            let now = std::time::SystemTime::now();
            match ring.check(text, &fetched.bytes, &file, now) {
                Ok(signed) => Some(signed),
                Err(source) => return Err(PullError::Provenance { file, source }),
            }
        }
        _ => None,
    };
    #[cfg(not(feature = "provenance"))]
    let _ = options;
    Ok(Pulled {
        file,
        archive: fetched.bytes,
        digest: fetched.digest,
        provenance,
        #[cfg(feature = "provenance")]
        signed,
    })
}
