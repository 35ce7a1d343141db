//! The labels of a release record that tell whose it is and what it was made for.
//!
//! `kubepkg.dev/package` names the package (reference §1.8), `kubepkg.dev/revision` the revision of the package,
//! `kubepkg.dev/package-uid` the object whose revision that is: a package that was made anew under an old name begins at
//! revision 1 again. Helm shows and keeps them; a record without the first one was made by somebody else.

use std::collections::BTreeMap;

use kubepkg_api::keys;
use kubepkg_helm::RecordHead;

use crate::Target;

/// The label with the revision of the package that a record was made for.
pub(super) const REVISION_LABEL: &str = "kubepkg.dev/revision";
/// The label with the identity of the package object.
pub(super) const UID_LABEL: &str = "kubepkg.dev/package-uid";
/// The value that takes a label off the next record.
const REMOVE: &str = "null";
/// The part after the slash of `<group>/privileged`, the one label that a component may stop to have.
const PRIVILEGED: &str = "privileged";

/// Why a release does not belong to a package; `None` when it does.
pub(super) fn foreign(head: &RecordHead, package: &str) -> Option<String> {
    match head.labels.get(keys::PACKAGE_LABEL) {
        Some(owner) if owner == package => None,
        Some(owner) => Some(format!("belongs to package {owner}")),
        None => {
            Some("was not made by kubepkg; annotate the Package with kubepkg.dev/adopt=true to take it over".to_owned())
        }
    }
}

/// The package revision that a record was made for.
pub(super) fn package_revision(head: &RecordHead) -> Option<u64> {
    head.labels.get(REVISION_LABEL)?.parse().ok()
}

/// Whether a record was made for this revision of this package object.
pub(super) fn is_for(head: &RecordHead, target: &Target) -> bool {
    package_revision(head) == Some(target.revision)
        && head.labels.get(UID_LABEL) == Some(&target.uid)
}

/// The labels of a new record: the owner's marks and the component's own. Others that the last record has stay, as
/// Helm does it, but for the mark of a privileged namespace.
pub(super) fn labels(
    target: &Target,
    own: &BTreeMap<String, String>,
    last: Option<&RecordHead>,
) -> BTreeMap<String, String> {
    let mut labels = own.clone();
    labels.insert(keys::PACKAGE_LABEL.to_owned(), target.package.clone());
    labels.insert(REVISION_LABEL.to_owned(), target.revision.to_string());
    labels.insert(UID_LABEL.to_owned(), target.uid.clone());
    for key in last.iter().flat_map(|head| head.labels.keys()) {
        let privileged = key
            .rsplit_once('/')
            .is_some_and(|(_, name)| name == PRIVILEGED);
        if privileged && !labels.contains_key(key) {
            labels.insert(key.clone(), REMOVE.to_owned());
        }
    }
    labels
}
