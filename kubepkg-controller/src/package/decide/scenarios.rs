//! What decisions come to, told as the histories of packages.
//!
//! Expected values are those of the design document ("Applying a revision") and reference §1.10, §4.3, §4.6 to §4.11.

use std::time::Duration;

use kube::ResourceExt;
use kubepkg_api::{PackageReason, PackageSpec, keys};
use serde_json::json;

use super::super::report::Next;
use super::super::world::World;

fn installed(version: &str) -> World {
    let mut world = World::new(version);
    let settled = world.settle();
    assert_eq!(
        settled.report.reason,
        PackageReason::ReconciliationSucceeded,
        "{settled:?}"
    );
    world.log.clear();
    world
}

fn upgrade(world: &mut World, version: &str, safe: bool) {
    world.source(version, &[("a", version), ("b", version)], safe);
}

#[test]
fn installs_components_in_order_of_dependency() {
    let mut world = World::new("1.0.0");
    world.looks = 2;
    let settled = world.settle();
    assert_eq!(
        settled.report.message,
        "reconciliation succeeded, revision 1, 2 component(s)"
    );
    assert_eq!(world.log, ["apply a 1.0.0", "apply b 1.0.0"]);
    assert_eq!(world.history(), ["1 1.0.0 Applied"]);
    assert_eq!(
        world.condition(keys::READY).as_deref(),
        Some("True ReconciliationSucceeded")
    );
    assert_eq!(world.condition(keys::RECONCILING), None);
}

#[test]
fn waits_for_a_component_before_the_next_one() {
    let mut world = World::new("1.0.0");
    world.looks = 1;
    let settled = world.pass(None).unwrap();
    assert_eq!(settled.report.reason, PackageReason::Progressing);
    assert_eq!(
        settled.report.message,
        "revision 1: component a: Deployment a is coming up"
    );
    assert_eq!(settled.look_again, Some(Duration::from_secs(1)));
    assert_eq!(world.log, ["apply a 1.0.0"]);
    assert_eq!(
        world.condition(keys::RECONCILING).as_deref(),
        Some("True Progressing")
    );
}

#[test]
fn a_pass_that_finds_everything_in_place_changes_nothing() {
    let mut world = installed("1.0.0");
    let (revisions, status) = (world.revisions.clone(), world.package().status.clone());
    world.advance(Duration::from_hours(1));
    world.settle();
    assert_eq!(world.revisions, revisions);
    assert_eq!(world.package().status, status);
    assert!(world.log.is_empty());
}

#[test]
fn leaves_an_unchanged_healthy_component_alone() {
    let mut world = installed("1.0.0");
    world.source("1.1.0", &[("a", "1.0.0"), ("b", "1.1.0")], true);
    world.settle();
    assert_eq!(world.log, ["apply b 1.1.0"]);
    assert_eq!(world.history(), ["1 1.0.0 Superseded", "2 1.1.0 Applied"]);
    assert_eq!(
        world.revisions[1].component("a").unwrap().backend_revision,
        Some(1)
    );
}

/// Found by the simulation: one request that failed had an unchanged component applied again.
#[test]
fn an_unchanged_component_that_cannot_be_seen_for_a_while_is_waited_for() {
    let mut world = installed("1.0.0");
    world.source("1.1.0", &[("a", "1.0.0"), ("b", "1.1.0")], true);
    world.blind = true;
    let settled = world.pass(None).unwrap();
    assert_eq!(settled.report.reason, PackageReason::Progressing);
    assert_eq!(
        settled.report.message,
        "revision 2: component a: release demo/a: cannot be read now"
    );
    world.advance(settled.look_again.unwrap());
    world.blind = false;
    world.settle();
    assert_eq!(world.log, ["apply b 1.1.0"]);
    assert_eq!(world.history(), ["1 1.0.0 Superseded", "2 1.1.0 Applied"]);
}

#[test]
fn a_failed_upgrade_takes_the_whole_package_back_where_that_is_safe() {
    let mut world = installed("1.0.0");
    world.broken.insert("bad".to_owned(), false);
    world.source("1.1.0", &[("a", "1.1.0"), ("b", "bad")], true);
    let settled = world.settle();
    assert_eq!(settled.report.reason, PackageReason::UpgradeRolledBack);
    assert_eq!(
        settled.report.message,
        "revision 2 failed (component b: Deployment b is not available); rolled back to revision 1"
    );
    assert_eq!(
        world.log,
        [
            "apply a 1.1.0",
            "apply b bad",
            "roll back b to 1",
            "apply b 1.0.0",
            "roll back a to 1",
            "apply a 1.0.0"
        ]
    );
    assert_eq!(
        world.history(),
        [
            "1 1.0.0 Superseded",
            "2 1.1.0 Failed",
            "3 1.0.0 Applied from 1"
        ]
    );
    assert_eq!(world.running(), ["a 1.0.0", "b 1.0.0"]);
    assert_eq!(world.package().status.as_ref().unwrap().version, "1.0.0");
}

