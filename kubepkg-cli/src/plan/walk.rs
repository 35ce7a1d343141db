//! Following requests to everything they need: which packages a plan has, with which variant, and why.
//!
//! A requirement found late may choose the variant of a package found early, and with it other requirements; the
//! walk then starts again with what it learned. It ends, because every restart settles one more variant.

use std::collections::BTreeMap;
use std::fmt;

use kubepkg_api::{DEFAULT_VARIANT, PackageSource, Requirement, Variant};

use super::{Origin, PlanError, Request};
use crate::versions;
use crate::view::{View, dependency_reason, repository_of, stays};

/// Why a package is part of a plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Someone asked for it.
    Requested,
    /// Another package of the plan needs it.
    Required {
        /// That package.
        by: String,
        /// Its version.
        version: String,
        /// The capability that is needed, when it is not the package itself.
        via: Option<String>,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested => f.write_str("requested"),
            Self::Required { by, version, via } => {
                write!(f, "required by {by} {version}")?;
                via.iter()
                    .try_for_each(|capability| write!(f, " via {capability}"))
            }
        }
    }
}

/// A package of a plan.
#[derive(Clone, Debug)]
pub(super) struct Choice<'a> {
    pub(super) package: String,
    pub(super) source: &'a PackageSource,
    pub(super) variant: &'a Variant,
    pub(super) why: Why,
    /// What was typed for it; `None` when nobody asked for it.
    pub(super) asked: Option<String>,
    /// The variant that was typed for it.
    pub(super) asked_variant: Option<String>,
    /// Requirements on the package by packages of the plan, with who has them.
    pub(super) wanted: Vec<(Requirement, Why)>,
    /// What it needs itself.
    pub(super) needs: Vec<Requirement>,
}

impl Choice<'_> {
    pub(super) fn version(&self) -> &str {
        self.source.spec.version_or_unversioned()
    }

    pub(super) fn origin(&self) -> Origin {
        repository_of(self.source).map_or(Origin::Local, |name| Origin::Repository(name.to_owned()))
    }

    fn as_requirer(&self, via: Option<&str>) -> Why {
        Why::Required {
            by: self.package.clone(),
            version: self.version().to_owned(),
            via: via.map(str::to_owned),
        }
    }
}

pub(super) type Chosen<'a> = BTreeMap<String, Choice<'a>>;

/// A variant that a requirement names, with who names it.
type Shaped = BTreeMap<String, (String, Why)>;

pub(super) fn follow<'a>(
    view: &'a View,
    requests: &[Request],
    variant: Option<&str>,
) -> Result<Chosen<'a>, PlanError> {
    let mut shaped = Shaped::new();
    loop {
        let before = shaped.len();
        let chosen = walk(view, requests, variant, &mut shaped)?;
        if shaped.len() == before {
            return Ok(chosen);
        }
    }
}

fn walk<'a>(
    view: &'a View,
    requests: &[Request],
    variant: Option<&str>,
    shaped: &mut Shaped,
) -> Result<Chosen<'a>, PlanError> {
    let mut chosen = Chosen::new();
    let mut queue = Vec::new();
    for request in requests {
        let name = request.package.as_str();
        if let Some(first) = chosen
            .get(name)
            .and_then(|choice: &Choice<'_>| choice.asked.clone())
        {
            if first != request.constraint {
                let (package, second) = (name.to_owned(), request.constraint.clone());
                return Err(PlanError::AskedTwice {
                    package,
                    first,
                    second,
                });
            }
            continue;
        }
        let mut choice = choose(view, name, Why::Requested, variant, shaped)?;
        require(&choice, &request.constraint, &Why::Requested)?;
        choice.asked = Some(request.constraint.clone());
        choice.asked_variant = variant.map(str::to_owned);
        chosen.insert(name.to_owned(), choice);
        queue.push(name.to_owned());
    }
    let mut next = 0;
    while let Some(requirer) = queue.get(next).and_then(|name| chosen.get(name)).cloned() {
        next += 1;
        for need in &requirer.needs {
            let (target, via) = match target(view, &chosen, need, &requirer)? {
                Target::Met => continue,
                Target::Package(package) => (package, None),
                Target::Provider(package) => (package, Some(need.capability.as_str())),
            };
            let why = requirer.as_requirer(via);
            let asked = variant.filter(|_| is_asked(&chosen, &target));
            shape(view, shaped, &target, need, &why, asked)?;
            if !chosen.contains_key(&target) {
                let choice = choose(view, &target, why.clone(), None, shaped)?;
                chosen.insert(target.clone(), choice);
                queue.push(target.clone());
            }
            if let Some(choice) = chosen.get_mut(&target) {
                if via.is_none() {
                    require(choice, &need.version, &why)?;
                }
                choice.wanted.push((need.clone(), why));
            }
        }
    }
    Ok(chosen)
}

enum Target {
    /// Something that is there already meets the need.
    Met,
    /// The package that is needed.
    Package(String),
    /// A package that provides the capability that is needed.
    Provider(String),
}

/// Which package of the plan a requirement is about (reference §5.4, point 5).
fn target(
    view: &View,
    chosen: &Chosen<'_>,
    need: &Requirement,
    by: &Choice<'_>,
) -> Result<Target, PlanError> {
    if !need.package.is_empty() {
        return Ok(Target::Package(need.package.clone()));
    }
    let capability = need.capability.as_str();
    if view.serves(capability) || chosen.keys().any(|name| view.provides(name, capability)) {
        return Ok(Target::Met);
    }
    let mut installed = view.packages.iter().filter(|(_, package)| stays(package));
    if installed.any(|(name, _)| view.provides(name, capability)) {
        return Ok(Target::Met);
    }
    let mut providers = view
        .sources
        .keys()
        .filter(|name| view.provides(name, capability));
    providers
        .next()
        .map(|name| Target::Provider(name.clone()))
        .ok_or_else(|| PlanError::NoProvider {
            capability: capability.to_owned(),
            why: by.as_requirer(None),
        })
}

