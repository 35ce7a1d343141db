//! What the rules of a definition may cost: `validateCustomResourceDefinitionValidation` of `apiextensions-apiserver`.

use serde_json::Value;

use super::super::cel::{Checked, Declared, estimate};
use super::super::path::FieldError;
use super::{some, text};

/// What an expression may cost at most, over all values that it is about.
const MAX_COST: u64 = 10_000_000;
/// What all expressions of a schema may cost.
const MAX_TOTAL: u64 = 100_000_000;
/// So many of the expressions that make the total too large are named.
const NAMED: usize = 4;

/// How many values of a schema an object may have; none where there is no limit.
#[derive(Clone, Copy)]
pub(super) struct Count(Option<u64>);

impl Default for Count {
    fn default() -> Self {
        Self(Some(1))
    }
}

impl Count {
    /// How many there may be of what is in values of a schema.
    pub(super) fn within(self, schema: &Value) -> Self {
        let limit = |key: &str| {
            let limit = some(schema, key)?.as_i64()?;
            Some(u64::try_from(limit).unwrap_or(0))
        };
        let each = match text(schema, "type") {
            "object" if some(schema, "additionalProperties").is_some() => limit("maxProperties"),
            "array" => limit("maxItems"),
            _ => Some(1),
        };
        Self(self.0.zip(each).map(|(all, each)| all.saturating_mul(each)))
    }
}

/// What the expressions of a schema cost together.
#[derive(Default)]
pub(super) struct Budget {
    total: u64,
    /// The most expensive ones, from the most expensive.
    largest: Vec<(String, u64)>,
    /// Whether an expression may cost more than others may, since it was there before.
    keeps_old: bool,
}

/// Which of the two expressions of a rule.
#[derive(Clone, Copy)]
pub(super) enum Expression {
    Rule,
    Message,
}

impl Budget {
    pub(super) fn new(keeps_old: bool) -> Self {
        Self {
            keeps_old,
            ..Self::default()
        }
    }

    /// Adds an expression that compiles.
    pub(super) fn add(
        &mut self,
        expression: Expression,
        checked: &Checked,
        (declared, count): (&Declared, Count),
        at: &str,
        errors: &mut Vec<FieldError>,
    ) {
        let once = estimate(checked, declared).max;
        let (name, cost) = match expression {
            Expression::Rule => {
                let count = count.0.unwrap_or_else(|| declared.occurrences());
                ("estimated rule cost", once.saturating_mul(count))
            }
            // A message is made once.
            Expression::Message => ("estimated messageExpression cost", once),
        };
        if cost > MAX_COST && !self.keeps_old {
            errors.push(FieldError::forbidden(at, &exceeds(name, cost, MAX_COST)));
        }
        self.total = self.total.saturating_add(cost);
        if cost >= MAX_TOTAL / 100 {
            self.largest.push((at.to_owned(), cost));
            self.largest
                .sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
            self.largest.truncate(NAMED);
        }
    }

    /// What is wrong with all together.
    pub(super) fn check(&self, at: &str, errors: &mut Vec<FieldError>) {
        if self.total <= MAX_TOTAL {
            return;
        }
        for (at, _) in &self.largest {
            let why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.push(FieldError::forbidden(at, why));
        }
        let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        let why = exceeds(name, self.total, MAX_TOTAL);
        errors.push(FieldError::forbidden(at, &why));
    }
}

#[expect(clippy::cast_precision_loss, reason = "a factor for people")]
fn exceeds(name: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}
