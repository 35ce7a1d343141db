//! The operator of the ACME platform: the standard one, under the platform's own name and group.

use std::process::ExitCode;

use kubepkg_operator::{Flags, Options};

fn main() -> ExitCode {
    let group = "packages.acme.example".parse().unwrap_or_default();
    kubepkg_operator::main(Options {
        name: "acme-operator",
        version: env!("CARGO_PKG_VERSION"),
        flags: Flags {
            api_group: group,
            ..Flags::default()
        },
        ..Options::new()
    })
}
