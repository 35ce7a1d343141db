//! Whether two answers are the same, when helm's own answer may change from run to run.
//!
//! What helm changes by itself (passwords, keys, times, the order of a map's keys) is known from several runs of it.
//! Everything that stays must be byte for byte ours; what changes must have the same shape in ours: the same number
//! of words in a line, each of about the length that helm gives it. When helm moves whole lines about, or writes more
//! of them at times, each of our lines must be one of helm's or have the shape of one that comes and goes.

use std::collections::BTreeMap;

use crate::run::Answer;

/// How the two compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The same bytes.
    Equal,
    /// The same error.
    BothRefuse,
    /// The same bytes, once our chance is helm's: what helm itself changes between two runs was recorded.
    Recorded,
    /// The same, apart from what helm itself changes between two runs; that has the same shape.
    Random,
    /// Helm would have fetched something from the network, and could not.
    Offline,
    /// Not the same.
    Different,
}

impl Verdict {
    /// The word in tables and JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::BothRefuse => "both refuse",
            Self::Recorded => "equal as recorded",
            Self::Random => "equal in shape",
            Self::Offline => "needs the network",
            Self::Different => "different",
        }
    }
}

/// Compares our answer, made with helm's recorded chance, with what helm said while it was recorded.
pub(crate) fn judge_recorded(helm: &Answer, ours: &Answer) -> Option<Verdict> {
    match (helm, ours) {
        (Answer::Rendered(helm), Answer::Rendered(ours)) if helm == ours => Some(Verdict::Recorded),
        (Answer::Refused(helm), Answer::Refused(ours)) if helm == ours => Some(Verdict::BothRefuse),
        _ => None,
    }
}

/// Compares our answer with what helm said, in one run or several.
pub(crate) fn judge(helm: &[Answer], ours: &Answer) -> Verdict {
    let rendered = |answer: &'_ Answer| match answer {
        Answer::Rendered(text) => Some(text.clone()),
        _ => None,
    };
    let refused = |answer: &'_ Answer| match answer {
        Answer::Refused(text) => Some(text.clone()),
        _ => None,
    };
    // What helm writes when it can't fetch what a schema refers to.
    let offline = |answer: &Answer| matches!(answer, Answer::Refused(text) if text.contains("HTTP request failed for"));
    match ours {
        Answer::Refused(_) if helm.iter().all(offline) => Verdict::Offline,
        Answer::Rendered(text) => match all(helm, rendered) {
            Some(runs) if runs.contains(text) => Verdict::Equal,
            Some(runs) if same_but_for_change(&runs, text) => Verdict::Random,
            _ => Verdict::Different,
        },
        Answer::Refused(text) => match all(helm, refused) {
            Some(runs) if runs.iter().any(|run| sorted(run) == sorted(text)) => Verdict::BothRefuse,
            Some(runs) if same_but_for_change(&runs, text) => Verdict::BothRefuse,
            _ => Verdict::Different,
        },
        Answer::Stopped if helm.contains(&Answer::Stopped) => Verdict::BothRefuse,
        Answer::Stopped => Verdict::Different,
    }
}

fn all(helm: &[Answer], text: impl Fn(&Answer) -> Option<String>) -> Option<Vec<String>> {
    helm.iter().map(text).collect()
}

/// The lines in order: helm lists the complaints of a schema in the order of a map.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

fn same_but_for_change(runs: &[String], ours: &str) -> bool {
    let changes = runs.windows(2).any(|pair| pair.first() != pair.last());
    changes && (line_by_line(runs, ours) || as_bags(runs, ours))
}

fn line_by_line(runs: &[String], ours: &str) -> bool {
    let runs: Vec<Vec<&str>> = runs.iter().map(|run| run.split('\n').collect()).collect();
    let ours: Vec<&str> = ours.split('\n').collect();
    runs.iter().all(|run| run.len() == ours.len())
        && ours.iter().enumerate().all(|(number, line)| {
            let helm: Vec<&str> = runs
                .iter()
                .filter_map(|run| run.get(number).copied())
                .collect();
            line_fits(&helm, line)
        })
}

/// Whether our line is what helm's lines at this place allow.
fn line_fits(helm: &[&str], ours: &str) -> bool {
    if helm.iter().all(|line| helm.first() == Some(line)) {
        return helm.first() == Some(&ours);
    }
    let helm: Vec<Vec<&str>> = helm.iter().map(|line| words(line)).collect();
    let ours = words(ours);
    if helm.iter().any(|line| line.len() != ours.len()) {
        // Random text with signs in it: what stands before it stays.
        let stays = helm.windows(2).map(|pair| match pair {
            [one, two] => one
                .iter()
                .zip(two)
                .take_while(|(one, two)| one == two)
                .count(),
            _ => 0,
        });
        let stays = stays.min().unwrap_or(0);
        let varies = helm
            .windows(2)
            .any(|pair| pair.first().map(Vec::len) != pair.last().map(Vec::len));
        return varies
            && ours.len() > stays
            && helm
                .first()
                .is_some_and(|line| line.get(..stays) == ours.get(..stays));
    }
    ours.iter().enumerate().all(|(place, word)| {
        let helm: Vec<&str> = helm
            .iter()
            .filter_map(|line| line.get(place).copied())
            .collect();
        if helm.iter().all(|other| helm.first() == Some(other)) {
            return helm.first() == Some(word);
        }
        let lengths = || helm.iter().map(|word| word.len());
        let (least, most) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
        let slack = 2 + most / 50;
        (least.saturating_sub(slack)..=most + slack).contains(&word.len())
    })
}

