//! `rollback`: asks the operator to apply an earlier revision again. Nothing is confirmed: a rollback is what one
//! reaches for in a hurry, and it is itself a revision that can be left again.

use std::collections::BTreeMap;

use clap::Args;
use kubepkg_api::{Package, PackageName, keys};
use serde_json::json;

use crate::args::{Format, WriteOptions};
use crate::cmd::object_name;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::revisions;
use crate::wait::{self, Goal, ready};

/// Arguments of `rollback`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The package
    package: PackageName,
    /// The revision to go back to; by default the newest one before the current that was applied
    #[arg(long, value_name = "REVISION", value_parser = clap::value_parser!(i64).range(1..))]
    to: Option<i64>,
    #[command(flatten)]
    write: WriteOptions,
}

pub(crate) async fn run(arguments: &Arguments, context: &mut Context) -> Result<Exit, CliError> {
    let cluster = context.cluster().await?;
    let name = arguments.package.as_str();
    let Some(package) = cluster.package(name).await? else {
        return Err(CliError::NoPackage {
            package: name.to_owned(),
        });
    };
    let (revisions, warnings) = cluster.revisions(name).await?;
    context.warn(warnings);
    if revisions.is_empty() {
        return Err(CliError::NoRevisions {
            package: name.to_owned(),
        });
    }
    let current = package
        .status
        .as_ref()
        .map(|status| status.current_revision)
        .unwrap_or_default();
    let revision = revisions::target(name, &revisions, current, arguments.to)?;

    let fields =
        json!({ "metadata": { "annotations": { keys::ROLLBACK_TO: revision.to_string() } } });
    let patched = cluster
        .patch(&package, fields, arguments.write.dry_run)
        .await?;
    let verb = if arguments.write.dry_run {
        "would be requested (dry run)"
    } else {
        "requested"
    };
    match context.format {
        Format::Json | Format::Yaml => {
            let value = json!({ "package": name, "from": current, "to": revision, "dryRun": arguments.write.dry_run });
            context.write(&value)?;
        }
        Format::Name => context
            .out
            .result(&object_name::<Package>(&context.group, name))?,
        Format::Table | Format::Wide => {
            context.out.result(&format!(
                "package {name}: rollback to revision {revision} {verb}"
            ))?;
        }
    }
    if arguments.write.dry_run {
        return Ok(Exit::Pending);
    }
    if arguments.write.wait {
        let goal = Goal::Ready {
            generation: patched.metadata.generation.unwrap_or_default(),
            version: None,
            not: ready(&package).cloned().map(Box::new),
        };
        let goals = BTreeMap::from([(name.to_owned(), goal)]);
        wait::follow(&cluster, &goals, arguments.write.limit(), &mut context.out).await?;
    }
    Ok(Exit::Done)
}
