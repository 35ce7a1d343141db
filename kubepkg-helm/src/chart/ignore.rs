//! `.helmignore`: which files of a chart's folder are not part of the chart.
//!
//! The rules are Helm's, surprises included: the first rule that hits decides, a negated rule ignores whatever
//! it does **not** match, `**` is refused, a rule with a `/` must match the whole path.

use super::ChartError;
use crate::go::path::{Pattern, base, matches};

/// The rules of one `.helmignore`.
#[derive(Debug, Clone, Default)]
pub struct IgnoreRules {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    pattern: Pattern,
    whole_path: bool,
    negated: bool,
    only_folders: bool,
}

/// Rules of one file; Helm takes any number.
const MAX_RULES: usize = 10_000;

impl IgnoreRules {
    /// Reads the text of a `.helmignore`. A byte order mark at its start is skipped.
    ///
    /// # Errors
    /// [`ChartError::Ignore`] for `**`, for patterns that can't be read, and for more than 10,000 rules.
    pub fn parse(text: &[u8]) -> Result<Self, ChartError> {
        let text = String::from_utf8_lossy(text);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut rules = Self::default();
        for line in text.lines() {
            // Each is matched against each file.
            if rules.rules.len() >= MAX_RULES {
                return Err(ChartError::Ignore {
                    message: "more than 10000 rules",
                });
            }
            // Go's scanner takes lines up to this length.
            if line.len() >= 64 * 1024 {
                return Err(ChartError::Ignore {
                    message: "bufio.Scanner: token too long",
                });
            }
            rules.add(line)?;
        }
        Ok(rules)
    }

    /// Adds the rule that every chart has: hidden files right below `templates/` are ignored.
    #[must_use]
    pub fn with_defaults(mut self) -> Self {
        self.rules.push(Rule {
            pattern: Pattern::new("templates/.?*"),
            whole_path: true,
            negated: false,
            only_folders: false,
        });
        self
    }

    fn add(&mut self, line: &str) -> Result<(), ChartError> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.contains("**") {
            return Err(ChartError::Ignore {
                message: "double-star (**) syntax is not supported",
            });
        }
        if matches(line, "abc").is_err() {
            return Err(ChartError::Ignore {
                message: "syntax error in pattern",
            });
        }
        let (negated, rest) = line
            .strip_prefix('!')
            .map_or((false, line), |rest| (true, rest));
        let (only_folders, rest) = rest
            .strip_suffix('/')
            .map_or((false, rest), |rest| (true, rest));
        let (rooted, rest) = rest
            .strip_prefix('/')
            .map_or((false, rest), |rest| (true, rest));
        let whole_path = rooted || rest.contains('/');
        self.rules.push(Rule {
            pattern: Pattern::new(rest),
            whole_path,
            negated,
            only_folders,
        });
        Ok(())
    }

    /// Whether the file or folder at `path` (with `/`, relative to the chart) is left out.
    pub fn ignores(&self, path: &str, is_folder: bool) -> bool {
        if matches!(path, "" | "." | "./") {
            return false;
        }
        for rule in &self.rules {
            let name = if rule.whole_path { path } else { base(path) };
            let kind_fits = !rule.only_folders || is_folder;
            let hit = kind_fits && rule.pattern.matches(name).unwrap_or(false);
            if hit != rule.negated {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::IgnoreRules;

    #[test]
    fn negated_rule_ignores_the_rest() {
        // helm-misc README: `*.txt` then `!x.txt` ignores everything.
        let rules = IgnoreRules::parse(b"*.txt\n!x.txt\n").unwrap();
        assert!(rules.ignores("x.txt", false) && rules.ignores("Chart.yaml", false));
        let rules = IgnoreRules::parse(b"!Chart.yaml\n").unwrap();
        assert!(!rules.ignores("Chart.yaml", false) && rules.ignores("values.yaml", false));
    }
}
