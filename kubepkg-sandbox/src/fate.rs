//! What happens to a pod: the pure half of the pretend kubelet.
//!
//! [`next`] looks at a pod, its fate and a clock, and says the one thing to do now. The states
//! are those a real kubelet reports, as far as controllers and readiness rules look at them. A
//! pod whose restart policy is not `Always` (every Job's pod, and the bare pods of test hooks)
//! runs to its end.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Annotation on the pod (template) that chooses a [`Fate`].
pub const FATE_ANNOTATION: &str = "sandbox.kubepkg.dev/fate";
/// Annotation on the pod (template) with the time from its start until it is ready or done, such
/// as `1500ms` or `2s`.
pub const READY_AFTER_ANNOTATION: &str = "sandbox.kubepkg.dev/ready-after";

/// What becomes of a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Fate {
    /// Runs and gets ready; a pod that runs to its end succeeds.
    #[default]
    Run,
    /// Is bound to the node, and then nothing is heard of it: `Pending`.
    Never,
    /// Crashes again and again (`CrashLoopBackOff`, never ready); a pod that runs to its end
    /// fails with exit code 1.
    Crash,
    /// Its images cannot be pulled: `Pending` with `ImagePullBackOff`.
    PullError,
    /// Fails for good, whatever its restart policy: phase `Failed`, exit code 1.
    Fail,
}

impl Fate {
    /// Reads the value of [`FATE_ANNOTATION`]: `run`, `never`, `crash`, `pull-error`, `fail`.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_value(Value::String(text.to_owned())).ok()
    }
}

/// A fate and its delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) fate: Fate,
    pub(crate) ready_after: Duration,
}

impl Plan {
    /// What the pod's own annotations ask for. A word that is not known means `never`, so that a
    /// typing error is seen.
    pub(crate) fn of(pod: &Pod) -> Self {
        let none = BTreeMap::new();
        let annotations = pod.metadata.annotations.as_ref().unwrap_or(&none);
        let fate = match annotations.get(FATE_ANNOTATION) {
            Some(text) => Fate::parse(text).unwrap_or(Fate::Never),
            None => Fate::Run,
        };
        let ready_after = annotations
            .get(READY_AFTER_ANNOTATION)
            .and_then(|text| duration(text));
        Self {
            fate,
            ready_after: ready_after.unwrap_or_default(),
        }
    }
}

/// `1500ms`, `2s`, `1m`.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    match text.get(digits.len()..)? {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}

/// The pretend node, and the address that a pod gets.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) node: &'static str,
    pub(crate) host_ip: &'static str,
    pub(crate) pod_ip: String,
    pub(crate) labels: BTreeMap<String, String>,
}

/// The one thing to do with a pod now.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Nothing, until the pod or its fate changes.
    Nothing,
    /// Nothing, until the delay has passed.
    Wait,
    /// Remove it: it is terminating.
    Delete,
    /// Bind it to the node.
    Bind,
    /// Merge this into its status.
    Status(Value),
}

/// What a pod's status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Silent,
    Unschedulable,
    Unready,
    Ready,
    Succeeded,
    Failed,
    CrashLoop,
    PullError,
}

/// Decides. `age` is the time since the pod was first seen bound.
pub(crate) fn next(pod: &Pod, plan: Plan, place: &Place, age: Duration, now: Timestamp) -> Step {
    if pod.metadata.deletion_timestamp.is_some() {
        // With a grace period of zero it only waits for its finalizers.
        return match pod.metadata.deletion_grace_period_seconds {
            Some(0) => Step::Nothing,
            _ => Step::Delete,
        };
    }
    let Some(spec) = &pod.spec else {
        return Step::Nothing;
    };
    let current = state(pod);
    if spec.node_name.is_none() {
        let selector = spec.node_selector.iter().flatten();
        let fits = selector
            .into_iter()
            .all(|(key, value)| place.labels.get(key) == Some(value));
        return match (fits, current) {
            (true, _) => Step::Bind,
            (false, State::Unschedulable) => Step::Nothing,
            (false, _) => Step::Status(status(pod, State::Unschedulable, place, now)),
        };
    }
    let to_the_end = spec
        .restart_policy
        .as_deref()
        .is_some_and(|policy| policy != "Always");
    let due = age >= plan.ready_after;
    let wanted = match (plan.fate, to_the_end) {
        (Fate::Never, _) => return Step::Nothing,
        (Fate::PullError, _) => State::PullError,
        (Fate::Crash, false) => State::CrashLoop,
        (Fate::Crash, true) | (Fate::Fail, _) if due => State::Failed,
        (Fate::Run, true) if due => State::Succeeded,
        (Fate::Run, false) if due => State::Ready,
        _ => State::Unready,
    };
    let over = matches!(current, State::Succeeded | State::Failed);
    if over {
        Step::Nothing
    } else if wanted == current {
        if due { Step::Nothing } else { Step::Wait }
    } else {
        Step::Status(status(pod, wanted, place, now))
    }
}

