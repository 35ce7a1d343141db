//! Runs all cases, some at a time, and judges each.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::Failure;
use crate::compare::{Verdict, judge};
use crate::corpus::Case;
use crate::helm::Helm;
use crate::ours;

/// Name of the release that both render.
pub(crate) const NAME: &str = "parity";
/// Its namespace.
pub(crate) const NAMESPACE: &str = "parity-ns";
/// Stack of a thread that renders; templates call each other deeply.
const STACK: usize = 64 << 20;

/// What one of the two made of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// What `helm template` prints.
    Rendered(String),
    /// The error.
    Refused(String),
    /// It took too long, or too much.
    Stopped,
}

/// A case that was run.
pub(crate) struct Outcome {
    /// The case.
    pub(crate) case: Case,
    /// How the two compare.
    pub(crate) verdict: Verdict,
    /// What helm said.
    pub(crate) helm: Answer,
    /// What kubepkg said.
    pub(crate) ours: Answer,
    /// How long the helm program ran the first time.
    pub(crate) helm_took: Duration,
    /// How long the library took, loading the chart included.
    pub(crate) ours_took: Duration,
}

/// Runs all cases; outcomes come in the order of the cases.
pub(crate) fn all(
    cases: &[Case],
    helm: &Helm,
    jobs: usize,
    repeats: usize,
    limit: Duration,
) -> Result<Vec<Outcome>, Failure> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = one(case, helm, repeats, limit);
            if let Ok(mut done) = done.lock() {
                done.push(outcome);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.max(1) {
            let thread = std::thread::Builder::new().stack_size(STACK);
            // A thread that can't be had leaves its work to the last one.
            drop(thread.spawn_scoped(scope, work));
        }
        drop(
            std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, work),
        );
    });
    let done = done.into_inner().unwrap_or_default();
    let mut outcomes = done
        .into_iter()
        .collect::<Result<Vec<Outcome>, Failure>>()?;
    outcomes.sort_by(|one, two| key(&one.case).cmp(&key(&two.case)));
    Ok(outcomes)
}

fn key(case: &Case) -> (&str, &str, &Option<std::path::PathBuf>) {
    (&case.repository, &case.name, &case.values)
}

fn one(case: &Case, helm: &Helm, repeats: usize, limit: Duration) -> Result<Outcome, Failure> {
    let (first, helm_took) = helm.template(case)?;
    let (ours, ours_took) = ours::template(case, limit);
    let mut runs = vec![first];
    // Only a chart on which the two differ can be one that helm itself renders anew each time.
    while runs.first() != Some(&ours)
        && runs.len() <= repeats
        && runs.last() != Some(&Answer::Stopped)
    {
        runs.push(helm.template(case)?.0);
    }
    let verdict = judge(&runs, &ours);
    Ok(Outcome {
        case: case.clone(),
        verdict,
        helm: runs.swap_remove(0),
        ours,
        helm_took,
        ours_took,
    })
}
