//! From nodes to values: types, merge keys, aliases, duplicate keys.
//!
//! The rules are those of go-yaml v2 decoding into `interface{}`: `<<` is applied where it
//! stands, a later key replaces an earlier one, an alias inside its own anchor is an error, and
//! a document whose nodes come mostly from aliases is refused. The walk keeps its own stack, and
//! an anchored collection is decoded once however often it is referred to; the cost that Go
//! would have had is still counted.

use std::collections::{HashMap, HashSet};

use crate::compose::{Document, NONE, NodeKind};
use crate::error::{DuplicateKey, YamlError};
use crate::gosyntax;
use crate::scalar::{self, Meaning, Tag};
use crate::tree::{Tree, Val};

const WANT_MAP: &str = "map merge requires map or sequence of maps as the value";

enum Frame<'n> {
    Seq {
        node: u32,
        next: u32,
        base: usize,
        before: u64,
    },
    Map {
        node: u32,
        next: u32,
        base: usize,
        before: u64,
        key: Option<Val<'n>>,
        line: usize,
    },
    /// A map whose entries go into the map below it.
    Merge {
        node: u32,
        next: u32,
        key: Option<Val<'n>>,
        line: usize,
    },
    /// Maps still to be merged, the next one last.
    MergeList(Vec<u32>),
    /// An alias that is being expanded.
    Alias,
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

