//! Some random histories; `cargo xtask simulate` runs as many as wanted.

use kubepkg_simulation::check_history;

/// Seeds that found something once: a second revision recorded beside one under way, which a stale list lacked; a revision
/// that went from applied back to being applied; a rollback wished for and forgotten; a
/// controller that stood still for ever because a watch broke right behind an object.
const FOUND: [u64; 4] = [18, 22, 27, 3003];

#[test]
fn random_histories_end_well() {
    let seeds = (0..4).chain(FOUND);
    let findings: Vec<_> = seeds.filter_map(|seed| check_history(seed).1).collect();
    let told: String = findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{told}");
}
