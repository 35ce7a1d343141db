//! Readiness of what an API server answers, and not of what a test writes down: the objects of the readiness vectors
//! are created, changed until they have their generation, given their status, deleted where they say so, and read
//! back.
//!
//! Objects that a server refuses, or keeps otherwise than the vector has them, are in
//! `tests/vectors/kstatus-server.txt` with the reason. That the list blames nobody wrongly is shown by the second
//! test: the real API server does the same with every row.

use std::collections::BTreeMap;

use http::Request;
use http_body_util::BodyExt as _;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::client::Body;
use kubepkg_helm::{AssessError, Readiness, assess};
use kubepkg_sandbox::{ApiOptions, ApiServer, ControlPlane, Controllers, Options};
use kubepkg_vectors::Vectors;
use serde_json::{Value, json};

use crate::readiness::compare;

const ROWS: Vectors<'_> = Vectors {
    name: "kstatus-server",
    packed: include_bytes!("../../vectors/kstatus-status.jsonl.gz"),
    exceptions: include_str!("../../vectors/kstatus-server.txt"),
};
const NAMESPACE: &str = "readiness";
/// The group of the vectors' own kinds.
const GROUP: &str = "example.test";

/// What a server made of a row.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    Refused {
        step: &'static str,
        code: u16,
        message: String,
    },
    Kept(Value),
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused {
                step,
                code,
                message,
            } => write!(f, "refuses to {step}: {code} {message}"),
            Self::Kept(object) => write!(f, "keeps {object}"),
        }
    }
}

#[test]
fn objects_from_the_api_server_are_judged_as_kstatus_judges_them() {
    let runtime = runtime();
    let _inside = runtime.enter();
    let client = runtime.block_on(sandbox());
    ROWS.run(|row| {
        let outcome = runtime.block_on(put_through(&client, row));
        let object = match outcome {
            Outcome::Kept(object) => object,
            refused @ Outcome::Refused { .. } => return Err(refused.to_string()),
        };
        compare(&read(row, &object), &row["result"]).map_err(|why| format!("{why}\n  of {object}"))
    });
}

