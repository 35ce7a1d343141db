//! What rendering is told beside chart and values.

use std::cell::RefCell;

use kubepkg_gotemplate::Env;
use serde_json::Value;

/// `.Release`: facts about the release that a chart is rendered for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseFacts {
    /// Name of the release.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// The revision that this rendering will become, from 1.
    pub revision: u32,
    /// Whether the release is new.
    pub is_install: bool,
    /// Whether an older revision is there, or one is rolled back to.
    pub is_upgrade: bool,
}

impl ReleaseFacts {
    /// The first revision of a release.
    pub fn install(name: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            namespace: namespace.into(),
            revision: 1,
            is_install: true,
            is_upgrade: false,
        }
    }

    /// A later revision of a release.
    pub fn upgrade(name: impl Into<String>, namespace: impl Into<String>, revision: u32) -> Self {
        Self {
            name: name.into(),
            namespace: namespace.into(),
            revision,
            is_install: false,
            is_upgrade: true,
        }
    }
}

/// How much a rendering may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderLimits {
    /// Steps of the template engine, over all templates.
    pub steps: u64,
    /// Bytes that all templates together may write.
    pub output_bytes: usize,
    /// Wall-clock time; `None` for no limit.
    pub wall_time: Option<std::time::Duration>,
    /// YAML documents that come out.
    pub documents: usize,
}

impl Default for RenderLimits {
    /// Fifty million steps, 64 MiB, one minute, 20,000 documents: ten times what the largest public charts take.
    fn default() -> Self {
        DEFAULT_LIMITS.clone()
    }
}

/// A request of a template that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LookupError {
    /// What the API server or the way to it says.
    pub message: String,
}

/// The function `lookup`: what a template may read from the cluster.
pub trait Lookup {
    /// The object of this name, a list of all when `name` is empty, or `{}` when there is none.
    ///
    /// # Errors
    /// [`LookupError`] ends the rendering; "not found" is no error.
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Value, LookupError>;
}

/// No cluster: every look-up finds nothing, as with `helm template`.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLookup;

impl Lookup for NoLookup {
    fn lookup(&self, _: &str, _: &str, _: &str, _: &str) -> Result<Value, LookupError> {
        Ok(Value::Object(serde_json::Map::new()))
    }
}

/// Switches of a rendering. The default is that of `helm template`.
#[derive(Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of helm template of its own"
)]
pub struct RenderOptions<'a> {
    /// Answers `lookup`; nothing when `None`.
    pub lookup: Option<&'a dyn Lookup>,
    /// Missing required values and `fail` are no errors.
    pub lint: bool,
    /// Values are not checked against `values.schema.json`.
    pub skip_schema: bool,
    /// Notes of subcharts are part of the notes.
    pub sub_notes: bool,
    /// The manifest begins with the files of `crds/`, as with `--include-crds`.
    pub include_crds: bool,
    /// The clock: seconds since 1970 and nanoseconds. The machine's when `None`.
    pub now: Option<(i64, u32)>,
    /// The seed of everything random, for repeatable plans: what was planned is what is applied. Passwords and keys
    /// that templates generate follow from it, so it is to be as random and as secret as they are. The machine's
    /// randomness when `None`.
    pub seed: Option<[u8; 32]>,
    /// Clock and chance from elsewhere, such as a recording; `now` and `seed` have no say then. It is not asked for
    /// look-ups, nor told of warnings.
    pub chance: Option<&'a RefCell<dyn Env>>,
    /// Who changes the documents before they are sorted; nobody when `None`.
    pub post_render: Option<super::PostRender<'a>>,
    /// Limits; the default ones when `None`.
    pub limits: Option<&'a RenderLimits>,
}

static DEFAULT_LIMITS: RenderLimits = RenderLimits {
    steps: 50_000_000,
    output_bytes: 64 << 20,
    wall_time: Some(std::time::Duration::from_mins(1)),
    documents: 20_000,
};

impl<'a> RenderOptions<'a> {
    pub(super) fn limits(&self) -> &'a RenderLimits {
        self.limits.unwrap_or(&DEFAULT_LIMITS)
    }
}

impl std::fmt::Debug for RenderOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RenderOptions")
            .field("lookup", &self.lookup.is_some())
            .field("lint", &self.lint)
            .field("skip_schema", &self.skip_schema)
            .field("sub_notes", &self.sub_notes)
            .field("include_crds", &self.include_crds)
            .field("now", &self.now)
            // The seed is a secret.
            .field("seed", &self.seed.is_some())
            .field("chance", &self.chance.is_some())
            .field("post_render", &self.post_render.map(|post| post.strategy))
            .field("limits", &self.limits)
            .finish()
    }
}
