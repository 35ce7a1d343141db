//! From nodes to values: types, merge keys, aliases, duplicate keys.
//!
//! The rules are those of go-yaml v2 decoding into `interface{}`: `<<` is applied where it
//! stands, a later key replaces an earlier one, an alias inside its own anchor is an error, and
//! a document whose nodes come mostly from aliases is refused. The walk keeps its own stack, and
//! an anchored collection is decoded once however often it is referred to; the cost that Go
//! would have had is still counted.

use std::collections::{HashMap, HashSet};

use crate::compose::{Document, NodeKind, ROOT};
use crate::error::{DuplicateKey, YamlError};
use crate::gosyntax;
use crate::scalar::{self, Meaning, Tag};
use crate::tree::{Tree, Val};

const WANT_MAP: &str = "map merge requires map or sequence of maps as the value";

enum Frame<'n> {
    Seq {
        place: Place,
        base: usize,
        before: u64,
    },
    Map {
        place: Place,
        base: usize,
        before: u64,
        key: Option<Val<'n>>,
    },
    /// A map whose entries go into the map below it.
    Merge { place: Place, key: Option<Val<'n>> },
    /// Maps still to be merged, the next one last.
    MergeList(Vec<u32>),
    /// An alias that is being expanded.
    Alias,
}

/// How far the decoding of a collection has come.
#[derive(Clone, Copy)]
struct Place {
    node: u32,
    /// The next node to decode.
    next: u32,
    /// The node that was begun last.
    begun: u32,
    /// The index after the collection.
    end: u32,
}

impl Place {
    fn start(node: u32, end: u32) -> Self {
        Place {
            node,
            next: node + 1,
            begun: node,
            end,
        }
    }
}

/// What makes a key one key in a Go map.
#[derive(PartialEq, Eq, Hash)]
enum Identity<'n> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(u64),
    Text(&'n [u8]),
}

/// Entries of maps that are still open.
struct Entries<'n> {
    open: Vec<(Val<'n>, Val<'n>)>,
    /// Keys of open maps, for strict decoding.
    seen: Vec<HashSet<Identity<'n>>>,
    duplicates: Vec<DuplicateKey>,
}

impl<'n> Entries<'n> {
    /// Adds an entry to the innermost open map. `node` is the node of the value.
    #[inline]
    fn add(&mut self, entry: (Val<'n>, Val<'n>), document: &Document<'_>, node: u32) {
        if self.seen.is_empty() || self.is_new(entry.0, document, node) {
            self.open.push(entry);
        }
    }

    /// Whether the innermost map does not have the key yet, which is noted.
    fn is_new(&mut self, key: Val<'n>, document: &Document<'_>, node: u32) -> bool {
        let Some(seen) = self.seen.last_mut() else {
            return true;
        };
        let identity = match key {
            Val::Null | Val::Seq(_) | Val::Map(_) => Identity::Null,
            Val::Bool(value) => Identity::Bool(value),
            Val::Int(value) => Identity::Int(value),
            Val::Uint(value) => Identity::Uint(value),
            Val::Float(value) if value.is_nan() => return true,
            // Adding zero turns -0 into 0, which is the same key.
            Val::Float(value) => Identity::Float((value + 0.0).to_bits()),
            Val::Str(text) => Identity::Text(text.as_bytes()),
            Val::Bytes(bytes) => Identity::Text(bytes),
        };
        let new = seen.insert(identity);
        if !new {
            let key = gosyntax::write(&Tree::empty(), key);
            let line = document.node(node).position().line;
            self.duplicates.push(DuplicateKey { line, key });
        }
        new
    }
}

struct Decoder<'n, 'a> {
    document: &'n Document<'a>,
    strict: bool,
    tree: Tree<'n>,
    frames: Vec<Frame<'n>>,
    /// Items of sequences that are still open.
    items: Vec<Val<'n>>,
    entries: Entries<'n>,
    cost: Cost,
    /// Collections that are being decoded.
    active: HashSet<u32>,
    finished: HashMap<u32, (Val<'n>, u64)>,
}

/// How many nodes Go would have decoded.
struct Cost {
    decoded: u64,
    from_aliases: u64,
    alias_depth: u64,
}

impl Cost {
    /// Counts the node that comes next.
    #[inline]
    fn next(&mut self) -> Result<(), YamlError> {
        self.count(1, self.alias_depth > 0)
    }

