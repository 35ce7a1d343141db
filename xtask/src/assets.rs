//! `cargo xtask assets`: the programs of the test control plane, built from source once.
//!
//! `tools/control-plane/` holds two Go modules without Go code; their `go.mod` and `go.sum` pin
//! everything. The programs land in a cache folder named by a digest of those four files, the Go
//! version and the flags, so that a change of any of them builds anew and nothing else does. A
//! build happens in a folder aside that is renamed when all is there: an interrupted one leaves
//! no half-filled folder behind, and goes on from Go's own build cache.
//!
//! The cache is `$KUBEPKG_ASSETS_DIR`, else `$XDG_CACHE_HOME/kubepkg/assets`, else
//! `~/.cache/kubepkg/assets`; `current` in it points at the latest programs, which is where
//! `kubepkg-sandbox` looks. `KUBEBUILDER_ASSETS` names ready programs and wins.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use crate::run::{Failure, Result, built, file, output, root, run};

/// The Kubernetes of `cluster/go.mod`. Without it the server calls itself by a version that no
/// parser takes.
const KUBERNETES: &str = "v1.36.3";
/// The Helm of `helm/go.mod`.
const HELM: &str = "v4.3.1";
/// What to do without Go.
const GO_HINT: &str = "Go builds the programs of the test control plane; install Go 1.26 or newer \
     (https://go.dev/dl, or `apt-get install golang-go` where that is 1.21 or newer, which fetches \
     the rest itself), or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, \
     kube-controller-manager, kubectl and helm";

