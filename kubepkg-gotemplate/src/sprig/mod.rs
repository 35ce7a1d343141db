//! The functions that Helm 4.3.1 gives to templates: Sprig 3.3.0 without `env` and `expandenv`, and
//! Helm's own.
//!
//! Each module holds one table: name, Go signature, function. The executor has checked number and
//! types of the arguments before a function runs. What differs from run to run (time, randomness,
//! keys, look-ups) comes from [`Env`](crate::Env). Order that Go leaves to chance (`keys`,
//! `values`) is the order of the keys here. Error texts are those of Go and of the libraries that
//! Sprig uses; values are formatted into them as Go does.

#![allow(
    clippy::unnecessary_wraps,
    reason = "all functions of a table have one type"
)]

/// A static list of parameter types.
macro_rules! types {
    ($($name:ident),*) => {{
        const TYPES: &[&crate::gotype::Type] = &[$(&$name),*];
        TYPES
    }};
}

mod address;
mod args;
mod cert;
mod convert;
mod crypto;
mod data;
mod date;
mod decimal;
mod der;
mod dict;
mod duration;
mod encoding;
mod flow;
mod keys;
mod lists;
mod math;
mod merge;
mod password;
mod path;
mod random;
mod reflect;
mod regex;
mod semver;
mod strings;
mod url;
mod words;

pub use address::is_ipv4;
pub use url::Url;

use crate::func::Function;

pub use date::{DURATION, TIME, time_value};

/// Every function of Helm 4.3.1's function map but those that its engine binds to the running
/// templates and the cluster (`include`, `tpl`, `required`, `fail`, `lookup`, `getHostByName`).
#[must_use]
pub fn functions() -> Vec<Function> {
    let tables: [fn() -> Vec<Function>; 18] = [
        convert::table,
        crypto::table,
        data::table,
        date::table,
        dict::table,
        duration::table,
        encoding::table,
        flow::table,
        lists::table,
        math::table,
        path::table,
        random::table,
        reflect::table,
        regex::table,
        semver::table,
        strings::table,
        url::table,
        words::table,
    ];
    tables.into_iter().flat_map(|table| table()).collect()
}
