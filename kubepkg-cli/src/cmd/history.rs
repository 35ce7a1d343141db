//! `history`: the revisions of a package, oldest first.

use clap::Args;
use kube::ResourceExt as _;
use kubepkg_api::{PackageName, PackageRevision};

use crate::args::Format;
use crate::cmd::{list_value, object_name};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::revisions;

/// Arguments of `history`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The package
    package: PackageName,
}

pub(crate) async fn run(arguments: &Arguments, context: &mut Context) -> Result<Exit, CliError> {
    let cluster = context.cluster().await?;
    let package = arguments.package.as_str();
    let (revisions, warnings) = cluster.revisions(package).await?;
    context.warn(warnings);
    if revisions.is_empty() {
        return Err(match cluster.package(package).await? {
            Some(_) => CliError::NoRevisions {
                package: package.to_owned(),
            },
            None => CliError::NoPackage {
                package: package.to_owned(),
            },
        });
    }
    match context.format {
        Format::Json | Format::Yaml => context.write(&list_value(revisions.iter())?)?,
        Format::Name => {
            let name = |revision: &PackageRevision| {
                object_name::<PackageRevision>(&context.group, &revision.name_any())
            };
            let names: Vec<String> = revisions.iter().map(name).collect();
            context.out.result(&names.join("\n"))?;
        }
        Format::Table | Format::Wide => {
            let wide = context.format == Format::Wide;
            context
                .out
                .result(&revisions::table(&revisions, wide).render())?;
        }
    }
    Ok(Exit::Done)
}
