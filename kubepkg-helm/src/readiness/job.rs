//! Jobs. kstatus calls a Job ready as soon as it has started, which suits long-running ones; Helm's own
//! reader, used with `--wait-for-jobs` and for hooks, wants it complete.

use super::fields::{Conditions, int, text};
use super::{AssessError, Readiness};
use serde_json::Value;

fn verdict(object: &Value) -> Result<Option<Readiness>, AssessError> {
    let parallelism = int(object, &["spec", "parallelism"], 1);
    let completions = int(object, &["spec", "completions"], parallelism);
    for condition in &Conditions::of(object)?.0 {
        match (condition.kind.as_str(), condition.status.as_str()) {
            ("Complete", "True") => {
                let succeeded = int(object, &["status", "succeeded"], 0);
                return Ok(Some(Readiness::current(format!(
                    "Job Completed. succeeded: {succeeded}/{completions}"
                ))));
            }
            ("Failed", "True") => {
                let failed = int(object, &["status", "failed"], 0);
                return Ok(Some(Readiness::failed(
                    "JobFailed",
                    format!("Job Failed. failed: {failed}/{completions}"),
                )));
            }
            _ => {}
        }
    }
    Ok(None)
}

pub(super) fn job(object: &Value) -> Result<Readiness, AssessError> {
    if let Some(verdict) = verdict(object)? {
        return Ok(verdict);
    }
    if text(object, &["status", "startTime"])
        .unwrap_or_default()
        .is_empty()
    {
        return Ok(Readiness::in_progress("JobNotStarted", "Job not started"));
    }
    let count = |key: &str| int(object, &["status", key], 0);
    Ok(Readiness::current(format!(
        "Job in progress. success:{}, active: {}, failed: {}",
        count("succeeded"),
        count("active"),
        count("failed")
    )))
}

pub(super) fn completed_job(object: &Value) -> Result<Readiness, AssessError> {
    Ok(verdict(object)?
        .unwrap_or_else(|| Readiness::in_progress("JobInProgress", "Job in progress")))
}
