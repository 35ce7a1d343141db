//! The command line of the ACME platform: the standard one, under the platform's own name and group.

use std::process::ExitCode;

use kubepkg_cli::Options;

fn main() -> ExitCode {
    kubepkg_cli::main(&Options {
        name: "acme".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        group: "packages.acme.example".parse().unwrap_or_default(),
        install_hint: "acme-operator crds | kubectl apply --server-side -f -".to_owned(),
        ..Options::default()
    })
}
