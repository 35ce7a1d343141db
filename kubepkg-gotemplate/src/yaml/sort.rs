//! The order of map keys in `go.yaml.in/yaml/v3`: runs of digits by value, letters last.

use crate::strconv::chars;
use crate::unicode::{is_digit, is_letter};

/// Whether key `a` comes before key `b`.
fn less(a: &[char], b: &[char]) -> bool {
    let digit = |c: Option<&char>| c.is_some_and(|c| is_digit(*c));
    let value = |c: char| i64::from(u32::from(c)) - i64::from(u32::from('0'));
    let mut digits = false;
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        if x == y {
            digits = is_digit(*x);
            continue;
        }
        let (x_letter, y_letter) = (is_letter(*x), is_letter(*y));
        if x_letter && y_letter {
            return x < y;
        }
        if x_letter || y_letter {
            return if digits { x_letter } else { y_letter };
        }
        let (mut an, mut bn) = (0_i64, 0_i64);
        if *x == '0' || *y == '0' {
            let before = a.get(..i).unwrap_or(&[]);
            let nonzero = before
                .iter()
                .rev()
                .take_while(|c| is_digit(**c))
                .any(|c| *c != '0');
            if nonzero {
                (an, bn) = (1, 1);
            }
        }
        let (mut ai, mut bi) = (i, i);
        while digit(a.get(ai)) {
            an = an
                .wrapping_mul(10)
                .wrapping_add(a.get(ai).map_or(0, |c| value(*c)));
            ai += 1;
        }
        while digit(b.get(bi)) {
            bn = bn
                .wrapping_mul(10)
                .wrapping_add(b.get(bi).map_or(0, |c| value(*c)));
            bi += 1;
        }
        if an != bn {
            return an < bn;
        }
        if ai != bi {
            return ai < bi;
        }
        return x < y;
    }
    a.len() < b.len()
}

/// An entry with the characters of its key.
type Keyed<V> = (Vec<char>, (Vec<u8>, V));

/// Sorts entries by their keys. The order is not transitive, so this is a merge sort of our own,
/// which gives one fixed result for every set of keys in byte order.
pub(super) fn sorted<V: Clone>(entries: Vec<(Vec<u8>, V)>) -> Vec<(Vec<u8>, V)> {
    let mut keyed: Vec<Keyed<V>> = entries
        .into_iter()
        .map(|entry| (chars(&entry.0), entry))
        .collect();
    let mut width = 1;
    while width < keyed.len() {
        let mut merged = Vec::with_capacity(keyed.len());
        for pair in keyed.chunks(width * 2) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let ([x, left_rest @ ..], [y, right_rest @ ..]) = (left, right) {
                if less(&y.0, &x.0) {
                    merged.push(y.clone());
                    right = right_rest;
                } else {
                    merged.push(x.clone());
                    left = left_rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        keyed = merged;
        width *= 2;
    }
    keyed.into_iter().map(|(_, entry)| entry).collect()
}
