//! How long a large `index.yaml` takes, for `cargo xtask bench index`: a Markdown table.
//!
//! The index is made up: as many versions as fill the size that is asked for, each with what a busy chart has, in the
//! form that Helm writes. With the path of a `helm` program, that program searches the same index beside it, which
//! makes it load the whole.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a measurement, run by hand"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kubepkg_source::{Found, Index};

const CHARTS: usize = 120;
const RUNS: usize = 5;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let megabytes: usize = arguments
        .next()
        .map_or(26, |text| text.parse().expect("a size"));
    let helm = arguments.next();
    let text = Bytes::from(index(megabytes * 1_000_000));
    let middle = format!("chart-{}", CHARTS / 2);

    println!("| {megabytes} MB, {CHARTS} charts | best of {RUNS} |\n|---|---|");
    let row = |what: &str, time: Duration| println!("| {what} | {} ms |", time.as_millis());
    row("open", best(|| drop(Index::open(text.clone()).unwrap())));
    row(
        "open and find one version of one chart",
        best(|| {
            let index = Index::open(text.clone()).unwrap();
            let found = index.find(&middle, "1.0.0").unwrap();
            assert!(matches!(found, Found::Entry(_)));
        }),
    );
    row(
        "open and read every chart",
        best(|| {
            let index = Index::open(text.clone()).unwrap();
            let versions = index.charts().map(|chart| {
                let versions = index.versions(chart).unwrap();
                versions.into_iter().flatten().count()
            });
            assert!(versions.sum::<usize>() > CHARTS);
        }),
    );
    row(
        "parse as one document",
        best(|| drop(Index::parse(&text).unwrap())),
    );
    if let Some(helm) = helm {
        row("helm search repo (start included)", search(&helm, &text));
    }
}

fn best(mut run: impl FnMut()) -> Duration {
    let mut time = || {
        let begun = Instant::now();
        run();
        begun.elapsed()
    };
    (0..RUNS).map(|_| time()).min().unwrap_or_default()
}

/// An index of about this size.
fn index(size: usize) -> String {
    let mut text = String::from("apiVersion: v1\nentries:\n");
    let of_chart = size / CHARTS;
    for chart in 0..CHARTS {
        let _ = writeln!(text, "  chart-{chart}:");
        let end = text.len() + of_chart;
        let mut version = 0;
        while text.len() < end {
            entry(&mut text, chart, version);
            version += 1;
        }
    }
    text.push_str("generated: \"2026-01-01T00:00:00Z\"\n");
    text
}

fn entry(text: &mut String, chart: usize, version: usize) {
    let _ = write!(
        text,
        "  - annotations:
      category: Database
      images: |
        - image: docker.io/example/chart-{chart}:{version}.4.2-debian-12-r3
          name: chart-{chart}
        - image: docker.io/example/exporter:0.15.{version}
          name: exporter
      licenses: Apache-2.0
    apiVersion: v2
    appVersion: {version}.4.2
    created: \"2025-03-04T05:06:07.{version:09}Z\"
    dependencies:
    - name: common
      repository: oci://registry-1.docker.io/example
      tags:
      - example-common
      version: 2.x.x
    description: 'Chart {chart} is a fast, multi-threaded, \"in-memory\" thing for
      applications that need one; it isn''t meant for anything else.'
    digest: {:064x}
    home: https://example.com
    icon: https://example.com/assets/chart-{chart}/img/chart-{chart}-stack-220x234.png
    keywords:
    - thing
    - database
    - cluster
    maintainers:
    - name: Example, Inc.
      url: https://github.com/example/charts
    name: chart-{chart}
    sources:
    - https://github.com/example/charts/tree/main/example/chart-{chart}
    urls:
    - https://charts.example.com/example/chart-{chart}-1.0.{version}.tgz
    version: 1.0.{version}
",
        chart * 100_000 + version
    );
}

/// How long Helm takes to search an index that is in its cache.
fn search(helm: &str, text: &[u8]) -> Duration {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    };
    let cached = write("cache/big-index.yaml", text);
    let known =
        "apiVersion: \"\"\nrepositories: [{name: big, url: 'https://charts.example.com'}]\n";
    let known = write("repositories.yaml", known.as_bytes());
    best(|| {
        let status = Command::new(helm)
            .args(["search", "repo", "nothing-like-this"])
            .env("HOME", home.path())
            .env("HELM_REPOSITORY_CONFIG", &known)
            .env(
                "HELM_REPOSITORY_CACHE",
                cached.parent().unwrap_or_else(|| Path::new("")),
            )
            .output();
        assert!(status.unwrap().status.success());
    })
}
