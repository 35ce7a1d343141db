//! `remove`.

use std::io::{BufRead as _, BufReader, Read as _};

use kubepkg_api::Package;
use serde_json::json;

use crate::desk::Desk;

#[tokio::test]
async fn what_others_require_is_not_removed() {
    let desk = Desk::new().await;
    desk.source("low", "1.0.0", json!([])).await;
    desk.source("high", "1.0.0", json!([{ "package": "low" }]))
        .await;
    assert_eq!(desk.run(&["install", "high", "-y"]).code, 0);

    let ran = desk.run(&["remove", "low", "-y"]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.stderr,
        "error: cannot remove: low is required by high\n  try: kubepkg remove low high\n"
    );
    let ran = desk.run(&["remove", "nothing", "-y"]);
    assert_eq!(
        ran.stderr,
        "error: there is no package nothing in the cluster\n  try: kubepkg list\n"
    );
    assert!(desk.exists("low").await);
}

#[tokio::test]
async fn autoremove_takes_requirements_along_after_a_yes() {
    let desk = Desk::new().await;
    desk.source("low", "1.0.0", json!([])).await;
    desk.source("high", "1.0.0", json!([{ "package": "low" }]))
        .await;
    assert_eq!(desk.run(&["install", "high", "-y"]).code, 0);

    let ran = desk.run(&["remove", "high", "--autoremove", "--dry-run"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (3, "dry run: nothing was removed\n")
    );
    let lines = "remove  high  (requested)\nremove  low  (no longer required (installed as a requirement: required by high 1.0.0))\n";
    assert_eq!(ran.stdout, lines);
    let ran = desk.answer("no\n", &["remove", "high", "--autoremove"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (1, "Remove? [y/N] error: aborted\n")
    );
    assert!(desk.exists("high").await && desk.exists("low").await);

    let ran = desk.answer("yes\n", &["remove", "high", "--autoremove"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (
            0,
            "Remove? [y/N] 2 packages removed; the operator uninstalls them\n"
        )
    );
    assert!(!desk.exists("high").await && !desk.exists("low").await);
}

#[tokio::test]
async fn removal_is_waited_for_until_the_finalizer_is_gone() {
    let desk = Desk::new().await;
    desk.create::<Package>("a", json!({})).await;
    let finalizer = json!({ "metadata": { "finalizers": [kubepkg_api::keys::CLEANUP_FINALIZER] } });
    let params = kube::api::PatchParams::default();
    let api = desk.api::<Package>();
    api.patch("a", &params, &kube::api::Patch::Merge(finalizer))
        .await
        .unwrap();

    let ran = desk.run(&["remove", "a", "-y", "--wait", "--timeout", "1s"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("error: not ready in time: a (being removed)"),
        "{}",
        ran.stderr
    );
    assert!(desk.run(&["list"]).stdout.contains("BeingRemoved"));

    let mut waiting = desk
        .command(&["remove", "a", "-y", "--wait", "--timeout", "1m"])
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(waiting.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("a: being removed") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
    }
    let done = json!({ "metadata": { "finalizers": null } });
    api.patch("a", &params, &kube::api::Patch::Merge(done))
        .await
        .unwrap();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(waiting.wait().unwrap().code(), Some(0), "{said}");
    assert!(said.ends_with("a: removed\n"), "{said}");
}
