//! Indexes of chart repositories, beside those that Helm makes of the same folder.

use kubepkg_charts::IndexFile;
use kubepkg_helm::ChartLimits;

use crate::helm::{Helm, write};

const NOW: &str = "2026-01-02T03:04:05Z";

/// The index without its times.
fn without_times(text: &str) -> String {
    let time = |line: &&str| {
        !line
            .trim_start()
            .trim_start_matches("- ")
            .starts_with("created: ")
            && !line.starts_with("generated: ")
    };
    // A time comes first in an entry or behind its annotations; the dash goes with it.
    let lines = text.lines().map(|line| line.trim_start_matches([' ', '-']));
    let lines: Vec<&str> = lines.filter(time).collect();
    lines.join("\n")
}

/// The same for JSON, character by character but for the times.
fn without_json_times(text: &str) -> String {
    let time = |line: &&str| {
        let line = line.trim_start();
        !line.starts_with("\"created\": ") && !line.starts_with("\"generated\": ")
    };
    text.split_inclusive('\n').filter(time).collect()
}

fn charts(helm: &Helm) {
    for (folder, yaml) in [
        (
            "a1",
            "apiVersion: v2\nname: a\nversion: 1.0.0\ndescription: one\n",
        ),
        (
            "a2",
            "apiVersion: v2\nname: a\nversion: 1.10.0\ndescription: 'x: \"y\" <z> &  ä'\nkubeVersion: '>=1.20.0-0'\n",
        ),
        (
            "a3",
            "apiVersion: v1\nname: a\nversion: 1.9.0\nmaintainers: [{name: m, email: m@example.com}]\n",
        ),
        (
            "b",
            "apiVersion: v2\nname: b\nversion: 0.1.0-rc.1\nannotations: {k: v}\nappVersion: '1'\ntype: library\n",
        ),
    ] {
        helm.chart(folder, yaml);
        helm.run(&["package", folder, "-d", "repo"]);
    }
    helm.chart("c", "apiVersion: v2\nname: c\nversion: 3.0.0+x\n");
    helm.run(&["package", "c", "-d", "repo/below"]);
    write(&helm.path("repo/broken.tgz"), "not a chart");
    write(&helm.path("repo/notes.txt"), "no chart either");
}

#[test]
fn the_index_of_a_folder_is_the_one_that_helm_makes() {
    let helm = Helm::new();
    charts(&helm);
    for url in [
        "",
        "https://h.example/charts",
        "https://h.example/charts/?x=1",
    ] {
        let mut ours =
            IndexFile::of_folder(&helm.path("repo"), url, NOW, &ChartLimits::default()).unwrap();
        ours.sort();
        helm.run(&["repo", "index", "repo", "--url", url]);
        let theirs = std::fs::read_to_string(helm.path("repo/index.yaml")).unwrap();
        assert_eq!(
            without_times(&ours.to_yaml().unwrap()),
            without_times(&theirs),
            "{url}"
        );
        helm.run(&["repo", "index", "repo", "--url", url, "--json"]);
        let theirs = std::fs::read_to_string(helm.path("repo/index.yaml")).unwrap();
        let ours = ours.to_json().unwrap();
        assert_eq!(without_json_times(&ours), without_json_times(&theirs));
        std::fs::remove_file(helm.path("repo/index.yaml")).unwrap();
    }
}

#[test]
fn a_merged_index_is_the_one_that_helm_merges() {
    let helm = Helm::new();
    charts(&helm);
    let old = "\
apiVersion: v1
entries:
  a:
  - apiVersion: v2
    created: \"2020-01-01T00:00:00.120Z\"
    digest: aa
    name: a
    urls: [old/a-1.9.0.tgz]
    version: 1.9.0
  - apiVersion: v2
    created: \"2020-01-01T00:00:00Z\"
    name: a
    urls: [old/a-0.5.0.tgz]
    version: 0.5.0
  d:
  - {name: d, version: 1.0.0, urls: [d.tgz], removed: true, deprecated: true}
generated: \"2020-01-01T00:00:00Z\"
";
    write(&helm.path("old.yaml"), old);
    let mut ours =
        IndexFile::of_folder(&helm.path("repo"), "", NOW, &ChartLimits::default()).unwrap();
    ours.merge(IndexFile::parse(old.as_bytes()).unwrap());
    ours.sort();
    helm.run(&["repo", "index", "repo", "--merge", "old.yaml"]);
    let theirs = std::fs::read_to_string(helm.path("repo/index.yaml")).unwrap();
    assert_eq!(
        without_times(&ours.to_yaml().unwrap()),
        without_times(&theirs)
    );
}

#[test]
fn what_is_written_is_read_again() {
    let helm = Helm::new();
    charts(&helm);
    let mut index =
        IndexFile::of_folder(&helm.path("repo"), "", NOW, &ChartLimits::default()).unwrap();
    index.sort();
    let text = index.to_yaml().unwrap();
    assert_eq!(IndexFile::parse(text.as_bytes()).unwrap(), index);
    let text = index.to_json().unwrap();
    assert_eq!(IndexFile::parse(text.as_bytes()).unwrap(), index);
}
