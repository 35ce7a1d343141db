//! Reading TOML into template values.

use std::collections::{BTreeMap, BTreeSet};

use super::scan::{Problem, Scanner, is_bare};
use crate::bytestring::GoString;
use crate::collection::{List, Map};
use crate::gotype::SLICE_MAP_ANY;
use crate::sprig::time_value;
use crate::strconv::{NumErrorKind, parse_float, parse_int, quote};
use crate::time::{self, Zone};
use crate::value::Value;

/// How deep arrays and inline tables may nest; the library has no limit but the stack.
const MAX_DEPTH: usize = 200;

type Key = Vec<Vec<u8>>;
type Parsed<T> = Result<T, Problem>;

/// A table while it is read.
enum Node {
    /// A value; an inline table is one too, closed for later additions.
    Value(Value),
    /// What a header or a dotted key opened.
    Table(BTreeMap<Vec<u8>, Node>),
    /// What `[[...]]` opened.
    Tables(Vec<BTreeMap<Vec<u8>, Node>>),
}

impl Node {
    fn into_value(self) -> Value {
        match self {
            Self::Value(value) => value,
            Self::Table(entries) => Value::Map(into_map(entries)),
            Self::Tables(tables) => Value::List(List::typed(
                &SLICE_MAP_ANY,
                tables
                    .into_iter()
                    .map(|entries| Value::Map(into_map(entries)))
                    .collect(),
            )),
        }
    }
}

fn into_map(entries: BTreeMap<Vec<u8>, Node>) -> Map {
    entries
        .into_iter()
        .map(|(key, node)| (GoString::from(key), node.into_value()))
        .collect()
}

/// `toml.Unmarshal` into a map: what was read (nothing after an error), and the error.
pub(crate) fn decode(text: &[u8]) -> (Map, Option<String>) {
    let mut parser = Parser {
        scanner: Scanner::new(text),
        root: BTreeMap::new(),
        context: Vec::new(),
        implicit: BTreeSet::new(),
        last_key: Vec::new(),
        depth: 0,
    };
    match parser.run() {
        Ok(()) => (into_map(parser.root), None),
        Err(problem) => {
            let key = shown(&parser.last_key);
            let line = problem.line;
            let place = if key.is_empty() {
                format!("toml: line {line}")
            } else {
                format!("toml: line {line} (last key {})", quote(key.as_bytes()))
            };
            (
                Map::default(),
                Some(format!("{place}: {}", problem.message)),
            )
        }
    }
}

/// A key as the library prints it: parts quoted where they must be.
fn shown(key: &[Vec<u8>]) -> String {
    let parts: Vec<String> = key
        .iter()
        .map(|part| {
            if !part.is_empty() && part.iter().all(|b| is_bare(char::from(*b))) {
                String::from_utf8_lossy(part).into_owned()
            } else {
                let mut out = Vec::new();
                super::encode::write_quoted(&mut out, part);
                String::from_utf8_lossy(&out).into_owned()
            }
        })
        .collect();
    parts.join(".")
}

struct Parser<'t> {
    scanner: Scanner<'t>,
    root: BTreeMap<Vec<u8>, Node>,
    /// The table of the last header.
    context: Key,
    /// Tables that exist only because a longer key named them.
    implicit: BTreeSet<Key>,
    /// The key for error texts.
    last_key: Key,
    depth: usize,
}

