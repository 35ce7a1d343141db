//! Controllers that a test brings for kinds which the server does not play by itself.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// What a controller does with an object that it looks at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Played {
    /// The object's new status; none leaves the old one.
    pub status: Option<Value>,
    /// When it wants to look again, even when nobody changes the object.
    pub look_again: Option<SignedDuration>,
}

/// A controller: given an object and the time of the server.
pub(crate) type Player = Arc<dyn Fn(&Value, Timestamp) -> Played + Send + Sync>;

/// Controllers by the table of their kind.
#[derive(Clone, Default)]
pub(crate) struct Players(BTreeMap<Arc<str>, Player>);

impl Players {
    /// Sets the controller of a table; an earlier one is let go of.
    pub(crate) fn set(&mut self, table: &str, player: Player) {
        self.0.insert(table.into(), player);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The controller of a table.
    pub(crate) fn of(&self, table: &str) -> Option<Player> {
        self.0.get(table).map(Arc::clone)
    }
}

impl fmt::Debug for Players {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
