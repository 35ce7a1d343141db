//! Logins that a credential helper keeps, as on desktops, against a registry that asks for a password.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use kubepkg_sandbox::{Assets, DockerRegistry};

use crate::chart::{chart_with, write_chart};

/// The protocol of docker-credential-helpers, with a file in place of a key chain.
const HELPER: &str = r#"#!/bin/sh
kept="$0.kept"
echo "$1" >> "$0.calls"
case "$1" in
store) cat > "$kept" ;;
get) cat > /dev/null
    if [ -f "$kept" ]; then cat "$kept"; else echo "credentials not found in native keychain"; exit 1; fi ;;
erase) cat > /dev/null; rm -f "$kept" ;;
esac
"#;

fn write_config(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A home with credential helpers on its `PATH`.
struct Desktop {
    folder: tempfile::TempDir,
    path: String,
}

impl Desktop {
    fn new(helpers: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        for helper in helpers {
            let program = bin.join(format!("docker-credential-{helper}"));
            std::fs::write(&program, HELPER).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = format!("{}:/usr/bin:/bin", bin.display());
        Self { folder, path }
    }

    fn home(&self) -> &Path {
        self.folder.path()
    }

    /// Where `helm registry login` keeps logins.
    fn config(&self) -> PathBuf {
        self.home().join(".config/helm/registry/config.json")
    }

    /// What a helper keeps.
    fn kept(&self, helper: &str) -> Option<String> {
        let file = format!("bin/docker-credential-{helper}.kept");
        std::fs::read_to_string(self.home().join(file)).ok()
    }

    /// What a helper was asked to do.
    fn calls(&self, helper: &str) -> Vec<String> {
        let file = format!("bin/docker-credential-{helper}.calls");
        let text = std::fs::read_to_string(self.home().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Runs `kubepkg chart`, which must end with this code; what it says.
    fn chart(&self, arguments: &[&str], input: &str, code: i32) -> String {
        let run = chart_with(self.home(), arguments, input, &[("PATH", &self.path)]);
        assert_eq!(run.code, Some(code), "{arguments:?}: {}", run.messages);
        // Messages are wrapped for people.
        let words = run.results + &run.messages;
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Whether the real helm, with the same home, may pull.
    fn helm_pulls(&self, chart: &str) -> bool {
        let destination = tempfile::tempdir().unwrap();
        let folder = destination.path().to_str().unwrap();
        self.helm(&["pull", chart, "--plain-http", "-d", folder])
    }

    /// Runs the real helm with the same home; whether it succeeds.
    fn helm(&self, arguments: &[&str]) -> bool {
        let helm = Assets::find().unwrap().program("helm").unwrap();
        let output = std::process::Command::new(helm)
            .args(arguments)
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", &self.path)
            .output()
            .unwrap();
        output.status.success()
    }

    fn login(&self, host: &str) {
        let login = [
            "login",
            host,
            "-u",
            DockerRegistry::USER,
            "--password-stdin",
        ];
        self.chart(&login, DockerRegistry::PASSWORD, 0);
    }
}

#[test]
fn logins_go_to_the_helper_for_all_and_come_from_it() {
    let registry = DockerRegistry::start_with_password().unwrap();
    let (host, url) = (registry.address().to_string(), registry.url());
    let desktop = Desktop::new(&["desk"]);
    write_config(&desktop.config(), r#"{"credsStore":"desk"}"#);
    write_chart(
        &desktop.home().join("web"),
        "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    );
    desktop.chart(&["package", "web"], "", 0);
    let push = ["push", "web-1.0.0.tgz", &url];
    // What the helper does not know is no error of the helper.
    let refused = desktop.chart(&push, "", 1);
    assert!(refused.contains("no credentials are known"), "{refused}");

    desktop.login(&host);
    let kept = desktop.kept("desk").unwrap();
    assert!(kept.contains(DockerRegistry::PASSWORD), "{kept}");
    let file = std::fs::read_to_string(desktop.config()).unwrap();
    for secret in [DockerRegistry::PASSWORD, "\"auth\""] {
        assert!(!file.contains(secret), "{file}");
    }
    assert!(file.contains("\"credsStore\": \"desk\""), "{file}");
    desktop.chart(&push, "", 0);
    let web = format!("{url}/web");
    desktop.chart(&["pull", &web, "-d", "here"], "", 0);
    assert!(desktop.helm_pulls(&web), "helm finds the login there");

    desktop.chart(&["logout", &host], "", 0);
    assert_eq!(desktop.kept("desk"), None);
    desktop.chart(&["pull", &web, "-d", "again"], "", 1);
    assert!(!desktop.helm_pulls(&web));
}

#[test]
fn the_helper_of_a_host_comes_before_the_one_for_all() {
    let registry = DockerRegistry::start_with_password().unwrap();
    let (host, url) = (registry.address().to_string(), registry.url());
    let desktop = Desktop::new(&["desk", "own"]);
    let config = format!(r#"{{"credsStore":"desk","credHelpers":{{"{host}":"own"}}}}"#);
    write_config(&desktop.config(), &config);
    desktop.login(&host);
    assert!(desktop.kept("own").is_some());
    assert_eq!(desktop.calls("desk"), [""; 0]);
    // The chart is not there; only a login learns that.
    let missing = desktop.chart(
        &["pull", &format!("{url}/web"), "--version", "1.0.0"],
        "",
        1,
    );
    assert!(missing.contains("the registry has no "), "{missing}");
    assert_eq!(desktop.calls("desk"), [""; 0]);
}

#[test]
fn what_docker_itself_keeps_in_a_helper_is_found() {
    let registry = DockerRegistry::start_with_password().unwrap();
    let (host, url) = (registry.address().to_string(), registry.url());
    let desktop = Desktop::new(&["desk"]);
    let docker = desktop.home().join(".docker/config.json");
    write_config(&docker, r#"{"credsStore":"desk"}"#);
    let entry = format!(
        r#"{{"ServerURL":"{host}","Username":"{}","Secret":"{}"}}"#,
        DockerRegistry::USER,
        DockerRegistry::PASSWORD
    );
    std::fs::write(
        desktop.home().join("bin/docker-credential-desk.kept"),
        entry,
    )
    .unwrap();
    let pull = ["pull", &format!("{url}/web"), "--version", "1.0.0"];
    let missing = desktop.chart(&pull, "", 1);
    assert!(missing.contains("the registry has no "), "{missing}");
    // A helper that is not installed is named, and what it said is not.
    write_config(&docker, r#"{"credsStore":"gone"}"#);
    let failed = desktop.chart(&pull, "", 1);
    assert!(failed.contains("the credential helper for"), "{failed}");
    assert!(!failed.contains(DockerRegistry::PASSWORD), "{failed}");
}

/// As with Helm: `pass` where that program is, else `secretservice`.
#[test]
fn logins_go_to_the_key_chain_of_the_desktop_when_nothing_says_otherwise() {
    let registry = DockerRegistry::start_with_password().unwrap();
    let host = registry.address().to_string();
    let (user, password) = (DockerRegistry::USER, DockerRegistry::PASSWORD);
    let by_us = |desktop: &Desktop| desktop.login(&host);
    let by_helm = |desktop: &Desktop| {
        let login = ["registry", "login", &host, "--plain-http"];
        let login = [&login[..], &["-u", user, "-p", password]].concat();
        assert!(desktop.helm(&login));
    };
    let logins: [&dyn Fn(&Desktop); 2] = [&by_us, &by_helm];
    for login in logins {
        let desktop = Desktop::new(&["pass", "secretservice"]);
        login(&desktop);
        let kept = desktop.kept("secretservice").or(desktop.kept("pass"));
        assert!(kept.unwrap().contains(password));
        let file = std::fs::read_to_string(desktop.config()).unwrap();
        assert!(!file.contains("\"auth\""), "{file}");
        assert!(file.contains("\"credsStore\""), "{file}");
        let pull = [
            "pull",
            &format!("{}/web", registry.url()),
            "--version",
            "1.0.0",
        ];
        let missing = desktop.chart(&pull, "", 1);
        assert!(missing.contains("the registry has no "), "{missing}");
        desktop.chart(&["logout", &host], "", 0);
        assert_eq!(desktop.kept("secretservice").or(desktop.kept("pass")), None);
    }
    // One that does not work, as without a desktop, is passed over: a chart that anybody may have needs no login.
    let desktop = Desktop::new(&["pass", "secretservice"]);
    for helper in ["pass", "secretservice"] {
        let program = format!("bin/docker-credential-{helper}");
        std::fs::write(desktop.home().join(program), "#!/bin/sh\nexit 1\n").unwrap();
    }
    let open = DockerRegistry::start().unwrap();
    let pull = ["pull", &format!("{}/web", open.url()), "--version", "1.0.0"];
    let missing = desktop.chart(&pull, "", 1);
    assert!(missing.contains("the registry has no "), "{missing}");
    // A file that holds a login goes on holding them.
    let desktop = Desktop::new(&["pass", "secretservice"]);
    let config = r#"{"auths":{"other.example":{"auth":"YTox"}}}"#;
    write_config(&desktop.config(), config);
    desktop.login(&host);
    assert_eq!(desktop.kept("secretservice").or(desktop.kept("pass")), None);
}