fn is_asked(chosen: &Chosen<'_>, name: &str) -> bool {
    chosen
        .get(name)
        .is_some_and(|choice| choice.asked.is_some())
}

/// Records the variant that a requirement names, and refuses one that cannot be.
fn shape(
    view: &View,
    shaped: &mut Shaped,
    package: &str,
    need: &Requirement,
    why: &Why,
    asked_variant: Option<&str>,
) -> Result<(), PlanError> {
    if need.variant.is_empty() {
        return Ok(());
    }
    let own = view.packages.get(package);
    let own = own
        .map(|package| package.spec.variant.as_str())
        .unwrap_or_default();
    let fixed = match asked_variant {
        Some(asked) => Some((asked.to_owned(), "asked for".to_owned())),
        None if !own.is_empty() => Some((own.to_owned(), format!("set on Package {package}"))),
        None => shaped
            .get(package)
            .map(|(variant, why)| (variant.clone(), why.to_string())),
    };
    match fixed {
        Some((first, first_by)) if first != need.variant => Err(PlanError::VariantConflict {
            package: package.to_owned(),
            first,
            first_by,
            second: need.variant.clone(),
            second_by: why.to_string(),
        }),
        _ => {
            shaped
                .entry(package.to_owned())
                .or_insert_with(|| (need.variant.clone(), why.clone()));
            Ok(())
        }
    }
}

/// Takes a package into the plan with the variant it will run.
fn choose<'a>(
    view: &'a View,
    name: &str,
    why: Why,
    asked_variant: Option<&str>,
    shaped: &Shaped,
) -> Result<Choice<'a>, PlanError> {
    let package = view.packages.get(name);
    if package.is_some_and(|package| !stays(package)) {
        return Err(PlanError::BeingRemoved {
            package: name.to_owned(),
        });
    }
    let Some(source) = view.sources.get(name) else {
        return Err(PlanError::NoSource {
            package: name.to_owned(),
            why,
            similar: similar(view, name),
        });
    };
    let own = package
        .map(|package| package.spec.variant.as_str())
        .filter(|variant| !variant.is_empty());
    let passed = shaped.get(name).map(|(variant, _)| variant.as_str());
    let wanted = asked_variant.or(own).or(passed).unwrap_or(DEFAULT_VARIANT);
    let Some(variant) = source.spec.variant(wanted) else {
        let passed_by = shaped
            .get(name)
            .filter(|_| asked_variant.is_none() && own.is_none());
        return Err(PlanError::NoVariant {
            package: name.to_owned(),
            version: source.spec.version_or_unversioned().to_owned(),
            variant: wanted.to_owned(),
            why: passed_by.map_or(why, |(_, by)| by.clone()),
            available: source
                .spec
                .variants
                .iter()
                .map(|variant| variant.name.clone())
                .collect(),
        });
    };
    let mut needs = variant.requirements();
    needs.retain(|need| !need.optional);
    if let Some(package) = package {
        needs = crate::view::needs(package, variant);
    }
    Ok(Choice {
        package: name.to_owned(),
        source,
        variant,
        why,
        asked: None,
        asked_variant: None,
        wanted: Vec::new(),
        needs,
    })
}

/// Checks the one version there is against a constraint.
fn require(choice: &Choice<'_>, constraint: &str, why: &Why) -> Result<(), PlanError> {
    let fits =
        versions::satisfies(choice.version(), constraint).map_err(|problem| match problem {
            versions::Problem::Version(problem) => PlanError::Invalid {
                object: format!("PackageSource {}", choice.package),
                field: format!("version {:?}", choice.version()),
                problem,
            },
            versions::Problem::Constraint(problem) => PlanError::Invalid {
                object: match why {
                    Why::Requested => choice.package.clone(),
                    Why::Required { by, .. } => {
                        format!("the requirement of {by} on {}", choice.package)
                    }
                },
                field: format!("constraint {constraint:?}"),
                problem,
            },
        })?;
    if fits {
        return Ok(());
    }
    Err(PlanError::VersionMismatch {
        package: choice.package.clone(),
        version: choice.version().to_owned(),
        constraint: constraint.to_owned(),
        why: why.clone(),
        origin: choice.origin(),
    })
}

/// Sources whose name shares a word with a name that does not exist, or that provide it; at most three.
fn similar(view: &View, name: &str) -> Vec<String> {
    let words: Vec<&str> = name
        .split(['-', '.'])
        .filter(|word| word.len() > 2)
        .collect();
    let alike = |candidate: &str| {
        words.iter().any(|word| candidate.contains(word)) || name.contains(candidate)
    };
    view.sources
        .keys()
        .filter(|source| view.provides(source, name) || alike(source))
        .take(3)
        .cloned()
        .collect()
}

/// Why a package that nobody asked for is installed, to be written on its Package.
pub(super) fn dependency(view: &View, choice: &Choice<'_>) -> Option<String> {
    let package = view.packages.get(&choice.package);
    if choice.asked.is_some() || package.is_some_and(|p| dependency_reason(p).is_none()) {
        return None;
    }
    Some(choice.why.to_string())
}
