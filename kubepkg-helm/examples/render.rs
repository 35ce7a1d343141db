//! Renders a chart: `render CHART NAME [KEY=VALUE...]`, like `helm template NAME CHART --set KEY=VALUE`.
//!
//! What a Go program does with Helm's `engine.Render`, and all that `action.Install` does around it for a dry run.
//! Needs no feature of this crate, no cluster and no network.

use kubepkg_helm::{
    Capabilities, Chart, ChartLimits, ReleaseFacts, RenderOptions, ValueSources, render,
};
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    run(&arguments, &mut std::io::stdout())
}

pub(crate) fn run(
    arguments: &[String],
    out: &mut (impl Write + Send),
) -> Result<(), Box<dyn Error>> {
    let mut arguments = arguments.iter().cloned();
    let (Some(path), Some(name)) = (arguments.next().map(PathBuf::from), arguments.next()) else {
        return Err("render CHART NAME [KEY=VALUE...]".into());
    };
    let limits = ChartLimits::default();
    let chart = if path.is_dir() {
        Chart::load_dir(&path, &limits)?
    } else {
        Chart::load_file(&path, &limits)?
    };
    let sources = ValueSources {
        set: arguments.collect(),
        ..ValueSources::default()
    };
    let values = sources.merge(&mut |file| std::fs::read(file).map_err(|e| e.to_string()))?;

    let release = ReleaseFacts::install(&name, "default");
    let options = RenderOptions::default();
    let rendered = render(
        &chart,
        &values,
        &release,
        &Capabilities::default(),
        &options,
    )?;
    for object in &rendered.objects {
        writeln!(out, "{}/{} from {}", object.kind, object.name, object.place)?;
    }
    write!(out, "{}", rendered.manifest)?;
    Ok(())
}