    #[inline]
    fn count(&mut self, nodes: u64, as_alias: bool) -> Result<(), YamlError> {
        self.decoded += nodes;
        if as_alias {
            self.from_aliases += nodes;
            self.check_ratio()?;
        }
        Ok(())
    }

    #[allow(clippy::cast_precision_loss, reason = "a ratio")]
    fn check_ratio(&self) -> Result<(), YamlError> {
        if self.from_aliases > 100
            && self.decoded > 1000
            && self.from_aliases as f64 / self.decoded as f64 > allowed_alias_ratio(self.decoded)
        {
            return Err(YamlError::meaning(
                "document contains excessive aliasing",
                None,
            ));
        }
        Ok(())
    }
}

/// Decodes a document.
pub(crate) fn decode<'n>(document: &'n Document<'_>, strict: bool) -> Result<Tree<'n>, YamlError> {
    if document.nodes.is_empty() {
        return Ok(Tree::empty());
    }
    let mut decoder = Decoder {
        document,
        strict,
        tree: Tree::empty(),
        frames: Vec::new(),
        items: Vec::new(),
        entries: Entries {
            open: Vec::new(),
            seen: Vec::new(),
            duplicates: Vec::new(),
        },
        // The document itself counts.
        cost: Cost {
            decoded: 1,
            from_aliases: 0,
            alias_depth: 0,
        },
        active: HashSet::new(),
        finished: HashMap::new(),
    };
    let root = decoder.run(ROOT)?;
    decoder.tree.root = root;
    if decoder.entries.duplicates.is_empty() {
        Ok(decoder.tree)
    } else {
        Err(YamlError::DuplicateKeys(decoder.entries.duplicates))
    }
}

/// How many nodes may come from aliases: 99 % in small documents, 10 % in large ones.
#[allow(clippy::cast_precision_loss, reason = "a ratio")]
fn allowed_alias_ratio(decoded: u64) -> f64 {
    const LOW: u64 = 400_000;
    const HIGH: u64 = 4_000_000;
    match decoded {
        ..=LOW => 0.99,
        HIGH.. => 0.10,
        _ => 0.99 - 0.89 * ((decoded - LOW) as f64 / (HIGH - LOW) as f64),
    }
}

impl<'n> Decoder<'n, '_> {
    fn run(&mut self, root: u32) -> Result<Val<'n>, YamlError> {
        let mut ready = self.begin(root)?;
        loop {
            ready = match ready.take() {
                Some(value) => match self.frames.last() {
                    None => return Ok(value),
                    Some(_) => self.deliver(value)?,
                },
                None => self.step()?,
            };
        }
    }

    /// Starts on a node. A scalar is done at once.
    fn begin(&mut self, index: u32) -> Result<Option<Val<'n>>, YamlError> {
        let before = self.cost.decoded;
        let mut index = index;
        let mut node = self.document.node(index);
        self.cost.next()?;
        if let NodeKind::Alias { name, target } = node.kind {
            if self.active.contains(&target) {
                return Err(YamlError::meaning(
                    format!("anchor '{name}' value contains itself"),
                    Some(node.position()),
                ));
            }
            if let Some(&(value, cost)) = self.finished.get(&target) {
                self.cost.count(cost, true)?;
                return Ok(Some(value));
            }
            self.cost.alias_depth += 1;
            self.frames.push(Frame::Alias);
            index = target;
            node = self.document.node(target);
            self.cost.count(1, true)?;
        }
        match node.kind {
            NodeKind::Scalar { .. } => scalar(self.document, index).map(Some),
            NodeKind::Sequence(end) => {
                self.open(index);
                self.frames.push(Frame::Seq {
                    place: Place::start(index, end),
                    base: self.items.len(),
                    before,
                });
                Ok(None)
            }
            NodeKind::Mapping(end) => {
                self.open(index);
                if self.strict {
                    self.entries.seen.push(HashSet::new());
                }
                self.frames.push(Frame::Map {
                    place: Place::start(index, end),
                    base: self.entries.open.len(),
                    before,
                    key: None,
                });
                Ok(None)
            }
            NodeKind::Alias { .. } => Ok(Some(Val::Null)),
        }
    }

    fn open(&mut self, index: u32) {
        if self.document.has_alias {
            self.active.insert(index);
        }
    }

    /// Gives a finished value to the collection that waits for it.
    fn deliver(&mut self, value: Val<'n>) -> Result<Option<Val<'n>>, YamlError> {
        let (key, node) = match self.frames.last_mut() {
            Some(Frame::Seq { .. }) => {
                self.items.push(value);
                return Ok(None);
            }
            Some(Frame::Alias) => {
                self.frames.pop();
                self.cost.alias_depth -= 1;
                return Ok(Some(value));
            }
            Some(Frame::Map { key, place, .. } | Frame::Merge { key, place, .. }) => {
                (key, place.begun)
            }
            Some(Frame::MergeList(_)) | None => return Ok(None),
        };
        match key.take() {
            None => {
                if matches!(value, Val::Seq(_) | Val::Map(_)) {
                    let text = gosyntax::write(&self.tree, value);
                    return Err(YamlError::meaning(format!("invalid map key: {text}"), None));
                }
                *key = Some(value);
            }
            Some(key) => self.entries.add((key, value), self.document, node),
        }
        Ok(None)
    }

    /// Goes on with the innermost collection.
    fn step(&mut self) -> Result<Option<Val<'n>>, YamlError> {
        let document = self.document;
        match self.frames.last_mut() {
            None => Ok(Some(Val::Null)),
            Some(Frame::Alias) => {
                // Only the alias of a merge gets here: a value passes through `deliver`.
                self.frames.pop();
                self.cost.alias_depth -= 1;
                Ok(None)
            }
            Some(Frame::MergeList(maps)) => {
                match maps.pop() {
                    Some(map) => self.merge_one(map)?,
                    None => {
                        self.frames.pop();
                    }
                }
                Ok(None)
            }
            Some(Frame::Seq {
                place,
                base,
                before,
            }) => {
                // Scalars are taken in here, other nodes in steps of their own.
                while place.next != place.end {
                    let child = place.next;
                    place.next = document.after(child);
                    if !is_scalar(document, child) {
                        return self.begin(child);
                    }
                    self.cost.next()?;
                    self.items.push(scalar(document, child)?);
                }
                let (node, base, before) = (place.node, *base, *before);
                self.frames.pop();
                let value = self.tree.add_items(self.items.drain(base..));
                self.close(node, value, before, 0);
                Ok(Some(value))
            }
            Some(Frame::Map { place, key, .. } | Frame::Merge { place, key, .. })
                if place.next != place.end =>
            {
                while place.next != place.end {
                    let child = place.next;
                    place.next = document.after(child);
                    if !is_scalar(document, child) {
                        place.begun = child;
                        return self.begin(child);
                    }
                    if key.is_none() && is_merge(document, child) {
                        let value = place.next;
                        place.next = document.after(value);
                        self.merge(value)?;
                        return Ok(None);
                    }
                    self.cost.next()?;
                    let value = scalar(document, child)?;
                    match key.take() {
                        None => *key = Some(value),
                        Some(key) => self.entries.add((key, value), document, child),
                    }
                }
                Ok(None)
            }
            Some(Frame::Merge { place, .. }) => {
                let node = place.node;
                self.frames.pop();
                self.active.remove(&node);
                Ok(None)
            }
            Some(Frame::Map {
                place,
                base,
                before,
                ..
            }) => {
                let (node, base, before) = (place.node, *base, *before);
                self.frames.pop();
                let repeated = self.entries.duplicates.len();
                if self.strict {
                    self.entries.seen.pop();
                }
                let value = self.tree.add_entries(&mut self.entries.open, base);
                self.close(node, value, before, repeated);
                Ok(Some(value))
            }
        }
    }
    /// Keeps the value of an anchored collection for its aliases. With duplicates about, each
    /// alias is decoded again, because Go reports them each time.
    fn close(&mut self, index: u32, value: Val<'n>, before: u64, duplicates: usize) {
        if !self.document.has_alias {
            return;
        }
        self.active.remove(&index);
        if self.document.node(index).anchored && duplicates == 0 {
            self.finished
                .insert(index, (value, self.cost.decoded - before));
        }
    }

    fn merge(&mut self, value: u32) -> Result<(), YamlError> {
        let node = self.document.node(value);
        match node.kind {
            NodeKind::Mapping(_) | NodeKind::Alias { .. } => self.merge_one(value),
            NodeKind::Sequence(end) => {
                let maps = self.document.children(value, end).collect();
                self.frames.push(Frame::MergeList(maps));
                Ok(())
            }
            NodeKind::Scalar { .. } => Err(YamlError::meaning(WANT_MAP, Some(node.position()))),
        }
    }

    /// Starts to decode a map, or an alias of one, into the innermost open map.
    fn merge_one(&mut self, index: u32) -> Result<(), YamlError> {
        let node = self.document.node(index);
        let (map, end) = match node.kind {
            NodeKind::Mapping(end) => (index, end),
            NodeKind::Alias { name, target } => {
                let NodeKind::Mapping(end) = self.document.node(target).kind else {
                    return Err(YamlError::meaning(WANT_MAP, Some(node.position())));
                };
                self.cost.next()?;
                if self.active.contains(&target) {
                    return Err(YamlError::meaning(
                        format!("anchor '{name}' value contains itself"),
                        Some(node.position()),
                    ));
                }
                self.cost.alias_depth += 1;
                self.frames.push(Frame::Alias);
                (target, end)
            }
            _ => return Err(YamlError::meaning(WANT_MAP, Some(node.position()))),
        };
        self.cost.next()?;
        self.open(map);
        self.frames.push(Frame::Merge {
            place: Place::start(map, end),
            key: None,
        });
        Ok(())
    }
}

