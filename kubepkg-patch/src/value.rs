//! Values as structured-merge-diff compares them: 1 and 1.0 are equal, and there is an order over all of them.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// A number that fits is an integer to Go, any other a float.
pub(crate) fn as_int(number: &Number) -> Option<i64> {
    number.as_i64()
}

fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    if let (Some(left), Some(right)) = (as_int(left), as_int(right)) {
        return left.cmp(&right);
    }
    let float = |number: &Number| number.as_f64().unwrap_or_default();
    float(left).total_cmp(&float(right))
}

/// The order of kinds of values.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

/// A total order.
pub(crate) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            for (left, right) in left.iter().zip(right) {
                let order = compare(left, right);
                if order.is_ne() {
                    return order;
                }
            }
            left.len().cmp(&right.len())
        }
        (Value::Object(left), Value::Object(right)) => {
            for ((left_key, left), (right_key, right)) in left.iter().zip(right) {
                let order = left_key.cmp(right_key).then_with(|| compare(left, right));
                if order.is_ne() {
                    return order;
                }
            }
            left.len().cmp(&right.len())
        }
        (left, right) => rank(left).cmp(&rank(right)),
    }
}

/// Whether two values are the same to server-side apply.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    compare(left, right).is_eq()
}

/// Whether a value is nested over `limit` levels. Does not recurse.
pub(crate) fn is_deeper_than(value: &Value, limit: usize) -> bool {
    let mut stack = vec![(value, 1)];
    while let Some((value, depth)) = stack.pop() {
        if depth > limit {
            return true;
        }
        match value {
            Value::Array(items) => stack.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => stack.extend(fields.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_and_floats_of_one_number_are_equal_and_strings_are_not() {
        assert!(equal(&json!(1), &json!(1.0)));
        assert!(!equal(&json!(1), &json!("1")));
        assert!(!equal(&json!([1]), &json!([1, 2])));
        assert!(equal(&json!({"a": 1}), &json!({"a": 1.0})));
    }

    #[test]
    fn depth_counts_levels() {
        assert!(!is_deeper_than(&json!({"a": [1]}), 3));
        assert!(is_deeper_than(&json!({"a": [1]}), 2));
    }
}
