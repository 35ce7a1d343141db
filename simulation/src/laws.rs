//! What holds in every run, whatever happened: read from the log of the API server, not from what the operator says.
//!
//! * A package has one revision in flight at most, and no revision number is given twice.
//! * History only grows: numbers go up, records don't change, phases go forward, what was applied last stays on record.
//! * No CRD is deleted, unless a package's `crdPolicy` says so.
//! * What other people made is as they left it.
//! * The operator does not ask without end.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::state::{items, key};
use crate::world::{Stuck, World};

/// Revisions that are kept when a package says nothing.
const KEPT: usize = 10;

/// Requests of six minutes in which nothing is to be done, for one package: one look at it, and watches begun again.
const RESTING: usize = 40;

/// The beginning of a run, after everything was set up.
#[derive(Clone, Debug)]
pub(crate) struct Beginning {
    /// The version of the server.
    version: String,
    /// Objects of others.
    foreign: BTreeMap<String, Value>,
}

/// The collections with objects of others.
const FOREIGN: &[&str] = &["/api/v1/configmaps", "/api/v1/secrets"];

impl Beginning {
    /// Puts things of other people into the world and remembers them.
    pub(crate) async fn of(world: &World) -> Result<Self, Stuck> {
        for namespace in ["apps", "other"] {
            let path = format!("/api/v1/namespaces/{namespace}/configmaps/theirs");
            let body = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"},
                "data": {"of": "somebody else"},
            });
            world.apply(&path, body).await?;
        }
        let path = "/api/v1/namespaces/apps/secrets/theirs";
        let body = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "theirs", "labels": {"owner": "somebody"}},
        });
        world.apply(path, body).await?;
        let list = world.get("/api/v1/namespaces").await?.unwrap_or_default();
        let version = list["metadata"]["resourceVersion"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let foreign = foreign(world).await?;
        Ok(Self { version, foreign })
    }
}

async fn foreign(world: &World) -> Result<BTreeMap<String, Value>, Stuck> {
    let mut found = BTreeMap::new();
    for collection in FOREIGN {
        for object in items(world, collection).await? {
            if object["metadata"]["name"] == "theirs" {
                found.insert(key(collection, &object), object);
            }
        }
    }
    Ok(found)
}

/// The laws that were broken. Where reads were forced to show the past, no operator can know of a revision under way that
/// it is not shown, and two in flight are no offence; numbers, names and resource versions guard everything else.
pub(crate) async fn broken(
    world: &World,
    beginning: &Beginning,
    forced_stale: bool,
) -> Result<Vec<String>, Stuck> {
    let mut broken = Vec::new();
    let packages = world
        .events(&world.path("packages", ""), &beginning.version)
        .await;
    let revisions = world
        .events(&world.path("packagerevisions", ""), &beginning.version)
        .await;
    let packages = Packages::read(&packages);
    let mut histories = Histories {
        several_in_flight: forced_stale,
        ..Histories::default()
    };
    histories.follow(&revisions, &packages, &mut broken);
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    if !packages.may_delete_crds {
        for (change, crd) in world.events(crds, &beginning.version).await {
            if change == "DELETED" {
                broken.push(format!("CRD {} was deleted", crd["metadata"]["name"]));
            }
        }
    }
    if foreign(world).await? != beginning.foreign {
        broken.push("objects of somebody else were changed".to_owned());
    }
    if world.wire.is_flooded() {
        broken.push(format!("the operator sent {} requests", world.wire.count()));
    }
    Ok(broken)
}

/// Whether requests of the last minutes are too many.
pub(crate) fn restless(resting: usize, packages: usize) -> Option<String> {
    let allowed = RESTING * packages;
    (resting > allowed)
        .then(|| format!("{resting} requests in six minutes at rest, more than {allowed}"))
}

/// What is to be known of packages to judge their histories.
#[derive(Default)]
struct Packages {
    /// Versions of the server at which packages, by UID, began to go.
    going: BTreeMap<String, u64>,
    /// How many revisions packages keep, the least that was ever asked for.
    kept: BTreeMap<String, usize>,
    may_delete_crds: bool,
}

