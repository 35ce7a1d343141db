//! Runs all cases, some at a time, and judges each.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::Failure;
use crate::compare::{Verdict, judge, judge_recorded};
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

/// How cases are run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// At a time.
    pub(crate) jobs: usize,
    /// How often helm renders again to find out what it changes by itself.
    pub(crate) repeats: usize,
    /// How long one rendering may take.
    pub(crate) limit: Duration,
    /// Notes and hooks are compared, too.
    pub(crate) notes: bool,
}

/// Runs all cases; outcomes come in the order of the cases.
pub(crate) fn all(cases: &[Case], helm: &Helm, plan: Plan) -> Result<Vec<Outcome>, Failure> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = one(case, helm, plan);
            if let Ok(mut done) = done.lock() {
                done.push(outcome);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..plan.jobs.max(1) {
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

fn one(case: &Case, helm: &Helm, plan: Plan) -> Result<Outcome, Failure> {
    let (first, helm_took) = helm.template(case)?;
    let (ours, ours_took) = ours::template(case, plan.limit, None);
    let outcome = |verdict, helm, ours| Outcome {
        case: case.clone(),
        verdict,
        helm,
        ours,
        helm_took,
        ours_took,
    };
    match judge(std::slice::from_ref(&first), &ours) {
        Verdict::Equal if plan.notes => {
            let (helm, ours) = (helm.rest(case)?, ours::rest(case, plan.limit));
            let verdict = judge(std::slice::from_ref(&helm), &ours);
            return Ok(match verdict {
                Verdict::Equal => outcome(verdict, first.clone(), first),
                _ => outcome(Verdict::Different, helm, ours),
            });
        }
        verdict @ (Verdict::Equal | Verdict::BothRefuse | Verdict::Offline) => {
            return Ok(outcome(verdict, first, ours));
        }
        _ => {}
    }
    // Only a chart on which the two differ can be one that helm itself renders anew each time.
    let mut recorded = None;
    if let Some((helm, replay)) = helm.recorded(case)? {
        let ours = ours::template(case, plan.limit, Some(replay)).0;
        if let Some(verdict) = judge_recorded(&helm, &ours) {
            return Ok(outcome(verdict, helm, ours));
        }
        recorded = Some((helm, ours));
    }
    let mut runs = vec![first];
    while runs.len() <= plan.repeats && runs.last() != Some(&Answer::Stopped) {
        runs.push(helm.again(case)?.0);
        if runs.last() == Some(&ours) {
            break;
        }
    }
    let verdict = judge(&runs, &ours);
    // With the same chance, the texts differ in nothing but what is to be explained.
    let (helm, ours) = recorded.unwrap_or((runs.swap_remove(0), ours));
    Ok(outcome(verdict, helm, ours))
}
