//! `--set-literal`: the keys of `--set`, but the value is the rest of the argument, as it stands.

use super::SetError;
use super::strvals::{
    Input, Parsed, Stop, at_index, deeper, fault, index_of, list_at, list_under, map_at, map_under,
    recover, runes, store, store_list,
};
use super::tree::{Table, Tree};
use crate::go::text::quote;

pub(super) fn parse(argument: &str, tree: &Table) -> Result<(), SetError> {
    let mut parser = Parser {
        input: Input::new(argument),
    };
    loop {
        match parser.key(tree, 0) {
            Ok(()) => {}
            Err(Stop::End) => return Ok(()),
            Err(Stop::Fault(message) | Stop::Panic(message)) => return Err(SetError::new(message)),
        }
    }
}

struct Parser<'a> {
    input: Input<'a>,
}

impl Parser<'_> {
    fn key(&mut self, data: &Table, level: usize) -> Parsed<()> {
        recover(self.key_inner(data, level))
    }

    fn key_inner(&mut self, data: &Table, level: usize) -> Parsed<()> {
        let (key, stop) = self.input.until(&['=', '[', '.'], false);
        match stop {
            None if key.is_empty() => Err(Stop::End),
            None => fault(format!("key {} has no value", quote(&key))),
            Some('=') => {
                let (value, _) = self.input.until(&[], false);
                store(data, &key, Tree::string(value));
                Ok(())
            }
            Some('.') => {
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
            Some(_) => {
                let index = self.index().map_err(at_index)?;
                let mut list = list_under(data, &key)?;
                let parsed = self.list_item(&mut list, index, level);
                store_list(data, &key, list, &parsed);
                parsed
            }
        }
    }

    fn index(&mut self) -> Parsed<i64> {
        match self.input.until(&[']'], false) {
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
        let (text, stop) = self.input.until(&['[', '.', '='], false);
        if !text.is_empty() {
            return fault(format!(
                "unexpected data at end of array index: {}",
                runes(&text)
            ));
        }
        match stop {
            None => Err(Stop::End),
            Some('=') => {
                let (value, _) = self.input.until(&[], false);
                self.input.put(list, index, Tree::string(value))
            }
            Some('.') => {
                let inner = map_at(list, index);
                self.key(&inner, level)?;
                self.input.put(list, index, Tree::Map(inner))
            }
            Some(_) => {
                let next = self.index().map_err(at_index)?;
                let mut inner = list_at(list, index)?;
                self.list_item(&mut inner, next, level)?;
                self.input.put(list, index, Tree::list(inner))
            }
        }
    }
}
