//! CustomResourceDefinitions. Conditions are read in the order they stand, and the first that decides wins.

use super::fields::Conditions;
use super::{AssessError, Readiness};
use serde_json::Value;

pub(super) fn crd(object: &Value) -> Result<Readiness, AssessError> {
    for condition in &Conditions::of(object)?.0 {
        match (condition.kind.as_str(), condition.status.as_str()) {
            ("NamesAccepted", "False") => {
                return Ok(Readiness::failed(&condition.reason, &condition.message));
            }
            ("Established", "False") if condition.reason != "Installing" => {
                return Ok(Readiness::failed(&condition.reason, &condition.message));
            }
            ("Established", "True") => return Ok(Readiness::current("CRD is established")),
            _ => {}
        }
    }
    Ok(Readiness::in_progress("Installing", "Install in progress"))
}
