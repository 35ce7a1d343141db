//! Costs that can be counted: files that are looked at, steps of the template engine. Nothing here looks at a clock.

use std::fs;
use std::path::Path;

use kubepkg_helm::{
    Capabilities, Chart, ChartError, ChartLimits, ReleaseFacts, RenderError, RenderLimits,
    RenderOptions, Values, render,
};

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn load(folder: &Path, max_files: usize) -> Result<Chart, ChartError> {
    let limits = ChartLimits {
        max_files,
        ..ChartLimits::default()
    };
    Chart::load_dir(folder, &limits)
}

/// The fewest steps with which a chart renders.
fn steps(chart: &Chart) -> u64 {
    let renders = |steps: u64| {
        let limits = RenderLimits {
            steps,
            ..RenderLimits::default()
        };
        let options = RenderOptions {
            limits: Some(&limits),
            ..RenderOptions::default()
        };
        let rendered = render(
            chart,
            &Values::default(),
            &ReleaseFacts::install("r", "ns"),
            &Capabilities::default(),
            &options,
        );
        match rendered {
            Ok(_) => true,
            Err(RenderError::Limit { .. }) => false,
            Err(other) => panic!("{other}"),
        }
    };
    let mut too_few = 0;
    let mut enough = 1;
    while !renders(enough) {
        too_few = enough;
        enough *= 2;
    }
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        if renders(middle) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    enough
}

/// Steps of charts with 10, 20 and 40 of something: the second ten cost what each of the next two tens costs.
fn is_linear(make: impl Fn(&Path, usize)) {
    let counted = [10, 20, 40].map(|n| {
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            "Chart.yaml",
            "apiVersion: v2\nname: c\nversion: 1.0.0\n",
        );
        make(folder.path(), n);
        steps(&load(folder.path(), 20_000).unwrap())
    });
    let [ten, twenty, forty] = counted;
    assert!(twenty > ten, "{counted:?}");
    assert_eq!(forty - twenty, 2 * (twenty - ten), "{counted:?}");
}

#[test]
fn an_ignored_folder_is_not_looked_into() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(
        root,
        "Chart.yaml",
        "apiVersion: v2\nname: c\nversion: 1.0.0\n",
    );
    write(root, ".helmignore", ".git/\n");
    for number in 0..100 {
        write(root, &format!(".git/objects/{number}"), "x");
    }
    // A link out of the chart is refused where it is seen.
    #[cfg(unix)]
    std::os::unix::fs::symlink("/", root.join(".git/outside")).unwrap();
    // Chart.yaml, .helmignore, .git.
    let chart = load(root, 3).unwrap();
    let files: Vec<&str> = chart.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(files, [".helmignore"]);
    // Without the rule everything in it counts.
    write(root, ".helmignore", "");
    assert!(load(root, 50).is_err());
}

#[test]
fn an_umbrella_costs_the_sum_of_its_parts() {
    is_linear(|root, n| {
        for number in 0..n {
            let sub = root.join("charts").join(format!("sub{number:03}"));
            write(
                &sub,
                "Chart.yaml",
                &format!("apiVersion: v2\nname: sub{number:03}\nversion: 1.0.0\n"),
            );
            write(&sub, "values.yaml", "a: 1\nglobal: {x: y}\n");
            write(
                &sub,
                "templates/_helpers.tpl",
                &format!(
                    "{{{{ define \"sub{number:03}.name\" }}}}{{{{ .Chart.Name }}}}{{{{ end }}}}"
                ),
            );
            write(
                &sub,
                "templates/object.yaml",
                &format!("a: {{{{ include \"sub{number:03}.name\" . }}}}-{{{{ .Values.a }}}}\n"),
            );
        }
    });
}

#[test]
fn the_next_tpl_and_the_next_include_cost_what_the_first_did() {
    is_linear(|root, n| {
        write(
            root,
            "templates/_helpers.tpl",
            "{{ define \"part\" }}{{ .Release.Name }}{{ end }}",
        );
        write(
            root,
            "templates/object.yaml",
            &format!(
                "a: b\n{{{{ range until {n} }}}}# {{{{ tpl \"{{{{ include \\\"part\\\" . }}}}\" $ }}}}{{{{ end }}}}"
            ),
        );
    });
}
