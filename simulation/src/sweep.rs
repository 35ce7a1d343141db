//! One thing going wrong, at every request of a scenario in turn: the operator killed, an answer lost, a stale read, a
//! missed event. Crash, stale read and missed event are the three patterns of Sieve (Sun et al., OSDI 2022).

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Method;
use kubepkg_sandbox::ApiFault;

use crate::histories;
use crate::laws::restless;
use crate::run::{Plan, Run, run};
use crate::scenarios::Scenario;
use crate::wire::{Crash, Sent, When};

/// Requests that a run may take more than the calm one for each thing that goes wrong.
const MORE: usize = 120;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The operator is killed, or asked to end.
    Crash(When),
    /// A request meets this.
    Request(ApiFault),
}

impl Fault {
    /// All that are tried, by the names that the command line has for them.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("crash-before", Self::Crash(When::Before)),
        ("crash-after", Self::Crash(When::After)),
        ("asked-to-end", Self::Crash(When::Asked)),
        ("unreachable", Self::Request(ApiFault::Unreachable)),
        ("lost", Self::Request(ApiFault::Lost)),
        ("refused", Self::Request(ApiFault::Refused(503))),
        ("throttled", Self::Request(ApiFault::Refused(429))),
        ("conflict", Self::Request(ApiFault::Refused(409))),
        ("stale", Self::Request(ApiFault::Stale(1))),
        ("forced-stale", Self::Request(ApiFault::ForcedStale(1))),
        ("forced-staler", Self::Request(ApiFault::ForcedStale(4))),
        ("missed", Self::Request(ApiFault::Missed(0))),
        ("missed-later", Self::Request(ApiFault::Missed(1))),
        ("doubled", Self::Request(ApiFault::Doubled(0))),
        (
            "late-events",
            Self::Request(ApiFault::Late(std::time::Duration::from_secs(90))),
        ),
        ("cut", Self::Request(ApiFault::Cut(1))),
        ("gone", Self::Request(ApiFault::Gone)),
        (
            "slow",
            Self::Request(ApiFault::Slow(std::time::Duration::from_secs(20))),
        ),
    ];

    /// The fault of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, fault)| *fault)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, known)| *known == self)
            .map_or("other", |(name, _)| name)
    }

    /// Whether it may cost a revision: a read that shows the past can make an operator want the past again, a slow answer
    /// may be one too late, and an event that comes late lets a change that is no longer wanted get further.
    fn costs_revisions(self) -> bool {
        use ApiFault::{ForcedStale, Late, Slow, Stale};
        matches!(
            self,
            Self::Request(Stale(_) | ForcedStale(_) | Slow(_) | Late(_))
        )
    }

    /// Whether it can happen to a request.
    fn fits(self, sent: &Sent) -> bool {
        match self {
            Self::Crash(_) => true,
            Self::Request(fault) => match fault {
                ApiFault::Missed(_)
                | ApiFault::Doubled(_)
                | ApiFault::Late(_)
                | ApiFault::Cut(_)
                | ApiFault::Gone => sent.is_watch(),
                ApiFault::Stale(_) => sent.is_of_any_version(),
                ApiFault::ForcedStale(_) => !sent.is_watch() && !sent.is_write(),
                // What is created can be there already, and meets no other conflict.
                ApiFault::Refused(409) => sent.is_write() && sent.method != Method::POST,
                ApiFault::Slow(_) => !sent.is_watch(),
                _ => true,
            },
        }
    }
}

/// One thing going wrong at one request of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Decides everything that is drawn.
    pub seed: u64,
    /// The scenario.
    pub scenario: Scenario,
    /// What goes wrong.
    pub fault: Fault,
    /// At which request.
    pub at: u64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The command that shows it again.
    pub again: String,
    /// What is wrong.
    pub what: Vec<String>,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.again)?;
        for what in &self.what {
            writeln!(f, "    {what}")?;
        }
        Ok(())
    }
}

/// What was run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Runs.
    pub runs: usize,
    /// Times that an operator was killed.
    pub kills: u64,
    /// Faults that requests met.
    pub faults: usize,
    /// Requests.
    pub requests: usize,
}

impl Tally {
    /// Counts a run.
    pub fn count(&mut self, run: &Run) {
        self.runs += 1;
        self.kills += run.kills;
        self.faults += run.met.len();
        self.requests += run.sent.len();
    }

