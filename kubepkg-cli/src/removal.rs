//! Which packages a removal takes, and why it may be refused: a pure function of a [`View`] (reference §3.2,
//! `remove` rules).

use std::collections::{BTreeMap, BTreeSet};

use kubepkg_api::PackageName;

use crate::table::Table;
use crate::view::{View, dependency_reason, stays};

/// A package that goes, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The package.
    pub package: String,
    /// `requested`, or why nothing keeps it.
    pub reason: String,
}

/// Why packages cannot be removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RemovalError {
    /// There is no such package.
    #[error("there is no package {package} in the cluster")]
    NotInstalled {
        /// The name that was given.
        package: String,
    },
    /// Packages that stay need them.
    #[error("cannot remove: {}", reasons.join("; "))]
    Needed {
        /// One sentence for each need.
        reasons: Vec<String>,
        /// What was to be removed.
        asked: Vec<String>,
        /// The packages that need it.
        requirers: Vec<String>,
    },
}

/// The packages that go, those that need others before what they need.
///
/// # Errors
/// [`RemovalError`] when a package is unknown, or when one that stays requires it: by name, or by a capability
/// that no other package would provide any more. Optional requirements do not count, and neither does a
/// capability that the API server serves or that nobody declares.
pub fn removal(
    view: &View,
    asked: &[PackageName],
    autoremove: bool,
) -> Result<Vec<Removed>, RemovalError> {
    let mut going: BTreeMap<String, String> = BTreeMap::new();
    for name in asked {
        if !view.packages.contains_key(name.as_str()) {
            return Err(RemovalError::NotInstalled {
                package: name.to_string(),
            });
        }
        going.insert(name.to_string(), "requested".to_owned());
    }
    let mut reasons = Vec::new();
    let mut requirers = BTreeSet::new();
    for package in going.keys() {
        for (requirer, reason) in needed_by(view, package, &going) {
            reasons.push(reason);
            requirers.insert(requirer);
        }
    }
    if !reasons.is_empty() {
        return Err(RemovalError::Needed {
            reasons,
            asked: going.into_keys().collect(),
            requirers: requirers.into_iter().collect(),
        });
    }
    if autoremove {
        while let Some((name, reason)) = orphan(view, &going) {
            going.insert(name, reason);
        }
    }
    Ok(ordered(view, going))
}

/// The first package that was installed as a requirement and that nothing staying requires.
fn orphan(view: &View, going: &BTreeMap<String, String>) -> Option<(String, String)> {
    view.packages.iter().find_map(|(name, package)| {
        let reason = dependency_reason(package)?;
        let free = stays(package)
            && !going.contains_key(name)
            && needed_by_staying(view, name, going).is_empty();
        let text = format!("no longer required (installed as a requirement: {reason})");
        free.then(|| (name.clone(), text))
    })
}

/// The packages that go, one line each: `remove  <name>  (<reason>)`.
pub fn lines(removed: &[Removed]) -> String {
    let line = |Removed { package, reason }: &Removed| format!("remove  {package}  ({reason})\n");
    removed.iter().map(line).collect()
}

/// The packages that go as a table for `-o wide`.
pub fn table(removed: &[Removed]) -> Table {
    let mut table = Table::new(&["ACTION", "PACKAGE", "WHY"]);
    for Removed { package, reason } in removed {
        table.row([
            "remove".into(),
            package.as_str().into(),
            reason.as_str().into(),
        ]);
    }
    table
}

/// Who, of the packages that stay, loses what it requires when `package` goes with the others, and how.
fn needed_by(
    view: &View,
    package: &str,
    going: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    let mut needs = Vec::new();
    for requirer in staying(view, going) {
        for need in view.installed_needs(requirer) {
            if need.package == package {
                needs.push((
                    requirer.clone(),
                    format!("{package} is required by {requirer}"),
                ));
            } else if !need.capability.is_empty() && loses(view, package, &need.capability, going) {
                let capability = &need.capability;
                needs.push((
                    requirer.clone(),
                    format!("{package} provides {capability}, which {requirer} requires"),
                ));
            }
        }
    }
    needs
}

/// As [`needed_by`], for a package that is not going yet.
fn needed_by_staying(
    view: &View,
    package: &str,
    going: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    let mut with = going.clone();
    with.insert(package.to_owned(), String::new());
    needed_by(view, package, &with)
}

/// Whether the capability is lost with the packages that go, and `package` is one of those that provide it.
fn loses(view: &View, package: &str, capability: &str, going: &BTreeMap<String, String>) -> bool {
    view.provides(package, capability)
        && !staying(view, going).any(|other| view.provides(other, capability))
}

fn staying<'a>(
    view: &'a View,
    going: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = &'a String> {
    let packages = view.packages.iter().filter(|(_, package)| stays(package));
    packages
        .map(|(name, _)| name)
        .filter(|name| !going.contains_key(*name))
}

