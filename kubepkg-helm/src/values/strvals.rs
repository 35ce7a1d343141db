//! The language of `--set`: `a.b=1,list[0].name=x,c={1,2}`, and its relatives for texts, files and JSON.
//!
//! Behaviour is Helm's `strvals`: only whole numbers without a leading zero, booleans and null get a type, a
//! backslash takes the next character as it is, an index beyond 65536 and more than 30 levels are refused. Where
//! Helm stops with a panic of Go (a list where a map stands), the same words come as an error. Beyond Helm, indexes in
//! indexes and items that are left out are bounded.

use std::str::Chars;

use serde_json::Value;

use super::tree::{Table, Tree, to_values, tree_of};
use super::{Values, floats};
use crate::go::json::syntax_error;
use crate::go::text::{is_print, is_space, quote};

const MAX_INDEX: i64 = 65_536;
const MAX_LEVELS: usize = 30;
/// Indexes that may stand in each other, `a[0][0]` or `a[0].b[0]`. Helm has no limit here; a values file that deep is
/// refused, too.
const MAX_INDEXES: usize = 250;
/// Items that an argument may leave out (`a[65536]=1` leaves out 65,536), which are null. Helm takes the memory.
const MAX_LEFT_OUT: usize = 1 << 20;

/// What is wrong with the argument of a flag, in Helm's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SetError {
    message: String,
}

/// `--set`: typed values.
///
/// # Errors
/// [`SetError`]; what came before the fault in the argument stays set.
pub fn set(values: &mut Values, argument: &str) -> Result<(), SetError> {
    parse(values, argument, Kind::Typed)
}

/// `--set-string`: every value is a text.
///
/// # Errors
/// As [`set`].
pub fn set_string(values: &mut Values, argument: &str) -> Result<(), SetError> {
    parse(values, argument, Kind::Text)
}

/// `--set-file`: the value names a file, `read` gives its contents.
///
/// # Errors
/// As [`set`], and what `read` says.
pub fn set_file(
    values: &mut Values,
    argument: &str,
    read: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<(), SetError> {
    parse(values, argument, Kind::File(read))
}

/// `--set-json` in its `key=value` form.
///
/// # Errors
/// As [`set`], and for what is no JSON.
pub fn set_json(values: &mut Values, argument: &str) -> Result<(), SetError> {
    parse(values, argument, Kind::Json)
}

/// `--set-literal`: everything behind the `=` is one text.
///
/// # Errors
/// As [`set`].
pub fn set_literal(values: &mut Values, argument: &str) -> Result<(), SetError> {
    let tree = values.to_tree();
    let parsed = super::literal::parse(argument, &tree);
    *values = to_values(&tree);
    parsed
}

fn parse(values: &mut Values, argument: &str, kind: Kind<'_>) -> Result<(), SetError> {
    let tree = values.to_tree();
    let mut parser = Parser {
        input: Input::new(argument),
        kind,
    };
    let parsed = loop {
        match parser.key(&tree, 0) {
            Ok(()) => {}
            Err(Stop::End) => break Ok(()),
            Err(Stop::Fault(message)) => break Err(SetError { message }),
            Err(Stop::Panic(message)) => {
                break Err(SetError {
                    message: format!("unable to parse key: {message}"),
                });
            }
        }
    };
    *values = to_values(&tree);
    parsed
}

/// Why parsing stopped.
pub(super) enum Stop {
    /// The input is at its end, no fault.
    End,
    /// A fault.
    Fault(String),
    /// Go would panic; the nearest key turns it into a fault.
    Panic(String),
}

pub(super) type Parsed<T> = Result<T, Stop>;

impl SetError {
    pub(super) fn new(message: String) -> Self {
        Self { message }
    }
}

pub(super) fn fault<T>(message: impl Into<String>) -> Parsed<T> {
    Err(Stop::Fault(message.into()))
}

/// A panic becomes a fault of the key in which it happened.
pub(super) fn recover<T>(parsed: Parsed<T>) -> Parsed<T> {
    parsed.map_err(|stop| match stop {
        Stop::Panic(message) => Stop::Fault(format!("unable to parse key: {message}")),
        other => other,
    })
}

/// A fault of an index. The end of the input stays the end: it is no fault to Helm.
pub(super) fn at_index(stop: Stop) -> Stop {
    match stop {
        Stop::Fault(message) => Stop::Fault(format!("error parsing index: {message}")),
        other => other,
    }
}

/// The argument, read from the left.
pub(super) struct Input<'a> {
    chars: Chars<'a>,
    indexes: usize,
    left_out: usize,
}

