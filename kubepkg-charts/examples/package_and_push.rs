//! Packs a chart's folder and pushes it: `package_and_push FOLDER oci://HOST/PATH`.
//!
//! What a Go program does with Helm's `action.Package` and `action.Push`. Logins are those of Docker.
#![allow(clippy::print_stdout, reason = "the result of an example")]

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use kubepkg_charts::{PushRequest, push};
use kubepkg_helm::{PackageOptions, package};
use kubepkg_source::{Charts, DockerConfig, SourceOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(destination)) = (arguments.next(), arguments.next()) else {
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
    let pushed = push(&charts, &PushRequest::of_file(&archive, &destination)?).await?;
    println!("{}@{}", pushed.reference, pushed.manifest.digest);
    Ok(())
}
