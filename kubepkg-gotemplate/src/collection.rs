//! Lists, byte lists and maps: the shared containers of the value model.
//!
//! Each carries its Go type and may be nil (a nil map reads as empty and prints as `map[]`, but
//! writing to it is a run-time panic in Go, and `toYaml` prints `null`). Containers are dropped
//! without recursion, so that a value nested a million deep cannot overflow the stack.

use std::cell::{Ref, RefCell, RefMut};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::bytestring::GoString;
use crate::gotype::{self, Type};
use crate::value::Value;

/// A Go slice of anything but bytes: immutable, shared, typed, possibly nil.
#[derive(Clone, Debug)]
pub struct List {
    go_type: &'static Type,
    body: Option<Rc<ListBody>>,
}

#[derive(Debug, Default)]
struct ListBody {
    items: Vec<Value>,
    capacity: usize,
}

impl List {
    /// A `[]interface{}`.
    pub fn new(items: Vec<Value>) -> Self {
        Self::typed(&gotype::SLICE_ANY, items)
    }

    /// A slice of the given type; the items must be of its element type.
    pub fn typed(go_type: &'static Type, items: Vec<Value>) -> Self {
        let capacity = items.len();
        Self::with_capacity(go_type, items, capacity)
    }

    /// A slice whose Go capacity is larger than its length: re-slicing may reach the spare elements.
    pub fn with_capacity(go_type: &'static Type, items: Vec<Value>, capacity: usize) -> Self {
        let capacity = capacity.max(items.len());
        Self {
            go_type,
            body: Some(Rc::new(ListBody { items, capacity })),
        }
    }

    /// A `[]interface{}` as Go's JSON decoder makes it: appended item by item, so that its capacity
    /// exceeds its length, and Sprig's `slice` may reach beyond the end.
    pub fn decoded(items: Vec<Value>) -> Self {
        let capacity = appended_capacity(items.len());
        Self::with_capacity(&gotype::SLICE_ANY, items, capacity)
    }

    /// The nil slice of a type.
    pub fn nil(go_type: &'static Type) -> Self {
        Self {
            go_type,
            body: None,
        }
    }

    /// The slice type.
    pub fn go_type(&self) -> &'static Type {
        self.go_type
    }

    /// The element type.
    pub fn elem_type(&self) -> &'static Type {
        self.go_type.elem.unwrap_or(&gotype::ANY)
    }

    /// The same elements seen as another slice type.
    #[must_use]
    pub fn with_type(&self, go_type: &'static Type) -> Self {
        Self {
            go_type,
            body: self.body.clone(),
        }
    }

    /// Whether this is the nil slice.
    pub fn is_nil(&self) -> bool {
        self.body.is_none()
    }

    /// The items.
    pub fn items(&self) -> &[Value] {
        self.body.as_ref().map_or(&[], |body| body.items.as_slice())
    }

    /// The items; copied when another list has them, too.
    pub fn into_items(self) -> Vec<Value> {
        match self.body.map(Rc::try_unwrap) {
            Some(Ok(mut body)) => std::mem::take(&mut body.items),
            Some(Err(shared)) => shared.items.clone(),
            None => Vec::new(),
        }
    }

    /// Go's `cap`.
    pub fn capacity(&self) -> usize {
        self.body.as_ref().map_or(0, |body| body.capacity)
    }

    /// Go's `len`.
    pub fn len(&self) -> usize {
        self.items().len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.items().is_empty()
    }

    /// The item at an index.
    pub fn get(&self, index: usize) -> Option<&Value> {
        self.items().get(index)
    }

    /// The items in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Value> {
        self.items().iter()
    }

    /// Whether both share one backing array.
    pub fn same(&self, other: &Self) -> bool {
        match (&self.body, &other.body) {
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }
}

/// The capacity of a slice of 16-byte items to which `len` items were appended one by one.
fn appended_capacity(len: usize) -> usize {
    let mut capacity = 0;
    while capacity < len {
        capacity = grown(capacity, capacity + 1);
    }
    capacity
}