impl<'a> Input<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            chars: text.chars(),
            indexes: 0,
            left_out: MAX_LEFT_OUT,
        }
    }

    /// Goes into an item of a list; [`Input::leave_item`] comes out of it.
    pub(super) fn enter_item(&mut self) -> Parsed<()> {
        self.indexes += 1;
        if self.indexes > MAX_INDEXES {
            return fault(format!(
                "more than {MAX_INDEXES} indexes stand in each other"
            ));
        }
        Ok(())
    }

    pub(super) fn leave_item(&mut self) {
        self.indexes = self.indexes.saturating_sub(1);
    }

    /// Puts a value into a list; items up to it that are not there become null.
    pub(super) fn put(&mut self, list: &mut Vec<Tree>, index: i64, value: Tree) -> Parsed<()> {
        if index < 0 {
            return fault(format!("negative {index} index not allowed"));
        }
        if index > MAX_INDEX {
            return fault(format!(
                "index of {index} is greater than maximum supported index of {MAX_INDEX}"
            ));
        }
        let at = usize::try_from(index).unwrap_or_default();
        match self.left_out.checked_sub(at.saturating_sub(list.len())) {
            Some(left) => self.left_out = left,
            None => return fault(format!("more than {MAX_LEFT_OUT} items are left out")),
        }
        if list.len() <= at {
            list.resize(at + 1, Tree::Nil);
        }
        if let Some(slot) = list.get_mut(at) {
            *slot = value;
        }
        Ok(())
    }

    /// Text up to one of `stops`, and which one; `None` at the end of the input. With `escapes`, a backslash
    /// takes the next character as it is.
    pub(super) fn until(&mut self, stops: &[char], escapes: bool) -> (String, Option<char>) {
        let mut text = String::new();
        while let Some(c) = self.chars.next() {
            if stops.contains(&c) {
                return (text, Some(c));
            }
            if c == '\\' && escapes {
                match self.chars.next() {
                    Some(next) => text.push(next),
                    None => break,
                }
            } else {
                text.push(c);
            }
        }
        (text, None)
    }

    fn peek(&self) -> Option<char> {
        self.chars.clone().next()
    }

    fn rest(&self) -> &'a str {
        self.chars.as_str()
    }

    fn skip(&mut self, bytes: usize) {
        let mut left = bytes;
        while left > 0 {
            let Some(c) = self.chars.next() else { break };
            left = left.saturating_sub(c.len_utf8());
        }
    }

    /// Skips blanks up to and with a comma; whether nothing but that came.
    fn empty_value(&mut self) -> bool {
        loop {
            match self.peek() {
                None => return true,
                Some(',') => {
                    self.chars.next();
                    return true;
                }
                Some(c) if is_space(c) => {
                    self.chars.next();
                }
                Some(_) => return false,
            }
        }
    }
}

/// `strconv.Atoi`.
pub(super) fn index_of(text: &str) -> Parsed<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return fault(format!(
            "strconv.Atoi: parsing {}: invalid syntax",
            quote(text)
        ));
    }
    match text.parse() {
        Ok(index) => Ok(index),
        Err(_) => fault(format!(
            "strconv.Atoi: parsing {}: value out of range",
            quote(text)
        )),
    }
}

/// A list of runes as Go prints it with `%q`.
pub(super) fn runes(text: &str) -> String {
    let quoted = text.chars().map(|c| match c {
        '\'' => "'\\''".to_owned(),
        '"' => "'\"'".to_owned(),
        c if is_print(c) && c != '\\' => format!("'{c}'"),
        c => {
            let quoted = quote(&c.to_string());
            format!("'{}'", quoted.trim_matches('"'))
        }
    });
    format!("[{}]", quoted.collect::<Vec<_>>().join(" "))
}

pub(super) fn store(table: &Table, key: &str, value: Tree) {
    if !key.is_empty() {
        table.insert(key.into(), value);
    }
}

/// Stores a list that [`list_under`] gave. A panic of Go comes before anything is changed, and leaves no new list.
pub(super) fn store_list(table: &Table, key: &str, list: Vec<Tree>, parsed: &Parsed<()>) {
    let panicked = matches!(parsed, Err(Stop::Panic(_)));
    if !panicked || table.contains_key(key.as_bytes()) {
        store(table, key, Tree::list(list));
    }
}

/// The map under `key`, a new one when there is none; Go panics when something else stands there.
pub(super) fn map_under(table: &Table, key: &str) -> Parsed<Table> {
    match table.get(key.as_bytes()) {
        None => Ok(Table::default()),
        Some(Tree::Map(inner)) => Ok(inner),
        Some(other) => Err(wrong_type(&other, "map[string]interface {}")),
    }
}

