//! From events to nodes: one document as a flat list of linked nodes, aliases resolved to the
//! node that they stand for.
//!
//! An unknown anchor is an error here; what the nodes mean is decided in `decode.rs`.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::error::{LimitKind, Position, YamlError};
use crate::limits::Limits;
use crate::parse::{EventKind, Parser, Properties};
use crate::read::{Decoded, Mark};
use crate::scalar::Tag;

/// Index that stands for no node.
pub(crate) const NONE: u32 = u32::MAX;

/// What a node is.
#[derive(Debug)]
pub(crate) enum NodeKind<'a> {
    Scalar {
        value: Cow<'a, str>,
        /// The text decides about the type.
        implicit: bool,
    },
    /// First child. Children are linked by [`Node::next`].
    Sequence(u32),
    /// First key. Keys and values take turns.
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
    /// Line and column, from 0; the input is too short for more than 32 bits.
    place: (u32, u32),
    /// The next child of the same parent.
    pub(crate) next: u32,
    pub(crate) anchored: bool,
}

/// One document.
pub(crate) struct Document<'a> {
    pub(crate) nodes: Vec<Node<'a>>,
    /// [`NONE`] for an empty stream.
    pub(crate) root: u32,
    pub(crate) has_alias: bool,
    /// The bytes of `!!binary` scalars that are valid base64.
    binaries: HashMap<u32, Vec<u8>>,
    /// The node that an index past the end would mean; never reached by links.
    void: Node<'a>,
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Node<'_> {
    /// Where the node stands.
    pub(crate) fn position(&self) -> Position {
        Position {
            line: self.place.0 as usize + 1,
            column: self.place.1 as usize + 1,
        }
    }
}

impl<'a> Document<'a> {
    /// The bytes of a `!!binary` scalar, if they are valid base64.
    pub(crate) fn binary(&self, index: u32) -> Option<&[u8]> {
        self.binaries.get(&index).map(Vec::as_slice)
    }

    pub(crate) fn node(&self, index: u32) -> &Node<'a> {
        usize::try_from(index)
            .ok()
            .and_then(|index| self.nodes.get(index))
            .unwrap_or(&self.void)
    }
}

struct Open {
    node: u32,
    last: u32,
}

struct Composer<'a> {
    document: Document<'a>,
    open: Vec<Open>,
    anchors: HashMap<&'a str, u32>,
    limit: usize,
}

/// Composes the first document of the stream.
pub(crate) fn compose<'a>(
    decoded: &'a Decoded<'_>,
    limits: &Limits,
) -> Result<Document<'a>, YamlError> {
    let mut parser = Parser::new(decoded);
    let void = Node {
        kind: NodeKind::Scalar {
            value: Cow::Borrowed(""),
            implicit: true,
        },
        tag: Tag::None,
        place: (0, 0),
        next: NONE,
        anchored: false,
    };
    let mut composer = Composer {
        document: Document {
            nodes: Vec::new(),
            root: NONE,
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
                let tag = Tag::of(properties.tag.as_deref());
                let binary = match tag {
                    Tag::Binary => crate::base64::decode_base64(value.as_bytes()).ok(),
                    _ => None,
                };
                let kind = NodeKind::Scalar {
                    value,
                    implicit: plain_implicit,
                };
                let node = self.add(kind, &properties, mark)?;
                if let Some(binary) = binary {
                    self.document.binaries.insert(node, binary);
                }
            }
            EventKind::SequenceStart(properties) => {
                let node = self.add(NodeKind::Sequence(NONE), &properties, mark)?;
                self.open.push(Open { node, last: NONE });
            }
            EventKind::MappingStart(properties) => {
                let node = self.add(NodeKind::Mapping(NONE), &properties, mark)?;
                self.open.push(Open { node, last: NONE });
            }
            EventKind::Alias(name) => {
                let Some(&target) = self.anchors.get(name) else {
                    return Err(YamlError::meaning(
                        format!("unknown anchor '{name}' referenced"),
                        Some(mark.into()),
                    ));
                };
                self.document.has_alias = true;
                self.add(
                    NodeKind::Alias { name, target },
                    &Properties::default(),
                    mark,
                )?;
            }
            EventKind::SequenceEnd | EventKind::MappingEnd => {
                self.open.pop();
            }
            EventKind::StreamEnd | EventKind::DocumentStart | EventKind::DocumentEnd => {}
        }
        Ok(())
    }

    fn add(
        &mut self,
        kind: NodeKind<'a>,
        properties: &Properties<'a>,
        mark: Mark,
    ) -> Result<u32, YamlError> {
        let nodes = &mut self.document.nodes;
        let index = match u32::try_from(nodes.len()) {
            Ok(index) if nodes.len() < self.limit && index != NONE => index,
            _ => {
                return Err(YamlError::Limit {
                    kind: LimitKind::Nodes,
                    limit: self.limit,
                });
            }
        };
        nodes.push(Node {
            kind,
            tag: Tag::of(properties.tag.as_deref()),
            place: (narrow(mark.line), narrow(mark.column)),
            next: NONE,
            anchored: properties.anchor.is_some(),
        });
        if let Some(name) = properties.anchor {
            self.anchors.insert(name, index);
        }
        match self.open.last_mut() {
            None => self.document.root = index,
            Some(open) => {
                let previous = if open.last == NONE {
                    open.node
                } else {
                    open.last
                };
                let first = open.last == NONE;
                open.last = index;
                if let Some(previous) = nodes.get_mut(previous as usize) {
                    match &mut previous.kind {
                        NodeKind::Sequence(child) | NodeKind::Mapping(child) if first => {
                            *child = index;
                        }
                        _ => previous.next = index,
                    }
                }
            }
        }
        Ok(index)
    }
}
