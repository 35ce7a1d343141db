//! Sets of fields: what a manager owns.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Map, Value, json};

use super::path::{FieldsError, Path, PathElement};
use crate::go;
use crate::schema::{Type, TypeId, Types};

/// How deep sets of fields may be nested: somewhat deeper than the values that they speak of.
const MAX_DEPTH: usize = 512;

/// A set of fields. Owning a field is not owning what is below it, nor the other way round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// None of them is empty.
    nodes: BTreeMap<PathElement, Node>,
}

/// Whether a field is in a set, and the fields below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) member: bool,
    pub(super) children: FieldSet,
}

impl Node {
    /// A field without any below it.
    pub(super) fn leaf() -> Self {
        Self {
            member: true,
            children: FieldSet::default(),
        }
    }

    fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl FieldSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether no field is in it.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many fields are in it.
    pub fn len(&self) -> usize {
        let count = |node: &Node| usize::from(node.member) + node.children.len();
        self.nodes.values().map(count).sum()
    }

    /// Adds a field. The empty path, which is the whole object, can't be owned.
    pub fn insert(&mut self, path: &[PathElement]) {
        let Some((last, parents)) = path.split_last() else {
            return;
        };
        let mut set = self;
        for element in parents {
            set = &mut set.nodes.entry(element.clone()).or_default().children;
        }
        set.nodes.entry(last.clone()).or_default().member = true;
    }

    /// Puts a node under an element that has none yet.
    pub(super) fn attach(&mut self, element: PathElement, node: Node) {
        if !node.is_empty() {
            self.nodes.insert(element, node);
        }
    }

    /// Whether a field is in it.
    pub fn contains(&self, path: &[PathElement]) -> bool {
        let Some((last, parents)) = path.split_last() else {
            return false;
        };
        let mut set = self;
        for element in parents {
            match set.nodes.get(element) {
                Some(node) => set = &node.children,
                None => return false,
            }
        }
        set.has(last)
    }

    pub(super) fn has(&self, element: &PathElement) -> bool {
        self.nodes.get(element).is_some_and(|node| node.member)
    }

    /// The fields below an element, if there are any.
    pub(super) fn below(&self, element: &PathElement) -> Option<&FieldSet> {
        let node = self.nodes.get(element)?;
        (!node.children.is_empty()).then_some(&node.children)
    }

    /// The elements of the first level: each with whether it is a field of the set, and the fields below it.
    pub(super) fn level(&self) -> impl Iterator<Item = (&PathElement, bool, &FieldSet)> {
        self.nodes
            .iter()
            .map(|(element, node)| (element, node.member, &node.children))
    }