/// Takes the list under `key` out, as [`map_under`]. Whoever takes it stores it again.
pub(super) fn list_under(table: &Table, key: &str) -> Parsed<Vec<Tree>> {
    let mut entries = table.borrow_mut();
    match entries
        .as_mut()
        .and_then(|entries| entries.get_mut(key.as_bytes()))
    {
        None => Ok(Vec::new()),
        Some(Tree::List(items)) => Ok(std::mem::take(items).into_items()),
        Some(other) => Err(wrong_type(other, "[]interface {}")),
    }
}

fn wrong_type(found: &Tree, wanted: &str) -> Stop {
    let found = found.go_type().map_or("nil", |found| found.name);
    Stop::Panic(format!(
        "interface conversion: interface {{}} is {found}, not {wanted}"
    ))
}

pub(super) fn item(list: &[Tree], index: i64) -> Option<&Tree> {
    usize::try_from(index).ok().and_then(|at| list.get(at))
}

/// The map to go on with at `index`: the one that is there, else a new one, put there when the place exists.
pub(super) fn map_at(list: &mut [Tree], index: i64) -> Table {
    let slot = usize::try_from(index).ok().and_then(|at| list.get_mut(at));
    match slot {
        Some(Tree::Map(inner)) => inner.clone(),
        Some(slot) => {
            let inner = Table::default();
            *slot = Tree::Map(inner.clone());
            inner
        }
        None => Table::default(),
    }
}

/// The list to go on with at `index`.
pub(super) fn list_at(list: &[Tree], index: i64) -> Parsed<Vec<Tree>> {
    match item(list, index) {
        None | Some(Tree::Nil) => Ok(Vec::new()),
        Some(Tree::List(items)) => Ok(items.items().to_vec()),
        Some(other) => Err(wrong_type(other, "[]interface {}")),
    }
}

pub(super) fn deeper(level: usize) -> Parsed<usize> {
    if level >= MAX_LEVELS {
        return fault(format!(
            "value name nested level is greater than maximum supported nested level of {MAX_LEVELS}"
        ));
    }
    Ok(level + 1)
}

type FileReader<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>;

enum Kind<'a> {
    Typed,
    Text,
    File(FileReader<'a>),
    Json,
}

struct Parser<'i, 'k> {
    input: Input<'i>,
    kind: Kind<'k>,
}

impl Parser<'_, '_> {
    fn key(&mut self, data: &Table, level: usize) -> Parsed<()> {
        recover(self.key_inner(data, level))
    }

    fn key_inner(&mut self, data: &Table, level: usize) -> Parsed<()> {
        let (key, stop) = self.input.until(&['=', '[', ',', '.'], true);
        match stop {
            None if key.is_empty() => Err(Stop::End),
            None => fault(format!("key {} has no value", quote(&key))),
            Some('[') => {
                let index = self.index().map_err(at_index)?;
                let mut list = list_under(data, &key)?;
                let parsed = self.list_item(&mut list, index, level);
                store_list(data, &key, list, &parsed);
                parsed
            }
            Some('=') => self.key_value(data, &key),
            Some(',') => {
                store(data, &key, Tree::string(""));
                fault(format!(
                    "key {} has no value (cannot end with ,)",
                    quote(&key)
                ))
            }
            Some(_) => {
                let level = deeper(level)?;
                let inner = map_under(data, &key)?;
                let parsed = self.key(&inner, level);
                let is_empty = inner.is_empty();
                if parsed.is_ok() && is_empty {
                    return fault(format!("key map {} has no value", quote(&key)));
                }
                if !is_empty {
                    store(data, &key, Tree::Map(inner));
                }
                parsed
            }
        }
    }

    fn key_value(&mut self, data: &Table, key: &str) -> Parsed<()> {
        if matches!(self.kind, Kind::Json) {
            let value = self.json_value()?;
            store(data, key, value);
            return Ok(());
        }
        match self.value_list() {
            Ok(Some(list)) => {
                store(data, key, Tree::list(list));
                Ok(())
            }
            Ok(None) => {
                let (text, _) = self.input.until(&[','], true);
                match self.value(text) {
                    Ok(value) => {
                        store(data, key, value);
                        Ok(())
                    }
                    Err(stop) => {
                        store(data, key, Tree::Nil);
                        Err(stop)
                    }
                }
            }
            Err(Stop::End) => {
                store(data, key, Tree::string(""));
                Err(Stop::End)
            }
            Err(stop) => Err(stop),
        }
    }

