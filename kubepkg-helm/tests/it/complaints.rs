//! What users of Helm complain of in public: rendering, values, dependencies. Where Helm's answer is fixed ours is the
//! same, and be it a bug of Helm's that charts have come to rely on.
//!
//! A case is a file of `tests/testdata/complaints`, named by its rule: why, the flags, the files of the chart, and what
//! `helm template rel . -n ns1` printed, which a second test asks the real Helm again.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use kubepkg_helm::{
    Capabilities, Chart, ChartLimits, ReleaseFacts, RenderOptions, ValueSources, render,
};
use kubepkg_sandbox::Assets;

struct Case {
    name: String,
    flags: Vec<(String, String)>,
    files: BTreeMap<String, String>,
    /// Standard output, or what stands behind `Error: `.
    wanted: Result<String, String>,
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata/complaints");
    let mut cases: Vec<Case> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| read(&entry.unwrap().path()))
        .collect();
    cases.sort_by(|one, two| one.name.cmp(&two.name));
    assert!(cases.len() > 50, "{}", cases.len());
    cases
}

fn read(path: &Path) -> Case {
    let text = std::fs::read_to_string(path).unwrap();
    let (head, body) = text.split_once("-- ").unwrap();
    let mut flags = Vec::new();
    for line in head.lines() {
        match line.strip_prefix("flag: ").map(|flag| flag.split_once(' ')) {
            Some(flag) => {
                let (name, value) = flag.unwrap();
                flags.push((name.to_owned(), value.to_owned()));
            }
            None => assert!(line.starts_with("# "), "{line}"),
        }
    }
    let mut files = BTreeMap::new();
    for part in format!("\n-- {body}").split("\n-- ").skip(1) {
        let (name, text) = part.split_once(" --\n").unwrap();
        // The line feed before the next head belongs to the text.
        files.insert(name.to_owned(), format!("{text}\n"));
    }
    let last = |text: String| text.strip_suffix('\n').unwrap().to_owned();
    let wanted = match (files.remove("wanted"), files.remove("refused")) {
        (Some(printed), None) => Ok(last(printed)),
        (None, Some(printed)) => Err(complaint(&printed)),
        _ => panic!("{}: wanted or refused", path.display()),
    };
    Case {
        name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
        flags,
        files,
        wanted,
    }
}

/// What Helm says behind `Error: `, without its hint.
fn complaint(printed: &str) -> String {
    let (_, error) = printed.split_once("Error: ").unwrap();
    let hint = "Use --debug flag to render out invalid YAML";
    error
        .trim_end()
        .trim_end_matches(hint)
        .trim_end()
        .to_owned()
}

fn ours(case: &Case) -> Result<String, String> {
    let chart = Chart::from_files(case.files.clone(), &ChartLimits::default())
        .map_err(|error| error.to_string())?;
    let mut sources = ValueSources::default();
    for (name, value) in &case.flags {
        let list = match name.as_str() {
            "-f" => &mut sources.files,
            "--set" => &mut sources.set,
            "--set-string" => &mut sources.strings,
            "--set-json" => &mut sources.json,
            other => panic!("flag {other}"),
        };
        list.push(value.clone());
    }
    let values = sources
        .merge(&mut |file| Ok(case.files[file].clone().into_bytes()))
        .map_err(|error| error.to_string())?;
    let rendered = render(
        &chart,
        &values,
        &ReleaseFacts::install("rel", "ns1"),
        &Capabilities::default(),
        &RenderOptions::default(),
    );
    let rendered = rendered.map_err(|error| error.to_string().trim_end().to_owned())?;
    let mut text = format!("{}\n", rendered.manifest.trim());
    for hook in &rendered.hooks {
        for part in ["---\n# Source: ", &hook.path, "\n", &hook.manifest, "\n"] {
            text.push_str(part);
        }
    }
    Ok(text)
}

fn helms(helm: &Path, case: &Case) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in &case.files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut command = Command::new(helm);
    command
        .args(["template", "rel", ".", "-n", "ns1"])
        .current_dir(folder.path());
    for (name, value) in &case.flags {
        command.args([name, value]);
    }
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() {
        Ok(text(output.stdout))
    } else {
        Err(complaint(&text(output.stderr)))
    }
}

fn judge(mut answer: impl FnMut(&Case) -> Result<String, String>) {
    let mut failures = Vec::new();
    for case in cases() {
        let got = answer(&case);
        if got != case.wanted {
            failures.push(format!(
                "{}\n got    {got:?}\n wanted {:?}",
                case.name, case.wanted
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn renders_as_helm_what_people_complain_of() {
    judge(ours);
}

#[test]
fn helm_still_answers_as_it_is_recorded() {
    let helm = Assets::find().unwrap().program("helm").unwrap();
    judge(|case| helms(&helm, case));
}
