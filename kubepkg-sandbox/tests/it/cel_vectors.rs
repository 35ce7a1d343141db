//! Expressions of CEL against what the API server's environment (`k8s.io/apiserver` 0.36.3, cel-go 0.26.0) makes of
//! them.

use kubepkg_sandbox::crd::cel;
use kubepkg_vectors::Vectors;

const VECTORS: Vectors<'_> = Vectors {
    name: "crd-cel-expressions",
    packed: include_bytes!("../vectors/crd-cel-expressions.jsonl.gz"),
    exceptions: include_str!("../vectors/exceptions.txt"),
};

/// More of them, of all libraries, recorded in the same way.
const MORE: Vectors<'_> = Vectors {
    name: "cel-more-expressions",
    packed: include_bytes!("../vectors/cel-more-expressions.jsonl.gz"),
    exceptions: include_str!("../vectors/exceptions.txt"),
};

#[test]
fn expressions_have_the_values_and_errors_of_the_api_server() {
    evaluated(&VECTORS);
}

#[test]
fn more_expressions_have_the_values_and_errors_of_the_api_server() {
    evaluated(&MORE);
}

fn evaluated(vectors: &Vectors<'_>) {
    let rows = vectors.rows();
    let this = rows.iter().find(|row| row["group"] == "self").unwrap();
    vectors.run(|row| {
        let Some(expression) = row["expression"].as_str() else {
            return Ok(());
        };
        let outcome = &row["outcome"];
        if let Some(wanted) = outcome["checked_type"].as_str() {
            let found = cel::type_of(expression);
            if found.as_deref() != Ok(wanted) {
                return Err(format!("{expression}\n  want {wanted}\n  got {found:?}"));
            }
        }
        let found = cel::evaluate(expression, &this["self"]);
        let error = ["compile_error", "program_error", "error"]
            .into_iter()
            .find_map(|key| outcome[key].as_str());
        match (error, found) {
            (None, Ok(value)) if value == outcome["result"] => Ok(()),
            (Some(wanted), Err(error)) if wanted == error => Ok(()),
            (_, found) => Err(format!("{expression}\n  want {outcome}\n  got {found:?}")),
        }
    });
}
