//! Every object of a version before the operator sees it: rendered, and handed to an API server of its own.
//!
//! The values are the charts' own, as the operator uses them for a Package without overrides. Charts that are not in
//! the folder are not looked at here; the install finds them or says why not.

use std::collections::{BTreeMap, BTreeSet};

use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, ValidationDirective};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, oneshot};
use kubepkg_api::{Capability, Component, Variant, chain};
use kubepkg_helm::{Capabilities, Chart, ReleaseFacts, RenderError, RenderOptions, Values, render};
use kubepkg_sandbox::{ApiOptions, ApiServer};
use kubepkg_yaml::Limits;
use serde_json::{Value, json};

use super::objects::Id;
use super::{Charts, Finding, Rule, Tried};

/// Kinds whose name becomes a part of another name or of a label of 63 characters, and how long it may be.
/// StatefulSet: the label `controller-revision-hash` holds the name and eleven characters more. CronJob: its Jobs get
/// eleven characters more (`apps/validation`, `batch/validation`). The others are labels or DNS names themselves.
const NAME_LIMITS: [(&str, usize); 4] = [
    ("StatefulSet", 52),
    ("CronJob", 52),
    ("Job", 63),
    ("Service", 63),
];

/// What a look at a version found.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) findings: Vec<Finding>,
    /// Where objects come from.
    pub(super) places: BTreeMap<Id, String>,
}

/// One rendered object.
struct Found {
    place: String,
    value: Value,
    is_hook: bool,
}

/// Looks at a version.
pub(super) async fn check(tried: &Tried, variant: &Variant, charts: &Charts) -> Checked {
    let server = ApiServer::new(&ApiOptions::default().without_workloads());
    let mut look = Look {
        client: server.client(),
        required: required_apis(variant),
        crds: BTreeMap::new(),
        checked: Checked::default(),
    };
    for component in &variant.components {
        if let (Some(chart), Some(_)) = (&component.chart, &component.install)
            && let Some(chart) = charts.get(&chart.name, &chart.version)
        {
            look.component(component, chart).await;
        }
    }
    look.compare_crds(tried);
    look.checked
}

/// The API versions that the variant requires of others.
fn required_apis(variant: &Variant) -> BTreeSet<String> {
    let requirements = variant.requirements();
    let apis =
        requirements
            .iter()
            .filter_map(|required| match Capability::new(&required.capability) {
                Ok(Capability::Api(version)) => Some(version.to_string()),
                _ => None,
            });
    apis.collect()
}

/// What to do about a chart that does not render.
fn remedy(error: &RenderError) -> &'static str {
    match error {
        RenderError::MissingDependencies { .. } => {
            "run `helm dependency build` in the chart's folder, so that charts/ has what Chart.yaml names"
        }
        RenderError::NotInstallable { .. } => {
            "name a chart of type application; a library is a dependency of others"
        }
        RenderError::KubeVersion { .. } => {
            "widen kubeVersion in Chart.yaml, if the chart works with this version"
        }
        RenderError::Schema { .. } => {
            "give values.yaml what values.schema.json asks for, or mend the schema"
        }
        _ => "give the value a default in values.yaml, or mend the template",
    }
}

/// A look under way.
struct Look {
    client: Client,
    required: BTreeSet<String>,
    /// CRDs that the charts bring, with their place.
    crds: BTreeMap<String, String>,
    checked: Checked,
}

impl Look {
    fn find(&mut self, rule: Rule, object: &str, place: &str, message: &str, remedy: String) {
        self.checked.findings.push(Finding {
            rule,
            object: object.to_owned(),
            place: place.to_owned(),
            message: message.to_owned(),
            remedy,
        });
    }

