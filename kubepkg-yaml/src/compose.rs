//! From events to nodes: one document as a flat list of nodes in the order of the text, aliases
//! resolved to the node that they stand for.
//!
//! An unknown anchor is an error here; what the nodes mean is decided in `decode.rs`.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::error::{LimitKind, Position, YamlError};
use crate::limits::Limits;
use crate::parse::{EventKind, Parser, Properties};
use crate::read::{Decoded, Mark};
use crate::scalar::Tag;

/// Index of the outermost node, if there is any.
pub(crate) const ROOT: u32 = 0;
/// Bytes of text for each node that room is made for at once, and the most nodes.
const BYTES_PER_NODE: usize = 16;
const MOST_ROOM: usize = 1_024;

/// What a node is.
#[derive(Debug)]
pub(crate) enum NodeKind<'a> {
    Scalar {
        value: Cow<'a, str>,
        /// The text decides about the type.
        implicit: bool,
    },
    /// Its items follow, up to this index.
    Sequence(u32),
    /// Its keys and values follow, taking turns, up to this index.
    Mapping(u32),
    Alias {
        name: &'a str,
        target: u32,
    },
}

/// One node.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) kind: NodeKind<'a>,
    pub(crate) tag: Tag,
    place: Mark,
    pub(crate) anchored: bool,
}

/// One document.
pub(crate) struct Document<'a> {
    pub(crate) nodes: Vec<Node<'a>>,
    pub(crate) has_alias: bool,
    /// The bytes of `!!binary` scalars that are valid base64.
    binaries: HashMap<u32, Vec<u8>>,
    /// The node that an index past the end would mean; never reached.
    void: Node<'a>,
}

impl Node<'_> {
    /// Where the node stands.
    pub(crate) fn position(&self) -> Position {
        self.place.into()
    }
}

impl<'a> Document<'a> {
    /// The bytes of a `!!binary` scalar, if they are valid base64.
    pub(crate) fn binary(&self, index: u32) -> Option<&[u8]> {
        self.binaries.get(&index).map(Vec::as_slice)
    }

    #[inline]
    pub(crate) fn node(&self, index: u32) -> &Node<'a> {
        self.nodes.get(index as usize).unwrap_or(&self.void)
    }

    /// The index after a node and all that is in it.
    #[inline]
    pub(crate) fn after(&self, index: u32) -> u32 {
        match self.node(index).kind {
            NodeKind::Sequence(end) | NodeKind::Mapping(end) => end,
            NodeKind::Scalar { .. } | NodeKind::Alias { .. } => index + 1,
        }
    }

    /// The nodes of a collection that ends before `end`, without what is in them.
    pub(crate) fn children(&self, collection: u32, end: u32) -> impl Iterator<Item = u32> {
        let first = Some(collection + 1).filter(|&first| first < end);
        std::iter::successors(first, move |&child| {
            Some(self.after(child)).filter(|&next| next < end)
        })
    }
}

/// The document has more nodes than it may have. Small, as it is returned for each node.
struct TooMany {
    limit: usize,
}

impl From<TooMany> for YamlError {
    fn from(TooMany { limit }: TooMany) -> Self {
        YamlError::Limit {
            kind: LimitKind::Nodes,
            limit,
        }
    }
}

struct Composer<'a> {
    document: Document<'a>,
    /// Collections that are not at their end yet.
    open: Vec<u32>,
    anchors: HashMap<&'a str, u32>,
    limit: usize,
}

/// Composes the first document of the stream.
pub(crate) fn compose<'a>(
    decoded: &'a Decoded<'_>,
    limits: &Limits,
) -> Result<Document<'a>, YamlError> {
    let mut parser = Parser::new(decoded);
    let room = (decoded.len() / BYTES_PER_NODE + 1).min(MOST_ROOM);
    let void = Node {
        kind: NodeKind::Scalar {
            value: Cow::Borrowed(""),
            implicit: true,
        },
        tag: Tag::None,
        place: Mark::default(),
        anchored: false,
    };
    let mut composer = Composer {
        document: Document {
            nodes: Vec::with_capacity(room),
            has_alias: false,
            binaries: HashMap::new(),
            void,
        },
        open: Vec::new(),
        anchors: HashMap::new(),
        limit: limits.nodes,
    };
    if parser.next()?.kind == EventKind::StreamEnd {
        return Ok(composer.document);
    }
    loop {
        let event = parser.next()?;
        composer.accept(event.kind, event.start)?;
        if composer.open.is_empty() {
            break;
        }
    }
    // What follows the root node must at least be scanned, as in Go.
    parser.next()?;
    Ok(composer.document)
}

impl<'a> Composer<'a> {
    fn accept(&mut self, event: EventKind<'a>, mark: Mark) -> Result<(), YamlError> {
        match event {
            EventKind::Scalar {
                properties,
                value,
                plain_implicit,
            } => {
                let tag = tag_of(properties.as_deref());
                let binary = match tag {
                    Tag::Binary => crate::base64::decode_base64(value.as_bytes()).ok(),
                    _ => None,
                };
                let kind = NodeKind::Scalar {
                    value,
                    implicit: plain_implicit,
                };
                let node = self.add(kind, properties.as_deref(), mark)?;
                if let Some(binary) = binary {
                    self.document.binaries.insert(node, binary);
                }
            }
            EventKind::SequenceStart(properties) => {
                let node = self.add(NodeKind::Sequence(0), properties.as_deref(), mark)?;
                self.open.push(node);
            }
            EventKind::MappingStart(properties) => {
                let node = self.add(NodeKind::Mapping(0), properties.as_deref(), mark)?;
                self.open.push(node);
            }
            EventKind::Alias(name) => {
                let Some(&target) = self.anchors.get(name) else {
                    return Err(YamlError::meaning(
                        format!("unknown anchor '{name}' referenced"),
                        Some(mark.into()),
                    ));
                };
                self.document.has_alias = true;
                self.add(NodeKind::Alias { name, target }, None, mark)?;
            }
            EventKind::SequenceEnd | EventKind::MappingEnd => self.close(),
            EventKind::StreamEnd | EventKind::DocumentStart | EventKind::DocumentEnd => {}
        }
        Ok(())
    }

    #[inline]
    fn add(
        &mut self,
        kind: NodeKind<'a>,
        properties: Option<&Properties<'a>>,
        mark: Mark,
    ) -> Result<u32, TooMany> {
        let nodes = &mut self.document.nodes;
        let index = match u32::try_from(nodes.len()) {
            Ok(index) if nodes.len() < self.limit && index != u32::MAX => index,
            _ => return Err(TooMany { limit: self.limit }),
        };
        let anchor = properties.and_then(|both| both.anchor);
        nodes.push(Node {
            kind,
            tag: tag_of(properties),
            place: mark,
            anchored: anchor.is_some(),
        });
        if let Some(name) = anchor {
            self.anchors.insert(name, index);
        }
        Ok(index)
    }

    /// Ends the innermost collection.
    fn close(&mut self) {
        let nodes = &mut self.document.nodes;
        let after = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        let node = self
            .open
            .pop()
            .and_then(|node| nodes.get_mut(node as usize));
        if let Some(NodeKind::Sequence(end) | NodeKind::Mapping(end)) =
            node.map(|node| &mut node.kind)
        {
            *end = after;
        }
    }
}

fn tag_of(properties: Option<&Properties<'_>>) -> Tag {
    Tag::of(properties.and_then(|both| both.tag.as_deref()))
}
