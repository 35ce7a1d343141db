//! The golden vectors: what Masterminds semver v3.5.0 made of the same inputs.

use kubepkg_resolve::{Constraint, Detail, Version, VersionError};
use serde_json::{Value, json};

/// The input as text; none for bytes that are no UTF-8, which a `&str` cannot be.
fn text<'r>(row: &'r Value, name: &str) -> Option<&'r str> {
    row[name].as_str()
}

fn shown(version: &Version) -> Value {
    json!({
        "major": version.major(),
        "minor": version.minor(),
        "patch": version.patch(),
        "prerelease": version.prerelease(),
        "metadata": version.metadata(),
        "original": version.original(),
        "string": version.to_string(),
    })
}

struct Differences(Vec<String>);

impl Differences {
    fn same(&mut self, what: &str, wanted: &Value, got: &Value) {
        if wanted != got {
            self.0.push(format!("{what}: want {wanted}, got {got}"));
        }
    }
}

fn check_parse(row: &Value, out: &mut Differences) {
    let Some(input) = text(row, "input") else {
        return;
    };
    let mut check = |name: &str, got: Result<Version, VersionError>| {
        let error = format!("{name}_error");
        match &got {
            Ok(version) => out.same(name, &row[name], &shown(version)),
            Err(refused) => out.same(&error, &row[&error], &json!(refused.to_string())),
        }
    };
    check("new", Version::parse(input));
    check("strict", Version::parse_strict(input));
    check("no_coerce", Version::parse_uncoerced(input, Detail::Full));
    let brief = Version::parse_uncoerced(input, Detail::Brief).err();
    let brief = brief.map_or(Value::Null, |error| json!(error.to_string()));
    out.same("plain_error", &row["plain_error"], &brief);
}

fn check_increment(row: &Value, out: &mut Differences) {
    let version = Version::parse(text(row, "input").unwrap()).unwrap();
    let next = |name: &str, version: Option<Version>| match version {
        Some(version) => json!(version.original()),
        None => json!(format!(
            "panic: {name} version increment would overflow uint64"
        )),
    };
    out.same("patch", &row["patch"], &next("patch", version.next_patch()));
    out.same("minor", &row["minor"], &next("minor", version.next_minor()));
    out.same("major", &row["major"], &next("major", version.next_major()));
    for (name, wanted) in row.as_object().unwrap() {
        let got = match name.split_once(':') {
            Some(("set_prerelease", pre)) => version.with_prerelease(pre),
            Some(("set_metadata", metadata)) => version.with_metadata(metadata),
            _ => continue,
        };
        let got = got.map_or_else(
            |error| format!("error: {error}"),
            |version| version.original().to_owned(),
        );
        out.same(name, wanted, &json!(got));
    }
}

fn check_compare(row: &Value, out: &mut Differences) {
    if row["group"] == "sort" {
        let list =
            |name: &str| -> Vec<String> { serde_json::from_value(row[name].clone()).unwrap() };
        let mut versions: Vec<Version> = list("input")
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        versions.sort();
        let got: Vec<&str> = versions.iter().map(Version::original).collect();
        out.same("sorted", &row["sorted"], &json!(got));
        return;
    }
    let version = Version::parse(text(row, "version").unwrap()).unwrap();
    let got: String = text(row, "others")
        .unwrap()
        .split(' ')
        .map(|other| match version.cmp(&Version::parse(other).unwrap()) {
            std::cmp::Ordering::Less => '<',
            std::cmp::Ordering::Equal => '=',
            std::cmp::Ordering::Greater => '>',
        })
        .collect();
    out.same("compare", &row["compare"], &json!(got));
}

fn check_constraint(row: &Value, out: &mut Differences) {
    let Some(input) = text(row, "constraint") else {
        return;
    };
    let constraint = match Constraint::parse(input) {
        Ok(constraint) => constraint,
        Err(error) => return out.same("error", &row["error"], &json!(error.to_string())),
    };
    out.same("error", &row["error"], &Value::Null);
    out.same("string", &row["string"], &json!(constraint.to_string()));
    let digits = |constraint: &Constraint| -> String {
        text(row, "versions")
            .unwrap()
            .split(' ')
            .map(|version| constraint.matches(&Version::parse(version).unwrap()))
            .map(|matches| if matches { '1' } else { '0' })
            .collect()
    };
    out.same("check", &row["check"], &json!(digits(&constraint)));
    let all = digits(&constraint.include_prereleases(true));
    out.same(
        "check_include_prerelease",
        &row["check_include_prerelease"],
        &json!(all),
    );
}

fn check_reasons(row: &Value, out: &mut Differences) {
    let constraint = Constraint::parse(text(row, "constraint").unwrap()).unwrap();
    let version = Version::parse(text(row, "version").unwrap()).unwrap();
    let got: Vec<String> = constraint
        .validate(&version)
        .err()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect();
    out.same("ok", &row["ok"], &json!(got.is_empty()));
    out.same("reasons", &row["reasons"], &json!(got));
}

/// Runs a file of vectors.
macro_rules! meets {
    ($test:ident, $file:literal, $check:expr) => {
        #[test]
        fn $test() {
            let vectors = kubepkg_vectors::Vectors {
                name: concat!("semver-", $file),
                packed: include_bytes!(concat!("../vectors/", $file, ".jsonl.gz")),
                exceptions: include_str!("../vectors/exceptions.txt"),
            };
            vectors.run(|row| {
                let mut differences = Differences(Vec::new());
                $check(row, &mut differences);
                if differences.0.is_empty() {
                    Ok(())
                } else {
                    Err(differences.0.join("\n  "))
                }
            });
        }
    };
}

/// Rows of both groups of the file of versions.
fn check_version(row: &Value, out: &mut Differences) {
    if row["group"] == "increment" {
        check_increment(row, out);
    } else {
        check_parse(row, out);
    }
}

meets!(reads_versions_as_masterminds, "parse", check_version);
meets!(orders_versions_as_masterminds, "compare", check_compare);
meets!(
    matches_constraints_as_masterminds,
    "constraints",
    check_constraint
);
meets!(gives_the_reasons_of_masterminds, "reasons", check_reasons);
