//! Jobs and CronJobs: `pkg/apis/batch/validation`.

use serde_json::{Map, Value, json};

use super::parts::{not_negative, one_of, selector};
use super::pod;
use crate::api::failure::Cause;
use crate::api::object::{self, list, text};
use crate::api::schedule::{self, Schedule};
use crate::api::selector::Labels;

pub(super) fn job(causes: &mut Vec<Cause>, job: &Value) {
    let selector = &job["spec"]["selector"];
    if let Some(labels) = Labels::of(selector)
        && job["spec"]["manualSelector"] != true
    {
        generated(causes, job);
        let own = json!({"metadata": {"labels": Map::from_iter(own_labels(job))}});
        if !labels.matches(&own) {
            let why = "`selector` not auto-generated";
            causes.push(Cause::invalid("spec.selector", selector, why));
        }
    }
    of_its_own(causes, &job["spec"]);
}

/// What the server itself writes into selector and template.
fn own_labels(job: &Value) -> [(String, Value); 4] {
    let (uid, name) = (object::uid(job), object::name(job));
    [
        ("controller-uid", uid),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
    ]
    .map(|(label, value)| (label.to_owned(), value.into()))
}

fn generated(causes: &mut Vec<Cause>, job: &Value) {
    let labels = &job["spec"]["template"]["metadata"]["labels"];
    for (label, value) in own_labels(job) {
        let at = format!("spec.template.metadata.labels[{label}]");
        let why = format!("must be '{}'", value.as_str().unwrap_or_default());
        match labels.get(&label) {
            None => causes.push(Cause::required(at, &why)),
            Some(found) if *found != value => causes.push(Cause::invalid(at, labels, &why)),
            Some(_) => {}
        }
    }
}

/// The specification of a Job that is not made by a CronJob.
pub(super) fn of_its_own(causes: &mut Vec<Cause>, spec: &Value) {
    job_spec(causes, "spec", spec);
    selector(causes, "spec.selector", &spec["selector"]);
    let template = &spec["template"];
    match Labels::of(&spec["selector"]) {
        None => causes.push(Cause::required("spec.selector", "")),
        Some(labels) if !labels.matches(template) => {
            let why = "`selector` does not match template `labels`";
            let shown = &template["metadata"]["labels"];
            causes.push(Cause::invalid("spec.template.metadata.labels", shown, why));
        }
        Some(_) => {}
    }
}

fn job_spec(causes: &mut Vec<Cause>, at: &str, spec: &Value) {
    let field = |name: &str| format!("{at}.{name}");
    for number in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        not_negative(causes, &field(number), &spec[number]);
    }
    if !spec["maxFailedIndexes"].is_null() && spec["backoffLimitPerIndex"].is_null() {
        let why = "when maxFailedIndexes is specified";
        causes.push(Cause::required(field("backoffLimitPerIndex"), why));
    }
    let mode = text(spec, "completionMode");
    if !spec["completionMode"].is_null() {
        one_of(
            causes,
            &field("completionMode"),
            mode,
            &["NonIndexed", "Indexed"],
        );
    }
    if mode == "Indexed" {
        if spec["completions"].is_null() {
            let why = "when completion mode is Indexed";
            causes.push(Cause::required(field("completions"), why));
        }
        if spec["parallelism"]
            .as_i64()
            .is_some_and(|number| number > 100_000)
        {
            let why = "must be less than or equal to 100000 when completion mode is Indexed";
            causes.push(Cause::invalid(
                field("parallelism"),
                &spec["parallelism"],
                why,
            ));
        }
    } else if mode == "NonIndexed" || mode.is_empty() {
        for number in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if !spec[number].is_null() {
                let why = "requires indexed completion mode";
                causes.push(Cause::invalid(field(number), &spec[number], why));
            }
        }
    }
    failure_policy(causes, &field("podFailurePolicy.rules"), spec);
    if !spec["podReplacementPolicy"].is_null() {
        let policy = text(spec, "podReplacementPolicy");
        let known: &[&str] = if spec["podFailurePolicy"].is_null() {
            &["Failed", "TerminatingOrFailed"]
        } else {
            &["Failed"]
        };
        one_of(causes, &field("podReplacementPolicy"), policy, known);
    }
    pod::template(causes, &field("template"), &spec["template"]);
    let restart_at = field("template.spec.restartPolicy");
    let restart = text(&spec["template"]["spec"], "restartPolicy");
    match restart {
        "Always" | "" => {
            let why = "valid values: \"OnFailure\", \"Never\"";
            causes.push(Cause::required(restart_at, why));
        }
        "OnFailure" | "Never" => {
            if !spec["podFailurePolicy"].is_null() && restart != "Never" {
                let why = "only \"Never\" is supported when podFailurePolicy is specified";
                causes.push(Cause::invalid(restart_at, &json!(restart), why));
            }
        }
        _ => one_of(causes, &restart_at, restart, &["OnFailure", "Never"]),
    }
}