#[test]
fn the_version_that_is_left_decides_whether_rolling_back_is_safe() {
    let mut world = World::new("1.0.0");
    world.source("1.0.0", &[("a", "1.0.0")], false);
    world.settle();
    world.broken.insert("bad".to_owned(), false);
    world.source("1.1.0", &[("a", "bad")], true);
    assert_eq!(
        world.settle().report.reason,
        PackageReason::UpgradeRolledBack
    );
}

#[test]
fn a_failed_upgrade_stays_where_rolling_back_is_not_safe() {
    let mut world = installed("1.0.0");
    world.broken.insert("bad".to_owned(), false);
    world.source("2.0.0", &[("a", "2.0.0"), ("b", "bad")], false);
    let settled = world.settle();
    assert_eq!(settled.report.reason, PackageReason::UpgradeFailed);
    assert_eq!(
        settled.report.message,
        "revision 2 failed (component b: Deployment b is not available); not rolled back: version 2.0.0 does not declare rollback safe"
    );
    assert_eq!(world.running(), ["a 2.0.0", "b bad"]);
    world.log.clear();
    world.source("2.0.1", &[("a", "2.0.0"), ("b", "2.0.1")], false);
    assert_eq!(
        world.settle().report.reason,
        PackageReason::ReconciliationSucceeded
    );
    assert_eq!(world.log, ["apply b 2.0.1"]);
    assert_eq!(
        world.history(),
        ["1 1.0.0 Superseded", "2 2.0.0 Failed", "3 2.0.1 Applied"]
    );
}

#[test]
fn says_why_a_failure_was_not_rolled_back() {
    let mut world = World::new("1.0.0");
    world.broken.insert("1.0.0".to_owned(), false);
    let settled = world.settle();
    assert!(
        settled
            .report
            .message
            .ends_with("there is no earlier revision to return to"),
        "{settled:?}"
    );

    let mut world = installed("1.0.0");
    world.package().spec =
        serde_json::from_value::<PackageSpec>(json!({ "upgrade": { "atomic": false } })).unwrap();
    world.broken.insert("bad".to_owned(), false);
    upgrade(&mut world, "bad", true);
    world.source("1.1.0", &[("a", "bad")], true);
    assert!(
        world
            .settle()
            .report
            .message
            .ends_with("spec.upgrade.atomic is false")
    );
}

#[test]
fn retries_after_a_wait_that_doubles_up_to_its_limit() {
    let mut world = installed("1.0.0");
    world.broken.insert("bad".to_owned(), false);
    world.source("1.1.0", &[("a", "bad")], true);
    let mut waits = Vec::new();
    for attempt in 1..=7 {
        let settled = world.settle();
        assert_eq!(settled.report.retry.unwrap().attempts, attempt);
        assert_eq!(settled.report.next, Next::Operator);
        let wait = settled.look_again.unwrap();
        waits.push(wait.as_secs());
        world.advance(wait);
    }
    assert_eq!(waits, [30, 60, 120, 240, 480, 600, 600]);
}

#[test]
fn a_changed_source_is_applied_at_once_and_counts_anew() {
    let mut world = installed("1.0.0");
    world.broken.insert("bad".to_owned(), false);
    world.source("1.1.0", &[("a", "bad")], true);
    let settled = world.settle();
    world.advance(settled.look_again.unwrap());
    assert_eq!(world.settle().report.retry.unwrap().attempts, 2);
    world.annotate(keys::RETRY, "now");
    assert_eq!(world.settle().report.retry.unwrap().attempts, 1);
}

#[test]
fn does_not_retry_what_will_always_fail() {
    let mut world = installed("1.0.0");
    world.broken.insert("bad".to_owned(), true);
    world.source("1.1.0", &[("a", "bad")], true);
    let settled = world.settle();
    assert_eq!(settled.report.reason, PackageReason::UpgradeRolledBack);
    assert_eq!(
        (settled.report.next, settled.look_again),
        (Next::Person, None)
    );
    assert!(
        settled
            .report
            .message
            .ends_with("not retried until the package or its source changes")
    );
    assert_eq!(
        world.condition(keys::STALLED).as_deref(),
        Some("True UpgradeRolledBack")
    );
    let revisions = world.revisions.len();
    world.advance(Duration::from_hours(24));
    world.settle();
    assert_eq!(world.revisions.len(), revisions);
}

