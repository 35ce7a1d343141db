//! Chance as helm had it: the record of one run, given to our engine in the same order.
//!
//! Each line of a record is a call of a function; what it answered is taken apart into the choices that lead our own
//! function to that answer. So our functions still do their work: the certificate of a recorded key, serial number
//! and time is made and signed here. A choice that the record does not have at its place is answered somehow, and
//! the texts differ.

use std::collections::VecDeque;

use kubepkg_helm::{Env, GoString, SeededEnv};
use serde::Deserialize;

/// One call, as the recorder writes it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    function: String,
    text: Option<String>,
    from: Option<String>,
    number: Option<u64>,
    key: Option<String>,
    bytes: Option<String>,
    time: Option<(i64, u32, i64)>,
    keys: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Choice {
    Below(u64),
    Bytes(Vec<u8>),
    Time((i64, u32), i64),
    Key(Vec<u8>),
    Keys(Vec<String>),
}

/// A record that is being replayed.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    rest: VecDeque<Choice>,
    uptime: i64,
    /// Answers where the record does not.
    other: SeededEnv,
}

impl Replay {
    /// Takes a record; lines that are none are left out.
    pub(crate) fn new(record: &str) -> Self {
        let entries = record
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        Self {
            rest: entries.flat_map(choices).collect(),
            uptime: 1,
            other: SeededEnv::default(),
        }
    }

    fn next<T>(&mut self, take: impl Fn(&Choice) -> Option<T>) -> Option<T> {
        let taken = take(self.rest.front()?)?;
        self.rest.pop_front();
        Some(taken)
    }
}

fn choices(entry: Entry) -> Vec<Choice> {
    let mut choices = Vec::new();
    match (entry.from, entry.text) {
        (Some(from), Some(to)) => choices.extend(swaps(&from, &to).into_iter().map(Choice::Below)),
        (None, Some(text)) => {
            choices.extend(
                places(&entry.function, &text)
                    .into_iter()
                    .map(Choice::Below),
            );
        }
        _ => {}
    }
    choices.extend(entry.number.map(Choice::Below));
    choices.extend(entry.key.map(|pem| Choice::Key(pem.into_bytes())));
    choices.extend(
        entry
            .bytes
            .and_then(|text| base64(&text))
            .map(Choice::Bytes),
    );
    choices.extend(
        entry
            .time
            .map(|(seconds, nanos, uptime)| Choice::Time((seconds, nanos), uptime)),
    );
    choices.extend(entry.keys.map(Choice::Keys));
    choices
}

/// Where each sign of a random text stands among those that it could have been.
fn places(function: &str, text: &str) -> Vec<u64> {
    let belongs: fn(&u8) -> bool = match function {
        "randAlpha" => u8::is_ascii_alphabetic,
        "randAlphaNum" => u8::is_ascii_alphanumeric,
        "randNumeric" => u8::is_ascii_digit,
        _ => |byte| (b' '..=b'~').contains(byte),
    };
    let place = |byte: u8| (b' '..byte).filter(belongs).count() as u64;
    text.bytes().map(place).collect()
}

/// The swaps, from the last place down, that turn one text into the other.
fn swaps(from: &str, to: &str) -> Vec<u64> {
    let (mut from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut swaps = Vec::new();
    for place in (1..from.len()).rev() {
        let wanted = to.get(place);
        let other = from
            .iter()
            .take(place + 1)
            .position(|sign| Some(sign) == wanted);
        let other = other.unwrap_or(place);
        from.swap(place, other);
        swaps.push(other as u64);
    }
    swaps
}

/// Padded base64, as Go's JSON has bytes.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0_u32, 0_u32);
    for sign in text.trim_end_matches('=').bytes() {
        let value = match sign {
            b'A'..=b'Z' => sign - b'A',
            b'a'..=b'z' => sign - b'a' + 26,
            b'0'..=b'9' => sign - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).ok()?);
        }
    }
    Some(bytes)
}

impl Env for Replay {
    fn now(&mut self) -> (i64, u32) {
        let time = self.next(|choice| match choice {
            Choice::Time(time, uptime) => Some((*time, *uptime)),
            _ => None,
        });
        let (time, uptime) = time.unwrap_or_default();
        self.uptime = uptime;
        time
    }

    fn uptime(&mut self) -> i64 {
        self.uptime
    }

    fn random(&mut self, buffer: &mut [u8]) {
        let bytes = self.next(|choice| match choice {
            Choice::Bytes(bytes) if bytes.len() == buffer.len() => Some(bytes.clone()),
            _ => None,
        });
        match bytes {
            Some(bytes) => buffer.copy_from_slice(&bytes),
            None => self.other.random(buffer),
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        let number = self.next(|choice| match choice {
            Choice::Below(number) if *number < limit => Some(*number),
            _ => None,
        });
        number.unwrap_or_default()
    }

    fn order(&mut self, keys: &mut [GoString]) {
        let recorded = self.next(|choice| match choice {
            Choice::Keys(recorded) if recorded.len() == keys.len() => Some(recorded.clone()),
            _ => None,
        });
        let Some(recorded) = recorded else { return };
        let mut before = keys.to_vec();
        before.sort_unstable();
        let mut after: Vec<GoString> = recorded.iter().map(|key| key.as_str().into()).collect();
        after.sort_unstable();
        if before == after {
            for (slot, key) in keys.iter_mut().zip(&recorded) {
                *slot = key.as_str().into();
            }
        }
    }

    fn private_key(&mut self, _: &str) -> Option<Vec<u8>> {
        self.next(|choice| match choice {
            Choice::Key(pem) => Some(pem.clone()),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_text_is_the_places_of_its_signs() {
        // 0-9, A-Z, a-z in ASCII order.
        assert_eq!(places("randAlphaNum", "09Az"), [0, 9, 10, 61]);
        assert_eq!(places("randAlpha", "Aa"), [0, 26]);
        assert_eq!(places("randAscii", " ~"), [0, 94]);
    }

    #[test]
    fn swaps_lead_from_the_text_to_the_shuffled_one() {
        let mut signs: Vec<char> = "aabc".chars().collect();
        for (place, other) in (1..4).rev().zip(swaps("aabc", "caba")) {
            signs.swap(place, usize::try_from(other).unwrap_or(0));
        }
        assert_eq!(signs.into_iter().collect::<String>(), "caba");
    }

    #[test]
    fn a_record_is_answered_in_its_order() {
        let record = r#"{"function":"now","time":[5,6,7]}
            {"function":"randInt","number":3}
            {"function":"uuidv4","bytes":"AAECAwQFBgcICQoLDA0ODw=="}
            {"function":"keys","keys":["b","a"]}"#;
        let mut replay = Replay::new(record);
        assert_eq!((replay.now(), replay.uptime()), ((5, 6), 7));
        assert_eq!(replay.below(10), 3);
        let mut bytes = [0; 16];
        replay.random(&mut bytes);
        assert_eq!(
            bytes,
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
        );
        let mut keys = [GoString::from("a"), GoString::from("b")];
        replay.order(&mut keys);
        assert_eq!(keys, ["b", "a"]);
    }
}
