//! Lines that vouch for themselves: a digest, a blank, JSON.
//!
//! The digest is taken over the digest of the line before and the JSON, so that it stands for
//! everything up to there (as in a hash chain). 128 bits of SHA-256 are enough to find damage;
//! who wants to forge a state can, it is his own.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::folder::hex;

/// Hexadecimal digits of a digest.
const DIGITS: usize = 32;

/// Where a chain of lines stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Chain(String);

impl Chain {
    fn next(&self, json: &[u8]) -> Self {
        let digest = Sha256::new()
            .chain_update(&self.0)
            .chain_update(json)
            .finalize();
        let mut text = hex(&digest);
        text.truncate(DIGITS);
        Self(text)
    }

    /// A value as the next line.
    pub(super) fn line(&mut self, value: &impl Serialize) -> io::Result<Vec<u8>> {
        let json = serde_json::to_vec(value)?;
        *self = self.next(&json);
        let mut line = Vec::with_capacity(DIGITS + json.len() + 2);
        line.extend_from_slice(self.0.as_bytes());
        line.push(b' ');
        line.extend_from_slice(&json);
        line.push(b'\n');
        Ok(line)
    }
}

/// What a reader finds in place of the next line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The text ends before the line does.
    Torn,
    /// The line is not the one that was written.
    Bad(String),
}

/// Reads lines in order.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    pub(super) chain: Chain,
    /// Number of the line that was read last.
    pub(super) number: usize,
}

impl<'a> Lines<'a> {
    /// The lines of a text that goes on from a chain.
    pub(super) fn new(text: &'a [u8], chain: Chain) -> Self {
        Self {
            rest: text,
            chain,
            number: 0,
        }
    }

    /// The `form` that the next line says its file has, whatever else is wrong with it.
    pub(super) fn form(&self) -> Option<u64> {
        let line = self.rest.split(|byte| *byte == b'\n').next()?;
        let json: serde_json::Value = serde_json::from_slice(line.get(DIGITS + 1..)?).ok()?;
        json["form"].as_u64()
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next line; none at the end of the text.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> Option<Result<T, Trouble>> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        Some(self.read())
    }

    fn read<T: DeserializeOwned>(&mut self) -> Result<T, Trouble> {
        let bad = |why: &str| Trouble::Bad(why.to_owned());
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let end = end.ok_or(Trouble::Torn)?;
        let (line, rest) = (&self.rest[..end], self.rest.get(end + 1..));
        let json = line.get(DIGITS + 1..).ok_or_else(|| bad("it is cut off"))?;
        let next = self.chain.next(json);
        if line.get(..DIGITS) != Some(next.0.as_bytes()) || line.get(DIGITS) != Some(&b' ') {
            return Err(bad("its digest does not fit"));
        }
        let value =
            serde_json::from_slice(json).map_err(|error| Trouble::Bad(error.to_string()))?;
        self.chain = next;
        self.rest = rest.unwrap_or_default();
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(values: &[u64]) -> Vec<u8> {
        let mut chain = Chain::default();
        let lines = values.iter().map(|value| chain.line(value).unwrap());
        lines.collect::<Vec<_>>().concat()
    }

    fn read(text: &[u8]) -> (Vec<u64>, Option<Trouble>) {
        let mut lines = Lines::new(text, Chain::default());
        let mut values = Vec::new();
        loop {
            match lines.next() {
                None => return (values, None),
                Some(Ok(value)) => values.push(value),
                Some(Err(trouble)) => return (values, Some(trouble)),
            }
        }
    }

    #[test]
    fn lines_come_back_in_order() {
        assert_eq!(read(&text(&[1, 2, 3])), (vec![1, 2, 3], None));
    }

    #[test]
    fn a_text_cut_anywhere_gives_the_lines_before_the_cut() {
        let whole = text(&[1, 22, 333]);
        for length in 0..whole.len() {
            let (values, trouble) = read(&whole[..length]);
            let lines = whole[..length].split(|byte| *byte == b'\n').count() - 1;
            assert_eq!(values.len(), lines, "{length}");
            let at_end = whole[..length].last().is_none_or(|byte| *byte == b'\n');
            assert_eq!(trouble, (!at_end).then_some(Trouble::Torn), "{length}");
        }
    }

    #[test]
    fn no_changed_byte_goes_unnoticed() {
        let whole = text(&[1, 22, 333]);
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 1;
            let (values, trouble) = read(&changed);
            assert!(values.len() < 3 && trouble.is_some(), "{place}");
        }
    }

    #[test]
    fn lines_can_be_neither_taken_out_nor_exchanged() {
        let whole = text(&[1, 2, 3]);
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        let bad = Some(Trouble::Bad("its digest does not fit".to_owned()));
        assert_eq!(read(&[lines[0], lines[2]].concat()), (vec![1], bad));
        let (values, trouble) = read(&[lines[1], lines[0], lines[2]].concat());
        assert!(values.is_empty() && trouble.is_some());
    }
}
