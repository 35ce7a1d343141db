//! What hooks have printed: the logs of a Job's Pods or of a Pod, when the hook asks for it or the caller does.
//! Logs are data of the outcome. One that can't be had is a warning.
//! Source of the rules: Helm 4.3.1 `outputLogsByPolicy` of `pkg/action/hooks.go`.

use super::Operation;
use crate::OutputLogPolicy;
use crate::cluster::{ApiError, Call, Cluster, Verb, escape};
use serde_json::Value;

/// Bytes kept of one container's log.
const BYTES: &str = "65536";
/// Containers whose logs are kept in one operation.
const CONTAINERS: usize = 50;

/// What a container of a hook has printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookLog {
    /// Name of the hook.
    pub hook: String,
    /// Namespace of its Pod.
    pub namespace: String,
    /// Name of its Pod.
    pub pod: String,
    /// Name of the container.
    pub container: String,
    /// The first bytes of what it printed, 64 KiB at most.
    pub text: String,
}

impl Operation {
    /// Keeps the logs of a hook that has ended.
    pub(super) async fn keep_logs(&mut self, hook: usize, failed: bool) {
        let Some(found) = self.release.hooks.get(hook) else {
            return;
        };
        let policy = if failed {
            OutputLogPolicy::HookFailed
        } else {
            OutputLogPolicy::HookSucceeded
        };
        if !self.progress.settings.logs && !found.output_log_policies.contains(&policy) {
            return;
        }
        let name = found.name.clone();
        let selector = match found.kind.as_str() {
            "Job" => ("labelSelector", format!("job-name={name}")),
            "Pod" => ("fieldSelector", format!("metadata.name={name}")),
            _ => return,
        };
        let namespace = self
            .hook_objects
            .get(hook)
            .and_then(|objects| objects.first())
            .map(|object| object.namespace.clone())
            .filter(|namespace| !namespace.is_empty())
            .unwrap_or_else(|| self.release.namespace.clone());
        let room = CONTAINERS.saturating_sub(self.logs.len());
        let helm = self.helm.clone();
        let read = logs_of(helm.cluster(), &name, &namespace, &selector, room).await;
        let (logs, problems) = match read {
            Ok(read) => read,
            Err(error) => (Vec::new(), vec![error.to_string()]),
        };
        self.logs.extend(logs);
        for problem in problems {
            self.warn(format!("logs of hook {name} can't be read: {problem}"));
        }
    }
}

async fn logs_of(
    cluster: &Cluster,
    hook: &str,
    namespace: &str,
    selector: &(&'static str, String),
    room: usize,
) -> Result<(Vec<HookLog>, Vec<String>), ApiError> {
    let path = format!("/api/v1/namespaces/{}/pods", escape(namespace));
    let query = [(selector.0, selector.1.as_str()), ("limit", "50")];
    let call = Call::new(Verb::Get, path.clone()).query(&query);
    let pods = cluster.call(call).await?.body;
    let mut logs = Vec::new();
    let mut problems = Vec::new();
    for pod in pods
        .get("items")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let name = pod
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
        for container in containers
            .into_iter()
            .flatten()
            .take(room.saturating_sub(logs.len()))
        {
            let container = container
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let query = [("container", container), ("limitBytes", BYTES)];
            let path = format!("{path}/{}/log", escape(name));
            match cluster.text(Call::new(Verb::Get, path).query(&query)).await {
                Ok(text) => logs.push(HookLog {
                    hook: hook.to_owned(),
                    namespace: namespace.to_owned(),
                    pod: name.to_owned(),
                    container: container.to_owned(),
                    text,
                }),
                Err(error) => problems.push(error.to_string()),
            }
        }
    }
    Ok((logs, problems))
}