    async fn component(&mut self, component: &Component, chart: &Chart) {
        let install = component.install.clone().unwrap_or_default();
        let release = if install.release_name.is_empty() {
            &component.name
        } else {
            &install.release_name
        };
        let facts = ReleaseFacts::install(release, &install.namespace);
        let values = Values::default();
        let capabilities = Capabilities::default();
        let rendered = render(
            chart,
            &values,
            &facts,
            &capabilities,
            &RenderOptions::default(),
        );
        let rendered = match rendered {
            Ok(rendered) => rendered,
            Err(error) => {
                let object = format!("component {}", component.name);
                self.find(
                    Rule::Renders,
                    &object,
                    "",
                    &chain(&error),
                    remedy(&error).to_owned(),
                );
                return;
            }
        };
        let mut found = Vec::new();
        for file in &rendered.crds {
            self.documents(&file.path, &file.data, false, &mut found);
        }
        for (hook, place) in rendered.hooks.iter().zip(&rendered.hook_places) {
            self.documents(
                &place.to_string(),
                hook.manifest.as_bytes(),
                true,
                &mut found,
            );
        }
        found.extend(rendered.objects.into_iter().map(|object| Found {
            place: object.place.to_string(),
            value: object.value,
            is_hook: false,
        }));
        // Definitions first, whichever template they are in.
        let is_crd = |object: &Found| object.value["kind"] == "CustomResourceDefinition";
        found.sort_by_key(|object| !is_crd(object));
        for object in found.iter().filter(|object| !object.value.is_null()) {
            self.object(object, &install.namespace).await;
        }
    }

    /// The objects of a text.
    fn documents(&mut self, place: &str, text: &[u8], is_hook: bool, found: &mut Vec<Found>) {
        let parsed = kubepkg_yaml::split_documents(text, &Limits::default())
            .map_err(|error| error.to_string())
            .and_then(|documents| {
                let all = documents.iter();
                all.map(|document| kubepkg_yaml::load(&document.text).map_err(|e| e.to_string()))
                    .collect::<Result<Vec<Value>, _>>()
            });
        let problem = match parsed {
            Ok(values) => {
                found.extend(values.into_iter().map(|value| Found {
                    place: place.to_owned(),
                    value,
                    is_hook,
                }));
                return;
            }
            Err(problem) => problem,
        };
        let remedy = "write one YAML document for each object".to_owned();
        self.find(Rule::Renders, "document", place, &problem, remedy);
    }

