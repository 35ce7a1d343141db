//! Symbolic links in the folder of a chart.

use std::fs;
use std::os::unix::fs::symlink;

use kubepkg_helm::{Chart, ChartError, ChartLimits};

const CHART: &str = "apiVersion: v2\nname: c\nversion: 1.0.0\n";

#[test]
fn follows_links_inside_the_boundary_that_the_caller_names() {
    let tree = tempfile::tempdir().unwrap();
    let tree = tree.path().canonicalize().unwrap();
    let chart = tree.join("charts/one");
    fs::create_dir_all(&chart).unwrap();
    fs::create_dir_all(tree.join("shared")).unwrap();
    fs::write(chart.join("Chart.yaml"), CHART).unwrap();
    fs::write(tree.join("shared/a.txt"), "text").unwrap();
    symlink("../../shared", chart.join("linked")).unwrap();
    let limits = ChartLimits::default();
    let error = Chart::load_dir(&chart, &limits).unwrap_err();
    assert!(matches!(error, ChartError::LinkOutside { .. }), "{error}");
    let loaded = Chart::load_dir_within(&chart, &tree, &limits).unwrap();
    let names: Vec<&str> = loaded.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["linked/a.txt"]);
}

/// The words of `helm template` for such a chart.
#[test]
fn names_the_part_of_a_broken_link_that_is_missing() {
    let tree = tempfile::tempdir().unwrap();
    let tree = tree.path().canonicalize().unwrap();
    let chart = tree.join("one");
    fs::create_dir_all(&chart).unwrap();
    fs::write(chart.join("Chart.yaml"), CHART).unwrap();
    symlink("../gone/deep", chart.join("broken")).unwrap();
    symlink("broken", chart.join("again")).unwrap();
    let error = Chart::load_dir(&chart, &ChartLimits::default()).unwrap_err();
    let wanted = format!(
        "error evaluating symlink {}: lstat {}: no such file or directory",
        chart.join("again").display(),
        tree.join("gone").display(),
    );
    assert_eq!(error.to_string(), wanted);
}
