//! Faults at some requests of every scenario; `cargo xtask simulate` tries all of them.

use std::collections::BTreeSet;

use kubepkg_simulation::{Case, Fault, Run, SCENARIOS, Scenario, calm, check, positions};

/// Every how manieth case is run here: all together are some seventeen thousand.
const STRIDE: usize = 401;

#[test]
fn some_faults_of_every_kind_end_well_in_every_scenario() {
    let (mut findings, mut number) = (Vec::new(), 0);
    for scenario in SCENARIOS {
        let calm = calm(0, *scenario);
        assert_eq!(
            (&calm.stuck, calm.broken.len()),
            (&None, 0),
            "{}",
            scenario.name
        );
        for (_, fault) in Fault::ALL {
            for at in positions(&calm, *fault) {
                number += 1;
                if number % STRIDE == 0 {
                    let (seed, scenario, fault) = (0, *scenario, *fault);
                    let case = Case {
                        seed,
                        scenario,
                        fault,
                        at,
                    };
                    findings.extend(check(case, &calm).1);
                }
            }
        }
    }
    let told: String = findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{told}");
}

/// The run of a scenario in which something goes wrong, and which comes to the same end (or breaks no law, where the fault
/// is beyond what an API server does).
fn ends_well(seed: u64, scenario: &Scenario, fault: Fault, at: u64, calm: &Run) -> Run {
    let case = Case {
        seed,
        scenario: *scenario,
        fault,
        at,
    };
    let (run, finding) = check(case, calm);
    assert_eq!(finding.map(|finding| finding.to_string()), None);
    run
}

/// A crash in the middle of everything: an install, an upgrade that fails, and the way back.
#[test]
fn the_operator_is_killed_again_and_again_on_the_way_back() {
    let scenario = SCENARIOS.iter().find(|s| s.name == "rolls-back").unwrap();
    let calm = calm(1, *scenario);
    let fault = Fault::named("crash-after").unwrap();
    for at in positions(&calm, fault).into_iter().step_by(24) {
        assert_eq!(ends_well(1, scenario, fault, at, &calm).kills, 1);
    }
}

/// What was found once: kube's controller never ends when it is asked to before it has its first list. The first requests
/// are those of its start.
#[test]
fn an_operator_ends_in_order_before_it_works_and_at_work() {
    let scenario = &SCENARIOS[0];
    let calm = calm(0, *scenario);
    let fault = Fault::named("asked-to-end").unwrap();
    let at_work = positions(&calm, fault).into_iter().skip(6).step_by(16);
    for at in (0..6).chain(at_work) {
        assert_eq!(ends_well(0, scenario, fault, at, &calm).kills, 1);
    }
}

/// What was found once: an unchanged component whose state could not be read was applied again.
#[test]
fn a_read_that_fails_applies_nothing_again() {
    let scenario = SCENARIOS.iter().find(|s| s.name == "upgrade").unwrap();
    let calm = calm(0, *scenario);
    for fault in ["unreachable", "lost", "refused", "throttled"] {
        let fault = Fault::named(fault).unwrap();
        assert_eq!(ends_well(0, scenario, fault, 57, &calm).met.len(), 1);
    }
}

/// How often a fault was met that happens to every request to paths with this in them, in turn; all come to the same end.
fn at_requests_to(scenario: &str, fault: &str, path: &str) -> usize {
    let scenarios = SCENARIOS.iter().filter(|known| known.name == scenario);
    let met = scenarios.zip(Fault::named(fault)).map(|(scenario, fault)| {
        let calm = calm(0, *scenario);
        let to_path = (0..)
            .zip(&calm.sent)
            .filter(|(_, sent)| sent.uri.contains(path));
        let to_path: BTreeSet<u64> = to_path.map(|(at, _)| at).collect();
        let all = positions(&calm, fault)
            .into_iter()
            .filter(|at| to_path.contains(at));
        all.map(|at| ends_well(0, scenario, fault, at, &calm).met.len())
            .sum::<usize>()
    });
    met.sum()
}

/// What was found once: a rollback ended for good at a conflict, and a CRD that was answered with one was waited for
/// without being made.
#[test]
fn a_conflict_that_passes_is_tried_again() {
    assert_ne!(
        at_requests_to("requested-rollback", "conflict", "/serviceaccounts/"),
        0
    );
    assert_ne!(
        at_requests_to("orphans", "conflict", "/customresourcedefinitions/"),
        0
    );
}

/// What was found once: the look at the deadline was not answered, and the message said that alone.
#[test]
fn what_was_not_ready_is_told_even_when_the_last_look_fails() {
    assert_ne!(
        at_requests_to("fix-forward", "unreachable", "/deployments/shop-web"),
        0
    );
}

/// What was found once: a CRD was marked to be kept, read as it had been before, and deleted.
#[test]
fn nothing_is_deleted_on_a_stale_look() {
    for (scenario, fault) in [
        ("orphans", "forced-stale"),
        ("crds-retained", "forced-staler"),
    ] {
        assert_ne!(
            at_requests_to(scenario, fault, "/customresourcedefinitions/"),
            0
        );
    }
}

/// What was found once: a package not there yet in a stale read was never looked at again; a source missing in one stalled
/// its package for ever; a revision that was applied was set to failed, because a stale list showed it under way.
#[test]
fn stale_reads_do_no_lasting_harm() {
    let scenario = SCENARIOS.iter().find(|s| s.name == "upgrade").unwrap();
    let calm = calm(0, *scenario);
    let fault = Fault::named("forced-stale").unwrap();
    let all = positions(&calm, fault);
    for at in all.into_iter().filter(|at| [4, 26, 42, 53].contains(at)) {
        ends_well(0, scenario, fault, at, &calm);
    }
}
