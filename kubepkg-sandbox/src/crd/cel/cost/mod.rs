//! What expressions cost, in the units of cel-go: one is about a step of the evaluator.
//!
//! [`estimate`] says what an expression may cost at most, by the sizes that a schema allows ([`Declared`]); a
//! definition is refused when that is too much. [`actual`] says what a call did cost; an expression ends when it has
//! cost too much. Both read what a function costs from one table ([`price`]). The rules are those of `checker/cost.go`,
//! `interpreter/runtimecost.go`, `ext/lists.go` and `ext/sets.go` of cel-go 0.26, and of
//! `k8s.io/apiserver/pkg/cel/library/cost.go` 0.36.

mod actual;
mod calls;
mod declared;
mod estimate;
mod price;
mod range;

pub(super) use actual::actual;
pub(crate) use declared::Declared;
pub(crate) use estimate::estimate;
pub(super) use price::Price;

/// A request to the API server has at most as many bytes.
const MAX_REQUEST: u64 = 3 * 1024 * 1024;

/// A step to a field or a variable.
pub(super) const STEP: u64 = 1;
pub(super) const NEW_LIST: u64 = 10;
pub(super) const NEW_MAP: u64 = 30;
/// To go through a character of a text.
const CHARACTER: f64 = 0.1;
/// To match one character of a pattern.
const PATTERN: f64 = 0.25;

#[cfg(test)]
mod tests {
    use kubepkg_vectors::Vectors;

    use super::*;
    use crate::crd::cel::{Type, check, of_schema};

    /// Recorded from `schema/cel.Compile` of `k8s.io/apiextensions-apiserver` 0.36.3 with the environment of
    /// `k8s.io/apiserver` 0.36.3 and cel-go 0.26.0.
    const VECTORS: Vectors<'_> = Vectors {
        name: "cel-costs",
        packed: include_bytes!("../../../../tests/vectors/cel-costs.jsonl.gz"),
        exceptions: include_str!("../../../../tests/vectors/exceptions.txt"),
    };

    #[test]
    fn expressions_are_estimated_as_by_the_api_server() {
        VECTORS.run(|row| {
            let (schema, root) = (&row["schema"], row["root"] == true);
            let rule = row["rule"].as_str().unwrap();
            let of = of_schema(schema, root).unwrap();
            let checked = check(rule, &[("self", of.clone()), ("oldSelf", of)]);
            let wanted = row["compile_error"].as_str();
            let checked = match (checked, wanted) {
                (Ok(checked), None) if checked.of == Type::Plain("bool") => checked,
                (Err(found), Some(wanted)) if wanted == format!("compilation failed: {found}") => {
                    return Ok(());
                }
                (found, wanted) => {
                    let found = found.map(|checked| checked.of.to_string());
                    return Err(format!("{rule}\n  want {wanted:?}\n  got {found:?}"));
                }
            };
            let declared = Declared::of_schema(schema, root).unwrap();
            let found = (estimate(&checked, &declared).max, declared.occurrences());
            let wanted = (row["cost"].as_u64(), row["cardinality"].as_u64());
            if (Some(found.0), Some(found.1)) == wanted {
                return Ok(());
            }
            Err(format!("{rule}\n  want {wanted:?}\n  got {found:?}"))
        });
    }
}
