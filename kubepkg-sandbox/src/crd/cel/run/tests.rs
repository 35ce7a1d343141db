//! What expressions come to and cost, and what becomes of those that cost too much.

use kubepkg_vectors::Vectors;
use serde_json::json;

use super::*;
use crate::crd::cel::{as_cel, check, of_schema};

/// Recorded from programs of `schema/cel.Compile` of `k8s.io/apiextensions-apiserver` 0.36.3.
const VECTORS: Vectors<'_> = Vectors {
    name: "cel-costs",
    packed: include_bytes!("../../../../tests/vectors/cel-costs.jsonl.gz"),
    exceptions: include_str!("../../../../tests/vectors/exceptions.txt"),
};

#[test]
fn expressions_cost_and_come_to_what_they_do_on_the_api_server() {
    VECTORS.run(|row| {
        let (schema, root) = (&row["schema"], row["root"] == true);
        let Some(cost) = row["actual"].as_u64() else {
            return Ok(());
        };
        let rule = row["rule"].as_str().unwrap();
        let checked = check(rule, &[("self", of_schema(schema, root).unwrap())])?;
        let this = as_cel(&row["object"], Some(schema));
        let (outcome, found) = Program::new(&checked)?.run(&[("self", this)]);
        let outcome = match &outcome {
            Ok(Value::Bool(flag)) => json!(flag),
            Ok(other) => json!(format!("{other:?}")),
            Err(fault) => json!({"error": fault.words()}),
        };
        let wanted = match &row["error"] {
            serde_json::Value::String(why) => json!({"error": why}),
            _ => row["value"].clone(),
        };
        let same_cost = found == cost || cost > MAX_COST && found > MAX_COST;
        if outcome == wanted && same_cost {
            return Ok(());
        }
        Err(format!(
            "{rule}\n  want {wanted} for {cost}\n  got {outcome} for {found}"
        ))
    });
}

/// A rule that is made to take for ever ends in the error that the API server has for it.
#[test]
fn what_costs_too_much_ends() {
    let numbers: Vec<u32> = (0..100_000).collect();
    let this = json!({"l": numbers, "s": "x".repeat(1_000_000)});
    for hostile in [
        "self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a + b + c + d >= 0))))",
        "self.l.map(a, self.l.map(b, a + b)).size() > 0",
        "self.l.all(a, self.l + self.l != [])",
        "self.l.all(a, self == self)",
        "self.l.all(a, self.s.size() > 0)",
        "self.l.transformMap(i, v, self.s + string(v)).size() > 0",
        "self.l.distinct().size() > 0",
        "sets.equivalent(self.l, self.l.map(a, a + 1))",
        "lists.range(1000000000000).size() > 0",
        "self.s.replace('', self.s).size() > 0",
        "self.l.map(a, self.s).join() == ''",
        "self.l.map(a, [self.l, self.l]).flatten().flatten().size() > 0",
    ] {
        let checked = check(hostile, &[("self", crate::crd::cel::Type::Dyn)]).unwrap();
        let program = Program::new(&checked).unwrap();
        let (outcome, cost) = program.run(&[("self", as_cel(&this, None))]);
        assert_eq!(outcome.err(), Some(Fault::Cost), "{hostile}");
        assert!(cost > MAX_COST, "{hostile}: {cost}");
    }
}
