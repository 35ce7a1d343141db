//! Requirements: what must be there before a package is installed, and what the package wants of it (design,
//! *Requirements and capabilities*; reference §1.2, §4.5).
//!
//! The order of the fields counts for digests, as in [`PackageSourceSpec`](crate::PackageSourceSpec).

use std::collections::BTreeMap;

use kubepkg_resolve::SatisfiesError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::capability::{Capability, InvalidCapability};
use crate::name::{InvalidName, PackageName};
use crate::pattern::{CAPABILITY, SUBDOMAIN};
use crate::schema::{Rule, map_of_free_objects, rules};
use crate::serial::is_false;

/// A requirement names one thing.
pub const ONE_REQUIREMENT_RULE: Rule = Rule {
    rule: "has(self.__package__) != has(self.capability)",
    message: "exactly one of package or capability must be set",
};
/// Only a package has variants and components.
pub const SHAPED_MEMBER_RULE: Rule = Rule {
    rule: "!has(self.capability) || (!has(self.variant) && !has(self.values))",
    message: "variant and values apply to a required package, not to a capability",
};

/// A package or capability that must be there, with what this package wants of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = rules(&[ONE_REQUIREMENT_RULE, SHAPED_MEMBER_RULE])))]
pub struct Requirement {
    /// Name of the required package. Exactly one of package and capability is set.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63), regex(pattern = SUBDOMAIN))]
    pub package: String,
    /// The required capability: a word, or `api:<group>/<version>`.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253), regex(pattern = CAPABILITY))]
    pub capability: String,
    /// Constraint that the package's applied version satisfies, such as `>=1.2 <2` or `~1.16`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Only orders: when it is present it must be ready first, when it is absent nothing is missing.
    #[serde(skip_serializing_if = "is_false")]
    pub optional: bool,
    /// The variant that the required package must run.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub variant: String,
    /// Values passed to the required package: component name to values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "map_of_free_objects")]
    pub values: BTreeMap<String, Map<String, Value>>,
}

/// What a requirement asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Required {
    /// A package by name.
    Package(PackageName),
    /// A capability, of whatever package or of the API server.
    Capability(Capability),
}

/// A requirement that the API server would have refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRequirement {
    /// Both or none of package and capability.
    #[error("requirement names {}", if *both { "both a package and a capability" } else { "neither a package nor a capability" })]
    NotOne {
        /// Both are set; otherwise none is.
        both: bool,
    },
    /// Variant or values beside a capability.
    #[error(
        "requirement on capability {capability} has a variant or values, which only a package can take"
    )]
    ShapedCapability {
        /// The capability.
        capability: String,
    },
    /// The package's name.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The capability's text.
    #[error(transparent)]
    Capability(#[from] InvalidCapability),
}

impl Requirement {
    /// The package or capability that is required.
    ///
    /// # Errors
    /// [`InvalidRequirement`], by the rules of the CRD; for documents that did not pass an API server.
    pub fn required(&self) -> Result<Required, InvalidRequirement> {
        match (self.package.is_empty(), self.capability.is_empty()) {
            (false, true) => Ok(Required::Package(PackageName::new(&self.package)?)),
            (true, false) if self.variant.is_empty() && self.values.is_empty() => {
                Ok(Required::Capability(Capability::new(&self.capability)?))
            }
            (true, false) => Err(InvalidRequirement::ShapedCapability {
                capability: self.capability.clone(),
            }),
            (package, _) => Err(InvalidRequirement::NotOne { both: !package }),
        }
    }
}

impl Requirement {
    /// Whether a version of the required package is one that is wanted.
    ///
    /// # Errors
    /// [`SatisfiesError`] when the version or the constraint cannot be parsed.
    pub fn accepts(&self, version: &str) -> Result<bool, SatisfiesError> {
        kubepkg_resolve::satisfies(version, &self.version)
    }
}

impl std::fmt::Display for Requirement {
    /// `package networking >=1.0.0 <2.0.0` or `capability ingress`, as status messages print it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.package.is_empty() {
            return write!(f, "capability {}", self.capability);
        }
        write!(f, "package {}", self.package)?;
        if !self.version.is_empty() {
            write!(f, " {}", self.version)?;
        }
        if !self.variant.is_empty() {
            write!(f, " variant {}", self.variant)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_requirement_names_one_thing() {
        let parse = |value| {
            serde_json::from_value::<Requirement>(value)
                .unwrap()
                .required()
        };
        assert!(matches!(
            parse(json!({ "package": "a" })),
            Ok(Required::Package(_))
        ));
        assert!(matches!(
            parse(json!({ "capability": "api:a.b/v1" })),
            Ok(Required::Capability(Capability::Api(_)))
        ));
        assert_eq!(
            parse(json!({})),
            Err(InvalidRequirement::NotOne { both: false })
        );
        assert_eq!(
            parse(json!({ "package": "a", "capability": "b" })),
            Err(InvalidRequirement::NotOne { both: true })
        );
        assert!(matches!(
            parse(json!({ "capability": "b", "variant": "v" })),
            Err(InvalidRequirement::ShapedCapability { .. })
        ));
    }

    #[test]
    fn accepts_versions_that_satisfy_its_constraint() {
        let need = Requirement {
            package: "a".into(),
            version: ">=1.0.0 <2.0.0".into(),
            ..Requirement::default()
        };
        assert_eq!(need.accepts("1.5.0"), Ok(true));
        assert_eq!(need.accepts("2.0.0"), Ok(false));
        assert_eq!(Requirement::default().accepts("anything"), Ok(true));
        assert!(need.accepts("anything").is_err());
    }
}
