//! `remove`: deletes Packages; the operator uninstalls what they installed.

use std::collections::BTreeMap;

use clap::Args;
use kubepkg_api::{Package, PackageName};
use serde_json::{Value, json};

use crate::args::{Format, WriteOptions};
use crate::cmd::{object_name, packages};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::removal::{self, Removed};
use crate::wait::{self, Goal};

/// Arguments of `remove`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The packages
    #[arg(required = true, value_name = "PACKAGE")]
    packages: Vec<PackageName>,
    /// Remove packages, too, that were installed as requirements and that nothing requires any more
    #[arg(long)]
    autoremove: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    write: WriteOptions,
}

pub(crate) async fn run(arguments: &Arguments, context: &mut Context) -> Result<Exit, CliError> {
    let cluster = context.cluster().await?;
    let (view, warnings) = cluster.view().await?;
    context.warn(warnings);
    let removed = removal::removal(&view, &arguments.packages, arguments.autoremove)?;
    show(&removed, context)?;

    let dry_run = arguments.write.dry_run;
    if !dry_run && !arguments.yes && !context.out.confirm("Remove?")? {
        return Err(CliError::Aborted);
    }
    let mut goals = BTreeMap::new();
    for Removed { package, .. } in &removed {
        if let Some(object) = view.packages.get(package) {
            cluster.delete(object, dry_run).await?;
            goals.insert(
                package.clone(),
                Goal::Gone {
                    uid: object.metadata.uid.clone(),
                },
            );
        }
    }
    if dry_run {
        context.out.message("dry run: nothing was removed");
        return Ok(Exit::Pending);
    }
    context.out.message(&format!(
        "{} removed; the operator uninstalls them",
        packages(removed.len())
    ));
    if arguments.write.wait {
        wait::follow(&cluster, &goals, arguments.write.limit(), &mut context.out).await?;
    }
    Ok(Exit::Done)
}

fn show(removed: &[Removed], context: &mut Context) -> Result<(), CliError> {
    match context.format {
        Format::Json | Format::Yaml => {
            let steps: Vec<Value> = removed
                .iter()
                .map(|Removed { package, reason }| json!({ "action": "remove", "package": package, "why": reason }))
                .collect();
            context.write(&json!({ "steps": steps }))
        }
        Format::Name => {
            let name = |removed: &Removed| object_name::<Package>(&context.group, &removed.package);
            let names: Vec<String> = removed.iter().map(name).collect();
            Ok(context.out.result(&names.join("\n"))?)
        }
        Format::Wide => Ok(context.out.result(&removal::table(removed).render())?),
        Format::Table => Ok(context.out.result(&removal::lines(removed))?),
    }
}
