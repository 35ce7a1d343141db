//! The tables and how they came about.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::growth::{self, Growth};
use crate::statistics::{Program, median, median_ratio};
use crate::warm::{Costs, Warm};

/// A chart.
pub(crate) struct Row {
    pub(crate) name: String,
    /// Whether both print the same bytes.
    pub(crate) equal: bool,
    pub(crate) helm: Program,
    pub(crate) ours: Program,
    pub(crate) warm: Warm,
}

impl Row {
    fn program_ratio(&self) -> f64 {
        ratio(self.helm.wall, self.ours.wall)
    }

    fn warm_ratio(&self) -> f64 {
        ratio(
            middle(&self.warm.library.both),
            middle(&self.warm.ours.both),
        )
    }

    fn render_ratio(&self) -> f64 {
        ratio(
            middle(&self.warm.library.render),
            middle(&self.warm.ours.render),
        )
    }

    fn warm_cpu_ratio(&self) -> f64 {
        ratio(middle(&self.warm.library.cpu), middle(&self.warm.ours.cpu))
    }
}

/// All that was measured.
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    pub(crate) growth: Vec<Growth>,
    /// How often each program ran on each chart.
    pub(crate) runs: usize,
    /// Processes that wanted to run, before and after.
    pub(crate) load: (String, String),
}

fn middle(times: &[Duration]) -> Duration {
    median(times.iter().copied())
}

/// How many times as long the first takes.
pub(crate) fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(1e-9)
}

#[expect(clippy::cast_precision_loss, reason = "memory for people to read")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

pub(crate) fn milliseconds(time: Duration) -> String {
    let value = time.as_secs_f64() * 1000.0;
    let places = if value < 10.0 {
        2
    } else {
        usize::from(value < 100.0)
    };
    format!("{value:.places$}")
}

fn times(ratio: f64) -> String {
    let places = usize::from(ratio < 100.0);
    format!("{ratio:.places$}×")
}

