//! The "natural" order in which Go's emitter writes the keys of a map.
//!
//! Keys compare by type, then text by text with runs of digits taken as numbers and letters after
//! everything else. The comparison is not transitive for some sets (`v1`, `v10`, `v1beta1`), so a
//! standard sort could panic or give any order; this one is a merge sort that starts from byte
//! order, and so gives one fixed order for every set.

use std::cmp::Ordering;

use crate::category::{is_digit, is_letter};
use crate::json::lossy;
use crate::tree::Val;

/// Sorts entries that are in byte order.
pub(crate) fn sort<'n>(entries: &[(Val<'n>, Val<'n>)]) -> Vec<(Val<'n>, Val<'n>)> {
    let mut sorted = entries.to_vec();
    if sorted
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if less(b.0, a.0)))
    {
        let mut spare = Vec::with_capacity(sorted.len());
        let mut width = 1;
        while width < sorted.len() {
            spare.clear();
            for pair in sorted.chunks(width * 2) {
                let (left, right) = pair.split_at(width.min(pair.len()));
                merge(left, right, &mut spare);
            }
            std::mem::swap(&mut sorted, &mut spare);
            width *= 2;
        }
    }
    sorted
}

fn merge<'n>(
    mut left: &[(Val<'n>, Val<'n>)],
    mut right: &[(Val<'n>, Val<'n>)],
    out: &mut Vec<(Val<'n>, Val<'n>)>,
) {
    while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right) {
        if less(b.0, a.0) {
            out.push(*b);
            right = right_rest;
        } else {
            out.push(*a);
            left = left_rest;
        }
    }
    out.extend_from_slice(left);
    out.extend_from_slice(right);
}

/// Numbers and booleans compare by value; Go's kinds break ties: bool, int, uint, float.
fn numeric(value: Val<'_>) -> Option<(f64, u8)> {
    #[allow(clippy::cast_precision_loss, reason = "Go compares as float64 first")]
    match value {
        Val::Bool(value) => Some((f64::from(u8::from(value)), 1)),
        Val::Int(value) => Some((value as f64, 2)),
        Val::Uint(value) => Some((value as f64, 11)),
        Val::Float(value) => Some((value, 14)),
        _ => None,
    }
}

fn kind(value: Val<'_>) -> u8 {
    match value {
        Val::Null => 20,
        Val::Map(_) => 21,
        Val::Seq(_) => 23,
        Val::Str(_) | Val::Bytes(_) => 24,
        _ => numeric(value).map_or(0, |(_, kind)| kind),
    }
}

fn less(a: Val<'_>, b: Val<'_>) -> bool {
    if let (Val::Str(a), Val::Str(b)) = (a, b) {
        return natural_less(a, b);
    }
    match (numeric(a), numeric(b)) {
        (Some((a_value, a_kind)), Some((b_value, b_kind))) => match a_value.partial_cmp(&b_value) {
            Some(Ordering::Equal) if a_kind == b_kind => {
                crate::tree::compare_keys(a, b) == Ordering::Less
            }
            Some(Ordering::Equal) | None => a_kind < b_kind,
            Some(order) => order == Ordering::Less,
        },
        _ => match (a.text(), b.text()) {
            (Some(a), Some(b)) => natural_less(&lossy(a), &lossy(b)),
            _ => kind(a) < kind(b),
        },
    }
}

fn natural_less(a: &str, b: &str) -> bool {
    let shared = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let mut at = shared;
    while !a.is_char_boundary(at) || !b.is_char_boundary(at) {
        at -= 1;
    }
    let (common, a_rest) = a.split_at_checked(at).unwrap_or((a, ""));
    let b_rest = b.get(at..).unwrap_or_default();
    let (Some(x), Some(y)) = (a_rest.chars().next(), b_rest.chars().next()) else {
        return a_rest.is_empty() && !b_rest.is_empty();
    };
    match (is_letter(x), is_letter(y)) {
        (true, true) => return x < y,
        (x_letter, y_letter) if x_letter || y_letter => return y_letter,
        _ => {}
    }
    // A 0 is a leading zero unless some other digit stands before it.
    let mut start = 0;
    if (x == '0' || y == '0')
        && common
            .chars()
            .rev()
            .take_while(|&c| is_digit(c))
            .any(|c| c != '0')
    {
        start = 1;
    }
    let (x_value, x_digits) = digit_run(a_rest, start);
    let (y_value, y_digits) = digit_run(b_rest, start);
    (x_value, x_digits, x) < (y_value, y_digits, y)
}

/// Value (as Go's wrapping int64) and length of the digits that `text` begins with.
fn digit_run(text: &str, start: i64) -> (i64, usize) {
    text.chars()
        .take_while(|&c| is_digit(c))
        .fold((start, 0), |(value, count), c| {
            let digit = i64::from(u32::from(c)) - i64::from(u32::from('0'));
            (value.wrapping_mul(10).wrapping_add(digit), count + 1)
        })
}

#[cfg(test)]
mod tests {
    use super::natural_less;

    #[test]
    fn digits_count_and_letters_come_last() {
        for (a, b) in [
            ("a9", "a10"),
            ("a", "b"),
            ("B", "a"),
            ("1", "a"),
            ("-", "a"),
            ("a10", "a1b"),
            ("a1", "a01"),
            ("0x", "0é"),
            ("a", "ab"),
            ("a100", "a101"),
        ] {
            assert!(natural_less(a, b) && !natural_less(b, a), "{a} {b}");
        }
    }
}
