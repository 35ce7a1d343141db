//! Two namespaces that live through the same: in one, the real Helm performs every step; in the other, this
//! crate performs some of them. After each step their objects, managed fields and records must be equal, and
//! so must what was said.

use super::interop::ChartFolder;
use super::{live, plane};
use kubepkg_helm::{
    Chart, ChartLimits, Helm, InstallRequest, OnFailure, OperationError, Outcome, Preflight,
    Propagation, ReleaseOptions, ReuseValues, RollbackRequest, TestRequest, UninstallRequest,
    UpgradeRequest, Values, Wait,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Who performs a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Helm,
    Ours,
}

/// A step, in the words of Helm's command line.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Install(Choice),
    Upgrade(Choice),
    Rollback(u32, Choice),
    Uninstall(Choice),
    Test(Choice),
}

impl Step {
    fn choice(&self) -> &Choice {
        match self {
            Step::Install(choice)
            | Step::Upgrade(choice)
            | Step::Rollback(_, choice)
            | Step::Uninstall(choice)
            | Step::Test(choice) => choice,
        }
    }
}

/// Flags of a step.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Choice {
    pub(crate) wait: bool,
    pub(crate) timeout: Option<u64>,
    pub(crate) force_conflicts: bool,
    /// `--set`.
    pub(crate) set: Vec<&'static str>,
    /// None is Helm's command line without a flag.
    pub(crate) reuse: Option<ReuseValues>,
    pub(crate) on_failure: OnFailure,
    pub(crate) install: bool,
    pub(crate) replace: bool,
    pub(crate) keep_history: bool,
    pub(crate) take_ownership: bool,
    pub(crate) propagation: Propagation,
    /// `--server-side`.
    pub(crate) server_side: Option<bool>,
}

impl Choice {
    fn flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        for (given, flag) in [
            (self.wait, "--wait"),
            (self.force_conflicts, "--force-conflicts"),
            (self.install, "--install"),
            (self.replace, "--replace"),
            (self.keep_history, "--keep-history"),
            (self.take_ownership, "--take-ownership"),
            (self.on_failure == OnFailure::CleanUp, "--cleanup-on-fail"),
            (
                self.on_failure == OnFailure::RollBack,
                "--rollback-on-failure",
            ),
            (self.reuse == Some(ReuseValues::Reset), "--reset-values"),
            (self.reuse == Some(ReuseValues::Reuse), "--reuse-values"),
            (
                self.reuse == Some(ReuseValues::ResetThenReuse),
                "--reset-then-reuse-values",
            ),
            (
                self.propagation == Propagation::Foreground,
                "--cascade=foreground",
            ),
            (self.server_side == Some(false), "--server-side=false"),
            (self.server_side == Some(true), "--server-side=true"),
            (self.propagation == Propagation::Orphan, "--cascade=orphan"),
        ] {
            if given {
                flags.push(flag.to_owned());
            }
        }
        if let Some(seconds) = self.timeout {
            flags.push(format!("--timeout={seconds}s"));
        }
        flags.extend(self.set.iter().map(|set| format!("--set={set}")));
        flags
    }

    fn options(&self) -> ReleaseOptions {
        let mut options = ReleaseOptions {
            force_conflicts: self.force_conflicts,
            reuse_values: self.reuse.unwrap_or(ReuseValues::WhenNoneGiven),
            on_failure: self.on_failure,
            replace: self.replace,
            take_ownership: self.take_ownership,
            server_side: self.server_side,
            // As Helm: refused before anything is written.
            preflight: Preflight::Always,
            ..ReleaseOptions::default()
        };
        if self.wait {
            options.wait = Wait::Ready;
        }
        if let Some(seconds) = self.timeout {
            options.timeout = Duration::from_secs(seconds);
        }
        options
    }

    fn values(&self) -> Values {
        let mut values = Values::default();
        for text in &self.set {
            kubepkg_helm::set(&mut values, text).unwrap();
        }
        values
    }
}

/// A namespace with a release `demo` in it.
pub(crate) struct World {
    pub(crate) namespace: String,
    pub(crate) ours: Helm,
}

impl World {
    pub(crate) async fn new(name: &str) -> Self {
        Self {
            namespace: plane().await.namespace(name).await.unwrap(),
            ours: super::helm_of("kubepkg").await,
        }
    }