fn millions(instructions: Option<u64>) -> String {
    instructions.map_or("not counted".to_owned(), |count| {
        (count / 1_000_000).to_string()
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.programs(f)?;
        self.libraries(f)?;
        self.growth(f)?;
        self.method(f)
    }
}

impl Report {
    fn programs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = self.rows.iter().any(|row| row.helm.instructions.is_some());
        writeln!(f, "### As a program\n")?;
        writeln!(f, "Milliseconds and MiB, helm / kubepkg.\n")?;
        write!(f, "| chart | wall | × | CPU | × | memory |")?;
        writeln!(
            f,
            "{} same output |",
            if counted {
                " million instructions |"
            } else {
                ""
            }
        )?;
        write!(f, "|---|--:|--:|--:|--:|--:|")?;
        writeln!(f, "{}---|", if counted { "--:|" } else { "" })?;
        for row in &self.rows {
            let (helm, ours) = (&row.helm, &row.ours);
            write!(
                f,
                "| {} | {} / {} | {} | {} / {} | {} | {:.0} / {:.0} |",
                row.name,
                milliseconds(helm.wall),
                milliseconds(ours.wall),
                times(row.program_ratio()),
                milliseconds(helm.cpu),
                milliseconds(ours.cpu),
                times(ratio(helm.cpu, ours.cpu)),
                mebibytes(helm.memory),
                mebibytes(ours.memory),
            )?;
            if counted {
                write!(
                    f,
                    " {} / {} |",
                    millions(helm.instructions),
                    millions(ours.instructions)
                )?;
            }
            writeln!(f, " {} |", if row.equal { "yes" } else { "no" })?;
        }
        let ratios = || self.rows.iter().map(Row::program_ratio);
        writeln!(
            f,
            "\nOf {} charts: {} at the median, {} at the least.\n",
            self.rows.len(),
            times(median_ratio(ratios())),
            times(ratios().fold(f64::INFINITY, f64::min)),
        )
    }

    fn libraries(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "### As a library in a warm process\n")?;
        writeln!(f, "Milliseconds and MiB, Helm's library / kubepkg-helm.\n")?;
        writeln!(
            f,
            "| chart | load and render | × | render alone | × | CPU of both | × | memory |"
        )?;
        writeln!(f, "|---|--:|--:|--:|--:|--:|--:|--:|")?;
        for row in &self.rows {
            let (library, ours) = (&row.warm.library, &row.warm.ours);
            let pair = |of: fn(&Costs) -> &Vec<Duration>| {
                format!(
                    "{} / {}",
                    milliseconds(middle(of(library))),
                    milliseconds(middle(of(ours)))
                )
            };
            writeln!(
                f,
                "| {} | {} | {} | {} | {} | {} | {} | {:.0} / {:.0} |",
                row.name,
                pair(|costs| &costs.both),
                times(row.warm_ratio()),
                pair(|costs| &costs.render),
                times(row.render_ratio()),
                pair(|costs| &costs.cpu),
                times(row.warm_cpu_ratio()),
                mebibytes(library.memory),
                mebibytes(ours.memory),
            )?;
        }
        writeln!(f)?;
        for (what, of) in [
            ("Load and render", Row::warm_ratio as fn(&Row) -> f64),
            ("Render alone", Row::render_ratio),
            ("CPU", Row::warm_cpu_ratio),
        ] {
            writeln!(
                f,
                "* {what}: {} at the median, {} at the least.",
                times(median_ratio(self.rows.iter().map(of))),
                times(self.rows.iter().map(of).fold(f64::INFINITY, f64::min)),
            )?;
        }
        writeln!(f)
    }

    fn growth(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.growth.is_empty() {
            return Ok(());
        }
        writeln!(f, "### Growth\n")?;
        writeln!(
            f,
            "Milliseconds of processor time of load and render in the warm processes, Helm's library / kubepkg-helm; the last column is \
             what the step from 100 to 1000 costs, divided by that from 10 to 100: 10 is linear.\n"
        )?;
        writeln!(f, "| n of | n = 10 | n = 100 | n = 1000 | growth |")?;
        writeln!(f, "|---|--:|--:|--:|--:|")?;
        for growth in &self.growth {
            write!(f, "| {} |", growth.what)?;
            for (library, ours) in growth.library.iter().zip(&growth.ours) {
                write!(f, " {} / {} |", milliseconds(*library), milliseconds(*ours))?;
            }
            writeln!(
                f,
                " {:.1} / {:.1} |",
                growth::factor(&growth.library),
                growth::factor(&growth.ours)
            )?;
        }
        writeln!(f)
    }

    fn method(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let counted = self.rows.iter().any(|row| row.helm.instructions.is_some());
        writeln!(f, "### How this was measured\n")?;
        writeln!(
            f,
            "On {processors} processors of {}, with {} processes wanting to run at the beginning and {} at the end (a \
             minute's average). Everything in one run, in turns.\n",
            std::env::consts::ARCH,
            self.load.0,
            self.load.1,
        )?;
        writeln!(
            f,
            "* As a program: `helm template NAME CHART --include-crds` and this bench's `template CHART`, output thrown \
             away; the median of {} runs each. Memory is the maximum resident set that the kernel reports.",
            self.runs
        )?;
        writeln!(
            f,
            "* As a library: a process of each for every chart loads it from disk and renders it, anew in every run, after \
             one run that does not count: the median of at least 5. CPU is that of all threads, Go's garbage collector \
             included. Memory is the high-water mark of the process."
        )?;
        if !counted {
            writeln!(
                f,
                "* Instructions were not counted: this machine has no counters for them, or no `perf`."
            )?;
        }
        Ok(())
    }

    pub(crate) fn to_json(&self) -> Value {
        let program = |program: &Program| {
            json!({
                "wallSeconds": program.wall.as_secs_f64(),
                "cpuSeconds": program.cpu.as_secs_f64(),
                "memoryBytes": program.memory,
                "instructions": program.instructions,
            })
        };
        let costs = |costs: &Costs| {
            json!({
                "loadAndRenderSeconds": middle(&costs.both).as_secs_f64(),
                "renderSeconds": middle(&costs.render).as_secs_f64(),
                "cpuSeconds": middle(&costs.cpu).as_secs_f64(),
                "memoryBytes": costs.memory,
                "runs": costs.both.len(),
            })
        };
        let row = |row: &Row| {
            json!({
                "chart": row.name,
                "sameOutput": row.equal,
                "helm": program(&row.helm),
                "kubepkg": program(&row.ours),
                "helmLibrary": costs(&row.warm.library),
                "kubepkgLibrary": costs(&row.warm.ours),
                "programRatio": row.program_ratio(),
                "libraryRatio": row.warm_ratio(),
                "libraryRenderRatio": row.render_ratio(),
                "libraryCpuRatio": row.warm_cpu_ratio(),
            })
        };
        let growth = |growth: &Growth| {
            let seconds = |times: &[Duration]| -> Vec<f64> {
                times.iter().map(Duration::as_secs_f64).collect()
            };
            json!({
                "what": growth.what,
                "n": growth::STEPS,
                "helmLibrarySeconds": seconds(&growth.library),
                "kubepkgLibrarySeconds": seconds(&growth.ours),
            })
        };
        json!({
            "charts": self.rows.iter().map(row).collect::<Vec<_>>(),
            "growth": self.growth.iter().map(growth).collect::<Vec<_>>(),
            "load": [self.load.0, self.load.1],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_times_have_places_and_large_ones_have_none() {
        assert_eq!(milliseconds(Duration::from_micros(1234)), "1.23");
        assert_eq!(milliseconds(Duration::from_micros(12_340)), "12.3");
        assert_eq!(milliseconds(Duration::from_millis(1234)), "1234");
        assert_eq!(times(3.54), "3.5×");
        assert_eq!(times(314.2), "314×");
    }
}
