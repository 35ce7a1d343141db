//! Trying a package before it is published: `kubepkg test`.
//!
//! Two looks at each version. The first ([`check`]) renders the charts and hands every object to an API server of its
//! own, so that one refusal does not hide the next. The second ([`run`]) is the life of the package in a sandbox, by
//! the operator: installed, upgraded version by version, rolled back, removed; then nothing may be left.
//!
//! What breaks is a [`Finding`]: which object, from which line of which template, by which rule, and what to do.

mod check;
mod junit;
mod objects;
mod package;
mod run;

use std::fmt;
use std::time::Duration;

use serde::Serialize;

pub(crate) use junit::junit;
pub(crate) use package::{Charts, Tried};
pub(crate) use run::{Settings, run};

/// A rule that a package breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rule {
    /// A chart renders.
    Renders,
    /// The API server takes every object.
    Accepted,
    /// Every kind is Kubernetes' own, or defined by the package, or required by it.
    KindServed,
    /// Names leave room for what Kubernetes adds to them.
    NameLength,
    /// Hooks end.
    HookEnds,
    /// The CRDs that the charts bring are those that the package says it owns.
    CrdsDeclared,
    /// A change comes to its end.
    Settles,
    /// A removal takes along everything that was installed.
    NothingLeft,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Renders => "renders",
            Self::Accepted => "accepted",
            Self::KindServed => "kind-served",
            Self::NameLength => "name-length",
            Self::HookEnds => "hook-ends",
            Self::CrdsDeclared => "crds-declared",
            Self::Settles => "settles",
            Self::NothingLeft => "nothing-left",
        })
    }
}

/// Something that broke.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// The rule.
    pub(crate) rule: Rule,
    /// The object, such as `Deployment shop/web`.
    pub(crate) object: String,
    /// Template and line, or file; empty when it has none.
    pub(crate) place: String,
    /// What is wrong.
    pub(crate) message: String,
    /// What to do.
    pub(crate) remedy: String,
}

/// One step with one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Case {
    /// The version.
    pub(crate) version: String,
    /// What was done: `check`, `install`, `upgrade from 1.0.0`, `rollback to 1.0.0`, `remove`.
    pub(crate) step: String,
    /// How long it took.
    #[serde(skip)]
    pub(crate) took: Duration,
    /// Why it was not done; empty when it was.
    pub(crate) skipped: String,
    /// What broke.
    pub(crate) findings: Vec<Finding>,
}

impl Case {
    /// The step's result in one word.
    pub(crate) fn result(&self) -> &'static str {
        match (self.findings.is_empty(), self.skipped.is_empty()) {
            (false, _) => "failed",
            (true, false) => "skipped",
            (true, true) => "ok",
        }
    }
}
