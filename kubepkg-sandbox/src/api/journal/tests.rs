//! What a folder gives back, and every way in which it can be damaged.

use std::collections::BTreeMap;

use http::Request as HttpRequest;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::api::{ApiOptions, ApiServer};

/// A server whose folder this is.
fn open(folder: &Path) -> Result<(ApiServer, Found), StateError> {
    let start = "2026-01-02T03:04:05Z".parse().unwrap();
    ApiServer::open(&ApiOptions::default().start(start), folder)
}

fn opened(folder: &Path, expected: &Found) -> ApiServer {
    let (server, found) = open(folder).unwrap();
    assert_eq!(found, *expected);
    server
}

fn maps(server: &ApiServer) -> Api<ConfigMap> {
    Api::default_namespaced(server.client())
}

async fn create(server: &ApiServer, name: &str, text: &str) -> ConfigMap {
    let map = json!({"metadata": {"name": name}, "data": {"text": text}});
    let map = serde_json::from_value(map).unwrap();
    let made = maps(server).create(&PostParams::default(), &map).await;
    made.unwrap()
}

async fn names(server: &ApiServer) -> Vec<String> {
    let all = maps(server).list(&ListParams::default()).await.unwrap();
    let names = all.iter().map(ConfigMap::name_any);
    names.filter(|name| name != "kube-root-ca.crt").collect()
}

async fn text(client: &Client, path: &str) -> String {
    let request = HttpRequest::get(path).body(Vec::new()).unwrap();
    client.request_text(request).await.unwrap()
}

/// The files of a folder, the lock excepted.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .filter(|(name, _)| name != LOCK)
        .collect()
}

/// A folder with a state and a log of three lines behind its head.
async fn filled() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let server = opened(folder.path(), &Found::Nothing);
    for name in ["a", "b", "c"] {
        create(&server, name, "x").await;
    }
    server.close().await;
    folder
}

/// Damages one file, and gives the error, which must leave everything as it is.
async fn refused(file: &str, damage: impl FnOnce(Vec<u8>) -> Vec<u8>) -> (StateError, TempDir) {
    let folder = filled().await;
    let path = folder.path().join(file);
    fs::write(&path, damage(fs::read(&path).unwrap())).unwrap();
    let before = files(folder.path());
    let error = open(folder.path()).unwrap_err();
    assert_eq!(files(folder.path()), before, "{error}");
    (error, folder)
}

fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines.map(<[u8]>::to_vec).collect()
}

/// The file name and the line of an error about damage.
fn place(error: &StateError) -> (String, usize) {
    match error {
        StateError::Damaged { path, line, .. } => {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, *line)
        }
        other => panic!("{other}"),
    }
}

/// Applies an object of a kind that is in the namespace `default`, or in none.
async fn apply(server: &ApiServer, object: Value) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap();
    let (group, version) = text("/apiVersion").split_once('/').unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text("/kind")));
    let api: Api<DynamicObject> = if object["metadata"]["namespace"].is_null() {
        Api::all_with(server.client(), &resource)
    } else {
        Api::default_namespaced_with(server.client(), &resource)
    };
    let patch = Patch::Apply(&object);
    let name = text("/metadata/name");
    let applied = api.patch(name, &PatchParams::apply("test"), &patch).await;
    applied.unwrap();
}

/// Applies the definition of a kind in these versions.
async fn define(server: &ApiServer, kind: &str, versions: &[Value]) {
    let plural = format!("{}s", kind.to_lowercase());
    apply(
        server,
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.example.org")},
            "spec": {
                "group": "example.org", "scope": "Namespaced",
                "names": {"plural": plural, "kind": kind}, "versions": versions,
            },
        }),
    )
    .await;
}

