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
type Table = BTreeMap<Vec<u8>, Node>;

/// What a key of a table being read holds.
enum Node {
    /// A scalar or an array.
    Value(Value),
    /// What a header, a dotted key or an inline table opened.
    Table(Table),
    /// What `[[...]]` opened, or inline tables of an array while it is read.
    Tables(Vec<Table>),
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

fn into_map(entries: Table) -> Map {
    entries
        .into_iter()
        .map(|(key, node)| (GoString::from(key), node.into_value()))
        .collect()
}

/// `toml.Unmarshal` into a map: what was read (nothing after an error), and the error.
pub(crate) fn decode(text: &[u8]) -> (Map, Option<String>) {
    let mut parser = Parser {
        scanner: Scanner::new(text),
        root: Table::new(),
        context: Vec::new(),
        current: Vec::new(),
        implicit: BTreeSet::new(),
        arrays: BTreeSet::new(),
        key_line: 1,
        depth: 0,
    };
    match parser.run() {
        Ok(()) => (into_map(parser.root), None),
        Err(problem) => {
            let key = parser.last_key();
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

/// The table that a path leads to, through the last element of arrays of tables; the position of
/// the part that is no table otherwise.
fn descend<'m>(root: &'m mut Table, path: &[Vec<u8>]) -> Result<&'m mut Table, usize> {
    let mut table = root;
    for (i, part) in path.iter().enumerate() {
        table = match table.get_mut(part).ok_or(i)? {
            Node::Table(inner) => inner,
            Node::Tables(tables) => tables.last_mut().ok_or(i)?,
            Node::Value(_) => return Err(i),
        };
    }
    Ok(table)
}

/// The state of the library's parser, kept as it keeps it, because its complaints depend on it.
struct Parser<'t> {
    scanner: Scanner<'t>,
    root: Table,
    /// The table that keys go into.
    context: Key,
    /// The last part of the key whose value is read.
    current: Vec<u8>,
    /// Tables that exist only because a longer key named them.
    implicit: BTreeSet<Key>,
    /// Keys that hold an array.
    arrays: BTreeSet<Key>,
    /// The line of the key or table name read last.
    key_line: usize,
    depth: usize,
}

impl Parser<'_> {
    /// A complaint at the key read last.
    fn problem(&self, message: impl Into<String>) -> Problem {
        Problem {
            line: self.key_line,
            message: message.into(),
        }
    }

    fn defined(&self, key: &[Vec<u8>]) -> Problem {
        self.problem(format!("Key '{}' has already been defined.", shown(key)))
    }

    /// The key that error texts name.
    fn last_key(&self) -> String {
        let current = String::from_utf8_lossy(&self.current);
        match (self.context.is_empty(), current.is_empty()) {
            (_, true) => shown(&self.context),
            (true, false) => current.into_owned(),
            (false, false) => format!("{}.{current}", shown(&self.context)),
        }
    }

    fn path_of(&self, key: &[u8]) -> Key {
        let mut path = self.context.clone();
        path.push(key.to_vec());
        path
    }

    fn run(&mut self) -> Parsed<()> {
        self.scanner.check_start()?;
        while self.scanner.skip_to_item()? {
            self.key_line = self.scanner.line;
            if self.scanner.accept('[') {
                let is_array = self.scanner.accept('[');
                let key = self.scanner.table_name(is_array)?;
                self.add_context(&key, is_array)?;
                self.arrays.remove(&self.context);
            } else {
                let outer = self.context.clone();
                self.entry()?;
                self.context = outer;
                self.current = Vec::new();
            }
            self.scanner.end_of_item()?;
        }
        Ok(())
    }

    /// A key with its value, put where it belongs; the parents of the key and the value.
    fn entry(&mut self) -> Parsed<(Key, Value)> {
        self.key_line = self.scanner.line;
        let mut parents = self.scanner.key()?;
        self.current = parents.pop().unwrap_or_default();
        for part in &parents {
            let path = self.path_of(part);
            self.implicit.insert(path.clone());
            self.add_context(&path, false)?;
        }
        let (value, is_array) = self.value(false)?;
        let key = self.current.clone();
        self.set_value(&key, Node::Value(value.clone()))?;
        let path = self.path_of(&key);
        if is_array {
            self.arrays.insert(path);
        } else {
            self.arrays.remove(&path);
        }
        Ok((parents, value))
    }

