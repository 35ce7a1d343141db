//! What a [`ChartServer`](super::ChartServer) has: charts, and the registry's manifests and blobs.
//!
//! Media types are those that Helm pushes with. A chart added to the server stands in the Helm
//! repository and in the registry; what a client pushes stands in the registry alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The media type of OCI image manifests.
pub(super) const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of a chart's config: `Chart.yaml` as JSON.
const CONFIG_TYPE: &str = "application/vnd.cncf.helm.config.v1+json";
/// The media type of the layer that is the chart archive.
const CHART_TYPE: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
/// The media type of the layer that is the provenance file; never read by kubepkg.
const PROVENANCE_TYPE: &str = "application/vnd.cncf.helm.chart.provenance.v1.prov";

/// One version of a chart.
#[derive(Debug, Clone)]
pub(super) struct StoredChart {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) archive: Bytes,
    pub(super) digest: String,
}

impl StoredChart {
    /// The file name in the Helm repository.
    pub(super) fn file_name(&self) -> String {
        format!("{}-{}.tgz", self.name, self.version)
    }
}

/// A manifest as it was pushed.
#[derive(Debug, Clone)]
pub(super) struct Manifest {
    pub(super) media_type: String,
    pub(super) body: Bytes,
    pub(super) digest: String,
}

/// Everything that the server can answer with.
#[derive(Debug, Default)]
pub(super) struct Store {
    charts: Vec<StoredChart>,
    blobs: BTreeMap<String, Bytes>,
    /// By repository, then by tag or digest.
    manifests: BTreeMap<String, BTreeMap<String, Manifest>>,
    uploads: BTreeMap<u64, Vec<u8>>,
    next_upload: u64,
    absolute_urls: bool,
    index_digests: bool,
    fixed_index: Option<String>,
}

impl Store {
    pub(super) fn new(
        absolute_urls: bool,
        index_digests: bool,
        fixed_index: Option<String>,
    ) -> Self {
        Self {
            absolute_urls,
            index_digests,
            fixed_index,
            ..Self::default()
        }
    }

    /// Adds a version of a chart, replacing one of the same name and version.
    pub(super) fn add(&mut self, name: &str, version: &str, archive: Bytes) -> String {
        let digest = digest_of(&archive);
        self.charts
            .retain(|chart| chart.name != name || chart.version != version);
        self.charts.push(StoredChart {
            name: name.to_owned(),
            version: version.to_owned(),
            archive: archive.clone(),
            digest: digest.clone(),
        });
        let config = json!({ "apiVersion": "v2", "name": name, "version": version });
        let config = Bytes::from(config.to_string());
        // A provenance layer before the chart: the reader has to choose by media type.
        let provenance = Bytes::from_static(b"not signed\n");
        let manifest = json!({
            "schemaVersion": 2,
            "config": descriptor(CONFIG_TYPE, &config),
            "layers": [descriptor(PROVENANCE_TYPE, &provenance), descriptor(CHART_TYPE, &archive)],
            "annotations": {
                "org.opencontainers.image.title": name,
                "org.opencontainers.image.version": version,
            },
        });
        for blob in [config, provenance, archive] {
            self.blobs.insert(digest_of(&blob), blob);
        }
        let body = Bytes::from(manifest.to_string());
        self.put_manifest(&repository_of(name), &tag_of(version), MANIFEST_TYPE, body);
        digest
    }

    pub(super) fn chart(&self, name: &str, version: &str) -> Option<&StoredChart> {
        self.charts
            .iter()
            .find(|chart| chart.name == name && chart.version == version)
    }

    pub(super) fn chart_by_file(&self, file: &str) -> Option<&StoredChart> {
        self.charts.iter().find(|chart| chart.file_name() == file)
    }

    /// The text of `index.yaml` and its entity tag.
    pub(super) fn index(&self, base_url: &str) -> (Bytes, String) {
        if let Some(text) = &self.fixed_index {
            let tag = format!("\"{}\"", digest_of(text.as_bytes()));
            return (Bytes::from(text.clone()), tag);
        }
        let names: BTreeSet<&str> = self
            .charts
            .iter()
            .map(|chart| chart.name.as_str())
            .collect();
        let mut text = String::from("apiVersion: v1\nentries:\n");
        if names.is_empty() {
            text = String::from("apiVersion: v1\nentries: {}\n");
        }
        for name in names {
            let _ = writeln!(text, "  {}:", quoted(name));
            for chart in self.charts.iter().filter(|chart| chart.name == name).rev() {
                let file = chart.file_name();
                let url = if self.absolute_urls {
                    format!("{base_url}/{file}")
                } else {
                    file
                };
                let _ = writeln!(text, "  - apiVersion: v2\n    name: {}", quoted(name));
                let _ = writeln!(text, "    version: {}", quoted(&chart.version));
                let _ = writeln!(text, "    created: \"2024-01-01T00:00:00Z\"");
                if self.index_digests {
                    // Helm writes the bare hexadecimal form.
                    let hex = chart.digest.trim_start_matches("sha256:");
                    let _ = writeln!(text, "    digest: {hex}");
                }
                let _ = writeln!(text, "    urls:\n    - {}", quoted(&url));
            }
        }
        text.push_str("generated: \"2024-01-01T00:00:00Z\"\n");
        let tag = format!("\"{}\"", digest_of(text.as_bytes()));
        (Bytes::from(text), tag)
    }