fn failure_policy(causes: &mut Vec<Cause>, at: &str, spec: &Value) {
    const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
    for (index, rule) in list(&spec["podFailurePolicy"]["rules"]).enumerate() {
        let at = format!("{at}[{index}]");
        let action_at = format!("{at}.action");
        match text(rule, "action") {
            "" => {
                let why = "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]";
                causes.push(Cause::required(action_at, why));
            }
            "FailIndex" => {
                if spec["backoffLimitPerIndex"].is_null() {
                    let why = "requires the backoffLimitPerIndex to be set";
                    causes.push(Cause::invalid(action_at, &json!("FailIndex"), why));
                }
            }
            action => one_of(causes, &action_at, action, &ACTIONS),
        }
        let codes = &rule["onExitCodes"];
        if !codes.is_null() {
            exit_codes(
                causes,
                &format!("{at}.onExitCodes"),
                codes,
                &spec["template"]["spec"],
            );
        }
        let conditions = list(&rule["onPodConditions"]).next().is_some();
        let why = match (codes.is_null(), conditions) {
            (false, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (true, false) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        causes.push(Cause::bare(at, why));
    }
}

fn exit_codes(causes: &mut Vec<Cause>, at: &str, codes: &Value, pod: &Value) {
    let operator = text(codes, "operator");
    let operator_at = format!("{at}.operator");
    if operator.is_empty() {
        causes.push(Cause::required(
            operator_at,
            "valid values: [\"In\" \"NotIn\"]",
        ));
    } else {
        one_of(causes, &operator_at, operator, &["In", "NotIn"]);
    }
    if let Some(container) = codes["containerName"].as_str() {
        let known = list(&pod["containers"])
            .chain(list(&pod["initContainers"]))
            .any(|one| text(one, "name") == container);
        if !known {
            let why = "must be one of the container or initContainer names in the pod template";
            causes.push(Cause::invalid(
                format!("{at}.containerName"),
                &json!(container),
                why,
            ));
        }
    }
    let at = format!("{at}.values");
    let values: Vec<i64> = list(&codes["values"]).filter_map(Value::as_i64).collect();
    if values.is_empty() {
        let why = "at least one value is required";
        causes.push(Cause::invalid(&at, &codes["values"], why));
    }
    for (index, value) in values.iter().enumerate() {
        if operator == "In" && *value == 0 {
            let why = "must not be 0 for the In operator";
            causes.push(Cause::invalid(format!("{at}[{index}]"), &json!(value), why));
        }
    }
    if !values.is_sorted() {
        causes.push(Cause::invalid(at, &codes["values"], "must be ordered"));
    }
}

pub(super) fn cron_job(causes: &mut Vec<Cause>, cron: &Value) {
    let spec = &cron["spec"];
    let schedule = text(spec, "schedule");
    let zone = &spec["timeZone"];
    let at = "spec.schedule";
    if schedule.is_empty() {
        causes.push(Cause::required(at, ""));
    } else if let Err(why) = Schedule::parse(schedule::zoneless(schedule)) {
        causes.push(Cause::invalid(at, &json!(schedule), &why));
    }
    if schedule.contains("TZ") && zone.is_null() {
        let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        causes.push(Cause::invalid(at, &json!(schedule), why));
    }
    not_negative(
        causes,
        "spec.startingDeadlineSeconds",
        &spec["startingDeadlineSeconds"],
    );
    let policies = ["Allow", "Forbid", "Replace"];
    match text(spec, "concurrencyPolicy") {
        "" => causes.push(Cause::required("spec.concurrencyPolicy", "")),
        policy => one_of(causes, "spec.concurrencyPolicy", policy, &policies),
    }
    if let Some(zone) = zone.as_str() {
        time_zone(causes, zone);
    }
    for field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        not_negative(causes, &format!("spec.{field}"), &spec[field]);
    }
    let (at, job) = ("spec.jobTemplate.spec", &spec["jobTemplate"]["spec"]);
    job_spec(causes, at, job);
    if !job["selector"].is_null() {
        let why = "`selector` will be auto-generated";
        causes.push(Cause::invalid(
            format!("{at}.selector"),
            &job["selector"],
            why,
        ));
    }
    if job["manualSelector"] == true {
        let known = ["nil", "false"];
        causes.push(Cause::unsupported(
            format!("{at}.manualSelector"),
            "true",
            &known,
        ));
    }
    let own = object::name(cron);
    if own.len() > 52 {
        let why = "must be no more than 52 characters";
        causes.push(Cause::invalid("metadata.name", &json!(own), why));
    }
}

fn time_zone(causes: &mut Vec<Cause>, zone: &str) {
    let why = if zone.is_empty() {
        "timeZone must be nil or non-empty string".to_owned()
    } else if zone.eq_ignore_ascii_case("local") {
        "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
            .to_owned()
    } else if jiff::tz::TimeZone::get(zone).is_err() {
        format!("unknown time zone {zone}")
    } else {
        return;
    };
    causes.push(Cause::invalid("spec.timeZone", &json!(zone), &why));
}
