//! `--wait`.

use serde_json::json;

use crate::desk::{Desk, ran, until};

#[tokio::test]
async fn waits_until_everything_is_ready_and_says_what_happens() {
    let desk = Desk::new().await;
    desk.source("low", "1.0.0", json!([])).await;
    desk.source("high", "2.0.0", json!([{ "package": "low" }]))
        .await;
    let waiting = desk
        .command(&["install", "high", "-y", "--wait", "--timeout", "1m"])
        .spawn()
        .unwrap();
    until("both are asked for", async || {
        desk.exists("low").await && desk.exists("high").await
    })
    .await;
    desk.settle("high", "False", "RequirementsNotMet", "", 0)
        .await;
    desk.settle("low", "True", "ReconciliationSucceeded", "1.0.0", 1)
        .await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    desk.settle("high", "True", "ReconciliationSucceeded", "2.0.0", 1)
        .await;
    let done = ran(waiting.wait_with_output().unwrap());
    assert_eq!(done.code, 0, "{}", done.stderr);
    for line in [
        "low: ready, version 1.0.0, revision 1\n",
        "high: ready, version 2.0.0, revision 1\n",
    ] {
        assert!(done.stderr.contains(line), "{}", done.stderr);
    }
}

#[tokio::test]
async fn a_failure_ends_the_wait_at_once_and_lateness_has_its_own_code() {
    let desk = Desk::new().await;
    desk.source("a", "1.0.0", json!([])).await;
    let late = desk.run(&["install", "a", "-y", "--wait", "--timeout", "1s"]);
    assert_eq!(late.code, 4, "{}", late.stderr);
    insta::assert_snapshot!(late.stderr, @r#"
    1 package requested; follow them with "kubepkg list"
    a: the operator has not looked at it yet
    error: not ready in time: a (the operator has not looked at it yet)
      try: kubectl describe package a
    "#);

    desk.settle("a", "False", "UpgradeFailed", "", 1).await;
    let failed = desk.run(&["install", "a", "--wait", "--timeout", "1m"]);
    assert_eq!(failed.code, 1);
    insta::assert_snapshot!(failed.stderr, @r"
    nothing to do
    a: UpgradeFailed: revision 1
    error: a failed: UpgradeFailed: revision 1
      try: kubectl describe package a
    ");
    assert_eq!(
        desk.run(&["install", "a", "--timeout", "1m"]).code,
        2,
        "a timeout needs --wait"
    );
}

/// An operator may see a Package before its PackageSource; only what lasts is a failure.
#[tokio::test]
async fn what_a_person_has_to_change_ends_the_wait_when_it_lasts() {
    let desk = Desk::new().await;
    for name in ["passing", "lasting"] {
        desk.source(name, "1.0.0", json!([])).await;
        assert_eq!(desk.run(&["install", name, "-y"]).code, 0);
        desk.settle(name, "False", "PackageSourceNotFound", "", 0)
            .await;
    }
    let wait = |name| {
        desk.command(&["install", name, "--wait", "--timeout", "1m"])
            .spawn()
            .unwrap()
    };
    let (passing, lasting) = (wait("passing"), wait("lasting"));
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    desk.settle("passing", "True", "ReconciliationSucceeded", "1.0.0", 1)
        .await;
    let passed = ran(passing.wait_with_output().unwrap());
    assert_eq!(passed.code, 0, "{}", passed.stderr);
    let lasted = ran(lasting.wait_with_output().unwrap());
    assert_eq!(lasted.code, 1, "{}", lasted.stderr);
    assert!(
        lasted
            .stderr
            .contains("error: lasting failed: PackageSourceNotFound"),
        "{}",
        lasted.stderr
    );
}
