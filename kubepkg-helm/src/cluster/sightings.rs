//! Which version of an object this process left behind. An object of a release must be looked at before it is
//! deleted: is it ours, does it ask to be kept? When nobody has changed it since this process wrote it, the
//! answer is known, and the deletion can name the version as its condition: the server refuses it when the
//! object is another one by now, and then it is looked at. So a removal costs one request an object instead of
//! two, and stays as safe. Only objects without a generation are remembered, because the others have
//! controllers that change them at once. Nothing depends on what is remembered here, and it is bounded.

use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Objects remembered in one half; when it is full, the older half is forgotten.
const HALF: usize = 8192;

/// An object as it was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sighting {
    /// The release in whose name it was written.
    owner: (String, String),
    pub(crate) uid: String,
    pub(crate) resource_version: String,
}

impl Sighting {
    /// `None` for objects that others write, too.
    fn of(object: &Value, owner: (&str, &str)) -> Option<Self> {
        let metadata = object.get("metadata")?;
        if metadata.get("generation").is_some() || metadata.get("deletionTimestamp").is_some() {
            return None;
        }
        let text = |key: &str| Some(metadata.get(key)?.as_str()?.to_owned());
        Some(Self {
            owner: (owner.0.to_owned(), owner.1.to_owned()),
            uid: text("uid")?,
            resource_version: text("resourceVersion")?,
        })
    }
}

/// What is remembered, by path.
#[derive(Debug, Default)]
pub(crate) struct Sightings(Mutex<Halves>);

#[derive(Debug, Default)]
struct Halves {
    young: HashMap<String, Sighting>,
    old: HashMap<String, Sighting>,
}

impl Sightings {
    /// Remembers an object that this process has written as part of a release (name, namespace).
    pub(crate) fn remember(&self, path: String, object: &Value, owner: (&str, &str)) {
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sighting) = Sighting::of(object, owner) else {
            halves.young.remove(&path);
            halves.old.remove(&path);
            return;
        };
        if halves.young.len() >= HALF {
            halves.old = std::mem::take(&mut halves.young);
        }
        halves.young.insert(path, sighting);
    }

    /// What is remembered of an object, once, when the same release asks.
    pub(crate) fn take(&self, path: &str, owner: (&str, &str)) -> Option<Sighting> {
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let old = halves.old.remove(path);
        let found = halves.young.remove(path).or(old);
        found.filter(|found| (found.owner.0.as_str(), found.owner.1.as_str()) == owner)
    }
}

#[cfg(test)]
mod tests {
    use super::{HALF, Sightings};
    use serde_json::json;

    const OWNER: (&str, &str) = ("r", "ns");

    #[test]
    fn remembers_the_last_version_of_what_has_no_controller() {
        let known = Sightings::default();
        let object = |version: &str| json!({"metadata": {"uid": "u", "resourceVersion": version}});
        known.remember("/a".to_owned(), &object("1"), OWNER);
        known.remember("/a".to_owned(), &object("2"), OWNER);
        assert_eq!(
            known.take("/a", OWNER).expect("known").resource_version,
            "2"
        );
        assert_eq!(known.take("/a", OWNER), None);
        known.remember("/a".to_owned(), &object("3"), OWNER);
        assert_eq!(known.take("/a", ("other", "ns")), None);
        known.remember("/a".to_owned(), &object("3"), OWNER);
        let mut busy = object("4");
        busy["metadata"]["generation"] = json!(1);
        known.remember("/a".to_owned(), &busy, OWNER);
        assert_eq!(known.take("/a", OWNER), None);
    }

    #[test]
    fn forgets_the_oldest() {
        let known = Sightings::default();
        let object = json!({"metadata": {"uid": "u", "resourceVersion": "1"}});
        for index in 0..=2 * HALF {
            known.remember(format!("/{index}"), &object, OWNER);
        }
        assert_eq!(known.take("/0", OWNER), None);
        assert!(known.take(&format!("/{}", 2 * HALF), OWNER).is_some());
        assert!(known.take(&format!("/{}", HALF + 1), OWNER).is_some());
    }
}
