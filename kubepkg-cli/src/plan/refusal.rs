//! Why no plan can be made: one variant for each rule, with the objects that break it. The words of the hints are
//! [`Report`](crate::Report)'s part.

use super::{Origin, Why};

/// Why no plan can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Nothing in the cluster says what the package is.
    #[error("there is no PackageSource {package} in the cluster{}", because(why))]
    NoSource {
        /// The package.
        package: String,
        /// Who needs it.
        why: Why,
        /// Sources of similar name or with such a capability.
        similar: Vec<String>,
    },
    /// The package was asked for twice with different constraints.
    #[error("{package} is asked for twice, as {first:?} and as {second:?}")]
    AskedTwice {
        /// The package.
        package: String,
        /// One constraint.
        first: String,
        /// The other.
        second: String,
    },
    /// A constraint or version that cannot be parsed.
    #[error("{field} of {object} is not valid: {problem}")]
    Invalid {
        /// The object, such as `PackageSource a`.
        object: String,
        /// The field with the text, such as `version "x"`.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The one version there is does not fit.
    #[error("{package} {version} does not satisfy {constraint:?}{}", because(why))]
    VersionMismatch {
        /// The package.
        package: String,
        /// The version its source holds.
        version: String,
        /// What it must satisfy.
        constraint: String,
        /// Who says so.
        why: Why,
        /// Where the version comes from.
        origin: Origin,
    },
    /// The source has no such variant.
    #[error("{package} {version} has no variant {variant:?}{}", because(why))]
    NoVariant {
        /// The package.
        package: String,
        /// The version its source holds.
        version: String,
        /// The variant that is wanted.
        variant: String,
        /// Who wants it.
        why: Why,
        /// The variants there are.
        available: Vec<String>,
    },
    /// Requirers, or a requirer and the Package itself, want different variants.
    #[error(
        "{package} cannot run both variant {first:?} ({first_by}) and variant {second:?} ({second_by})"
    )]
    VariantConflict {
        /// The package.
        package: String,
        /// One variant.
        first: String,
        /// Who wants it.
        first_by: String,
        /// The other.
        second: String,
        /// Who wants that.
        second_by: String,
    },
    /// Requirers pass different values for one key.
    #[error("{package} gets {first_value} for {path} {first_by} and {second_value} {second_by}")]
    ValuesConflict {
        /// The package.
        package: String,
        /// Component and path of the key.
        path: String,
        /// One value.
        first_value: String,
        /// Who passes it.
        first_by: String,
        /// The other value.
        second_value: String,
        /// Who passes that.
        second_by: String,
    },
    /// Nothing offers a capability.
    #[error("nothing in the cluster provides {capability}{}", because(why))]
    NoProvider {
        /// The capability.
        capability: String,
        /// Who needs it.
        why: Why,
    },
    /// Two packages exclude each other.
    #[error("{package} conflicts with {}{other}: {rule}", if *installed { "installed " } else { "" })]
    Conflict {
        /// The package of the plan.
        package: String,
        /// The other package.
        other: String,
        /// Whether the other one is installed and not part of the plan.
        installed: bool,
        /// Which entry says so.
        rule: String,
    },
    /// An installed package would lose what it requires.
    #[error("{package} {version} would break installed {requirer}, which requires {requirement}")]
    Breaks {
        /// The package of the plan.
        package: String,
        /// The version it would run.
        version: String,
        /// The installed package.
        requirer: String,
        /// What that requires.
        requirement: String,
    },
    /// Two packages list the same CRD.
    #[error("{package} and {owner} both own CRD {crd}")]
    CrdOwner {
        /// One package.
        package: String,
        /// The CRD.
        crd: String,
        /// The other package.
        owner: String,
    },
    /// Packages that wait for each other.
    #[error("packages require each other: {}", path.join(" -> "))]
    Cycle {
        /// The packages, the first one again at the end.
        path: Vec<String>,
    },
    /// The package is being removed.
    #[error("{package} is being removed")]
    BeingRemoved {
        /// The package.
        package: String,
    },
}

fn because(why: &Why) -> String {
    match why {
        Why::Requested => String::new(),
        Why::Required { .. } => format!(", {why}"),
    }
}
