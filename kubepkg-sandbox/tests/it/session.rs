//! Sessions of `helm` and `kubectl` give the same text on the sandbox and on the real API server.
//!
//! The files of `session/` hold them, a command of the shell on each line that begins with `$`. `file NAME` begins a file that
//! ends with an empty line. `differs REASON` above a command is a difference that we know, and fails when there is
//! none. A command that reads and is answered differently is run again for a while, since the controllers of the real
//! plane take their time.
//!
//! Compared are standard output and error and the exit code, after masks: times, ages, UIDs, addresses, the random
//! ends of names, and how many blanks stand between columns, which follows from the length of these.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use kubepkg_sandbox::{Assets, ControlPlane, EmbeddedPlane};
use regex::Regex;

/// How long a controller of the real plane may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a script says to do.
enum Step {
    File {
        name: String,
        text: String,
    },
    Run {
        line: usize,
        command: String,
        differs: Option<String>,
    },
}

fn parse(script: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut differs = None;
    let mut lines = script.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if let Some(name) = line.strip_prefix("file ") {
            let text = lines.by_ref().map(|(_, line)| line);
            let text: Vec<&str> = text.take_while(|line| !line.is_empty()).collect();
            steps.push(Step::File {
                name: name.to_owned(),
                text: text.join("\n") + "\n",
            });
        } else if let Some(reason) = line.strip_prefix("differs ") {
            differs = Some(reason.to_owned());
        } else if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step::Run {
                line: index + 1,
                command: command.to_owned(),
                differs: differs.take(),
            });
        } else {
            assert!(
                line.is_empty() || line.starts_with('#'),
                "line {}: {line}",
                index + 1
            );
        }
    }
    steps
}

/// One of the two servers, with a folder to work in.
struct Side {
    kubeconfig: std::path::PathBuf,
    folder: tempfile::TempDir,
    path: String,
    namespace: String,
}

impl Side {
    fn new(kubeconfig: &Path, namespace: &str) -> Self {
        let program = Assets::find().unwrap().program("kubectl").unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        Self {
            kubeconfig: kubeconfig.to_owned(),
            folder: tempfile::tempdir().unwrap(),
            path: format!("{}:{path}", program.parent().unwrap().display()),
            namespace: namespace.to_owned(),
        }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn run(&self, command: &str, masks: &[(Regex, &str)]) -> String {
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", &self.path)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", self.folder.path())
            .env("HELM_NAMESPACE", &self.namespace)
            .env("NS", &self.namespace)
            .output()
            .unwrap();
        let mut text = format!("exit {}\n", output.status.code().unwrap_or(-1));
        for stream in [&output.stdout, &output.stderr] {
            text.push_str(&String::from_utf8_lossy(stream));
            text.push('\n');
        }
        let text = text
            .replace(&self.namespace, "<namespace>")
            .replace(self.folder.path().to_str().unwrap(), "<folder>");
        masks.iter().fold(text, |text, (mask, with)| {
            mask.replace_all(&text, *with).into_owned()
        })
    }
}

fn masks() -> Vec<(Regex, &'static str)> {
    [
        ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uid>"),
        (
            r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000 UTC)?",
            "<time>",
        ),
        (
            r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun),? [\w ]+ \d\d:\d\d:\d\d( \+0000| \d{4})?",
            "<time>",
        ),
        (r"(?i)(resource ?version): .*", "$1: <version>"),
        (r#"(resourceVersion\\*":\\*")\d+"#, "$1<version>"),
        (r"modifiedAt=\d+", "modifiedAt=<time>"),
        (r"kube-api-access-\w{5}", "kube-api-access-<pod>"),
        (r"kubectl-edit-\d+", "kubectl-edit-<number>"),
        // A ReplicaSet's hash and a pod's own end, in the letters of Kubernetes.
        (
            r"-[bcdfghjklmnpqrstvwxz0-9]{8,10}-[bcdfghjklmnpqrstvwxz0-9]{5}\b",
            "-<hash>-<pod>",
        ),
        (
            r"(web|pod-template-hash)([-=])[bcdfghjklmnpqrstvwxz0-9]{8,10}\b",
            "$1$2<hash>",
        ),
        (r"(migrate)-[bcdfghjklmnpqrstvwxz0-9]{5}\b", "$1-<pod>"),
        (r"\b10(\.\d+){3}\b", "<address>"),
        (r"https://127\.0\.0\.1:\d+", "<server>"),
        (r"\b\d+[smhd](\d+[smh])?\b", "<age>"),
        // What the Go client logs of a watch that helm ends.
        (
            r"(?m)^[EIW]\d{4} .*(reflector|request)\.go:\d+\].*context canceled.*\n",
            "",
        ),
        (r"[ \t]+", " "),
        (r"(?m) $", ""),
    ]
    .map(|(mask, with)| (Regex::new(mask).unwrap(), with))
    .into()
}

/// Commands that may be run again.
fn reads(command: &str) -> bool {
    let verbs = [
        " get ",
        " describe ",
        " events ",
        "helm list",
        "helm status",
        "helm history",
    ];
    // A watch is there to see changes, which its command makes.
    verbs.iter().any(|verb| command.contains(verb)) && !command.contains(" -w ")
}

/// Runs a session on both servers.
async fn compare(name: &str, script: &str) {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace(&format!("session-{name}")).await.unwrap();
    let embedded = EmbeddedPlane::start(None).unwrap();
    let api: Api<Namespace> = Api::all(embedded.server().client());
    let mut object = Namespace::default();
    object.metadata.name = Some(namespace.clone());
    api.create(&PostParams::default(), &object).await.unwrap();
    let real = Side::new(plane.kubeconfig(), &namespace);
    let ours = Side::new(&embedded.folder().join("kubeconfig"), &namespace);
    let masks = masks();
    let (mut commands, mut complaints) = (0, String::new());
    for step in parse(script) {
        let (line, command, differs) = match step {
            Step::File { name, text } => {
                real.write(&name, &text);
                ours.write(&name, &text);
                continue;
            }
            Step::Run {
                line,
                command,
                differs,
            } => (line, command, differs),
        };
        commands += 1;
        let both = || (real.run(&command, &masks), ours.run(&command, &masks));
        let (mut expected, mut found) = both();
        let end = Instant::now() + PATIENCE;
        while expected != found && differs.is_none() && reads(&command) && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(200)).await;
            (expected, found) = both();
        }
        match (differs, expected == found) {
            (None, true) | (Some(_), false) => {}
            (None, false) => write!(
                complaints,
                "{name}.txt:{line}: {command}\n--- real\n{expected}--- sandbox\n{found}"
            )
            .unwrap(),
            (Some(reason), true) => {
                writeln!(
                    complaints,
                    "{name}.txt:{line}: {command}\n  no longer differs: {reason}"
                )
                .unwrap();
            }
        }
    }
    assert!(commands > 0);
    assert!(complaints.is_empty(), "{complaints}");
}

macro_rules! sessions {
    ($($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() {
                let script = include_str!(concat!("session/", stringify!($name), ".txt"));
                compare(stringify!($name), script).await;
            }
        )*
    };
}

sessions!(basics, helm, inspecting, kubectl);
