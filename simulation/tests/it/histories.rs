//! Some random histories; `cargo xtask simulate` runs as many as wanted.

use kubepkg_simulation::check_history;

#[test]
fn random_histories_end_well() {
    let findings: Vec<_> = (0..5).filter_map(|seed| check_history(seed).1).collect();
    let told: String = findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{told}");
}
