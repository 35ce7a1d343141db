//! A definition as the API server keeps it in memory: what all versions have in common stands once, before them.

use serde_json::Value;

use super::{list, some};

const PARTS: [&str; 4] = [
    "schema",
    "subresources",
    "additionalPrinterColumns",
    "selectableFields",
];

/// A part that versions have in common or each for itself.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Schema,
    Subresources,
    Columns,
    Selectable,
}

/// The parts of a version, or those of all of them.
#[derive(Clone, Copy, Default)]
pub(super) struct Parts<'d>([Option<&'d Value>; 4]);

impl<'d> Parts<'d> {
    pub(super) fn get(&self, part: Part) -> Option<&'d Value> {
        self.0.get(part as usize).copied().flatten()
    }

    /// The `openAPIV3Schema`.
    pub(super) fn schema(&self) -> Option<&'d Value> {
        self.get(Part::Schema)
            .and_then(|schema| some(schema, "openAPIV3Schema"))
    }

    pub(super) fn items(&self, part: Part) -> &'d [Value] {
        self.get(part).map(list).unwrap_or_default()
    }
}

/// A definition in that form.
pub(super) struct Definition<'d> {
    pub(super) spec: &'d Value,
    /// What all versions have in common.
    pub(super) common: Parts<'d>,
    /// Each version as it is written, and what only it has.
    pub(super) versions: Vec<(&'d Value, Parts<'d>)>,
}

impl<'d> Definition<'d> {
    pub(super) fn of(definition: &'d Value) -> Self {
        static NONE: Value = Value::Null;
        let spec = definition.get("spec").unwrap_or(&NONE);
        let mut versions: Vec<(&Value, Parts<'_>)> = list(&spec["versions"])
            .iter()
            .map(|version| {
                let parts = PARTS.map(|part| some(version, part));
                (version, Parts(parts))
            })
            .collect();
        let mut common = Parts::default();
        for index in 0..PARTS.len() {
            let mut all = versions
                .iter()
                .map(|(_, parts)| parts.0.get(index).copied().flatten());
            let first = all.next().flatten();
            if versions.is_empty() || !all.all(|other| other == first) {
                continue;
            }
            if let Some(slot) = common.0.get_mut(index) {
                *slot = first;
            }
            for (_, parts) in &mut versions {
                if let Some(slot) = parts.0.get_mut(index) {
                    *slot = None;
                }
            }
        }
        Self {
            spec,
            common,
            versions,
        }
    }

    /// All schemas.
    pub(super) fn schemas(&self) -> impl Iterator<Item = &'d Value> {
        let each = self.versions.iter().map(|(_, parts)| parts);
        std::iter::once(&self.common)
            .chain(each)
            .filter_map(Parts::schema)
    }

    pub(super) fn any_version_has(&self, part: Part) -> bool {
        self.versions.iter().any(|(_, parts)| match part {
            Part::Columns | Part::Selectable => !parts.items(part).is_empty(),
            Part::Schema | Part::Subresources => parts.get(part).is_some(),
        })
    }
}
