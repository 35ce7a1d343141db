//! `list`: the installed packages and how they are.

use kube::api::ListParams;
use kubepkg_api::Package;

use crate::args::Format;
use crate::cmd::{list_value, object_name};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Label;
use crate::table::{Cell, Table};
use crate::wait::ready;

pub(crate) async fn run(context: &mut Context) -> Result<Exit, CliError> {
    let cluster = context.cluster().await?;
    let listed = cluster.list::<Package>(ListParams::default()).await?;
    context.warn(listed.warnings);
    let packages = listed.objects;
    match context.format {
        Format::Json | Format::Yaml => context.write(&list_value(packages.values())?)?,
        Format::Name => {
            let names: Vec<String> = packages
                .keys()
                .map(|name| object_name::<Package>(&context.group, name))
                .collect();
            context.out.result(&names.join("\n"))?;
        }
        Format::Table | Format::Wide if packages.is_empty() => {
            context.out.message("no packages are installed");
        }
        Format::Table => context
            .out
            .result(&table(packages.iter(), false).render())?,
        Format::Wide => context.out.result(&table(packages.iter(), true).render())?,
    }
    Ok(Exit::Done)
}

fn table<'a>(packages: impl Iterator<Item = (&'a String, &'a Package)>, wide: bool) -> Table {
    let mut header = vec!["NAME", "VERSION", "REVISION", "READY", "REASON"];
    if wide {
        header.extend(["VARIANT", "CONSTRAINT", "MESSAGE"]);
    }
    let mut table = Table::new(&header);
    for (name, package) in packages {
        let status = package.status.clone().unwrap_or_default();
        let revision = match status.current_revision {
            0 => String::new(),
            number => number.to_string(),
        };
        let condition = ready(package);
        let (state, label) = match condition.map(|condition| condition.status.as_str()) {
            Some("True") => ("True", Label::Good),
            Some("False") => ("False", Label::Bad),
            _ => ("Unknown", Label::Care),
        };
        let reason = condition
            .map(|condition| condition.reason.as_str())
            .unwrap_or_default();
        let reason = if package.metadata.deletion_timestamp.is_some() {
            "BeingRemoved"
        } else {
            reason
        };
        let mut cells: Vec<Cell> = vec![
            name.as_str().into(),
            status.version.into(),
            revision.into(),
            Cell::new(state, label),
            reason.into(),
        ];
        if wide {
            let variant = [status.variant.as_str(), package.spec.variant.as_str()];
            let variant = variant
                .into_iter()
                .find(|variant| !variant.is_empty())
                .unwrap_or_default();
            let message = condition
                .map(|condition| condition.message.as_str())
                .unwrap_or_default();
            cells.extend([
                variant.into(),
                package.spec.version.as_str().into(),
                message.into(),
            ]);
        }
        table.row(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::view::tests::view;

    #[test]
    fn ready_is_unknown_without_a_condition() {
        let condition = json!({
            "type": "Ready", "status": "False", "reason": "UpgradeFailed", "message": "revision 2 failed:\n timed out",
            "lastTransitionTime": "2026-01-02T03:04:05Z"
        });
        let view = view(
            &[
                (
                    "cert-manager",
                    json!({ "version": "~1.21" }),
                    json!({ "version": "1.21.2", "variant": "ha", "currentRevision": 2, "conditions": [condition] }),
                ),
                ("new", json!({}), json!({})),
            ],
            &[],
        );
        let text = |wide| {
            anstream::adapter::strip_str(&table(view.packages.iter(), wide).render()).to_string()
        };
        insta::assert_snapshot!(text(false), @r"
        NAME          VERSION  REVISION  READY    REASON
        cert-manager  1.21.2   2         False    UpgradeFailed
        new           -        -         Unknown  -
        ");
        insta::assert_snapshot!(text(true), @r"
        NAME          VERSION  REVISION  READY    REASON         VARIANT  CONSTRAINT  MESSAGE
        cert-manager  1.21.2   2         False    UpgradeFailed  ha       ~1.21       revision 2 failed: timed out
        new           -        -         Unknown  -              -        -           -
        ");
    }
}
