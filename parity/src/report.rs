//! What was found: a table by repository, JSON, and the differences. Charts with values of their own and those with values
//! made up are counted apart.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use similar::TextDiff;

use crate::compare::Verdict;
use crate::run::{Answer, Outcome};

/// A row of the table.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// The repository.
    name: String,
    /// Whether its cases have values made up.
    made_up: bool,
    equal: usize,
    both_refuse: usize,
    recorded: usize,
    random: usize,
    offline: usize,
    /// Cases that differ.
    pub(crate) different: usize,
    helm: Vec<Duration>,
    ours: Vec<Duration>,
}

impl Row {
    fn new(name: &str, made_up: bool) -> Self {
        Self {
            name: name.to_owned(),
            made_up,
            ..Self::default()
        }
    }

    fn count(&mut self, outcome: &Outcome) {
        match outcome.verdict {
            Verdict::Equal => self.equal += 1,
            Verdict::BothRefuse => self.both_refuse += 1,
            Verdict::Recorded => self.recorded += 1,
            Verdict::Random => self.random += 1,
            Verdict::Offline => self.offline += 1,
            Verdict::Different => self.different += 1,
        }
        // An error comes sooner than a rendering; times are those of renderings.
        if matches!(
            (&outcome.helm, &outcome.ours),
            (Answer::Rendered(_), Answer::Rendered(_))
        ) {
            self.helm.push(outcome.helm_took);
            self.ours.push(outcome.ours_took);
        }
    }

    fn cases(&self) -> usize {
        let same = self.equal + self.both_refuse + self.recorded + self.random;
        same + self.offline + self.different
    }

    fn ratio(&self) -> Option<f64> {
        let mut ratios: Vec<f64> = self
            .helm
            .iter()
            .zip(&self.ours)
            .map(|(helm, ours)| ratio(*helm, *ours))
            .collect();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied()
    }
}

fn ratio(helm: Duration, ours: Duration) -> f64 {
    helm.as_secs_f64() / ours.as_secs_f64().max(1e-9)
}

fn median(times: &[Duration]) -> Option<Duration> {
    let mut times = times.to_vec();
    times.sort();
    times.get(times.len() / 2).copied()
}

/// Rows by repository, first of values of the charts' own, then of those made up; each ends with one for all.
pub(crate) fn rows(outcomes: &[Outcome]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for made_up in [false, true] {
        let mut all = Row::new("all", made_up);
        for outcome in outcomes.iter().filter(|one| one.case.made_up == made_up) {
            let name = &outcome.case.repository;
            if !rows
                .last()
                .is_some_and(|row| row.made_up == made_up && row.name == *name)
            {
                rows.push(Row::new(name, made_up));
            }
            if let Some(row) = rows.last_mut() {
                row.count(outcome);
            }
            all.count(outcome);
        }
        if all.cases() > 0 {
            rows.push(all);
        }
    }
    rows
}

/// The table, in Markdown.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    let ms = |times: &[Duration]| match median(times) {
        Some(time) => format!("{:.1}", time.as_secs_f64() * 1e3),
        None => "-".to_owned(),
    };
    for made_up in [false, true] {
        let mut rows = rows.iter().filter(|row| row.made_up == made_up).peekable();
        if rows.peek().is_none() {
            continue;
        }
        text.push_str(if made_up {
            "\nWith values made up:\n\n"
        } else {
            ""
        });
        text.push_str(
            "| repository | cases | equal | both refuse | as recorded | in shape | needs network | different | helm ms | kubepkg ms | faster |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        );
        for row in rows {
            let faster = row
                .ratio()
                .map_or("-".to_owned(), |ratio| format!("{ratio:.0}x"));
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {faster} |",
                row.name,
                row.cases(),
                row.equal,
                row.both_refuse,
                row.recorded,
                row.random,
                row.offline,
                row.different,
                ms(&row.helm),
                ms(&row.ours),
            );
        }
    }
    text.push_str("\nTimes are medians: the helm program as a process, kubepkg as a library, loading included.\n");
    text
}

