//! What holds for all inputs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kubepkg_patch::schema::{GroupVersionKind, Type};
use kubepkg_patch::ssa::{FieldManager, FieldSet, ManagedFields, SingleVersion};
use kubepkg_patch::{builtin, json, merge, strategic};
use proptest::prelude::*;
use proptest::sample::subsequence;
use serde_json::{Map, Value, json};

fn deployment() -> (GroupVersionKind, Type) {
    let kind = GroupVersionKind::new("apps/v1", "Deployment");
    let found = builtin::model().kind(&kind).unwrap();
    (kind, found)
}

/// Any value without null, which a merge patch can't set.
fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c<\"]{0,2}".prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            object(inner),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-d/~]", inner, 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>()))
}

/// Some items of a list, in any order, told apart by `key`.
fn items(key: &'static str, other: &'static str) -> impl Strategy<Value = Value> {
    let names = subsequence(vec!["a", "b", "c", "d"], 0..=4).prop_shuffle();
    (names, prop::collection::vec("[x-z]", 4)).prop_map(move |(names, values)| {
        let items = names
            .into_iter()
            .zip(values)
            .map(|(name, value)| json!({key: name, other: value}));
        Value::Array(items.collect())
    })
}

fn a_deployment() -> impl Strategy<Value = Value> {
    (
        items("name", "image"),
        items("name", "value"),
        subsequence(vec!["f/a", "f/b", "f/c"], 0..=3),
        prop::collection::btree_map("[a-c]", "[x-z]", 0..3),
        1..4,
    )
        .prop_map(|(mut containers, env, finalizers, labels, replicas)| {
            if let Some(first) = containers.get_mut(0) {
                first["env"] = env;
            }
            json!({
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "x", "labels": labels, "finalizers": finalizers},
                "spec": {"replicas": replicas, "template": {"spec": {"containers": containers}}},
            })
        })
}

fn apply(live: Option<&Value>, applied: &Value, manager: &str) -> Value {
    let (kind, found) = deployment();
    let versions = SingleVersion {
        api_version: kind.api_version(),
        kind: found,
    };
    let fields = FieldManager {
        kind,
        subresource: "",
        versions: &versions,
        reset: &BTreeMap::new(),
        now: Timestamp::UNIX_EPOCH,
    };
    fields.apply(live, applied, manager, true).unwrap()
}

