//! Post-rendering: a chart's documents go through somebody else's hands before they are sorted.
//!
//! As in Helm 4, the stream holds hooks and resources alike by default, each document with an annotation that names its
//! template; what comes back is put together again by that annotation, which is taken off, and a document without one
//! belongs to a template of its own (`generated-by-postrender-N.yaml`). Helm writes all documents anew; here those that
//! come back as they went keep their very text, comments and line numbers included. Nothing is started: what Helm's
//! plugins do as processes, a program does by implementing [`PostRenderer`]. Refused is a stream with nothing in it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{RenderError, yaml_of};
use crate::go::path::base;
use crate::manifest::{KindOrder, sort_manifests, split_manifests};

/// The annotation that names a document's template on its way through a post-renderer.
pub const POST_RENDER_ANNOTATION: &str = "postrenderer.helm.sh/postrender-filename";

/// Which documents a post-renderer gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PostRenderStrategy {
    /// Hooks and resources in one stream: Helm 4's default.
    #[default]
    Combined,
    /// Hooks in one stream, resources in another, for post-renderers that refuse an object that comes twice.
    Separate,
    /// Resources only, as Helm 3 did.
    NoHooks,
}

/// Changes rendered manifests.
pub trait PostRenderer {
    /// Takes a stream of YAML documents and gives another.
    ///
    /// # Errors
    /// Whatever keeps it from doing so; the rendering ends with it.
    fn post_render(&self, manifests: &str) -> Result<String, PostRenderError>;
}

impl<F: Fn(&str) -> Result<String, PostRenderError>> PostRenderer for F {
    fn post_render(&self, manifests: &str) -> Result<String, PostRenderError> {
        self(manifests)
    }
}

/// Why a post-renderer failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PostRenderError {
    /// What it says.
    pub message: String,
}

impl PostRenderError {
    /// An error with this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// A post-renderer and what it gets.
#[derive(Clone, Copy)]
pub struct PostRender<'a> {
    /// Who changes the documents.
    pub renderer: &'a dyn PostRenderer,
    /// Which of them.
    pub strategy: PostRenderStrategy,
}

/// Files by path, with their text.
type Files = BTreeMap<String, String>;

/// Sends files through a post-renderer.
pub(super) fn run(files: &Files, post: PostRender<'_>) -> Result<Files, RenderError> {
    let group = match post.strategy {
        PostRenderStrategy::Combined => {
            return pass(files, "", post.renderer).map_err(|why| fail("files", why));
        }
        PostRenderStrategy::Separate | PostRenderStrategy::NoHooks => parts(files)?,
    };
    let (hooks, resources) = group;
    let mut out = Files::new();
    for (name, group) in [("hooks", hooks), ("manifests", resources)] {
        if group.is_empty() {
            continue;
        }
        let untouched = name == "hooks" && post.strategy == PostRenderStrategy::NoHooks;
        let group = if untouched {
            group
        } else {
            pass(&group, name, post.renderer).map_err(|why| fail(name, why))?
        };
        for (path, text) in group {
            append(&mut out, path, &text);
        }
    }
    Ok(out)
}

fn fail(what: &'static str, why: String) -> RenderError {
    RenderError::PostRender { what, message: why }
}

/// Hooks, and all else.
fn parts(files: &Files) -> Result<(Files, Files), RenderError> {
    let texts = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()));
    let sorted = sort_manifests(texts, KindOrder::Install)?;
    let (mut hooks, mut resources) = (Files::new(), Files::new());
    for hook in sorted.hooks {
        append(&mut hooks, hook.path, &hook.manifest);
    }
    for manifest in sorted.manifests {
        append(&mut resources, manifest.path, &manifest.content);
    }
    Ok((hooks, resources))
}

fn append(files: &mut Files, path: String, text: &str) {
    let file = files.entry(path).or_default();
    if !file.is_empty() {
        file.push_str(if file.ends_with('\n') {
            "---\n"
        } else {
            "\n---\n"
        });
    }
    file.push_str(text);
}

/// The documents of files in a stream, through the post-renderer, and back in files.
fn pass(files: &Files, group: &str, renderer: &dyn PostRenderer) -> Result<Files, String> {
    let mut stream = String::new();
    // The texts of documents, by what they are once annotated; one text for each time that they come.
    let mut texts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (path, text) in files {
        if base(path).starts_with('_') {
            continue;
        }
        for document in split_manifests(text) {
            let parsed = kubepkg_yaml::load(document.text.as_bytes());
            let mut value = parsed.map_err(|error| format!("parsing {path}: {error}"))?;
            if value.is_null() {
                continue;
            }
            annotate(&mut value, path).map_err(|why| format!("annotating {path}: {why}"))?;
            if !stream.is_empty() {
                stream.push_str("---\n");
            }
            stream.push_str(&yaml_of(&value)?);
            texts
                .entry(value.to_string())
                .or_default()
                .push(document.text);
        }
    }
    let answer = renderer.post_render(&stream);
    let answer = answer.map_err(|error| error.message)?;
    if answer.trim().is_empty() {
        return Err("post-renderer produced empty output".into());
    }
    let mut out = Files::new();
    for (index, document) in split_manifests(&answer).into_iter().enumerate() {
        let parsed = kubepkg_yaml::load(document.text.as_bytes());
        let mut value = parsed.map_err(|error| format!("error parsing YAML: {error}"))?;
        if value.is_null() {
            continue;
        }
        let kept = texts.get_mut(&value.to_string());
        let kept = kept.and_then(|texts| (!texts.is_empty()).then(|| texts.remove(0)));
        let path = deannotate(&mut value).unwrap_or_else(|| match group {
            "" => format!("generated-by-postrender-{index}.yaml"),
            group => format!("generated-by-postrender-{group}-{index}.yaml"),
        });
        match kept {
            Some(text) => append(&mut out, path, text),
            None => append(&mut out, path, &yaml_of(&value)?),
        }
    }
    Ok(out)
}

fn annotate(value: &mut Value, path: &str) -> Result<(), String> {
    let mut at = value;
    for key in ["metadata", "annotations"] {
        let map = at.as_object_mut().ok_or("the document is no object")?;
        let inner = map.entry(key).or_insert(Value::Null);
        if inner.is_null() {
            *inner = Value::Object(serde_json::Map::new());
        }
        at = inner;
    }
    let map = at.as_object_mut().ok_or("annotations are no map")?;
    map.insert(POST_RENDER_ANNOTATION.to_owned(), path.into());
    Ok(())
}

/// Takes the annotation off, and the empty maps that it leaves.
fn deannotate(value: &mut Value) -> Option<String> {
    let metadata = value.get_mut("metadata")?.as_object_mut()?;
    let annotations = metadata.get_mut("annotations")?.as_object_mut()?;
    let path = annotations.remove(POST_RENDER_ANNOTATION);
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    if metadata.is_empty()
        && let Some(map) = value.as_object_mut()
    {
        map.remove("metadata");
    }
    path?
        .as_str()
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
}
