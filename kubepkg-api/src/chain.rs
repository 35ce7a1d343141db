//! An error with all its causes, in one line.
//!
//! Conditions, events and logs hold one text; library errors keep their causes apart (`source()`), as they should.

use std::error::Error;

/// The text of `error` followed by those of its causes, joined by `: `. A cause that the text before it holds already
/// is not repeated.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let part = inner.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Layer(&'static str, #[source] Option<Box<Layer>>);

    #[test]
    fn joins_causes_and_repeats_none() {
        let inner = Layer("no such host", None);
        let middle = Layer("connecting: no such host", Some(Box::new(inner)));
        let outer = Layer("chart web 1.0.0", Some(Box::new(middle)));
        assert_eq!(chain(&outer), "chart web 1.0.0: connecting: no such host");
        let inner = Layer("exit status 1", None);
        let outer = Layer(
            "hook failed: exit status 1 (pod web)",
            Some(Box::new(inner)),
        );
        assert_eq!(chain(&outer), "hook failed: exit status 1 (pod web)");
    }
}