    fn add_context(&mut self, key: &[Vec<u8>], is_array: bool) -> Parsed<()> {
        let Some((last, parents)) = key.split_last() else {
            return Ok(());
        };
        for end in 0..parents.len() {
            let (before, rest) = parents.split_at(end);
            let prefix = parents.get(..=end).unwrap_or(parents);
            let Ok(table) = descend(&mut self.root, before) else {
                continue;
            };
            let part = rest.first().cloned().unwrap_or_default();
            match table.get(&part) {
                None => {
                    table.insert(part, Node::Table(Table::new()));
                    self.implicit.insert(prefix.to_vec());
                }
                Some(Node::Value(_)) => {
                    let name = shown(prefix);
                    return Err(
                        self.problem(format!("Key '{name}' was already created as a hash."))
                    );
                }
                Some(_) => {}
            }
        }
        self.context = parents.to_vec();
        if is_array {
            let opened = match descend(&mut self.root, parents) {
                Ok(table) => {
                    match table
                        .entry(last.clone())
                        .or_insert_with(|| Node::Tables(Vec::new()))
                    {
                        Node::Tables(tables) => {
                            tables.push(Table::new());
                            true
                        }
                        _ => false,
                    }
                }
                Err(_) => false,
            };
            if !opened {
                let name = shown(key);
                return Err(self.problem(format!(
                    "Key '{name}' was already created and cannot be used as an array."
                )));
            }
        } else {
            self.set_value(last, Node::Table(Table::new()))?;
        }
        self.context.push(last.clone());
        Ok(())
    }

    fn set_value(&mut self, key: &[u8], node: Node) -> Parsed<()> {
        let path = self.path_of(key);
        let exists = match descend(&mut self.root, &self.context) {
            Ok(table) => table.contains_key(key),
            Err(at) => {
                let prefix = self.context.get(..=at).unwrap_or(&self.context);
                return Err(self.defined(prefix));
            }
        };
        if exists {
            let is_array = self.arrays.contains(&path);
            if !self.implicit.remove(&path) {
                return Err(self.defined(&path));
            }
            if !is_array {
                return Ok(());
            }
        }
        if let Ok(table) = descend(&mut self.root, &self.context) {
            table.insert(key.to_vec(), node);
        }
        Ok(())
    }

    /// A value, and whether it is an array.
    fn value(&mut self, in_array: bool) -> Parsed<(Value, bool)> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.problem("values are nested too deep"));
        }
        let value = self.value_inner(in_array);
        self.depth -= 1;
        value
    }

    fn value_inner(&mut self, in_array: bool) -> Parsed<(Value, bool)> {
        self.scanner.skip_blanks();
        if self.scanner.accept('[') {
            let path = self.path_of(&self.current);
            self.arrays.insert(path);
            let mut items = Vec::new();
            while self.scanner.array_item(items.is_empty())? {
                items.push(self.value(true)?.0);
            }
            return Ok((Value::list(items), true));
        }
        if self.scanner.accept('{') {
            return self.inline_table(in_array).map(|table| (table, false));
        }
        let line = self.scanner.line;
        let token = self.scanner.scalar()?;
        let at = |message: String| Problem { line, message };
        let value = match token {
            super::scan::Scalar::Text(text) => Value::string(text),
            super::scan::Scalar::Bool(flag) => Value::Bool(flag),
            super::scan::Scalar::Integer(text) => integer(&text).map_err(at)?,
            super::scan::Scalar::Float(text) => float(&text).map_err(at)?,
            super::scan::Scalar::Datetime(text) => datetime(&text).map_err(at)?,
        };
        Ok((value, false))
    }

    fn inline_table(&mut self, in_array: bool) -> Parsed<Value> {
        let outer_context = self.context.clone();
        let outer_key = std::mem::take(&mut self.current);
        self.context.push(outer_key.clone());
        let inside = self.context.clone();
        self.implicit.insert(inside.clone());
        self.add_context(&inside, in_array)?;
        let result = Map::default();
        let mut first = true;
        while self.scanner.inline_item(first)? {
            first = false;
            let (parents, value) = self.entry()?;
            let mut table = result.clone();
            for part in parents {
                let next = if let Some(Value::Map(inner)) = table.get(&part) {
                    inner
                } else {
                    let inner = Map::default();
                    table.insert(GoString::from(part), Value::Map(inner.clone()));
                    inner
                };
                table = next;
            }
            table.insert(GoString::from(self.current.as_slice()), value);
            self.context.clone_from(&inside);
        }
        self.context = outer_context;
        self.current = outer_key;
        Ok(Value::Map(result))
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