/// Design document, "Applying a revision": a revision is made when version, variant, component set, chart or values
/// digests differ.
#[test]
fn a_change_that_applies_nothing_makes_no_revision() {
    let mut world = installed("1.0.0");
    world.package().spec =
        serde_json::from_value(json!({ "upgrade": { "timeout": "1m" } })).unwrap();
    assert_eq!(
        world.settle().report.reason,
        PackageReason::ReconciliationSucceeded
    );
    assert_eq!(world.history(), ["1 1.0.0 Applied"]);
    assert!(world.log.is_empty());
    world.package().spec =
        serde_json::from_value(json!({ "components": { "a": { "values": { "x": 1 } } } })).unwrap();
    world.settle();
    assert_eq!(world.history(), ["1 1.0.0 Superseded", "2 1.0.0 Applied"]);
    assert_eq!(world.log, ["apply a 1.0.0"]);
}

#[test]
fn removes_what_a_revision_no_longer_has_last() {
    let mut world = installed("1.0.0");
    world.source("2.0.0", &[("c", "2.0.0")], true);
    world.settle();
    assert_eq!(world.log, ["apply c 2.0.0", "uninstall b", "uninstall a"]);
    assert_eq!(world.running(), ["c 2.0.0"]);
}

#[test]
fn removes_what_a_failed_attempt_left_behind() {
    let mut world = installed("1.0.0");
    world.broken.insert("bad".to_owned(), false);
    world.source(
        "1.1.0",
        &[("a", "1.0.0"), ("b", "1.0.0"), ("c", "bad")],
        true,
    );
    assert_eq!(
        world.settle().report.reason,
        PackageReason::UpgradeRolledBack
    );
    assert_eq!(world.log, ["apply c bad", "uninstall c"]);
    assert_eq!(world.running(), ["a 1.0.0", "b 1.0.0"]);
}

#[test]
fn rolls_back_by_request_and_holds() {
    let mut world = installed("1.0.0");
    upgrade(&mut world, "2.0.0", false);
    world.settle();
    world.annotate(keys::ROLLBACK_TO, "1");
    let settled = world.settle();
    assert_eq!(settled.report.reason, PackageReason::RolledBack);
    assert!(
        !world
            .package()
            .annotations()
            .contains_key(keys::ROLLBACK_TO)
    );
    assert_eq!(world.running(), ["a 1.0.0", "b 1.0.0"]);
    assert_eq!(
        world.history(),
        [
            "1 1.0.0 Superseded",
            "2 2.0.0 Superseded",
            "3 1.0.0 Applied from 1"
        ]
    );
    world.advance(Duration::from_hours(24));
    world.settle();
    assert_eq!(world.revisions.len(), 3);
    upgrade(&mut world, "2.0.1", false);
    assert_eq!(
        world.settle().report.reason,
        PackageReason::ReconciliationSucceeded
    );
}

#[test]
fn rolls_back_a_package_whose_source_is_gone() {
    let mut world = installed("1.0.0");
    upgrade(&mut world, "2.0.0", false);
    world.settle();
    world.source = super::super::observed::Source::Missing;
    world.annotate(keys::ROLLBACK_TO, "1");
    assert_eq!(
        world.settle().report.reason,
        PackageReason::PackageSourceNotFound
    );
    assert_eq!(world.running(), ["a 1.0.0", "b 1.0.0"]);
}

#[test]
fn refuses_a_rollback_that_cannot_be_done_and_says_so_until_something_changes() {
    let mut world = installed("1.0.0");
    for (request, why) in [
        ("7", "there is no revision 7"),
        (
            "zero",
            "annotation kubepkg.dev/rollback-to is \"zero\", which is no revision number",
        ),
        (
            "0",
            "annotation kubepkg.dev/rollback-to is \"0\", which is no revision number",
        ),
    ] {
        world.annotate(keys::ROLLBACK_TO, request);
        let settled = world.settle();
        assert_eq!(settled.report.reason, PackageReason::RollbackFailed);
        assert_eq!(settled.report.message, why);
        assert!(
            !world
                .package()
                .annotations()
                .contains_key(keys::ROLLBACK_TO)
        );
        assert_eq!(world.settle().report.message, why);
    }
    upgrade(&mut world, "1.1.0", true);
    assert_eq!(
        world.settle().report.reason,
        PackageReason::ReconciliationSucceeded
    );
}