    /// Adds another one.
    pub fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.kills += other.kills;
        self.faults += other.faults;
        self.requests += other.requests;
    }
}

/// The packages of scenarios.
const ONE: &[&str] = &["shop"];

/// A scenario in which nothing goes wrong.
pub fn calm(seed: u64, scenario: Scenario) -> Run {
    run(&Plan::calm(seed, ONE), &scenario.script)
}

/// The requests of a calm run at which a fault can happen.
pub fn positions(calm: &Run, fault: Fault) -> Vec<u64> {
    let numbered = (0..).zip(&calm.sent);
    numbered
        .filter(|(_, sent)| fault.fits(sent))
        .map(|(at, _)| at)
        .collect()
}

/// Runs a case and says what is wrong with it, beside the calm run of its scenario.
pub fn check(case: Case, calm: &Run) -> (Run, Option<Finding>) {
    let mut plan = Plan::calm(case.seed, ONE);
    match case.fault {
        Fault::Crash(when) => plan.crashes.push(Crash { at: case.at, when }),
        Fault::Request(fault) => plan.faults.push((case.at, fault)),
    }
    plan.strict = !case.fault.costs_revisions();
    let run = run(&plan, &case.scenario.script);
    let mut what = run.broken.clone();
    what.extend(restless(run.resting, ONE.len()));
    // A read that no API server answers so can hide what is to be done; what must never happen does not happen even then.
    if !plan.forces_stale_reads() {
        what.extend(astray(case, &run, calm));
    }
    let finding = (!what.is_empty()).then(|| Finding {
        again: format!(
            "cargo xtask simulate --seed {} --scenario {} --fault {} --at {}",
            case.seed,
            case.scenario.name,
            case.fault.name(),
            case.at
        ),
        what,
    });
    (run, finding)
}

/// Where a run went that the calm one did not.
fn astray(case: Case, run: &Run, calm: &Run) -> Vec<String> {
    if let Some(stuck) = &run.stuck {
        return vec![stuck.to_string()];
    }
    let mut what = if case.fault.costs_revisions() {
        run.state.differences_of_what_runs(&calm.state)
    } else {
        let mut what = run.state.differences(&calm.state);
        what.extend(repeated(run, calm));
        what
    };
    let (sent, allowed) = (run.sent.len(), calm.sent.len() + MORE);
    if sent > allowed {
        what.push(format!("{sent} requests, more than {allowed}"));
    }
    what
}

/// Writes that were made more often than one thing going wrong explains: once more each.
fn repeated(run: &Run, calm: &Run) -> Vec<String> {
    let counts = |sent: &[Sent]| {
        let mut counts: BTreeMap<(String, String, Bytes), usize> = BTreeMap::new();
        for sent in sent.iter().filter(|sent| sent.is_write()) {
            let key = (sent.method.to_string(), sent.uri.clone(), sent.body.clone());
            *counts.entry(key).or_default() += 1;
        }
        counts
    };
    let usual = counts(&calm.sent);
    counts(&run.sent)
        .into_iter()
        .filter(|(key, count)| *count > usual.get(key).copied().unwrap_or_default() + 1)
        // Removing what is gone already changes nothing, Events are told again, and a package that waits can come back to
        // what was said of it before.
        .filter(|((method, uri, _), _)| {
            *method != Method::DELETE.as_str()
                && !uri.contains("/events")
                && !uri.contains("/packages/")
        })
        .map(|((method, uri, _), count)| {
            format!("{method} {uri} was sent {count} times with one body")
        })
        .take(3)
        .collect()
}

/// What reads that ask for the present show in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// The present, as every API server answers them.
    Present,
    /// Now and then the past, as no API server does.
    ForcedStale,
}

/// Runs a history and says what is wrong with it.
pub fn check_history(seed: u64, reads: Reads) -> (Run, Option<Finding>) {
    let (run, what) = histories::check(seed, reads);
    let forced = match reads {
        Reads::Present => "",
        Reads::ForcedStale => " --forced-stale",
    };
    let finding = (!what.is_empty()).then(|| Finding {
        again: format!("cargo xtask simulate --seed {seed}{forced}"),
        what,
    });
    (run, finding)
}
