//! Go strings: immutable byte sequences that are usually, but not always, UTF-8.
//!
//! A Go `string` may hold any bytes and template functions cut strings at byte offsets, so text is
//! kept as bytes and only read as `str` on request. Clones share the bytes. Source: the Go
//! language specification, "String types".

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// An immutable, cheaply cloned Go string.
#[derive(Clone)]
pub struct GoString(Repr);

/// Keys and most values are short; these are no allocation.
#[derive(Clone)]
enum Repr {
    Short { len: u8, bytes: [u8; SHORT] },
    Shared(Arc<[u8]>),
}

/// As much as fits beside the length without making the string larger.
const SHORT: usize = 22;

impl GoString {
    fn short(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; SHORT];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        let len = u8::try_from(text.len()).ok()?;
        Some(Self(Repr::Short { len, bytes }))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Short { len, bytes } => bytes.get(..usize::from(*len)).unwrap_or_default(),
            Repr::Shared(bytes) => bytes,
        }
    }

    /// The bytes, to be shared.
    pub(crate) fn into_shared(self) -> Arc<[u8]> {
        match self.0 {
            Repr::Shared(bytes) => bytes,
            Repr::Short { .. } => Arc::from(self.as_bytes()),
        }
    }

    /// The text, when the bytes are UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self).ok()
    }

    /// The text as Go's encoders write it: one U+FFFD for each byte that is no UTF-8.
    pub fn to_encoded(&self) -> String {
        encoded(self)
    }

    /// The text with every invalid sequence replaced by U+FFFD.
    pub fn to_str_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self)
    }
}

/// The text of bytes as Go's encoders write it: one U+FFFD for each byte that is no UTF-8.
pub fn encoded(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

impl Default for GoString {
    fn default() -> Self {
        Self(Repr::Short {
            len: 0,
            bytes: [0; SHORT],
        })
    }
}

impl Deref for GoString {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl AsRef<[u8]> for GoString {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Borrow<[u8]> for GoString {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl PartialEq for GoString {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for GoString {}

impl PartialOrd for GoString {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for GoString {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for GoString {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl From<&[u8]> for GoString {
    fn from(bytes: &[u8]) -> Self {
        Self::short(bytes).unwrap_or_else(|| Self(Repr::Shared(Arc::from(bytes))))
    }
}

impl From<&str> for GoString {
    fn from(text: &str) -> Self {
        Self::from(text.as_bytes())
    }
}

impl From<String> for GoString {
    fn from(text: String) -> Self {
        Self::from(text.as_bytes())
    }
}

impl From<&String> for GoString {
    fn from(text: &String) -> Self {
        Self::from(text.as_bytes())
    }
}

impl From<Arc<[u8]>> for GoString {
    /// Shares the bytes.
    fn from(bytes: Arc<[u8]>) -> Self {
        Self(Repr::Shared(bytes))
    }
}

impl From<Vec<u8>> for GoString {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(bytes.as_slice())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_strings_are_alike() {
        let texts: Vec<String> = (0..60).map(|len| "é".repeat(len)).collect();
        for text in &texts {
            let string = GoString::from(text);
            assert_eq!(string.as_bytes(), text.as_bytes());
            let shared = GoString::from(Arc::from(text.as_bytes()));
            assert_eq!(string, shared);
            for other in &texts {
                assert_eq!(string.cmp(&other.into()), text.cmp(other), "{text} {other}");
            }
        }
    }

    #[test]
    fn a_value_is_no_larger_than_a_string() {
        assert_eq!(size_of::<GoString>(), 24);
        assert_eq!(size_of::<crate::Value>(), 24);
    }
}
