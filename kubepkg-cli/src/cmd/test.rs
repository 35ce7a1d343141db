//! `test`: tries a package in a sandbox, and says what broke.

use std::path::{Path, PathBuf};

use clap::Args;
use kubepkg_api::{DEFAULT_VARIANT, GoDuration};
use serde_json::json;

use crate::args::{Format, positive};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Label;
use crate::table::{Cell, Table};
use crate::trial::{self, Case, Charts, Finding, Settings, Tried};

/// Arguments of `test`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The package: a folder with a PackageSource in YAML and its charts in charts/, or that file
    #[arg(value_name = "DIR")]
    package: PathBuf,
    /// An older version of it to upgrade from, as a folder or file of the same form; several in their order
    #[arg(long, value_name = "DIR")]
    from: Vec<PathBuf>,
    /// The variant
    #[arg(long, default_value = DEFAULT_VARIANT)]
    variant: String,
    /// How long a component may take
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = positive)]
    timeout: GoDuration,
    /// Write the results as JUnit, too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

pub(crate) async fn run(arguments: &Arguments, context: &mut Context) -> Result<Exit, CliError> {
    let mut charts = Charts::new().map_err(|failure| CliError::Sandbox(Box::new(failure)))?;
    let mut versions = Vec::new();
    for path in arguments.from.iter().chain([&arguments.package]) {
        versions.push(Tried::read(path, &context.group, &mut charts)?);
    }
    let name = same_name(&versions)?;
    let group = context.group.clone();
    let settings = Settings {
        group: &group,
        variant: &arguments.variant,
        timeout: arguments.timeout,
    };
    let cases = trial::run(&settings, &versions, &charts, &mut context.out).await?;
    if let Some(path) = &arguments.junit {
        write(path, &trial::junit(&name, &cases))?;
    }
    show(&name, &cases, context)?;
    let broken = cases.iter().any(|case| !case.findings.is_empty());
    Ok(if broken { Exit::Error } else { Exit::Done })
}

/// The name of the package, which all versions must have.
fn same_name(versions: &[Tried]) -> Result<String, CliError> {
    let name = versions
        .last()
        .map(|tried| tried.name.clone())
        .unwrap_or_default();
    match versions.iter().find(|tried| tried.name != name) {
        None => Ok(name),
        Some(other) => Err(CliError::Document {
            path: other.file.clone(),
            number: 1,
            problem: format!("it is package {}, not {name}", other.name),
        }),
    }
}

/// Writes a file whole or not at all.
fn write(path: &Path, text: &str) -> Result<(), CliError> {
    use std::io::Write as _;
    let failed = |source| CliError::WriteFile {
        path: path.to_owned(),
        source,
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut draft = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    draft.write_all(text.as_bytes()).map_err(failed)?;
    draft.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

fn show(name: &str, cases: &[Case], context: &mut Context) -> Result<(), CliError> {
    match context.format {
        Format::Json | Format::Yaml => {
            context.write(&json!({ "package": name, "cases": cases }))?;
        }
        Format::Name => {
            let broken = cases.iter().filter(|case| !case.findings.is_empty());
            let names: Vec<String> = broken
                .map(|case| format!("{} {}", case.version, case.step))
                .collect();
            context.out.result(&names.join("\n"))?;
        }
        Format::Table | Format::Wide => {
            context.out.result(&table(cases).render())?;
            for case in cases {
                for finding in &case.findings {
                    context.out.result(&paragraph(name, case, finding))?;
                }
            }
        }
    }
    Ok(())
}

fn table(cases: &[Case]) -> Table {
    let mut table = Table::new(&["VERSION", "STEP", "RESULT", "FINDINGS", "TIME"]);
    for case in cases {
        let label = match case.result() {
            "ok" => Label::Good,
            "failed" => Label::Bad,
            _ => Label::Care,
        };
        table.row([
            case.version.as_str().into(),
            case.step.as_str().into(),
            Cell::new(case.result(), label),
            case.findings.len().to_string().into(),
            format!("{:.1}s", case.took.as_secs_f64()).into(),
        ]);
    }
    table
}

/// One finding, as errors are written.
fn paragraph(name: &str, case: &Case, finding: &Finding) -> String {
    let head = format!(
        "{} {name} {} ({}): {}",
        Label::Bad.paint(&finding.rule.to_string()),
        case.version,
        case.step,
        finding.object
    );
    let place = if finding.place.is_empty() {
        String::new()
    } else {
        format!("\n  at: {}", finding.place)
    };
    format!(
        "\n{head}\n  {}{place}\n  {} {}",
        finding.message,
        Label::Head.paint("try:"),
        finding.remedy
    )
}
