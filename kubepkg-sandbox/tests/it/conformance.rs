//! The embedded API server and the real one answer the same requests: the real one decides.
//!
//! The requests stand in `conformance/*.http`. A file holds scenarios, which begin with `##` and a
//! name; a scenario holds requests, set apart by empty lines:
//!
//! ```text
//! POST /api/v1/namespaces/{ns}/configmaps | save version=/metadata/resourceVersion
//! > Accept: application/json
//! {"metadata": {"name": "a"}}
//! ```
//!
//! Behind a bar stand notes: `save NAME=POINTER` keeps a part of the answer for `{NAME}` in later
//! requests; `mask POINTER` leaves a part out of the comparison; `only POINTER` compares a part alone;
//! `digits` leaves numbers in texts out; `until CODE` asks again until the answer has this code;
//! `warned` asks again until there is a warning; `differs REASON` is a difference
//! that we know, and fails when there is none. Answers that differ are asked for again for a while
//! where asking changes nothing: to GET, and to what is marked `dryRun=All`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use http::Request;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use kubepkg_sandbox::{ApiOptions, ApiServer, ControlPlane};
use serde_json::{Value, json};

/// How long a controller of the real plane may take.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Debug)]
pub(super) struct Scenario {
    name: String,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    line: usize,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
    saves: Vec<(String, String)>,
    pub(super) masks: Vec<String>,
    pub(super) only: Option<String>,
    digits: bool,
    until: Option<u16>,
    warned: bool,
    pub(super) differs: Option<String>,
}

pub(super) fn parse(text: &str) -> Vec<Scenario> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    let mut step: Option<Step> = None;
    for (index, line) in text.lines().chain([""]).enumerate() {
        let scenario = scenarios.last_mut();
        if let Some(name) = line.strip_prefix("## ") {
            assert!(
                step.is_none(),
                "line {}: an empty line is missing",
                index + 1
            );
            scenarios.push(Scenario {
                name: name.to_owned(),
                steps: Vec::new(),
            });
        } else if line.trim().is_empty() {
            if let (Some(step), Some(scenario)) = (step.take(), scenario) {
                scenario.steps.push(step);
            }
        } else if let Some(step) = &mut step {
            match line
                .strip_prefix("> ")
                .and_then(|header| header.split_once(": "))
            {
                Some((name, value)) => step.headers.push((name.to_owned(), value.to_owned())),
                None => writeln!(step.body, "{line}").unwrap(),
            }
        } else if !line.starts_with('#') {
            step = Some(first_line(index + 1, line));
        }
    }
    scenarios
}

fn first_line(line: usize, text: &str) -> Step {
    let mut parts = text.split(" | ");
    let (method, path) = parts.next().unwrap().split_once(' ').unwrap();
    let mut step = Step {
        line,
        method: method.to_owned(),
        path: path.to_owned(),
        ..Step::default()
    };
    for note in parts {
        match note.split_once(' ').unwrap_or((note, "")) {
            ("save", what) => {
                let (name, pointer) = what.split_once('=').unwrap();
                step.saves.push((name.to_owned(), pointer.to_owned()));
            }
            ("mask", pointer) => step.masks.push(pointer.to_owned()),
            ("only", pointer) => step.only = Some(pointer.to_owned()),
            ("digits", _) => step.digits = true,
            ("warned", _) => step.warned = true,
            ("until", code) => step.until = Some(code.parse().unwrap()),
            ("differs", reason) => step.differs = Some(reason.to_owned()),
            (other, _) => panic!("line {line}: unknown note {other}"),
        }
    }
    step
}

impl Step {
    /// Whether it may be asked any number of times.
    fn is_harmless(&self) -> bool {
        self.method == "GET" || self.path.contains("dryRun=All")
    }
}

/// One of the two servers, and what a scenario has saved from it.
pub(super) struct Side {
    pub(super) client: Client,
    pub(super) saved: BTreeMap<String, String>,
}

/// An answer, ready to be compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) code: u16,
    kind: String,
    warnings: Vec<String>,
    pub(super) body: Value,
}

