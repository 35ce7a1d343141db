//! A run is a function of its seed.

use kubepkg_simulation::{Crash, Fault, Plan, Reads, SCENARIOS, When, calm, check_history, run};

#[test]
fn one_seed_is_one_log() {
    for scenario in SCENARIOS.iter().step_by(4) {
        let (first, again) = (calm(7, *scenario), calm(7, *scenario));
        assert_eq!(first.log(), again.log(), "{}", scenario.name);
        assert_eq!(first.stuck, None, "{}", scenario.name);
        assert!(!first.sent.is_empty());
    }
}

#[test]
fn one_seed_is_one_log_when_the_operator_is_killed() {
    let scenario = SCENARIOS[0];
    let mut plan = Plan::calm(3, &["shop"]);
    for at in [5, 20, 33] {
        let when = When::After;
        plan.crashes.push(Crash { at, when });
    }
    let (first, again) = (run(&plan, &scenario.script), run(&plan, &scenario.script));
    assert_eq!(first.log(), again.log());
    assert_eq!(first.kills, 3);
}

#[test]
fn one_seed_is_one_history() {
    let (first, again, other) = (
        check_history(11, Reads::Present).0,
        check_history(11, Reads::Present).0,
        check_history(12, Reads::Present).0,
    );
    assert_eq!(first.log(), again.log());
    assert_ne!(first.log(), other.log());
}

#[test]
fn every_fault_has_a_name() {
    for (name, fault) in Fault::ALL {
        assert_eq!(Fault::named(name), Some(*fault));
        assert_eq!(fault.name(), *name);
    }
}
