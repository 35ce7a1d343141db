//! Patches and server-side apply against what kube-apiserver 1.36.3 answered: steps on one object that starts absent.

use kube::Client;
use kubepkg_sandbox::{ApiOptions, ApiServer};
use kubepkg_vectors::Vectors;
use regex::Regex;
use serde_json::{Value, json};

use crate::recorded::{self, Answer, ask};

const EXCEPTIONS: &str = include_str!("../vectors/exceptions.txt");
const APPLY: Vectors<'_> = Vectors {
    name: "ssa-apiserver",
    packed: include_bytes!("../vectors/ssa-apiserver.jsonl.gz"),
    exceptions: EXCEPTIONS,
};
const PATCH: Vectors<'_> = Vectors {
    name: "patch-apiserver",
    packed: include_bytes!("../vectors/patch-apiserver.jsonl.gz"),
    exceptions: EXCEPTIONS,
};
/// The custom resource of the rows, and its definition.
const WIDGET: &str = include_str!("../../../kubepkg-patch/tests/vectors/widget-crd.json");
const NAMESPACE: &str = "vectors";

#[test]
fn server_side_apply_answers_as_the_api_server() {
    run(&APPLY);
}

#[test]
fn patches_answer_as_the_api_server() {
    run(&PATCH);
}

fn run(vectors: &Vectors<'_>) {
    let runtime = recorded::runtime();
    let _inside = runtime.enter();
    vectors.run(|row| runtime.block_on(all(row)));
}

/// One row on a server of its own.
async fn all(row: &Value) -> Result<(), String> {
    let server = ApiServer::new(&ApiOptions::default().by_hand());
    let client = server.client();
    let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    ask(
        &client,
        "POST",
        "/api/v1/namespaces",
        "application/json",
        made.to_string(),
    )
    .await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    ask(&client, "POST", path, "application/json", WIDGET.to_owned()).await;
    server.settle();
    let folder = folder(row["kind"].as_str().unwrap());
    for (index, step) in row["steps"].as_array().unwrap().iter().enumerate() {
        let answer = request(&client, &folder, step).await;
        compare(step, answer).map_err(|why| format!("step {index} ({}): {why}", step["op"]))?;
    }
    Ok(())
}

/// The path of the collection of a kind.
fn folder(kind: &str) -> String {
    let group = match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => "apis/apps/v1",
        "Ingress" | "NetworkPolicy" => "apis/networking.k8s.io/v1",
        "Job" | "CronJob" => "apis/batch/v1",
        "Role" | "RoleBinding" | "ClusterRole" | "ClusterRoleBinding" => {
            "apis/rbac.authorization.k8s.io/v1"
        }
        "Widget" => "apis/example.test/v1",
        _ => "api/v1",
    };
    let mut plural = kind.to_lowercase();
    plural = match plural.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if plural.ends_with('s') => format!("{plural}es"),
        None => format!("{plural}s"),
    };
    match kind {
        "Namespace" | "ClusterRole" | "ClusterRoleBinding" | "PersistentVolume" => {
            format!("/{group}/{plural}")
        }
        _ => format!("/{group}/namespaces/{NAMESPACE}/{plural}"),
    }
}

async fn request(client: &Client, folder: &str, step: &Value) -> Answer {
    let op = step["op"].as_str().unwrap();
    let body = match &step["body"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let (method, media) = match op {
        "apply" | "force" => ("PATCH", "application/apply-patch+yaml"),
        "merge" => ("PATCH", "application/merge-patch+json"),
        "json" => ("PATCH", "application/json-patch+json"),
        "strategic" => ("PATCH", "application/strategic-merge-patch+json"),
        "create" => ("POST", "application/json"),
        "update" => ("PUT", "application/json"),
        "delete" => ("DELETE", "application/json"),
        _ => ("GET", "application/json"),
    };
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    let manager = step["manager"].as_str().unwrap_or_default();
    if !manager.is_empty() {
        // As it was sent: some are encoded.
        let pairs = format!("fieldManager={manager}");
        query.extend_pairs(url::form_urlencoded::parse(pairs.as_bytes()));
    }
    if op == "force" {
        query.append_pair("force", "true");
    }
    let extra = step["query"].as_object().cloned().unwrap_or_default();
    for (key, value) in extra {
        query.append_pair(&key, value.as_str().unwrap_or_default());
    }
    let name = if op == "create" { "" } else { "/x" };
    let part = step["subresource"].as_str().map(|part| format!("/{part}"));
    let path = format!(
        "{folder}{name}{}?{}",
        part.unwrap_or_default(),
        query.finish()
    );
    ask(client, method, &path, media, body).await
}

fn compare(step: &Value, mut answer: Answer) -> Result<(), String> {
    if answer.code >= 300 {
        mask_text(&mut answer.body["message"]);
        let causes = answer.body.pointer_mut("/details/causes");
        for cause in causes.and_then(Value::as_array_mut).into_iter().flatten() {
            mask_text(&mut cause["message"]);
        }
    }
    answer.compare(step)?;
    if answer.code >= 300 {
        return Ok(());
    }
    let mut found = answer.body.clone();
    let managers = found["metadata"]
        .as_object_mut()
        .and_then(|metadata| metadata.remove("managedFields"))
        .unwrap_or_default();
    masked(&mut found, "");
    let mut wanted = step["result"].clone();
    masked(&mut wanted, "");
    if step["result"].is_object() && wanted != found {
        return Err(format!("want {wanted}\n  got {found}"));
    }
    let sorted = |managers: &Value| {
        let mut all = managers.as_array().cloned().unwrap_or_default();
        for entry in &mut all {
            entry.as_object_mut().map(|entry| entry.remove("time"));
        }
        all.sort_by_key(|entry| {
            ["operation", "manager", "subresource", "apiVersion"].map(|key| entry[key].to_string())
        });
        all
    };
    let (wanted, found) = (sorted(&step["managers"]), sorted(&managers));
    if wanted != found {
        return Err(format!(
            "managers: want {}\n  got {}",
            json!(wanted),
            json!(found)
        ));
    }
    Ok(())
}

fn mask_text(value: &mut Value) {
    if let Value::String(text) = value {
        *text = without_own(text);
    }
}

/// Without UIDs, and without the versions and times of objects that a message shows.
fn without_own(text: &str) -> String {
    let masks = [
        ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uid>"),
        (r#"(resourceVersion\\*":\\*")\d+"#, "$1<rv>"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<time>"),
    ];
    masks.iter().fold(text.to_owned(), |text, (mask, with)| {
        let mask = Regex::new(mask).unwrap();
        mask.replace_all(&text, *with).into_owned()
    })
}

/// As the recorded answers are masked: what differs between two runs.
fn masked(value: &mut Value, key: &str) {
    match value {
        Value::Object(fields) => {
            if key == "metadata" {
                let dropped =
                    |key: &str| matches!(key, "uid" | "resourceVersion" | "creationTimestamp");
                fields.retain(|key, _| !dropped(key));
            }
            for (key, value) in fields.iter_mut() {
                masked(value, key);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| masked(item, key)),
        Value::String(text) => {
            let mask = match key {
                "clusterIP" | "clusterIPs" if text != "None" => "<allocated>",
                "deletionTimestamp" => "<time>",
                "controller-uid" | "batch.kubernetes.io/controller-uid" => "<uid>",
                _ => return,
            };
            mask.clone_into(text);
        }
        Value::Number(_) if key == "nodePort" => *value = json!("<port>"),
        _ => {}
    }
}
