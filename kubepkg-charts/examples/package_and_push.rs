//! Packs a chart's folder and pushes it: `package_and_push FOLDER oci://HOST/PATH`.
//!
//! What a Go program does with Helm's `action.Package` and `action.Push`. Logins are those of Docker.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use kubepkg_charts::{PushRequest, push};
use kubepkg_helm::{PackageOptions, package};
use kubepkg_source::{Charts, DockerConfig, SourceOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    run(&arguments, &mut std::io::stdout()).await
}

pub(crate) async fn run(arguments: &[String], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let [folder, destination] = arguments else {
        return Err("package_and_push FOLDER oci://HOST/PATH".into());
    };
    let mut options = SourceOptions::default();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    if let Some(config) = DockerConfig::usual(None, home.as_deref()) {
        options.credentials.push(Arc::new(config));
    }
    let charts = Charts::new(options)?;

    let archives = tempfile::tempdir()?;
    let archive = package(folder.as_ref(), archives.path(), &PackageOptions::default())?;
    let pushed = push(&charts, &PushRequest::of_file(&archive, destination)?).await?;
    writeln!(out, "{}@{}", pushed.reference, pushed.manifest.digest)?;
    Ok(())
}
