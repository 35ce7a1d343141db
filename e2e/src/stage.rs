//! One test's share of the control plane.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kubepkg_api::ApiGroup;
use kubepkg_sandbox::{ChartServer, ChartServerError, ControlPlane, SandboxError};
use serde_json::{Value, json};

use crate::charts::{Chart, Source};
use crate::operator::Operator;
use crate::programs::{Finished, Programs};

/// How long anything on a stage may take.
const PATIENCE: Duration = Duration::from_secs(90);

/// Why a test could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The binaries could not be built.
    #[error("building the binaries: {why}")]
    Build {
        /// What cargo said.
        why: String,
    },
    /// The control plane.
    #[error("the control plane")]
    Plane(#[from] SandboxError),
    /// The chart server.
    #[error("the chart server")]
    Charts(#[from] ChartServerError),
    /// A file.
    #[error("{}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
    /// A command failed.
    #[error("`{}` ended with {}\n{}{}", .0.line, .0.code, .0.out, .0.err)]
    Command(Box<Finished>),
    /// Something did not happen in time.
    #[error("waited {PATIENCE:?} for {what}; last seen: {seen}")]
    Late {
        /// What was waited for.
        what: String,
        /// What was there instead.
        seen: String,
    },
    /// An answer was no JSON.
    #[error("`{line}` did not answer with JSON")]
    Json {
        /// The command.
        line: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

/// A group, a namespace, a chart server and operators for one test.
#[derive(Debug)]
pub struct Stage {
    /// The control plane, shared with other tests.
    pub plane: &'static ControlPlane,
    /// The group that this stage's kinds are served under.
    pub group: ApiGroup,
    /// The namespace that releases go to.
    pub namespace: String,
    /// Where charts come from.
    pub charts: ChartServer,
    programs: &'static Programs,
    folder: PathBuf,
}

impl Stage {
    /// A stage with the kinds installed and no operator yet.
    ///
    /// # Errors
    ///
    /// [`Error`]: something it needs is missing.
    pub async fn new(name: &str) -> Result<Self, Error> {
        let plane = ControlPlane::shared().await?;
        let group = format!("{}.example.org", plane.unique(name));
        Self::on(plane, name, &group).await
    }

    /// A stage on a plane of the caller's, with the kinds in `group`.
    ///
    /// # Errors
    ///
    /// [`Error`]: something it needs is missing.
    pub async fn on(plane: &'static ControlPlane, name: &str, group: &str) -> Result<Self, Error> {
        let programs = Programs::build()?;
        let namespace = plane.namespace(name).await?;
        let folder = plane.folder().join(plane.unique(name));
        std::fs::create_dir_all(&folder).map_err(|source| Error::File {
            path: folder.clone(),
            source,
        })?;
        let stage = Self {
            plane,
            group: ApiGroup::new(group).unwrap_or_default(),
            namespace,
            charts: ChartServer::builder().start()?,
            programs,
            folder,
        };
        let crds = stage
            .run("kubepkg-operator", &["crds", "--api-group", group], None)?
            .ok()?;
        stage
            .kubectl_in(&["apply", "--server-side", "-f", "-"], &crds)?
            .ok()?;
        for kind in ["packages", "packagesources", "packagerevisions"] {
            let crd = format!("{kind}.{group}");
            stage
                .until(&format!("{crd} to be served"), &true, || {
                    stage.is_established(&crd)
                })
                .await?;
        }
        Ok(stage)
    }

    /// Whether the API server serves a CRD. `kubectl wait` gives up on one that has no conditions yet.
    fn is_established(&self, crd: &str) -> Result<bool, Error> {
        let object = self.get("crd", crd)?.unwrap_or_default();
        let conditions = object["status"]["conditions"].as_array();
        Ok(conditions
            .into_iter()
            .flatten()
            .any(|c| c["type"] == "Established" && c["status"] == "True"))
    }

    /// Starts an operator with these further flags, as user `operator` of the audit log.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn operator(&self, flags: &[&str]) -> Result<Operator, Error> {
        self.operator_from(&self.programs.path("kubepkg-operator"), flags)
    }

    /// The same with the operator in another file, such as one built for release.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn operator_from(&self, program: &Path, flags: &[&str]) -> Result<Operator, Error> {
        self.start(program, "info,kubepkg=debug", flags)
    }

    /// An operator with this in its log.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn operator_logging(&self, log: &str, flags: &[&str]) -> Result<Operator, Error> {
        self.start(&self.programs.path("kubepkg-operator"), log, flags)
    }

    fn start(&self, program: &Path, log: &str, flags: &[&str]) -> Result<Operator, Error> {
        let mut command = Command::new(program);
        command
            .env("KUBECONFIG", self.plane.identity("operator")?.kubeconfig())
            .env("RUST_LOG", log)
            .args(["--api-group", self.group.as_str()])
            .arg("--cache-dir")
            .arg(self.folder.join("cache"))
            .args([
                "--metrics-bind-address",
                "0",
                "--health-probe-bind-address",
                "0",
            ])
            .args(flags);
        let file = self
            .folder
            .join(format!("{}.log", self.plane.unique("operator")));
        Operator::start(&mut command, file)
    }

    /// Serves a chart.
    ///
    /// # Errors
    ///
    /// It cannot be packed.
    pub fn chart(&self, chart: &Chart) -> Result<(), Error> {
        self.charts
            .add_chart(chart.name, chart.version, chart.files())?;
        Ok(())
    }

    /// Writes the PackageSource of `package`.
    ///
    /// # Errors
    ///
    /// `kubectl` refuses.
    pub fn source(&self, package: &str, source: &Source) -> Result<(), Error> {
        let spec = source.spec(package, &self.namespace, &self.charts.repository_url());
        self.object("PackageSource", package, spec)
    }

    /// Writes the Package `package`.
    ///
    /// # Errors
    ///
    /// `kubectl` refuses.
    pub fn package(&self, package: &str, spec: Value) -> Result<(), Error> {
        self.object("Package", package, spec)
    }

    /// Writes an object of this stage's kinds.
    ///
    /// # Errors
    ///
    /// `kubectl` refuses.
    pub fn object(&self, kind: &str, name: &str, spec: Value) -> Result<(), Error> {
        let mut object = json!({
            "apiVersion": self.group.api_version(),
            "kind": kind,
            "metadata": { "name": name },
        });
        object["spec"] = spec;
        self.kubectl_in(&["apply", "-f", "-"], &object.to_string())?
            .ok()
            .map(drop)
    }

    /// A kind of this stage as `kubectl` takes it: `packages` becomes `packages.<group>`.
    pub fn kind(&self, plural: &str) -> String {
        format!("{plural}.{}", self.group)
    }

    /// Runs `kubepkg` against this stage.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn kubepkg(&self, arguments: &[&str]) -> Result<Finished, Error> {
        let mut all = vec!["--api-group", self.group.as_str()];
        all.extend(arguments);
        self.run("kubepkg", &all, None)
    }

    /// Runs `kubectl` as administrator.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<Finished, Error> {
        self.tool("kubectl", arguments, None)
    }

    /// Runs `kubectl` with text on its standard input.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn kubectl_in(&self, arguments: &[&str], input: &str) -> Result<Finished, Error> {
        self.tool("kubectl", arguments, Some(input))
    }

    /// Runs `helm` in this stage's namespace.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn helm(&self, arguments: &[&str]) -> Result<Finished, Error> {
        self.helm_in(&self.namespace, arguments)
    }

    /// Runs `helm` in a namespace.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn helm_in(&self, namespace: &str, arguments: &[&str]) -> Result<Finished, Error> {
        let mut all = vec!["--namespace", namespace];
        all.extend(arguments);
        self.tool("helm", &all, None)
    }

    /// A folder that goes with the control plane.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// An object as the API server has it; `None` when it is not there.
    ///
    /// # Errors
    ///
    /// The answer cannot be read.
    pub fn get(&self, kind: &str, name: &str) -> Result<Option<Value>, Error> {
        let done = self.kubectl(&[
            "--namespace",
            &self.namespace,
            "get",
            kind,
            name,
            "--ignore-not-found",
            "-o",
            "json",
        ])?;
        let line = done.line.clone();
        let text = done.ok()?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|source| Error::Json { line, source })
    }

    /// The status and reason of the package's `Ready` condition, as `True ReconciliationSucceeded`.
    ///
    /// # Errors
    ///
    /// The package cannot be read.
    pub fn ready(&self, package: &str) -> Result<String, Error> {
        let Some(object) = self.get(&self.kind("packages"), package)? else {
            return Ok("gone".to_owned());
        };
        let generation = &object["metadata"]["generation"];
        let conditions = object["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let Some(ready) = conditions.iter().find(|c| c["type"] == "Ready") else {
            return Ok("unreported".to_owned());
        };
        let text = |key: &str| ready[key].as_str().unwrap_or_default().to_owned();
        let stale = if ready["observedGeneration"] == *generation {
            ""
        } else {
            " stale"
        };
        Ok(format!("{} {}{stale}", text("status"), text("reason")))
    }

    /// The message of the package's `Ready` condition.
    ///
    /// # Errors
    ///
    /// The package cannot be read.
    pub fn message(&self, package: &str) -> Result<String, Error> {
        let object = self
            .get(&self.kind("packages"), package)?
            .unwrap_or_default();
        let conditions = object["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let ready = conditions.iter().find(|c| c["type"] == "Ready");
        Ok(ready
            .and_then(|c| c["message"].as_str())
            .unwrap_or_default()
            .to_owned())
    }

    /// The package's revisions as `1 1.0.0 Applied`, oldest first.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    pub fn history(&self, package: &str) -> Result<Vec<String>, Error> {
        let selector = format!("kubepkg.dev/package={package}");
        let kind = self.kind("packagerevisions");
        let done = self.kubectl(&["get", &kind, "-l", &selector, "-o", "json"])?;
        let line = done.line.clone();
        let list: Value =
            serde_json::from_str(&done.ok()?).map_err(|source| Error::Json { line, source })?;
        let mut rows: Vec<(u64, String)> = list["items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| {
                let number = item["spec"]["revision"].as_u64().unwrap_or_default();
                let from = item["spec"]["restoredFrom"].as_u64();
                let restored = from.map(|n| format!(" from {n}")).unwrap_or_default();
                let version = item["spec"]["version"].as_str().unwrap_or_default();
                let phase = item["status"]["phase"].as_str().unwrap_or("-");
                (number, format!("{number} {version} {phase}{restored}"))
            })
            .collect();
        rows.sort();
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    /// Waits until `look` answers `want`.
    ///
    /// # Errors
    ///
    /// [`Error::Late`] with the last answer, or what `look` fails with.
    pub async fn until<T: std::fmt::Debug + PartialEq>(
        &self,
        what: &str,
        want: &T,
        mut look: impl FnMut() -> Result<T, Error>,
    ) -> Result<(), Error> {
        let end = Instant::now() + PATIENCE;
        loop {
            let seen = look()?;
            if seen == *want {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(Error::Late {
                    what: what.to_owned(),
                    seen: format!("{seen:?}"),
                });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until the package's `Ready` condition is `want`, for its present generation.
    ///
    /// # Errors
    ///
    /// As [`until`](Self::until).
    pub async fn until_ready_is(&self, package: &str, want: &str) -> Result<(), Error> {
        let what = format!("package {package} to be {want}");
        let done = self
            .until(&what, &want.to_owned(), || self.ready(package))
            .await;
        if let Err(Error::Late { what, seen }) = done {
            let seen = format!(
                "{seen}: {}; {:?}",
                self.message(package)?,
                self.history(package)?
            );
            return Err(Error::Late { what, seen });
        }
        done
    }

    /// Waits until the message of the package's `Ready` condition contains `part`.
    ///
    /// # Errors
    ///
    /// As [`until`](Self::until), with the last message.
    pub async fn until_message_has(&self, package: &str, part: &str) -> Result<(), Error> {
        let mut last = String::new();
        let done = self
            .until(part, &true, || {
                last = self.message(package)?;
                Ok(last.contains(part))
            })
            .await;
        match done {
            Err(Error::Late { what, .. }) => Err(Error::Late { what, seen: last }),
            done => done,
        }
    }

    fn tool(
        &self,
        program: &str,
        arguments: &[&str],
        input: Option<&str>,
    ) -> Result<Finished, Error> {
        let user = if program == "helm" { "helm" } else { "admin" };
        let mut command = self.plane.command(program, user)?;
        finish(command.args(arguments), program, arguments, input)
    }

    fn run(
        &self,
        program: &str,
        arguments: &[&str],
        input: Option<&str>,
    ) -> Result<Finished, Error> {
        let mut command = Command::new(self.programs.path(program));
        command
            .env("KUBECONFIG", self.plane.kubeconfig())
            .env("NO_COLOR", "1");
        finish(command.args(arguments), program, arguments, input)
    }
}

fn finish(
    command: &mut Command,
    program: &str,
    arguments: &[&str],
    input: Option<&str>,
) -> Result<Finished, Error> {
    let line = format!("{program} {}", arguments.join(" "));
    let failed = |source| Error::File {
        path: PathBuf::from(program),
        source,
    };
    let stdin = if input.is_some() {
        Stdio::piped()
    } else {
        Stdio::null()
    };
    let mut child = command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let (Some(mut pipe), Some(text)) = (child.stdin.take(), input) {
        // A command that does not read to the end says why itself.
        let _ = pipe.write_all(text.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    Ok(Finished::new(line, &output))
}
