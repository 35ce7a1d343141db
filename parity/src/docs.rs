//! The tables of a page, written from results: so they say what was found, not what somebody typed.
//!
//! A result is what `--json` prints. Of several, rows of one repository are added up.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Failure;

/// Where a table begins and ends on the page: of values of the charts' own, and of those made up.
const TABLES: [(bool, &str, &str); 2] = [
    (
        false,
        "<!-- parity: written by `cargo xtask parity --write-docs RESULT` -->",
        "<!-- end of parity -->",
    ),
    (
        true,
        "<!-- parity with values made up: written by `cargo xtask parity --write-docs RESULT` -->",
        "<!-- end of parity with values made up -->",
    ),
];

/// The counts of a row, as the JSON calls them.
const COUNTS: [&str; 6] = [
    "equal",
    "bothRefuse",
    "equalAsRecorded",
    "equalInShape",
    "needsNetwork",
    "different",
];

type Counts = [u64; COUNTS.len()];

/// Writes the tables of the results into a page.
pub(crate) fn write(page: &Path, results: &[PathBuf]) -> Result<(), Failure> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|source| Failure::Read {
            path: path.to_owned(),
            source,
        })
    };
    let mut rows = BTreeMap::new();
    for path in results {
        let result = serde_json::from_str(&read(path)?).ok();
        let added = result.and_then(|result| add(&mut rows, &result));
        added.ok_or_else(|| Failure::NoResult { path: path.clone() })?;
    }
    let mut text = read(page)?;
    for (made_up, begin, end) in TABLES {
        let lacks = |marker| Failure::NoMarker {
            path: page.to_owned(),
            marker,
        };
        let (before, rest) = text.split_once(begin).ok_or_else(|| lacks(begin))?;
        let (_, after) = rest.split_once(end).ok_or_else(|| lacks(end))?;
        text = format!("{before}{begin}\n\n{}\n{end}{after}", table(&rows, made_up));
    }
    std::fs::write(page, text).map_err(|source| Failure::Write {
        path: page.to_owned(),
        source,
    })
}

/// Adds the rows of a result; `None` when it is none.
fn add(rows: &mut BTreeMap<(bool, String), Counts>, result: &Value) -> Option<()> {
    for row in result.get("repositories")?.as_array()? {
        let name = row.get("repository")?.as_str()?;
        if name == "all" {
            continue;
        }
        let key = (row.get("madeUp")?.as_bool()?, name.to_owned());
        let counts = rows.entry(key).or_default();
        for (sum, count) in counts.iter_mut().zip(COUNTS) {
            *sum += row.get(count)?.as_u64()?;
        }
    }
    Some(())
}

fn table(rows: &BTreeMap<(bool, String), Counts>, made_up: bool) -> String {
    let mut text = String::from(
        "| repository | cases | equal | both refuse | equal as recorded | equal in shape | needs network | different |\n\
         | --- | --: | --: | --: | --: | --: | --: | --: |\n",
    );
    let mut all = Counts::default();
    let rows = rows.iter().filter(|((made, _), _)| *made == made_up);
    for ((_, name), counts) in rows {
        line(&mut text, name, counts);
        for (sum, count) in all.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    line(&mut text, "all", &all);
    text
}

fn line(text: &mut String, name: &str, counts: &Counts) {
    let _ = write!(text, "| {name} | {}", counts.iter().sum::<u64>());
    for count in counts {
        let _ = write!(text, " | {count}");
    }
    text.push_str(" |\n");
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use serde_json::json;

    fn row(name: &str, made_up: bool, equal: u64, different: u64) -> Value {
        json!({
            "repository": name, "madeUp": made_up, "equal": equal, "bothRefuse": 0,
            "equalAsRecorded": 0, "equalInShape": 0, "needsNetwork": 0, "different": different,
        })
    }

    #[test]
    fn results_are_added_up_and_written_between_the_marks() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let result = json!({"repositories": [row("b", false, 1, 0), row("all", false, 1, 0), row("b", true, 7, 0)]});
        std::fs::write(at("one.json"), result.to_string()).unwrap();
        let result = json!({"repositories": [row("a", false, 2, 1), row("b", false, 3, 0)]});
        std::fs::write(at("two.json"), result.to_string()).unwrap();
        let [(_, begin, end), (_, made_begin, made_end)] = TABLES;
        let page = format!("# T\n{begin}\nold\n{end}\nmid\n{made_begin}\n{made_end}\n");
        std::fs::write(at("page.md"), page).unwrap();

        write(&at("page.md"), &[at("one.json"), at("two.json")]).unwrap();
        let page = std::fs::read_to_string(at("page.md")).unwrap();
        let wanted = "| a | 3 | 2 | 0 | 0 | 0 | 0 | 1 |\n| b | 4 | 4 | 0 | 0 | 0 | 0 | 0 |\n| all | 7 | 6 | 0 | 0 | 0 | 0 | 1 |\n";
        assert!(page.contains(wanted), "{page}");
        assert!(page.contains("| b | 7 | 7 | 0 | 0 | 0 | 0 | 0 |"), "{page}");
        assert!(!page.contains("old"), "{page}");
    }

    #[test]
    fn refuses_a_page_without_marks_and_a_file_that_is_no_result() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("page.md"), "text").unwrap();
        std::fs::write(at("result.json"), "{}").unwrap();
        let failed = write(&at("page.md"), &[]);
        assert!(matches!(failed, Err(Failure::NoMarker { .. })));
        let failed = write(&at("page.md"), &[at("result.json")]);
        assert!(matches!(failed, Err(Failure::NoResult { .. })));
    }
}
