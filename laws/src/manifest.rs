//! Manifests: splitting keeps every line, sorting keeps every document.

use kubepkg_helm::{KindOrder, Manifest, sort_manifests, split_manifests};

use crate::guard::soon;
use crate::parts;

pub(crate) fn check(input: &[u8]) {
    let text = parts::text(input);
    let documents = soon("splitting", || split_manifests(&text));
    let mut before = 0;
    for document in &documents {
        assert!(!document.text.trim_start().is_empty());
        assert!(
            document.line > before,
            "documents stand one after the other"
        );
        before = document.line;
        let line = text.split('\n').nth(document.line - 1).unwrap_or_default();
        let first = document.text.split('\n').next().unwrap_or_default();
        assert!(
            line.ends_with(first),
            "{line:?} does not end with {first:?}"
        );
    }
    let kept: usize = documents
        .iter()
        .map(|document| content(document.text))
        .sum();
    // Separators go, and what stands there with them; nothing is added.
    assert!(kept <= content(&text));
    let separators: usize = text
        .lines()
        .filter(|line| line.trim_start().starts_with("---"))
        .map(|_| 3)
        .sum();
    assert!(
        kept + separators >= content(&text),
        "lost more than the separators"
    );

    let files = [
        ("c/templates/a.yaml", &*text),
        ("c/templates/b.yaml", "kind: Secret\n"),
    ];
    let installed = soon("sorting", || sort_manifests(files, KindOrder::Install));
    let removed = sort_manifests(files, KindOrder::Uninstall);
    let (Ok(installed), Ok(removed)) = (&installed, &removed) else {
        assert_eq!(installed.is_ok(), removed.is_ok(), "both orders, or none");
        return;
    };
    let places = |sorted: &kubepkg_helm::Sorted| {
        let mut places: Vec<_> = sorted
            .manifests
            .iter()
            .map(|one| (one.path.clone(), one.line))
            .collect();
        places.sort();
        places
    };
    assert_eq!(
        places(installed),
        places(removed),
        "one order lost something"
    );
    let count = installed.manifests.len() + installed.hooks.len();
    assert!(count <= documents.len() + 1);
    // What stands behind a separator on its line is part of the document, be it another separator.
    let separates = |manifest: &Manifest| manifest.content.starts_with("---");
    if installed.manifests.iter().any(separates) {
        return;
    }
    let mut joined = String::new();
    for manifest in &installed.manifests {
        for part in ["---\n", &manifest.content, "\n"] {
            joined.push_str(part);
        }
    }
    let again = sort_manifests(
        [("c/templates/a.yaml", joined.as_str())],
        KindOrder::Install,
    )
    .expect("what was sorted before");
    let contents = |sorted: &kubepkg_helm::Sorted| {
        let manifests = sorted.manifests.iter();
        manifests
            .map(|one| one.content.trim_end().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        contents(&again),
        contents(installed),
        "sorting what is sorted"
    );
}

/// Bytes that are no white space.
fn content(text: &str) -> usize {
    text.chars()
        .filter(|sign| !sign.is_whitespace())
        .map(char::len_utf8)
        .sum()
}