    /// The fields of either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.extend(other);
        both
    }

    fn extend(&mut self, other: &Self) {
        for (element, node) in &other.nodes {
            match self.nodes.entry(element.clone()) {
                Entry::Vacant(place) => {
                    place.insert(node.clone());
                }
                Entry::Occupied(mut place) => {
                    let mine = place.get_mut();
                    mine.member |= node.member;
                    mine.children.extend(&node.children);
                }
            }
        }
    }

    /// The fields of both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(|element, mine| {
            let Some(theirs) = other.nodes.get(element) else {
                return Node::default();
            };
            Node {
                member: mine.member && theirs.member,
                children: mine.children.intersection(&theirs.children),
            }
        })
    }

    /// The fields that the other set doesn't have.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.combine(|element, mine| match other.nodes.get(element) {
            None => mine.clone(),
            Some(theirs) => Node {
                member: mine.member && !theirs.member,
                children: mine.children.difference(&theirs.children),
            },
        })
    }

    /// The fields that are neither in the other set nor below one of its fields.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        self.combine(|element, mine| match other.nodes.get(element) {
            None => mine.clone(),
            Some(theirs) if theirs.member => Node::default(),
            Some(theirs) => Node {
                member: mine.member,
                children: mine.children.recursive_difference(&theirs.children),
            },
        })
    }

    fn combine(&self, with: impl Fn(&PathElement, &Node) -> Node) -> Self {
        let nodes = self.nodes.iter().map(|(element, node)| {
            let node = with(element, node);
            (element, node)
        });
        let nodes = nodes.filter(|(_, node)| !node.is_empty());
        Self {
            nodes: nodes
                .map(|(element, node)| (element.clone(), node))
                .collect(),
        }
    }

    /// The set with the named fields of structures that lead to its fields.
    pub(super) fn with_named_fields(&self, kind: &Type) -> Self {
        self.with_named(kind.types(), Some(kind.id()))
    }

    fn with_named(&self, types: &Types, id: Option<TypeId>) -> Self {
        let definition = id.and_then(|id| types.get(id));
        let map = definition.and_then(|it| it.map.as_ref());
        let list = definition.and_then(|it| it.list.as_ref());
        let nodes = self.nodes.iter().map(|(element, node)| {
            let (mut named, mut child) = (false, None);
            match element {
                PathElement::Field(name) => {
                    let field = map.and_then(|map| map.fields.get(name));
                    named = field.is_some();
                    child = match field {
                        Some(field) => Some(field.id),
                        None => map.and_then(|map| map.element),
                    };
                }
                PathElement::Key(_) => child = list.map(|list| list.element),
                PathElement::Value(_) | PathElement::Index(_) => {}
            }
            let node = Node {
                member: node.member || named,
                children: node.children.with_named(types, child),
            };
            (element.clone(), node)
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// Every field: those of a level before those below them, as the API server lists them.
    pub fn paths(&self) -> Vec<Path> {
        let (mut found, mut prefix) = (Vec::new(), Vec::new());
        self.collect(&mut prefix, &mut found);
        found
    }

    fn collect(&self, prefix: &mut Vec<PathElement>, found: &mut Vec<Path>) {
        for (element, _) in self.nodes.iter().filter(|(_, node)| node.member) {
            let path = prefix.iter().chain([element]);
            found.push(Path(path.cloned().collect()));
        }
        for (element, node) in &self.nodes {
            prefix.push(element.clone());
            node.children.collect(prefix, found);
            prefix.pop();
        }
    }

    /// Reads a `fieldsV1`.
    ///
    /// # Errors
    /// When it is none.
    pub fn from_fields_v1(fields: &Value) -> Result<Self, FieldsError> {
        if fields.is_null() {
            return Ok(Self::default());
        }
        Ok(read(fields, 0)?.children)
    }

    /// The set as a `fieldsV1`.
    pub fn to_fields_v1(&self) -> Value {
        Value::Object(self.written(false))
    }

    fn written(&self, with_self: bool) -> Map<String, Value> {
        let mut fields = Map::new();
        if with_self && !self.is_empty() {
            fields.insert(".".to_owned(), json!({}));
        }
        for (element, node) in &self.nodes {
            let children = node.children.written(node.member);
            fields.insert(element.to_fields_v1(), Value::Object(children));
        }
        fields
    }
}

/// An empty object is a field itself; one with contents is when it holds `.`.
fn read(fields: &Value, depth: usize) -> Result<Node, FieldsError> {
    if depth > MAX_DEPTH {
        return Err(FieldsError::Depth { limit: MAX_DEPTH });
    }
    let Value::Object(fields) = fields else {
        return Err(FieldsError::NotAnObject {
            found: go::type_name(fields),
        });
    };
    let mut node = Node::default();
    for (key, below) in fields {
        if key == "." {
            node.member = true;
        } else if let Some(element) = PathElement::parse(key)? {
            let child = read(below, depth + 1)?;
            let place = node.children.nodes.entry(element).or_default();
            place.member |= child.member;
            place.children.extend(&child.children);
        }
    }
    node.member |= node.children.is_empty();
    Ok(node)
}

impl<'p> FromIterator<&'p Path> for FieldSet {
    fn from_iter<T: IntoIterator<Item = &'p Path>>(paths: T) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(&path.0);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As kube-apiserver lists conflicts: an image before the value of a variable.
    #[test]
    fn fields_of_a_level_come_before_those_below_it() {
        let mut set = FieldSet::new();
        set.insert(&[PathElement::field("env"), PathElement::field("value")]);
        set.insert(&[PathElement::field("image")]);
        let paths: Vec<String> = set.paths().iter().map(ToString::to_string).collect();
        assert_eq!(paths, [".image", ".env.value"]);
    }
}
