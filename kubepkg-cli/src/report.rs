//! Errors for people: `error: ...`, the causes below, and what to try next.
//!
//! Like this:
//!
//! ```text
//! error: cert-manager 1.17.0 does not satisfy "~1.16"
//!   try: kubepkg install cert-manager
//! ```

use std::error::Error;

use crate::error::CliError;
use crate::options::Options;
use crate::out::Label;
use crate::plan::{Origin, PlanError, Why};
use crate::removal::RemovalError;
use crate::revisions::RollbackError;
use crate::table::wrap;

const COLUMNS: usize = 80;

/// An error with everything that helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What is wrong, in one sentence.
    pub heading: String,
    /// Why, from the outside in.
    pub causes: Vec<String>,
    /// Where it was asked for, what there is instead.
    pub notes: Vec<String>,
    /// Commands or changes to try next.
    pub tries: Vec<String>,
}

impl Report {
    /// The report of an error.
    pub fn of(error: &CliError, options: &Options) -> Self {
        let mut report = Self {
            heading: error.to_string(),
            causes: causes(error),
            notes: Vec::new(),
            tries: Vec::new(),
        };
        let name = options.name.as_str();
        match error {
            CliError::Kubeconfig(_) => report.tries.push("kubectl config get-contexts".to_owned()),
            CliError::Client(_) | CliError::Request { .. } => {
                report.tries.extend(hint_of_request(error));
            }
            CliError::NotInstalled { .. } => report.tries.push(options.install_hint.clone()),
            CliError::TooOld { group, .. } => {
                report.tries.push(format!(
                    "upgrade the operator, so that it serves {}",
                    group.api_version()
                ));
            }
            CliError::Plan(error) => plan(&mut report, error, name),
            CliError::Removal(error) => removal(&mut report, error, name),
            CliError::Rollback(error) => rollback(&mut report, error, name),
            CliError::NoPackage { .. } => report.tries.push(format!("{name} list")),
            CliError::NoRevisions { package } => {
                report
                    .tries
                    .push(format!("kubectl describe package {package}"));
            }
            CliError::FromRepository { package, .. } => {
                report.tries.push(format!("{name} install {package}"));
            }
            CliError::NothingNamed => report.tries.push(format!("{name} install --help")),
            CliError::Failed { packages } | CliError::NotReady { packages } => {
                let first = packages.first().map(|(package, _)| package.as_str());
                report
                    .tries
                    .extend(first.map(|package| format!("kubectl describe package {package}")));
            }
            #[cfg(feature = "sandbox")]
            CliError::Sandbox(error) => report.tries.extend(error.hint(name)),
            CliError::Chart(error) => {
                report.tries.extend(error.hint(name));
            }
            CliError::File { .. }
            | CliError::WriteFile { .. }
            | CliError::Document { .. }
            | CliError::Demo { .. }
            | CliError::Aborted
            | CliError::Output(_)
            | CliError::Format { .. } => {}
        }
        report
    }

    /// The report as text for a terminal, wrapped at 80 columns; commands are never broken.
    pub fn render(&self) -> String {
        let mut lines = vec![format!(
            "{} {}",
            Label::Bad.paint("error:"),
            wrap_after("error: ", &self.heading, 2)
        )];
        let because =
            |cause: &String| format!("  because: {}", wrap_after("  because: ", cause, 4));
        lines.extend(self.causes.iter().map(because));
        lines.extend(
            self.notes
                .iter()
                .map(|note| format!("  {}", wrap_after("  ", note, 4))),
        );
        let attempt = |attempt: &String| format!("  {} {attempt}", Label::Head.paint("try:"));
        lines.extend(self.tries.iter().map(attempt));
        lines.join("\n") + "\n"
    }
}

/// Wraps text that begins behind a prefix of this width.
fn wrap_after(prefix: &str, text: &str, indent: usize) -> String {
    let wrapped = wrap(
        &format!("{}{text}", "x".repeat(prefix.len())),
        COLUMNS,
        indent,
    );
    wrapped.get(prefix.len()..).unwrap_or_default().to_owned()
}

