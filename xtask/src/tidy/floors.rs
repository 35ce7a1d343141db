//! Who may depend on whom.
//!
//! Every crate stands on a floor and may use crates of lower floors only; some crates must not use
//! certain others at all, whatever the floor. The rules are the table below; ARCHITECTURE.md shows
//! it, between two markers, with what the manifests really say.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::run::{Failure, Result, file};

const BEGIN: &str = "<!-- floors: written by `cargo xtask tidy --write` -->";
const END: &str = "<!-- end of floors -->";

/// A crate's place in the house.
struct Room {
    name: &'static str,
    floor: u8,
    is: &'static str,
    must_not: &'static str,
    /// Crates that it must not depend on, not even indirectly through its own manifest's choice.
    never: &'static [&'static str],
}

/// What a pure crate must not depend on.
const PURE: &[&str] = &["tokio", "kube", "reqwest", "hyper"];

const ROOMS: &[Room] = &[
    Room {
        name: "kubepkg-cli",
        floor: 5,
        is: "the `kubepkg` command: arguments, tables, exit codes",
        must_not: "hold logic that another program would want",
        never: &[],
    },
    Room {
        name: "kubepkg-operator",
        floor: 5,
        is: "the operator: flags, backend registry, leader election, metrics",
        must_not: "know a backend by name outside its registry",
        never: &[],
    },
    Room {
        name: "kubepkg-controller",
        floor: 4,
        is: "reconcilers: pure decide, thin act",
        must_not: "render charts, parse indexes, speak HTTP to anything but the API server",
        never: &["kubepkg-helm", "kubepkg-source", "reqwest", "hyper"],
    },
    Room {
        name: "kubepkg-charts",
        floor: 3,
        is: "charts on their way: packaging, pushing, pulling, dependencies, indexes, provenance",
        must_not: "talk to a cluster",
        never: &["kube"],
    },
    Room {
        name: "kubepkg-backend",
        floor: 3,
        is: "the `Backend` trait and its implementations",
        must_not: "know conditions of packages, or revisions",
        never: &[],
    },
    Room {
        name: "kubepkg-helm",
        floor: 2,
        is: "a Helm SDK: charts, rendering, releases, readiness",
        must_not: "know that kubepkg exists",
        never: &["kubepkg-api"],
    },
    Room {
        name: "kubepkg-sandbox",
        floor: 2,
        is: "control plane and chart server for tests and the demonstration",
        must_not: "be required by a library outside dev-dependencies, the CLI excepted",
        never: &[],
    },
    Room {
        name: "kubepkg-source",
        floor: 2,
        is: "fetching bytes by location and digest",
        must_not: "trust anything that it cannot check",
        never: &["kube"],
    },
    Room {
        name: "kubepkg-api",
        floor: 1,
        is: "the six kinds, their CRDs, digests, names, reasons",
        must_not: "do I/O",
        never: &["tokio", "reqwest", "hyper"],
    },
    Room {
        name: "kubepkg-gotemplate",
        floor: 1,
        is: "Go `text/template`, Go formatting, the Sprig functions",
        must_not: "know Kubernetes",
        never: PURE,
    },
    Room {
        name: "kubepkg-patch",
        floor: 1,
        is: "how Kubernetes changes objects: patches, server-side apply",
        must_not: "do I/O, be async",
        never: PURE,
    },
    Room {
        name: "kubepkg-resolve",
        floor: 0,
        is: "versions, constraints, resolution",
        must_not: "do I/O, be async",
        never: PURE,
    },
    Room {
        name: "kubepkg-yaml",
        floor: 0,
        is: "YAML as Kubernetes and Helm read and write it",
        must_not: "know any schema",
        never: PURE,
    },
];

/// The offences against the table, and a stale copy of it in ARCHITECTURE.md.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let manifests = manifests(root)?;
    let mut offences = Vec::new();
    for (name, manifest) in &manifests {
        match ROOMS.iter().find(|room| room.name == name) {
            Some(found) => offences.extend(violations(found, manifest)),
            None => offences.push(format!(
                "{name}: has no floor; give it one in xtask/src/tidy/floors.rs"
            )),
        }
    }
    let path = root.join("ARCHITECTURE.md");
    let text = fs::read_to_string(&path).map_err(file("read", &path))?;
    if replace(&text, &table(&manifests))? != text {
        offences.push("ARCHITECTURE.md: floors are stale; run `cargo xtask tidy --write`".into());
    }
    Ok(offences)
}

/// Writes the table into ARCHITECTURE.md.
pub(super) fn write(root: &Path) -> Result<()> {
    let path = root.join("ARCHITECTURE.md");
    let text = fs::read_to_string(&path).map_err(file("read", &path))?;
    let new = replace(&text, &table(&manifests(root)?))?;
    if new != text {
        fs::write(&path, new).map_err(file("write", &path))?;
    }
    Ok(())
}

/// What a manifest depends on outside of dev-dependencies.
type Manifest = Vec<String>;

