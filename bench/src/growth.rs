//! How cost grows: charts with n of something, n = 10, 100, 1000, on both libraries.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::Failure;
use crate::charts::{Folder, chart_yaml};
use crate::statistics::median;
use crate::warm::{Programs, Request, in_turns};

/// The numbers.
pub(crate) const STEPS: [usize; 3] = [10, 100, 1000];
/// Runs of each.
const RUNS: usize = 15;

/// One thing that there is n of.
pub(crate) struct Growth {
    pub(crate) what: &'static str,
    /// Processor time of load and render for each of [`STEPS`].
    pub(crate) library: Vec<Duration>,
    pub(crate) ours: Vec<Duration>,
}

/// What the step from 100 to 1000 costs, divided by that from 10 to 100: 10 when growth is linear.
pub(crate) fn factor(times: &[Duration]) -> f64 {
    let [ten, hundred, thousand] = times else {
        return f64::NAN;
    };
    let seconds = |late: &Duration, early: &Duration| late.as_secs_f64() - early.as_secs_f64();
    seconds(thousand, hundred) / seconds(hundred, ten).max(1e-9)
}

/// A chart with n of something, below a folder.
type Make = fn(&Folder, usize) -> Result<(), Failure>;

const KINDS: &[(&str, Make)] = &[
    ("calls of `include`", |chart, n| {
        chart.template(&format!(
            "{{{{- define \"part\" }}}}x: {{{{ .Release.Name }}}}{{{{ end }}}}\n\
             {}\n{{{{- range $i := until {n} }}}}\n  a{{{{ $i }}}}: {{{{ include \"part\" $ | quote }}}}\n{{{{- end }}}}\n",
            config_map("include"),
        ))
    }),
    ("calls of `tpl`, one text", |chart, n| {
        chart.template(&format!(
            "{}\n{{{{- range $i := until {n} }}}}\n  a{{{{ $i }}}}: {{{{ tpl \"{{{{ .Release.Name }}}}\" $ }}}}\n{{{{- end }}}}\n",
            config_map("tpl"),
        ))
    }),
    ("calls of `tpl`, n texts", |chart, n| {
        chart.template(&format!(
            "{}\n{{{{- range $i := until {n} }}}}\n  a{{{{ $i }}}}: {{{{ tpl (printf \"{{{{ .Release.Name }}}}-%d\" $i) $ }}}}\n{{{{- end }}}}\n",
            config_map("tpl"),
        ))
    }),
    ("templates, and a `tpl` in each", |chart, n| {
        for i in 0..n {
            let text = format!(
                "{}\n  a: {{{{ tpl \"{{{{ include \\\"part{i}\\\" . }}}}\" $ }}}}\n{{{{- define \"part{i}\" }}}}part {i}{{{{ end }}}}\n",
                config_map(&format!("t{i}")),
            );
            chart.file(&format!("templates/t{i}.yaml"), &text)?;
        }
        Ok(())
    }),
    ("keys in values", |chart, n| {
        let mut values = String::new();
        for i in 0..n {
            write_line(&mut values, &format!("key{i}: {{a: {i}, b: text}}"));
        }
        chart.file("values.yaml", &values)?;
        chart.template(&format!(
            "{}\n  all: {{{{ toYaml .Values | quote }}}}\n",
            config_map("values")
        ))
    }),
    ("dictionaries merged into one", |chart, n| {
        chart.template(&format!(
            "{{{{- $all := dict }}}}{{{{- range $i := until {n} }}}}{{{{- $all = merge $all (dict (printf \"k%d\" $i) (dict \"a\" $i)) }}}}{{{{- end }}}}\n\
             {}\n  all: {{{{ len $all }}}}\n",
            config_map("merge"),
        ))
    }),
    ("subcharts", |chart, n| {
        for i in 0..n {
            let folder = format!("charts/sub{i}");
            chart.file(
                &format!("{folder}/Chart.yaml"),
                &chart_yaml(&format!("sub{i}")),
            )?;
            chart.file(&format!("{folder}/values.yaml"), "global: {}\na: 1\n")?;
            let text = format!(
                "{}\n  a: {{{{ .Values.a | quote }}}}\n",
                config_map(&format!("sub{i}"))
            );
            chart.file(&format!("{folder}/templates/object.yaml"), &text)?;
        }
        Ok(())
    }),
    ("files, and a `Files.Get` of each", |chart, n| {
        for i in 0..n {
            chart.file(&format!("files/f{i}.txt"), "text\n")?;
        }
        chart.template(&format!(
            "{}\n{{{{- range $path, $_ := .Files.Glob \"files/*\" }}}}\n  {{{{ base $path }}}}: {{{{ $.Files.Get $path | quote }}}}\n{{{{- end }}}}\n",
            config_map("files"),
        ))
    }),
    ("documents of one template", |chart, n| {
        chart.template(&format!(
            "{{{{- range $i := until {n} }}}}\n---\n{}\n  a: b\n{{{{- end }}}}\n",
            config_map("c{{ $i }}")
        ))
    }),
    ("items of a list, `append` for each", |chart, n| {
        chart.template(&format!(
            "{{{{- $all := list }}}}{{{{- range $i := until {n} }}}}{{{{- $all = append $all (dict \"a\" $i) }}}}{{{{- end }}}}\n\
             {}\n  all: {{{{ toYaml $all | quote }}}}\n",
            config_map("append"),
        ))
    }),
    (
        "includes in each other, 10 deep, of a list of n",
        |chart, n| {
            let mut text = String::new();
            for depth in 0..10 {
                let inner = if depth == 9 {
                    "{{ toYaml .list | nindent 2 }}".to_owned()
                } else {
                    format!("{{{{ include \"d{}\" . | nindent 2 }}}}", depth + 1)
                };
                write_line(
                    &mut text,
                    &format!("{{{{- define \"d{depth}\" }}}}k{depth}:{inner}{{{{ end }}}}"),
                );
            }
            chart.template(&format!(
                "{text}{}\n  all: {{{{ include \"d0\" (dict \"list\" (until {n})) | quote }}}}\n",
                config_map("deep"),
            ))
        },
    ),
];