/// The capacity that Go's `append` gives a slice of 16-byte items with pointers when it has to grow:
/// doubled up to 256, then by a quarter and a bit, and then as much as the allocator hands out.
/// Source: `growslice` and `roundupsize` of package `runtime` in Go 1.26.
pub(crate) fn grown(capacity: usize, needed: usize) -> usize {
    const ITEM: usize = 16;
    const PAGE: usize = 8_192;
    /// From this size on an object with pointers carries a header.
    const HEADER_FROM: usize = 512;
    const HEADER: usize = 8;
    const LARGEST_SMALL: usize = 32_768;
    const CLASSES: [usize; 66] = [
        16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320,
        352, 384, 416, 448, 480, 512, 576, 640, 704, 768, 896, 1_024, 1_152, 1_280, 1_408, 1_536,
        1_792, 2_048, 2_304, 2_688, 3_072, 3_200, 3_456, 4_096, 4_864, 5_120, 5_376, 6_144, 6_528,
        6_784, 6_912, 8_192, 9_472, 9_728, 10_240, 10_880, 12_288, 13_568, 14_336, 16_384, 18_432,
        19_072, 20_480, 21_760, 24_576, 27_264, 28_672,
    ];
    let mut wanted = capacity;
    if needed > capacity.saturating_mul(2) {
        wanted = needed;
    } else if capacity < 256 {
        wanted = capacity * 2;
    } else {
        while wanted < needed {
            wanted += (wanted + 768) / 4;
        }
    }
    let bytes = wanted.saturating_mul(ITEM);
    if bytes > LARGEST_SMALL - HEADER {
        return bytes.next_multiple_of(PAGE) / ITEM;
    }
    let header = if bytes > HEADER_FROM { HEADER } else { 0 };
    let class = CLASSES.into_iter().find(|class| *class >= bytes + header);
    (class.unwrap_or(LARGEST_SMALL) - header) / ITEM
}

impl Default for List {
    /// The nil `[]interface{}`.
    fn default() -> Self {
        Self::nil(&gotype::SLICE_ANY)
    }
}

impl<'a> IntoIterator for &'a List {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<Value> for List {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        Self::new(items.into_iter().collect())
    }
}

impl Drop for ListBody {
    fn drop(&mut self) {
        if self.items.iter().any(owns_more) {
            drop_flat(std::mem::take(&mut self.items));
        }
    }
}

/// A Go `[]byte`, possibly nil.
#[derive(Clone, Debug, Default)]
pub struct GoBytes(Option<Arc<[u8]>>);

impl GoBytes {
    /// A byte slice.
    pub fn new(bytes: impl Into<GoString>) -> Self {
        Self(Some(bytes.into().into_shared()))
    }

    /// The nil byte slice.
    pub const fn nil() -> Self {
        Self(None)
    }

    /// Whether this is the nil slice.
    pub fn is_nil(&self) -> bool {
        self.0.is_none()
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The bytes as a string value, without a copy.
    pub fn to_go_string(&self) -> GoString {
        self.0.clone().map(GoString::from).unwrap_or_default()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    /// Go's `len`.
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Standard base64 with padding: how `encoding/json` writes a byte slice.
    pub fn to_base64(&self) -> String {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut out = String::with_capacity(self.len().div_ceil(3) * 4);
        for chunk in self.as_bytes().chunks(3) {
            let byte = |i: usize| chunk.get(i).copied().map_or(0, u32::from);
            let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
            for i in 0..4 {
                let index = (bits >> (18 - 6 * i)) & 63;
                match ALPHABET.get(index as usize) {
                    Some(c) if i <= chunk.len() => out.push(char::from(*c)),
                    _ => out.push('='),
                }
            }
        }
        out
    }
}

/// The entries of a map, in the order in which Go sorts string keys.
pub type Entries = BTreeMap<GoString, Value>;

/// A Go map with string keys: mutable, shared, typed, possibly nil.
#[derive(Clone, Debug)]
pub struct Map {
    go_type: &'static Type,
    body: Option<Rc<MapBody>>,
}

#[derive(Debug, Default)]
struct MapBody(RefCell<Entries>);

impl Map {
    /// An empty map of a type.
    pub fn typed(go_type: &'static Type) -> Self {
        Self {
            go_type,
            body: Some(Rc::default()),
        }
    }

    /// A map of a type with these entries.
    pub fn from_entries(go_type: &'static Type, entries: Entries) -> Self {
        Self {
            go_type,
            body: Some(Rc::new(MapBody(RefCell::new(entries)))),
        }
    }

    /// The nil map of a type.
    pub fn nil(go_type: &'static Type) -> Self {
        Self {
            go_type,
            body: None,
        }
    }

    /// The map type.
    pub fn go_type(&self) -> &'static Type {
        self.go_type
    }

    /// The element type.
    pub fn elem_type(&self) -> &'static Type {
        self.go_type.elem.unwrap_or(&gotype::ANY)
    }

    /// The same entries seen as another map type, as a Go conversion does: a change through one
    /// is seen through the other.
    #[must_use]
    pub fn with_type(&self, go_type: &'static Type) -> Self {
        Self {
            go_type,
            body: self.body.clone(),
        }
    }

    /// Whether this is the nil map.
    pub fn is_nil(&self) -> bool {
        self.body.is_none()
    }

