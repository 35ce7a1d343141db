//! Bodies of the conformance suite, changed by a seed.
//!
//! `cargo xtask mutate` compares the answers of the embedded API server with those of the real one; a finding is printed
//! as a request for `conformance/odd.http`, where it goes once it is mended. Nothing is written: all requests are dry
//! runs.

use std::collections::BTreeMap;

use kubepkg_sandbox::{ApiOptions, ApiServer, ControlPlane};
use serde_json::{Value, json};

use super::conformance::{Seen, Side, Step, answers_of, create_namespace, difference, parse};

/// Requests that are changed: those that make objects of all kinds.
const FILES: [&str; 7] = [
    include_str!("conformance/bodies.http"),
    include_str!("conformance/kinds.http"),
    include_str!("conformance/nulls.http"),
    include_str!("conformance/odd.http"),
    include_str!("conformance/pods.http"),
    include_str!("conformance/templates.http"),
    include_str!("conformance/validity.http"),
];
/// How many findings are shown.
const MOST_SHOWN: usize = 20;

/// Numbers from a seed (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        usize::try_from(mixed % u64::try_from(end).unwrap()).unwrap()
    }
}

/// What is put in the place of a value.
fn values() -> Vec<Value> {
    json!([
        null, "", 0, -1, 1, "x", "X_y", "a".repeat(64), "1.5", "100%", "-5", "a/b", "http://x", [], {}, true, false,
        [null], ["x"], {"a": "b"}, 3_000_000_000_i64, 65536, "0", "10Gi", "9999999999999", "1e3", "TCP", "Always",
        "Never", "*", "/", "../x", "${X}", "a b", "é", [{}], "2001:db8::1", "1.2.3.4", "01.2.3.4",
    ])
    .as_array()
    .unwrap()
    .clone()
}

/// Pointers to everything in a body but what names it.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    if !matches!(
        at,
        "" | "/apiVersion" | "/kind" | "/metadata" | "/metadata/name" | "/metadata/namespace"
    ) {
        all.push(at.to_owned());
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                places(value, &format!("{at}/{key}"), all);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                places(value, &format!("{at}/{index}"), all);
            }
        }
        _ => {}
    }
}

/// Changes one place of a body.
fn mutate(body: &mut Value, numbers: &mut Numbers) {
    let mut all = Vec::new();
    places(body, "", &mut all);
    if all.is_empty() {
        return;
    }
    let place = all.swap_remove(numbers.below(all.len()));
    let (parent, key) = place.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/").replace("~0", "~");
    let new = {
        let mut values = values();
        values.swap_remove(numbers.below(values.len()))
    };
    match (body.pointer_mut(parent).unwrap(), numbers.below(6)) {
        (Value::Object(fields), 0) => drop(fields.remove(&key)),
        (Value::Object(fields), 1) => {
            let value = fields.remove(&key).unwrap();
            fields.insert(format!("{key}X"), value);
        }
        (Value::Object(fields), _) => drop(fields.insert(key, new)),
        (Value::Array(items), 0) => drop(items.remove(key.parse().unwrap())),
        (Value::Array(items), 1) => {
            let again = items[key.parse::<usize>().unwrap()].clone();
            items.push(again);
        }
        (Value::Array(items), _) => items[key.parse::<usize>().unwrap()] = new,
        _ => unreachable!("a parent holds something"),
    }
}

/// An answer without the order of what the real server takes from maps of Go, and without what the sandbox does not
/// know: whether a client sent something empty or nothing.
fn unordered(mut seen: Seen) -> Seen {
    if seen.body["kind"] != "Status" {
        return seen;
    }
    let or_null = |text: &str| {
        text.replace("value: {}: ", "value: null: ")
            .replace("value: []: ", "value: null: ")
    };
    if let Some(message) = seen.body["message"].as_str() {
        let message = or_null(message);
        let mut parts: Vec<&str> = message
            .split([',', '[', ']', '\n'])
            .map(str::trim)
            .collect();
        parts.sort_unstable();
        seen.body["message"] = parts.join(" ").into();
    }
    if let Some(Value::Array(causes)) = seen.body.pointer_mut("/details/causes") {
        for cause in causes.iter_mut() {
            cause["message"] = or_null(cause["message"].as_str().unwrap_or_default()).into();
        }
        causes.sort_by_key(Value::to_string);
    }
    seen
}