/// The chain of causes, without the ones that only repeat what stands above them.
fn causes(error: &CliError) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    let mut above = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !text.is_empty() && !above.contains(&text) {
            causes.push(text.clone());
            above = text;
        }
        next = cause.source();
    }
    causes
}

fn hint_of_request(error: &CliError) -> Option<String> {
    let CliError::Request { source, .. } = error else {
        return Some("kubectl cluster-info".to_owned());
    };
    match source.as_ref() {
        kube::Error::Api(status) if status.code == 403 => {
            Some("kubectl auth can-i --list".to_owned())
        }
        kube::Error::Api(status) if status.code == 409 => {
            Some("run the same command again".to_owned())
        }
        kube::Error::Api(_) => None,
        _ => Some("kubectl cluster-info".to_owned()),
    }
}

fn plan(report: &mut Report, error: &PlanError, name: &str) {
    match error {
        PlanError::NoSource {
            package, similar, ..
        } => {
            if !similar.is_empty() {
                report
                    .notes
                    .push(format!("there is: {}", similar.join(", ")));
            }
            report
                .tries
                .push(format!("{name} install -f {package}.yaml"));
        }
        PlanError::AskedTwice { package, first, .. } => {
            report
                .tries
                .push(format!("{name} install '{package}@{first}'"));
        }
        PlanError::Invalid { .. } => {
            report.notes.push(
                "versions are like 1.16.2, constraints like ~1.16, >=1.2 <2 or ^2".to_owned(),
            );
        }
        PlanError::VersionMismatch {
            package,
            version,
            origin,
            why,
            ..
        } => {
            report.notes.push(match origin {
                Origin::Local => {
                    format!("PackageSource {package} is hand-written and holds {version} only")
                }
                Origin::Repository(repository) => {
                    format!("PackageSource {package} comes from {repository}")
                }
            });
            report.tries.push(match why {
                Why::Requested => format!("{name} install {package}"),
                Why::Required { .. } => format!("kubectl edit packagesource {package}"),
            });
        }
        PlanError::NoVariant {
            package,
            available,
            why,
            ..
        } => {
            report
                .notes
                .push(format!("its variants are: {}", available.join(", ")));
            if let (Why::Requested, Some(first)) = (why, available.first()) {
                report
                    .tries
                    .push(format!("{name} install {package} --variant {first}"));
            }
        }
        PlanError::VariantConflict { package, .. } | PlanError::ValuesConflict { package, .. } => {
            report
                .notes
                .push("packages that require it must agree; neither is picked".to_owned());
            report.tries.push(format!(
                "kubectl get packagesources -o yaml | grep -B3 -A9 'package: {package}'"
            ));
        }
        PlanError::NoProvider { capability, .. } => {
            report.notes.push(if capability.starts_with("api:") {
                "an API counts once the API server serves it".to_owned()
            } else {
                "a PackageSource that lists it under provides would do".to_owned()
            });
        }
        PlanError::Conflict {
            other,
            installed: true,
            ..
        } => report.tries.push(format!("{name} remove {other}")),
        PlanError::Breaks { requirer, .. } => report
            .tries
            .push(format!("kubectl get packagesource {requirer} -o yaml")),
        PlanError::BeingRemoved { package } => {
            report
                .tries
                .push(format!("kubectl wait --for=delete package/{package}"));
        }
        PlanError::CrdOwner { owner, .. } => report.tries.push(format!("{name} remove {owner}")),
        PlanError::Conflict { .. } | PlanError::Cycle { .. } => {}
    }
}

fn removal(report: &mut Report, error: &RemovalError, name: &str) {
    match error {
        RemovalError::NotInstalled { .. } => report.tries.push(format!("{name} list")),
        RemovalError::Needed {
            asked, requirers, ..
        } => {
            let all: Vec<&str> = asked.iter().chain(requirers).map(String::as_str).collect();
            report
                .tries
                .push(format!("{name} remove {}", all.join(" ")));
        }
    }
}

