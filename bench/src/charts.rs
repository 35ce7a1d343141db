//! The charts that are measured: those below given folders, or some made here so that anybody can measure the same.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::process::Helm;
use crate::{Failure, file};

/// A folder that files are written to.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, and the folders that it stands in.
    pub(crate) fn file(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.0.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(file(parent))?;
        }
        fs::write(&path, text).map_err(file(&path))
    }

    /// Writes the one template of a chart.
    pub(crate) fn template(&self, text: &str) -> Result<(), Failure> {
        self.file("templates/object.yaml", text)
    }
}

/// A `Chart.yaml`.
pub(crate) fn chart_yaml(name: &str) -> String {
    format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n")
}

/// Charts with the names that the tables have for them.
pub(crate) type Named = Vec<(String, PathBuf)>;

/// Charts below folders, in the order of their paths. What stands in a chart's folder belongs to it.
pub(crate) fn find(given: &[PathBuf]) -> Result<Named, Failure> {
    let mut found = Vec::new();
    for path in given {
        let path = path.canonicalize().map_err(file(path))?;
        let base = path.parent().unwrap_or(&path);
        let mut below = Vec::new();
        if path.is_dir() {
            collect(&path, &mut below)?;
        } else {
            below.push(path.clone());
        }
        found.extend(below.into_iter().map(|chart| {
            let name = chart.strip_prefix(base).unwrap_or(&chart);
            (name.to_string_lossy().into_owned(), chart)
        }));
    }
    if found.is_empty() {
        return Err(Failure::NoCharts);
    }
    Ok(found)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if folder.join("Chart.yaml").is_file() {
        found.push(folder.to_owned());
        return Ok(());
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(file(folder))? {
        entries.push(entry.map_err(file(folder))?.path());
    }
    entries.sort();
    for path in entries {
        if path.is_dir() && !path.is_symlink() {
            collect(&path, found)?;
        }
    }
    Ok(())
}

/// Charts of kinds that people have, in `home`.
pub(crate) fn make(helm: &Helm, home: &Path) -> Result<Named, Failure> {
    let charts = home.join("charts");
    fs::create_dir_all(&charts).map_err(file(&charts))?;
    let path = |name: &str| charts.join(name);
    created(helm, &charts)?;
    let created = path("created");

    // The same under a folder that its `.helmignore` names, as a clone of a large repository has it.
    let hidden = Folder::new(path("hidden"));
    copy(&created, hidden.path(), "created", "hidden")?;
    let blob = "x".repeat(10_000);
    for number in 0..5000 {
        hidden.file(&format!(".git/objects/{}/{number}", number % 100), &blob)?;
    }

    let umbrella = Folder::new(path("umbrella"));
    let mut declared = chart_yaml("umbrella");
    declared.push_str("dependencies:\n");
    for number in 0..100 {
        let name = format!("sub{number}");
        copy(
            &created,
            &umbrella.path().join("charts").join(&name),
            "created",
            &name,
        )?;
        line(
            &mut declared,
            &format!("- {{name: {name}, version: 0.1.0, condition: {name}.enabled}}"),
        );
    }
    umbrella.file("Chart.yaml", &declared)?;
    umbrella.file("values.yaml", "global:\n  registry: example.com\n")?;

    texts(&Folder::new(path("tpl")))?;
    definitions(&Folder::new(path("definitions")))?;
    schema(&Folder::new(path("schema")), &created)?;
    Ok([
        ("`helm create`", "created"),
        ("the same, with a `.git` of 5000 files", "hidden"),
        ("umbrella of 100 of them", "umbrella"),
        ("1000 values through `tpl`", "tpl"),
        ("10 CRDs of 200 kB", "definitions"),
        ("a schema of 500 values", "schema"),
    ]
    .map(|(title, name)| (title.to_owned(), path(name)))
    .to_vec())
}

/// The chart that `helm create` makes.
fn created(helm: &Helm, charts: &Path) -> Result<(), Failure> {
    let failed = |reason: String| Failure::Program {
        program: "helm create".to_owned(),
        reason,
    };
    let output = helm
        .command()
        .args(["create", "created"])
        .current_dir(charts)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

/// Copies a chart under another name.
fn copy(from: &Path, to: &Path, old: &str, new: &str) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(file(to))?;
    for entry in fs::read_dir(from).map_err(file(from))? {
        let path = entry.map_err(file(from))?.path();
        let Some(name) = path.file_name() else {
            continue;
        };
        let target = to.join(name);
        if path.is_dir() {
            copy(&path, &target, old, new)?;
        } else {
            let text = fs::read_to_string(&path).map_err(file(&path))?;
            fs::write(&target, text.replace(old, new)).map_err(file(&target))?;
        }
    }
    Ok(())
}

/// Values that are templates, as library charts have them.
fn texts(chart: &Folder) -> Result<(), Failure> {
    chart.file("Chart.yaml", &chart_yaml("tpl"))?;
    let mut values = "texts:\n".to_owned();
    for number in 0..1000 {
        line(
            &mut values,
            &format!(
                "  key{number}: '{{{{ include \"tpl.name\" . }}}}-{number}-{{{{ .Values.suffix | default \"x\" }}}}'"
            ),
        );
    }
    chart.file("values.yaml", &values)?;
    chart.file(
        "templates/_helpers.tpl",
        "{{- define \"tpl.name\" -}}\n{{- printf \"%s-%s\" .Release.Name .Chart.Name | trunc 63 | trimSuffix \"-\" }}\n{{- end }}\n",
    )?;
    chart.template(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include \"tpl.name\" . }}\ndata:\n\
         {{- range $key, $text := .Values.texts }}\n  {{ $key }}: {{ tpl $text $ | quote }}\n{{- end }}\n",
    )
}

/// Definitions of custom resources, half of them in `crds/`, half in templates.
fn definitions(chart: &Folder) -> Result<(), Failure> {
    chart.file("Chart.yaml", &chart_yaml("definitions"))?;
    for number in 0..10 {
        let folder = if number % 2 == 0 { "crds" } else { "templates" };
        let mut text = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: \
             things{number}.example.com\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {{plural: \
             things{number}, kind: Thing{number}}}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    \
             schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            \
             type: object\n            properties:\n"
        );
        for property in 0..1000 {
            line(
                &mut text,
                &format!(
                    "              property{property}:\n                description: |-\n                  What this \
                     property of a thing is for, and when it was added.\n                  More about it: see \
                     property{property}.\n                type: string"
                ),
            );
        }
        chart.file(&format!("{folder}/thing{number}.yaml"), &text)?;
    }
    Ok(())
}