impl Parser<'_> {
    fn problem(&self, message: impl Into<String>) -> Problem {
        self.scanner.problem(message)
    }

    fn run(&mut self) -> Parsed<()> {
        self.scanner.check_start()?;
        while self.scanner.skip_to_item()? {
            if self.scanner.accept('[') {
                self.header()?;
            } else {
                self.last_key.clone_from(&self.context);
                let key = self.scanner.key()?;
                self.assign(&self.context.clone(), &key)?;
                self.last_key.clone_from(&self.context);
            }
            self.scanner.end_of_item()?;
        }
        Ok(())
    }

    fn header(&mut self) -> Parsed<()> {
        self.last_key.clone_from(&self.context);
        let is_array = self.scanner.accept('[');
        let key = self.scanner.table_name(is_array)?;
        self.open_table(key, is_array)
    }

    /// The table that a path leads to, tables and last elements of arrays of tables on the way.
    fn descend(&mut self, path: &[Vec<u8>]) -> Result<&mut BTreeMap<Vec<u8>, Node>, usize> {
        let mut table = &mut self.root;
        for (i, part) in path.iter().enumerate() {
            let node = table
                .entry(part.clone())
                .or_insert_with(|| Node::Table(BTreeMap::new()));
            table = match node {
                Node::Table(inner) => inner,
                Node::Tables(tables) => tables.last_mut().ok_or(i)?,
                Node::Value(_) => return Err(i),
            };
        }
        Ok(table)
    }

    fn exists(&self, path: &[Vec<u8>]) -> bool {
        let mut table = &self.root;
        let Some((last, parents)) = path.split_last() else {
            return true;
        };
        for part in parents {
            table = match table.get(part) {
                Some(Node::Table(inner)) => inner,
                Some(Node::Tables(tables)) => match tables.last() {
                    Some(inner) => inner,
                    None => return false,
                },
                _ => return false,
            };
        }
        table.contains_key(last)
    }

    fn mark_implicit(&mut self, parents: &[Vec<u8>]) {
        for end in 1..=parents.len() {
            let path = parents.get(..end).unwrap_or(parents).to_vec();
            if !self.exists(&path) {
                self.implicit.insert(path);
            }
        }
    }

    fn open_table(&mut self, key: Key, is_array: bool) -> Parsed<()> {
        let Some((last, parents)) = key.split_last() else {
            return Err(self.problem("unexpected end of table name (table names cannot be empty)"));
        };
        self.last_key = Vec::new();
        self.mark_implicit(parents);
        if let Err(at) = self.descend(parents) {
            let name = shown(parents.get(..=at).unwrap_or(parents));
            return Err(self.problem(format!("Key '{name}' was already created as a hash.")));
        }
        self.last_key = parents.to_vec();
        if is_array {
            let Ok(table) = self.descend(parents) else {
                return Ok(());
            };
            if let Node::Tables(tables) = table
                .entry(last.clone())
                .or_insert_with(|| Node::Tables(Vec::new()))
            {
                tables.push(BTreeMap::new());
            } else {
                let name = shown(&key);
                return Err(self.problem(format!(
                    "Key '{name}' was already created and cannot be used as an array."
                )));
            }
            // What stood below the earlier elements may be defined again.
            let below = |path: &Key| path.len() > key.len() && path.starts_with(&key);
            self.implicit.retain(|path| !below(path));
        } else if self.exists(&key) {
            if !self.implicit.remove(&key) {
                return Err(self.defined(&key));
            }
        } else if let Ok(table) = self.descend(parents) {
            table.insert(last.clone(), Node::Table(BTreeMap::new()));
        }
        self.context = key.clone();
        self.last_key = key;
        Ok(())
    }

    fn defined(&self, key: &[Vec<u8>]) -> Problem {
        self.problem(format!("Key '{}' has already been defined.", shown(key)))
    }

    /// Reads the value of `key` inside the table `base` and puts it there.
    fn assign(&mut self, base: &[Vec<u8>], key: &[Vec<u8>]) -> Parsed<()> {
        let Some((last, parents)) = key.split_last() else {
            return Ok(());
        };
        let mut path = base.to_vec();
        for part in parents {
            path.push(part.clone());
            if !self.exists(&path) {
                self.implicit.insert(path.clone());
            }
        }
        let parent = path.clone();
        path.push(last.clone());
        self.last_key.clone_from(&path);
        let node = self.value(&path)?;
        if let Err(at) = self.descend(&parent) {
            let name = parent.get(..=at).unwrap_or(&parent).to_vec();
            return Err(self.defined(&name));
        }
        if self.exists(&path) {
            return Err(self.defined(&path));
        }
        self.put(&parent, last, node);
        Ok(())
    }

    fn put(&mut self, parent: &[Vec<u8>], last: &[u8], node: Node) {
        if let Ok(table) = self.descend(parent) {
            table.insert(last.to_vec(), node);
        }
    }

    fn value(&mut self, path: &[Vec<u8>]) -> Parsed<Node> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.problem("values are nested too deep"));
        }
        let node = self.value_inner(path);
        self.depth -= 1;
        node
    }

    fn value_inner(&mut self, path: &[Vec<u8>]) -> Parsed<Node> {
        self.scanner.skip_blanks();
        if self.scanner.accept('[') {
            let mut items = Vec::new();
            while self.scanner.array_item(items.is_empty())? {
                items.push(self.value(path)?.into_value());
            }
            return Ok(Node::Value(Value::list(items)));
        }
        if self.scanner.accept('{') {
            return self.inline_table();
        }
        let line = self.scanner.line;
        let token = self.scanner.scalar()?;
        let at = |message: String| Problem { line, message };
        Ok(Node::Value(match token {
            super::scan::Scalar::Text(text) => Value::string(text),
            super::scan::Scalar::Bool(flag) => Value::Bool(flag),
            super::scan::Scalar::Integer(text) => integer(&text).map_err(at)?,
            super::scan::Scalar::Float(text) => float(&text).map_err(at)?,
            super::scan::Scalar::Datetime(text) => datetime(&text).map_err(at)?,
        }))
    }

    fn inline_table(&mut self) -> Parsed<Node> {
        // An inline table is read as a document of its own, whose keys start anew.
        let outer_root = std::mem::take(&mut self.root);
        let outer_implicit = std::mem::take(&mut self.implicit);
        let outer_key = self.last_key.clone();
        let mut first = true;
        let result = loop {
            match self.scanner.inline_item(first) {
                Ok(false) => break Ok(()),
                Ok(true) => {}
                Err(problem) => break Err(problem),
            }
            first = false;
            self.last_key.clone_from(&outer_key);
            let read = self.scanner.key().and_then(|key| {
                let name: Key = outer_key.iter().chain(key.iter()).cloned().collect();
                let result = self.assign(&[], &key);
                if result.is_err() {
                    self.last_key = name;
                }
                result
            });
            if let Err(problem) = read {
                break Err(problem);
            }
        };
        let table = std::mem::replace(&mut self.root, outer_root);
        self.implicit = outer_implicit;
        result?;
        self.last_key = outer_key;
        Ok(Node::Value(Value::Map(into_map(table))))
    }
}