    /// Performs a step and tells what was said: `ok`, or why not.
    pub(crate) async fn perform(&self, by: By, step: &Step, chart: &ChartFolder) -> String {
        let said = match by {
            By::Helm => self.by_helm(step, chart).await,
            By::Ours => self.by_us(step, chart).await,
        };
        without_places(&said.replace(&self.namespace, "NAMESPACE"))
    }

    async fn by_helm(&self, step: &Step, chart: &ChartFolder) -> String {
        let mut arguments = match step {
            Step::Install(_) => vec!["install", "demo", chart.path()],
            Step::Upgrade(_) => vec!["upgrade", "demo", chart.path()],
            Step::Rollback(..) => vec!["rollback", "demo"],
            Step::Uninstall(_) => vec!["uninstall", "demo"],
            Step::Test(_) => vec!["test", "demo"],
        };
        let choice = step.choice();
        let revision;
        if let Step::Rollback(to, _) = step {
            revision = to.to_string();
            arguments.push(&revision);
        }
        let flags = choice.flags();
        arguments.extend(flags.iter().map(String::as_str));
        arguments.extend(["-n", &self.namespace]);
        let mut command = plane().await.command("helm", "helm").unwrap();
        command.args(&arguments);
        let output = tokio::task::spawn_blocking(move || command.output()).await;
        let output = output.unwrap().unwrap();
        if output.status.success() {
            return "ok".to_owned();
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.split_once("Error: ").unwrap_or(("", &said)).1.trim();
        ["INSTALLATION FAILED: ", "UPGRADE FAILED: "]
            .iter()
            .find_map(|word| said.strip_prefix(word))
            .unwrap_or(said)
            .to_owned()
    }

    async fn by_us(&self, step: &Step, chart: &ChartFolder) -> String {
        let (name, namespace) = ("demo".to_owned(), self.namespace.clone());
        let load =
            || Arc::new(Chart::load_dir(chart.path().as_ref(), &ChartLimits::default()).unwrap());
        let choice = step.choice();
        let (values, options) = (choice.values(), choice.options());
        let done: Result<Outcome, OperationError> = match step {
            Step::Install(_) => {
                let chart = load();
                let request = InstallRequest {
                    name,
                    namespace,
                    chart,
                    values,
                    options,
                };
                self.ours.install(request).await
            }
            Step::Upgrade(_) => {
                let chart = load();
                let request = UpgradeRequest {
                    name,
                    namespace,
                    chart,
                    values,
                    options,
                };
                if choice.install {
                    self.ours.upgrade_or_install(request).await
                } else {
                    self.ours.upgrade(request).await
                }
            }
            Step::Rollback(to, _) => {
                let to = Some(*to);
                let request = RollbackRequest {
                    name,
                    namespace,
                    to,
                    options,
                };
                self.ours.rollback(request).await
            }
            Step::Uninstall(_) => {
                let mut request = UninstallRequest::new(namespace, name);
                request.wait = choice.wait;
                request.keep_history = choice.keep_history;
                request.propagation = choice.propagation;
                self.ours.uninstall(request).await
            }
            Step::Test(_) => {
                let mut request = TestRequest::new(namespace, name);
                request.timeout = options.timeout;
                self.ours.test(request).await
            }
        };
        match done {
            Ok(outcome) => outcome.failure.map_or("ok".to_owned(), |why| why.message),
            Err(error) => error.to_string(),
        }
    }

    /// Everything that can be compared: objects and records, without what differs by nature.
    pub(crate) async fn snapshot(&self) -> Value {
        let mut objects = Vec::new();
        for collection in COLLECTIONS {
            let (group, plural) = collection.rsplit_once('/').unwrap();
            let path = format!("/{group}/namespaces/{}/{plural}", self.namespace);
            let list = live(&path).await.unwrap();
            for item in list["items"].as_array().unwrap() {
                let name = item["metadata"]["name"].as_str().unwrap();
                // Pods of controllers have names by chance.
                let owned = item["metadata"].get("ownerReferences").is_some();
                if !owned && !["kube-root-ca.crt", "default"].contains(&name) {
                    objects.push(json!([plural, self.comparable(item)]));
                }
            }
        }
        let mut records = Vec::new();
        for head in self.ours.history(&self.namespace, "demo").await.unwrap() {
            let revision = Some(head.revision);
            let release = self
                .ours
                .get(&self.namespace, "demo", revision)
                .await
                .unwrap();
            let phases: Vec<String> = release
                .hooks
                .iter()
                .map(|hook| format!("{}: {}", hook.name, hook.last_run.phase))
                .collect();
            records.push(json!({
                "revision": release.revision,
                "status": release.info.status.as_str(),
                "description": without_places(
                    &release.info.description.replace(&self.namespace, "NAMESPACE")
                ),
                "method": format!("{:?}", release.apply_method),
                "chart": release.chart_version(),
                "rollback": release.info.rollback_revision,
                "manifest": release.manifest,
                "hooks": phases,
                "labels": head.labels,
                "config": release.config,
                "progress": head.progress.is_some() && !release.info.status.is_pending(),
            }));
        }
        json!({"objects": objects, "records": records})
    }

    fn comparable(&self, object: &Value) -> Value {
        let uid = object["metadata"]["uid"].as_str().unwrap();
        let text = object.to_string();
        let text = text
            .replace(&self.namespace, "NAMESPACE")
            .replace(uid, "UID");
        let mut object: Value = serde_json::from_str(&text).unwrap();
        object["status"] = Value::Null;
        if object["spec"].get("volumes").is_some() {
            // The volume of the service account has a name by chance.
            object["spec"] = Value::Null;
        }
        if let Some(spec) = object["spec"].as_object_mut() {
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
        }
        let metadata = object["metadata"].as_object_mut().unwrap();
        for key in ["uid", "resourceVersion", "creationTimestamp", "generation"] {
            metadata.remove(key);
        }
        if let Some(entries) = metadata
            .get_mut("managedFields")
            .and_then(Value::as_array_mut)
        {
            let others = ["kube-controller-manager", "kubelet", "sandbox-kubelet"];
            entries.retain(|entry| {
                !others.contains(&entry["manager"].as_str().unwrap_or_default())
                    && entry["subresource"] != "status"
            });
            for entry in entries.iter_mut() {
                entry.as_object_mut().unwrap().remove("time");
            }
            entries.sort_by_key(|entry| {
                (entry["manager"].to_string(), entry["operation"].to_string())
            });
        }
        object
    }
}

/// A message without the templates that ours names and Helm does not.
fn without_places(text: &str) -> String {
    let mut parts = text.split(" (template ");
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        told.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    told
}

/// What is compared.
const COLLECTIONS: [&str; 8] = [
    "api/v1/pods",
    "api/v1/configmaps",
    "api/v1/serviceaccounts",
    "api/v1/services",
    "apis/apps/v1/deployments",
    "apis/batch/v1/jobs",
    "apis/rbac.authorization.k8s.io/v1/roles",
    "apis/rbac.authorization.k8s.io/v1/rolebindings",
];

/// Compares two snapshots and shows the first difference.
pub(crate) fn assert_same(theirs: &Value, ours: &Value, when: &str) {
    if let Some(difference) = difference(theirs, ours, "") {
        panic!("{when}: {difference}");
    }
}

fn difference(a: &Value, b: &Value, path: &str) -> Option<String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            keys.into_iter().find_map(|key| {
                let none = Value::Null;
                let (a, b) = (a.get(key).unwrap_or(&none), b.get(key).unwrap_or(&none));
                difference(a, b, &format!("{path}/{key}"))
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(index, (a, b))| difference(a, b, &format!("{path}/{index}"))),
        _ if a == b => None,
        _ => Some(format!("{path}: helm {a:#} ours {b:#}")),
    }
}

/// Lets two worlds live through the same steps, one in Helm's hands, the other in ours, and compares them.
pub(crate) async fn live_alike(name: &str, life: &[(&str, &ChartFolder, Step)]) {
    let (theirs, ours) = tokio::join!(World::new(name), World::new(name));
    for (what, chart, step) in life {
        let (alone, said) = tokio::join!(
            theirs.perform(By::Helm, step, chart),
            ours.perform(By::Ours, step, chart)
        );
        assert_eq!(alone, said, "{name}: {what}");
        let when = format!("{name}: {what}");
        assert_same(&theirs.snapshot().await, &ours.snapshot().await, &when);
    }
}
