//! What an installation would change: a pure function from a [`View`] and the requests to a [`Plan`].
//!
//! There is one version of every package to choose from, the one its PackageSource holds, so planning means
//! following requirements and checking: every constraint, variant, conflict and CRD owner, of the packages asked
//! for and of those that are installed already. What does not fit is refused before anything is written
//! (reference §3.2, §3.3, §5.3, §10.4 C1 to C4).

mod check;
mod notes;
mod refusal;
mod show;
mod walk;
mod write;

use std::collections::BTreeMap;

use kubepkg_api::{InvalidName, PackageName};
use serde::Serialize;

pub use refusal::PlanError;
pub use show::{json, table};
pub use walk::Why;

use crate::view::View;

/// A package that someone asks for, as `<package>[@constraint]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The package.
    pub package: PackageName,
    /// What its version must satisfy, as typed; empty when nothing was typed.
    pub constraint: String,
}

impl std::str::FromStr for Request {
    type Err = InvalidName;

    /// Splits at the first `@`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, constraint) = text.split_once('@').unwrap_or((text, ""));
        Ok(Self {
            package: PackageName::new(name)?,
            constraint: constraint.trim().to_owned(),
        })
    }
}

/// What changes, one step for each package, dependencies before the packages that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<Step>,
}

/// What happens to one package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What kind of change it is.
    pub action: Action,
    /// The package.
    pub package: String,
    /// The version it runs; `None` when it is not installed.
    pub from: Option<String>,
    /// The version it will run.
    pub to: String,
    /// The packaging of that version.
    pub build: i32,
    /// The variant it will run.
    pub variant: String,
    /// Where the version comes from.
    pub origin: Origin,
    /// Why the package is part of the plan.
    pub why: Why,
    /// What a person should know before agreeing.
    pub notes: Vec<String>,
    /// What is written; `None` when the Package is as it should be.
    pub write: Option<Write>,
}

/// What kind of change a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// The package is new.
    Install,
    /// It moves to a newer version.
    Upgrade,
    /// It moves to an older version.
    Downgrade,
    /// Its version stays.
    Keep,
}

impl Action {
    /// The word that plans show.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Upgrade => "upgrade",
            Self::Downgrade => "downgrade",
            Self::Keep => "keep",
        }
    }
}

/// Where a version comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A PackageSource that someone wrote by hand.
    Local,
    /// A repository.
    Repository(String),
}

impl Origin {
    /// The text of the REPOSITORY column.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Local => "(local PackageSource)",
            Self::Repository(name) => name,
        }
    }
}

/// What is written to the cluster for one package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// A new Package.
    Create {
        /// Its constraint.
        constraint: String,
        /// Its variant, when one was asked for.
        variant: Option<String>,
        /// Why it is installed, when nobody asked for it.
        dependency: Option<String>,
    },
    /// Changes of the Package that is there.
    Update {
        /// Another constraint.
        constraint: Option<String>,
        /// Another variant.
        variant: Option<String>,
        /// The package was a dependency and is asked for now, so that it is not removed with the others.
        asked_for: bool,
    },
}

/// Makes a plan.
///
/// `variant` is for the packages asked for only (reference §10, C2); packages they require run the variant that
/// their own Package, their requirers or nobody chooses.
///
/// # Errors
/// [`PlanError`], the first one in the order in which the requests are followed.
pub fn plan(view: &View, requests: &[Request], variant: Option<&str>) -> Result<Plan, PlanError> {
    let chosen = walk::follow(view, requests, variant)?;
    check::conflicts(view, &chosen)?;
    check::installed_requirers(view, &chosen)?;
    check::cycles(&chosen)?;
    check::crd_owners(view, &chosen)?;
    let values = check::passed_values(view, &chosen)?;
    let choices = chosen.values();
    let mut steps: Vec<Step> = choices
        .map(|choice| write::step(view, choice, values.get(&choice.package)))
        .collect();
    steps.sort_by(|a, b| {
        (a.why == Why::Requested, &a.package).cmp(&(b.why == Why::Requested, &b.package))
    });
    Ok(Plan { steps })
}

impl Plan {
    /// Whether anything is written.
    pub fn changes_anything(&self) -> bool {
        self.steps.iter().any(|step| step.write.is_some())
    }

    /// How many Packages are written.
    pub fn writes(&self) -> usize {
        self.steps
            .iter()
            .filter(|step| step.write.is_some())
            .count()
    }

