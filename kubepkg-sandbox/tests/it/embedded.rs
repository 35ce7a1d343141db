//! The embedded API server as its clients meet it.

use std::path::Path;
use std::process::Command;

use futures::StreamExt as _;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch,
    PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kubepkg_sandbox::{
    ApiOptions, ApiServer, Assets, EmbeddedPlane, FATE_ANNOTATION, Played, READY_AFTER_ANNOTATION,
};
use serde_json::{Value, json};

fn standing() -> ApiServer {
    ApiServer::new(&ApiOptions::default().start(Timestamp::UNIX_EPOCH).seed(1))
}

fn deployment(annotations: &Value) -> Deployment {
    serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2, "progressDeadlineSeconds": 60,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}, "annotations": annotations},
                "spec": {"containers": [{"name": "c", "image": "example.test/c:1"}]},
            },
        },
    }))
    .unwrap()
}

async fn available(api: &Api<Deployment>) -> i32 {
    let status = api.get("web").await.unwrap().status.unwrap_or_default();
    status.available_replicas.unwrap_or(0)
}

/// Gadgets are ready ten seconds after they were made.
fn gadget(object: &Value, now: Timestamp) -> Played {
    assert_eq!(object["kind"], "Gadget");
    let made: Timestamp = object["metadata"]["creationTimestamp"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let left = SignedDuration::from_secs(10) - now.duration_since(made);
    Played {
        status: Some(json!({"ready": !left.is_positive()})),
        look_again: left.is_positive().then_some(left),
    }
}

#[tokio::test]
async fn a_closure_is_the_controller_of_a_kind_of_somebody_else() {
    let server = standing();
    let client = server.client();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let schema = json!({"type": "object", "properties": {
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    }});
    let crd = json!({
        "metadata": {"name": "gadgets.example.org"},
        "spec": {
            "group": "example.org", "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    });
    let crd = serde_json::from_value(crd).unwrap();
    crds.create(&PostParams::default(), &crd).await.unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.org", "v1", "Gadget"));
    let api: Api<DynamicObject> = Api::default_namespaced_with(client, &resource);
    let make = async |name: &str| {
        let gadget = DynamicObject::new(name, &resource);
        api.create(&PostParams::default(), &gadget).await.unwrap();
    };
    let is_ready = async |name: &str| api.get(name).await.unwrap().data["status"]["ready"].clone();
    make("before").await;
    assert_eq!(is_ready("before").await, json!(null));
    server.play("gadgets.example.org", gadget);
    make("after").await;
    server.advance(SignedDuration::from_secs(9));
    assert_eq!(
        (is_ready("before").await, is_ready("after").await),
        (json!(false), json!(false))
    );
    server.advance(SignedDuration::from_secs(1));
    assert_eq!(
        (is_ready("before").await, is_ready("after").await),
        (json!(true), json!(true))
    );
}

#[tokio::test]
async fn config_maps_and_secrets_hold_a_mebibyte_at_most() {
    const MOST: usize = 1024 * 1024;
    let client = standing().client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let secrets: Api<Secret> = Api::default_namespaced(client);
    let make = async |name: &str, bytes: usize| {
        let metadata = json!({"name": name});
        let map = json!({"metadata": metadata, "data": {"a": "x".repeat(bytes)}});
        let map = serde_json::from_value(map).unwrap();
        let map = maps.create(&PostParams::default(), &map).await;
        let secret = json!({"metadata": metadata, "stringData": {"a": "x".repeat(bytes)}});
        let secret = serde_json::from_value(secret).unwrap();
        let secret = secrets.create(&PostParams::default(), &secret).await;
        let words = |refused: kube::Error| match refused {
            kube::Error::Api(status) => status.message,
            other => other.to_string(),
        };
        (
            map.map(drop).map_err(words),
            secret.map(drop).map_err(words),
        )
    };
    assert_eq!(make("fits", MOST).await, (Ok(()), Ok(())));
    let refused = |what: &str| {
        Err(format!(
            "{what}: Too long: may not be more than 1048576 bytes"
        ))
    };
    assert_eq!(
        make("big", MOST + 1).await,
        (
            refused("ConfigMap \"big\" is invalid: []"),
            refused("Secret \"big\" is invalid: data")
        )
    );
}

/// A controller that is refused whatever it writes gives up for the moment, and is done when it may write again.
#[tokio::test]
async fn controllers_that_a_policy_refuses_go_on_when_it_is_gone() {
    let server = standing();
    let client = server.client();
    let every = json!({"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]});
    let spec = json!({
        "matchConstraints": {"resourceRules": [every]},
        "validations": [{"expression": "request.userInfo.username == 'admin'", "message": "no controllers"}],
    });
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(client.clone());
    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(client.clone());
    let made = json!({"metadata": {"name": "shut"}, "spec": spec});
    let made = serde_json::from_value(made).unwrap();
    policies
        .create(&PostParams::default(), &made)
        .await
        .unwrap();
    let bound = json!({
        "metadata": {"name": "shut"}, "spec": {"policyName": "shut", "validationActions": ["Deny"]},
    });
    let bound = serde_json::from_value(bound).unwrap();
    bindings
        .create(&PostParams::default(), &bound)
        .await
        .unwrap();
    let api: Api<Deployment> = Api::default_namespaced(client);
    let web = deployment(&json!({}));
    api.create(&PostParams::default(), &web).await.unwrap();
    for _ in 0..20 {
        server.advance(SignedDuration::from_secs(30));
        assert!(
            api.get("web")
                .await
                .unwrap()
                .status
                .is_none_or(|it| it == <_>::default())
        );
    }
    bindings
        .delete("shut", &DeleteParams::default())
        .await
        .unwrap();
    server.advance(SignedDuration::from_mins(20));
    assert_eq!(available(&api).await, 2);
}

#[tokio::test]
async fn workloads_move_with_the_time_that_the_test_gives() {
    let server = standing();
    let api: Api<Deployment> = Api::default_namespaced(server.client());
    let slow = deployment(&json!({READY_AFTER_ANNOTATION: "90s"}));
    api.create(&PostParams::default(), &slow).await.unwrap();
    assert_eq!(available(&api).await, 0);
    server.advance(SignedDuration::from_secs(61));
    let status = api.get("web").await.unwrap().status.unwrap();
    let progress = status.conditions.into_iter().flatten();
    let mut progress = progress.filter(|condition| condition.type_ == "Progressing");
    let reason = progress.next().unwrap().reason;
    assert_eq!(reason.as_deref(), Some("ProgressDeadlineExceeded"));
    server.advance(SignedDuration::from_secs(30));
    assert_eq!(available(&api).await, 2);
}

#[tokio::test]
async fn a_broken_pod_keeps_a_deployment_from_being_available() {
    let server = standing();
    let api: Api<Deployment> = Api::default_namespaced(server.client());
    let broken = deployment(&json!({FATE_ANNOTATION: "pull-error"}));
    api.create(&PostParams::default(), &broken).await.unwrap();
    server.advance(SignedDuration::from_secs(600));
    assert_eq!(available(&api).await, 0);
}

#[tokio::test]
async fn one_seed_and_the_same_requests_give_the_same_bytes() {
    let run = || async {
        let server = standing();
        let api: Api<Deployment> = Api::default_namespaced(server.client());
        let made = deployment(&json!({}));
        api.create(&PostParams::default(), &made).await.unwrap();
        server.advance(SignedDuration::from_secs(5));
        let request = http::Request::get("/api/v1/pods").body(Vec::new()).unwrap();
        server.client().request_text(request).await.unwrap()
    };
    let (first, second) = (run().await, run().await);
    assert!(first.contains("\"Running\""), "{first}");
    assert_eq!(first, second);
}

#[tokio::test]
async fn the_socket_opens_to_its_token_alone() {
    let server = standing();
    let listener = server.listen().unwrap();
    let kubeconfig: Kubeconfig = serde_json::from_str(&listener.kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    let list = ListParams::default();
    let maps = |config: Config| -> Api<ConfigMap> { Api::all(Client::try_from(config).unwrap()) };
    assert!(maps(config.clone()).list(&list).await.is_ok());
    let mut stranger = config;
    stranger.auth_info = kube::config::AuthInfo::default();
    let refused = maps(stranger).list(&list).await.unwrap_err();
    assert!(matches!(refused, kube::Error::Api(status) if status.code == 401));
}

/// Runs a program against the plane and gives what it says.
fn run(plane: &EmbeddedPlane, program: &str, arguments: &[&str]) -> String {
    let assets = Assets::find().unwrap();
    let output = Command::new(assets.program(program).unwrap())
        .args(arguments)
        .env("KUBECONFIG", plane.folder().join("kubeconfig"))
        .env("HOME", plane.folder())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {text}{errors}"
    );
    text
}

fn write_chart(folder: &Path) {
    std::fs::create_dir_all(folder.join("templates")).unwrap();
    std::fs::write(
        folder.join("Chart.yaml"),
        "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    )
    .unwrap();
    std::fs::write(folder.join("values.yaml"), "replicas: 1\n").unwrap();
    std::fs::write(
        folder.join("templates/web.yaml"),
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  \
         replicas: {{ .Values.replicas }}\n  selector:\n    matchLabels: {app: web}\n  template:\n    \
         metadata:\n      labels: {app: web}\n    spec:\n      containers:\n      - name: c\n        \
         image: example.test/c:1\n",
    )
    .unwrap();
}

#[tokio::test]
async fn helm_installs_upgrades_rolls_back_and_uninstalls() {
    let plane = EmbeddedPlane::start(None).unwrap();
    let chart = plane.folder().join("chart");
    write_chart(&chart);
    let chart = chart.to_str().unwrap();
    let wait = ["--wait", "--timeout", "30s"];
    run(
        &plane,
        "helm",
        &[&["install", "web", chart], &wait[..]].concat(),
    );
    let upgrade = ["upgrade", "web", chart, "--set", "replicas=3"];
    run(&plane, "helm", &[&upgrade[..], &wait[..]].concat());
    let jsonpath = [
        "get",
        "deploy",
        "web",
        "-o",
        "jsonpath={.status.readyReplicas}",
    ];
    assert_eq!(run(&plane, "kubectl", &jsonpath), "3");
    run(
        &plane,
        "helm",
        &[&["rollback", "web", "1"], &wait[..]].concat(),
    );
    assert_eq!(run(&plane, "kubectl", &jsonpath), "1");
    let listed = run(&plane, "helm", &["list", "-o", "json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(
        (&listed[0]["revision"], &listed[0]["status"]),
        (&json!("3"), &json!("deployed"))
    );
    run(&plane, "helm", &[&["uninstall", "web"], &wait[..]].concat());
    assert_eq!(
        run(&plane, "kubectl", &["get", "deploy,pods", "-o", "name"]),
        ""
    );
}

#[tokio::test]
async fn kubectl_creates_applies_scales_waits_and_deletes() {
    let plane = EmbeddedPlane::start(None).unwrap();
    let kubectl = |arguments: &[&str]| run(&plane, "kubectl", arguments);
    kubectl(&["create", "namespace", "shop"]);
    kubectl(&[
        "create",
        "deployment",
        "web",
        "-n",
        "shop",
        "--image=example.test/c:1",
    ]);
    kubectl(&["scale", "deployment", "web", "-n", "shop", "--replicas=2"]);
    let wait = [
        "wait",
        "deployment/web",
        "-n",
        "shop",
        "--for=condition=Available",
        "--timeout=30s",
    ];
    assert_eq!(kubectl(&wait), "deployment.apps/web condition met\n");
    let table = kubectl(&["get", "deployment", "-n", "shop"]);
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(columns, ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]);
    let cells: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(cells[..4], ["web", "2/2", "2", "2"]);
    let file = plane.folder().join("map.yaml");
    std::fs::write(
        &file,
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\ndata:\n  a: \"1\"\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(kubectl(&["apply", "-f", file]), "configmap/m created\n");
    assert_eq!(kubectl(&["apply", "-f", file]), "configmap/m unchanged\n");
    let apply = [
        "apply",
        "--server-side",
        "--field-manager=me",
        "--force-conflicts",
        "-f",
        file,
    ];
    assert_eq!(kubectl(&apply), "configmap/m serverside-applied\n");
    kubectl(&["patch", "configmap", "m", "-p", "{\"data\":{\"b\":\"2\"}}"]);
    assert_eq!(
        kubectl(&["get", "configmap", "m", "-o", "jsonpath={.data}"]),
        "{\"a\":\"1\",\"b\":\"2\"}"
    );
    assert!(kubectl(&["describe", "deployment", "web", "-n", "shop"]).contains("2 available"));
    kubectl(&["delete", "namespace", "shop"]);
    assert_eq!(kubectl(&["get", "pods", "-A", "-o", "name"]), "");
}

#[tokio::test]
async fn every_watcher_sees_every_object_once() {
    const OBJECTS: usize = 500;
    let server = ApiServer::new(&ApiOptions::default());
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    let mut readers = Vec::new();
    for _ in 0..10 {
        let watch = WatchParams::default().timeout(290);
        readers.push(api.watch(&watch, "0").await.unwrap().boxed());
    }
    for number in 0..OBJECTS {
        let map: ConfigMap =
            serde_json::from_value(json!({"metadata": {"name": format!("m{number}")}})).unwrap();
        api.create(&PostParams::default(), &map).await.unwrap();
    }
    let listed = api.list(&ListParams::default()).await.unwrap();
    let mut listed: Vec<_> = listed
        .items
        .into_iter()
        .map(|map| map.metadata.name)
        .collect();
    // The one map that every namespace has, and these.
    assert_eq!(listed.len(), OBJECTS + 1);
    listed.sort();
    for reader in &mut readers {
        let mut seen = Vec::new();
        while seen.len() <= OBJECTS {
            match reader.next().await.unwrap().unwrap() {
                WatchEvent::Added(map) => seen.push(map.metadata.name),
                other => panic!("{other:?}"),
            }
        }
        seen.sort();
        assert_eq!(seen, listed);
    }
}

fn cron_job(policy: &str, annotations: &Value) -> CronJob {
    serde_json::from_value(json!({
        "metadata": {"name": "c"},
        "spec": {
            "schedule": "*/5 * * * *", "concurrencyPolicy": policy, "successfulJobsHistoryLimit": 1,
            "jobTemplate": {"metadata": {"labels": {"of": "c"}}, "spec": {"template": {
                "metadata": {"annotations": annotations},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
            }}},
        },
    }))
    .unwrap()
}

async fn names(jobs: &Api<Job>) -> Vec<String> {
    let jobs = jobs.list(&ListParams::default()).await.unwrap();
    jobs.into_iter()
        .filter_map(|job| job.metadata.name)
        .collect()
}

/// The names are minutes since 1970, when the clock of the server starts.
#[tokio::test]
async fn a_cron_job_makes_a_job_at_each_of_its_times_and_keeps_as_many_as_it_says() {
    let server = standing();
    let crons: Api<CronJob> = Api::namespaced(server.client(), "default");
    let jobs: Api<Job> = Api::namespaced(server.client(), "default");
    let minutes = |count| server.advance(SignedDuration::from_mins(count));
    let made = cron_job("Allow", &json!({}));
    crons.create(&PostParams::default(), &made).await.unwrap();
    minutes(4);
    assert!(names(&jobs).await.is_empty());
    minutes(1);
    assert_eq!(names(&jobs).await, ["c-5"]);
    minutes(5);
    assert_eq!(names(&jobs).await, ["c-10"]);
    let status = crons.get("c").await.unwrap().status.unwrap();
    let time = serde_json::to_value(status.last_schedule_time).unwrap();
    assert_eq!(time, json!("1970-01-01T00:10:00Z"));
    let job = serde_json::to_value(jobs.get("c-10").await.unwrap()).unwrap();
    assert_eq!(job["metadata"]["labels"], json!({"of": "c"}));
    let when = &job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"];
    assert_eq!(*when, json!("1970-01-01T00:10:00Z"));
    let stop = Patch::Merge(json!({"spec": {"suspend": true}}));
    let patch = PatchParams::default();
    crons.patch("c", &patch, &stop).await.unwrap();
    minutes(20);
    assert_eq!(names(&jobs).await, ["c-10"]);
}

#[tokio::test]
async fn a_cron_job_waits_for_a_job_under_way_or_takes_its_place_as_it_says() {
    for (policy, wanted) in [
        ("Allow", vec!["c-10", "c-5"]),
        ("Forbid", vec!["c-5"]),
        ("Replace", vec!["c-10"]),
    ] {
        let server = standing();
        let crons: Api<CronJob> = Api::namespaced(server.client(), "default");
        let jobs: Api<Job> = Api::namespaced(server.client(), "default");
        let made = cron_job(policy, &json!({FATE_ANNOTATION: "never"}));
        crons.create(&PostParams::default(), &made).await.unwrap();
        for _ in 0..2 {
            server.advance(SignedDuration::from_mins(5));
            names(&jobs).await;
        }
        assert_eq!(names(&jobs).await, wanted, "{policy}");
        let status = crons.get("c").await.unwrap().status.unwrap();
        assert_eq!(
            status.active.unwrap_or_default().len(),
            wanted.len(),
            "{policy}"
        );
    }
}

/// Not in the conformance suite: the classes would be there for every other test of the real plane.
#[tokio::test]
async fn who_names_no_class_gets_the_newest_of_those_that_are_the_default() {
    let server = standing();
    let client = server.client();
    let post = async |path: &str, object: Value| -> Value {
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(object.to_string().into_bytes())
            .unwrap();
        client.request(request).await.unwrap()
    };
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let claim = |name: &str, class: Value| {
        json!({"metadata": {"name": name}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": class,
        }})
    };
    let ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
    let ingress = |name: &str, annotations: Value| {
        json!({"metadata": {"name": name, "annotations": annotations}, "spec": {
            "defaultBackend": {"service": {"name": "a", "port": {"number": 1}}},
        }})
    };
    let made = post(claims, claim("before", Value::Null)).await;
    assert_eq!(made["spec"]["storageClassName"], Value::Null);
    for (name, default) in [
        ("old", "true"),
        ("b", "true"),
        ("a", "true"),
        ("c", "false"),
    ] {
        let key = "storageclass.kubernetes.io/is-default-class";
        post(
            "/apis/storage.k8s.io/v1/storageclasses",
            json!({"metadata": {"name": name, "annotations": {key: default}}, "provisioner": "example.test/p"}),
        )
        .await;
        let key = "ingressclass.kubernetes.io/is-default-class";
        post(
            "/apis/networking.k8s.io/v1/ingressclasses",
            json!({
                "metadata": {"name": name, "annotations": {key: default}},
                "spec": {"controller": "example.test/c"},
            }),
        )
        .await;
        if name == "old" {
            server.advance(SignedDuration::from_secs(10));
        }
    }
    let made = post(claims, claim("none", Value::Null)).await;
    assert_eq!(made["spec"]["storageClassName"], "a");
    let made = post(claims, claim("empty", json!(""))).await;
    assert_eq!(made["spec"]["storageClassName"], "");
    let made = post(ingresses, ingress("none", json!({}))).await;
    assert_eq!(made["spec"]["ingressClassName"], "a");
    let named = json!({"kubernetes.io/ingress.class": "other"});
    let made = post(ingresses, ingress("annotated", named)).await;
    assert_eq!(made["spec"]["ingressClassName"], Value::Null);
}