impl Packages {
    fn read(events: &[(String, Value)]) -> Self {
        let mut packages = Self::default();
        for (change, package) in events {
            let uid = text(package, "/metadata/uid");
            let going = change == "DELETED" || !package["metadata"]["deletionTimestamp"].is_null();
            if going {
                packages
                    .going
                    .entry(uid.clone())
                    .or_insert(version(package));
            }
            packages.may_delete_crds |= package["spec"]["crdPolicy"] == "Delete";
            let limit = package["spec"]["revisionHistoryLimit"].as_u64();
            let limit = limit
                .and_then(|limit| usize::try_from(limit).ok())
                .unwrap_or(KEPT);
            let kept = packages.kept.entry(uid).or_insert(limit);
            *kept = limit.min(*kept);
        }
        packages
    }
}

/// The revisions of all packages, as they were recorded.
#[derive(Default)]
struct Histories {
    /// The record and the phase of every revision there is, by package and number.
    there: BTreeMap<(String, u64), (Value, String)>,
    /// Every number that was ever given.
    given: BTreeSet<(String, u64)>,
    /// Whether several may be in flight.
    several_in_flight: bool,
}

impl Histories {
    fn follow(
        &mut self,
        events: &[(String, Value)],
        packages: &Packages,
        broken: &mut Vec<String>,
    ) {
        for (change, revision) in events {
            let owner = text(revision, "/metadata/ownerReferences/0/uid");
            let number = revision["spec"]["revision"].as_u64().unwrap_or_default();
            let name = text(revision, "/metadata/name");
            let place = (owner.clone(), number);
            match change.as_str() {
                "ADDED" => {
                    let highest = self
                        .given
                        .iter()
                        .filter(|(uid, _)| *uid == owner)
                        .map(|(_, n)| *n)
                        .max();
                    if highest.is_some_and(|highest| number <= highest) {
                        broken.push(format!(
                            "{name} was recorded when there had been {highest:?} already"
                        ));
                    }
                    self.given.insert(place.clone());
                    self.change(place, revision, &name, broken);
                }
                "MODIFIED" => self.change(place, revision, &name, broken),
                "DELETED" => {
                    let gone = packages
                        .going
                        .get(&owner)
                        .is_some_and(|at| *at <= version(revision));
                    let of_owner = self.there.keys().filter(|(uid, _)| *uid == owner);
                    let (count, oldest) = (of_owner.clone().count(), of_owner.min().cloned());
                    let kept = packages.kept.get(&owner).copied().unwrap_or(KEPT);
                    let phase = self.there.get(&place).map(|(_, phase)| phase.clone());
                    if !gone && (count <= kept || phase.as_deref() == Some("Applied")) {
                        broken.push(format!(
                            "{name} ({phase:?}, oldest {oldest:?}) was removed from {count} records"
                        ));
                    }
                    self.there.remove(&place);
                }
                _ => {}
            }
            self.one_in_flight(&owner, broken);
        }
    }

    fn change(
        &mut self,
        place: (String, u64),
        revision: &Value,
        name: &str,
        broken: &mut Vec<String>,
    ) {
        let phase = revision["status"]["phase"]
            .as_str()
            .unwrap_or("Pending")
            .to_owned();
        if let Some((spec, before)) = self.there.get(&place) {
            if *spec != revision["spec"] {
                broken.push(format!("the record of {name} was changed"));
            }
            if !may_follow(before, &phase) {
                broken.push(format!("{name} went from {before} to {phase}"));
            }
        }
        self.there.insert(place, (revision["spec"].clone(), phase));
    }

    fn one_in_flight(&self, owner: &str, broken: &mut Vec<String>) {
        let count = |phases: &[&str]| {
            let of_owner = self.there.iter().filter(|((uid, _), _)| uid == owner);
            of_owner
                .filter(|(_, (_, phase))| phases.contains(&phase.as_str()))
                .count()
        };
        if !self.several_in_flight && count(&["Pending", "Applying"]) > 1 {
            let told = format!("two revisions of package {owner} were in flight");
            if !broken.contains(&told) {
                broken.push(told);
            }
        }
    }
}

/// The life of a revision: what was given up or superseded stays so.
fn may_follow(before: &str, after: &str) -> bool {
    before == after
        || match before {
            "Pending" => true,
            "Applying" => matches!(after, "Applied" | "Failed"),
            "Applied" => after == "Superseded",
            _ => false,
        }
}

fn text(object: &Value, pointer: &str) -> String {
    let found = object.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default().to_owned()
}

fn version(object: &Value) -> u64 {
    text(object, "/metadata/resourceVersion")
        .parse()
        .unwrap_or_default()
}
