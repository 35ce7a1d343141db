//! Budgets for disruptions: `pkg/apis/policy/validation`.

use serde_json::{Value, json};

use super::parts::{not_negative, one_of_if_given, selector};
use super::workload::percent;
use crate::api::failure::Cause;

pub(super) fn budget(causes: &mut Vec<Cause>, spec: &Value) {
    let (least, most) = (&spec["minAvailable"], &spec["maxUnavailable"]);
    if !least.is_null() && !most.is_null() {
        let policy = &spec["unhealthyPodEvictionPolicy"];
        let shown = format!(
            "{{\"MinAvailable\":{least},\"Selector\":{},\"MaxUnavailable\":{most},\"UnhealthyPodEvictionPolicy\":{policy}}}",
            spec["selector"]
        );
        let why = "minAvailable and maxUnavailable cannot be both set";
        causes.push(Cause::shown("spec", &shown, why));
    }
    for field in ["minAvailable", "maxUnavailable"] {
        share(causes, &format!("spec.{field}"), &spec[field]);
    }
    selector(causes, "spec.selector", &spec["selector"]);
    let known = ["AlwaysAllow", "IfHealthyBudget"];
    one_of_if_given(causes, "spec", spec, "unhealthyPodEvictionPolicy", &known);
}

/// A number or a share of all.
fn share(causes: &mut Vec<Cause>, at: &str, value: &Value) {
    match value.as_str().map(|text| (text, percent(text))) {
        None => not_negative(causes, at, value),
        Some((text, None)) => {
            let why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or \
                       '93%', regex used for validation is '[0-9]+%')";
            causes.push(Cause::invalid(at, &json!(text), why));
        }
        Some((text, Some(percent))) if percent > 100 => {
            causes.push(Cause::invalid(
                at,
                &json!(text),
                "must not be greater than 100%",
            ));
        }
        Some(_) => {}
    }
}