/// Reads the state back from the status, so that nothing has to be remembered.
fn state(pod: &Pod) -> State {
    let Some(status) = &pod.status else {
        return State::Silent;
    };
    let waiting = status
        .container_statuses
        .iter()
        .flatten()
        .find_map(|container| {
            container
                .state
                .as_ref()?
                .waiting
                .as_ref()?
                .reason
                .as_deref()
        });
    let condition = |kind: &str| {
        let mut all = status.conditions.iter().flatten();
        all.find(|condition| condition.type_ == kind)
            .map(|condition| condition.status.as_str())
    };
    match (status.phase.as_deref(), waiting) {
        (Some("Succeeded"), _) => State::Succeeded,
        (Some("Failed"), _) => State::Failed,
        (_, Some("CrashLoopBackOff")) => State::CrashLoop,
        (_, Some("ImagePullBackOff")) => State::PullError,
        (Some("Running"), _) if condition("Ready") == Some("True") => State::Ready,
        (Some("Running"), _) => State::Unready,
        _ if condition("PodScheduled") == Some("False") => State::Unschedulable,
        _ => State::Silent,
    }
}

/// The status of a state, as a merge patch for the `status` subresource.
fn status(pod: &Pod, state: State, place: &Place, now: Timestamp) -> Value {
    let time = rfc3339(now);
    if state == State::Unschedulable {
        let condition = json!({
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/1 nodes are available: 1 node(s) didn't match Pod's node selector.",
            "lastTransitionTime": time,
        });
        return patch(pod, &json!({"phase": "Pending", "conditions": [condition]}));
    }
    let old = pod.status.as_ref();
    let started = old
        .and_then(|status| status.start_time.as_ref())
        .map(|start| start.0);
    let times = Times {
        started: rfc3339(started.unwrap_or(now)),
        now: time,
    };
    let spec = pod.spec.clone().unwrap_or_default();
    let containers: Vec<Value> = spec
        .containers
        .iter()
        .map(|container| times.container(container, state))
        .collect();
    let init: Vec<Value> = spec
        .init_containers
        .iter()
        .flatten()
        .map(|container| times.init_container(container, state))
        .collect();
    let phase = match state {
        State::Succeeded => "Succeeded",
        State::Failed => "Failed",
        State::PullError => "Pending",
        _ => "Running",
    };
    let mut status = json!({
        "phase": phase,
        "startTime": times.started,
        "hostIP": place.host_ip,
        "hostIPs": [{"ip": place.host_ip}],
        "conditions": times.conditions(&spec, state),
        "containerStatuses": containers,
        "initContainerStatuses": init,
    });
    if state != State::PullError
        && let Some(fields) = status.as_object_mut()
    {
        // The address of the first status stays.
        let kept = old.and_then(|status| status.pod_ip.as_deref());
        let host_network = spec.host_network == Some(true);
        let new = if host_network {
            place.host_ip
        } else {
            place.pod_ip.as_str()
        };
        let ip = kept.unwrap_or(new);
        fields.insert("podIP".to_owned(), ip.into());
        fields.insert("podIPs".to_owned(), json!([{"ip": ip}]));
    }
    patch(pod, &status)
}

