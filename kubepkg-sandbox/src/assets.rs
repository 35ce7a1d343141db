//! Where the programs of the control plane are found.
//!
//! The rule, in this order:
//!
//! 1. `KUBEBUILDER_ASSETS` (the variable that envtest made known) names the folder itself;
//! 2. `KUBEPKG_ASSETS_DIR` names the cache that `cargo xtask assets` fills; the programs are in
//!    its `current/bin`;
//! 3. otherwise that cache is `$XDG_CACHE_HOME/kubepkg/assets` or `~/.cache/kubepkg/assets`.
//!
//! Nothing is downloaded or built here: a missing program is an error that names the command to
//! run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::{Result, SandboxError};

/// The folder that holds the programs of a control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assets {
    folder: PathBuf,
}

impl Assets {
    /// Finds the folder by the rule of this module.
    ///
    /// # Errors
    ///
    /// [`SandboxError::NoAssets`] when no place of the rule exists.
    pub fn find() -> Result<Self> {
        Self::find_in(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
    }

    /// Takes `folder` as it is.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    fn find_in(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        if let Some(folder) = variable("KUBEBUILDER_ASSETS") {
            return Ok(Self::in_folder(folder));
        }
        let cache = variable("KUBEPKG_ASSETS_DIR")
            .map(PathBuf::from)
            .or_else(|| {
                variable("XDG_CACHE_HOME").map(|home| Path::new(&home).join("kubepkg/assets"))
            })
            .or_else(|| {
                variable("HOME").map(|home| Path::new(&home).join(".cache/kubepkg/assets"))
            });
        let Some(cache) = cache else {
            return Err(SandboxError::NoAssets {
                searched: "KUBEBUILDER_ASSETS, KUBEPKG_ASSETS_DIR and HOME are not set".to_owned(),
            });
        };
        let folder = cache.join("current/bin");
        if folder.is_dir() {
            Ok(Self { folder })
        } else {
            Err(SandboxError::NoAssets {
                searched: folder.display().to_string(),
            })
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of one program: `etcd`, `kube-apiserver`, `kube-controller-manager`, `kubectl`
    /// or `helm`.
    ///
    /// # Errors
    ///
    /// [`SandboxError::MissingProgram`] when the folder does not hold it.
    pub fn program(&self, program: &str) -> Result<PathBuf> {
        let path = self.folder.join(program);
        if path.is_file() {
            Ok(path)
        } else {
            Err(SandboxError::MissingProgram {
                program: program.to_owned(),
                folder: self.folder.clone(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubebuilder_assets_wins() {
        let found = Assets::find_in(|name| match name {
            "KUBEBUILDER_ASSETS" => Some("/a".into()),
            "HOME" => Some("/h".into()),
            _ => None,
        });
        assert_eq!(found.unwrap(), Assets::in_folder("/a"));
    }

    #[test]
    fn names_the_command_when_nothing_is_there() {
        let text = Assets::find_in(|name| (name == "HOME").then(|| "/nowhere".into()))
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("/nowhere/.cache/kubepkg/assets/current/bin"),
            "{text}"
        );
        assert!(text.contains("cargo xtask assets"), "{text}");
    }

    #[test]
    fn names_the_command_when_one_program_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let text = Assets::in_folder(folder.path())
            .program("etcd")
            .unwrap_err()
            .to_string();
        assert!(text.contains("etcd is missing in"), "{text}");
        assert!(text.contains("cargo xtask assets"), "{text}");
    }

    #[test]
    fn cache_is_found_through_its_current_link() {
        let cache = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(cache.path().join("current/bin")).unwrap();
        let root = cache.path().as_os_str().to_owned();
        let found = Assets::find_in(|name| (name == "KUBEPKG_ASSETS_DIR").then(|| root.clone()));
        assert_eq!(found.unwrap().folder(), cache.path().join("current/bin"));
    }
}
