//! What every command gets: the settings of the program and of the command line, and the streams.

use kubepkg_api::ApiGroup;
use serde_json::Value;

use crate::args::Format;
use crate::cluster::{Cluster, Connection};
use crate::error::CliError;
use crate::out::Out;

/// The surroundings of one command.
#[derive(Debug)]
pub struct Context {
    /// Name of the program, for texts that name a command.
    pub program: String,
    /// Version of the program.
    pub version: String,
    /// The API group of this run.
    pub group: ApiGroup,
    /// Which cluster.
    pub connection: Connection,
    /// How results are written.
    pub format: Format,
    /// Where everything is written.
    pub out: Out,
}

impl Context {
    /// The cluster, once it is known to serve kubepkg's kinds.
    ///
    /// # Errors
    /// [`CliError`] when it cannot be reached or does not serve them.
    pub async fn cluster(&self) -> Result<Cluster, CliError> {
        Cluster::open(self.connection.client().await?, self.group.clone()).await
    }

    /// Writes warnings to standard error.
    pub fn warn(&mut self, warnings: Vec<String>) {
        for warning in warnings {
            self.out.warning(&warning);
        }
    }

    /// Writes a value as JSON or YAML, as the format says.
    ///
    /// # Errors
    /// [`CliError::Format`], or the stream's own error.
    pub fn write(&mut self, value: &Value) -> Result<(), CliError> {
        let text = if self.format == Format::Yaml {
            kubepkg_yaml::to_yaml(value).map_err(|error| CliError::Format {
                format: "YAML",
                source: Box::new(error),
            })?
        } else {
            serde_json::to_string_pretty(value).map_err(|error| CliError::Format {
                format: "JSON",
                source: Box::new(error),
            })?
        };
        Ok(self.out.result(&text)?)
    }
}
