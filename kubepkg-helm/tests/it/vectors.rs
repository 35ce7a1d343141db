//! The files of vectors that this crate keeps, by name.

use kubepkg_vectors::Vectors;
use serde_json::Value;

pub(crate) use kubepkg_vectors::bytes as text;

macro_rules! packed {
    ($name:expr, $($known:literal),+ $(,)?) => {
        match $name {
            $($known => include_bytes!(concat!("../vectors/", $known, ".jsonl.gz")).as_slice(),)+
            other => panic!("no file of vectors is called {other}"),
        }
    };
}

fn vectors(name: &str) -> Vectors<'_> {
    let packed = packed!(
        name,
        "helm-chart",
        "helm-cli",
        "helm-fmt",
        "helm-helm",
        "helm-lang",
        "helm-misc-chart-metadata",
        "helm-misc-coalesce",
        "helm-misc-dependencies",
        "helm-misc-ignore",
        "helm-misc-lock",
        "helm-misc-manifests",
        "helm-misc-names",
        "helm-misc-set",
        "helm-sprig",
        "helm-vals",
        "jsonschema-charts",
        "jsonschema-single",
        "kstatus-aggregate",
        "kstatus-status",
        "oci-tar-load",
        "oci-tar-package",
    );
    let exceptions = include_str!("../vectors/exceptions.txt");
    Vectors {
        name,
        packed,
        exceptions,
    }
}

/// The cases of a file.
pub(crate) fn read(name: &str) -> Vec<Value> {
    vectors(name).rows()
}

/// Runs every case of a file through `check`.
pub(crate) fn run(name: &str, check: impl Fn(&Value) -> Result<(), String>) {
    vectors(name).run(check);
}

/// Equal, or both in words, from a little before the first difference.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    got: &T,
    wanted: &T,
) -> Result<(), String> {
    if got == wanted {
        return Ok(());
    }
    let (got, wanted) = (format!("{got:?}"), format!("{wanted:?}"));
    let equal = got
        .chars()
        .zip(wanted.chars())
        .take_while(|(one, two)| one == two)
        .count();
    let cut = |text: &str| -> String {
        let start = if text.chars().count() < 500 {
            0
        } else {
            equal.saturating_sub(120)
        };
        text.chars().skip(start).take(500).collect()
    };
    Err(format!(
        "{what}\n   got    {}\n   wanted {}",
        cut(&got),
        cut(&wanted)
    ))
}
