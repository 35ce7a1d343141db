//! The reference operator: the library with its standard options.

use std::process::ExitCode;

fn main() -> ExitCode {
    kubepkg_operator::main(kubepkg_operator::Options::new())
}
