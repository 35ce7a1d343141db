//! Prints what `helm template` prints:
//! `template NAME CHART [-n NAMESPACE] [-f VALUES]... [--set KEY=VALUE]... [--include-crds]`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command prints"
)]

use std::path::Path;
use std::process::ExitCode;

use kubepkg_helm::{
    Capabilities, Chart, ChartLimits, ReleaseFacts, RenderOptions, ValueSources, render,
};

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: impl Iterator<Item = String>) -> Result<String, Box<dyn std::error::Error>> {
    let (mut plain, mut namespace) = (Vec::new(), "default".to_owned());
    let (mut sources, mut include_crds) = (ValueSources::default(), false);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "-n" | "--namespace" => namespace = value()?,
            "-f" | "--values" => sources.files.push(value()?),
            "--set" => sources.set.push(value()?),
            "--include-crds" => include_crds = true,
            _ => plain.push(argument),
        }
    }
    let [name, chart] = plain.as_slice() else {
        return Err("wanted: NAME CHART".into());
    };
    let (path, limits) = (Path::new(chart), ChartLimits::default());
    let chart = if path.is_dir() {
        Chart::load_dir(path, &limits)?
    } else {
        Chart::load_file(path, &limits)?
    };
    let values =
        sources.merge(&mut |file| std::fs::read(file).map_err(|error| error.to_string()))?;
    let release = ReleaseFacts::install(name, namespace);
    let options = RenderOptions {
        include_crds,
        ..RenderOptions::default()
    };
    let rendered = render(
        &chart,
        &values,
        &release,
        &Capabilities::default(),
        &options,
    )?;

    let mut text = format!("{}\n", rendered.manifest.trim());
    for hook in &rendered.hooks {
        text.extend([
            "---
# Source: ",
            &hook.path,
            "
",
            &hook.manifest,
            "
",
        ]);
    }
    Ok(text)
}