/// Those that need others before what they need; by name where nothing decides.
fn ordered(view: &View, mut going: BTreeMap<String, String>) -> Vec<Removed> {
    let mut order = Vec::with_capacity(going.len());
    while !going.is_empty() {
        let is_free = |name: &String| {
            !going
                .keys()
                .any(|other| other != name && requires(view, other, name))
        };
        // A circle has no free member; it is taken apart at its first name.
        let next = going
            .keys()
            .find(|name| is_free(name))
            .or_else(|| going.keys().next())
            .cloned();
        let Some((package, reason)) = next.and_then(|name| going.remove_entry(&name)) else {
            break;
        };
        order.push(Removed { package, reason });
    }
    order
}

fn requires(view: &View, requirer: &str, package: &str) -> bool {
    view.installed_needs(requirer).iter().any(|need| {
        need.package == package
            || (!need.capability.is_empty() && view.provides(package, &need.capability))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::view::tests::{source, view};

    fn installed(packages: &[(&str, Option<&str>, Value)]) -> View {
        let objects: Vec<_> = packages
            .iter()
            .map(|(name, _, _)| (*name, json!({}), json!({ "version": "1.0.0" })))
            .collect();
        let sources: Vec<_> = packages
            .iter()
            .map(|(name, _, spec)| (*name, spec.clone()))
            .collect();
        let mut view = view(&objects, &sources);
        for (name, dependency, _) in packages {
            if let Some(reason) = dependency {
                let annotations = [(
                    kubepkg_api::keys::DEPENDENCY.to_owned(),
                    (*reason).to_owned(),
                )];
                view.packages.get_mut(*name).unwrap().metadata.annotations =
                    Some(annotations.into());
            }
        }
        view
    }

    fn names(names: &[&str]) -> Vec<PackageName> {
        names
            .iter()
            .map(|name| PackageName::new(name).unwrap())
            .collect()
    }

    fn provider(capability: &str) -> Value {
        let mut spec = source("1.0.0", json!([]));
        spec["provides"] = json!([capability]);
        spec
    }

    #[test]
    fn what_others_require_stays() {
        let view = installed(&[
            ("cdi", None, source("1.0.0", json!([]))),
            ("nginx", None, provider("ingress")),
            (
                "virtualization",
                None,
                source(
                    "1.0.0",
                    json!([{ "package": "cdi" }, { "capability": "ingress" }]),
                ),
            ),
            (
                "casual",
                None,
                source("1.0.0", json!([{ "package": "cdi", "optional": true }])),
            ),
        ]);
        assert_eq!(
            removal(&view, &names(&["cdi", "nginx"]), false)
                .unwrap_err()
                .to_string(),
            "cannot remove: cdi is required by virtualization; nginx provides ingress, which virtualization requires"
        );
        assert_eq!(
            removal(&view, &names(&["nope"]), false)
                .unwrap_err()
                .to_string(),
            "there is no package nope in the cluster"
        );
    }

    #[test]
    fn a_capability_may_lose_all_providers_but_one() {
        let requires = json!([{ "capability": "ingress" }, { "capability": "undeclared" }]);
        let view = installed(&[
            ("app", None, source("1.0.0", requires)),
            ("nginx", None, provider("ingress")),
            ("traefik", None, provider("ingress")),
        ]);
        assert!(removal(&view, &names(&["nginx"]), false).is_ok());
        let both = removal(&view, &names(&["nginx", "traefik"]), false)
            .unwrap_err()
            .to_string();
        assert_eq!(
            both,
            "cannot remove: nginx provides ingress, which app requires; traefik provides ingress, which app requires"
        );
    }

    #[test]
    fn together_they_go_and_the_one_that_needs_goes_first() {
        let view = installed(&[
            ("a-lib", None, source("1.0.0", json!([]))),
            (
                "z-app",
                None,
                source("1.0.0", json!([{ "package": "a-lib" }])),
            ),
        ]);
        let removed = removal(&view, &names(&["a-lib", "z-app"]), false).unwrap();
        assert_eq!(
            lines(&removed),
            "remove  z-app  (requested)\nremove  a-lib  (requested)\n"
        );
    }

    #[test]
    fn autoremove_takes_what_nothing_requires_any_more_until_nothing_changes() {
        let view = installed(&[
            ("app", None, source("1.0.0", json!([{ "package": "mid" }]))),
            (
                "mid",
                Some("required by app 1.0.0"),
                source("1.0.0", json!([{ "package": "low" }])),
            ),
            (
                "low",
                Some("required by mid 1.0.0"),
                source("1.0.0", json!([])),
            ),
            (
                "shared",
                Some("required by app 1.0.0"),
                source("1.0.0", json!([])),
            ),
            (
                "other",
                None,
                source("1.0.0", json!([{ "package": "shared" }])),
            ),
        ]);
        let removed = removal(&view, &names(&["app"]), true).unwrap();
        insta::assert_snapshot!(lines(&removed), @r"
        remove  app  (requested)
        remove  mid  (no longer required (installed as a requirement: required by app 1.0.0))
        remove  low  (no longer required (installed as a requirement: required by mid 1.0.0))
        ");
        assert_eq!(removal(&view, &names(&["app"]), false).unwrap().len(), 1);
    }
}
