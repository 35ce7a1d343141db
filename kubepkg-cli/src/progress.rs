//! Progress as lines: one line each time a package says something new, so that a log reads like a story and a
//! terminal shows where things stand.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::out::Label;
use crate::wait::State;

/// The last state of every package that is followed.
#[derive(Debug)]
pub(crate) struct Progress {
    states: BTreeMap<String, Option<(State, Instant)>>,
}

impl Progress {
    /// Nothing is known of these packages yet.
    pub(crate) fn new<'a>(packages: impl Iterator<Item = &'a String>) -> Self {
        Self {
            states: packages.map(|package| (package.clone(), None)).collect(),
        }
    }

    /// Takes note of a state. Returns the line to show when it is news.
    pub(crate) fn update(&mut self, package: &str, state: &State) -> Option<String> {
        let known = self.states.entry(package.to_owned()).or_default();
        if known.as_ref().is_some_and(|(known, _)| known == state) {
            return None;
        }
        *known = Some((state.clone(), Instant::now()));
        Some(match state {
            State::Waiting(text) => format!("{package}: {text}"),
            State::Stuck(text) => format!("{package}: {}", Label::Care.paint(text)),
            State::Reached(text) => format!("{package}: {}", Label::Good.paint(text)),
            State::Failed(text) => format!("{package}: {}", Label::Bad.paint(text)),
        })
    }

    /// How long the last state of a package stands.
    pub(crate) fn unchanged(&self, package: &str) -> Duration {
        let known = self.states.get(package).and_then(Option::as_ref);
        known.map(|(_, since)| since.elapsed()).unwrap_or_default()
    }

    /// Packages that have not got there, each with what it waits for.
    pub(crate) fn pending(&self) -> Vec<(String, String)> {
        self.states
            .iter()
            .filter_map(|(package, state)| match state {
                Some((State::Reached(_), _)) => None,
                Some((State::Waiting(text) | State::Stuck(text) | State::Failed(text), _)) => {
                    Some((package.clone(), text.clone()))
                }
                None => Some((package.clone(), "the cluster did not answer".to_owned())),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_news_is_a_line() {
        let names = ["a".to_owned(), "b".to_owned()];
        let mut progress = Progress::new(names.iter());
        let waiting = State::Waiting("Progressing: component c".into());
        assert_eq!(
            progress.update("a", &waiting).as_deref(),
            Some("a: Progressing: component c")
        );
        assert_eq!(progress.update("a", &waiting), None);
        assert!(
            progress
                .update("a", &State::Reached("ready".into()))
                .is_some()
        );
        assert_eq!(
            progress.pending(),
            [("b".to_owned(), "the cluster did not answer".to_owned())]
        );
    }
}