proptest! {
    #[test]
    fn a_merge_patch_makes_what_it_was_made_for(from in object(value()), to in object(value())) {
        let patch = merge::create(&from, &to).unwrap();
        prop_assert_eq!(merge::apply(&from, &patch).unwrap(), to);
    }

    #[test]
    fn a_strategic_patch_makes_what_it_was_made_for(from in a_deployment(), to in a_deployment()) {
        let (_, kind) = deployment();
        let patch = strategic::two_way(&from, &to, &kind, &[]).unwrap();
        prop_assert_eq!(&strategic::apply(&from, &patch, &kind).unwrap(), &to);
        let patch = strategic::three_way(&from, &to, &from, &kind, true, &[]).unwrap();
        prop_assert_eq!(&strategic::apply(&from, &patch, &kind).unwrap(), &to);
    }

    #[test]
    fn what_is_there_needs_no_patch(one in a_deployment()) {
        let (_, kind) = deployment();
        let none = json!({});
        prop_assert_eq!(&merge::create(&one, &one).unwrap(), &none);
        prop_assert_eq!(&strategic::three_way(&one, &one, &one, &kind, false, &[]).unwrap(), &none);
    }

    #[test]
    fn applying_twice_is_applying_once(one in a_deployment(), two in a_deployment()) {
        let first = apply(None, &one, "a");
        let once = apply(Some(&first), &two, "b");
        prop_assert_eq!(apply(Some(&once), &two, "b"), once);
    }

    #[test]
    fn what_one_manager_applied_is_replaced_by_what_it_applies(one in a_deployment(), two in a_deployment()) {
        let first = apply(None, &one, "a");
        let second = apply(Some(&first), &two, "a");
        let fresh = apply(None, &two, "a");
        prop_assert_eq!(&second["metadata"]["managedFields"], &fresh["metadata"]["managedFields"]);
        prop_assert_eq!(&second["spec"]["replicas"], &fresh["spec"]["replicas"]);
        // Nobody owns an empty list, so it stays.
        let containers = |object: &Value| {
            let containers = &object["spec"]["template"]["spec"]["containers"];
            let mut containers = containers.as_array().cloned().unwrap_or_default();
            for container in &mut containers {
                if container.get("env") == Some(&json!([])) {
                    container.as_object_mut().unwrap().remove("env");
                }
            }
            containers
        };
        prop_assert_eq!(containers(&second), containers(&fresh));
    }

    #[test]
    fn fields_are_read_as_they_were_written(one in a_deployment(), two in a_deployment()) {
        let object = apply(Some(&apply(None, &one, "a")), &two, "b");
        let managed = ManagedFields::of(&object).unwrap();
        prop_assert_eq!(managed.encode(), object["metadata"]["managedFields"].clone());
        for (_, owned) in managed.iter() {
            let read = FieldSet::from_fields_v1(&owned.fields.to_fields_v1()).unwrap();
            prop_assert_eq!(&read, &owned.fields);
            let paths = read.paths();
            prop_assert_eq!(paths.len(), read.len());
            prop_assert_eq!(FieldSet::from_iter(&paths), read);
        }
    }

    #[test]
    fn sets_of_fields_keep_the_laws_of_sets(one in a_deployment(), two in a_deployment()) {
        let fields = |object: &Value| {
            let applied = apply(None, object, "a");
            let managed = ManagedFields::of(&applied).unwrap();
            managed.iter().next().map(|(_, owned)| owned.fields.clone()).unwrap_or_default()
        };
        let (left, right) = (fields(&one), fields(&two));
        let (all, both) = (left.union(&right), left.intersection(&right));
        prop_assert_eq!(all.len() + both.len(), left.len() + right.len());
        prop_assert_eq!(left.difference(&right).union(&both), left.clone());
        prop_assert!(left.difference(&left).is_empty());
        prop_assert_eq!(right.union(&left), all);
    }

    #[test]
    fn no_bytes_bring_the_readers_down(text in ".{0,60}", patch in ".{0,60}") {
        let _ = json::Patch::parse(text.as_bytes());
        let _ = merge::apply_text(text.as_bytes(), patch.as_bytes(), merge::Dialect::V5);
        let _ = merge::create_text(text.as_bytes(), patch.as_bytes(), merge::Dialect::V4);
    }

    #[test]
    fn no_patch_brings_the_readers_down(document in value(), patch in value(), path in "(/[a-d0-2~-]{0,2}){0,3}") {
        let (_, kind) = deployment();
        let _ = strategic::apply(&document, &patch, &kind);
        let _ = strategic::three_way(&document, &patch, &document, &kind, false, &[]);
        for op in ["add", "remove", "replace", "move", "copy", "test"] {
            let operations = json!([{"op": op, "path": path, "from": path, "value": patch}]);
            let patch = json::Patch::parse(operations.to_string().as_bytes()).unwrap();
            let _ = patch.apply(&document);
        }
        let _ = FieldSet::from_fields_v1(&document);
        let _ = ManagedFields::decode(&json!([document]));
    }
}

#[test]
fn deep_documents_are_refused() {
    let mut deep = json!({});
    for _ in 0..2_000 {
        deep = json!({"a": deep});
    }
    let (kind, found) = deployment();
    assert!(strategic::apply(&deep, &deep, &found).is_err());
    assert!(merge::apply(&deep, &deep).is_err());
    let versions = SingleVersion {
        api_version: kind.api_version(),
        kind: Type::deduced(),
    };
    let fields = FieldManager {
        kind,
        subresource: "",
        versions: &versions,
        reset: &BTreeMap::new(),
        now: Timestamp::UNIX_EPOCH,
    };
    assert!(fields.apply(Some(&deep), &deep, "a", true).is_err());
    assert!(FieldSet::from_fields_v1(&deep).is_err());
}

/// Ten times the items take ten times the time and a little more; of a quadratic algorithm, a hundred times.
#[test]
fn time_grows_with_the_items_of_a_list() {
    let object = |count: usize| {
        let containers: Vec<Value> = (0..count)
            .map(|index| json!({"name": format!("c{index}"), "image": "i", "ports": [{"containerPort": index}]}))
            .collect();
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"},
            "spec": {"template": {"spec": {"containers": containers}}},
        })
    };
    let (_, kind) = deployment();
    let fastest = |count: usize| {
        let object = object(count);
        let live = apply(None, &object, "a");
        let run = |_| {
            let start = Instant::now();
            apply(Some(&live), &object, "b");
            strategic::two_way(&live, &object, &kind, &[]).unwrap();
            start.elapsed()
        };
        (0..5).map(run).min().unwrap_or(Duration::MAX)
    };
    let (small, large) = (fastest(100), fastest(1000));
    assert!(large < small * 40, "{small:?} for 100, {large:?} for 1000");
}
