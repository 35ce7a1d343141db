//! Installs a chart and shows how far it is: `install KUBECONFIG NAMESPACE NAME CHART`, like
//! `helm install NAME CHART -n NAMESPACE --create-namespace --wait`.
//!
//! What a Go program does with Helm's `action.Install`, and what it can't: every step, and everything that is awaited
//! with its reason, comes as data while it happens.

use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kubepkg_helm::{
    Advance, Chart, ChartLimits, Helm, HelmOptions, InstallRequest, NamespaceSpec, ReleaseOptions,
    Values, Wait,
};
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
    let [kubeconfig, namespace, name, chart] = arguments else {
        return Err("install KUBECONFIG NAMESPACE NAME CHART".into());
    };
    let (file, options) = (
        Kubeconfig::read_from(kubeconfig)?,
        KubeConfigOptions::default(),
    );
    let config = Config::from_custom_kubeconfig(file, &options).await?;
    let helm = Helm::new(kube::Client::try_from(config)?, HelmOptions::default());

    let request = InstallRequest {
        name: name.clone(),
        namespace: namespace.clone(),
        chart: Chart::load_dir(chart.as_ref(), &ChartLimits::default())?.into(),
        values: Values::default(),
        options: ReleaseOptions {
            create_namespace: Some(NamespaceSpec::default()),
            wait: Wait::Ready,
            ..ReleaseOptions::default()
        },
    };
    let mut operation = helm.begin_install(request).await?;
    let steps = operation.steps().len();
    let mut done = 0;
    let outcome = operation
        .run_with(|advance| match advance {
            Advance::Stepped(step) => {
                done += 1;
                let _ = writeln!(out, "{done}/{steps} {step:?}");
            }
            Advance::Waiting { not_ready, .. } => {
                for object in not_ready {
                    let _ = writeln!(
                        out,
                        "waiting for {}/{}: {}",
                        object.kind, object.name, object.message
                    );
                }
            }
            Advance::Finished(_) => {}
        })
        .await?;
    if let Some(failure) = outcome.failure {
        return Err(failure.message.into());
    }
    writeln!(
        out,
        "{name} is installed, revision {}",
        outcome.release.revision
    )?;
    write!(out, "{}", outcome.release.info.notes)?;
    Ok(())
}