#[test]
fn refuses_a_rollback_to_what_the_backend_has_forgotten() {
    let mut world = installed("1.0.0");
    upgrade(&mut world, "2.0.0", true);
    world.settle();
    for entries in world.releases.values_mut() {
        entries[0].failed = true;
    }
    world.annotate(keys::ROLLBACK_TO, "1");
    assert_eq!(
        world.settle().report.message,
        "revision 1 cannot be returned to: release demo/a no longer has revision 1 in its history"
    );
    assert_eq!(world.running(), ["a 2.0.0", "b 2.0.0"]);
}

#[test]
fn a_change_cancels_what_is_under_way() {
    let mut world = installed("1.0.0");
    world.looks = 3;
    upgrade(&mut world, "1.1.0", true);
    world.pass(None).unwrap();
    world.source("1.2.0", &[("a", "1.2.0"), ("b", "1.2.0")], true);
    world.settle();
    assert_eq!(
        world.history(),
        ["1 1.0.0 Superseded", "2 1.1.0 Failed", "3 1.2.0 Applied"]
    );
    assert_eq!(world.running(), ["a 1.2.0", "b 1.2.0"]);
}

#[test]
fn a_chart_that_cannot_be_had_changes_nothing() {
    let mut world = installed("1.0.0");
    world.unfetchable.insert("1.1.0".to_owned(), true);
    upgrade(&mut world, "1.1.0", true);
    let settled = world.settle();
    assert_eq!(settled.report.reason, PackageReason::FetchFailed);
    assert_eq!(settled.report.next, Next::Operator);
    assert_eq!(world.history(), ["1 1.0.0 Applied"]);
    world.unfetchable.insert("1.1.0".to_owned(), false);
    let settled = world.settle();
    assert_eq!(settled.report.reason, PackageReason::InvalidConfiguration);
    assert_eq!(settled.report.next, Next::Person);
    world.unfetchable.clear();
    assert_eq!(
        world.settle().report.reason,
        PackageReason::ReconciliationSucceeded
    );
}

#[test]
fn looks_less_often_the_longer_a_chart_is_not_to_be_had() {
    let mut world = World::new("1.0.0");
    world.unfetchable.insert("1.0.0".to_owned(), true);
    let mut waits = Vec::new();
    for _ in 0..9 {
        let wait = world.settle().look_again.unwrap();
        waits.push(wait.as_secs());
        world.advance(wait);
    }
    assert_eq!(waits, [2, 2, 4, 8, 16, 32, 64, 128, 256]);
}

#[test]
fn removes_a_deleted_package_from_the_last_component_to_the_first() {
    let mut world = installed("1.0.0");
    world.source(
        "1.1.0",
        &[("a", "1.0.0"), ("b", "1.0.0"), ("c", "1.1.0")],
        true,
    );
    world.settle();
    world.log.clear();
    world.delete();
    assert_eq!(world.pass(None), None);
    assert_eq!(world.log, ["uninstall c", "uninstall b", "uninstall a"]);
    assert!(world.package.is_none() && world.releases.is_empty());
}

#[test]
fn leaves_foreign_releases_alone() {
    let mut world = World::new("1.0.0");
    let a = kubepkg_backend::Placement {
        namespace: "demo".to_owned(),
        release: "a".to_owned(),
    };
    world.foreign.insert(a);
    let settled = world.settle();
    assert_eq!(settled.report.reason, PackageReason::UpgradeFailed);
    world.delete();
    world.pass(None);
    assert!(world.package.is_none() && world.log.is_empty());
}

#[test]
fn keeps_no_more_revisions_than_asked_for() {
    let mut world = World::new("1.0.0");
    world.package().spec = serde_json::from_value(json!({ "revisionHistoryLimit": 3 })).unwrap();
    for patch in 0..6 {
        upgrade(&mut world, &format!("1.0.{patch}"), true);
        world.settle();
    }
    assert_eq!(
        world.history(),
        [
            "4 1.0.3 Superseded",
            "5 1.0.4 Superseded",
            "6 1.0.5 Applied"
        ]
    );
}