/// A definition, an object of its kind, and two pods of a Deployment.
async fn populate(server: &ApiServer) {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = json!({
        "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
    });
    define(server, "Thing", &[version]).await;
    apply(
        server,
        json!({
            "apiVersion": "example.org/v1", "kind": "Thing",
            "metadata": {"name": "one", "namespace": "default"}, "number": 0.1, "deep": [null, {}],
        }),
    )
    .await;
    let labels = json!({"app": "web"});
    apply(
        server,
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "replicas": 2, "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "c", "image": "example.test/c:1"}]},
                },
            },
        }),
    )
    .await;
}

/// The version of a list in JSON.
fn version(text: &str) -> u64 {
    let value: Value = serde_json::from_str(text).unwrap();
    let version = value["metadata"]["resourceVersion"].as_str().unwrap();
    version.parse().unwrap()
}

#[tokio::test]
async fn a_restart_changes_nothing_and_versions_and_uids_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let server = opened(folder.path(), &Found::Nothing);
    populate(&server).await;
    create(&server, "gone", "x").await;
    let delete = DeleteParams::default();
    maps(&server).delete("gone", &delete).await.unwrap();
    let mut before = Vec::new();
    for path in [
        "/api/v1/pods",
        "/api/v1/namespaces",
        "/api/v1/configmaps",
        "/apis/apps/v1/deployments",
        "/apis/apps/v1/replicasets",
        "/apis/example.org/v1/things",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    ] {
        before.push((path, text(&server.client(), path).await));
    }
    let last = create(&server, "last", "x").await;
    server.close().await;

    let server = opened(folder.path(), &Found::Whole);
    maps(&server).delete("last", &delete).await.unwrap();
    for (path, before) in before {
        let after = text(&server.client(), path).await;
        // The list's own version moved on by two; nothing else did.
        let numbers = [version(&before), version(&after)];
        assert_eq!(numbers[0] + 2, numbers[1], "{path}");
        let numbers = numbers.map(|number| format!("\"resourceVersion\":\"{number}\""));
        assert_eq!(
            after,
            before.replacen(&numbers[0], &numbers[1], 1),
            "{path}"
        );
    }
    let next = create(&server, "next", "x").await;
    assert_ne!(next.uid(), last.uid());
    let number = |map: &ConfigMap| map.resource_version().unwrap().parse::<u64>().unwrap();
    assert_eq!(number(&last) + 2, number(&next));
}

#[tokio::test]
async fn versions_before_the_start_are_gone() {
    let folder = filled().await;
    let server = opened(folder.path(), &Found::Whole);
    let path = "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=1";
    let request = HttpRequest::get(path).body(Vec::new()).unwrap();
    let events = server.client().request_text(request).await.unwrap();
    let event: Value = serde_json::from_str(events.trim()).unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
}

#[tokio::test]
async fn a_folder_has_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let server = opened(folder.path(), &Found::Nothing);
    assert!(matches!(open(folder.path()), Err(StateError::InUse { .. })));
    server.close().await;
    opened(folder.path(), &Found::Whole);
}

#[tokio::test]
async fn a_log_that_was_cut_in_its_last_line_loses_that_line_alone() {
    let folder = filled().await;
    let path = folder.path().join("log-1");
    let whole = fs::read(&path).unwrap();
    let last = lines(&whole).last().unwrap().len();
    for cut in [1, 2, last / 2, last - 1] {
        fs::write(&path, &whole[..whole.len() - cut]).unwrap();
        let log = fs::canonicalize(&path).unwrap();
        let server = opened(folder.path(), &Found::Torn { log });
        assert_eq!(names(&server).await, ["a", "b"], "{cut}");
        create(&server, "d", "x").await;
        server.close().await;
        let server = opened(folder.path(), &Found::Whole);
        assert_eq!(names(&server).await, ["a", "b", "d"], "{cut}");
        server.close().await;
        fs::write(&path, &whole).unwrap();
    }
}

