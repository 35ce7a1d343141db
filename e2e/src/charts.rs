//! Charts and package sources for tests, written down as briefly as they can be.

use serde_json::{Value, json};

/// A chart with one Deployment, its Service, a ConfigMap, a ServiceAccount and a Role: five small objects.
#[derive(Debug, Clone)]
pub struct Chart {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// What becomes of its pods, as the sandbox knows it: `run`, `pull-error`, `never`.
    pub fate: &'static str,
    /// More files, by path.
    pub files: Vec<(&'static str, String)>,
}

impl Chart {
    /// A chart whose pods run.
    pub fn new(name: &'static str, version: &'static str) -> Self {
        Self {
            name,
            version,
            fate: "run",
            files: Vec::new(),
        }
    }

    /// The same chart, with pods of another fate.
    #[must_use]
    pub fn fate(self, fate: &'static str) -> Self {
        Self { fate, ..self }
    }

    /// The same chart with one more file.
    #[must_use]
    pub fn file(mut self, path: &'static str, text: &str) -> Self {
        self.files.push((path, text.to_owned()));
        self
    }

    /// Its files.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let metadata = format!(
            "apiVersion: v2\nname: {}\nversion: {}\nappVersion: {}\n",
            self.name, self.version, self.version
        );
        let values = format!("replicas: 1\nfate: {}\nmessage: hello\n", self.fate);
        let mut files = vec![
            ("Chart.yaml".to_owned(), metadata.into_bytes()),
            ("values.yaml".to_owned(), values.into_bytes()),
            ("templates/_names.tpl".to_owned(), NAMES.as_bytes().to_vec()),
            (
                "templates/objects.yaml".to_owned(),
                OBJECTS.as_bytes().to_vec(),
            ),
        ];
        for (path, text) in &self.files {
            files.retain(|(known, _)| known != path);
            files.push(((*path).to_owned(), text.clone().into_bytes()));
        }
        files
    }
}

const NAMES: &str = r#"{{- define "labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}
"#;

const OBJECTS: &str = r#"apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Release.Name }}
  labels: {{- include "labels" . | nindent 4 }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  labels: {{- include "labels" . | nindent 4 }}
data:
  version: {{ .Chart.Version | quote }}
  message: {{ .Values.message | quote }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .Release.Name }}
rules:
  - apiGroups: [""]
    resources: [configmaps]
    verbs: [get]
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  selector:
    app: {{ .Release.Name }}
  ports:
    - port: 80
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels: {{- include "labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels:
      app: {{ .Release.Name }}
  template:
    metadata:
      labels:
        app: {{ .Release.Name }}
      annotations:
        sandbox.kubepkg.dev/fate: {{ .Values.fate }}
    spec:
      serviceAccountName: {{ .Release.Name }}
      containers:
        - name: main
          image: "registry.example.org/{{ .Chart.Name }}:{{ .Chart.Version }}"
"#;

/// A PackageSource in the making.
#[derive(Debug, Clone)]
pub struct Source {
    /// The package's version.
    pub version: String,
    /// Whether it may be rolled back.
    pub safe: bool,
    /// Component name, chart name, chart version; each depends on the one before it.
    pub components: Vec<(String, String, String)>,
}

impl Source {
    /// Version `version` with these components (name of component and chart, version of the chart).
    pub fn new(version: &str, components: &[(&str, &str)]) -> Self {
        Self {
            version: version.to_owned(),
            safe: true,
            components: components
                .iter()
                .map(|(name, chart)| ((*name).to_owned(), (*name).to_owned(), (*chart).to_owned()))
                .collect(),
        }
    }

    /// The same, not declared safe to roll back.
    #[must_use]
    pub fn not_safe(self) -> Self {
        Self {
            safe: false,
            ..self
        }
    }

    /// The spec, with charts from `repository` and releases in `namespace` named `<package>-<component>`.
    pub fn spec(&self, package: &str, namespace: &str, repository: &str) -> Value {
        let mut before: Option<&str> = None;
        let mut components = Vec::new();
        for (name, chart, version) in &self.components {
            components.push(json!({
                "name": name,
                "chart": { "repository": repository, "name": chart, "version": version },
                "install": {
                    "namespace": namespace,
                    "releaseName": format!("{package}-{name}"),
                    "dependsOn": before.into_iter().collect::<Vec<_>>(),
                },
            }));
            before = Some(name);
        }
        json!({
            "version": self.version,
            "rollback": { "safe": self.safe },
            "variants": [{ "name": "default", "components": components }],
        })
    }
}
