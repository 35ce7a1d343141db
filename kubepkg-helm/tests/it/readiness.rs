//! What is judged ready: rows of kstatus 1.2.2 and of Helm 4.3.1's readers.

use kubepkg_helm::{AssessError, Readiness, Reading, Status, aggregate, assess, assess_as};
use serde_json::{Value, json};

use crate::vectors;

/// Whether an answer is the one of a row. Rows of Helm's readers say nothing of conditions.
pub(crate) fn compare(
    read: &Result<Readiness, AssessError>,
    expected: &Value,
) -> Result<(), String> {
    let wrong = || Err(format!("{read:?} instead of {expected}"));
    match read {
        Err(error) if expected["error"] == error.to_string() => Ok(()),
        Err(_) => wrong(),
        Ok(answer) => {
            if expected["status"] != answer.status.as_str() || expected["message"] != answer.message
            {
                return wrong();
            }
            let Some(conditions) = expected["conditions"].as_array() else {
                return Ok(());
            };
            match (conditions.as_slice(), &answer.cause) {
                ([], None) => Ok(()),
                ([one], Some(cause))
                    if one["type"] == cause.kind
                        && one["reason"].as_str().unwrap_or_default() == cause.reason
                        && one["message"].as_str().unwrap_or_default() == cause.message =>
                {
                    Ok(())
                }
                _ => wrong(),
            }
        }
    }
}

#[test]
fn judges_objects_as_kstatus_and_helm_do() {
    let now = jiff::Timestamp::now();
    vectors::run("kstatus-status", |row| {
        let mut object = row["object"].clone();
        if let Some(age) = row["creation_age_seconds"].as_i64() {
            let created = now - jiff::SignedDuration::from_secs(age);
            object["metadata"]["creationTimestamp"] = json!(created.to_string());
        }
        compare(&assess(&object, now), &row["result"])?;
        for (key, reading) in [
            ("wait_for_jobs", Reading::ReleaseWithJobs),
            ("hook", Reading::Hook),
        ] {
            if !row[key].is_null() {
                compare(&assess_as(&object, reading, now), &row[key])?;
            }
        }
        Ok(())
    });
}

#[test]
fn aggregates_as_helm_does() {
    let named = |name: &Value| {
        [
            Status::InProgress,
            Status::Failed,
            Status::Current,
            Status::Terminating,
            Status::NotFound,
            Status::Unknown,
        ]
        .into_iter()
        .find(|status| *name == status.as_str())
        .expect("status")
    };
    vectors::run("kstatus-aggregate", |row| {
        let statuses = row["statuses"].as_array().expect("list");
        let statuses: Vec<Status> = statuses.iter().map(named).collect();
        for (desired, expected) in row["by_desired"].as_object().expect("map") {
            let got = aggregate(&statuses, named(&json!(desired)));
            if *expected != got.as_str() {
                return Err(got.to_string());
            }
        }
        Ok(())
    });
}
