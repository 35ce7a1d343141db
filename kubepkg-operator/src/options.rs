//! How an operator is set up: the flags of the reference binary, and what a distribution changes of them.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kubepkg_api::{ApiGroup, GoDuration};

use crate::backends::Backends;

/// What a distribution decides: its names, its group, its backends.
#[derive(Debug)]
pub struct Options {
    /// The name of the binary; also the first part of the leader election Lease's name.
    pub name: &'static str,
    /// The version it reports.
    pub version: &'static str,
    /// The delivery tools that `--backend` can name.
    pub backends: Backends,
    /// The flags' defaults.
    pub flags: Flags,
}

impl Options {
    /// The options of the reference operator.
    pub fn new() -> Self {
        Self {
            name: "kubepkg-operator",
            version: env!("CARGO_PKG_VERSION"),
            backends: Backends::standard(),
            flags: Flags::default(),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

/// The operator's flags.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Operator")]
pub struct Flags {
    /// The API group that the kinds are served under.
    #[arg(long, value_name = "GROUP", default_value_t = ApiGroup::default())]
    pub api_group: ApiGroup,
    /// How components are installed.
    #[arg(long, value_name = "NAME", default_value = "helm")]
    pub backend: String,
    /// Where charts are kept [default: a folder of its own under the system's temporary folder].
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// A Docker configuration file with the credentials of registries [default: the user's own, where there is one].
    #[arg(long, value_name = "FILE")]
    pub registry_config: Option<PathBuf>,
    /// Speak plain HTTP to OCI registries.
    #[arg(long)]
    pub plain_http: bool,
    /// How many packages are worked on at once; a package that waits is not worked on.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    pub package_workers: u16,
    /// Work only while holding a Lease, so that several replicas can run.
    #[arg(long)]
    pub leader_elect: bool,
    /// The namespace of that Lease.
    #[arg(
        long,
        value_name = "NAMESPACE",
        env = "POD_NAMESPACE",
        default_value = "default"
    )]
    pub leader_elect_namespace: String,
    /// Where /metrics is served; 0 serves none.
    #[arg(long, value_name = "ADDRESS", default_value = ":8080", value_parser = address)]
    pub metrics_bind_address: Bind,
    /// Where /healthz and /readyz are served; 0 serves none.
    #[arg(long, value_name = "ADDRESS", default_value = ":8081", value_parser = address)]
    pub health_probe_bind_address: Bind,
    /// The wait after a revision failed; it doubles with every further failure.
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    pub retry_backoff: GoDuration,
    /// The longest such wait.
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    pub retry_backoff_max: GoDuration,
    /// How often a package at rest is looked at again.
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    pub recheck_interval: GoDuration,
    /// Write the log as JSON, one object a line.
    #[arg(long)]
    pub log_json: bool,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            api_group: ApiGroup::default(),
            backend: "helm".to_owned(),
            cache_dir: None,
            registry_config: None,
            plain_http: false,
            package_workers: 4,
            leader_elect: false,
            leader_elect_namespace: "default".to_owned(),
            metrics_bind_address: Bind(Some(any(8080))),
            health_probe_bind_address: Bind(Some(any(8081))),
            retry_backoff: GoDuration::from_secs(30),
            retry_backoff_max: GoDuration::from_secs(600),
            recheck_interval: GoDuration::from_secs(300),
            log_json: false,
        }
    }
}

impl Flags {
    /// The command with these flags as the defaults of its arguments, and of the group of its subcommands.
    pub(crate) fn as_defaults(&self, command: clap::Command) -> clap::Command {
        let group = self.api_group.to_string();
        let defaults = [
            ("api_group", group.clone()),
            ("backend", self.backend.clone()),
            ("package_workers", self.package_workers.to_string()),
            (
                "leader_elect_namespace",
                self.leader_elect_namespace.clone(),
            ),
            (
                "metrics_bind_address",
                self.metrics_bind_address.to_string(),
            ),
            (
                "health_probe_bind_address",
                self.health_probe_bind_address.to_string(),
            ),
            ("retry_backoff", self.retry_backoff.to_string()),
            ("retry_backoff_max", self.retry_backoff_max.to_string()),
            ("recheck_interval", self.recheck_interval.to_string()),
        ];
        let command = defaults
            .into_iter()
            .fold(command, |command, (name, value)| {
                command.mut_arg(name, |argument| argument.default_value(value))
            });
        command.mut_subcommand("crds", |crds| {
            crds.mut_arg("api_group", |argument| argument.default_value(group))
        })
    }
}

/// An address to serve on, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bind(pub Option<SocketAddr>);

impl fmt::Display for Bind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) if address.ip().is_unspecified() => write!(f, ":{}", address.port()),
            Some(address) => address.fmt(f),
            None => f.write_str("0"),
        }
    }
}

fn any(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))
}

/// Reads `host:port`, `:port` or `0`.
fn address(text: &str) -> Result<Bind, String> {
    if text == "0" {
        return Ok(Bind(None));
    }
    let port = text.strip_prefix(':').map(str::parse::<u16>);
    let parsed = match port {
        Some(Ok(port)) => Some(any(port)),
        Some(Err(_)) => None,
        None => text.parse().ok(),
    };
    parsed
        .map(|address| Bind(Some(address)))
        .ok_or_else(|| "want host:port, :port, or 0 to serve nothing".to_owned())
}

/// A duration of a flag, which must not be negative.
pub(crate) fn positive(flag: &'static str, value: GoDuration) -> Result<Duration, NotPositive> {
    value.to_std().filter(|d| !d.is_zero()).ok_or(NotPositive {
        flag,
        value: value.to_string(),
    })
}

/// A flag that must be a positive duration is not.
#[derive(Debug, thiserror::Error)]
#[error("--{flag} is {value}, want a duration above zero such as 30s")]
pub struct NotPositive {
    flag: &'static str,
    value: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_addresses_as_controller_runtime_does() {
        assert_eq!(address(":8080"), Ok(Bind(Some(any(8080)))));
        assert_eq!(address("0"), Ok(Bind(None)));
        assert_eq!(
            address("127.0.0.1:1"),
            Ok(Bind(Some(SocketAddr::from(([127, 0, 0, 1], 1)))))
        );
        assert!(address("localhost").is_err());
        assert!(address(":99999").is_err());
    }
}