    async fn object(&mut self, object: &Found, namespace: &str) {
        let text = |pointer: &str| {
            let found = object.value.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        let (api_version, kind, name) =
            (text("/apiVersion"), text("/kind"), text("/metadata/name"));
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let gvk = GroupVersionKind::gvk(group, version, &kind);
        let served = oneshot::pinned_kind(&self.client, &gvk).await;
        let Ok((resource, abilities)) = served else {
            if !self.required.contains(&api_version) {
                let message = format!(
                    "neither Kubernetes nor this package defines kind {kind} of {api_version}"
                );
                let remedy = format!(
                    "add its CRD to the chart's crds/, or \"capability: api:{api_version}\" to the variant's requires"
                );
                self.find(
                    Rule::KindServed,
                    &format!("{kind} {name}"),
                    &object.place,
                    &message,
                    remedy,
                );
            }
            return;
        };
        let given = text("/metadata/namespace");
        let namespace = match (&abilities.scope, given.is_empty()) {
            (Scope::Cluster, _) => String::new(),
            (Scope::Namespaced, true) => namespace.to_owned(),
            (Scope::Namespaced, false) => given,
        };
        let id = Id {
            kind: kind.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
        };
        let called = id.to_string();
        self.checked.places.insert(id, object.place.clone());
        if kind == "CustomResourceDefinition" {
            self.crds.insert(name.clone(), object.place.clone());
        }
        self.name_length(&kind, &name, &called, &object.place);
        if object.is_hook {
            self.hook(&kind, &object.value, &called, &object.place);
        }
        let api: Api<DynamicObject> = if namespace.is_empty() {
            Api::all_with(self.client.clone(), &resource)
        } else {
            self.namespace(&namespace).await;
            Api::namespaced_with(self.client.clone(), &namespace, &resource)
        };
        let params = PatchParams {
            force: true,
            field_manager: Some("helm".to_owned()),
            field_validation: Some(ValidationDirective::Strict),
            ..PatchParams::default()
        };
        if let Err(error) = api
            .patch(&name, &params, &Patch::Apply(&object.value))
            .await
        {
            let message = match error {
                kube::Error::Api(status) => status.message,
                other => chain(&other),
            };
            let remedy = format!(
                "mend the template; kubectl explain {} shows the fields",
                kind.to_lowercase()
            );
            self.find(Rule::Accepted, &called, &object.place, &message, remedy);
        }
    }

    /// Makes a namespace; one that is there already, or has no valid name, is another request's matter.
    async fn namespace(&self, name: &str) {
        let gvk = GroupVersionKind::gvk("", "v1", "Namespace");
        let resource = kube::core::ApiResource::from_gvk(&gvk);
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let params = PatchParams::apply("helm").force();
        let _ = api.patch(name, &params, &Patch::Apply(&object)).await;
    }

    fn name_length(&mut self, kind: &str, name: &str, called: &str, place: &str) {
        let limit = NAME_LIMITS.iter().find(|(known, _)| *known == kind);
        let Some((_, limit)) = limit.filter(|(_, limit)| name.len() > *limit) else {
            return;
        };
        let message = format!(
            "the name has {} characters; a {kind} may have {limit}, because what it makes gets longer names",
            name.len()
        );
        let remedy = format!("cut it in the template: trunc {limit} | trimSuffix \"-\"");
        self.find(Rule::NameLength, called, place, &message, remedy);
    }

    /// Helm waits for the end of Jobs and Pods that are hooks; of others it waits for nothing.
    fn hook(&mut self, kind: &str, value: &Value, called: &str, place: &str) {
        let spec = &value["spec"];
        let endless = match kind {
            "Pod" if !matches!(spec["restartPolicy"].as_str(), Some("Never" | "OnFailure")) => {
                Some((
                    "its restartPolicy is Always, so its containers are started again for ever",
                    "set spec.restartPolicy: Never",
                ))
            }
            "Job" if spec["suspend"] == true => {
                Some(("it is suspended, so it never starts", "remove spec.suspend"))
            }
            _ => None,
        };
        if let Some((why, remedy)) = endless {
            let message = format!("the hook never ends: {why}");
            self.find(Rule::HookEnds, called, place, &message, remedy.to_owned());
        }
    }

    /// The CRDs that the charts bring are those that the package says it owns.
    fn compare_crds(&mut self, tried: &Tried) {
        let file = tried.file.display().to_string();
        let declared: BTreeSet<&String> = tried.spec.crds.iter().collect();
        for (name, place) in self.crds.clone() {
            if !declared.contains(&name) {
                let message = "the package brings it and does not say that it owns it, so nothing keeps another package from it";
                let remedy = format!("add \"- {name}\" to spec.crds in {file}");
                let object = format!("CustomResourceDefinition {name}");
                self.find(Rule::CrdsDeclared, &object, &place, message, remedy);
            }
        }
        let missing: Vec<&String> = declared
            .into_iter()
            .filter(|name| !self.crds.contains_key(*name))
            .collect();
        let remote = tried
            .spec
            .variants
            .iter()
            .flat_map(|variant| &variant.components)
            .any(|component| component.chart.is_none());
        for name in missing {
            if remote {
                continue;
            }
            let message = "the package says that it owns it, and no chart in the folder brings it";
            let remedy = format!(
                "remove it from spec.crds in {file}, or add the chart that brings it to charts/"
            );
            let object = format!("CustomResourceDefinition {name}");
            self.find(Rule::CrdsDeclared, &object, &file, message, remedy);
        }
    }
}