/// The created chart with a schema that says something about many values.
fn schema(chart: &Folder, created: &Path) -> Result<(), Failure> {
    copy(created, chart.path(), "created", "schema")?;
    let path = chart.path().join("values.yaml");
    let mut values = fs::read_to_string(&path).map_err(file(&path))?;
    values.push_str("\nchecked:\n");
    let mut properties = Vec::new();
    for number in 0..500 {
        line(
            &mut values,
            &format!(
                "  value{number}: {{name: v{number}, port: {}}}",
                1000 + number
            ),
        );
        properties.push(format!(
            "\"value{number}\": {{\"$ref\": \"#/definitions/entry\", \"description\": \"Value {number}\"}}"
        ));
    }
    chart.file("values.yaml", &values)?;
    chart.file(
        "values.schema.json",
        &format!(
            "{{\"$schema\": \"http://json-schema.org/draft-07/schema#\", \"type\": \"object\", \"definitions\": \
             {{\"entry\": {{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {{\"name\": \
             {{\"type\": \"string\", \"pattern\": \"^[a-z][a-z0-9-]*$\"}}, \"port\": {{\"type\": \"integer\", \
             \"minimum\": 1, \"maximum\": 65535}}}}}}}}, \"properties\": {{\"checked\": {{\"type\": \"object\", \
             \"properties\": {{{}}}}}}}}}",
            properties.join(", ")
        ),
    )
}

fn line(text: &mut String, line: &str) {
    let written = writeln!(text, "{line}");
    debug_assert!(written.is_ok(), "a String takes everything");
}