#[inline]
fn is_scalar(document: &Document<'_>, index: u32) -> bool {
    matches!(document.node(index).kind, NodeKind::Scalar { .. })
}

/// The value of a scalar.
#[inline]
pub(crate) fn scalar<'n>(document: &'n Document<'_>, index: u32) -> Result<Val<'n>, YamlError> {
    let node = document.node(index);
    let NodeKind::Scalar { value, implicit } = &node.kind else {
        return Ok(Val::Null);
    };
    if node.tag == Tag::None && !implicit {
        return Ok(Val::Str(value));
    }
    if node.tag == Tag::Binary {
        let Some(bytes) = document.binary(index) else {
            return Err(YamlError::meaning(
                "!!binary value contains invalid base64 data",
                Some(node.position()),
            ));
        };
        return Ok(std::str::from_utf8(bytes).map_or(Val::Bytes(bytes), Val::Str));
    }
    Ok(
        match scalar::resolve(node.tag, value, || node.position())? {
            Meaning::Null => Val::Null,
            Meaning::Bool(value) => Val::Bool(value),
            Meaning::Int(value) => Val::Int(value),
            Meaning::Uint(value) => Val::Uint(value),
            Meaning::Float(value) => Val::Float(value),
            Meaning::Str | Meaning::Timestamp => Val::Str(value),
        },
    )
}

/// Whether a node is the key `<<` that merges a map.
pub(crate) fn is_merge(document: &Document<'_>, index: u32) -> bool {
    let node = document.node(index);
    match &node.kind {
        NodeKind::Scalar { value, implicit } => {
            value == "<<" && (*implicit || node.tag == Tag::Merge)
        }
        _ => false,
    }
}