#[tokio::test]
async fn an_edited_line_is_refused_wherever_it_stands() {
    let edit = |number: usize| {
        move |text: Vec<u8>| {
            let mut all = lines(&text);
            // JSON that says the same is another line, too.
            let end = all[number].len() - 1;
            all[number].insert(end, b' ');
            all.concat()
        }
    };
    let (error, _folder) = refused("state", edit(0)).await;
    assert_eq!(place(&error), ("state".to_owned(), 1));
    assert!(
        error
            .to_string()
            .ends_with("state is damaged at line 1: its digest does not fit")
    );
    assert_eq!(
        place(&refused("state", edit(2)).await.0),
        ("state".to_owned(), 3)
    );
    assert_eq!(
        place(&refused("log-1", edit(2)).await.0),
        ("log-1".to_owned(), 3)
    );
    // The last line, too: it is whole, so no crash left it so.
    assert_eq!(
        place(&refused("log-1", edit(3)).await.0),
        ("log-1".to_owned(), 4)
    );
}

#[tokio::test]
async fn a_state_that_is_cut_off_is_refused_wherever_it_ends() {
    let folder = filled().await;
    let path = folder.path().join("state");
    let whole = fs::read(&path).unwrap();
    let ends = lines(&whole);
    let cuts = [0, 1, 40, ends[0].len(), whole.len() / 2, whole.len() - 1];
    let at_last_line = whole.len() - ends.last().unwrap().len();
    for length in cuts.into_iter().chain([at_last_line]) {
        fs::write(&path, &whole[..length]).unwrap();
        let error = open(folder.path()).unwrap_err();
        assert_eq!(place(&error).0, "state", "{length}");
        assert_eq!(fs::read(&path).unwrap(), &whole[..length]);
    }
    fs::write(&path, &whole).unwrap();
    opened(folder.path(), &Found::Whole);
}

#[tokio::test]
async fn a_log_without_its_head_or_of_another_folder_is_refused() {
    let (error, _folder) = refused("log-1", |_| Vec::new()).await;
    assert_eq!(place(&error), ("log-1".to_owned(), 1));
    let (error, _folder) = refused("log-1", |text| text[..20].to_vec()).await;
    assert_eq!(place(&error), ("log-1".to_owned(), 1));
    let other = filled().await;
    let foreign = fs::read(other.path().join("log-1")).unwrap();
    let (error, _folder) = refused("log-1", |_| foreign).await;
    assert_eq!(place(&error), ("log-1".to_owned(), 1));
}

#[tokio::test]
async fn files_of_another_form_are_refused_by_its_number() {
    for file in ["state", "log-1"] {
        let newer = |text: Vec<u8>| {
            let text = String::from_utf8(text).unwrap();
            text.replacen("\"form\":2", "\"form\":3", 1).into_bytes()
        };
        let (error, _folder) = refused(file, newer).await;
        assert!(
            matches!(error, StateError::Form { found: 3, .. }),
            "{error}"
        );
    }
}

#[tokio::test]
async fn the_form_before_is_read() {
    let folder = filled().await;
    let mut chain = Chain::default();
    for file in ["state", "log-1"] {
        let path = folder.path().join(file);
        let mut text = Vec::new();
        for line in lines(&fs::read(&path).unwrap()) {
            let json = line.splitn(2, |byte| *byte == b' ').nth(1).unwrap();
            let mut value: Value = serde_json::from_slice(json).unwrap();
            if value["form"] == 2 {
                value["form"] = 1.into();
            }
            text.extend(chain.line(&value).unwrap());
        }
        fs::write(&path, text).unwrap();
    }
    let server = opened(folder.path(), &Found::Whole);
    assert_eq!(names(&server).await, ["a", "b", "c"]);
}

/// A definition of mugs, whose version with this name is the one that is stored.
async fn define_mugs(server: &ApiServer, stored: &str) {
    let version = |name: &str, field: &str| {
        let text = json!({"type": "string"});
        let mut spec = json!({"both": text, "default": {"type": "string", "default": name}});
        spec[field] = text;
        json!({
            "name": name, "served": true, "storage": name == stored,
            "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": spec}},
            }},
        })
    };
    define(server, "Mug", &[version("v1", "one"), version("v2", "two")]).await;
}

