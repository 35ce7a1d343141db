//! Indexes of repositories, and the addresses in them: what is listed is found, and a text that is opened holds what it
//! holds when it is parsed.

use std::collections::BTreeMap;

use kubepkg_source::{ChartLocation, Found, Index, IndexEntry, OciReference};

use crate::guard::soon;
use crate::parts;

type Versions = BTreeMap<String, Vec<IndexEntry>>;

/// An index; its first line is an address, too.
pub(crate) fn check(input: &[u8]) {
    let text = parts::text(input);
    address(text.lines().next().unwrap_or_default());
    let parsed = soon("reading", || Index::parse(input));
    let whole = soon("reading all", || Index::parse_whole(input));
    assert_eq!(
        parsed.is_ok(),
        whole.is_ok(),
        "with all fields, and without"
    );
    let opened = soon("opening", || Index::open(input.to_vec().into()));
    let opened = opened.and_then(|index| content(&index));
    match (parsed, opened) {
        (Ok(parsed), Ok(opened)) => {
            let parsed = content(&parsed).expect("a parsed index is read");
            assert_eq!(parsed, opened, "opened and parsed");
        }
        // Mistakes between the charts may be passed over.
        (Err(parsed), _) => assert!(!parsed.to_string().is_empty()),
        (Ok(_), Err(error)) => panic!("parsed, but not opened: {error}"),
    }
}

/// The versions of every chart; each is found by its name.
fn content(index: &Index) -> Result<Versions, kubepkg_source::IndexError> {
    let mut all = Versions::new();
    for chart in index.charts() {
        let versions: Vec<IndexEntry> = index
            .versions(chart)?
            .into_iter()
            .flatten()
            .cloned()
            .collect();
        for entry in &versions {
            match index.find(chart, &entry.version)? {
                Found::Entry(found) => assert_eq!(found.version, entry.version),
                missing => panic!("{chart} {}: {missing:?}", entry.version),
            }
        }
        all.insert(chart.to_owned(), versions);
    }
    assert_eq!(index.find("no such chart\0", "1")?, Found::NoChart);
    Ok(all)
}

fn address(text: &str) {
    let _ = soon("reading a location", || ChartLocation::parse(text));
    if let Ok(reference) = soon("reading a reference", || OciReference::parse(text)) {
        let again = OciReference::parse(&format!("oci://{reference}"));
        let again = again.expect("a reference that was written");
        assert_eq!(again.to_string(), reference.to_string());
    }
}