    /// The packages with the versions they will run.
    pub fn targets(&self) -> BTreeMap<String, String> {
        self.steps
            .iter()
            .map(|step| (step.package.clone(), step.to.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::view::tests::{source, view};

    fn requests(texts: &[&str]) -> Vec<Request> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn shown(view: &View, texts: &[&str]) -> String {
        let plan = plan(view, &requests(texts), None).unwrap();
        anstream::adapter::strip_str(&table(&plan)).to_string()
    }

    fn refused(view: &View, texts: &[&str]) -> String {
        plan(view, &requests(texts), None).unwrap_err().to_string()
    }

    fn provider(version: &str, capability: &str) -> Value {
        let mut spec = source(version, json!([]));
        spec["provides"] = json!([capability]);
        spec
    }

    #[test]
    fn a_request_is_split_at_the_first_at_sign() {
        let request: Request = "cert-manager@>=1.16 <2".parse().unwrap();
        assert_eq!(
            (request.package.as_str(), request.constraint.as_str()),
            ("cert-manager", ">=1.16 <2")
        );
        assert!("Cert@1".parse::<Request>().is_err());
    }

    /// The table of the reference, §3.3.
    #[test]
    fn dependencies_come_first_with_their_reasons_and_notes() {
        let mut cdi = source("1.66.1", json!([]));
        cdi["build"] = json!(2);
        cdi["crds"] = json!(["cdis.cdi.kubevirt.io"]);
        cdi["rollback"] = json!({});
        let mut virtualization = source("1.0.0", json!([{ "package": "cdi" }]));
        virtualization["build"] = json!(1);
        let view = view(&[], &[("cdi", cdi), ("virtualization", virtualization)]);
        insta::assert_snapshot!(shown(&view, &["virtualization"]), @r"
        ACTION   PACKAGE         FROM  TO              REPOSITORY             WHY
        install  cdi             -     1.66.1 build 2  (local PackageSource)  required by virtualization 1.0.0
        install  virtualization  -     1.0.0 build 1   (local PackageSource)  requested
          cdi: owns CRDs: cdis.cdi.kubevirt.io
          cdi: not rollback-safe: a failed upgrade is fixed forward, not rolled back
          cdi: a hand-written PackageSource decides the version, not the repositories
          virtualization: a hand-written PackageSource decides the version, not the
            repositories
        ");
    }

    #[test]
    fn an_upgrade_names_its_hooks_and_a_downgrade_says_so() {
        let mut up = source("2.0.0", json!([]));
        up["variants"][0]["components"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "name": "migrate", "path": "m", "install": { "namespace": "n", "phase": "PreUpgrade" } }));
        up["permissions"] = json!({ "clusterWide": true, "rules": [{ "verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"] }] });
        let view = view(
            &[
                (
                    "up",
                    json!({ "version": "~1.0" }),
                    json!({ "version": "1.0.0" }),
                ),
                ("down", json!({}), json!({ "version": "3.0.0" })),
            ],
            &[("up", up), ("down", source("2.0.0", json!([])))],
        );
        insta::assert_snapshot!(shown(&view, &["up", "down"]), @r"
        ACTION     PACKAGE  FROM   TO     REPOSITORY             WHY
        downgrade  down     3.0.0  2.0.0  (local PackageSource)  requested
        upgrade    up       1.0.0  2.0.0  (local PackageSource)  requested
          down: DOWNGRADE from 3.0.0
          down: a hand-written PackageSource decides the version, not the repositories
          up: needs cluster-wide permissions
          up: may get, list pods
          up: runs pre-upgrade hook migrate before anything else
          up: a hand-written PackageSource decides the version, not the repositories
          up: constraint ~1.0 becomes ~2.0
        ");
    }

    #[test]
    fn what_is_as_asked_for_writes_nothing() {
        let view = view(
            &[(
                "a",
                json!({ "version": "~1.2" }),
                json!({ "version": "1.2.3" }),
            )],
            &[("a", source("1.2.3", json!([])))],
        );
        let plan = plan(&view, &requests(&["a"]), None).unwrap();
        assert_eq!(plan.steps[0].action, Action::Keep);
        assert!(!plan.changes_anything());
    }

    /// Reference §10.4, C4.
    #[test]
    fn keeping_a_version_still_pins_it_and_marks_it_as_asked_for() {
        let mut view = view(
            &[(
                "a",
                json!({ "version": "~1.2" }),
                json!({ "version": "1.2.3" }),
            )],
            &[("a", source("1.2.3", json!([])))],
        );
        let annotations = [(
            kubepkg_api::keys::DEPENDENCY.to_owned(),
            "required by b 1.0.0".to_owned(),
        )];
        view.packages.get_mut("a").unwrap().metadata.annotations = Some(annotations.into());
        let plan = plan(&view, &requests(&["a@1.2.3"]), None).unwrap();
        assert_eq!(plan.steps[0].action, Action::Keep);
        assert_eq!(
            plan.steps[0].write,
            Some(Write::Update {
                constraint: Some("1.2.3".into()),
                variant: None,
                asked_for: true
            })
        );
    }

    #[test]
    fn a_dependency_gets_every_constraint_the_plan_puts_on_it() {
        let view = view(
            &[],
            &[
                (
                    "a",
                    source("1.0.0", json!([{ "package": "lib", "version": ">=1.0.0" }])),
                ),
                (
                    "b",
                    source("1.0.0", json!([{ "package": "lib", "version": "<2.0.0" }])),
                ),
                ("lib", source("1.5.2", json!([]))),
            ],
        );
        let plan = plan(&view, &requests(&["a", "b"]), None).unwrap();
        let write = |package: &str| {
            plan.steps
                .iter()
                .find(|step| step.package == package)
                .unwrap()
                .write
                .clone()
        };
        assert_eq!(
            write("lib"),
            Some(Write::Create {
                constraint: "<2.0.0, >=1.0.0".into(),
                variant: None,
                dependency: Some("required by a 1.0.0".into())
            })
        );
        assert_eq!(
            write("a"),
            Some(Write::Create {
                constraint: "~1.0".into(),
                variant: None,
                dependency: None
            })
        );
    }

    /// Reference §10.4, C2: the variant goes to the packages asked for, not to their requirements.
    #[test]
    fn a_variant_is_written_to_the_packages_asked_for() {
        let mut app = source("1.0.0", json!([]));
        app["variants"] = json!([{ "name": "default" }, { "name": "ha", "requires": [{ "package": "lib", "variant": "big" }] }]);
        let mut lib = source("1.0.0", json!([]));
        lib["variants"] = json!([{ "name": "default" }, { "name": "big" }]);
        let view = view(&[], &[("app", app), ("lib", lib)]);
        let plan = plan(&view, &requests(&["app"]), Some("ha")).unwrap();
        let [lib, app] = plan.steps.as_slice() else {
            panic!("{plan:?}")
        };
        assert_eq!((app.variant.as_str(), lib.variant.as_str()), ("ha", "big"));
        assert!(matches!(&app.write, Some(Write::Create { variant: Some(v), .. }) if v == "ha"));
        assert!(matches!(
            &lib.write,
            Some(Write::Create { variant: None, .. })
        ));
        assert!(
            lib.notes.contains(&"runs variant big".to_owned()),
            "{:?}",
            lib.notes
        );
    }

    #[test]
    fn capabilities_are_met_by_the_server_then_by_what_is_chosen_then_by_a_new_provider() {
        let requires = json!([{ "capability": "api:x.io/v1" }, { "capability": "ingress" }]);
        let mut view = view(
            &[],
            &[
                ("app", source("1.0.0", requires)),
                ("traefik", provider("3.0.0", "ingress")),
            ],
        );
        assert!(
            refused(&view, &["app"])
                .contains("nothing in the cluster provides api:x.io/v1, required by app 1.0.0")
        );
        view.served.insert("x.io/v1".into());
        let plan = plan(&view, &requests(&["app"]), None).unwrap();
        let why: Vec<String> = plan
            .steps
            .iter()
            .map(|step| format!("{} {}", step.package, step.why))
            .collect();
        assert_eq!(
            why,
            ["traefik required by app 1.0.0 via ingress", "app requested"]
        );
    }

    #[test]
    fn an_installed_provider_is_enough() {
        let view = view(
            &[("nginx", json!({}), json!({ "version": "1.0.0" }))],
            &[
                ("app", source("1.0.0", json!([{ "capability": "ingress" }]))),
                ("nginx", provider("1.0.0", "ingress")),
                ("a-other", provider("1.0.0", "ingress")),
            ],
        );
        let plan = plan(&view, &requests(&["app"]), None).unwrap();
        assert_eq!(plan.steps.len(), 1);
    }

    #[test]
    fn refusals_say_what_does_not_fit() {
        let mut conflicting = source("1.0.0", json!([]));
        conflicting["conflicts"] = json!(["ingress"]);
        let view = view(
            &[
                ("nginx", json!({}), json!({ "version": "1.0.0" })),
                ("user", json!({}), json!({ "version": "1.0.0" })),
                ("lib", json!({}), json!({ "version": "1.0.0" })),
            ],
            &[
                ("nginx", provider("1.0.0", "ingress")),
                ("conflicting", conflicting),
                ("lib", source("2.0.0", json!([]))),
                (
                    "user",
                    source("1.0.0", json!([{ "package": "lib", "version": "~1.0" }])),
                ),
                (
                    "needs-old",
                    source("1.0.0", json!([{ "package": "lib", "version": "<2" }])),
                ),
                ("x", source("1.0.0", json!([{ "package": "y" }]))),
                ("y", source("1.0.0", json!([{ "package": "x" }]))),
                ("odd", source("not-a-version", json!([]))),
            ],
        );
        assert_eq!(
            refused(&view, &["cert-manager"]),
            "there is no PackageSource cert-manager in the cluster"
        );
        assert_eq!(
            refused(&view, &["nginx@>=2"]),
            r#"nginx 1.0.0 does not satisfy ">=2""#
        );
        assert_eq!(
            refused(&view, &["needs-old"]),
            r#"lib 2.0.0 does not satisfy "<2", required by needs-old 1.0.0"#
        );
        assert_eq!(
            refused(&view, &["lib"]),
            "lib 2.0.0 would break installed user, which requires package lib ~1.0"
        );
        assert_eq!(
            refused(&view, &["conflicting"]),
            "conflicting conflicts with installed nginx: conflicting excludes ingress, which nginx provides"
        );
        assert_eq!(
            refused(&view, &["x"]),
            "packages require each other: x -> y -> x"
        );
        assert!(
            refused(&view, &["odd@1"])
                .starts_with("version \"not-a-version\" of PackageSource odd is not valid")
        );
        assert!(
            refused(&view, &["nginx@=>=1"])
                .starts_with("constraint \"=>=1\" of nginx is not valid")
        );
        assert_eq!(
            refused(&view, &["nginx@1", "nginx@2"]),
            r#"nginx is asked for twice, as "1" and as "2""#
        );
        assert_eq!(
            plan(&view, &requests(&["nginx"]), Some("ha"))
                .unwrap_err()
                .to_string(),
            r#"nginx 1.0.0 has no variant "ha""#
        );
    }

    #[test]
    fn requirers_that_disagree_are_a_conflict() {
        let mut lib = source("1.0.0", json!([]));
        lib["variants"] = json!([{ "name": "default" }, { "name": "s" }, { "name": "l" }]);
        let need = |shape: Value| {
            let mut need = json!({ "package": "lib" });
            need.as_object_mut()
                .unwrap()
                .extend(shape.as_object().unwrap().clone());
            source("1.0.0", json!([need]))
        };
        let view = view(
            &[],
            &[
                ("lib", lib),
                ("small", need(json!({ "variant": "s" }))),
                ("large", need(json!({ "variant": "l" }))),
                (
                    "one",
                    need(json!({ "values": { "c": { "size": { "cpu": 1 } } } })),
                ),
                (
                    "two",
                    need(json!({ "values": { "c": { "size": { "cpu": 2 } } } })),
                ),
                (
                    "same",
                    need(json!({ "values": { "c": { "size": { "cpu": 1, "memory": 2 } } } })),
                ),
            ],
        );
        assert_eq!(
            refused(&view, &["large", "small"]),
            r#"lib cannot run both variant "l" (required by large 1.0.0) and variant "s" (required by small 1.0.0)"#
        );
        assert_eq!(
            refused(&view, &["one", "two"]),
            "lib gets 1 for c.size.cpu required by one 1.0.0 and 2 required by two 1.0.0"
        );
        let plan = plan(&view, &requests(&["one", "same"]), None).unwrap();
        assert!(
            plan.steps[0]
                .notes
                .contains(&"gets values c.size.cpu, c.size.memory from one, same".to_owned()),
            "{:?}",
            plan.steps[0].notes
        );
    }
}