struct Decoder<'n, 'a> {
    document: &'n Document<'a>,
    strict: bool,
    tree: Tree<'n>,
    frames: Vec<Frame<'n>>,
    /// Items of sequences that are still open.
    items: Vec<Val<'n>>,
    /// Entries of maps that are still open.
    entries: Vec<(Val<'n>, Val<'n>)>,
    /// Keys of open maps, for strict decoding.
    seen: Vec<HashSet<Identity<'n>>>,
    duplicates: Vec<DuplicateKey>,
    decoded: u64,
    from_aliases: u64,
    alias_depth: u64,
    /// Collections that are being decoded.
    active: HashSet<u32>,
    finished: HashMap<u32, (Val<'n>, u64)>,
}

/// Decodes a document.
pub(crate) fn decode<'n>(document: &'n Document<'_>, strict: bool) -> Result<Tree<'n>, YamlError> {
    if document.root == NONE {
        return Ok(Tree::empty());
    }
    let mut decoder = Decoder {
        document,
        strict,
        tree: Tree::empty(),
        frames: Vec::new(),
        items: Vec::new(),
        entries: Vec::new(),
        seen: Vec::new(),
        duplicates: Vec::new(),
        // The document itself counts.
        decoded: 1,
        from_aliases: 0,
        alias_depth: 0,
        active: HashSet::new(),
        finished: HashMap::new(),
    };
    let root = decoder.run(document.root)?;
    decoder.tree.root = root;
    if decoder.duplicates.is_empty() {
        Ok(decoder.tree)
    } else {
        Err(YamlError::DuplicateKeys(decoder.duplicates))
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

    #[allow(clippy::cast_precision_loss, reason = "a ratio")]
    fn count(&mut self, nodes: u64, as_alias: bool) -> Result<(), YamlError> {
        self.decoded += nodes;
        if as_alias {
            self.from_aliases += nodes;
            if self.from_aliases > 100
                && self.decoded > 1000
                && self.from_aliases as f64 / self.decoded as f64
                    > allowed_alias_ratio(self.decoded)
            {
                return Err(YamlError::meaning(
                    "document contains excessive aliasing",
                    None,
                ));
            }
        }
        Ok(())
    }

    /// Starts on a node. A scalar is done at once.
    fn begin(&mut self, index: u32) -> Result<Option<Val<'n>>, YamlError> {
        let before = self.decoded;
        let mut index = index;
        let mut node = self.document.node(index);
        self.count(1, self.alias_depth > 0)?;
        if let NodeKind::Alias { name, target } = node.kind {
            if self.active.contains(&target) {
                return Err(YamlError::meaning(
                    format!("anchor '{name}' value contains itself"),
                    Some(node.position()),
                ));
            }
            if let Some(&(value, cost)) = self.finished.get(&target) {
                self.count(cost, true)?;
                return Ok(Some(value));
            }
            self.alias_depth += 1;
            self.frames.push(Frame::Alias);
            index = target;
            node = self.document.node(target);
            self.count(1, true)?;
        }
        match &node.kind {
            NodeKind::Scalar { value, implicit } => {
                self.scalar(value, *implicit, node.tag, index).map(Some)
            }
            NodeKind::Sequence(first) => {
                self.open(index);
                let base = self.items.len();
                self.frames.push(Frame::Seq {
                    node: index,
                    next: *first,
                    base,
                    before,
                });
                Ok(None)
            }
            NodeKind::Mapping(first) => {
                self.open(index);
                if self.strict {
                    self.seen.push(HashSet::new());
                }
                let base = self.entries.len();
                self.frames.push(Frame::Map {
                    node: index,
                    next: *first,
                    base,
                    before,
                    key: None,
                    line: 0,
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

    fn scalar(
        &self,
        text: &'n str,
        implicit: bool,
        tag: Tag,
        index: u32,
    ) -> Result<Val<'n>, YamlError> {
        if tag == Tag::None && !implicit {
            return Ok(Val::Str(text));
        }
        let node = self.document.node(index);
        if tag == Tag::Binary {
            let Some(bytes) = self.document.binary(index) else {
                return Err(YamlError::meaning(
                    "!!binary value contains invalid base64 data",
                    Some(node.position()),
                ));
            };
            return Ok(std::str::from_utf8(bytes).map_or(Val::Bytes(bytes), Val::Str));
        }
        Ok(match scalar::resolve(tag, text, || node.position())? {
            Meaning::Null => Val::Null,
            Meaning::Bool(value) => Val::Bool(value),
            Meaning::Int(value) => Val::Int(value),
            Meaning::Uint(value) => Val::Uint(value),
            Meaning::Float(value) => Val::Float(value),
            Meaning::Str | Meaning::Timestamp => Val::Str(text),
        })
    }

    /// Gives a finished value to the collection that waits for it.
    fn deliver(&mut self, value: Val<'n>) -> Result<Option<Val<'n>>, YamlError> {
        let (key, line) = match self.frames.last_mut() {
            Some(Frame::Seq { .. }) => {
                self.items.push(value);
                return Ok(None);
            }
            Some(Frame::Alias) => {
                self.frames.pop();
                self.alias_depth -= 1;
                return Ok(Some(value));
            }
            Some(Frame::Map { key, line, .. } | Frame::Merge { key, line, .. }) => (key, *line),
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
            Some(key) => self.set(key, value, line),
        }
        Ok(None)
    }

    fn set(&mut self, key: Val<'n>, value: Val<'n>, line: usize) {
        if let Some(seen) = self.seen.last_mut() {
            let identity = match key {
                Val::Null | Val::Seq(_) | Val::Map(_) => Some(Identity::Null),
                Val::Bool(value) => Some(Identity::Bool(value)),
                Val::Int(value) => Some(Identity::Int(value)),
                Val::Uint(value) => Some(Identity::Uint(value)),
                Val::Float(value) if value.is_nan() => None,
                // Adding zero turns -0 into 0, which is the same key.
                Val::Float(value) => Some(Identity::Float((value + 0.0).to_bits())),
                Val::Str(text) => Some(Identity::Text(text.as_bytes())),
                Val::Bytes(bytes) => Some(Identity::Text(bytes)),
            };
            if identity.is_some_and(|identity| !seen.insert(identity)) {
                let key = gosyntax::write(&self.tree, key);
                self.duplicates.push(DuplicateKey { line, key });
                return;
            }
        }
        self.entries.push((key, value));
    }

    /// Goes on with the innermost collection.
    fn step(&mut self) -> Result<Option<Val<'n>>, YamlError> {
        let document = self.document;
        match self.frames.last_mut() {
            None => Ok(Some(Val::Null)),
            Some(Frame::Alias) => {
                // Only the alias of a merge gets here: a value passes through `deliver`.
                self.frames.pop();
                self.alias_depth -= 1;
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
                node,
                next,
                base,
                before,
            }) => {
                if *next != NONE {
                    let child = *next;
                    *next = document.node(child).next;
                    return self.begin(child);
                }
                let (node, base, before) = (*node, *base, *before);
                self.frames.pop();
                let value = self.tree.add_items(self.items.drain(base..));
                self.close(node, value, before, 0);
                Ok(Some(value))
            }
            Some(
                Frame::Map {
                    next, key, line, ..
                }
                | Frame::Merge {
                    next, key, line, ..
                },
            ) if *next != NONE => {
                let child = *next;
                let following = document.node(child).next;
                if key.is_some() {
                    *line = document.node(child).position().line;
                    *next = following;
                    return self.begin(child);
                }
                if is_merge(document, child) {
                    *next = document.node(following).next;
                    self.merge(following)?;
                    return Ok(None);
                }
                *next = following;
                self.begin(child)
            }
            Some(Frame::Merge { node, .. }) => {
                let node = *node;
                self.frames.pop();
                self.active.remove(&node);
                Ok(None)
            }
            Some(Frame::Map {
                node, base, before, ..
            }) => {
                let (node, base, before) = (*node, *base, *before);
                self.frames.pop();
                let repeated = self.duplicates.len();
                if self.strict {
                    self.seen.pop();
                }
                let entries = self.entries.split_off(base);
                let value = self.tree.add_entries(entries);
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
            self.finished.insert(index, (value, self.decoded - before));
        }
    }

    fn merge(&mut self, value: u32) -> Result<(), YamlError> {
        let node = self.document.node(value);
        match node.kind {
            NodeKind::Mapping(_) | NodeKind::Alias { .. } => self.merge_one(value),
            NodeKind::Sequence(first) => {
                let mut maps = Vec::new();
                let mut child = first;
                while child != NONE {
                    maps.push(child);
                    child = self.document.node(child).next;
                }
                self.frames.push(Frame::MergeList(maps));
                Ok(())
            }
            NodeKind::Scalar { .. } => Err(YamlError::meaning(WANT_MAP, Some(node.position()))),
        }
    }

    /// Starts to decode a map, or an alias of one, into the innermost open map.
    fn merge_one(&mut self, index: u32) -> Result<(), YamlError> {
        let node = self.document.node(index);
        let (map, first) = match node.kind {
            NodeKind::Mapping(first) => (index, first),
            NodeKind::Alias { name, target } => {
                let NodeKind::Mapping(first) = self.document.node(target).kind else {
                    return Err(YamlError::meaning(WANT_MAP, Some(node.position())));
                };
                self.count(1, self.alias_depth > 0)?;
                if self.active.contains(&target) {
                    return Err(YamlError::meaning(
                        format!("anchor '{name}' value contains itself"),
                        Some(node.position()),
                    ));
                }
                self.alias_depth += 1;
                self.frames.push(Frame::Alias);
                (target, first)
            }
            _ => return Err(YamlError::meaning(WANT_MAP, Some(node.position()))),
        };
        self.count(1, self.alias_depth > 0)?;
        self.open(map);
        self.frames.push(Frame::Merge {
            node: map,
            next: first,
            key: None,
            line: 0,
        });
        Ok(())
    }
}

fn is_merge(document: &Document<'_>, index: u32) -> bool {
    let node = document.node(index);
    match &node.kind {
        NodeKind::Scalar { value, implicit } => {
            value == "<<" && (*implicit || node.tag == Tag::Merge)
        }
        _ => false,
    }
}