    pub(super) fn manifest(&self, repository: &str, reference: &str) -> Option<&Manifest> {
        self.manifests.get(repository)?.get(reference)
    }

    pub(super) fn put_manifest(
        &mut self,
        repository: &str,
        reference: &str,
        media_type: &str,
        body: Bytes,
    ) -> String {
        let digest = digest_of(&body);
        let manifest = Manifest {
            media_type: media_type.to_owned(),
            body,
            digest: digest.clone(),
        };
        let of_repository = self.manifests.entry(repository.to_owned()).or_default();
        of_repository.insert(digest.clone(), manifest.clone());
        of_repository.insert(reference.to_owned(), manifest);
        digest
    }

    /// The tags of a repository, sorted; `None` when there is no such repository.
    pub(super) fn tags(&self, repository: &str) -> Option<Vec<&str>> {
        let references = self.manifests.get(repository)?.keys();
        Some(
            references
                .map(String::as_str)
                .filter(|name| !name.contains(':'))
                .collect(),
        )
    }

    pub(super) fn blob(&self, digest: &str) -> Option<&Bytes> {
        self.blobs.get(digest)
    }

    /// The digest of the layer that holds the chart, from the manifest of a tag.
    pub(super) fn chart_layer(&self, repository: &str, tag: &str) -> Option<String> {
        let manifest: Value = serde_json::from_slice(&self.manifest(repository, tag)?.body).ok()?;
        let layers = manifest.get("layers")?.as_array()?;
        let layer = layers
            .iter()
            .find(|layer| layer["mediaType"] == CHART_TYPE)?;
        layer["digest"].as_str().map(str::to_owned)
    }

    pub(super) fn begin_upload(&mut self) -> u64 {
        self.next_upload += 1;
        self.uploads.insert(self.next_upload, Vec::new());
        self.next_upload
    }

    /// Adds a chunk; the number of bytes so far, or `None` when there is no such upload.
    pub(super) fn append_upload(&mut self, id: u64, chunk: &[u8]) -> Option<usize> {
        let upload = self.uploads.get_mut(&id)?;
        upload.extend_from_slice(chunk);
        Some(upload.len())
    }

    /// Ends an upload; `false` when there is none or its bytes have another digest.
    pub(super) fn finish_upload(&mut self, id: u64, digest: &str) -> bool {
        match self.uploads.remove(&id) {
            Some(bytes) if digest_of(&bytes) == digest => {
                self.blobs.insert(digest.to_owned(), Bytes::from(bytes));
                true
            }
            _ => false,
        }
    }
}

/// The repository in the registry that holds a chart.
pub(super) fn repository_of(name: &str) -> String {
    format!("charts/{name}")
}

/// The tag of a version: `+` is not allowed in tags, Helm writes `_`.
pub(super) fn tag_of(version: &str) -> String {
    version.replace('+', "_")
}

/// `sha256:` and the hexadecimal digest of the bytes.
pub(super) fn digest_of(bytes: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn descriptor(media_type: &str, content: &Bytes) -> Value {
    json!({ "mediaType": media_type, "digest": digest_of(content), "size": content.len() })
}

/// A string as JSON, which is YAML too.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_sha256() {
        // The digest of the empty text, as published in FIPS 180 test data.
        assert_eq!(
            digest_of(b""),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn a_chart_stands_in_index_and_registry() {
        let mut store = Store::new(false, true, None);
        let digest = store.add("web", "1.0.0+b", Bytes::from_static(b"archive"));
        let (index, _) = store.index("http://h/charts");
        let index = String::from_utf8(index.to_vec()).unwrap();
        assert!(index.contains("    - \"web-1.0.0+b.tgz\"\n"), "{index}");
        assert!(
            index.contains(digest.trim_start_matches("sha256:")),
            "{index}"
        );
        assert_eq!(
            store.chart_layer("charts/web", "1.0.0_b"),
            Some(digest.clone())
        );
        assert_eq!(store.blob(&digest).unwrap(), "archive");
        assert_eq!(store.tags("charts/web"), Some(vec!["1.0.0_b"]));
    }

    #[test]
    fn an_upload_needs_its_digest() {
        let mut store = Store::default();
        let id = store.begin_upload();
        assert_eq!(store.append_upload(id, b"ab"), Some(2));
        assert!(!store.finish_upload(id, &digest_of(b"x")));
        assert!(
            !store.finish_upload(id, &digest_of(b"ab")),
            "the upload is gone"
        );
    }
}
