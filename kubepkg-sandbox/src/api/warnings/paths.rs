//! Files of one volume that would stand in one place: `warningsForOverlappingVirtualPaths` of Kubernetes.

use serde_json::Value;

use crate::api::object::{list, text};

/// A file of a volume.
struct File {
    path: String,
    /// What it comes from, where a volume has several sources.
    source: String,
}

impl File {
    fn overlaps(&self, other: &Self) -> bool {
        let within = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        within(&self.path, &other.path) || within(&other.path, &self.path)
    }

    fn shown(&self) -> String {
        if self.source.is_empty() {
            format!("{:?}", self.path)
        } else {
            format!("{:?} ({})", self.path, self.source)
        }
    }
}

/// What is said of the files of volumes.
pub(super) fn look(volumes: &Value, said: &mut Vec<String>) {
    for volume in list(volumes) {
        let name = text(volume, "name");
        for (kind, from) in [
            ("configMap", "name"),
            ("secret", "secretName"),
            ("downwardAPI", ""),
        ] {
            let files = files(&volume[kind]["items"], "");
            overlaps(
                name,
                &described(kind, &volume[kind], from),
                vec![files],
                said,
            );
        }
        let mut sources = Vec::new();
        for source in list(&volume["projected"]["sources"]) {
            if source.as_object().is_some_and(serde_json::Map::is_empty) {
                said.push(format!(
                    "volume {name:?} (Projected) has no sources provided"
                ));
                continue;
            }
            for kind in ["configMap", "secret", "downwardAPI"] {
                let described = described(kind, &source[kind], "name");
                sources.push(files(&source[kind]["items"], &described));
            }
            for (kind, shown) in [
                ("serviceAccountToken", "ServiceAccountToken"),
                ("clusterTrustBundle", "ClusterTrustBundle"),
            ] {
                let from = &source[kind];
                let named = [text(from, "name"), text(from, "signerName")];
                let of = named.iter().find(|name| !name.is_empty());
                let shown = of.map_or(shown.to_owned(), |of| format!("{shown} {of:?}"));
                if !from.is_null() {
                    sources.push(vec![file(from, &shown)]);
                }
            }
        }
        overlaps(name, "Projected", sources, said);
    }
}

fn described(kind: &str, source: &Value, field: &str) -> String {
    match kind {
        "configMap" => format!("ConfigMap {:?}", text(source, field)),
        "secret" => format!("Secret {:?}", text(source, field)),
        _ => "DownwardAPI".to_owned(),
    }
}

fn file(item: &Value, source: &str) -> File {
    File {
        path: text(item, "path").trim_end_matches('/').to_owned(),
        source: source.to_owned(),
    }
}

fn files(items: &Value, source: &str) -> Vec<File> {
    list(items).map(|item| file(item, source)).collect()
}

/// Each file is compared with those before it.
fn overlaps(volume: &str, described: &str, sources: Vec<Vec<File>>, said: &mut Vec<String>) {
    let mut seen: Vec<File> = Vec::new();
    for file in sources.into_iter().flatten() {
        for other in seen.iter().filter(|other| file.overlaps(other)) {
            said.push(format!(
                "volume {volume:?} ({described}): overlapping paths: {} with {}",
                file.shown(),
                other.shown()
            ));
        }
        seen.push(file);
    }
}
