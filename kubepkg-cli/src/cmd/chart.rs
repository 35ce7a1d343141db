//! `chart`: charts on their way, as the `helm` program has it: package, push, pull, log in, dependencies, indexes,
//! signatures. No cluster is needed.
//!
//! Logins are looked for where Helm and Docker keep them, and kept where Helm does. The work is that of
//! `kubepkg-charts`; here are arguments and words.

mod error;
mod network;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use kubepkg_charts::dependencies::{self, Brought, DependencyOptions};
use kubepkg_charts::{
    ChartAddress, IndexFile, ProvenanceWish, PullOptions, PushRequest, pull, push,
};
use kubepkg_helm::{ChartLimits, PackageOptions, list_dependencies, package};
use kubepkg_source::Credential;

pub use error::ChartError;
use network::Network;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Bytes of a password from standard input.
const MAX_PASSWORD: u64 = 64 * 1024;
/// How wide a cell of the list of dependencies gets.
const CELL: usize = 80;

/// Arguments of `chart`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    network: Network,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Pack a chart's folder into an archive
    Package(Package),
    /// Push an archive to a registry
    Push(Push),
    /// Pull a chart from a registry or repository
    Pull(Pull),
    /// Log in to a registry
    Login(Login),
    /// Log out of a registry
    Logout {
        /// The registry, host or host:port
        host: String,
    },
    /// Choose, fetch or list what a chart depends on
    #[command(subcommand)]
    Dependency(Dependency),
    /// Write the index.yaml of a folder of archives
    Index(Index),
    /// Check the signature of an archive
    #[cfg(feature = "provenance")]
    Verify {
        /// The archive; its signature is in the file with .prov behind it
        archive: PathBuf,
        /// Ring with the public keys that count
        #[arg(long, value_name = "FILE")]
        keyring: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Package {
    /// The chart's folder
    folder: PathBuf,
    /// Where the archive goes
    #[arg(short, long, value_name = "FOLDER", default_value = ".")]
    destination: PathBuf,
    /// Version of the chart instead of its own
    #[arg(long)]
    version: Option<String>,
    /// Version of the software inside instead of the chart's own
    #[arg(long)]
    app_version: Option<String>,
    /// One time for everything, in seconds since 1970, so that two runs give the same archive
    #[arg(long, env = "SOURCE_DATE_EPOCH", value_name = "SECONDS")]
    stamp: Option<i64>,
    /// Sign the archive with the key whose name contains this
    #[cfg(feature = "provenance")]
    #[arg(long, value_name = "NAME", requires = "keyring")]
    sign: Option<String>,
    /// Ring with the secret key
    #[cfg(feature = "provenance")]
    #[arg(long, value_name = "FILE")]
    keyring: Option<PathBuf>,
    /// File with the passphrase of the key
    #[cfg(feature = "provenance")]
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Push {
    /// The archive; a file with .prov behind its name goes along
    archive: PathBuf,
    /// Where to, oci://host/path; the chart's name is added
    destination: String,
}

#[derive(Debug, Args)]
struct Pull {
    /// oci://host/path/name, the address of an archive, or repository/name
    chart: String,
    /// Exact version or constraint; the highest stable one by default
    #[arg(long, default_value = "")]
    version: String,
    /// Repository that has the chart; it is named without one then
    #[arg(long, value_name = "URL")]
    repo: Option<String>,
    /// Where the chart goes
    #[arg(short, long, value_name = "FOLDER", default_value = ".")]
    destination: PathBuf,
    /// Unpack the chart into a folder of its name
    #[arg(long)]
    untar: bool,
    /// Fetch the signature too, unchecked
    #[arg(long)]
    prov: bool,
    /// Insist on a signature by a key of the ring
    #[cfg(feature = "provenance")]
    #[arg(long, requires = "keyring")]
    verify: bool,
    /// Ring with the public keys that count
    #[cfg(feature = "provenance")]
    #[arg(long, value_name = "FILE")]
    keyring: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Login {
    /// The registry, host or host:port
    host: String,
    /// Name of the user
    #[arg(short, long)]
    username: String,
    /// Read the password from standard input
    #[arg(long, required = true)]
    password_stdin: bool,
}

#[derive(Debug, Subcommand)]
enum Dependency {
    /// Choose versions, fetch them into charts/ and write the lock
    Update(Brings),
    /// Fetch what the lock says into charts/
    Build(Brings),
    /// Show what there is
    List {
        /// The chart
        chart: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Brings {
    /// The chart's folder
    folder: PathBuf,
    /// Check signatures by the keys of the ring; update insists on them, build takes what has none
    #[cfg(feature = "provenance")]
    #[arg(long, requires = "keyring")]
    verify: bool,
    /// Ring with the public keys that count
    #[cfg(feature = "provenance")]
    #[arg(long, value_name = "FILE")]
    keyring: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Index {
    /// The folder
    folder: PathBuf,
    /// Address that the archives have; relative ones without it
    #[arg(long, default_value = "")]
    url: String,
    /// Index whose entries stay where the folder has none
    #[arg(long, value_name = "FILE")]
    merge: Option<PathBuf>,
    /// Write JSON, which is YAML, into index.yaml
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: &Arguments, context: &mut Context) -> Result<Exit, CliError> {
    let network = &arguments.network;
    let text = match &arguments.command {
        Command::Package(arguments) => packed(arguments),
        Command::Push(arguments) => pushed(arguments, network).await,
        Command::Pull(arguments) => pulled(arguments, network).await,
        Command::Login(arguments) => logged_in(arguments, network).await,
        Command::Logout { host } => logged_out(host, network),
        Command::Dependency(command) => depended(command, network).await,
        Command::Index(arguments) => indexed(arguments),
        #[cfg(feature = "provenance")]
        Command::Verify { archive, keyring } => verified(archive, keyring),
    };
    context.out.result(&text.map_err(Box::new)?)?;
    Ok(Exit::Done)
}

fn read(path: &Path) -> Result<Vec<u8>, ChartError> {
    std::fs::read(path).map_err(ChartError::file(path))
}

fn packed(arguments: &Package) -> Result<String, ChartError> {
    let options = PackageOptions {
        version: arguments.version.clone(),
        app_version: arguments.app_version.clone(),
        stamp: arguments.stamp,
        ..PackageOptions::default()
    };
    let archive = package(&arguments.folder, &arguments.destination, &options)?;
    #[cfg(feature = "provenance")]
    if let (Some(name), Some(keyring)) = (&arguments.sign, &arguments.keyring) {
        let ring = kubepkg_charts::Keyring::parse(&read(keyring)?)?;
        let passphrase = match &arguments.passphrase_file {
            Some(path) => String::from_utf8_lossy(&read(path)?).into_owned(),
            None => String::new(),
        };
        let passphrase = passphrase.lines().next().unwrap_or_default();
        let now = std::time::SystemTime::now();
        let signer = ring.signer(name)?;
        let text = signer.sign(&read(&archive)?, &file_name(&archive), passphrase, now)?;
        let beside = with_prov(&archive);
        std::fs::write(&beside, text).map_err(ChartError::file(&beside))?;
    }
    Ok(archive.display().to_string())
}

#[cfg(feature = "provenance")]
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(feature = "provenance")]
fn with_prov(archive: &Path) -> PathBuf {
    let mut name = archive.as_os_str().to_owned();
    name.push(".prov");
    name.into()
}

#[cfg(feature = "provenance")]
fn verified(archive: &Path, keyring: &Path) -> Result<String, ChartError> {
    let ring = kubepkg_charts::Keyring::parse(&read(keyring)?)?;
    let now = std::time::SystemTime::now();
    let provenance = read(&with_prov(archive))?;
    let signed = ring.check(&provenance, &read(archive)?, &file_name(archive), now)?;
    Ok(signed_by(&signed))
}

#[cfg(feature = "provenance")]
fn signed_by(signed: &kubepkg_charts::Signed) -> String {
    format!(
        "signed by {} with {}\n{}",
        signed.names.join(", "),
        signed.fingerprint,
        signed.digest
    )
}

async fn pushed(arguments: &Push, network: &Network) -> Result<String, ChartError> {
    let charts = network.charts()?;
    let request = PushRequest::of_file(&arguments.archive, &arguments.destination)?;
    let pushed = push(&charts, &request).await?;
    Ok(format!("{}\n{}", pushed.reference, pushed.manifest.digest))
}

async fn pulled(arguments: &Pull, network: &Network) -> Result<String, ChartError> {
    let charts = network.charts()?;
    let address = match &arguments.repo {
        Some(repository) => ChartAddress::In {
            repository: repository.clone(),
            name: arguments.chart.clone(),
        },
        None => ChartAddress::parse(&arguments.chart, &network.repositories()?)?,
    };
    let mut options = PullOptions {
        version: arguments.version.clone(),
        ..PullOptions::default()
    };
    if arguments.prov {
        options.provenance = ProvenanceWish::Keep;
    }
    #[cfg(feature = "provenance")]
    if let (true, Some(keyring)) = (arguments.verify, &arguments.keyring) {
        let ring = kubepkg_charts::Keyring::parse(&read(keyring)?)?;
        options.provenance = ProvenanceWish::Check(ring.into());
    }
    let pulled = pull(&charts, &address, &options).await?;
    let place = if arguments.untar {
        pulled.unpack(&arguments.destination, &options.limits)?
    } else {
        pulled.save(&arguments.destination)?
    };
    let mut text = place.display().to_string();
    #[cfg(feature = "provenance")]
    if let Some(signed) = &pulled.signed {
        text = format!("{text}\n{}", signed_by(signed));
    }
    if !arguments.untar {
        text = format!("{text}\n{}", pulled.digest);
    }
    Ok(text)
}

async fn logged_in(arguments: &Login, network: &Network) -> Result<String, ChartError> {
    let mut password = String::new();
    std::io::stdin()
        .take(MAX_PASSWORD)
        .read_to_string(&mut password)
        .map_err(ChartError::file(Path::new("standard input")))?;
    let credential = Credential::Basic {
        user: arguments.username.clone(),
        password: password.trim_end_matches(['\r', '\n']).to_owned(),
    };
    let charts = network.charts()?;
    charts.check_login(&arguments.host, &credential).await?;
    let config = network.login_config()?;
    config.store(&arguments.host, &credential)?;
    Ok(format!("logged in to {}", arguments.host))
}

fn logged_out(host: &str, network: &Network) -> Result<String, ChartError> {
    network.login_config()?.erase(host)?;
    Ok(format!("logged out of {host}"))
}

async fn depended(command: &Dependency, network: &Network) -> Result<String, ChartError> {
    let (brings, build) = match command {
        Dependency::List { chart } => {
            return Ok(list_dependencies(chart, &ChartLimits::default())?.to_text(CELL));
        }
        Dependency::Update(brings) => (brings, false),
        Dependency::Build(brings) => (brings, true),
    };
    let charts = network.charts()?;
    let options = DependencyOptions {
        repositories: network.repositories()?,
        provenance: wish(brings, build)?,
        ..DependencyOptions::default()
    };
    let brought = if build {
        dependencies::build(&charts, &brings.folder, &options).await?
    } else {
        dependencies::update(&charts, &brings.folder, &options).await?
    };
    Ok(told(&brought))
}

/// What becomes of the signatures of dependencies.
#[cfg(feature = "provenance")]
fn wish(brings: &Brings, build: bool) -> Result<ProvenanceWish, ChartError> {
    let (true, Some(keyring)) = (brings.verify, &brings.keyring) else {
        return Ok(ProvenanceWish::Ignore);
    };
    let ring = kubepkg_charts::Keyring::parse(&read(keyring)?)?.into();
    // As in Helm.
    Ok(if build {
        ProvenanceWish::CheckIfThere(ring)
    } else {
        ProvenanceWish::Check(ring)
    })
}

#[cfg(not(feature = "provenance"))]
#[expect(clippy::unnecessary_wraps, reason = "only a ring can't be read")]
fn wish(_: &Brings, _: bool) -> Result<ProvenanceWish, ChartError> {
    Ok(ProvenanceWish::Ignore)
}

fn told(brought: &Brought) -> String {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(brought.archives.iter().map(|file| format!("charts/{file}")));
    lines.extend(
        brought
            .removed
            .iter()
            .map(|file| format!("charts/{file} removed")),
    );
    if brought.lock_written {
        lines.push("lock written".to_owned());
    }
    if lines.is_empty() {
        lines.push("nothing to do".to_owned());
    }
    lines.join("\n")
}

fn indexed(arguments: &Index) -> Result<String, ChartError> {
    let now = jiff::Timestamp::now().to_string();
    let limits = ChartLimits::default();
    let mut index = IndexFile::of_folder(&arguments.folder, &arguments.url, &now, &limits)?;
    if let Some(path) = &arguments.merge {
        index.merge(IndexFile::parse(&read(path)?)?);
    }
    index.sort();
    let path = arguments.folder.join("index.yaml");
    let text = if arguments.json {
        index.to_json()?
    } else {
        index.to_yaml()?
    };
    std::fs::write(&path, text).map_err(ChartError::file(&path))?;
    Ok(path.display().to_string())
}