fn rollback(report: &mut Report, error: &RollbackError, name: &str) {
    match error {
        RollbackError::NoEarlier { package } | RollbackError::NotRestorable { package, .. } => {
            report.tries.push(format!("{name} history {package}"));
        }
        RollbackError::Unknown {
            package, available, ..
        } => {
            if available.is_empty() {
                report.tries.push(format!("{name} history {package}"));
            } else {
                let numbers: Vec<String> = available.iter().map(ToString::to_string).collect();
                report.notes.push(format!(
                    "revisions that can be restored: {}",
                    numbers.join(", ")
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kubepkg_api::ApiGroup;

    use super::*;

    fn shown(error: &CliError) -> String {
        let text = Report::of(error, &Options::default()).render();
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn a_missing_operator_says_how_to_get_it() {
        insta::assert_snapshot!(shown(&CliError::NotInstalled { group: ApiGroup::default() }), @r"
        error: kubepkg is not installed there: the cluster does not serve kubepkg.dev
          try: kubepkg-operator crds | kubectl apply --server-side -f -
        ");
        let old = CliError::TooOld {
            group: ApiGroup::default(),
            served: vec!["v1alpha1".into(), "v1beta1".into()],
        };
        insta::assert_snapshot!(shown(&old), @r"
        error: the cluster's kubepkg is older than this program: it serves kubepkg.dev
          v1alpha1, v1beta1, not v1
          try: upgrade the operator, so that it serves kubepkg.dev/v1
        ");
    }

    #[test]
    fn plans_that_cannot_be_made_name_what_there_is() {
        let missing = PlanError::NoSource {
            package: "cert-manager".into(),
            why: Why::Required {
                by: "app".into(),
                version: "1.0.0".into(),
                via: None,
            },
            similar: vec!["cert-manager-csi".into()],
        };
        insta::assert_snapshot!(shown(&missing.into()), @r"
        error: there is no PackageSource cert-manager in the cluster, required by app
          1.0.0
          there is: cert-manager-csi
          try: kubepkg install -f cert-manager.yaml
        ");
        let variant = PlanError::NoVariant {
            package: "a".into(),
            version: "1.0.0".into(),
            variant: "ha".into(),
            why: Why::Requested,
            available: vec!["default".into(), "small".into()],
        };
        insta::assert_snapshot!(shown(&variant.into()), @r#"
        error: a 1.0.0 has no variant "ha"
          its variants are: default, small
          try: kubepkg install a --variant default
        "#);
        let mismatch = PlanError::VersionMismatch {
            package: "a".into(),
            version: "2.0.0".into(),
            constraint: "~1".into(),
            why: Why::Requested,
            origin: Origin::Local,
        };
        insta::assert_snapshot!(shown(&mismatch.into()), @r#"
        error: a 2.0.0 does not satisfy "~1"
          PackageSource a is hand-written and holds 2.0.0 only
          try: kubepkg install a
        "#);
    }

    #[test]
    fn a_refused_removal_offers_to_remove_all() {
        let needed = RemovalError::Needed {
            reasons: vec!["cdi is required by virtualization".into()],
            asked: vec!["cdi".into()],
            requirers: vec!["virtualization".into()],
        };
        insta::assert_snapshot!(shown(&needed.into()), @r"
        error: cannot remove: cdi is required by virtualization
          try: kubepkg remove cdi virtualization
        ");
    }

    #[test]
    fn waiting_ends_with_what_is_missing() {
        let late = CliError::NotReady {
            packages: vec![
                (
                    "a".into(),
                    "RequirementsNotMet: package b: not ready".into(),
                ),
                ("b".into(), "Progressing".into()),
            ],
        };
        assert_eq!(late.exit().code(), 4);
        insta::assert_snapshot!(shown(&late), @r"
        error: not ready in time: a (RequirementsNotMet: package b: not ready), b
          (Progressing)
          try: kubectl describe package a
        ");
    }

    #[test]
    fn causes_are_listed_once_from_the_outside_in() {
        let inner = std::io::Error::other("connection refused");
        let error = CliError::Request {
            action: "list packages".into(),
            source: Box::new(kube::Error::Service(Box::new(inner))),
        };
        let text = shown(&error);
        assert!(
            text.starts_with("error: cannot list packages\n  because: "),
            "{text}"
        );
        assert_eq!(text.matches("connection refused").count(), 1, "{text}");
        assert!(text.ends_with("  try: kubectl cluster-info\n"), "{text}");
    }
}