/// Requests with bodies that are changed by a seed.
fn changed(seed: u64, count: u64) -> impl Iterator<Item = Step> {
    let steps = FILES.iter().flat_map(|text| parse(text));
    let steps: Vec<Step> = steps
        .flat_map(|scenario| scenario.steps)
        .filter(|step| step.method == "POST" && step.path.contains("dryRun=All"))
        .filter(|step| step.headers.is_empty() && step.differs.is_none())
        // The sandbox does not look into what is for drivers of devices.
        .filter(|step| !step.path.contains("/resource.k8s.io/"))
        .filter(|step| serde_json::from_str::<Value>(&step.body).is_ok_and(|body| body.is_object()))
        .collect();
    let mut numbers = Numbers(seed);
    (0..count).map(move |_| {
        let mut step = steps[numbers.below(steps.len())].clone();
        let mut body: Value = serde_json::from_str(&step.body).unwrap();
        for _ in 0..=numbers.below(3) {
            mutate(&mut body, &mut numbers);
        }
        step.body = body.to_string();
        step.only = None;
        // Chosen at random.
        step.masks
            .extend(["/spec/clusterIP", "/spec/clusterIPs"].map(str::to_owned));
        step
    })
}

/// A server with a namespace of this name.
async fn embedded(namespace: &str) -> Side {
    let client = ApiServer::new(&ApiOptions::default()).client();
    create_namespace(&client, namespace).await;
    Side {
        client,
        saved: BTreeMap::from([("ns".to_owned(), namespace.to_owned())]),
    }
}

/// Whatever is sent, the answer is the object, or a `Status` that says what is wrong with the request. With
/// `MUTATE_SEED` and `MUTATE_COUNT` the real server is asked, too.
#[tokio::test]
async fn changed_bodies_are_taken_or_refused() {
    let number = |name: &str| Some(std::env::var(name).ok()?.parse::<u64>().unwrap());
    let asked = number("MUTATE_SEED").zip(number("MUTATE_COUNT"));
    let (seed, count) = asked.unwrap_or((1, 3000));
    let mut server = embedded("changed").await;
    let mut codes = BTreeMap::<u16, usize>::new();
    for step in changed(seed, count) {
        let answer = server.ask(&step).await;
        let told = answer.body["message"].as_str().unwrap_or_default();
        let status = answer.body["kind"] == "Status" && answer.body["code"] == answer.code;
        let fine = match answer.code {
            201 => answer.body["metadata"].is_object(),
            400 | 403 | 404 | 422 => status && !told.is_empty(),
            _ => false,
        };
        assert!(fine, "POST {}\n{}\n{answer:?}", step.path, step.body);
        *codes.entry(answer.code).or_default() += 1;
    }
    // Changes that are all refused, or none, would show nothing.
    let many = usize::try_from(count / 10).unwrap();
    let of_each = [201, 400, 422].map(|code| codes.get(&code).copied().unwrap_or(0));
    assert!(of_each.iter().all(|found| *found > many), "{codes:?}");
    if asked.is_some() {
        compare(seed, count).await;
    }
}

/// Asks both servers, and tells what they answer differently as requests for the suite.
async fn compare(seed: u64, count: u64) {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("changed").await.unwrap();
    let mut ours = embedded(&namespace).await;
    let mut real = Side {
        client: plane.client().unwrap(),
        saved: ours.saved.clone(),
    };
    let mut findings = Vec::new();
    for step in changed(seed, count) {
        let (expected, found) = answers_of(&step, &mut real, &mut ours).await;
        let (expected, found) = (unordered(expected), unordered(found));
        // What the real server says at random says nothing.
        if expected == found || unordered(real.ask(&step).await) != expected {
            continue;
        }
        let differs = difference(&expected, &found);
        findings.push(format!("POST {}\n{}\n\n{differs}", step.path, step.body));
    }
    let shown: Vec<String> = findings.iter().take(MOST_SHOWN).cloned().collect();
    assert!(
        findings.is_empty(),
        "{} of {count} changed bodies (seed {seed}) are answered differently:\n{}",
        findings.len(),
        shown.join("\n")
    );
}
