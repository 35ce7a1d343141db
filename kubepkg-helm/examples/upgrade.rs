//! Shows what an upgrade would change, then upgrades: `upgrade KUBECONFIG NAMESPACE NAME CHART [--yes]`, like
//! `helm diff upgrade` and `helm upgrade --reset-then-reuse-values`.
//!
//! The differences are those of the live objects, as the API server would store them: with its defaults, its admission
//! and the conflicts between field managers. Without `--yes` nothing is written.

use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kubepkg_helm::{
    Change, Chart, ChartLimits, Helm, HelmOptions, ReleaseOptions, ReuseValues, UpgradeRequest,
    Values,
};
use serde_json::Value;
use similar::TextDiff;
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
    let [kubeconfig, namespace, name, chart, rest @ ..] = arguments else {
        return Err("upgrade KUBECONFIG NAMESPACE NAME CHART [--yes]".into());
    };
    let (file, options) = (
        Kubeconfig::read_from(kubeconfig)?,
        KubeConfigOptions::default(),
    );
    let config = Config::from_custom_kubeconfig(file, &options).await?;
    let helm = Helm::new(kube::Client::try_from(config)?, HelmOptions::default());

    let request = UpgradeRequest {
        name: name.clone(),
        namespace: namespace.clone(),
        chart: Chart::load_dir(chart.as_ref(), &ChartLimits::default())?.into(),
        values: Values::default(),
        options: ReleaseOptions {
            reuse_values: ReuseValues::ResetThenReuse,
            ..ReleaseOptions::default()
        },
    };
    let mut operation = helm.begin_upgrade(request).await?;
    for change in operation.preview().await? {
        writeln!(out, "{:?} {}/{}", change.what, change.kind, change.name)?;
        if let Some(problem) = &change.problem {
            writeln!(out, "{problem}")?;
        }
        if change.kind != "Secret" {
            write!(out, "{}", difference(&change)?)?;
        }
    }
    if rest != ["--yes"] {
        return Ok(());
    }
    let outcome = operation.run().await?;
    if let Some(failure) = outcome.failure {
        return Err(failure.message.into());
    }
    let (revision, unchanged) = (outcome.release.revision, outcome.unchanged);
    writeln!(
        out,
        "{name} is upgraded, revision {revision}; {unchanged} objects were as they should be"
    )?;
    Ok(())
}

/// The lines that change, without what the server counts.
fn difference(change: &Change) -> Result<String, serde_json::Error> {
    let text = |object: &Option<Value>| {
        let Some(mut object) = object.clone() else {
            return Ok(String::new());
        };
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for counted in [
                "managedFields",
                "resourceVersion",
                "generation",
                "uid",
                "creationTimestamp",
            ] {
                metadata.remove(counted);
            }
        }
        serde_json::to_string_pretty(&object)
    };
    let (before, after) = (text(&change.before)?, text(&change.after)?);
    let diff = TextDiff::from_lines(&before, &after);
    Ok(diff.unified_diff().context_radius(2).to_string())
}
