//! `rollback`.

use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use kubepkg_api::{Package, keys};
use serde_json::{Value, json};

use crate::desk::{Desk, ran, until};

/// A package at revision 3, where 2 failed.
async fn upgraded() -> Desk {
    let desk = Desk::new().await;
    desk.create::<Package>("a", json!({})).await;
    desk.settle("a", "True", "ReconciliationSucceeded", "1.1.0", 3)
        .await;
    desk.revision("a", 1, "1.0.0", "Superseded").await;
    desk.revision("a", 2, "1.1.0", "Failed").await;
    desk.revision("a", 3, "1.1.0", "Applied").await;
    desk
}

#[tokio::test]
async fn asks_for_the_newest_earlier_revision_that_was_applied() {
    let desk = upgraded().await;
    let dry = desk.run(&["rollback", "a", "--dry-run"]);
    assert_eq!(dry.code, 3);
    assert_eq!(
        dry.stdout,
        "package a: rollback to revision 1 would be requested (dry run)\n"
    );
    assert!(
        !desk
            .package("a")
            .await
            .annotations()
            .contains_key(keys::ROLLBACK_TO)
    );

    let asked = desk.run(&["rollback", "a"]);
    assert_eq!(
        (asked.code, asked.stdout.as_str()),
        (0, "package a: rollback to revision 1 requested\n")
    );
    assert_eq!(
        desk.package("a").await.annotations()[keys::ROLLBACK_TO],
        "1"
    );
    let value: Value = serde_json::from_str(
        &desk
            .run(&["rollback", "a", "--to", "3", "-o", "json"])
            .stdout,
    )
    .unwrap();
    assert_eq!(
        value,
        json!({ "package": "a", "from": 3, "to": 3, "dryRun": false })
    );
}

#[tokio::test]
async fn refuses_revisions_that_never_held() {
    let desk = upgraded().await;
    let refused = desk.run(&["rollback", "a", "--to", "2"]);
    insta::assert_snapshot!(refused.stderr, @r"
    error: revision 2 of a is Failed; only one that was applied can be restored
      try: kubepkg history a
    ");
    let refused = desk.run(&["rollback", "a", "--to", "9"]);
    insta::assert_snapshot!(refused.stderr, @r"
    error: a has no revision 9
      revisions that can be restored: 3, 1
    ");
    assert_eq!(desk.run(&["rollback", "a", "--to", "0"]).code, 2);
    assert_eq!(desk.run(&["rollback", "nothing"]).code, 1);
}

#[tokio::test]
async fn waits_until_the_operator_restored_it() {
    let desk = upgraded().await;
    let waiting = desk
        .command(&["rollback", "a", "--wait", "--timeout", "1m"])
        .spawn()
        .unwrap();
    until("the rollback is asked for", async || {
        desk.package("a")
            .await
            .annotations()
            .contains_key(keys::ROLLBACK_TO)
    })
    .await;
    desk.settle("a", "False", "Progressing", "1.1.0", 4).await;
    let handled = json!({ "metadata": { "annotations": { keys::ROLLBACK_TO: null } } });
    desk.api::<Package>()
        .patch("a", &PatchParams::default(), &Patch::Merge(handled))
        .await
        .unwrap();
    desk.settle("a", "True", "RolledBack", "1.0.0", 4).await;
    let done = ran(waiting.wait_with_output().unwrap());
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(
        done.stderr
            .ends_with("a: ready, version 1.0.0, revision 4\n"),
        "{}",
        done.stderr
    );
}
