//! What a crate brings with it when its features are off.

use crate::run::{Result, cargo, output};

/// Crates that `kubepkg-helm` must not bring to a program that only renders: clients of Kubernetes and of the
/// network, and what they stand on.
const NO_CLIENT: &[&str] = &[
    "async-trait",
    "futures",
    "http",
    "hyper",
    "k8s-openapi",
    "kube",
    "kube-client",
    "mio",
    "reqwest",
    "rustls",
    "socket2",
    "tokio",
    "tower",
];

/// The offences of `kubepkg-helm` without its features.
pub(super) fn check() -> Result<Vec<String>> {
    let mut tree = cargo();
    tree.args(["tree", "--frozen", "--package", "kubepkg-helm"]);
    tree.args(["--no-default-features", "--edges", "normal,build"]);
    tree.args(["--prefix", "none", "--format", "{p}"]);
    Ok(offences(&output(&mut tree, "")?))
}

/// The offences in a list of crates, one `NAME vVERSION` a line.
fn offences(tree: &str) -> Vec<String> {
    let brings = |name: &&str| {
        tree.lines()
            .any(|line| line.split_whitespace().next() == Some(name))
    };
    NO_CLIENT
        .iter()
        .copied()
        .filter(brings)
        .map(|name| format!("kubepkg-helm: brings {name} without the feature `cluster`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rendering_alone_brings_no_client() {
        let tree = "kubepkg-helm v0.1.0 (/x)\nserde v1.0.0\nhttparse v1.0.0\n";
        assert_eq!(offences(tree), [""; 0]);
        let tree = format!("{tree}tokio v1.48.0\ntokio v1.48.0 (*)\n");
        let found = "kubepkg-helm: brings tokio without the feature `cluster`";
        assert_eq!(offences(&tree), [found]);
    }
}
