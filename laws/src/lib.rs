//! What holds for every input of the readers: the bodies of the fuzz targets.
//!
//! Each [`Law`] takes bytes, reads them as one of the project's inputs and panics when something does not hold that
//! must: no reader panics, two runs give the same, a round trip gives the same data back, work stays within its limits.
//! `fuzz/` runs them under libFuzzer; the test of this crate runs them over all seeds and over every input that once
//! was a finding (`testdata/`), so that it stays one.
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "a broken law is told by a panic"
)]
#![deny(missing_docs)]

mod chart;
mod grammar;
mod guard;
#[cfg(feature = "network")]
mod index;
mod manifest;
mod mutate;
mod parts;
#[cfg(feature = "network")]
mod record;
mod schema;
mod seeds;
mod set;
mod template;
mod values;
mod version;
mod yaml;

pub use mutate::mutated;

/// A law, and inputs to start from.
#[derive(Debug, Clone, Copy)]
pub struct Law {
    /// Its name, which is that of the fuzz target.
    pub name: &'static str,
    /// Checks it for an input; panics when it does not hold.
    pub check: fn(&[u8]),
    /// Inputs to start from, made from the vectors in the crates' tests.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All laws.
pub const LAWS: &[Law] = &[
    Law {
        name: "yaml",
        check: yaml::check,
        seeds: seeds::yaml,
    },
    Law {
        name: "template",
        check: template::check,
        seeds: seeds::template,
    },
    Law {
        name: "grammar",
        check: grammar::check,
        seeds: seeds::grammar,
    },
    Law {
        name: "archive",
        check: chart::check_archive,
        seeds: seeds::archive,
    },
    Law {
        name: "chart",
        check: chart::check_files,
        seeds: seeds::chart,
    },
    Law {
        name: "values",
        check: values::check,
        seeds: seeds::values,
    },
    Law {
        name: "set",
        check: set::check,
        seeds: seeds::set,
    },
    Law {
        name: "manifest",
        check: manifest::check,
        seeds: seeds::manifest,
    },
    #[cfg(feature = "network")]
    Law {
        name: "record",
        check: record::check,
        seeds: seeds::record,
    },
    Law {
        name: "schema",
        check: schema::check,
        seeds: seeds::schema,
    },
    Law {
        name: "version",
        check: version::check,
        seeds: seeds::version,
    },
    #[cfg(feature = "network")]
    Law {
        name: "index",
        check: index::check,
        seeds: seeds::index,
    },
];

/// Checks the law of this name for an input, on a stack as small as that of a worker of an asynchronous program.
///
/// # Panics
/// When it does not hold, and when there is no such law.
pub fn hold(name: &str, input: &[u8]) {
    let law = LAWS.iter().find(|law| law.name == name);
    let law = law.unwrap_or_else(|| panic!("no law is called {name}"));
    guard::on_a_small_stack(law.check, input);
}