/// The manifests of all library and program crates, by name.
fn manifests(root: &Path) -> Result<BTreeMap<String, Manifest>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root).map_err(file("read", root))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path().join("Cargo.toml");
        if name.starts_with("kubepkg-") && path.is_file() {
            let text = fs::read_to_string(&path).map_err(file("read", &path))?;
            found.insert(name, dependencies(&text));
        }
    }
    Ok(found)
}

/// The keys of `[dependencies]`, `[build-dependencies]` and their forms for one target, and of
/// `[dependencies.NAME]`.
fn dependencies(manifest: &str) -> Manifest {
    let mut found = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            let section = section.rsplit("'.").next().unwrap_or(section);
            let section = section.strip_prefix("build-").unwrap_or(section);
            inside = section == "dependencies";
            found.extend(section.strip_prefix("dependencies.").map(str::to_owned));
        } else if inside
            && let Some((key, _)) = line.split_once('=')
            && !line.starts_with('#')
        {
            let name = key.trim().split('.').next().unwrap_or_default();
            if name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
            {
                found.push(name.to_owned());
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

fn violations(room: &Room, manifest: &Manifest) -> Vec<String> {
    let mut offences = Vec::new();
    for dependency in manifest {
        if room.never.contains(&dependency.as_str()) {
            offences.push(format!("{}: must not use {dependency}", room.name));
        }
        let Some(other) = ROOMS.iter().find(|other| other.name == dependency) else {
            continue;
        };
        if other.floor >= room.floor {
            offences.push(format!(
                "{}: stands on floor {} and must not use {dependency} on floor {}",
                room.name, room.floor, other.floor
            ));
        }
        let demonstrates = matches!(room.name, "kubepkg-cli" | "kubepkg-sandbox");
        if dependency == "kubepkg-sandbox" && !demonstrates {
            offences.push(format!("{}: may use {dependency} in tests only", room.name));
        }
    }
    offences
}

/// The table as Markdown.
fn table(manifests: &BTreeMap<String, Manifest>) -> String {
    let mut text =
        String::from("| floor | crate | is | uses | must not |\n|---|---|---|---|---|\n");
    for room in ROOMS
        .iter()
        .filter(|room| manifests.contains_key(room.name))
    {
        let uses: Vec<String> = manifests
            .get(room.name)
            .into_iter()
            .flatten()
            .filter_map(|name| name.strip_prefix("kubepkg-"))
            .map(|name| format!("`{name}`"))
            .collect();
        let Room {
            name,
            floor,
            is,
            must_not,
            ..
        } = room;
        let uses = uses.join(", ");
        // Writing into a string cannot fail.
        let _ = writeln!(text, "| {floor} | `{name}` | {is} | {uses} | {must_not} |");
    }
    text
}

/// The text with a new table between the markers.
fn replace(text: &str, table: &str) -> Result<String> {
    let halves = text
        .split_once(BEGIN)
        .and_then(|(before, rest)| rest.split_once(END).map(|(_, after)| (before, after)));
    let Some((before, after)) = halves else {
        return Err(Failure::Message(format!(
            "ARCHITECTURE.md lacks the lines for the table of floors:\n{BEGIN}\n{END}"
        )));
    };
    Ok(format!("{before}{BEGIN}\n\n{table}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_real_dependencies_are_read() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\nserde.workspace = true\n\
            # kube = \"5\"\nkubepkg-api = { path = \"..\" }\n[dev-dependencies]\ntokio = \"1\"\n\
            [target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n[dependencies.url]\nversion = \"2\"\n";
        assert_eq!(
            dependencies(manifest),
            ["kubepkg-api", "libc", "serde", "url"]
        );
    }

    #[test]
    fn upward_and_forbidden_dependencies_are_offences() {
        let helm = ROOMS
            .iter()
            .find(|room| room.name == "kubepkg-helm")
            .unwrap();
        let manifest = [
            "kubepkg-api",
            "kubepkg-backend",
            "kubepkg-yaml",
            "kubepkg-sandbox",
        ];
        let offences = violations(helm, &manifest.map(str::to_owned).to_vec());
        assert_eq!(
            offences,
            [
                "kubepkg-helm: must not use kubepkg-api",
                "kubepkg-helm: stands on floor 2 and must not use kubepkg-backend on floor 3",
                "kubepkg-helm: stands on floor 2 and must not use kubepkg-sandbox on floor 2",
                "kubepkg-helm: may use kubepkg-sandbox in tests only",
            ]
        );
    }

    #[test]
    fn table_is_replaced_between_its_markers_only() {
        let text = format!("# A\n{BEGIN}\nold\n{END}\nrest\n");
        let new = replace(&text, "| t |\n").unwrap();
        assert_eq!(new, format!("# A\n{BEGIN}\n\n| t |\n\n{END}\nrest\n"));
        assert_eq!(replace(&new, "| t |\n").unwrap(), new);
        assert!(replace("# A\n", "").is_err());
    }
}
