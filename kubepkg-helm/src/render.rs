//! Rendering: a chart, the user's values and facts about release and cluster become manifests, hooks and notes.
//!
//! The steps and their order are those of `helm template`: is the chart one that can be installed, are its
//! dependencies there, which of them take part, values, schema, cluster version, templates, then splitting and
//! sorting. Nothing here talks to a cluster, reads a file or starts a process; look-ups, clock and randomness come
//! through [`RenderOptions`].

mod engine;
mod env;
mod error;
mod files;
mod objects;
mod options;
mod post;
mod rendered;
mod text;

use std::collections::BTreeMap;

pub use engine::TemplateOutput;
pub use error::RenderError;
pub use options::{Lookup, LookupError, NoLookup, ReleaseFacts, RenderLimits, RenderOptions};
pub use post::{
    POST_RENDER_ANNOTATION, PostRender, PostRenderError, PostRenderStrategy, PostRenderer,
};
pub use rendered::{Rendered, RenderedObject, TemplatePlace};
pub use text::{NoSuchTemplate, TextOptions};

use crate::capabilities::Capabilities;
use crate::chart::Chart;
use crate::dependencies::process_dependencies;
use crate::manifest::{KindOrder, document_errors, join, sort_manifests, split_manifests};
use crate::name::validate_release_name;
use crate::values::{Values, coalesce, coalesce_values, to_values};
use crate::version::is_compatible;

/// `sigs.k8s.io/yaml` of a JSON value.
fn yaml_of(value: &serde_json::Value) -> Result<String, String> {
    kubepkg_yaml::to_yaml(value).map_err(|error| error.to_string())
}

/// Renders a chart into what a release of it holds.
///
/// `user` are the user's values alone; the chart's defaults are added here. The chart is not changed: the copy with
/// processed dependencies is part of the answer.
///
/// # Errors
/// [`RenderError`]; its text is Helm's where Helm refuses the same.
pub fn render(
    chart: &Chart,
    user: &Values,
    release: &ReleaseFacts,
    capabilities: &Capabilities,
    options: &RenderOptions<'_>,
) -> Result<Rendered, RenderError> {
    check_installable(chart)?;
    validate_release_name(&release.name).map_err(|source| RenderError::ReleaseName {
        name: release.name.clone(),
        source,
    })?;
    let mut chart = chart.clone();
    let mut warnings = process_dependencies(&mut chart, user)
        .map_err(|source| RenderError::Dependencies { source })?;
    let (values, files) = templates(
        &chart,
        user,
        release,
        capabilities,
        options,
        true,
        &mut warnings,
    )?;

    let notes_path = format!("{}/templates/NOTES.txt", chart.name());
    let mut notes = String::new();
    let mut texts = BTreeMap::new();
    for (path, output) in &files {
        if !path.ends_with("NOTES.txt") {
            texts.insert(path.clone(), output.text());
        } else if options.sub_notes || *path == notes_path {
            if !notes.is_empty() {
                notes.push('\n');
            }
            notes.push_str(&output.text());
        }
    }
    let mut before = None;
    if let Some(post) = options.post_render {
        let changed = post::run(&texts, post)?;
        before = Some(std::mem::replace(&mut texts, changed));
    }
    let sorted = sort_manifests(
        texts
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str())),
        KindOrder::Install,
    )?;
    let limit = options.limits().documents;
    if sorted.manifests.len() + sorted.hooks.len() > limit {
        return Err(RenderError::TooManyDocuments { limit });
    }

    let crds = chart.crds();
    let mut manifest = String::new();
    if options.include_crds {
        for crd in &crds {
            let text = String::from_utf8_lossy(&crd.data);
            for part in ["---\n# Source: ", &crd.path, "\n", &text, "\n"] {
                manifest.push_str(part);
            }
        }
    }
    manifest.push_str(&join(&sorted.manifests));
    let place = |path: &str, line: usize, text: &str| {
        let output = files.get(path);
        // A post-renderer moves documents; those that it left alone are found again by their text.
        let line = match &before {
            None => line,
            Some(before) => before.get(path).map_or(0, |file| line_of(file, text)),
        };
        TemplatePlace {
            chart: output
                .map(|output| output.chart.clone())
                .unwrap_or_default(),
            template: path.to_owned(),
            line: output.map_or(0, |output| output.source_line(line)),
        }
    };
    let hook_places = sorted.hooks.iter().zip(&sorted.hook_lines);
    let hook_places = hook_places
        .map(|(hook, line)| place(&hook.path, *line, &hook.manifest))
        .collect();
    let objects = sorted.manifests.into_iter().map(|manifest| {
        let place = place(&manifest.path, manifest.line, &manifest.content);
        RenderedObject::new(place, manifest)
    });
    Ok(Rendered {
        objects: objects.collect(),
        config: user.clone(),
        hooks: sorted.hooks,
        hook_places,
        chart,
        values,
        manifest,
        notes,
        crds,
        warnings,
    })
}

/// On which line of a rendered file a document begins; 0 when the file has it not.
fn line_of(file: &str, text: &str) -> usize {
    let mut documents = split_manifests(file).into_iter();
    let found = documents.find(|document| document.text.trim_end() == text.trim_end());
    found.map_or(0, |document| document.line)
}

