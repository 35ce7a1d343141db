//! Some random histories; `cargo xtask simulate` runs as many as wanted.

use kubepkg_simulation::{Reads, check_history};

/// Seeds that found something once: a second revision recorded beside one under way, which a stale list lacked; a revision
/// that went from applied back to being applied; a rollback wished for and forgotten; a
/// controller that stood still for ever because a watch broke right behind an object.
const FOUND: [u64; 4] = [18, 22, 27, 3003];

/// The same, where reads show the present: objects of a removed component that stayed, for the API server had answered
/// their deletion with a conflict.
const FOUND_IN_THE_PRESENT: [u64; 2] = [20_261, 20_580];

#[test]
fn random_histories_end_well() {
    let present = (0..4).chain(FOUND_IN_THE_PRESENT);
    let present = present.map(|seed| check_history(seed, Reads::Present));
    let forced = FOUND.map(|seed| check_history(seed, Reads::ForcedStale));
    let findings = present.chain(forced).filter_map(|(_, finding)| finding);
    let told: String = findings.map(|finding| finding.to_string()).collect();
    assert_eq!(told, "");
}
