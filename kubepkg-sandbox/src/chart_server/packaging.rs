//! Packing chart files into archives, the same bytes on every run.
//!
//! Entries are sorted, carry no time, no owner and mode 0644, and stand under `<name>/` as Helm
//! wants them. Refuses nothing: what is packed is the business of the test that asks for it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use flate2::{Compression, GzBuilder};

/// The files of a chart by their path inside the chart.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// Packs the files under `<name>/` into a gzip-compressed tar.
pub(super) fn pack(name: &str, files: &Files) -> io::Result<Vec<u8>> {
    let gzip = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::default());
    let mut archive = tar::Builder::new(gzip);
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, format!("{name}/{path}"), content.as_slice())?;
    }
    archive.into_inner()?.finish()
}

/// Reads a chart folder, files only, with `/` between the parts of a path.
pub(super) fn read_dir(folder: &Path) -> io::Result<Files> {
    let mut files = Files::new();
    let mut pending = vec![(folder.to_path_buf(), String::new())];
    while let Some((dir, prefix)) = pending.pop() {
        for entry in std::fs::read_dir(&dir)? {
            let entry = entry?;
            let name = entry.file_name().into_string().map_err(|name| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("file name {} is not UTF-8", name.display()),
                )
            })?;
            let path = if prefix.is_empty() {
                name
            } else {
                format!("{prefix}/{name}")
            };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                pending.push((entry.path(), path));
            } else if kind.is_file() {
                files.insert(path, std::fs::read(entry.path())?);
            }
        }
    }
    Ok(files)
}

/// A top-level plain field of a `Chart.yaml`, without quotes.
///
/// Reads the simple form that charts made for tests have, not all of YAML.
pub(super) fn chart_field(chart_yaml: &[u8], field: &str) -> Option<String> {
    let text = std::str::from_utf8(chart_yaml).ok()?;
    text.lines().find_map(|line| {
        let value = line.strip_prefix(field)?.strip_prefix(':')?.trim();
        let value = value.split(" #").next().unwrap_or(value).trim();
        let value = value.trim_matches(|c| c == '"' || c == '\'');
        (!value.is_empty()).then(|| value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_the_same_bytes_twice() {
        let files = Files::from([
            ("Chart.yaml".to_owned(), b"name: a\n".to_vec()),
            (
                "templates/cm.yaml".to_owned(),
                b"kind: ConfigMap\n".to_vec(),
            ),
        ]);
        assert_eq!(pack("a", &files).unwrap(), pack("a", &files).unwrap());
    }

    #[test]
    fn entries_stand_under_the_chart_name() {
        let files = Files::from([("Chart.yaml".to_owned(), b"name: a\n".to_vec())]);
        let packed = pack("a", &files).unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed.as_slice()));
        let names: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        assert_eq!(names, ["a/Chart.yaml"]);
    }

    #[test]
    fn reads_plain_fields_only() {
        let chart = b"apiVersion: v2\nname: \"web\" # the site\nversion: 1.2.3\n  name: inner\n";
        assert_eq!(chart_field(chart, "name").as_deref(), Some("web"));
        assert_eq!(chart_field(chart, "version").as_deref(), Some("1.2.3"));
        assert_eq!(chart_field(chart, "icon"), None);
    }
}
