//! `install`: plans, shows the plan, asks, and writes Packages; with `-f` the PackageSources of files first.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use kube::ResourceExt as _;
use kubepkg_api::{Kind as _, Package, PackageName, PackageSpec, keys};
use serde_json::{Map, Value, json};

use crate::args::{Format, WriteOptions};
use crate::cluster::Cluster;
use crate::cmd::{object_name, packages};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::files::{self, SourceFile};
use crate::plan::{self, Plan, Request, Step, Write};
use crate::view::{View, repository_of};
use crate::wait::{self, Goal, ready};

/// Arguments of `install`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Packages, each with a constraint if wanted: `cert-manager@~1.16`
    #[arg(value_name = "PACKAGE[@CONSTRAINT]")]
    packages: Vec<Request>,
    /// Files with PackageSources to apply first, `-` for the standard input; without packages, all packages in them are installed
    #[arg(short, long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Variant of the packages asked for
    #[arg(long)]
    variant: Option<String>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    write: WriteOptions,
}

/// What the files change: the documents to apply, and which of them differ from what the cluster has.
struct Sources {
    files: Vec<SourceFile>,
    changed: Vec<String>,
}

pub(crate) async fn run(arguments: &Arguments, context: &mut Context) -> Result<Exit, CliError> {
    if arguments.packages.is_empty() && arguments.files.is_empty() {
        return Err(CliError::NothingNamed);
    }
    let files = files::read(&arguments.files, &context.group)?;
    let cluster = context.cluster().await?;
    let (mut view, warnings) = cluster.view().await?;
    context.warn(warnings);
    let sources = check_sources(&cluster, &mut view, files).await?;
    let requests = requests(arguments, &sources.files)?;
    let plan = plan::plan(&view, &requests, arguments.variant.as_deref())?;
    show(&plan, &sources, context)?;

    let dry_run = arguments.write.dry_run;
    let changes = plan.changes_anything() || !sources.changed.is_empty();
    if changes {
        if !dry_run && !arguments.yes && !context.out.confirm("Apply?")? {
            return Err(CliError::Aborted);
        }
    } else {
        context.out.message("nothing to do");
    }
    let written = write(&cluster, &view, &plan, &sources, dry_run).await?;
    if dry_run {
        context.out.message("dry run: nothing was written");
        return Ok(if changes { Exit::Pending } else { Exit::Done });
    }
    if changes {
        let program = &context.program;
        let text = format!(
            "{} requested; follow them with \"{program} list\"",
            packages(plan.steps.len())
        );
        context.out.message(&text);
    }
    if arguments.write.wait {
        let goals = goals(&view, &plan, &sources, &written);
        wait::follow(&cluster, &goals, arguments.write.limit(), &mut context.out).await?;
    }
    Ok(Exit::Done)
}

/// Lets the server check the files, and puts what it makes of them into the view.
async fn check_sources(
    cluster: &Cluster,
    view: &mut View,
    files: Vec<SourceFile>,
) -> Result<Sources, CliError> {
    let mut changed = Vec::new();
    for file in &files {
        let current = view.sources.get(&file.name);
        if let Some(repository) = current.and_then(repository_of) {
            return Err(CliError::FromRepository {
                package: file.name.clone(),
                repository: repository.to_owned(),
            });
        }
        let checked = cluster
            .apply_source(&file.name, &file.document, true)
            .await?;
        if current.map(|source| &source.spec) != Some(&checked.spec) {
            changed.push(file.name.clone());
        }
        view.sources.insert(file.name.clone(), checked);
    }
    Ok(Sources { files, changed })
}

/// What was typed, or else every package of the files.
fn requests(arguments: &Arguments, files: &[SourceFile]) -> Result<Vec<Request>, CliError> {
    if !arguments.packages.is_empty() {
        return Ok(arguments.packages.clone());
    }
    let mut requests = Vec::with_capacity(files.len());
    for file in files {
        let package =
            PackageName::new(&file.name).map_err(|error| file.problem(error.to_string()))?;
        requests.push(Request {
            package,
            constraint: String::new(),
        });
    }
    Ok(requests)
}

