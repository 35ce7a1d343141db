//! `demo`: the main job, as somebody sees it who has nothing but this program.

use std::process::Command;

use crate::desk::ran;

#[test]
fn shows_the_main_job_from_install_to_removal() {
    let empty = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_kubepkg"))
        .arg("demo")
        .env_clear()
        .env("HOME", empty.path())
        .output()
        .unwrap();
    let shown = ran(output);
    assert_eq!(shown.code, 0, "{}{}", shown.stdout, shown.stderr);
    insta::with_settings!({ filters => vec![
        (r"/\S*/kubepkg-\w+", "FOLDER"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "YYYY-MM-DD HH:MM:SS"),
        (r"done in \d+\.\d s", "done in N s"),
    ]}, {
        insta::assert_snapshot!(shown.stdout);
    });
    let news = "shop: UpgradeRolledBack: revision 3 failed";
    assert!(shown.stderr.contains(news), "{}", shown.stderr);
}