fn title(outcome: &Outcome) -> String {
    let case = &outcome.case;
    let values = match &case.values {
        Some(values) => {
            let short = values.strip_prefix(&case.chart).unwrap_or(values);
            format!(" with {}", short.display())
        }
        None => String::new(),
    };
    format!("{}: {}{values}", case.repository, case.name)
}

/// The differences, the first lines of each.
pub(crate) fn differences(outcomes: &[Outcome], lines: usize) -> String {
    let mut text = String::new();
    for outcome in outcomes
        .iter()
        .filter(|outcome| outcome.verdict == Verdict::Different)
    {
        let diff = difference(outcome);
        let _ = writeln!(text, "== {}", title(outcome));
        for line in diff.lines().take(lines) {
            text.push_str(line);
            text.push('\n');
        }
        let more = diff.lines().count().saturating_sub(lines);
        if more > 0 {
            let _ = writeln!(text, "... {more} more lines");
        }
        text.push('\n');
    }
    text
}

fn words(answer: &Answer) -> String {
    match answer {
        Answer::Rendered(text) => text.clone(),
        Answer::Refused(error) => format!("Error: {error}\n"),
        Answer::Stopped => "(stopped at a limit)\n".to_owned(),
    }
}

/// A unified difference from helm's answer to ours; both errors when only one of them is one.
fn difference(outcome: &Outcome) -> String {
    let (helm, ours) = (words(&outcome.helm), words(&outcome.ours));
    let both_rendered = matches!(
        (&outcome.helm, &outcome.ours),
        (Answer::Rendered(_), Answer::Rendered(_))
    );
    if !both_rendered {
        let cut = |answer: &Answer, text: &str| match answer {
            Answer::Rendered(_) => format!("(rendered, {} bytes)", text.len()),
            _ => text.trim_end().to_owned(),
        };
        return format!(
            "helm:    {}\nkubepkg: {}\n",
            cut(&outcome.helm, &helm),
            cut(&outcome.ours, &ours)
        );
    }
    let diff = TextDiff::configure()
        .timeout(Duration::from_secs(5))
        .diff_lines(&helm, &ours);
    diff.unified_diff()
        .context_radius(3)
        .header("helm", "kubepkg")
        .to_string()
}

/// Everything as JSON.
pub(crate) fn json(outcomes: &[Outcome], rows: &[Row]) -> Value {
    let seconds = |time: &Duration| time.as_secs_f64();
    let case = |outcome: &Outcome| {
        let mut row = json!({
            "repository": outcome.case.repository,
            "chart": outcome.case.name,
            "values": outcome.case.values.as_ref().map(|path| path.strip_prefix(&outcome.case.chart).unwrap_or(path).to_string_lossy()),
            "madeUp": outcome.case.made_up,
            "verdict": outcome.verdict.word(),
            "helmSeconds": seconds(&outcome.helm_took),
            "kubepkgSeconds": seconds(&outcome.ours_took),
        });
        if let Some(map) = row.as_object_mut() {
            if matches!(outcome.verdict, Verdict::Different | Verdict::Random) {
                map.insert("difference".to_owned(), difference(outcome).into());
            }
            if let Answer::Refused(reason) = &outcome.helm {
                map.insert("reason".to_owned(), reason.as_str().into());
            }
        }
        row
    };
    let row = |row: &Row| {
        json!({
            "repository": row.name,
            "madeUp": row.made_up,
            "equal": row.equal,
            "bothRefuse": row.both_refuse,
            "equalAsRecorded": row.recorded,
            "equalInShape": row.random,
            "needsNetwork": row.offline,
            "different": row.different,
            "helmMedianSeconds": median(&row.helm).as_ref().map(seconds),
            "kubepkgMedianSeconds": median(&row.ours).as_ref().map(seconds),
            "medianRatio": row.ratio(),
        })
    };
    json!({
        "repositories": rows.iter().map(row).collect::<Vec<_>>(),
        "cases": outcomes.iter().map(case).collect::<Vec<_>>(),
    })
}
