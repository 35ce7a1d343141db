//! What a distribution changes about the command line: its name, version, API group, and commands of its own
//! (house rule: the binaries are a few lines over their library).

use std::fmt;

use clap::ArgMatches;
use futures::future::LocalBoxFuture;
use kubepkg_api::ApiGroup;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Settings of a command line. The default is kubepkg's own.
#[derive(Debug)]
pub struct Options {
    /// Name of the program, as its users type it.
    pub name: String,
    /// The version that `version` prints.
    pub version: String,
    /// The API group that is used unless `--api-group` says otherwise.
    pub group: ApiGroup,
    /// How to install the operator, shown when the cluster does not serve the group.
    pub install_hint: String,
    /// More commands.
    pub extra: Vec<Box<dyn ExtraCommand>>,
}

/// A command that a distribution adds.
pub trait ExtraCommand: fmt::Debug + Send + Sync {
    /// Name, arguments and help of the command.
    fn command(&self) -> clap::Command;

    /// Runs the command with its own arguments.
    fn run<'a>(
        &'a self,
        arguments: &'a ArgMatches,
        context: &'a mut Context,
    ) -> LocalBoxFuture<'a, Result<Exit, CliError>>;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "kubepkg".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            group: ApiGroup::default(),
            install_hint: "kubepkg-operator crds | kubectl apply --server-side -f -".to_owned(),
            extra: Vec::new(),
        }
    }
}
