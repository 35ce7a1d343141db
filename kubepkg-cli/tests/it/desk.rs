//! A group of its own for each test, and the program run against it.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt as _};
use kubepkg_api::{ApiGroup, Kind, Package, PackageRevision, PackageSource, crd, keys};
use kubepkg_sandbox::ControlPlane;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// What one run of the program did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// One test's part of the control plane: an API group that nobody else uses.
pub(crate) struct Desk {
    pub(crate) plane: &'static ControlPlane,
    pub(crate) client: Client,
    pub(crate) group: ApiGroup,
}

impl Desk {
    /// A group with the kinds served.
    pub(crate) async fn new() -> Self {
        let desk = Self::without_kinds().await;
        let api: Api<CustomResourceDefinition> = Api::all(desk.client.clone());
        let used = ["Package", "PackageRevision", "PackageSource"];
        let mut crds = crd::crds(&desk.group);
        crds.retain(|crd| used.contains(&crd.spec.names.kind.as_str()));
        for crd in &crds {
            api.create(&PostParams::default(), crd).await.unwrap();
        }
        for crd in &crds {
            let name = crd.name_any();
            until(&format!("{name} is established"), async || {
                let crd = api.get(&name).await.unwrap();
                let conditions = crd
                    .status
                    .and_then(|status| status.conditions)
                    .unwrap_or_default();
                conditions
                    .iter()
                    .any(|c| c.type_ == "Established" && c.status == "True")
            })
            .await;
        }
        // A client learns of a new group a moment after it is established.
        until("the group is listed", async || {
            let groups = desk.client.list_api_groups().await.unwrap().groups;
            groups.iter().any(|group| group.name == desk.group.as_str())
        })
        .await;
        desk
    }

    /// A group that the cluster does not serve.
    pub(crate) async fn without_kinds() -> Self {
        let plane = ControlPlane::shared().await.unwrap();
        let group = ApiGroup::new(&format!("{}.example.org", plane.unique("cli"))).unwrap();
        Self {
            plane,
            client: plane.client().unwrap(),
            group,
        }
    }

    pub(crate) fn api<K: Kind>(&self) -> Api<K> {
        Api::all_with(self.client.clone(), &self.group)
    }

    /// Runs the program with nothing to read.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.answer("", arguments)
    }

    /// Runs the program with answers to its questions.
    pub(crate) fn answer(&self, answers: &str, arguments: &[&str]) -> Ran {
        let mut child = self.command(arguments).spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(answers.as_bytes())
            .unwrap();
        ran(child.wait_with_output().unwrap())
    }

    /// The program, ready to be started in the background.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubepkg"));
        command
            .args(["--kubeconfig".as_ref(), self.plane.kubeconfig().as_os_str()])
            .args(["--api-group", self.group.as_str()])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Creates a PackageSource with one component and these requirements.
    pub(crate) async fn source(&self, name: &str, version: &str, requires: Value) -> PackageSource {
        self.create(name, source_spec(version, requires)).await
    }

    /// Creates an object.
    pub(crate) async fn create<K>(&self, name: &str, spec: Value) -> K
    where
        K: Kind + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
        K::Spec: DeserializeOwned,
    {
        let object = K::new(&self.group, name, serde_json::from_value(spec).unwrap());
        self.api::<K>()
            .create(&PostParams::default(), &object)
            .await
            .unwrap()
    }

    /// Writes what an operator would write into a Package's status.
    pub(crate) async fn settle(
        &self,
        name: &str,
        status: &str,
        reason: &str,
        version: &str,
        revision: i64,
    ) {
        let package = self.package(name).await;
        let value = json!({ "status": {
            "version": version, "currentRevision": revision,
            "conditions": [{
                "type": "Ready", "status": status, "reason": reason,
                "message": format!("revision {revision}"), "lastTransitionTime": "2026-01-02T03:04:05Z",
                "observedGeneration": package.metadata.generation,
            }]
        }});
        let params = PatchParams::default();
        self.api::<Package>()
            .patch_status(name, &params, &Patch::Merge(value))
            .await
            .unwrap();
    }

    /// Records a revision in a phase.
    pub(crate) async fn revision(&self, package: &str, number: i64, version: &str, phase: &str) {
        let name = kubepkg_api::revision_name(package, number);
        let spec = json!({ "package": package, "revision": number, "version": version });
        let mut object =
            PackageRevision::new(&self.group, &name, serde_json::from_value(spec).unwrap());
        object
            .labels_mut()
            .insert(keys::PACKAGE_LABEL.to_owned(), package.to_owned());
        let api = self.api::<PackageRevision>();
        api.create(&PostParams::default(), &object).await.unwrap();
        let status = json!({ "status": { "phase": phase } });
        api.patch_status(&name, &PatchParams::default(), &Patch::Merge(status))
            .await
            .unwrap();
    }

    pub(crate) async fn package(&self, name: &str) -> Package {
        self.api::<Package>().get(name).await.unwrap()
    }

    pub(crate) async fn exists(&self, name: &str) -> bool {
        self.api::<Package>().get_opt(name).await.unwrap().is_some()
    }

    /// `package.<group>/<name>`.
    pub(crate) fn object(&self, name: &str) -> String {
        format!(
            "{}.{}/{name}",
            Package::kind(&self.group).to_lowercase(),
            self.group
        )
    }
}

/// A source spec with one component and these requirements.
#[expect(clippy::needless_pass_by_value, reason = "call sites read json!(...)")]
pub(crate) fn source_spec(version: &str, requires: Value) -> Value {
    json!({
        "version": version, "rollback": { "safe": true },
        "variants": [{
            "name": "default", "requires": requires,
            "components": [{
                "name": "web",
                "chart": { "repository": "https://charts.example.org", "name": "web", "version": version },
                "install": { "namespace": "default" }
            }]
        }]
    })
}

/// Waits until something holds; a minute at most.
pub(crate) async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !holds().await {
        assert!(Instant::now() < deadline, "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What a finished process left.
pub(crate) fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
