//! Packaging, against what Helm's `Save` wrote.

use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use kubepkg_helm::{ArchiveTimes, Chart, ChartLimits, PackageOptions, package};
use serde_json::{Value, json};

use crate::vectors::{run, same};

const FILE_TIME: u64 = 1_600_000_000;
const NOW: i64 = 1_700_000_000;

/// Writes the files of a case below `folder`, all with one time.
fn write(files: &Value, folder: &Path) {
    for (path, text) in files.as_object().unwrap() {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text.as_str().unwrap()).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(FILE_TIME);
        file.set_modified(time).unwrap();
    }
}

fn options() -> PackageOptions {
    PackageOptions {
        times: ArchiveTimes { now: Some(NOW) },
        ..PackageOptions::default()
    }
}

fn entries(bytes: &[u8]) -> Value {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes));
    let mut rows = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut body = String::new();
        entry.read_to_string(&mut body).unwrap();
        let header = entry.header();
        let mtime = match header.mtime().unwrap() {
            FILE_TIME => json!("file"),
            now if i64::try_from(now) == Ok(NOW) => json!("now"),
            other => json!(other),
        };
        rows.push(json!({
            "name": String::from_utf8_lossy(&entry.path_bytes()),
            "body": body,
            "format": if header.as_ustar().is_some() { "USTAR" } else { "other" },
            "gid": header.gid().unwrap(),
            "uid": header.uid().unwrap(),
            "uname": header.username().unwrap().unwrap_or_default(),
            "mode": format!("{:o}", header.mode().unwrap()),
            "mtime": mtime,
            "type": String::from(char::from(header.entry_type().as_byte())),
        }));
    }
    rows.into()
}

#[test]
fn packages_as_helm() {
    run("oci-tar-package", |case| {
        let folder = tempfile::tempdir().unwrap();
        let (chart, out) = (folder.path().join("chart"), folder.path().join("out"));
        write(&case["files"], &chart);
        // The rows are of Save alone: nobody looks for missing dependencies, nor for Chart.yaml before loading.
        let limits = ChartLimits::default();
        let loaded = if chart.join("Chart.yaml").exists() {
            Chart::load_dir_with_times(&chart, &limits)
        } else {
            Chart::from_files([("README.md", "r")], &limits)
        };
        let saved = loaded.map_err(|error| error.to_string()).and_then(|chart| {
            let saved = chart.save(&out, options().times);
            saved.map_err(|error| error.to_string())
        });
        let path = match (saved, case.get("error")) {
            (Err(error), Some(wanted)) => {
                let left = std::fs::read_dir(&out).is_ok_and(|files| files.count() > 0);
                let kept = case["file_left"].as_bool().unwrap_or_default();
                same("file is left", &left, &kept)?;
                let error = error.replace(&format!("{}/", chart.display()), "");
                return same("error", &Value::from(error), wanted);
            }
            (Err(error), None) => return Err(error),
            (Ok(_), Some(wanted)) => return Err(format!("no error, wanted {wanted}")),
            (Ok(path), None) => path,
        };
        let name = path.file_name().unwrap().to_str().unwrap();
        same("name", &Value::from(name), &case["file"])?;
        let bytes = std::fs::read(&path).unwrap();
        let hex: Vec<String> = bytes
            .iter()
            .take(10)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let hex = hex.concat();
        same("header", &Value::from(hex), &case["gzip_header_hex"])?;
        let gzip = flate2::read::GzDecoder::new(bytes.as_slice());
        let header = gzip.header().unwrap();
        let text = |bytes: Option<&[u8]>| {
            Value::from(String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned())
        };
        same("extra", &text(header.extra()), &case["gzip_extra"])?;
        same("comment", &text(header.comment()), &case["gzip_comment"])?;
        same("file name", &text(header.filename()), &case["gzip_name"])?;
        let timeless = Value::from(header.mtime() == 0);
        same("gzip time", &timeless, &case["gzip_mtime_zero"])?;
        same("entries", &entries(&bytes), &case["entries"])
    });
}

