//! What the scheduler and the kubelet say of a pod, from what has changed in its status.

use jiff::Timestamp;
use serde_json::Value;

use super::events::{About, Said, record};
use crate::api::object::{self, list, text};
use crate::api::world::World;
use crate::kubelet::NODE;

const KUBELET: (&str, &str) = ("kubelet", NODE);
const SCHEDULER: (&str, &str) = ("default-scheduler", "");

/// A pod got its node.
pub(super) fn scheduled(world: &mut World, pod: &Value, now: Timestamp) {
    let (namespace, name) = (object::namespace(pod), object::name(pod));
    let message = format!("Successfully assigned {namespace}/{name} to {NODE}");
    say(
        world,
        pod,
        "",
        SCHEDULER,
        (false, "Scheduled", &message),
        now,
    );
}

/// Its containers came to an end, since it is being deleted.
pub(super) fn killed(world: &mut World, pod: &Value, now: Timestamp) {
    for container in list(&pod["status"]["containerStatuses"]) {
        if container["state"]["running"].is_object() {
            let name = text(container, "name");
            let part = format!("spec.containers{{{name}}}");
            let message = format!("Stopping container {name}");
            say(
                world,
                pod,
                &part,
                KUBELET,
                (false, "Killing", &message),
                now,
            );
        }
    }
}

/// Its status became another one.
pub(super) fn changed(world: &mut World, old: &Value, new: &Value, now: Timestamp) {
    let unscheduled = |pod: &Value| {
        list(&pod["status"]["conditions"])
            .find(|one| one["type"] == "PodScheduled" && one["status"] == "False")
            .map(|one| text(one, "message").to_owned())
    };
    if let Some(why) = unscheduled(new)
        && unscheduled(old).is_none()
    {
        let why = format!(
            "{why} preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
        );
        say(
            world,
            new,
            "",
            SCHEDULER,
            (true, "FailedScheduling", &why),
            now,
        );
    }
    for (field, spec) in [
        ("initContainerStatuses", "initContainers"),
        ("containerStatuses", "containers"),
    ] {
        for container in list(&new["status"][field]) {
            let before = list(&old["status"][field]).find(|one| one["name"] == container["name"]);
            let part = format!("spec.{spec}{{{}}}", text(container, "name"));
            of_container(world, new, &part, (before, container), now);
        }
    }
}

fn of_container(
    world: &mut World,
    pod: &Value,
    part: &str,
    (before, after): (Option<&Value>, &Value),
    now: Timestamp,
) {
    let image = text(after, "image");
    let waits = |container: &Value| text(&container["state"]["waiting"], "reason").to_owned();
    let was = before.map(&waits).unwrap_or_default();
    let is = waits(after);
    let ran = |container: &Value| {
        container["state"]["running"].is_object() || container["state"]["terminated"].is_object()
    };
    let mut say = |warning: bool, reason: &str, message: &str| {
        say(world, pod, part, KUBELET, (warning, reason, message), now);
    };
    match is.as_str() {
        "ImagePullBackOff" if was != is => {
            say(false, "Pulling", &format!("Pulling image \"{image}\""));
            let why = format!(
                "Failed to pull image \"{image}\": the sandbox pulls no images, and this one is not to be had"
            );
            say(true, "Failed", &why);
            say(true, "Failed", "Error: ErrImagePull");
            say(
                false,
                "BackOff",
                &format!("Back-off pulling image \"{image}\""),
            );
            say(true, "Failed", "Error: ImagePullBackOff");
        }
        "CrashLoopBackOff" if was != is => {
            started(image, &mut say);
            let why = format!(
                "Back-off restarting failed container {} in pod {}_{}({})",
                text(after, "name"),
                object::name(pod),
                object::namespace(pod),
                object::uid(pod)
            );
            say(true, "BackOff", &why);
        }
        _ if ran(after) && !before.is_some_and(ran) => started(image, &mut say),
        _ => {}
    }
}

fn started(image: &str, say: &mut dyn FnMut(bool, &str, &str)) {
    let message = format!(
        "Container image \"{image}\" already present on machine and can be accessed by the pod"
    );
    say(false, "Pulled", &message);
    say(false, "Created", "Container created");
    say(false, "Started", "Container started");
}

fn say(
    world: &mut World,
    pod: &Value,
    part: &str,
    from: (&str, &str),
    (warning, reason, message): (bool, &str, &str),
    now: Timestamp,
) {
    let about = About {
        api_version: "v1",
        kind: "Pod",
        object: pod,
        part,
    };
    let said = Said {
        from,
        warning,
        reason,
        message,
    };
    record(world, &about, &said, now);
}