#[test]
fn pruning_keeps_the_revision_to_go_back_to() {
    let mut world = installed("1.0.0");
    world.package().spec = serde_json::from_value(json!({ "revisionHistoryLimit": 2 })).unwrap();
    world.settle();
    world.broken.insert("bad".to_owned(), false);
    world.source("2.0.0", &[("a", "bad")], false);
    for _ in 0..5 {
        let wait = world.settle().look_again.unwrap();
        world.advance(wait);
    }
    let history = world.history();
    assert!(history.len() <= 3, "{history:?}");
    assert!(
        history.iter().any(|r| r.ends_with("Superseded")),
        "{history:?}"
    );
}

#[test]
fn every_gate_has_its_own_reason_and_says_what_to_do() {
    let component = |name: &str, more: serde_json::Value| {
        let mut object = json!({
            "name": name,
            "chart": { "repository": "https://charts.example.org", "name": name, "version": "1.0.0" },
            "install": { "namespace": "demo" },
        });
        for (key, value) in more.as_object().unwrap() {
            object[key] = value.clone();
        }
        object
    };
    let source = |components: serde_json::Value| json!({ "version": "1.0.0", "variants": [{ "name": "default", "components": components }] });
    let on = |other: &str| json!({ "install": { "namespace": "demo", "dependsOn": [other] } });
    let cases = [
        (
            json!({ "variant": "ha" }),
            source(json!([])),
            "VariantNotFound: PackageSource demo has no variant ha; it has default; set spec.variant of the Package",
        ),
        (
            json!({ "version": "^2" }),
            source(json!([])),
            "VersionMismatch: PackageSource demo has version 1.0.0, which does not satisfy ^2; change spec.version of the Package or the source",
        ),
        (
            json!({}),
            source(json!([component("a", json!({ "install": {} }))])),
            "InvalidConfiguration: component a has no install.namespace; set it in the PackageSource",
        ),
        (
            json!({}),
            source(json!([component("a", on("b")), component("b", on("a"))])),
            "InvalidConfiguration: components depend on each other: a -> b -> a; remove one install.dependsOn",
        ),
        (
            json!({}),
            source(json!([component("a", on("z"))])),
            "InvalidConfiguration: component a has install.dependsOn z, which is no component of the variant",
        ),
        (
            json!({ "components": { "b": { "enabled": false } } }),
            source(json!([component("a", on("b")), component("b", json!({}))])),
            "InvalidConfiguration: component a has install.dependsOn b, which is not installed: it is disabled or has no install",
        ),
        (
            json!({ "components": { "z": { "enabled": false } } }),
            source(json!([component("a", json!({}))])),
            "InvalidConfiguration: spec.components.z of the Package names no component of variant default; it has a",
        ),
        (
            json!({ "components": { "b": { "releaseName": "a" } } }),
            source(json!([
                component("a", json!({})),
                component("b", json!({}))
            ])),
            "InvalidConfiguration: components a and b are both release demo/a; give one another install.releaseName or namespace",
        ),
    ];
    for (package, source, want) in cases {
        let mut world = World::new("1.0.0");
        world.package().spec = serde_json::from_value(package).unwrap();
        world.source_json(source);
        let settled = world.settle();
        assert_eq!(
            format!(
                "{}: {}",
                settled.report.reason.as_str(),
                settled.report.message
            ),
            want
        );
        assert_eq!(settled.report.next, Next::Person);
        assert!(world.revisions.is_empty());
    }
}

/// The failed revision is the only record of the release that it brought.
#[test]
fn pruning_keeps_the_record_of_what_is_yet_to_be_removed() {
    for safe in [true, false] {
        let mut world = installed("1.0.0");
        world.package().spec =
            serde_json::from_value(json!({ "revisionHistoryLimit": 1 })).unwrap();
        world.settle();
        world.broken.insert("bad".to_owned(), false);
        world.source(
            "1.1.0",
            &[("a", "1.0.0"), ("c", "1.0.0"), ("b", "bad")],
            safe,
        );
        world.settle();
        world.source("1.2.0", &[("a", "1.0.0"), ("b", "1.0.0")], safe);
        world.settle();
        assert_eq!(world.running(), ["a 1.0.0", "b 1.0.0"], "safe: {safe}");
        world.settle();
        assert_eq!(world.revisions.len(), 1, "{:?}", world.history());
    }
}

#[test]
fn installs_again_what_somebody_removed() {
    let mut world = installed("1.0.0");
    world
        .releases
        .retain(|placement, _| placement.release != "b");
    assert_eq!(
        world.settle().report.reason,
        PackageReason::ReconciliationSucceeded
    );
    assert_eq!(world.log, ["apply b 1.0.0"]);
    assert_eq!(world.history(), ["1 1.0.0 Superseded", "2 1.0.0 Applied"]);
}