fn rfc3339(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The two times that a status names: when the pod started, and now.
struct Times {
    started: String,
    now: String,
}

impl Times {
    fn conditions(&self, spec: &PodSpec, state: State) -> Vec<Value> {
        let ready = state == State::Ready;
        let reason = match state {
            State::Ready => None,
            State::Succeeded => Some("PodCompleted"),
            State::Failed => Some("PodFailed"),
            _ => Some("ContainersNotReady"),
        };
        let condition = |kind: &str, ok: bool, reason: Option<&str>| {
            let status = if ok { "True" } else { "False" };
            json!({
                "type": kind, "status": status, "reason": reason, "lastTransitionTime": self.now,
            })
        };
        let mut conditions = vec![
            condition("PodScheduled", true, None),
            condition("PodReadyToStartContainers", state != State::PullError, None),
            condition("Initialized", true, None),
            condition("ContainersReady", ready, reason),
            condition("Ready", ready, reason),
        ];
        for gate in spec.readiness_gates.iter().flatten() {
            conditions.push(condition(&gate.condition_type, ready, reason));
        }
        conditions
    }

    fn container(&self, container: &Container, state: State) -> Value {
        let image = container.image.as_deref().unwrap_or_default();
        let (current, last, restarts) = match state {
            State::Succeeded => (self.terminated(0), json!({}), 0),
            State::Failed => (self.terminated(1), json!({}), 0),
            State::CrashLoop => {
                let message = "back-off 5m0s restarting failed container";
                (waiting("CrashLoopBackOff", message), self.terminated(1), 5)
            }
            State::PullError => {
                let message = format!("Back-off pulling image \"{image}\"");
                (waiting("ImagePullBackOff", &message), json!({}), 0)
            }
            _ => (self.running(), json!({}), 0),
        };
        json!({
            "name": container.name, "image": image, "imageID": "",
            "ready": state == State::Ready, "started": current.get("running").is_some(),
            "restartCount": restarts, "state": current, "lastState": last,
        })
    }

    fn init_container(&self, container: &Container, state: State) -> Value {
        // A restartable init container is a sidecar and goes on until the pod ends.
        let sidecar = container.restart_policy.as_deref() == Some("Always");
        let over = matches!(state, State::Succeeded | State::Failed);
        let current = if sidecar && !over {
            self.running()
        } else {
            self.terminated(0)
        };
        json!({
            "name": container.name, "image": container.image.as_deref().unwrap_or_default(),
            "imageID": "", "ready": true, "started": sidecar && !over, "restartCount": 0,
            "state": current,
        })
    }

    fn running(&self) -> Value {
        json!({"running": {"startedAt": self.started}})
    }

    fn terminated(&self, code: i32) -> Value {
        json!({"terminated": {
            "exitCode": code, "reason": if code == 0 { "Completed" } else { "Error" },
            "startedAt": self.started, "finishedAt": self.now,
        }})
    }
}

fn waiting(reason: &str, message: &str) -> Value {
    json!({"waiting": {"reason": reason, "message": message}})
}

/// The uid makes the server refuse a patch that was meant for an earlier pod of the same name.
fn patch(pod: &Pod, status: &Value) -> Value {
    json!({"metadata": {"uid": pod.metadata.uid}, "status": status})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(value: Value) -> Pod {
        serde_json::from_value(value).unwrap()
    }

    fn bound(annotations: &Value, restart: &str) -> Value {
        json!({
            "metadata": {"name": "p", "uid": "u", "annotations": annotations},
            "spec": {
                "nodeName": "n", "restartPolicy": restart,
                "containers": [{"name": "c", "image": "i"}],
            },
        })
    }

    fn place() -> Place {
        Place {
            node: "n",
            host_ip: "10.2.0.1",
            pod_ip: "10.1.0.7".to_owned(),
            labels: BTreeMap::from([("kubernetes.io/os".to_owned(), "linux".to_owned())]),
        }
    }

    fn step(pod: &Pod, age: Duration) -> Step {
        next(pod, Plan::of(pod), &place(), age, Timestamp::UNIX_EPOCH)
    }

    /// Applies the steps until nothing is left to do and returns phase and waiting reason.
    fn settle(mut document: Value) -> (String, Option<String>, Option<bool>) {
        let age = Duration::from_hours(1);
        for _ in 0..5 {
            let Step::Status(patch) = step(&pod(document.clone()), age) else {
                break;
            };
            document["status"] = patch["status"].clone();
        }
        let last = pod(document);
        assert_eq!(step(&last, age), Step::Nothing);
        let status = last.status.unwrap();
        let container = status.container_statuses.unwrap().remove(0);
        let waiting = container.state.and_then(|state| state.waiting?.reason);
        (status.phase.unwrap(), waiting, Some(container.ready))
    }

    #[test]
    fn unbound_pod_is_bound() {
        let unbound = pod(json!({"metadata": {}, "spec": {"containers": []}}));
        assert_eq!(step(&unbound, Duration::ZERO), Step::Bind);
    }

    #[test]
    fn selector_that_no_node_has_makes_it_unschedulable_once() {
        let mut document = json!({
            "metadata": {"uid": "u"},
            "spec": {"containers": [], "nodeSelector": {"disk": "fast"}},
        });
        let Step::Status(patch) = step(&pod(document.clone()), Duration::ZERO) else {
            panic!("no status");
        };
        assert_eq!(patch["status"]["conditions"][0]["reason"], "Unschedulable");
        document["status"] = patch["status"].clone();
        assert_eq!(step(&pod(document), Duration::ZERO), Step::Nothing);
    }

    #[test]
    fn fates_of_a_server_pod() {
        let settled = |fate: &str| settle(bound(&json!({FATE_ANNOTATION: fate}), "Always"));
        let waiting = |reason: &str| Some(reason.to_owned());
        assert_eq!(settled("run"), ("Running".to_owned(), None, Some(true)));
        assert_eq!(
            settled("crash"),
            (
                "Running".to_owned(),
                waiting("CrashLoopBackOff"),
                Some(false)
            )
        );
        assert_eq!(
            settled("pull-error"),
            (
                "Pending".to_owned(),
                waiting("ImagePullBackOff"),
                Some(false)
            )
        );
        assert_eq!(settled("fail"), ("Failed".to_owned(), None, Some(false)));
    }

    #[test]
    fn fates_of_a_pod_that_runs_to_its_end() {
        let settled = |fate: &str| settle(bound(&json!({FATE_ANNOTATION: fate}), "Never")).0;
        assert_eq!(settled("run"), "Succeeded");
        assert_eq!(settled("crash"), "Failed");
        assert_eq!(settled("fail"), "Failed");
        assert_eq!(settled("pull-error"), "Pending");
    }

    #[test]
    fn never_and_unknown_words_leave_it_pending() {
        for fate in ["never", "nevr"] {
            let silent = pod(bound(&json!({FATE_ANNOTATION: fate}), "Always"));
            assert_eq!(step(&silent, Duration::from_hours(1)), Step::Nothing);
        }
    }

    #[test]
    fn ready_after_is_unready_first_then_ready() {
        let mut document = bound(&json!({READY_AFTER_ANNOTATION: "2s"}), "Always");
        let Step::Status(patch) = step(&pod(document.clone()), Duration::ZERO) else {
            panic!("no status");
        };
        assert_eq!(patch["status"]["phase"], "Running");
        assert_eq!(patch["status"]["containerStatuses"][0]["ready"], false);
        assert_eq!(patch["metadata"]["uid"], "u");
        document["status"] = patch["status"].clone();
        let unready = pod(document);
        assert_eq!(step(&unready, Duration::from_millis(1999)), Step::Wait);
        let Step::Status(patch) = step(&unready, Duration::from_secs(2)) else {
            panic!("no status");
        };
        assert_eq!(patch["status"]["containerStatuses"][0]["ready"], true);
        assert_eq!(patch["status"]["podIP"], "10.1.0.7");
    }

    #[test]
    fn terminating_pod_is_deleted_and_then_left_to_its_finalizers() {
        let mut document = bound(&json!({}), "Always");
        document["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        document["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        assert_eq!(step(&pod(document.clone()), Duration::ZERO), Step::Delete);
        document["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        assert_eq!(step(&pod(document), Duration::ZERO), Step::Nothing);
    }

    #[test]
    fn a_pod_that_is_over_stays_over() {
        let mut document = bound(&json!({FATE_ANNOTATION: "run"}), "Never");
        document["status"] = json!({"phase": "Failed"});
        assert_eq!(step(&pod(document), Duration::from_hours(1)), Step::Nothing);
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("1500ms"), Some(Duration::from_millis(1500)));
        assert_eq!(duration("2s"), Some(Duration::from_secs(2)));
        assert_eq!(duration("1m"), Some(Duration::from_mins(1)));
        assert_eq!(duration("3"), None);
        assert_eq!(duration("xs"), None);
    }
}