    /// Whether both are one and the same map.
    pub fn same(&self, other: &Self) -> bool {
        match (&self.body, &other.body) {
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.body.as_ref().map_or(0, |b| b.0.borrow().len())
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<Value> {
        self.body.as_ref()?.0.borrow().get(key).cloned()
    }

    /// Whether there is such a key.
    pub fn contains_key(&self, key: &[u8]) -> bool {
        self.body
            .as_ref()
            .is_some_and(|b| b.0.borrow().contains_key(key))
    }

    /// Sets a key. Returns `false` for the nil map, where Go panics with
    /// `assignment to entry in nil map`.
    #[expect(
        clippy::must_use_candidate,
        reason = "most maps are known not to be nil"
    )]
    pub fn insert(&self, key: GoString, value: Value) -> bool {
        match &self.body {
            Some(body) => {
                let old = body.0.borrow_mut().insert(key, value);
                drop(old);
                true
            }
            None => false,
        }
    }

    /// Removes a key.
    pub fn remove(&self, key: &[u8]) -> Option<Value> {
        self.body.as_ref()?.0.borrow_mut().remove(key)
    }

    /// Removes every entry; ends a cycle of maps that contain each other.
    pub fn clear(&self) {
        if let Some(body) = &self.body {
            let old = std::mem::take(&mut *body.0.borrow_mut());
            drop(old);
        }
    }

    /// All keys in order.
    pub fn keys(&self) -> Vec<GoString> {
        self.borrow().iter().map(|(k, _)| k.clone()).collect()
    }

    /// A look at the entries. Nothing may write to the map while the guard lives.
    pub fn borrow(&self) -> EntriesGuard<'_> {
        EntriesGuard(self.body.as_ref().map(|b| b.0.borrow()))
    }

    /// The entries, for a change; `None` for the nil map. Nothing may read or write the map
    /// through another handle while the guard lives.
    pub fn borrow_mut(&self) -> Option<RefMut<'_, Entries>> {
        self.body.as_ref().map(|b| b.0.borrow_mut())
    }

    /// A new map of the same type with the same (shared) values.
    #[must_use]
    pub fn shallow_copy(&self) -> Self {
        Self::from_entries(
            self.go_type,
            self.borrow()
                .iter()
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
        )
    }
}

/// A read guard over the entries of a map.
#[derive(Debug)]
pub struct EntriesGuard<'a>(Option<Ref<'a, Entries>>);

impl EntriesGuard<'_> {
    /// The entries in key order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&GoString, &Value)> {
        self.0.as_deref().map(Entries::iter).unwrap_or_default()
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&Value> {
        self.0.as_ref()?.get(key)
    }
}

impl Default for Map {
    /// An empty `map[string]interface{}`.
    fn default() -> Self {
        Self::typed(&gotype::MAP_ANY)
    }
}

impl FromIterator<(GoString, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (GoString, Value)>>(entries: I) -> Self {
        Self::from_entries(&gotype::MAP_ANY, entries.into_iter().collect())
    }
}

impl Drop for MapBody {
    fn drop(&mut self) {
        let entries = self.0.get_mut();
        if entries.values().any(owns_more) {
            drop_flat(std::mem::take(entries).into_values().collect());
        }
    }
}

/// Whether dropping the value drops what it holds, too: nobody else has it.
fn owns_more(value: &Value) -> bool {
    match value {
        Value::List(list) => list.body.as_ref().is_some_and(|b| Rc::strong_count(b) == 1),
        Value::Map(map) => map.body.as_ref().is_some_and(|b| Rc::strong_count(b) == 1),
        _ => false,
    }
}

/// Drops values with a list of work instead of the call stack.
fn drop_flat(mut work: Vec<Value>) {
    while let Some(value) = work.pop() {
        match value {
            Value::List(mut list) => {
                if let Some(body) = list.body.as_mut().and_then(Rc::get_mut) {
                    work.append(&mut body.items);
                }
            }
            Value::Map(mut map) => {
                if let Some(body) = map.body.as_mut().and_then(Rc::get_mut) {
                    work.extend(std::mem::take(body.0.get_mut()).into_values());
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_padded_base64() {
        for (plain, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v")] {
            assert_eq!(GoBytes::new(plain).to_base64(), encoded);
        }
    }

    #[test]
    fn a_decoded_list_has_the_capacity_of_gos_append() {
        // Expected: cap() of the lists that encoding/json of Go 1.26 makes, on amd64.
        for (len, capacity) in [
            (0, 0),
            (1, 1),
            (3, 4),
            (5, 8),
            (17, 32),
            (33, 71),
            (72, 143),
            (144, 303),
            (304, 591),
            (592, 1_023),
            (1_024, 1_535),
            (1_536, 2_560),
            (2_561, 3_584),
            (3_585, 5_120),
        ] {
            assert_eq!(appended_capacity(len), capacity, "{len}");
        }
    }

    #[test]
    fn the_nil_map_reads_as_empty_and_refuses_writes() {
        let map = Map::nil(&gotype::MAP_ANY);
        assert!(map.is_empty() && map.get(b"a").is_none());
        assert!(!map.insert("a".into(), Value::Nil));
    }
}