/// One program: its name, the module folder, and the Go package.
struct Program(&'static str, &'static str, &'static str);

const PROGRAMS: &[Program] = &[
    // Its package path ends in `server/v3`; the name has to be given.
    Program("etcd", "cluster", "go.etcd.io/etcd/server/v3"),
    Program(
        "kube-apiserver",
        "cluster",
        "k8s.io/kubernetes/cmd/kube-apiserver",
    ),
    Program(
        "kube-controller-manager",
        "cluster",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
    ),
    Program("kubectl", "cluster", "k8s.io/kubernetes/cmd/kubectl"),
    Program("helm", "helm", "helm.sh/helm/v4/cmd/helm"),
];

/// Finds or builds the programs and returns their folder.
pub(crate) fn ensure() -> Result<PathBuf> {
    if let Some(folder) = variable("KUBEBUILDER_ASSETS") {
        let folder = PathBuf::from(folder);
        return match missing_in(&folder) {
            None => Ok(folder),
            Some(name) => Err(Failure::Message(format!(
                "KUBEBUILDER_ASSETS is {}, which lacks {name}; add it, or unset the variable to \
                 build all of them",
                folder.display()
            ))),
        };
    }
    let modules = root().join("tools/control-plane");
    let go = go_version(&modules)?;
    let cache = cache()?;
    fs::create_dir_all(&cache).map_err(file("create", &cache))?;
    let key = key(&modules, &go)?;
    let folder = cache.join(&key);
    let bin = folder.join("bin");
    if missing_in(&bin).is_none() {
        point(&cache, &key)?;
        return Ok(bin);
    }

    // One build at a time; the second finds what the first has made.
    let lock = cache.join("lock");
    let lock = File::create(&lock).map_err(file("create", &lock))?;
    lock.lock().map_err(file("lock", &cache))?;
    if missing_in(&bin).is_some() {
        build(&modules, &cache, &folder)?;
    }
    point(&cache, &key)?;
    Ok(bin)
}

/// Removes Go's build cache and the programs of earlier keys.
pub(crate) fn clean() -> Result<()> {
    let cache = cache()?;
    let current = fs::read_link(cache.join("current")).ok();
    for entry in fs::read_dir(&cache)
        .map_err(file("read", &cache))?
        .flatten()
    {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_key = name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_old = is_key && current.as_deref() != Some(Path::new(&name));
        if is_old || name == "go-build" || name == "unfinished" {
            println!("removing {}", path.display());
            fs::remove_dir_all(&path).map_err(file("remove", &path))?;
        }
    }
    Ok(())
}

/// Builds the Go program in a folder of `tools/` that is made of Helm's code, and returns its path.
pub(crate) fn helm_tool(name: &str) -> Result<PathBuf> {
    let path = built()?.join(name);
    let mut go = go_command(&root().join("tools").join(name), &cache()?);
    go.args(["build", "-trimpath", "-ldflags", &flags("helm"), "-o"]);
    run(go.arg(&path).arg("."), GO_HINT)?;
    Ok(path)
}

/// Builds everything aside and moves it into place.
fn build(modules: &Path, cache: &Path, folder: &Path) -> Result<()> {
    let aside = cache.join("unfinished");
    if aside.exists() {
        fs::remove_dir_all(&aside).map_err(file("remove", &aside))?;
    }
    let bin = aside.join("bin");
    fs::create_dir_all(&bin).map_err(file("create", &bin))?;
    println!(
        "building {} programs of the test control plane from source into {}\n\
         (once; about seven minutes on two cores, one of them downloading)",
        PROGRAMS.len(),
        folder.display()
    );
    let start = Instant::now();
    for (number, Program(name, module, package)) in PROGRAMS.iter().enumerate() {
        let begun = Instant::now();
        println!("  [{}/{}] {name}", number + 1, PROGRAMS.len());
        let mut go = go_command(&modules.join(module), cache);
        go.args(["build", "-trimpath", "-ldflags", &flags(module)]);
        go.arg("-o").arg(bin.join(name)).arg(package);
        run(&mut go, GO_HINT)?;
        println!("        {} s", begun.elapsed().as_secs());
    }
    if folder.exists() {
        // Left by a removal that was interrupted.
        fs::remove_dir_all(folder).map_err(file("remove", folder))?;
    }
    fs::rename(&aside, folder).map_err(file("rename to", folder))?;
    println!("done in {} s", start.elapsed().as_secs());
    if variable("GOCACHE").is_none() {
        println!("Go's build cache takes about 4 GB; `cargo xtask assets --clean` removes it");
    }
    Ok(())
}

/// Go in one of the modules, with settings that do not depend on the machine.
fn go_command(module: &Path, cache: &Path) -> Command {
    let mut go = Command::new("go");
    go.current_dir(module)
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly -buildvcs=false")
        .env("GOWORK", "off");
    if variable("GOCACHE").is_none() {
        go.env("GOCACHE", cache.join("go-build"));
    }
    if variable("HOME").is_none() && variable("GOPATH").is_none() {
        go.env("GOPATH", cache.join("go"));
    }
    go
}

/// Linker settings: no symbols, and the version that the program reports.
fn flags(module: &str) -> String {
    if module == "helm" {
        format!("-s -w -X helm.sh/helm/v4/internal/version.version={HELM}")
    } else {
        format!(
            "-s -w -X k8s.io/component-base/version.gitVersion={KUBERNETES} \
             -X k8s.io/client-go/pkg/version.gitVersion={KUBERNETES}"
        )
    }
}

/// Version and platform of Go. Asked inside the module, where a newer toolchain may be chosen.
fn go_version(modules: &Path) -> Result<String> {
    let mut go = Command::new("go");
    go.current_dir(modules.join("cluster"))
        .args(["env", "GOVERSION", "GOOS", "GOARCH"]);
    let text = output(&mut go, GO_HINT).map_err(|failure| match failure {
        Failure::Program { .. } => Failure::Message(format!("{failure}\n{GO_HINT}")),
        other => other,
    })?;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Names the folder of programs by all that they are made of.
fn key(modules: &Path, go: &str) -> Result<String> {
    let mut hash = Sha256::new();
    for name in [
        "cluster/go.mod",
        "cluster/go.sum",
        "helm/go.mod",
        "helm/go.sum",
    ] {
        let path = modules.join(name);
        hash.update(fs::read(&path).map_err(file("read", &path))?);
        hash.update([0]);
    }
    for text in [go, &flags("cluster"), &flags("helm")] {
        hash.update(text);
        hash.update([0]);
    }
    let digest = hash.finalize();
    Ok(digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .concat())
}

/// Points `current` at a key, in one step.
fn point(cache: &Path, key: &str) -> Result<()> {
    let current = cache.join("current");
    if fs::read_link(&current).is_ok_and(|target| target == Path::new(key)) {
        return Ok(());
    }
    let new = cache.join(format!("current.{}", std::process::id()));
    #[cfg(unix)]
    std::os::unix::fs::symlink(key, &new).map_err(file("link", &new))?;
    fs::rename(&new, &current).map_err(file("rename to", &current))
}

/// The name of the first program that the folder lacks.
fn missing_in(folder: &Path) -> Option<&'static str> {
    PROGRAMS
        .iter()
        .map(|program| program.0)
        .find(|name| !folder.join(name).is_file())
}

/// The cache folder.
fn cache() -> Result<PathBuf> {
    let below = |name: &str, rest: &str| variable(name).map(|home| Path::new(&home).join(rest));
    variable("KUBEPKG_ASSETS_DIR")
        .map(PathBuf::from)
        .or_else(|| below("XDG_CACHE_HOME", "kubepkg/assets"))
        .or_else(|| below("HOME", ".cache/kubepkg/assets"))
        .ok_or_else(|| Failure::Message("set HOME or KUBEPKG_ASSETS_DIR".to_owned()))
}

fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_modules() {
        let modules = root().join("tools/control-plane");
        for (module, line) in [
            ("cluster", format!("k8s.io/kubernetes {KUBERNETES}")),
            ("helm", format!("helm.sh/helm/v4 {HELM}")),
            ("../helm-library", format!("helm.sh/helm/v4 {HELM}")),
            ("../helm-recorder", format!("helm.sh/helm/v4 {HELM}")),
        ] {
            let text = fs::read_to_string(modules.join(module).join("go.mod")).unwrap();
            assert!(text.contains(&line), "{module}/go.mod lacks {line}");
        }
    }

    #[test]
    fn key_changes_with_go_and_with_nothing_else() {
        let modules = root().join("tools/control-plane");
        let key = |go: &str| key(&modules, go).unwrap();
        assert_eq!(key("go1.26.8 linux amd64"), key("go1.26.8 linux amd64"));
        assert_ne!(key("go1.26.8 linux amd64"), key("go1.26.9 linux amd64"));
    }

    #[test]
    fn a_folder_that_lacks_a_program_is_not_taken() {
        assert_eq!(missing_in(Path::new("/nowhere")), Some("etcd"));
    }
}