fn underscores_ok(text: &str) -> bool {
    if matches!(text, "nan" | "+nan" | "-nan" | "inf" | "-inf" | "+inf") {
        return true;
    }
    let mut accept = false;
    for c in text.chars() {
        if c == '_' && !accept {
            return false;
        }
        accept = c.is_ascii_hexdigit();
    }
    accept
}

fn leading_zero(text: &str) -> bool {
    let bytes = text.as_bytes();
    match bytes {
        [b'0', second, ..] => !matches!(second, b'b' | b'o' | b'x'),
        [b'+' | b'-', b'0', _, ..] => true,
        _ => false,
    }
}

fn integer(text: &str) -> Result<Value, String> {
    let shown = quote(text.as_bytes());
    if !underscores_ok(text) {
        return Err(format!(
            "Invalid integer {shown}: underscores must be surrounded by digits"
        ));
    }
    if leading_zero(text) {
        return Err(format!(
            "Invalid integer {shown}: cannot have leading zeroes"
        ));
    }
    match parse_int(text, 0, 64) {
        Ok(n) => Ok(Value::int64(n)),
        Err(error) if error.kind == NumErrorKind::Range => {
            Err(format!("{text} is out of range for int64"))
        }
        Err(_) => Err(format!("Expected integer value, but got '{text}'.")),
    }
}

fn float(text: &str) -> Result<Value, String> {
    let shown = quote(text.as_bytes());
    let parts: Vec<&str> = text
        .split(['.', 'e', 'E'])
        .filter(|part| !part.is_empty())
        .collect();
    if !parts.iter().all(|part| underscores_ok(part)) {
        return Err(format!(
            "Invalid float {shown}: underscores must be surrounded by digits"
        ));
    }
    if parts.first().is_some_and(|part| leading_zero(part)) {
        return Err(format!("Invalid float {shown}: cannot have leading zeroes"));
    }
    let mut after_period = false;
    let mut periods_ok = true;
    for c in text.chars() {
        periods_ok &= !after_period || c.is_ascii_digit();
        after_period = c == '.';
    }
    if !periods_ok || after_period {
        return Err(format!(
            "Invalid float {shown}: '.' must be followed by one or more digits"
        ));
    }
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    if matches!(plain.as_str(), "+nan" | "-nan") {
        return Ok(Value::float64(if plain.starts_with('-') {
            -f64::NAN
        } else {
            f64::NAN
        }));
    }
    match parse_float(&plain) {
        Ok(x) => Ok(Value::float64(x)),
        Err(error) if error.kind == NumErrorKind::Range => {
            Err(format!("{text} is out of range for float64"))
        }
        Err(_) => Err(format!("Invalid float value: {shown}")),
    }
}

/// Layouts, and the name of the zone for times that have none.
const LAYOUTS: [(&str, Option<&str>); 7] = [
    ("2006-01-02T15:04:05.999999999Z07:00", None),
    ("2006-01-02T15:04:05.999999999", Some("datetime-local")),
    ("2006-01-02", Some("date-local")),
    ("15:04:05.999999999", Some("time-local")),
    ("2006-01-02T15:04Z07:00", None),
    ("2006-01-02T15:04", Some("datetime-local")),
    ("15:04", Some("time-local")),
];

fn missing_zero(text: &str, layout: &str) -> bool {
    for (a, b) in layout.bytes().zip(text.bytes()) {
        if matches!(a, b'.' | b'Z') {
            return false;
        }
        if !a.is_ascii_digit() && a != b {
            return true;
        }
    }
    false
}

fn datetime(text: &str) -> Result<Value, String> {
    let text: String = text
        .chars()
        .map(|c| match c {
            'z' => 'Z',
            't' | ' ' => 'T',
            other => other,
        })
        .collect();
    for (layout, zone) in LAYOUTS {
        if let Ok(mut instant) = time::parse(layout.as_bytes(), text.as_bytes()) {
            if missing_zero(&text, layout) {
                break;
            }
            if let Some(name) = zone {
                instant.zone = Zone::Fixed(name.into(), 0);
            }
            return Ok(time_value(instant));
        }
    }
    Err(format!("invalid datetime: {}", quote(text.as_bytes())))
}
