//! `kubepkg-helm template`.

use std::io::Write as _;
use std::mem::ManuallyDrop;
use std::path::Path;

use kubepkg_gotemplate::{Budget, FuncTable, SeededEnv, TemplateSet, Value, sprig};
use kubepkg_helm::{
    Capabilities, Chart, HookEvent, KubeVersion, ReleaseFacts, RenderError, RenderOptions,
    Rendered, TextOptions, render, render_templates,
};

use super::arguments::{Arguments, Flags, Kind};
use super::chart::{find, load};
use super::{Error, Output};

pub(super) const FLAGS: Flags = &[
    ("show-only", Some('s'), Kind::Many),
    ("output-dir", None, Kind::Text),
    ("include-crds", None, Kind::Switch),
    ("skip-tests", None, Kind::Switch),
    ("is-upgrade", None, Kind::Switch),
    ("kube-version", None, Kind::Text),
    ("api-versions", Some('a'), Kind::List),
    ("release-name", None, Kind::Switch),
    ("no-hooks", None, Kind::Switch),
    ("generate-name", Some('g'), Kind::Switch),
    ("name-template", None, Kind::Text),
    ("skip-schema-validation", None, Kind::Switch),
    // Without effect where there is no cluster.
    ("create-namespace", None, Kind::Switch),
    ("force-replace", None, Kind::Switch),
    ("force", None, Kind::Switch),
    ("force-conflicts", None, Kind::Switch),
    ("server-side", None, Kind::Switch),
    ("replace", None, Kind::Switch),
    ("timeout", None, Kind::Text),
    ("wait", None, Kind::Optional),
    ("wait-for-jobs", None, Kind::Switch),
    ("description", None, Kind::Text),
    ("disable-openapi-validation", None, Kind::Switch),
    ("rollback-on-failure", None, Kind::Switch),
    ("atomic", None, Kind::Switch),
    ("skip-crds", None, Kind::Switch),
    ("render-subchart-notes", None, Kind::Switch),
    ("labels", Some('l'), Kind::List),
    ("enable-dns", None, Kind::Switch),
    ("hide-notes", None, Kind::Switch),
    ("take-ownership", None, Kind::Switch),
    ("dry-run", None, Kind::Optional),
];

const HINT: &str = "\n\nUse --debug flag to render out invalid YAML";

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Error> {
    let mut capabilities = Capabilities::default();
    if let Some(version) = arguments
        .text("kube-version")
        .filter(|text| !text.is_empty())
    {
        capabilities.kube_version = KubeVersion::parse(version)
            .map_err(|error| format!("invalid kube version '{version}': {error}"))?;
    }
    capabilities
        .api_versions
        .extend(arguments.all("api-versions"));
    match arguments.text("dry-run") {
        None | Some("" | "client" | "true") => {}
        Some(other) => {
            return Err(
                format!("invalid dry-run value ({other:?}): there is no server here").into(),
            );
        }
    }
    let (name, chart) = name_and_chart(arguments)?;
    let path = find(&chart)?;
    let values = arguments.values()?;
    // The program ends when these have been used: the system takes memory back sooner than it is freed piece by piece.
    let chart = ManuallyDrop::new(load(&path)?);
    let is_upgrade = arguments.is_on("is-upgrade");
    let release = ReleaseFacts {
        is_install: !is_upgrade,
        is_upgrade,
        ..ReleaseFacts::install(&name, arguments.namespace())
    };
    let options = RenderOptions {
        skip_schema: arguments.is_on("skip-schema-validation"),
        include_crds: arguments.is_on("include-crds"),
        ..RenderOptions::default()
    };
    if chart.metadata.deprecated {
        output.warn("this chart is deprecated");
    }
    let rendered = render(&chart, &values, &release, &capabilities, &options);
    let rendered = match rendered {
        Ok(rendered) => ManuallyDrop::new(rendered),
        Err(error) if !has_begun(&error) => return Err(error.into()),
        Err(error) if !arguments.is_on("debug") => return Err(format!("{error}{HINT}").into()),
        Err(error) => {
            let mut text = String::new();
            if let RenderError::Manifest(_) = error {
                let files = render_templates(&chart, &values, &release, &capabilities, &options)?;
                for (path, file) in files {
                    let body = file.text();
                    if !body.trim().is_empty() && !path.ends_with("NOTES.txt") {
                        text.extend(["---\n# Source: ", &path, "\n", &body, "\n"]);
                    }
                }
            }
            output.print(&format!("{}\n", text.trim()));
            return Err(error.into());
        }
    };
    for warning in &rendered.warnings {
        output.warn(warning);
    }
    if let Some(folder) = arguments.text("output-dir").filter(|text| !text.is_empty()) {
        let folder = if arguments.is_on("release-name") {
            format!("{folder}/{name}")
        } else {
            folder.to_owned()
        };
        return write(&rendered, &chart, arguments, &folder, output);
    }
    let shown = TextOptions {
        no_hooks: arguments.is_on("no-hooks"),
        skip_tests: arguments.is_on("skip-tests"),
        show_only: arguments.all("show-only"),
    };
    output.print(&rendered.to_text(&shown)?);
    Ok(())
}