    fn index(&mut self) -> Parsed<i64> {
        match self.input.until(&[']'], true) {
            (_, None) => Err(Stop::End),
            (text, Some(_)) => index_of(&text),
        }
    }

    fn list_item(&mut self, list: &mut Vec<Tree>, index: i64, level: usize) -> Parsed<()> {
        self.input.enter_item()?;
        let parsed = self.list_item_inner(list, index, level);
        self.input.leave_item();
        parsed
    }

    fn list_item_inner(&mut self, list: &mut Vec<Tree>, index: i64, level: usize) -> Parsed<()> {
        if index < 0 {
            return fault(format!("negative {index} index not allowed"));
        }
        let (text, stop) = self.input.until(&['[', '.', '='], true);
        if !text.is_empty() {
            return fault(format!(
                "unexpected data at end of array index: {}",
                runes(&text)
            ));
        }
        match stop {
            None => Err(Stop::End),
            Some('=') => self.item_value(list, index),
            Some('[') => {
                let next = self.index().map_err(at_index)?;
                let mut inner = list_at(list, index)?;
                self.list_item(&mut inner, next, level)?;
                self.input.put(list, index, Tree::list(inner))
            }
            Some(_) => {
                let inner = map_at(list, index);
                self.key(&inner, level)?;
                self.input.put(list, index, Tree::Map(inner))
            }
        }
    }

    fn item_value(&mut self, list: &mut Vec<Tree>, index: i64) -> Parsed<()> {
        if matches!(self.kind, Kind::Json) {
            let value = self.json_value()?;
            return self.input.put(list, index, value);
        }
        match self.value_list() {
            Ok(Some(items)) => self.input.put(list, index, Tree::list(items)),
            Ok(None) => {
                let (text, _) = self.input.until(&[','], true);
                let value = self.value(text)?;
                self.input.put(list, index, value)
            }
            Err(Stop::End) => self.input.put(list, index, Tree::string("")),
            Err(stop) => Err(stop),
        }
    }

    /// `{a,b}`; `None` when no brace follows.
    fn value_list(&mut self) -> Parsed<Option<Vec<Tree>>> {
        match self.input.peek() {
            None => return Err(Stop::End),
            Some('{') => self.input.chars.next(),
            Some(_) => return Ok(None),
        };
        let mut list = Vec::new();
        loop {
            let (text, stop) = self.input.until(&[',', '}'], true);
            match stop {
                None => return fault("list must terminate with '}'"),
                Some('}') => {
                    if self.input.peek() == Some(',') {
                        self.input.chars.next();
                    }
                    list.push(self.value(text)?);
                    return Ok(Some(list));
                }
                Some(_) => list.push(self.value(text)?),
            }
        }
    }

    fn value(&mut self, text: String) -> Parsed<Tree> {
        match &mut self.kind {
            Kind::Typed => Ok(typed(text)),
            Kind::File(read) => match read(&text) {
                Ok(bytes) => Ok(Tree::string(String::from_utf8_lossy(&bytes).as_ref())),
                Err(message) => Err(Stop::Fault(message)),
            },
            Kind::Text | Kind::Json => Ok(Tree::string(text)),
        }
    }

    /// One JSON value and what separates it from the next key.
    fn json_value(&mut self) -> Parsed<Tree> {
        if self.input.empty_value() {
            return Ok(Tree::Nil);
        }
        let rest = self.input.rest();
        let (value, length) = first_json(rest).map_err(Stop::Fault)?;
        self.input.skip(length);
        self.input.empty_value();
        Ok(tree_of(&floats(value)))
    }
}

/// The JSON value at the start of `text` and where it ends. A number ends at the first character that can't
/// belong to it, whatever that is.
fn first_json(text: &str) -> Result<(Value, usize), String> {
    let number = text
        .bytes()
        .take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
        .count();
    let looked_at = if number > 0 {
        text.get(..number).unwrap_or(text)
    } else {
        text
    };
    let mut values = serde_json::Deserializer::from_str(looked_at).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => Ok((value, values.byte_offset())),
        Some(Err(error)) => Err(syntax_error(looked_at.as_bytes(), &error)),
        None => Err("EOF".into()),
    }
}

fn typed(text: String) -> Tree {
    match text.to_ascii_lowercase().as_str() {
        "true" => return Tree::Bool(true),
        "false" => return Tree::Bool(false),
        "null" => return Tree::Nil,
        "0" => return Tree::int64(0),
        _ => {}
    }
    if !text.starts_with('0')
        && let Ok(whole) = text.parse::<i64>()
    {
        return Tree::int64(whole);
    }
    Tree::string(text)
}