/// A chart with what archives can hold: subcharts in archives, long names, names beyond ASCII, a lock.
fn rich(folder: &Path) {
    let long = format!("templates/{}/{}.yaml", "d".repeat(90), "f".repeat(80));
    let longer = format!("files/{}/{}.txt", "d".repeat(120), "f".repeat(120));
    let files = json!({
        "Chart.yaml": "apiVersion: v2\nname: rich\nversion: 1.0.0\nappVersion: 2\n# gone\n",
        "Chart.lock": "dependencies: []\ndigest: sha256:ab\ngenerated: \"2024-01-02T03:04:05.700Z\"\n",
        "values.yaml": "a: 1 # kept\n",
        "values.schema.json": "{}",
        "templates/cm.yaml": "kind: ConfigMap\n",
        "files/grüße.txt": "text",
        long: "kind: Secret\n",
        longer: "x".repeat(1000),
        "charts/sub/Chart.yaml": "apiVersion: v1\nname: sub\nversion: 0.1.0\n",
        "charts/sub/requirements.yaml": "dependencies: []\n",
    });
    write(&files, folder);
}

/// The archive without its compression, which is Go's there and ours here.
fn blocks(path: &Path) -> Vec<u8> {
    let mut blocks = Vec::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file)
        .read_to_end(&mut blocks)
        .unwrap();
    blocks
}

#[test]
fn the_blocks_of_an_archive_are_those_of_helm() {
    let assets = kubepkg_sandbox::Assets::find().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("rich");
    rich(&chart);
    for stamp in [None, Some(1_234_567_890)] {
        let mut helm = std::process::Command::new(assets.program("helm").unwrap());
        helm.args(["package", "rich", "--destination", "helm"]);
        helm.args(["--version", "3.2.1", "--app-version", "7"]);
        helm.current_dir(folder.path())
            .env_remove("SOURCE_DATE_EPOCH");
        helm.env("HELM_CACHE_HOME", folder.path());
        helm.env("HELM_CONFIG_HOME", folder.path());
        if let Some(stamp) = stamp {
            helm.env("SOURCE_DATE_EPOCH", stamp.to_string());
        }
        let finished = helm.output().unwrap();
        assert!(finished.status.success(), "{finished:?}");
        let options = PackageOptions {
            version: Some("3.2.1".into()),
            app_version: Some("7".into()),
            stamp,
            ..options()
        };
        let ours = package(&chart, &folder.path().join("ours"), &options).unwrap();
        let theirs = folder.path().join("helm/rich-3.2.1.tgz");
        let (ours, theirs) = (blocks(&ours), blocks(&theirs));
        let differs = ours.iter().zip(&theirs).position(|(one, two)| one != two);
        assert_eq!(
            (differs, ours.len()),
            (None, theirs.len()),
            "stamp {stamp:?}"
        );
    }
}

#[test]
fn one_stamp_makes_the_same_archive_in_every_run() {
    let folder = tempfile::tempdir().unwrap();
    rich(&folder.path().join("rich"));
    let archive = |name: &str, now: i64| {
        let options = PackageOptions {
            stamp: Some(1_234_567_890),
            times: ArchiveTimes { now: Some(now) },
            ..PackageOptions::default()
        };
        let path = package(
            &folder.path().join("rich"),
            &folder.path().join(name),
            &options,
        );
        std::fs::read(path.unwrap()).unwrap()
    };
    assert_eq!(archive("a", 1), archive("b", 2));
}

#[test]
fn overridden_versions_are_in_the_archive_and_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("rich");
    rich(&chart);
    let options = PackageOptions {
        version: Some("2.0.0+b".into()),
        app_version: Some("9".into()),
        ..options()
    };
    let path = package(&chart, folder.path(), &options).unwrap();
    assert_eq!(path, folder.path().join("rich-2.0.0+b.tgz"));
    let entries = entries(&std::fs::read(path).unwrap());
    assert_eq!(
        entries[0]["body"],
        "apiVersion: v2\nappVersion: \"9\"\nname: rich\nversion: 2.0.0+b\n"
    );
    let refused = package(
        &chart,
        folder.path(),
        &PackageOptions {
            version: Some("x".into()),
            ..options
        },
    );
    // Masterminds' ErrInvalidSemVer, which `helm package --version x` prints.
    assert_eq!(refused.unwrap_err().to_string(), "invalid semantic version");
}