#[test]
fn the_real_api_server_makes_the_same_of_every_row() {
    let runtime = runtime();
    let options = Options::default()
        .controllers(Controllers::None)
        .without_pods();
    let plane = runtime.block_on(ControlPlane::start(options)).unwrap();
    let _inside = runtime.enter();
    let real = plane.client().unwrap();
    runtime.block_on(prepare(&real));
    let ours = runtime.block_on(sandbox());
    let mut complaints = Vec::new();
    for row in ROWS.rows() {
        // The API server itself writes the status of these, when it gets to it.
        let kind = row["object"]["kind"].as_str().unwrap_or_default();
        if ["CustomResourceDefinition", "APIService"].contains(&kind) {
            continue;
        }
        let mut expected = runtime.block_on(put_through(&real, &row));
        let mut found = runtime.block_on(put_through(&ours, &row));
        for outcome in [&mut expected, &mut found] {
            if let Outcome::Kept(object) = outcome {
                mask(object);
            }
        }
        if expected != found {
            let id = &row["id"];
            complaints.push(format!("{id}\n  real {expected}\n  ours {found}"));
        }
    }
    assert!(
        complaints.is_empty(),
        "{} rows differ:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

async fn sandbox() -> Client {
    let server = ApiServer::new(&ApiOptions::default().by_hand());
    let client = server.client();
    prepare(&client).await;
    server.settle();
    client
}

/// The namespace and the kinds of the rows.
async fn prepare(client: &Client) {
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    ask(client, "POST", "/api/v1/namespaces", &namespace).await;
    let account = json!({"metadata": {"name": "default"}});
    let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts");
    ask(client, "POST", &path, &account).await;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for kind in ["Widget", "Deployment", "Pod", "Job"] {
        let plural = format!("{}s", kind.to_lowercase());
        let mut definition = json!({
            "metadata": {"name": format!("{plural}.{GROUP}")},
            "spec": spec_of_definition(&plural, kind),
        });
        definition["spec"]["versions"][0]["subresources"] = json!({"status": {}});
        ask(client, "POST", definitions, &definition).await;
    }
    // The real server needs a moment to serve them.
    for _ in 0..600 {
        let (code, list) = ask(client, "GET", &format!("/apis/{GROUP}/v1"), &Value::Null).await;
        let known = list["resources"].as_array().map_or(0, Vec::len);
        if code == 200 && known == 8 {
            return;
        }
        if code == 404 && list["kind"] != "Status" {
            // By hand: the caller settles.
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

fn spec_of_definition(plural: &str, kind: &str) -> Value {
    json!({
        "group": GROUP, "scope": "Namespaced",
        "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind},
        "versions": [{
            "name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }},
        }],
    })
}

async fn ask(client: &Client, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let bytes = match body {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(Body::from(bytes))
        .unwrap();
    let (parts, body) = client.send(request).await.unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = || Value::String(String::from_utf8_lossy(&bytes).trim().to_owned());
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| text());
    (parts.status.as_u16(), body)
}

/// Where objects of a kind are.
async fn folder(client: &Client, api_version: &str, kind: &str) -> Result<String, Outcome> {
    let base = if api_version.contains('/') {
        format!("/apis/{api_version}")
    } else {
        format!("/api/{api_version}")
    };
    let (code, list) = ask(client, "GET", &base, &Value::Null).await;
    let found = list["resources"].as_array().into_iter().flatten();
    let found = found
        .filter(|resource| !resource["name"].as_str().unwrap_or_default().contains('/'))
        .find(|resource| resource["kind"] == kind);
    let Some(resource) = found else {
        return Err(Outcome::Refused {
            step: "serve",
            code,
            message: "this version is not served".to_owned(),
        });
    };
    let plural = resource["name"].as_str().unwrap();
    Ok(if resource["namespaced"] == true {
        format!("{base}/namespaces/{NAMESPACE}/{plural}")
    } else {
        format!("{base}/{plural}")
    })
}

async fn put_through(client: &Client, row: &Value) -> Outcome {
    match steps(client, row).await {
        Ok(object) => Outcome::Kept(object),
        Err(refused) => refused,
    }
}

async fn steps(client: &Client, row: &Value) -> Result<Value, Outcome> {
    let object = completed(row);
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    let folder = folder(client, api_version, kind).await?;
    let path = format!("{folder}/{}", object["metadata"]["name"].as_str().unwrap());
    let send = async |step, method, path: &str, body: &Value| {
        let (code, answer) = ask(client, method, path, body).await;
        if code < 300 {
            return Ok(answer);
        }
        let message = answer["message"].as_str().map(str::to_owned);
        Err(Outcome::Refused {
            step,
            code,
            message: message.unwrap_or_else(|| answer.to_string()),
        })
    };
    let generation = row["object"]["metadata"]["generation"]
        .as_u64()
        .unwrap_or(1);
    let first = in_round(&object, generation.saturating_sub(1));
    send("create", "POST", &folder, &first).await?;
    for left in (0..generation.saturating_sub(1)).rev() {
        let (_, live) = ask(client, "GET", &path, &Value::Null).await;
        let mut next = in_round(&object, left);
        next["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
        send("change", "PUT", &path, &next).await?;
    }
    if let Some(status) = row["object"].get("status") {
        let (_, mut live) = ask(client, "GET", &path, &Value::Null).await;
        live["status"] = status.clone();
        let put = send("set the status", "PUT", &format!("{path}/status"), &live).await;
        // A kind without one kept what it keeps at its creation.
        if let Err(refused) = put
            && !matches!(refused, Outcome::Refused { code: 404, .. })
        {
            return Err(refused);
        }
    }
    if is_going(row) {
        send("delete", "DELETE", &path, &json!({})).await?;
    }
    send("read", "GET", &path, &Value::Null).await
}

fn is_going(row: &Value) -> bool {
    let time = row["object"]["metadata"]["deletionTimestamp"].as_str();
    time.is_some_and(|time| time.parse::<Timestamp>().is_ok())
}

/// The object of a row, under a name of its own, with what its kind cannot be created without.
fn completed(row: &Value) -> Value {
    let mut object = row["object"].clone();
    let name = row["id"].as_str().unwrap().replace('/', "-").to_lowercase();
    object["metadata"]["name"] = name.clone().into();
    if is_going(row) {
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.remove("deletionTimestamp");
        object["metadata"]["finalizers"] = json!([format!("{GROUP}/stays")]);
    }
    let containers = json!([{"name": "c", "image": "example.test/c:1"}]);
    let template = json!({
        "metadata": {"labels": {"app": name}}, "spec": {"containers": containers},
    });
    let mut workload = json!({"selector": {"matchLabels": {"app": name}}, "template": template});
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let needed = match kind.as_str() {
        _ if object["apiVersion"] == format!("{GROUP}/v1") => Value::Null,
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" => workload,
        "ReplicationController" => {
            workload["selector"] = json!({"app": name});
            workload
        }
        "Job" => {
            json!({"template": {"spec": {"restartPolicy": "Never", "containers": containers}}})
        }
        "CronJob" => json!({"schedule": "1 * * * *", "jobTemplate": {"spec": {
            "template": {"spec": {"restartPolicy": "Never", "containers": containers}},
        }}}),
        "Pod" => json!({"containers": containers}),
        "Service" if object["spec"]["type"] == "ExternalName" => Value::Null,
        "Service" => json!({"ports": [{"port": 80}]}),
        "PersistentVolumeClaim" => json!({
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        }),
        "PersistentVolume" => json!({
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/nowhere"},
        }),
        "PodDisruptionBudget" => json!({"maxUnavailable": 1}),
        "Ingress" => json!({"defaultBackend": {"service": {"name": "x", "port": {"number": 80}}}}),
        "HorizontalPodAutoscaler" => json!({
            "maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"},
        }),
        "CustomResourceDefinition" => {
            let plural = name.replace('-', "x");
            object["metadata"]["name"] = format!("{plural}.{GROUP}").into();
            spec_of_definition(&plural, &format!("K{plural}"))
        }
        "APIService" => {
            object["metadata"]["name"] = format!("v1.{name}.{GROUP}").into();
            json!({
                "group": format!("{name}.{GROUP}"), "version": "v1", "groupPriorityMinimum": 1,
                "versionPriority": 1, "insecureSkipTLSVerify": true,
                "service": {"name": "x", "namespace": NAMESPACE},
            })
        }
        _ => Value::Null,
    };
    if kind == "Event" {
        object["involvedObject"] = json!({"namespace": NAMESPACE});
    }
    for (field, value) in needed.as_object().into_iter().flatten() {
        if object["spec"].is_null() {
            object["spec"] = json!({});
        }
        if let Some(spec) = object["spec"].as_object_mut() {
            spec.entry(field).or_insert_with(|| value.clone());
        }
    }
    object
}

/// The object with a spec that only this round has; the last one is 0.
fn in_round(object: &Value, round: u64) -> Value {
    let mut object = object.clone();
    if round == 0 {
        return object;
    }
    let custom = object["apiVersion"] == format!("{GROUP}/v1");
    let (pointer, value) = match object["kind"].as_str().unwrap_or_default() {
        _ if custom => ("", json!({"round": round})),
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" | "ReplicationController" => (
            "/template/metadata",
            json!({"annotations": {"round": round.to_string()}}),
        ),
        "Job" => ("", json!({"parallelism": 10 + round})),
        "CronJob" => ("", json!({"startingDeadlineSeconds": 100 + round})),
        "PodDisruptionBudget" => ("", json!({"maxUnavailable": 10 + round})),
        "Ingress" => ("", json!({"ingressClassName": format!("round-{round}")})),
        "CustomResourceDefinition" => (
            "/versions/0/schema/openAPIV3Schema",
            json!({"description": format!("round {round}")}),
        ),
        _ => return object,
    };
    if object["spec"].is_null() {
        object["spec"] = json!({});
    }
    let place = object["spec"].pointer_mut(pointer);
    if let Some(place) = place.and_then(Value::as_object_mut) {
        for (field, value) in value.as_object().into_iter().flatten() {
            place.insert(field.clone(), value.clone());
        }
    }
    object
}

/// The reading of an object as old as its row says.
fn read(row: &Value, object: &Value) -> Result<Readiness, AssessError> {
    let created = object["metadata"]["creationTimestamp"].as_str();
    let created = created.and_then(|time| time.parse().ok());
    let created: Timestamp = created.unwrap_or_default();
    // Rows without an age are older than anything that a rule asks for.
    let age = row["creation_age_seconds"].as_i64().unwrap_or(3600);
    assess(object, created + SignedDuration::from_secs(age))
}

/// Takes out what differs between any two servers.
fn mask(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        let own = [
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "managedFields",
        ];
        metadata.retain(|field, _| !own.contains(&field.as_str()));
    }
    *object = masked(object, "");
}

fn masked(value: &Value, field: &str) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(field, value)| {
                let uid = field.ends_with("controller-uid");
                let value = if uid {
                    json!("<uid>")
                } else {
                    masked(value, field)
                };
                (field.clone(), value)
            });
            Value::Object(fields.collect::<BTreeMap<_, _>>().into_iter().collect())
        }
        Value::Array(items) => items.iter().map(|item| masked(item, field)).collect(),
        Value::Number(_) if field == "nodePort" => "<port>".into(),
        Value::String(text) => match field {
            "clusterIP" | "clusterIPs" if text != "None" => "<address>".into(),
            "deletionTimestamp" | "lastPhaseTransitionTime" => "<time>".into(),
            "name" | "mountPath" if text.starts_with("kube-api-access-") => "<token>".into(),
            _ => value.clone(),
        },
        other => other.clone(),
    }
}
