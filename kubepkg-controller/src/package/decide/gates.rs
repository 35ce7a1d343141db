//! The gates that a package passes before a new revision may be made of it, in their order.
//!
//! What is blocked here leaves the running revision alone: nothing is rendered, recorded or removed. Later gates
//! (repositories, the shape that requiring packages give, requirements, conflicts, CRD ownership) join this list in
//! the order of reference §4.3; each answers with a reason and a message like the ones here.

use kubepkg_api::{DEFAULT_VARIANT, PackageReason, UNVERSIONED};
use kubepkg_resolve::satisfies;

use super::super::desired::{Desired, desired};
use super::super::observed::{Observed, Source};
use super::super::report::Settled;

/// The desired state, if every gate lets it pass.
pub(super) fn pass(o: &Observed) -> Result<Desired, Settled> {
    let name = o.package.metadata.name.as_deref().unwrap_or_default();
    let source = match &o.source {
        Source::Present(source) => source,
        Source::Missing => {
            return Err(Settled::stalled(
                PackageReason::PackageSourceNotFound,
                format!(
                    "there is no PackageSource {name} and no repository is in use; create the PackageSource"
                ),
            ));
        }
        Source::Malformed(why) => {
            return Err(Settled::stalled(
                PackageReason::InvalidConfiguration,
                format!("PackageSource {name} cannot be read: {why}"),
            ));
        }
    };
    let wanted = match o.package.spec.variant.as_str() {
        "" => DEFAULT_VARIANT,
        named => named,
    };
    let Some(variant) = source.variants.iter().find(|v| v.name == wanted) else {
        let known: Vec<&str> = source.variants.iter().map(|v| v.name.as_str()).collect();
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        return Err(Settled::stalled(
            PackageReason::VariantNotFound,
            format!(
                "PackageSource {name} has no variant {wanted}; it has {known}; set spec.variant of the Package"
            ),
        ));
    };
    version(o, name, &source.version)?;
    desired(&o.package, source, variant)
        .map_err(|error| Settled::stalled(PackageReason::InvalidConfiguration, error.to_string()))
}

/// Whether the source's version is one the Package accepts.
fn version(o: &Observed, name: &str, version: &str) -> Result<(), Settled> {
    let version = if version.is_empty() {
        UNVERSIONED
    } else {
        version
    };
    let constraint = o.package.spec.version.as_str();
    let refuse = |message| Err(Settled::stalled(PackageReason::VersionMismatch, message));
    match satisfies(version, constraint) {
        Ok(true) => Ok(()),
        Ok(false) => refuse(format!(
            "PackageSource {name} has version {version}, which does not satisfy {constraint}; change spec.version of the Package or the source"
        )),
        Err(error) => refuse(format!(
            "version {version} of PackageSource {name} cannot be compared with spec.version {constraint}: {error}"
        )),
    }
}
