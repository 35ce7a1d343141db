//! What a [`ChartServer`] is made of: charts as folders, files or archives, and who may read them.

use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::auth::Auth;
use super::packaging::{self, Files};
use super::store::Store;
use super::{ChartServer, ChartServerError};

/// What a chart is made from.
pub(super) enum Content {
    Files(Files),
    Folder(PathBuf),
    Archive(Bytes),
}

/// Describes a [`ChartServer`] before it starts.
#[derive(Default)]
pub struct ChartServerBuilder {
    charts: Vec<(Option<(String, String)>, Content)>,
    auth: Auth,
    absolute_urls: bool,
    no_index_digests: bool,
    index: Option<String>,
    ranges: bool,
}

impl ChartServerBuilder {
    /// Adds a chart made of files, by path inside the chart. A missing `Chart.yaml` is written.
    #[must_use]
    pub fn chart<P: Into<String>, C: Into<Vec<u8>>>(
        mut self,
        name: &str,
        version: &str,
        files: impl IntoIterator<Item = (P, C)>,
    ) -> Self {
        let files = collect(files);
        self.charts.push((
            Some((name.to_owned(), version.to_owned())),
            Content::Files(files),
        ));
        self
    }

    /// Adds the chart in a folder, with the name and version of its `Chart.yaml`.
    #[must_use]
    pub fn chart_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.charts.push((None, Content::Folder(folder.into())));
        self
    }

    /// Adds a ready archive, served as it is.
    #[must_use]
    pub fn archive(mut self, name: &str, version: &str, archive: impl Into<Bytes>) -> Self {
        let identity = Some((name.to_owned(), version.to_owned()));
        self.charts
            .push((identity, Content::Archive(archive.into())));
        self
    }

    /// Asks for basic authentication, in the Helm repository and in the registry.
    #[must_use]
    pub fn basic_auth(mut self, user: &str, password: &str) -> Self {
        self.auth = Auth::Basic {
            user: user.to_owned(),
            password: password.to_owned(),
        };
        self
    }

    /// Asks for basic authentication in the Helm repository, for tokens in the registry. The token
    /// service also takes the password as an identity token (OAuth2 `refresh_token`).
    #[must_use]
    pub fn token_auth(mut self, user: &str, password: &str) -> Self {
        self.auth = Auth::Token {
            user: user.to_owned(),
            password: password.to_owned(),
        };
        self
    }

    /// Writes absolute URLs into the index; relative ones are the default.
    #[must_use]
    pub fn absolute_urls(mut self) -> Self {
        self.absolute_urls = true;
        self
    }

    /// Answers requests for a part of a file; otherwise the whole is sent.
    #[must_use]
    pub fn ranges(mut self) -> Self {
        self.ranges = true;
        self
    }

    /// Leaves the digests out of the index.
    #[must_use]
    pub fn without_index_digests(mut self) -> Self {
        self.no_index_digests = true;
        self
    }

    /// Serves this text as `index.yaml` instead of the one made from the charts.
    #[must_use]
    pub fn index(mut self, text: impl Into<String>) -> Self {
        self.index = Some(text.into());
        self
    }

    /// Packs the charts and starts the server on a free port.
    ///
    /// # Errors
    ///
    /// A chart can't be read or packed, or loopback can't be listened on.
    pub fn start(self) -> Result<ChartServer, ChartServerError> {
        let mut store = Store::new(self.absolute_urls, !self.no_index_digests, self.index);
        for (identity, content) in self.charts {
            let (name, version, archive) = packed(identity, content)?;
            store.add(&name, &version, archive);
        }
        ChartServer::serve(store, self.auth, self.ranges).map_err(ChartServerError::Start)
    }
}

pub(super) fn collect<P: Into<String>, C: Into<Vec<u8>>>(
    files: impl IntoIterator<Item = (P, C)>,
) -> Files {
    files
        .into_iter()
        .map(|(path, content)| (path.into(), content.into()))
        .collect()
}

pub(super) fn packed(
    identity: Option<(String, String)>,
    content: Content,
) -> Result<(String, String, Bytes), ChartServerError> {
    let (mut files, folder) = match content {
        Content::Archive(archive) => {
            let (name, version) = identity.unwrap_or_default();
            return Ok((name, version, archive));
        }
        Content::Files(files) => (files, None),
        Content::Folder(folder) => {
            let files = packaging::read_dir(&folder).map_err(|source| ChartServerError::Pack {
                chart: folder.display().to_string(),
                source,
            })?;
            (files, Some(folder))
        }
    };
    let (name, version) = match identity {
        Some(identity) => identity,
        None => identity_of(&files, folder.as_deref().unwrap_or_else(|| Path::new("")))?,
    };
    files.entry("Chart.yaml".to_owned()).or_insert_with(|| {
        format!("apiVersion: v2\nname: {name}\nversion: \"{version}\"\n").into_bytes()
    });
    let archive = packaging::pack(&name, &files).map_err(|source| ChartServerError::Pack {
        chart: name.clone(),
        source,
    })?;
    Ok((name, version, Bytes::from(archive)))
}

fn identity_of(files: &Files, folder: &Path) -> Result<(String, String), ChartServerError> {
    let chart_yaml = files
        .get("Chart.yaml")
        .map(Vec::as_slice)
        .unwrap_or_default();
    let field = |field: &'static str| {
        packaging::chart_field(chart_yaml, field).ok_or_else(|| ChartServerError::Field {
            field,
            path: folder.join("Chart.yaml"),
        })
    };
    Ok((field("name")?, field("version")?))
}
