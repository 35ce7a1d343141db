//! Values: merging and coalescing lose nothing of the user's, and doing it twice changes nothing.

use kubepkg_helm::{
    Chart, ChartLimits, Values, coalesce_tables, coalesce_values, merge_values,
    process_dependencies,
};
use serde_json::{Map, Value};

use crate::guard::soon;
use crate::parts;

/// Parts: the user's values, those of a chart `top`, of its subchart `sub`, and of a chart `deep` below that.
pub(crate) fn check(input: &[u8]) {
    let texts: Vec<&[u8]> = parts::split(input).collect();
    let text = |index: usize| texts.get(index).copied().unwrap_or_default();
    let read = |index| soon("reading", || Values::from_yaml_documents(text(index)));
    let (Ok(user), Ok(other)) = (read(0), read(1)) else {
        return;
    };
    merging(&user, &other);
    tables(&user);
    let files: [(&str, &[u8]); 6] = [
        ("Chart.yaml", TOP),
        ("values.yaml", text(1)),
        ("charts/sub/Chart.yaml", SUB),
        ("charts/sub/values.yaml", text(2)),
        ("charts/sub/charts/deep/Chart.yaml", DEEP),
        ("charts/sub/charts/deep/values.yaml", text(3)),
    ];
    if let Ok(chart) = Chart::from_files(files, &ChartLimits::default()) {
        coalescing(&chart, &user);
    }
}

const TOP: &[u8] =
    b"apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies:\n- name: sub\n  version: 1.x\n  \
    condition: sub.on\n  tags: [t]\n  import-values: [data, {child: a, parent: b.c}]\n";
const SUB: &[u8] =
    b"apiVersion: v2\nname: sub\nversion: 1.0.0\ndependencies:\n- {name: deep, version: '*', \
    import-values: [{child: x, parent: y}]}\n";
const DEEP: &[u8] = b"apiVersion: v2\nname: deep\nversion: 1.0.0\n";

fn merging(one: &Values, two: &Values) {
    let merged = |into: &Values, from: &Values| {
        let mut into = into.clone();
        into.merge(from.clone());
        into
    };
    let none = Values::default();
    assert_eq!(&merged(one, &none), one, "merging nothing in");
    assert_eq!(&merged(&none, one), one, "merging into nothing");
    assert_eq!(&merged(one, one), one, "merging with itself");
    let both = merged(one, two);
    assert_eq!(merged(&both, two), both, "merging again");
    keeps(two.as_map(), both.as_map(), "");
}

fn tables(values: &Values) {
    let none = Values::default();
    assert_eq!(&coalesce_tables(values, &none), values, "over nothing");
    assert_eq!(&coalesce_tables(&none, values), values, "under nothing");
    assert_eq!(&coalesce_tables(values, values), values, "over itself");
}

fn coalescing(chart: &Chart, user: &Values) {
    let coalesced = soon("coalescing", || coalesce_values(chart, user));
    let merged = soon("merging", || merge_values(chart, user));
    assert_eq!(coalesced, coalesce_values(chart, user), "two outcomes");
    for outcome in [&coalesced, &merged].into_iter().flatten() {
        keeps(user.as_map(), outcome.values.as_map(), "");
    }
    // Nulls remove once, and what they removed would come back.
    if !has_null(user.as_map()) && !defaults_have_null(chart) {
        assert_eq!(coalesced.is_ok(), merged.is_ok(), "both, or none");
        if let Ok(coalesced) = &coalesced {
            let again = coalesce_values(chart, &coalesced.values).map(|again| again.values);
            assert_eq!(again.as_ref(), Ok(&coalesced.values), "coalescing again");
        }
    }
    let mut processed = chart.clone();
    let mut twice = chart.clone();
    let first = soon("dependencies", || {
        process_dependencies(&mut processed, user)
    });
    assert_eq!(
        first,
        process_dependencies(&mut twice, user),
        "two outcomes"
    );
    assert_eq!(processed, twice, "two outcomes");
}

fn defaults_have_null(chart: &Chart) -> bool {
    let own = chart.values.as_ref();
    own.is_some_and(|values| has_null(values.as_map()))
        || chart.dependencies.iter().any(defaults_have_null)
}

fn has_null(map: &Map<String, Value>) -> bool {
    map.values().any(|value| match value {
        Value::Null => true,
        Value::Object(map) => has_null(map),
        _ => false,
    })
}

/// What the user says stays, globals of subcharts apart, which the parent's win over.
fn keeps(user: &Map<String, Value>, outcome: &Map<String, Value>, path: &str) {
    for (key, value) in user {
        if key == "global" && !path.is_empty() {
            continue;
        }
        let path = format!("{path}.{key}");
        match (value, outcome.get(key)) {
            (Value::Null, _) => {}
            (Value::Object(user), Some(Value::Object(outcome))) => keeps(user, outcome, &path),
            (value, found) => assert_eq!(found, Some(value), "the user's {path}"),
        }
    }
}
