//! The example distribution: the libraries under another name and group, as a vendor ships them.

use kubepkg_e2e::{Error, Programs};

fn run(program: &str, arguments: &[&str]) -> Result<String, Error> {
    let path = Programs::build()?.path(program);
    let done = std::process::Command::new(path)
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

#[test]
fn serves_the_kinds_under_its_own_group_by_default() -> Result<(), Error> {
    let crds = run("acme-operator", &["crds"])?;
    assert!(
        crds.contains("name: packages.packages.acme.example"),
        "{crds}"
    );
    assert!(!crds.contains("group: kubepkg.dev"), "{crds}");
    Ok(())
}

#[test]
fn goes_by_its_own_name() -> Result<(), Error> {
    assert_eq!(run("acme", &["version"])?.trim(), "7.0.0");
    assert!(run("acme", &["--help"])?.contains("Usage: acme "));
    assert!(run("acme-operator", &["--help"])?.contains("Usage: acme-operator "));
    Ok(())
}