#[test]
fn mends_what_somebody_broke_when_asked_or_when_it_has_lasted_too_long() {
    let broken = || {
        let mut world = installed("1.0.0");
        for (placement, entries) in &mut world.releases {
            entries[0].failed = placement.release == "b";
        }
        let settled = world.pass(None).unwrap();
        assert_eq!(settled.report.reason, PackageReason::Progressing);
        world.pass(None).unwrap();
        assert!(world.log.is_empty());
        world
    };
    let mut asked = broken();
    asked.annotate(keys::RETRY, "now");
    asked.settle();
    assert_eq!(asked.log, ["apply b 1.0.0"]);
    let mut lasting = broken();
    lasting.advance(Duration::from_mins(10));
    lasting.settle();
    assert_eq!(lasting.log, ["apply b 1.0.0"]);
}

/// Releases bear the numbers of the revisions they were made for.
#[test]
fn a_number_is_not_given_twice_when_records_are_deleted_by_hand() {
    let mut world = installed("1.0.0");
    upgrade(&mut world, "1.1.0", true);
    world.settle();
    world.revisions.clear();
    upgrade(&mut world, "1.2.0", true);
    world.settle();
    assert_eq!(world.history(), ["3 1.2.0 Applied"]);
    assert_eq!(world.running(), ["a 1.2.0", "b 1.2.0"]);
}

/// Foreground deletion has the garbage collector delete the revisions before the Package.
#[test]
fn removes_what_bears_its_mark_though_the_records_are_gone() {
    let mut world = installed("1.0.0");
    world.revisions.clear();
    world.delete();
    world.pass(None);
    assert!(world.package.is_none() && world.releases.is_empty());
}

#[test]
fn does_not_wait_long_after_a_passing_error_in_the_middle_of_a_long_wait() {
    let mut world = World::new("1.0.0");
    world.looks = 1000;
    world.pass(None);
    world.advance(Duration::from_mins(4));
    let o = world.observe(world.package.as_ref().unwrap());
    let wait = super::retry::growing(&o, PackageReason::Progressing);
    assert_eq!(wait, Duration::from_secs(15));
}

/// House rule "crash anywhere": whatever was done last before the operator died, the next one comes to the same end.
#[test]
fn comes_to_the_same_end_wherever_it_was_killed() {
    type Change = fn(&mut World);
    let changes: [(&str, Change); 6] = [
        ("install", |_| {}),
        ("upgrade", |w| upgrade(w, "1.1.0", true)),
        ("orphan", |w| {
            w.source("1.2.0", &[("c", "1.2.0"), ("a", "1.1.0")], true);
        }),
        ("rolled back", |w| {
            w.source("1.3.0", &[("a", "1.3.0"), ("c", "bad"), ("d", "1")], true);
        }),
        ("unsafe", |w| {
            w.source("1.4.0", &[("a", "1.4.0"), ("c", "bad")], false);
        }),
        ("asked back", |w| {
            w.source("1.5.0", &[("a", "1.5.0")], true);
            w.settle();
            let to = w.revisions.iter().rev().nth(1).map(|r| r.number).unwrap();
            let good = w
                .revisions
                .iter()
                .rev()
                .skip(1)
                .find(|r| r.is_good())
                .map(|r| r.number);
            w.annotate(keys::ROLLBACK_TO, &good.unwrap_or(to).to_string());
        }),
    ];
    let mut world = World::new("1.0.0");
    world.broken.insert("bad".to_owned(), false);
    world.looks = 1;
    for (name, change) in changes {
        let before = world.clone();
        change(&mut world);
        let undisturbed = world.settle();
        for kill in 1..200 {
            let mut killed = before.clone();
            change(&mut killed);
            if killed.pass(Some(kill)).is_some() {
                break;
            }
            let settled = killed.settle();
            assert_eq!(
                settled.report.reason, undisturbed.report.reason,
                "{name}, killed at {kill}"
            );
            assert_eq!(
                killed.history(),
                world.history(),
                "{name}, killed at {kill}"
            );
            assert_eq!(
                killed.running(),
                world.running(),
                "{name}, killed at {kill}"
            );
        }
    }
    world.delete();
    let before = world.clone();
    for kill in 1..20 {
        let mut killed = before.clone();
        killed.pass(Some(kill));
        while killed.package.is_some() {
            killed.pass(None);
        }
        assert!(killed.releases.is_empty(), "removal, killed at {kill}");
    }
}
