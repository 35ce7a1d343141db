//! What the six kinds have in common, and the macro that ties a spec and a status to a Kubernetes object.
//!
//! Every kind is cluster-scoped, has a `status` subresource and belongs to an [`ApiGroup`] that is known at run
//! time only (reference §1.1). `kube`'s own derive fixes the group in the type, so the objects are written here.

use kube::Resource;
use kube::core::ClusterResourceScope;

use crate::group::ApiGroup;

/// One of the six kinds.
pub trait Kind: Resource<DynamicType = ApiGroup, Scope = ClusterResourceScope> + Sized {
    /// What users write.
    type Spec;
    /// What the operator writes.
    type Status;
    /// The kind, such as `Package`.
    const KIND: &'static str;
    /// The plural that URLs use, such as `packages`.
    const PLURAL: &'static str;
    /// The singular that kubectl accepts.
    const SINGULAR: &'static str;
    /// Short names that kubectl accepts.
    const SHORT_NAMES: &'static [&'static str];

    /// A new object of this kind, without a status.
    fn new(group: &ApiGroup, name: &str, spec: Self::Spec) -> Self;

    /// The name of the kind's CRD in this group, `<plural>.<group>`.
    fn crd_name(group: &ApiGroup) -> String {
        format!("{}.{group}", Self::PLURAL)
    }
}

macro_rules! kind {
    (
        $(#[$doc:meta])*
        $name:ident { plural: $plural:literal, singular: $singular:literal, short: [$($short:literal),*],
        $(#[$spec_attr:meta])* spec: $spec:ty, status: $status:ty }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// `<group>/v1`; filled by [`Kind::new`](crate::Kind::new) and by the API server.
            #[serde(default, skip_serializing_if = "String::is_empty")]
            pub api_version: String,
            /// The kind; filled by [`Kind::new`](crate::Kind::new) and by the API server.
            #[serde(default, skip_serializing_if = "String::is_empty")]
            pub kind: String,
            /// Ordinary object metadata.
            #[serde(default)]
            pub metadata: ::kube::core::ObjectMeta,
            /// What users write.
            $(#[$spec_attr])*
            pub spec: $spec,
            /// What the operator writes; absent until it did.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub status: Option<$status>,
        }

        impl $crate::kind::Kind for $name {
            type Spec = $spec;
            type Status = $status;

            const KIND: &'static str = stringify!($name);
            const PLURAL: &'static str = $plural;
            const SINGULAR: &'static str = $singular;
            const SHORT_NAMES: &'static [&'static str] = &[$($short),*];

            fn new(group: &$crate::ApiGroup, name: &str, spec: $spec) -> Self {
                Self {
                    api_version: group.api_version(),
                    kind: Self::KIND.to_owned(),
                    metadata: ::kube::core::ObjectMeta { name: Some(name.to_owned()), ..Default::default() },
                    spec,
                    status: None,
                }
            }
        }

        impl ::kube::Resource for $name {
            type DynamicType = $crate::ApiGroup;
            type Scope = ::kube::core::ClusterResourceScope;

            fn kind(_: &$crate::ApiGroup) -> ::std::borrow::Cow<'_, str> {
                stringify!($name).into()
            }

            fn group(group: &$crate::ApiGroup) -> ::std::borrow::Cow<'_, str> {
                group.as_str().into()
            }

            fn version(_: &$crate::ApiGroup) -> ::std::borrow::Cow<'_, str> {
                $crate::group::VERSION.into()
            }

            fn plural(_: &$crate::ApiGroup) -> ::std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &::kube::core::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ::kube::core::ObjectMeta {
                &mut self.metadata
            }
        }

        impl ::kube::core::object::HasSpec for $name {
            type Spec = $spec;

            fn spec(&self) -> &$spec {
                &self.spec
            }

            fn spec_mut(&mut self) -> &mut $spec {
                &mut self.spec
            }
        }

        impl ::kube::core::object::HasStatus for $name {
            type Status = $status;

            fn status(&self) -> Option<&$status> {
                self.status.as_ref()
            }

            fn status_mut(&mut self) -> &mut Option<$status> {
                &mut self.status
            }
        }
    };
}

pub(crate) use kind;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cluster, Package, PackageRevision, PackageSet, PackageSource, Repository};

    #[test]
    fn the_group_is_a_value() {
        let group = ApiGroup::new("packages.example.org").unwrap();
        assert_eq!(
            Package::url_path(&group, None),
            "/apis/packages.example.org/v1/packages"
        );
        assert_eq!(
            Package::url_path(&ApiGroup::default(), None),
            "/apis/kubepkg.dev/v1/packages"
        );
        assert_eq!(
            Repository::crd_name(&group),
            "repositories.packages.example.org"
        );
        let package = Package::new(&group, "a", crate::PackageSpec::default());
        assert_eq!(
            package.object_ref(&group).api_version.as_deref(),
            Some("packages.example.org/v1")
        );
        assert_eq!(
            serde_json::to_value(&package).unwrap(),
            serde_json::json!({
                "apiVersion": "packages.example.org/v1",
                "kind": "Package",
                "metadata": { "name": "a" },
                "spec": {}
            })
        );
    }

    /// Reference §1.1 to §1.7.
    #[test]
    fn plurals_and_short_names() {
        fn names<K: Kind>() -> (&'static str, &'static [&'static str]) {
            (K::PLURAL, K::SHORT_NAMES)
        }
        assert_eq!(names::<PackageSource>(), ("packagesources", &["pks"][..]));
        assert_eq!(names::<Package>(), ("packages", &["pkg", "pkgs"][..]));
        assert_eq!(
            names::<PackageRevision>(),
            ("packagerevisions", &["pkgrev"][..])
        );
        assert_eq!(names::<Repository>(), ("repositories", &["pkgrepo"][..]));
        assert_eq!(names::<Cluster>(), ("clusters", &[][..]));
        assert_eq!(names::<PackageSet>(), ("packagesets", &["pkgset"][..]));
    }
}
