//! What the API server knows of its own kinds: those of all group versions that it serves by default.
//!
//! Written by `cargo xtask schemas`, which asks a real one. [`model()`] is what patches and server-side apply need;
//! with the feature `builtin-schemas` there are the schemas themselves and what discovery says.

use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::schema::Model;

/// The version of Kubernetes, such as `v1.36.3`.
pub fn version() -> &'static str {
    include_str!("version").trim()
}

/// The types of the built-in kinds. Read when it is first asked for.
pub fn model() -> &'static Model {
    static MODEL: LazyLock<Model> = LazyLock::new(|| {
        let types = unpacked(include_bytes!("types.json.gz"));
        // A test reads it, so there always is one.
        Model::from_compact(&types).unwrap_or_default()
    });
    &MODEL
}

/// The OpenAPI v3 schemas of the built-in kinds, without descriptions: `schemas` by name, and `groupVersions`, the names
/// that the document of each group version has, such as `apis/apps/v1`.
#[cfg(feature = "builtin-schemas")]
pub fn openapi() -> &'static Value {
    static OPENAPI: LazyLock<Value> = LazyLock::new(|| unpacked(include_bytes!("openapi.json.gz")));
    &OPENAPI
}

/// The aggregated discovery of the built-in kinds: `api` for the core group, `apis` for the others.
#[cfg(feature = "builtin-schemas")]
pub fn discovery() -> &'static Value {
    static DISCOVERY: LazyLock<Value> =
        LazyLock::new(|| unpacked(include_bytes!("discovery.json.gz")));
    &DISCOVERY
}

fn unpacked(packed: &[u8]) -> Value {
    let mut text = String::new();
    let read = GzDecoder::new(packed).read_to_string(&mut text);
    let value = read.ok().and_then(|_| serde_json::from_str(&text).ok());
    value.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::GroupVersionKind;

    #[test]
    fn the_model_has_the_kinds_of_kubernetes() {
        for (api_version, kind) in [
            ("v1", "Pod"),
            ("apps/v1", "Deployment"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            ("policy/v1", "Eviction"),
        ] {
            let kind = GroupVersionKind::new(api_version, kind);
            assert!(model().kind(&kind).is_some(), "{kind}");
        }
        assert!(version().starts_with("v1."));
    }

    #[cfg(feature = "builtin-schemas")]
    #[test]
    fn the_model_is_that_of_the_schemas() {
        let schemas = openapi()["schemas"].as_object().unwrap();
        let made = Model::from_openapi(schemas).unwrap();
        assert_eq!(made.to_compact(), model().to_compact());
        for (name, schema) in crate::schema::meta_schemas() {
            assert_eq!(schemas[&name], schema, "{name}");
        }
        assert!(discovery()["apis"]["items"].as_array().unwrap().len() > 10);
    }
}