/// Renders the templates of a chart and its subcharts, and stops there: what each file became, by its path from the
/// chart's name. Dependencies are processed, values coalesced; the schema is not asked.
///
/// # Errors
/// As [`render`].
pub fn render_templates(
    chart: &Chart,
    user: &Values,
    release: &ReleaseFacts,
    capabilities: &Capabilities,
    options: &RenderOptions<'_>,
) -> Result<BTreeMap<String, TemplateOutput>, RenderError> {
    let mut chart = chart.clone();
    let mut warnings = process_dependencies(&mut chart, user)?;
    let options = RenderOptions {
        skip_schema: true,
        ..*options
    };
    let (_, files) = templates(
        &chart,
        user,
        release,
        capabilities,
        &options,
        false,
        &mut warnings,
    )?;
    Ok(files)
}

/// Everything that keeps a chart from being rendered: all templates that can't be parsed, else all that fail and all
/// documents that can't be read. Empty when [`render`] would succeed; the first is the one that [`render`] answers with.
/// What comes before the templates (dependencies, values, schema, the cluster's version) comes alone.
pub fn render_errors(
    chart: &Chart,
    user: &Values,
    release: &ReleaseFacts,
    capabilities: &Capabilities,
    options: &RenderOptions<'_>,
) -> Vec<RenderError> {
    let Err(first) = render(chart, user, release, capabilities, options) else {
        return Vec::new();
    };
    if !matches!(
        first,
        RenderError::Parse { .. } | RenderError::Execute { .. } | RenderError::Manifest(_)
    ) {
        return vec![first];
    }
    let mut chart = chart.clone();
    let mut warnings = Vec::new();
    if process_dependencies(&mut chart, user).is_err() {
        return vec![first];
    }
    let Ok(tree) = coalesce(&chart, &user.to_tree(), false, &mut warnings) else {
        return vec![first];
    };
    let input = engine::Input {
        chart: &chart,
        values: &tree,
        release,
        capabilities,
        options,
    };
    let mut errors = Vec::new();
    let outputs = engine::run_with(&input, &mut warnings, &mut |error| {
        errors.push(error);
        true
    });
    for (path, output) in outputs
        .iter()
        .filter(|(path, _)| !path.ends_with("NOTES.txt"))
    {
        errors.extend(document_errors(path, &output.text()).map(RenderError::Manifest));
    }
    errors
}

/// Renders the templates as `helm lint` does: values are coalesced twice, the release has neither revision nor kind.
/// `None` when dependencies or values don't fit together, which lint passes over.
///
/// # Errors
/// [`RenderError`] of the schema and the templates.
pub(crate) fn lint_templates(
    chart: &Chart,
    user: &Values,
    namespace: &str,
    capabilities: &Capabilities,
    options: &RenderOptions<'_>,
) -> Result<Option<BTreeMap<String, TemplateOutput>>, RenderError> {
    let mut chart = chart.clone();
    if process_dependencies(&mut chart, user).is_err() {
        return Ok(None);
    }
    let Ok(coalesced) = coalesce_values(&chart, user) else {
        return Ok(None);
    };
    let release = ReleaseFacts {
        name: "test-release".into(),
        namespace: namespace.to_owned(),
        revision: 0,
        is_install: false,
        is_upgrade: false,
    };
    let rendered = templates(
        &chart,
        &coalesced.values,
        &release,
        capabilities,
        options,
        false,
        &mut Vec::new(),
    );
    match rendered {
        Ok((_, outputs)) => Ok(Some(outputs)),
        Err(RenderError::Values(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn templates(
    chart: &Chart,
    user: &Values,
    release: &ReleaseFacts,
    capabilities: &Capabilities,
    options: &RenderOptions<'_>,
    check_cluster: bool,
    warnings: &mut Vec<String>,
) -> Result<(Values, BTreeMap<String, TemplateOutput>), RenderError> {
    let tree = coalesce(chart, &user.to_tree(), false, warnings)?;
    let values = to_values(&tree);
    let mut run = || {
        let constraint = &chart.metadata.kube_version;
        if check_cluster
            && !constraint.is_empty()
            && !is_compatible(constraint, &capabilities.kube_version.normalized)
        {
            return Err(RenderError::KubeVersion {
                constraint: constraint.clone(),
                version: capabilities.kube_version.version.clone(),
            });
        }
        let input = engine::Input {
            chart,
            values: &tree,
            release,
            capabilities,
            options,
        };
        engine::run(&input, warnings)
    };
    if options.skip_schema {
        let files = run()?;
        return Ok((values, files));
    }
    // What the schema says comes first, whatever the templates say.
    let (checked, files) = crate::schema::validate_beside(chart, &values, run);
    checked.map_err(|message| RenderError::Schema { message })?;
    Ok((values, files?))
}

/// Whether a chart can be installed: its format is known, it is no library, its dependencies are there.
///
/// # Errors
/// [`RenderError::ApiVersion`], [`RenderError::NotInstallable`], [`RenderError::MissingDependencies`].
pub fn check_installable(chart: &Chart) -> Result<(), RenderError> {
    let metadata = &chart.metadata;
    match metadata.api_version.as_str() {
        "" | "v1" | "v2" => {}
        "v3" => return Err(RenderError::UnstableApiVersion),
        found => {
            return Err(RenderError::ApiVersion {
                found: found.to_owned(),
            });
        }
    }
    if !matches!(metadata.chart_type.as_str(), "" | "application") {
        return Err(RenderError::NotInstallable {
            chart_type: metadata.chart_type.clone(),
        });
    }
    let missing = chart.missing_dependencies();
    if missing.is_empty() {
        return Ok(());
    }
    Err(RenderError::MissingDependencies {
        names: missing.into_iter().map(str::to_owned).collect(),
    })
}