/// Whether our lines are helm's in another order, or have the shape of lines that come and go.
fn as_bags(runs: &[String], ours: &str) -> bool {
    let bags: Vec<BTreeMap<&str, usize>> = runs.iter().map(|run| bag(run.split('\n'))).collect();
    let stays = |line: &str| {
        let counts = bags.iter().map(|bag| bag.get(line).copied().unwrap_or(0));
        counts.min().unwrap_or(0)
    };
    let ours = bag(ours.split('\n'));
    let mut shapes: Vec<String> = Vec::new();
    for (line, count) in bags.iter().flatten() {
        let stays = stays(line);
        if *count > stays {
            shapes.push(shape(line));
        }
        if ours.get(line).copied().unwrap_or(0) < stays {
            return false;
        }
    }
    ours.iter()
        .all(|(line, count)| *count <= stays(line) || shapes.contains(&shape(line)))
}

fn bag<'t>(lines: impl Iterator<Item = &'t str>) -> BTreeMap<&'t str, usize> {
    let mut bag = BTreeMap::new();
    for line in lines {
        *bag.entry(line).or_default() += 1;
    }
    bag
}

/// A line with every long word struck out.
fn shape(line: &str) -> String {
    let word = |word: &str| {
        if word.len() < 8 {
            word.to_owned()
        } else {
            "?".to_owned()
        }
    };
    words(line).into_iter().map(word).collect()
}

/// A line in words as base64 has them, and single other characters.
fn words(line: &str) -> Vec<&str> {
    let inside = |sign: char| sign.is_ascii_alphanumeric() || "+/=_-".contains(sign);
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end = if inside(first) {
            rest.find(|sign| !inside(sign)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, tail) = rest.split_at(end);
        found.push(word);
        rest = tail;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn helm(texts: &[&str]) -> Vec<Answer> {
        texts
            .iter()
            .map(|text| Answer::Rendered((*text).to_owned()))
            .collect()
    }

    fn rendered(helm_says: &[&str], ours: &str) -> Verdict {
        judge(&helm(helm_says), &Answer::Rendered(ours.to_owned()))
    }

    #[test]
    fn the_same_bytes_are_equal_and_others_are_not() {
        assert_eq!(rendered(&["a: 1\n"], "a: 1\n"), Verdict::Equal);
        assert_eq!(
            rendered(&["a: 1\n", "a: 1\n"], "a: 2\n"),
            Verdict::Different
        );
        assert_eq!(rendered(&["a: 1\n", "a: 1\n"], "a: 1"), Verdict::Different);
    }

    #[test]
    fn what_helm_changes_may_differ_in_the_same_shape() {
        let runs = ["name: x\npw: \"aB3dE\"\n", "name: x\npw: \"Zz9yX\"\n"];
        assert_eq!(rendered(&runs, "name: x\npw: \"Qq1Ww\"\n"), Verdict::Random);
        assert_eq!(
            rendered(&runs, "name: y\npw: \"Qq1Ww\"\n"),
            Verdict::Different
        );
        assert_eq!(rendered(&runs, "name: x\npw: \"\"\n"), Verdict::Different);
        assert_eq!(
            rendered(&runs, "name: x\nother: \"Qq1Ww\"\n"),
            Verdict::Different
        );
    }

    #[test]
    fn lines_that_helm_moves_may_stand_anywhere() {
        let runs = ["- a\n- b\n- c\n", "- b\n- a\n- c\n"];
        assert_eq!(rendered(&runs, "- c\n- b\n- a\n"), Verdict::Random);
        assert_eq!(rendered(&runs, "- a\n- b\n- d\n"), Verdict::Different);
        assert_eq!(rendered(&runs, "- a\n- b\n"), Verdict::Different);
    }

    #[test]
    fn a_schema_that_helm_could_not_fetch_tells_nothing() {
        let refused = |text: &str| Answer::Refused(text.to_owned());
        let helm = [refused(
            "c:\nfailing loading \"https://x/y.json\": HTTP request failed for https://x/y.json: Get ...",
        )];
        let ours = refused("c:\nfailing loading \"https://x/y.json\": unsupported scheme");
        assert_eq!(judge(&helm, &ours), Verdict::Offline);
        let ours = Answer::Rendered(String::new());
        assert_eq!(judge(&helm, &ours), Verdict::Different);
    }

    #[test]
    fn errors_are_the_same_when_their_lines_are() {
        let refused = |text: &str| Answer::Refused(text.to_owned());
        let helm = [refused("x:\n- a\n- b")];
        assert_eq!(judge(&helm, &refused("x:\n- b\n- a")), Verdict::BothRefuse);
        assert_eq!(judge(&helm, &refused("x:\n- b")), Verdict::Different);
        assert_eq!(
            judge(&helm, &Answer::Rendered(String::new())),
            Verdict::Different
        );
    }
}