fn show(plan: &Plan, sources: &Sources, context: &mut Context) -> Result<(), CliError> {
    match context.format {
        Format::Json | Format::Yaml => {
            let mut value = plan::json(plan);
            if let Some(object) = value.as_object_mut() {
                object.insert("sources".to_owned(), json!(sources.changed));
            }
            context.write(&value)
        }
        Format::Name => {
            let changing = plan.steps.iter().filter(|step| step.write.is_some());
            let names: Vec<String> = changing
                .map(|step| object_name::<Package>(&context.group, &step.package))
                .collect();
            Ok(context.out.result(&names.join("\n"))?)
        }
        Format::Table | Format::Wide => {
            context.out.result(&plan::table(plan))?;
            for name in &sources.changed {
                context
                    .out
                    .result(&format!("  {name}: PackageSource comes from a file"))?;
            }
            Ok(())
        }
    }
}

/// Writes the sources, then the Packages in the order of the plan. Returns the Packages as they are now.
async fn write(
    cluster: &Cluster,
    view: &View,
    plan: &Plan,
    sources: &Sources,
    dry_run: bool,
) -> Result<BTreeMap<String, Package>, CliError> {
    for file in sources
        .files
        .iter()
        .filter(|file| sources.changed.contains(&file.name))
    {
        cluster
            .apply_source(&file.name, &file.document, dry_run)
            .await?;
    }
    let mut written = BTreeMap::new();
    for step in &plan.steps {
        let package = match (&step.write, view.packages.get(&step.package)) {
            (
                Some(Write::Create {
                    constraint,
                    variant,
                    dependency,
                }),
                _,
            ) => {
                let spec = PackageSpec {
                    version: constraint.clone(),
                    variant: variant.clone().unwrap_or_default(),
                    ..PackageSpec::default()
                };
                let mut package = Package::new(cluster.group(), &step.package, spec);
                if let Some(reason) = dependency {
                    package
                        .annotations_mut()
                        .insert(keys::DEPENDENCY.to_owned(), reason.clone());
                }
                cluster.create(&package, dry_run).await?
            }
            (
                Some(Write::Update {
                    constraint,
                    variant,
                    asked_for,
                }),
                Some(package),
            ) => {
                let fields = fields(constraint.as_deref(), variant.as_deref(), *asked_for);
                cluster.patch(package, fields, dry_run).await?
            }
            (None, Some(package)) => package.clone(),
            (None | Some(Write::Update { .. }), None) => continue,
        };
        written.insert(step.package.clone(), package);
    }
    Ok(written)
}

fn fields(constraint: Option<&str>, variant: Option<&str>, asked_for: bool) -> Value {
    let mut spec = Map::new();
    if let Some(constraint) = constraint {
        spec.insert("version".to_owned(), json!(constraint));
    }
    if let Some(variant) = variant {
        spec.insert("variant".to_owned(), json!(variant));
    }
    let mut fields = json!({ "spec": spec });
    if asked_for && let Some(object) = fields.as_object_mut() {
        let annotations = json!({ "annotations": { keys::DEPENDENCY: Value::Null } });
        object.insert("metadata".to_owned(), annotations);
    }
    fields
}

fn goals(
    view: &View,
    plan: &Plan,
    sources: &Sources,
    written: &BTreeMap<String, Package>,
) -> BTreeMap<String, Goal> {
    let goal = |step: &Step| {
        let package = written.get(&step.package)?;
        let before = view.packages.get(&step.package).and_then(ready);
        let goal = Goal::Ready {
            generation: package.metadata.generation.unwrap_or_default(),
            version: Some(step.to.clone()),
            not: before
                .filter(|_| sources.changed.contains(&step.package))
                .cloned()
                .map(Box::new),
        };
        Some((step.package.clone(), goal))
    };
    plan.steps.iter().filter_map(goal).collect()
}
