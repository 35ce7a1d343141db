//! Charts that the tests deliver.

use kubepkg_sandbox::ChartServer;

const DEPLOYMENT: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  progressDeadlineSeconds: 600
  selector:
    matchLabels: {app: {{ .Release.Name }}}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}}
    spec:
      containers:
      - {name: main, image: "example.test/{{ .Chart.Name }}:{{ .Chart.Version }}"}
"#;

const CONFIG: &str = r"apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  version: {{ .Chart.Version | quote }}
  text: {{ .Values.text | quote }}
";

const EXTRA: &str = r"apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-extra
";

const VALUES: &str = "replicas: 1\ntext: hello\n";

const SCHEMA: &str = r#"{"type": "object", "properties": {"replicas": {"type": "integer"}}}"#;

const BROKEN: &str = "{{ fail \"this chart does not render\" }}\n";

/// A server with `web` 1.0.0 (with an extra object), `web` 2.0.0, `broken` 1.0.0 and charts with a CRD.
pub(crate) fn server() -> ChartServer {
    let web = |extra: &[(&'static str, &'static str)]| {
        let mut files = vec![
            ("values.yaml", VALUES),
            ("values.schema.json", SCHEMA),
            ("templates/deployment.yaml", DEPLOYMENT),
            ("templates/config.yaml", CONFIG),
        ];
        files.extend_from_slice(extra);
        files
    };
    ChartServer::builder()
        .chart("web", "1.0.0", web(&[("templates/extra.yaml", EXTRA)]))
        .chart("web", "2.0.0", web(&[]))
        .chart("broken", "1.0.0", [("templates/broken.yaml", BROKEN)])
        .start()
        .unwrap()
}

/// A chart that renders the CRD `widgets.<group>` while `enabled` is set.
pub(crate) fn with_crd(group: &str) -> Vec<(&'static str, String)> {
    let crd = format!(
        "{{{{- if .Values.enabled }}}}\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  \
         name: widgets.{group}\nspec:\n  group: {group}\n  scope: Namespaced\n  names: {{kind: Widget, plural: \
         widgets}}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      \
         openAPIV3Schema: {{type: object}}\n{{{{- end }}}}\n"
    );
    vec![
        ("values.yaml", "enabled: true\ntext: x\n".to_owned()),
        ("templates/crd.yaml", crd),
        ("templates/config.yaml", CONFIG.to_owned()),
    ]
}