/// Whether Helm has a release, if a broken one, when it meets the error.
fn has_begun(error: &RenderError) -> bool {
    matches!(
        error,
        RenderError::KubeVersion { .. }
            | RenderError::Parse { .. }
            | RenderError::Execute { .. }
            | RenderError::Limit { .. }
            | RenderError::Manifest(_)
            | RenderError::PostRender { .. }
            | RenderError::TooManyDocuments { .. }
    )
}

fn name_and_chart(arguments: &Arguments) -> Result<(String, String), Error> {
    let template = arguments
        .text("name-template")
        .filter(|text| !text.is_empty());
    match arguments.plain.as_slice() {
        [_, _, more @ ..] if !more.is_empty() => Err(format!(
            "expected at most two arguments, unexpected arguments: {}",
            more.join(", ")
        )
        .into()),
        [_, _] if arguments.is_on("generate-name") => {
            Err("cannot set --generate-name and also specify a name".into())
        }
        [_, _] if template.is_some() => {
            Err("cannot set --name-template and also specify a name".into())
        }
        [name, chart] => Ok((name.clone(), chart.clone())),
        [chart] => {
            let name = template.map_or_else(|| Ok("release-name".to_owned()), name_of)?;
            Ok((name, chart.clone()))
        }
        _ => Err("no chart".into()),
    }
}

/// What a template for a name gives.
fn name_of(template: &str) -> Result<String, Error> {
    let mut functions = FuncTable::default();
    functions.extend(sprig::functions());
    let mut set = TemplateSet::new("name-template", functions);
    set.parse("name-template", template.as_bytes())?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let seconds = i64::try_from(now.as_secs())?;
    let mut env = SeededEnv::new(now.as_nanos().to_be_bytes(), (seconds, now.subsec_nanos()));
    let mut session = set.session(&mut env, Budget::default());
    let written = session.execute("name-template", &Value::Nil)?;
    Ok(String::from_utf8_lossy(&written).into_owned())
}

/// Writes each document into a file of its template's path.
fn write(
    rendered: &Rendered,
    chart: &Chart,
    arguments: &Arguments,
    folder: &str,
    output: &mut Output,
) -> Result<(), Error> {
    let mut documents: Vec<(String, String)> = Vec::new();
    if arguments.is_on("include-crds") {
        for crd in chart.crds() {
            let text = String::from_utf8_lossy(&crd.data).into_owned();
            documents.push((crd.path, text));
        }
    }
    for object in &rendered.objects {
        documents.push((object.place.template.clone(), object.text.clone()));
    }
    if !arguments.is_on("no-hooks") {
        for hook in &rendered.hooks {
            if !(arguments.is_on("skip-tests") && hook.events.contains(&HookEvent::Test)) {
                documents.push((hook.path.clone(), hook.manifest.clone()));
            }
        }
    }
    let mut written = std::collections::BTreeSet::new();
    for (path, text) in documents {
        let file = format!("{folder}/{path}");
        let parent = Path::new(&file).parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(parent)?;
        let again = !written.insert(path.clone());
        let mut options = std::fs::File::options();
        options
            .write(true)
            .create(true)
            .append(again)
            .truncate(!again);
        let mut out = options.open(&file)?;
        write!(out, "---\n# Source: {path}\n{text}\n")?;
        output.print(&format!("wrote {file}\n"));
    }
    output.print("\n");
    Ok(())
}
