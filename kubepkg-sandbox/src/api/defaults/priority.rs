//! The priority of pods, which the server takes from their class: the admission plugin `Priority` of Kubernetes.

use serde_json::Value;

use crate::api::failure::Failure;
use crate::api::kind::Kind;
use crate::api::object::{self, default, text};
use crate::api::world::World;

const CLASSES: &str = "priorityclasses.scheduling.k8s.io";

/// The class that pods have which name none; of several that of the lowest value.
fn general(world: &World) -> Option<&Value> {
    let classes = world.store.list(CLASSES, "", None);
    classes
        .map(|(_, class)| class.as_ref())
        .filter(|class| class["globalDefault"] == true)
        .min_by_key(|class| class["value"].as_i64())
}

/// Gives a new pod the priority of its class.
pub(super) fn of_class(world: &World, kind: &Kind, pod: &mut Value) -> Result<(), Failure> {
    let name = text(&pod["spec"], "priorityClassName").to_owned();
    let refused = |pod: &Value, why: &str| Failure::forbidden(kind, object::name(pod), why);
    let class = if name.is_empty() {
        general(world)
    } else {
        let found = world.store.get(CLASSES, "", &name);
        let Some(found) = found else {
            let why = format!("no PriorityClass with name {name} was found");
            return Err(refused(pod, &why));
        };
        Some(found.as_ref())
    };
    let value = class.and_then(|class| class["value"].as_i64()).unwrap_or(0);
    let policy = class.map_or("", |class| text(class, "preemptionPolicy"));
    let policy = if policy.is_empty() {
        "PreemptLowerPriority"
    } else {
        policy
    };
    let spec = &pod["spec"];
    if let Some(sent) = spec["priority"].as_i64().filter(|sent| *sent != value) {
        let why = format!(
            "the integer value of priority ({sent}) must not be provided in pod spec; priority admission controller \
             computed {value} from the given PriorityClass name"
        );
        return Err(refused(pod, &why));
    }
    if let Some(sent) = spec["preemptionPolicy"]
        .as_str()
        .filter(|sent| *sent != policy)
    {
        let why = format!(
            "the string value of PreemptionPolicy ({sent}) must not be provided in pod spec; priority admission \
             controller computed {policy} from the given PriorityClass name"
        );
        return Err(refused(pod, &why));
    }
    let name = class.map(object::name).unwrap_or_default().to_owned();
    let spec = &mut pod["spec"];
    if !name.is_empty() {
        default(spec, "priorityClassName", name);
    }
    default(spec, "priority", value);
    default(spec, "preemptionPolicy", policy);
    Ok(())
}

/// Only one class may be the one of all pods.
pub(super) fn only_one(world: &World, kind: &Kind, class: &Value) -> Result<(), Failure> {
    if class["globalDefault"] != true {
        return Ok(());
    }
    let name = object::name(class);
    match general(world).map(object::name) {
        Some(other) if other != name => {
            let why = format!(
                "PriorityClass {other} is already marked as default. Only one default can exist"
            );
            Err(Failure::forbidden(kind, name, &why))
        }
        _ => Ok(()),
    }
}
