//! `values.schema.json`: any schema, any values, an answer soon.

use kubepkg_helm::{Values, validate_against_schema};

use crate::guard::soon;
use crate::parts;

/// Parts: the schema, then values in YAML.
pub(crate) fn check(input: &[u8]) {
    let (schema, values) = parts::first(input);
    let Ok(values) = Values::from_yaml_documents(values) else {
        return;
    };
    let once = || soon("validating", || validate_against_schema(schema, &values));
    let outcome = once();
    assert_eq!(outcome, once(), "two answers");
    if let Err(message) = outcome {
        assert!(!message.is_empty());
    }
}
