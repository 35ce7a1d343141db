//! Every law holds for all seeds and for every input that was a finding once: `testdata/LAW/`.
#![allow(
    clippy::expect_used,
    clippy::format_collect,
    clippy::format_push_string,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "tests"
)]

mod costs;
mod stacks;

use std::path::Path;

use kubepkg_laws::{LAWS, hold, mutated};

/// Changed seeds that are tried, the same at every run.
const MUTATED: u64 = 300;

fn holds(name: &str) {
    let law = LAWS.iter().find(|law| law.name == name).unwrap();
    let seeds = (law.seeds)();
    assert!(seeds.len() > 10, "{name} has {} seeds", seeds.len());
    for seed in &seeds {
        hold(name, seed);
    }
    for number in 0..MUTATED {
        hold(name, &mutated(&seeds, number));
    }
    let findings = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(name);
    for finding in std::fs::read_dir(findings).into_iter().flatten() {
        let path = finding.unwrap().path();
        println!("{}", path.display());
        hold(name, &std::fs::read(path).unwrap());
    }
}

macro_rules! laws {
    ($($test:ident: $name:literal,)+) => {
        $(#[test]
        fn $test() {
            holds($name);
        })+

        #[test]
        fn every_law_is_tested() {
            let names: Vec<_> = LAWS.iter().map(|law| law.name).collect();
            assert_eq!(names, [$($name),+]);
        }
    };
}

laws! {
    yaml_is_read_and_written_alike: "yaml",
    templates_end_within_their_budget: "template",
    functions_end_within_their_budget: "grammar",
    archives_load_or_are_refused: "archive",
    charts_render_within_their_limits: "chart",
    values_keep_what_the_user_says: "values",
    set_takes_escaped_text_as_it_is: "set",
    manifests_lose_no_document: "manifest",
    records_are_written_as_they_were_read: "record",
    schemas_answer_soon: "schema",
    versions_are_read_back: "version",
    indexes_find_what_they_list: "index",
}

/// Every law has a fuzz target, and every fuzz target a law.
#[test]
fn fuzz_targets_are_the_laws() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    let manifest = std::fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
    let mut targets = Vec::new();
    for entry in std::fs::read_dir(fuzz.join("fuzz_targets")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.contains(&format!("kubepkg_laws::hold(\"{name}\", input)")),
            "{text}"
        );
        assert!(
            manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")),
            "{name}"
        );
        targets.push(name);
    }
    targets.sort();
    let mut names: Vec<_> = LAWS.iter().map(|law| law.name).collect();
    names.sort_unstable();
    assert_eq!(targets, names);
}
