//! Go strings: immutable byte sequences that are usually, but not always, UTF-8.
//!
//! A Go `string` may hold any bytes and template functions cut strings at byte offsets, so text is
//! kept as bytes and only read as `str` on request. Clones share the bytes. Source: the Go
//! language specification, "String types".

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// An immutable, cheaply cloned Go string.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoString(Arc<[u8]>);

impl GoString {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text, when the bytes are UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The text as Go's encoders write it: one U+FFFD for each byte that is no UTF-8.
    pub fn to_encoded(&self) -> String {
        if let Some(text) = self.as_str() {
            return text.to_owned();
        }
        let mut text = String::with_capacity(self.len());
        for chunk in self.utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
        }
        text
    }

    /// The text with every invalid sequence replaced by U+FFFD.
    pub fn to_str_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl Default for GoString {
    fn default() -> Self {
        Self(Arc::from(&[][..]))
    }
}

impl Deref for GoString {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for GoString {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for GoString {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for GoString {
    fn from(text: &str) -> Self {
        Self(Arc::from(text.as_bytes()))
    }
}

impl From<String> for GoString {
    fn from(text: String) -> Self {
        Self(Arc::from(text.into_bytes()))
    }
}

impl From<&String> for GoString {
    fn from(text: &String) -> Self {
        Self(Arc::from(text.as_bytes()))
    }
}

impl From<&[u8]> for GoString {
    fn from(bytes: &[u8]) -> Self {
        Self(Arc::from(bytes))
    }
}

impl From<Arc<[u8]>> for GoString {
    /// Shares the bytes.
    fn from(bytes: Arc<[u8]>) -> Self {
        Self(bytes)
    }
}

impl From<Vec<u8>> for GoString {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::from(bytes))
    }
}

impl PartialEq<str> for GoString {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for GoString {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl fmt::Debug for GoString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_str_lossy())
    }
}

impl fmt::Display for GoString {
    /// Writes the lossy text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_str_lossy())
    }
}
