//! The real `helm`, with a home of its own, and charts made of files.

use std::path::{Path, PathBuf};
use std::process::Command;

use kubepkg_sandbox::Assets;
use tempfile::TempDir;

/// A home for `helm` and a folder to work in.
pub(crate) struct Helm {
    program: PathBuf,
    folder: TempDir,
}

impl Helm {
    pub(crate) fn new() -> Self {
        Self {
            program: Assets::find().unwrap().program("helm").unwrap(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// A path in the folder to work in.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where `helm registry login` keeps what it learns.
    pub(crate) fn registry_config(&self) -> PathBuf {
        self.path("home/registry.json")
    }

    /// Runs `helm` in the folder; its output, or what it complains about.
    pub(crate) fn try_run(&self, arguments: &[&str]) -> Result<String, String> {
        let home = self.path("home");
        std::fs::create_dir_all(&home).unwrap();
        let output = Command::new(&self.program)
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", &home)
            .env("HELM_REGISTRY_CONFIG", self.registry_config())
            .env("PATH", "/usr/bin:/bin")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() {
            Ok(text(output.stdout))
        } else {
            Err(text(output.stderr))
        }
    }

    /// Runs `helm`, which must succeed.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        match self.try_run(arguments) {
            Ok(output) => output,
            Err(error) => panic!("helm {}: {error}", arguments.join(" ")),
        }
    }

    /// Writes a chart's folder.
    pub(crate) fn chart(&self, folder: &str, chart_yaml: &str) -> PathBuf {
        let path = self.path(folder);
        write(&path.join("Chart.yaml"), chart_yaml);
        write(&path.join("values.yaml"), "a: 1\n");
        write(
            &path.join("templates/cm.yaml"),
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n",
        );
        path
    }

    /// Packs a chart's folder with Helm.
    pub(crate) fn package(&self, folder: &str) -> PathBuf {
        let output = self.run(&["package", folder]);
        let (_, path) = output.trim().rsplit_once(": ").unwrap();
        PathBuf::from(path)
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// The files below a folder with their contents.
pub(crate) fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    fn walk(folder: &Path, below: &str, found: &mut Vec<(String, Vec<u8>)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let name = format!("{below}{name}");
            if path.is_dir() {
                walk(&path, &format!("{name}/"), found);
            } else {
                found.push((name, std::fs::read(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, "", &mut found);
    found.sort();
    found
}

/// The names of [`tree`].
pub(crate) fn names(folder: &Path) -> Vec<String> {
    tree(folder).into_iter().map(|(name, _)| name).collect()
}
