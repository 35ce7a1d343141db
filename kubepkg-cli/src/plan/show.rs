//! A plan for people and for scripts.

use serde_json::{Value, json as value};

use super::{Action, Plan};
use crate::out::Label;
use crate::table::{Cell, Table, wrap};

/// The plan as a table, with its notes below.
pub fn table(plan: &Plan) -> String {
    let mut table = Table::new(&["ACTION", "PACKAGE", "FROM", "TO", "REPOSITORY", "WHY"]);
    for step in &plan.steps {
        let label = match step.action {
            Action::Install => Label::Good,
            Action::Upgrade => Label::Care,
            Action::Downgrade => Label::Bad,
            Action::Keep => Label::Plain,
        };
        let to = match step.build {
            0 => step.to.clone(),
            build => format!("{} build {build}", step.to),
        };
        table.row([
            Cell::new(step.action.as_str(), label),
            step.package.as_str().into(),
            step.from.clone().unwrap_or_default().into(),
            to.into(),
            step.origin.as_str().into(),
            step.why.to_string().into(),
        ]);
    }
    let mut text = table.render();
    for step in &plan.steps {
        for note in &step.notes {
            text.push_str("  ");
            text.push_str(&wrap(&format!("{}: {note}", step.package), 78, 4));
            text.push('\n');
        }
    }
    text
}

/// The plan as data: `{"steps": [...]}`.
pub fn json(plan: &Plan) -> Value {
    let steps: Vec<Value> = plan
        .steps
        .iter()
        .map(|step| {
            value!({
                "action": step.action,
                "package": step.package,
                "from": step.from,
                "to": step.to,
                "build": step.build,
                "variant": step.variant,
                "repository": step.origin.as_str(),
                "why": step.why.to_string(),
                "notes": step.notes,
                "changes": step.write.is_some(),
            })
        })
        .collect();
    value!({ "steps": steps })
}
