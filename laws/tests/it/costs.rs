//! Every function of a template charges for what it does: called over and over with large arguments it ends by the
//! step budget, in little processor time.

use std::fmt::Write as _;
use std::time::Duration;

use kubepkg_gotemplate::{
    Budget, FuncTable, LimitExceeded, MissingKey, SeededEnv, TemplateSet, Value, helm_funcs, sprig,
};
use rustix::time::{ClockId, clock_gettime};

/// What one function may take until its steps are used up; most take a hundredth of it.
const MOST: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1_500 } else { 150 });
const STEPS: u64 = 2_000;

fn functions() -> FuncTable {
    let mut functions = FuncTable::default();
    functions.extend(sprig::functions());
    functions.extend(helm_funcs::functions(false));
    functions
}

/// Texts of 64 KiB, a list and a map of 2,000, a large number.
fn data() -> Value {
    let words = "a,b c: \"d\"\n".repeat(6_000);
    let items: Vec<Value> = (0..2_000)
        .map(|n| Value::string(format!("item {n}")))
        .collect();
    let mut map = serde_json::Map::new();
    for n in 0..2_000 {
        map.insert(format!("key{n}"), n.into());
    }
    Value::map([
        ("text", Value::string(words)),
        ("same", Value::string("a".repeat(1 << 16))),
        ("list", Value::list(items)),
        ("map", Value::from(&serde_json::Value::Object(map))),
        ("count", Value::int(30_000)),
    ])
}

fn used() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap(),
        time.tv_nsec.try_into().unwrap(),
    )
}

fn run(
    table: &FuncTable,
    text: &str,
    data: &Value,
    steps: u64,
) -> Result<usize, Option<LimitExceeded>> {
    let mut set = TemplateSet::new("gotpl", table.clone()).with_missing_key(MissingKey::Zero);
    set.parse("t", text).map_err(|_| None)?;
    let budget = Budget {
        steps,
        output_bytes: 64 << 20,
        wall_time: None,
        ..Budget::default()
    };
    let mut env = SeededEnv::default();
    let outcome = set.session(&mut env, budget).execute("t", data);
    outcome
        .map(|text| text.len())
        .map_err(|error| error.limit())
}

#[test]
fn every_function_charges_for_its_work() {
    let data = data();
    let arguments = ["$.text", "$.same", "$.list", "$.map", "$.count"];
    let mut lists: Vec<String> = vec![String::new()];
    for first in arguments {
        lists.push(first.to_owned());
        for second in arguments {
            lists.push(format!("{first} {second}"));
        }
    }
    for list in [
        "$.text $.text $.text",
        "$.text $.text $.count",
        "$.text $.count $.text",
        "$.count $.text $.text",
        "$.count $.count $.text",
        "$.count $.count $.count",
        "$.map $.text $.text",
        "$.text $.text $.map",
        "$.list $.list $.list",
        "$.same $.same $.text",
        "\"a\" $.text $.text",
        "\"a\" $.text $.same",
        "\"(a*)*b|.\" $.same \"${0}\"",
    ] {
        lists.push(list.to_owned());
    }
    let built_in = [
        "print", "printf", "println", "html", "js", "urlquery", "eq", "lt", "len", "index",
    ];
    let table = functions();
    let only = std::env::var("FUNCTION").unwrap_or_default();
    let names: Vec<&str> = table
        .names()
        .chain(built_in)
        .filter(|name| name.contains(&only))
        .collect();
    assert!(!only.is_empty() || names.len() > 200);
    let mut slow = String::new();
    for name in names {
        let (mut worst, mut with, mut ran) = (Duration::ZERO, "", 0);
        for list in &lists {
            // A failing call ends an execution by itself.
            if run(
                &table,
                &format!("{{{{ $_ := {name} {list} }}}}"),
                &data,
                50_000,
            ) == Err(None)
            {
                continue;
            }
            ran += 1;
            let text =
                format!("{{{{ range 1000000000 }}}}{{{{ $_ := {name} {list} }}}}{{{{ end }}}}");
            let start = used();
            let outcome = run(&table, &text, &data, STEPS);
            let took = used().saturating_sub(start);
            if !only.is_empty() {
                println!("{name} {list}: {took:?} {outcome:?}");
            }
            assert!(
                matches!(outcome, Err(Some(_))),
                "{name} {list}: {outcome:?}"
            );
            if took > worst {
                (worst, with) = (took, list);
            }
        }
        if worst > MOST {
            let _ = writeln!(slow, "{name} {with}: {worst:?} ({ran} calls work)");
        }
    }
    assert!(slow.is_empty(), "\n{slow}");
}
