//! PackageSources in files, as `install -f` takes them.
//!
//! A file may hold several documents; each must be a PackageSource of the group that is used, in any version it
//! is served in. The server checks the rest when the document is applied.

use std::io::Read;
use std::path::{Path, PathBuf};

use kubepkg_api::{ApiGroup, DEPRECATED_VERSIONS, VERSION};
use kubepkg_yaml::Limits;
use serde_json::Value;

use crate::error::CliError;

/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// One PackageSource of a file.
#[derive(Clone, Debug)]
pub(crate) struct SourceFile {
    /// The package.
    pub name: String,
    /// The whole document.
    pub document: Value,
    path: PathBuf,
    number: usize,
}

impl SourceFile {
    /// An error about this document.
    pub(crate) fn problem(&self, problem: String) -> CliError {
        CliError::Document {
            path: self.path.clone(),
            number: self.number,
            problem,
        }
    }
}

/// Reads the PackageSources of files, in the order of the files.
///
/// # Errors
/// [`CliError::File`] for a file that cannot be read, [`CliError::Document`] for a document that is not a
/// PackageSource.
pub(crate) fn read(paths: &[PathBuf], group: &ApiGroup) -> Result<Vec<SourceFile>, CliError> {
    let mut sources: Vec<SourceFile> = Vec::new();
    for path in paths {
        let bytes = bytes(path).map_err(|source| CliError::File {
            path: path.clone(),
            source,
        })?;
        for source in parse(path, &bytes, group)? {
            if sources.iter().any(|other| other.name == source.name) {
                return Err(source.problem(format!("PackageSource {} is given twice", source.name)));
            }
            sources.push(source);
        }
    }
    Ok(sources)
}

/// What a file holds; `-` is the standard input, as `kubectl` has it.
fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    if path == Path::new("-") {
        return limited(std::io::stdin().lock(), MAX_FILE);
    }
    limited(std::fs::File::open(path)?, MAX_FILE)
}

/// Everything there is to read, if it is not more than `limit` bytes.
fn limited(input: impl Read, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(limit + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Err(std::io::Error::other(format!(
            "larger than {} MiB",
            limit >> 20
        )));
    }
    Ok(bytes)
}

fn parse(path: &Path, bytes: &[u8], group: &ApiGroup) -> Result<Vec<SourceFile>, CliError> {
    let error = |number: usize, problem: String| CliError::Document {
        path: path.to_owned(),
        number,
        problem,
    };
    let documents = kubepkg_yaml::split_documents(bytes, &Limits::default())
        .map_err(|e| error(1, e.to_string()))?;
    let mut sources = Vec::new();
    for (index, text) in documents.iter().enumerate() {
        let number = index + 1;
        let document =
            kubepkg_yaml::load_strict(&text.text).map_err(|e| error(number, e.to_string()))?;
        if document.is_null() {
            continue;
        }
        let name = check(&document, group).map_err(|problem| error(number, problem))?;
        sources.push(SourceFile {
            name,
            document,
            path: path.to_owned(),
            number,
        });
    }
    Ok(sources)
}

/// The name of the PackageSource that a document is.
fn check(document: &Value, group: &ApiGroup) -> Result<String, String> {
    let text = |pointer: &str| {
        document
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (api_version, kind) = (text("/apiVersion"), text("/kind"));
    let version = api_version
        .strip_prefix(group.as_str())
        .and_then(|rest| rest.strip_prefix('/'));
    if kind != "PackageSource" {
        return Err(format!("kind is {kind:?}, want PackageSource"));
    }
    if !version.is_some_and(|version| version == VERSION || DEPRECATED_VERSIONS.contains(&version))
    {
        return Err(format!(
            "apiVersion is {api_version:?}, want {:?}",
            group.api_version()
        ));
    }
    match text("/metadata/name") {
        "" => Err("metadata.name is missing".to_owned()),
        name => Ok(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<String>, String> {
        parse(Path::new("x.yaml"), text.as_bytes(), &ApiGroup::default())
            .map(|sources| sources.into_iter().map(|source| source.name).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn refuses_what_is_larger_than_the_limit_wherever_it_comes_from() {
        assert_eq!(limited(&b"abcd"[..], 4).unwrap(), b"abcd");
        assert!(limited(&b"abcde"[..], 4).is_err());
    }

    #[test]
    fn several_documents_and_versions() {
        let text = "# c\n---\napiVersion: kubepkg.dev/v1\nkind: PackageSource\nmetadata: {name: a}\n---\n\
                    apiVersion: kubepkg.dev/v1alpha1\nkind: PackageSource\nmetadata: {name: b}\n";
        assert_eq!(parsed(text), Ok(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn other_documents_are_named_in_the_refusal() {
        for (text, problem) in [
            (
                "apiVersion: v1\nkind: ConfigMap\n",
                r#"x.yaml, document 1: kind is "ConfigMap", want PackageSource"#,
            ),
            (
                "apiVersion: other.dev/v1\nkind: PackageSource\n",
                r#"x.yaml, document 1: apiVersion is "other.dev/v1", want "kubepkg.dev/v1""#,
            ),
            (
                "apiVersion: kubepkg.dev/v1\nkind: PackageSource\n",
                "x.yaml, document 1: metadata.name is missing",
            ),
        ] {
            assert_eq!(parsed(text), Err(problem.to_owned()));
        }
        assert!(
            parsed("a: [")
                .unwrap_err()
                .starts_with("x.yaml, document 1: ")
        );
    }
}
