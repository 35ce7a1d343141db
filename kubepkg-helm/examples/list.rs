//! Lists releases, or shows one: `list KUBECONFIG [NAMESPACE [NAME]]`, like `helm list -A`, and `helm history`,
//! `helm get values` and `helm status` of one.
//!
//! What a Go program does with Helm's `action.List`, `action.History` and `action.Get`. Releases are told by the labels
//! of their records; a payload is read only when it is asked for.

use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kubepkg_helm::{Helm, HelmOptions};
use std::error::Error;
use std::io::Write;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    run(&arguments, &mut std::io::stdout()).await
}

pub(crate) async fn run(
    arguments: &[String],
    out: &mut (impl Write + Send),
) -> Result<(), Box<dyn Error>> {
    let mut arguments = arguments.iter().cloned();
    let Some(kubeconfig) = arguments.next() else {
        return Err("list KUBECONFIG [NAMESPACE [NAME]]".into());
    };
    let (file, options) = (
        Kubeconfig::read_from(kubeconfig)?,
        KubeConfigOptions::default(),
    );
    let config = Config::from_custom_kubeconfig(file, &options).await?;
    let helm = Helm::new(kube::Client::try_from(config)?, HelmOptions::default());

    // An empty namespace means all of them.
    let namespace = arguments.next().unwrap_or_default();
    let Some(name) = arguments.next() else {
        for head in helm.list(&namespace).await? {
            writeln!(
                out,
                "{}/{} revision {} {}",
                head.namespace, head.name, head.revision, head.status
            )?;
        }
        return Ok(());
    };
    for head in helm.history(&namespace, &name).await? {
        writeln!(out, "revision {} {}", head.revision, head.status)?;
    }
    let release = helm.status(&namespace, &name).await?;
    writeln!(
        out,
        "chart {} {}",
        release.chart_name(),
        release.chart_version()
    )?;
    writeln!(out, "description {}", release.info.description)?;
    writeln!(out, "values {}", release.config)?;
    for hook in &release.hooks {
        writeln!(
            out,
            "hook {}/{} {:?}",
            hook.kind, hook.name, hook.last_run.phase
        )?;
    }
    write!(out, "{}", release.manifest)?;
    Ok(())
}
