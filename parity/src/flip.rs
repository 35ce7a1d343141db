//! Values that nobody wrote: variants of a chart's own, to reach what its defaults leave out.
//!
//! The first variant turns on every switch that is off: a `false` under a key that says `enabled`, `create` or the
//! like. Those after it throw dice for every value: switches flip, few in one variant and many in another; now and then
//! a value becomes null, empty, or a number of millions. Both programs get the same file, and have to say the same of it, errors included.

use serde_json::{Map, Value};

/// Words of keys that switch something on.
const SWITCHES: [&str; 5] = ["enable", "create", "install", "deploy", "use"];

/// The values that differ from the chart's in the variant of this number (from 1); `None` when none does.
pub(crate) fn variant(values: &Value, chart: &str, number: usize, seed: u64) -> Option<Value> {
    let mut dice = Dice::new(chart, number, seed);
    let all_on = number == 1;
    // Many changes at once mostly end in a refusal.
    let odds = 2 + 12 / (1 + number as u64 % 4);
    change("", values, &mut |key, value| {
        if all_on {
            let switch = SWITCHES
                .iter()
                .any(|word| key.to_lowercase().contains(word));
            return (switch && *value == Value::Bool(false)).then_some(Value::Bool(true));
        }
        thrown(value, &mut dice, odds)
    })
}

/// What the dice make of one value.
fn thrown(value: &Value, dice: &mut Dice, odds: u64) -> Option<Value> {
    match value {
        Value::Bool(on) => dice.once_in(odds).then(|| Value::Bool(!on)),
        _ if dice.once_in(30 * odds) => Some(Value::Null),
        Value::Number(_) if dice.once_in(6 * odds) => Some(Value::from(12_345_678)),
        Value::String(text) if !text.is_empty() && dice.once_in(30 * odds) => Some(Value::from("")),
        Value::String(text) if text.is_empty() && dice.once_in(2 * odds) => {
            Some(Value::from("made-up"))
        }
        Value::Array(items) if items.is_empty() && dice.once_in(4 * odds) => {
            Some(Value::from(vec!["made-up"]))
        }
        Value::Object(fields) if fields.is_empty() && dice.once_in(6) => Some(Value::Object(
            Map::from_iter([("made-up".to_owned(), Value::from("1"))]),
        )),
        _ => None,
    }
}

/// The parts of a value in which something changes; lists are whole, as values files replace them.
fn change(
    key: &str,
    value: &Value,
    new: &mut dyn FnMut(&str, &Value) -> Option<Value>,
) -> Option<Value> {
    if let Some(new) = new(key, value) {
        return Some(new);
    }
    match value {
        Value::Object(fields) => {
            let changed: Map<String, Value> = fields
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), change(key, value, new)?)))
                .collect();
            (!changed.is_empty()).then_some(Value::Object(changed))
        }
        Value::Array(items) => {
            let changed: Vec<Option<Value>> =
                items.iter().map(|item| change("", item, new)).collect();
            let any = changed.iter().any(Option::is_some);
            any.then(|| {
                let items = changed.into_iter().zip(items);
                Value::Array(items.map(|(new, old)| with(old, new)).collect())
            })
        }
        _ => None,
    }
}

/// An item of a list with its changed parts put over it.
fn with(old: &Value, new: Option<Value>) -> Value {
    match (old, new) {
        (old, None) => old.clone(),
        (Value::Object(old), Some(Value::Object(new))) => {
            let mut whole = old.clone();
            for (key, value) in new {
                let value = match old.get(&key) {
                    Some(old) => with(old, Some(value)),
                    None => value,
                };
                whole.insert(key, value);
            }
            Value::Object(whole)
        }
        (_, Some(new)) => new,
    }
}

/// Chance that is the same for the same chart, variant and seed (xorshift64*, begun with FNV-1a).
struct Dice(u64);

impl Dice {
    fn new(chart: &str, number: usize, seed: u64) -> Self {
        let mut state = 0xcbf2_9ce4_8422_2325 ^ seed;
        for byte in chart.bytes().chain(number.to_le_bytes()) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Self(state | 1)
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33).is_multiple_of(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_variant_turns_every_switch_on() {
        let values = json!({
            "enabled": false, "debug": false, "n": 1,
            "a": {"createRole": false, "on": true},
            "list": [{"enabled": false, "keep": 1}, 2],
        });
        let wanted = json!({
            "enabled": true,
            "a": {"createRole": true},
            "list": [{"enabled": true, "keep": 1}, 2],
        });
        assert_eq!(variant(&values, "c", 1, 0), Some(wanted));
        assert_eq!(variant(&json!({"enabled": true}), "c", 1, 0), None);
    }

    #[test]
    fn a_variant_is_the_same_each_time_and_another_for_another_number() {
        let values: Value = (0..40)
            .map(|n| (format!("k{n}"), Value::Bool(false)))
            .collect();
        let one = |number, seed| variant(&values, "c", number, seed);
        assert_eq!(one(2, 7), one(2, 7));
        assert_ne!(one(2, 7), one(3, 7));
        assert_ne!(one(2, 7), one(2, 8));
    }
}
