//! Reading objects that may be malformed.
//!
//! One object whose spec does not parse must not blind a watch of its kind: [`Guarded`] keeps its metadata and
//! the error's text, so that the operator can say so on that object and go on with the others. It is what a
//! watch of a kind should be typed with: `Api::<Guarded<Package>>::all_with(client, &group)`.
//!
//! Objects that passed the CRD's schema parse; what remains are objects stored under an older schema.

pub use kube::core::error_boundary::InvalidObject;

/// An object of kind `K`, or its metadata with the reason why it is not one.
pub type Guarded<K> = kube::core::DeserializeGuard<K>;

#[cfg(test)]
mod tests {
    use kube::Resource;
    use serde_json::json;

    use super::*;
    use crate::{ApiGroup, Package};

    #[test]
    fn a_malformed_package_keeps_its_metadata_and_says_what_is_wrong() {
        let items: Vec<Guarded<Package>> = serde_json::from_value(json!([
            { "metadata": { "name": "good" }, "spec": { "version": "~1" } },
            { "metadata": { "name": "bad", "generation": 4 }, "spec": { "upgrade": { "timeout": "ten" } } }
        ]))
        .unwrap();
        assert!(items[0].0.is_ok());
        let bad = &items[1];
        assert_eq!(bad.meta().name.as_deref(), Some("bad"));
        assert_eq!(bad.meta().generation, Some(4));
        assert!(bad.0.as_ref().unwrap_err().error.contains("ten"));
        assert_eq!(Guarded::<Package>::plural(&ApiGroup::default()), "packages");
    }
}
