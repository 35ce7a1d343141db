//! Services and volume claims. Only a load balancer without a cluster address holds a release up; its
//! outside address is not waited for.

use super::Readiness;
use super::fields::text;
use serde_json::Value;

pub(super) fn service(object: &Value) -> Readiness {
    let balancer = text(object, &["spec", "type"]) == Some("LoadBalancer");
    if balancer
        && text(object, &["spec", "clusterIP"])
            .unwrap_or_default()
            .is_empty()
    {
        let message = "ClusterIP not set. Service type: LoadBalancer";
        return Readiness::in_progress("NoIPAssigned", message);
    }
    Readiness::current("Service is ready")
}

pub(super) fn claim(object: &Value) -> Readiness {
    match text(object, &["status", "phase"]).unwrap_or("unknown") {
        "Bound" => Readiness::current("PVC is Bound"),
        phase => Readiness::in_progress("NotBound", format!("PVC is not Bound. phase: {phase}")),
    }
}
