//! `list` and `history`.

use serde_json::json;

use crate::desk::Desk;

#[tokio::test]
async fn list_shows_how_packages_are() {
    let desk = Desk::new().await;
    let ran = desk.run(&["list"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (0, "", "no packages are installed\n")
    );

    for name in ["cert-manager", "broken", "new"] {
        desk.create::<kubepkg_api::Package>(name, json!({ "version": "~1.21" }))
            .await;
    }
    desk.settle(
        "cert-manager",
        "True",
        "ReconciliationSucceeded",
        "1.21.2",
        3,
    )
    .await;
    desk.settle("broken", "False", "UpgradeFailed", "1.0.0", 2)
        .await;
    insta::assert_snapshot!(desk.run(&["list"]).stdout, @r"
    NAME          VERSION  REVISION  READY    REASON
    broken        1.0.0    2         False    UpgradeFailed
    cert-manager  1.21.2   3         True     ReconciliationSucceeded
    new           -        -         Unknown  -
    ");
    let wide = desk.run(&["list", "-o", "wide"]).stdout;
    assert!(wide.starts_with("NAME          VERSION  REVISION  READY    REASON                   VARIANT  CONSTRAINT  MESSAGE\n"), "{wide}");
    let coloured = desk.run(&["list", "--color", "always"]).stdout;
    assert!(coloured.contains("\u{1b}[32mTrue\u{1b}[0m"), "{coloured:?}");
}

#[tokio::test]
async fn history_is_oldest_first_and_missing_ones_are_told_apart() {
    let desk = Desk::new().await;
    let ran = desk.run(&["history", "a"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (
            1,
            "error: there is no package a in the cluster\n  try: kubepkg list\n"
        )
    );
    desk.create::<kubepkg_api::Package>("a", json!({})).await;
    let ran = desk.run(&["history", "a"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.starts_with("error: a has no revisions yet\n"),
        "{}",
        ran.stderr
    );

    for number in [10, 9, 11] {
        desk.revision("a", number, "1.0.0", "Superseded").await;
    }
    let ran = desk.run(&["history", "a"]);
    let numbers: Vec<&str> = ran
        .stdout
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(numbers, ["9", "10", "11"]);
    let json: serde_json::Value =
        serde_json::from_str(&desk.run(&["history", "a", "-o", "json"]).stdout).unwrap();
    assert_eq!(json["items"][2]["spec"]["revision"], json!(11));
    assert!(
        desk.run(&["history", "a", "-o", "name"])
            .stdout
            .ends_with("/a-11\n")
    );
}