/// Measures all of them.
pub(crate) fn measure(programs: &Programs, home: &Path) -> Result<Vec<Growth>, Failure> {
    let mut found = Vec::new();
    for (number, (what, make)) in KINDS.iter().enumerate() {
        eprintln!("growth: {what}");
        let mut growth = Growth {
            what,
            library: Vec::new(),
            ours: Vec::new(),
        };
        for n in STEPS {
            let folder = Folder::new(home.join("growth").join(format!("{number}-{n}")));
            folder.file("Chart.yaml", &chart_yaml("growth"))?;
            make(&folder, n)?;
            let warm = in_turns(programs, &Request::new(folder.path()), RUNS)?;
            growth.library.push(median(warm.library.cpu));
            growth.ours.push(median(warm.ours.cpu));
        }
        found.push(growth);
    }
    Ok(found)
}

/// The begin of an object; its data follow.
fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:")
}

fn write_line(text: &mut String, line: &str) {
    let written = writeln!(text, "{line}");
    debug_assert!(written.is_ok(), "a String takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_growth_is_ten_and_quadratic_growth_is_a_hundred() {
        let times = |of: fn(u64) -> u64| -> Vec<Duration> {
            [10, 100, 1000]
                .into_iter()
                .map(|n| Duration::from_micros(of(n)))
                .collect()
        };
        assert!((factor(&times(|n| 5 + 3 * n)) - 10.0).abs() < 1e-6);
        assert!((factor(&times(|n| 5 + n * n)) - 100.0).abs() < 1e-6);
    }

    #[test]
    fn every_kind_renders() {
        let home = tempfile::tempdir().unwrap();
        for (number, (what, make)) in KINDS.iter().enumerate() {
            let folder = Folder::new(home.path().join(number.to_string()));
            folder.file("Chart.yaml", &chart_yaml("growth")).unwrap();
            make(&folder, 3).unwrap();
            let text = crate::ours::template(folder.path()).expect(what);
            assert!(text.contains("kind: ConfigMap"), "{what}: {text}");
        }
    }
}
