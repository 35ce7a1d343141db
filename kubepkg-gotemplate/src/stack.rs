//! The stack of values, each with the mark whether it is seen through an `interface {}`.
//!
//! Go's reflection tells a value that was read from an `interface {}` (an element of
//! `map[string]interface {}`) from one of a concrete type, and the words of errors depend on it.
//! `Nil` with the mark is the nil interface, without it the absence of a value. Both halves are
//! kept apart so that functions get their arguments as one slice, without a copy.

use crate::value::Value;

/// A value and its mark.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slot {
    pub(crate) value: Value,
    pub(crate) is_interface: bool,
}

impl Slot {
    /// The absence of a value.
    pub(crate) fn invalid() -> Self {
        Self::default()
    }

    pub(crate) fn concrete(value: Value) -> Self {
        Self {
            value,
            is_interface: false,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Stack {
    values: Vec<Value>,
    marks: Vec<bool>,
}

impl Stack {
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn push(&mut self, slot: Slot) {
        self.push_value(slot.value, slot.is_interface);
    }

    pub(crate) fn push_value(&mut self, value: Value, is_interface: bool) {
        self.values.push(value);
        self.marks.push(is_interface);
    }

    pub(crate) fn pop(&mut self) -> Slot {
        match (self.values.pop(), self.marks.pop()) {
            (Some(value), Some(is_interface)) => Slot {
                value,
                is_interface,
            },
            // The compiler pairs every pop with a push.
            _ => Slot::invalid(),
        }
    }

    pub(crate) fn drop_top(&mut self) {
        self.values.pop();
        self.marks.pop();
    }

    /// Removes the value below the top.
    pub(crate) fn nip(&mut self) {
        let top = self.pop();
        self.drop_top();
        self.push(top);
    }

    pub(crate) fn top(&self) -> &Value {
        self.values.last().unwrap_or(&Value::Nil)
    }

    pub(crate) fn top_mark(&self) -> bool {
        self.marks.last().copied().unwrap_or_default()
    }

    pub(crate) fn clear_mark(&mut self) {
        if let Some(mark) = self.marks.last_mut() {
            *mark = false;
        }
    }

    pub(crate) fn marks_from(&self, base: usize) -> &[bool] {
        self.marks.get(base..).unwrap_or_default()
    }

    /// Moves the value at `base` to the top: the piped value, which was pushed before the
    /// arguments, is the last argument.
    pub(crate) fn rotate(&mut self, base: usize) {
        if let Some(values) = self.values.get_mut(base..) {
            values.rotate_left(1);
        }
        if let Some(marks) = self.marks.get_mut(base..) {
            marks.rotate_left(1);
        }
    }

    pub(crate) fn from(&self, base: usize) -> &[Value] {
        self.values.get(base..).unwrap_or_default()
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        self.marks.truncate(len);
    }
}
