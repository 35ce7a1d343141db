//! The `kubepkg` command line: kubepkg's own settings over the library.

use std::process::ExitCode;

use kubepkg_cli::Options;

fn main() -> ExitCode {
    kubepkg_cli::main(&Options::default())
}