impl Side {
    fn fill(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.saved {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text
    }

    pub(super) async fn ask(&mut self, step: &Step) -> Seen {
        let end = Instant::now() + PATIENCE;
        loop {
            let (code, kind, warnings, bytes) = self.send(step).await;
            let early = step.until.is_some_and(|wanted| wanted != code)
                || (step.warned && warnings.is_empty());
            let mut body = read(&bytes);
            if early {
                let line = step.line;
                assert!(
                    Instant::now() < end,
                    "line {line}: still {code} {warnings:?} {body}"
                );
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
            for (name, pointer) in &step.saves {
                let found = body.pointer(pointer).unwrap_or_else(|| {
                    panic!("line {}: no {pointer} in {body}", step.line);
                });
                let text = found
                    .as_str()
                    .map_or_else(|| found.to_string(), str::to_owned);
                self.saved.insert(name.clone(), text);
            }
            if let Some(pointer) = &step.only {
                let part = body.pointer(&self.fill(pointer)).cloned();
                body = part.unwrap_or_else(|| json!(format!("no {pointer}")));
            }
            return Seen {
                code,
                kind,
                warnings,
                body: mask(body, step),
            };
        }
    }

    async fn send(&self, step: &Step) -> (u16, String, Vec<String>, Vec<u8>) {
        let mut request = Request::builder()
            .method(step.method.as_str())
            .uri(self.fill(&step.path))
            .header("user-agent", "conformance/1");
        let mut typed = false;
        for (name, value) in &step.headers {
            typed |= name.eq_ignore_ascii_case("content-type");
            request = request.header(name, value);
        }
        if !typed && !step.body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        let body = self.fill(step.body.trim_end());
        let request = request.body(Body::from(body.into_bytes())).unwrap();
        let response = self.client.send(request).await.unwrap();
        let (parts, mut body) = response.into_parts();
        let mut bytes = Vec::new();
        // A watch ends by its timeoutSeconds.
        while let Ok(Some(Ok(frame))) = tokio::time::timeout(PATIENCE, body.frame()).await {
            if let Some(data) = frame.data_ref() {
                bytes.extend_from_slice(data);
            }
        }
        let header = |name: &str| {
            let all = parts.headers.get_all(name).into_iter();
            all.map(|value| value.to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        (
            parts.status.as_u16(),
            header("content-type").join(","),
            header("warning"),
            bytes,
        )
    }
}

/// JSON, a line of JSON for each event, or text.
fn read(bytes: &[u8]) -> Value {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return value;
    }
    let text = String::from_utf8_lossy(bytes);
    let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    match lines {
        Ok(events) if !events.is_empty() => Value::Array(events),
        _ => text.into_owned().into(),
    }
}

/// Leaves out what differs between any two runs.
fn mask(mut body: Value, step: &Step) -> Value {
    for pointer in &step.masks {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        match body.pointer_mut(parent) {
            Some(Value::Object(fields)) => drop(fields.insert(name.to_owned(), json!("<masked>"))),
            Some(Value::Array(items)) => {
                if let Some(item) = items.get_mut(name.parse::<usize>().unwrap()) {
                    *item = json!("<masked>");
                }
            }
            _ => {}
        }
    }
    normalize(&mut body, step.digits);
    body
}

fn normalize(value: &mut Value, digits: bool) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields.iter_mut() {
                let masked = match field.as_str() {
                    "uid" => Some("<uid>"),
                    "resourceVersion" if value.as_str() != Some("") => Some("<version>"),
                    "creationTimestamp" | "deletionTimestamp" | "time" | "lastTransitionTime"
                    | "lastUpdateTime" | "startTime"
                        if value.is_string() =>
                    {
                        Some("<time>")
                    }
                    "continue" if value.as_str() != Some("") => Some("<token>"),
                    "ca.crt" => Some("<certificate>"),
                    "storageVersionHash" | "serverAddress" => Some("<own>"),
                    _ => None,
                };
                match masked {
                    Some(mask) => *value = mask.into(),
                    None => normalize(value, digits),
                }
            }
            // Not shown by the double: it has no hash of a codec.
            fields.remove("storageVersionHash");
            if let Some(Value::Array(entries)) = fields.get_mut("managedFields") {
                // Sorted by time first, which differs.
                entries.sort_by_cached_key(|entry| {
                    ["operation", "manager", "subresource", "apiVersion"]
                        .map(|field| entry[field].to_string())
                });
            }
            let keys: Vec<String> = fields
                .keys()
                .filter(|key| key.contains("uid"))
                .cloned()
                .collect();
            for key in keys {
                let mut masked = Value::String(key.clone());
                normalize(&mut masked, digits);
                if let (Some(masked), Some(value)) = (masked.as_str(), fields.remove(&key)) {
                    fields.insert(masked.to_owned(), value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| normalize(item, digits)),
        Value::String(text) => {
            let mut out = String::new();
            let mut rest = text.as_str();
            while let Some(character) = rest.chars().next() {
                if rest.len() >= 36 && rest.is_char_boundary(36) && is_uid(&rest[..36]) {
                    out.push_str("<uid>");
                    rest = &rest[36..];
                    continue;
                }
                if !(digits && character.is_ascii_digit()) {
                    out.push(character);
                }
                rest = &rest[character.len_utf8()..];
            }
            *text = out;
        }
        _ => {}
    }
}

fn is_uid(text: &str) -> bool {
    text.char_indices().all(|(at, c)| match at {
        8 | 13 | 18 | 23 => c == '-',
        _ => c.is_ascii_digit() || ('a'..='f').contains(&c),
    })
}

pub(super) async fn create_namespace(client: &Client, name: &str) {
    let made = json!({"metadata": {"name": name}});
    let request = Request::post("/api/v1/namespaces")
        .header("content-type", "application/json")
        .body(Body::from(made.to_string().into_bytes()))
        .unwrap();
    client.send(request).await.unwrap();
}

/// The answers of both to the same request.
pub(super) async fn answers_of(step: &Step, real: &mut Side, ours: &mut Side) -> (Seen, Seen) {
    (real.ask(step).await, ours.ask(step).await)
}

/// Runs the scenarios of a file on both servers.
async fn compare(file: &str, text: &str) {
    let plane = ControlPlane::shared().await.unwrap();
    let server = ApiServer::new(&ApiOptions::default());
    let only = std::env::var("CONFORMANCE_ONLY").unwrap_or_default();
    let (mut requests, mut complaints) = (0, Vec::new());
    for scenario in parse(text) {
        if !scenario.name.contains(&only) {
            continue;
        }
        let namespace = plane.namespace("conformance").await.unwrap();
        let embedded = server.client();
        create_namespace(&embedded, &namespace).await;
        let saved = BTreeMap::from([("ns".to_owned(), namespace.clone())]);
        let mut real = Side {
            client: plane.client().unwrap(),
            saved: saved.clone(),
        };
        let mut ours = Side {
            client: embedded,
            saved,
        };
        for step in &scenario.steps {
            requests += 1;
            let (mut expected, mut found) = answers_of(step, &mut real, &mut ours).await;
            // The real plane reads from caches and has controllers of its own, and both take their time.
            let end = Instant::now() + PATIENCE;
            while step.is_harmless()
                && step.differs.is_none()
                && expected != found
                && Instant::now() < end
            {
                tokio::time::sleep(Duration::from_millis(200)).await;
                (expected, found) = answers_of(step, &mut real, &mut ours).await;
            }
            let at = format!(
                "{file}:{} ({}): {} {}",
                step.line, scenario.name, step.method, step.path
            );
            match (&step.differs, expected == found) {
                (None, true) | (Some(_), false) => {}
                (None, false) => {
                    complaints.push(format!("{at}\n{}", difference(&expected, &found)));
                }
                (Some(reason), true) => {
                    complaints.push(format!("{at}\n  no longer differs: {reason}"));
                }
            }
        }
    }
    assert!(requests > 0, "{file} holds no requests");
    assert!(
        complaints.is_empty(),
        "{} of {requests} requests of {file} are answered differently:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}

pub(super) fn difference(expected: &Seen, found: &Seen) -> String {
    let mut out = String::new();
    if expected.code != found.code {
        writeln!(out, "  code: real {}, ours {}", expected.code, found.code).unwrap();
    }
    if expected.kind != found.kind {
        writeln!(out, "  type: real {}, ours {}", expected.kind, found.kind).unwrap();
    }
    if expected.warnings != found.warnings {
        writeln!(
            out,
            "  warnings: real {:?}\n            ours {:?}",
            expected.warnings, found.warnings
        )
        .unwrap();
    }
    walk(&mut out, "", &expected.body, &found.body);
    out
}

fn walk(out: &mut String, path: &str, expected: &Value, found: &Value) {
    if expected == found {
        return;
    }
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let none = Value::String("<absent>".into());
                let (a, b) = (a.get(key).unwrap_or(&none), b.get(key).unwrap_or(&none));
                walk(out, &format!("{path}/{key}"), a, b);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                walk(out, &format!("{path}/{index}"), a, b);
            }
        }
        _ => writeln!(out, "  {path}:\n    real {expected}\n    ours {found}").unwrap(),
    }
}

macro_rules! suites {
    ($($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() {
                let file = concat!(stringify!($name), ".http");
                compare(file, include_str!(concat!("conformance/", stringify!($name), ".http"))).await;
            }
        )*
    };
}

suites!(
    beginnings,
    bodies,
    changes,
    custom,
    definitions,
    deleting,
    discovery,
    events,
    kinds,
    lists,
    nulls,
    odd,
    patches,
    pods,
    queries,
    rare,
    removal,
    policies,
    rules,
    scales,
    services,
    subresources,
    tables,
    templates,
    validity,
    versions,
    warnings,
    watches,
    writing
);