#[tokio::test]
async fn what_was_stored_in_another_version_is_shown_by_it_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let server = opened(folder.path(), &Found::Nothing);
    define_mugs(&server, "v1").await;
    for (version, name, field) in [("v1", "old", "one"), ("v1", "changed", "one")] {
        apply(
            &server,
            json!({
                "apiVersion": format!("example.org/{version}"), "kind": "Mug",
                "metadata": {"name": name, "namespace": "default"}, "spec": {field: "x"},
            }),
        )
        .await;
    }
    define_mugs(&server, "v2").await;
    apply(
        &server,
        json!({
            "apiVersion": "example.org/v2", "kind": "Mug",
            "metadata": {"name": "new", "namespace": "default"}, "spec": {"two": "x"},
        }),
    )
    .await;
    let specs = async |server: &ApiServer| {
        let mut specs = Vec::new();
        for version in ["v1", "v2"] {
            let path = format!("/apis/example.org/{version}/mugs");
            let list: Value = serde_json::from_str(&text(&server.client(), &path).await).unwrap();
            let items = list["items"].as_array().unwrap().iter();
            let items =
                items.map(|item| json!([item["metadata"]["name"], item["spec"]]).to_string());
            specs.push(items.collect::<Vec<_>>().join(" "));
        }
        specs
    };
    let expected = [
        r#"["changed",{"default":"v1","one":"x"}] ["new",{"default":"v2"}] ["old",{"default":"v1","one":"x"}]"#,
        r#"["changed",{"default":"v1"}] ["new",{"default":"v2","two":"x"}] ["old",{"default":"v1"}]"#,
    ];
    assert_eq!(specs(&server).await, expected);
    server.close().await;
    // From the log, then from a state.
    let server = opened(folder.path(), &Found::Whole);
    assert_eq!(specs(&server).await, expected);
    for number in 0..6 {
        create(&server, &format!("m{number}"), &"x".repeat(900_000)).await;
    }
    server.close().await;
    assert!(files(folder.path()).contains_key("log-2"));
    let server = opened(folder.path(), &Found::Whole);
    assert_eq!(specs(&server).await, expected);
    // What is written now is stored in the new version.
    let change = HttpRequest::patch("/apis/example.org/v2/namespaces/default/mugs/changed")
        .header("content-type", "application/merge-patch+json")
        .body(br#"{"spec":{"two":"y"}}"#.to_vec());
    let changed = server.client().request_text(change.unwrap()).await;
    changed.unwrap();
    server.close().await;
    let server = opened(folder.path(), &Found::Whole);
    assert!(specs(&server).await[1].starts_with(r#"["changed",{"default":"v1","two":"y"}]"#));
}

#[tokio::test]
async fn files_that_are_missing_are_named() {
    for (gone, named) in [("log-1", "log-1"), ("state", "state")] {
        let folder = filled().await;
        fs::remove_file(folder.path().join(gone)).unwrap();
        let before = files(folder.path());
        let error = open(folder.path()).unwrap_err();
        assert_eq!(files(folder.path()), before);
        let StateError::Missing { path } = error else {
            panic!("{error}")
        };
        assert!(path.ends_with(named), "{}", path.display());
    }
}

#[tokio::test]
async fn a_folder_with_other_things_in_it_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.tex"), "years of work").unwrap();
    let error = open(folder.path()).unwrap_err();
    assert!(matches!(&error, StateError::Foreign { found, .. } if found == "thesis.tex"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_first_start_that_was_killed_is_made_again() {
    let made = tempfile::tempdir().unwrap();
    drop(opened(made.path(), &Found::Nothing));
    let head = fs::read(made.path().join("log-1")).unwrap();
    for length in [0, 10, head.len()] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("lock"), "").unwrap();
        fs::write(folder.path().join("state.new"), "half of").unwrap();
        fs::write(folder.path().join("log-1"), &head[..length]).unwrap();
        opened(folder.path(), &Found::Nothing);
    }
}

#[tokio::test]
async fn a_renewal_that_was_killed_leaves_the_old_state_in_force() {
    let folder = filled().await;
    fs::write(folder.path().join("log-2"), "half of a head").unwrap();
    fs::write(folder.path().join("state.new"), "half of a state").unwrap();
    let server = opened(folder.path(), &Found::Whole);
    assert_eq!(names(&server).await, ["a", "b", "c"]);
    assert!(!folder.path().join("log-2").exists());
}

#[tokio::test]
async fn a_long_log_becomes_a_new_state() {
    let folder = tempfile::tempdir().unwrap();
    let server = opened(folder.path(), &Found::Nothing);
    for number in 0..6 {
        create(&server, &format!("m{number}"), &"x".repeat(900_000)).await;
    }
    let before = names(&server).await;
    server.close().await;
    let kept: Vec<String> = files(folder.path()).into_keys().collect();
    assert_eq!(kept, ["log-2", "state"]);
    let server = opened(folder.path(), &Found::Whole);
    assert_eq!(names(&server).await, before);
    create(&server, "last", "x").await;
    server.close().await;
    let server = opened(folder.path(), &Found::Whole);
    assert_eq!(names(&server).await.len(), 7);
}

#[test]
fn a_change_that_could_not_be_written_is_written_by_the_next_call() {
    let folder = tempfile::tempdir().unwrap();
    let now = Timestamp::UNIX_EPOCH;
    let new = || World::new(1, true, now);
    let empty = || World::empty(1, true);
    let (mut journal, mut world, _) = Journal::open(folder.path(), now, new, empty).unwrap();
    let object = json!({"metadata": {"name": "a", "namespace": "default", "uid": "u"}});
    world.store.put(&"configmaps".into(), object);
    // A file that is open for reading alone refuses to be written.
    let broken = File::open(folder.path().join("log-1")).unwrap();
    let log = std::mem::replace(&mut journal.log, broken);
    assert!(journal.keep(&world).is_err());
    journal.log = log;
    journal.keep(&world).unwrap();
    drop(journal);
    let (_, read, found) = Journal::open(folder.path(), now, new, empty).unwrap();
    assert_eq!(found, Found::Whole);
    assert!(read.store.get("configmaps", "default", "a").is_some());
}

#[tokio::test]
async fn a_change_that_is_not_kept_is_answered_as_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let server = opened(folder.path(), &Found::Nothing);
    let broken = File::open(folder.path().join("log-1")).unwrap();
    let log = std::mem::replace(&mut server.journal().unwrap().log, broken);
    let map = ConfigMap::default();
    let map = ConfigMap {
        metadata: kube::api::ObjectMeta {
            name: Some("a".to_owned()),
            ..map.metadata.clone()
        },
        ..map
    };
    for _ in 0..2 {
        let refused = maps(&server).create(&PostParams::default(), &map).await;
        let kube::Error::Api(status) = refused.unwrap_err() else {
            panic!("no answer")
        };
        assert_eq!(status.code, 500);
        assert!(
            status.message.contains("cannot be written in"),
            "{}",
            status.message
        );
    }
    server.journal().unwrap().log = log;
    assert_eq!(names(&server).await, ["a"]);
}

#[tokio::test]
async fn issued_tokens_are_still_good() {
    let folder = tempfile::tempdir().unwrap();
    let server = opened(folder.path(), &Found::Nothing);
    let path = "/api/v1/namespaces/default/serviceaccounts/default/token";
    let body = br#"{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","spec":{}}"#;
    let request = HttpRequest::post(path)
        .header("content-type", "application/json")
        .body(body.to_vec())
        .unwrap();
    let issued: Value = server.client().request(request).await.unwrap();
    let token = issued["status"]["token"].as_str().unwrap().to_owned();
    let user = server.issued_to(&token);
    assert!(user.is_some());
    server.close().await;
    assert_eq!(opened(folder.path(), &Found::Whole).issued_to(&token), user);
}
