//! What a type says about the merging of a field.

use kubepkg_yaml::go_quote;

use super::StrategicError;
use crate::schema::{Definition, Field, Scalar, Type, TypeId, Types};

/// The type of a value in a patch.
#[derive(Clone, Copy)]
pub(super) struct Schema<'t> {
    types: &'t Types,
    id: TypeId,
}

/// How a field merges, and the type of its value or of its items.
#[derive(Clone, Copy)]
pub(super) struct Rule<'t> {
    pub(super) schema: Schema<'t>,
    /// The field by which items are told apart; empty for none.
    pub(super) key: &'t str,
    pub(super) strategy: Strategy,
    /// Whether a patch names all keys that are to stay.
    pub(super) retain_keys: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Objects merge, lists are replaced.
    Default,
    Merge,
    Replace,
}

impl<'t> Schema<'t> {
    pub(super) fn of(kind: &'t Type) -> Self {
        Self {
            types: kind.types(),
            id: kind.id(),
        }
    }

    fn definition(self) -> Option<&'t Definition> {
        self.types.get(self.id)
    }

    /// What Go calls the kind of the type.
    pub(super) fn kind(self) -> &'static str {
        let Some(definition) = self.definition() else {
            return "interface";
        };
        match (&definition.map, definition.scalar, &definition.list) {
            (Some(map), _, _) if definition.name.is_some() || !map.fields.is_empty() => "struct",
            (Some(_), None, None) => "map",
            (None, None, Some(_)) => "slice",
            // Quantities, times and the like.
            (None, Some(_), None) if definition.name.is_some() => "struct",
            (None, Some(Scalar::String), None) => "string",
            (None, Some(Scalar::Boolean), None) => "bool",
            (None, Some(Scalar::Numeric), None) => "int64",
            _ => "interface",
        }
    }

    fn field(self, name: &str) -> Result<&'t Field, StrategicError> {
        match self.kind() {
            "struct" => {}
            kind => return Err(StrategicError::NotAStruct { kind }),
        }
        let definition = self.definition();
        let fields = definition
            .and_then(|it| it.map.as_ref())
            .map(|it| &it.fields);
        let found = fields.and_then(|fields| {
            fields.get(name).or_else(|| {
                let mut alike = fields.iter();
                let alike = alike.find(|(known, _)| known.eq_ignore_ascii_case(name));
                alike.map(|(_, field)| field)
            })
        });
        found.ok_or_else(|| StrategicError::NoField {
            name: definition
                .and_then(|it| it.name.clone())
                .unwrap_or_default(),
            field: go_quote(name),
        })
    }

    /// The rule of a field that holds an object.
    pub(super) fn of_object(self, name: &str) -> Result<Rule<'t>, StrategicError> {
        self.rule(self.field(name)?)
    }

    /// The rule of a field that holds a list, with the type of its items.
    pub(super) fn of_list(self, name: &str) -> Result<Rule<'t>, StrategicError> {
        let field = self.field(name)?;
        let list = self.types.get(field.id).and_then(|it| it.list.as_ref());
        let list = list.ok_or_else(|| StrategicError::NotAList { kind: self.kind() })?;
        let items = Self {
            types: self.types,
            id: list.element,
        };
        if items.kind() == "slice" {
            return Err(StrategicError::SliceOfSlice);
        }
        let rule = self.rule(field)?;
        Ok(Rule {
            schema: items,
            ..rule
        })
    }

    fn rule(self, field: &'t Field) -> Result<Rule<'t>, StrategicError> {
        let strategies = &field.patch.strategies;
        let unexpected = || StrategicError::Strategy {
            strategies: strategies.join(" "),
        };
        let retain = |strategy: &String| strategy == "retainKeys";
        let (retain_keys, rest) = match strategies.as_slice() {
            [] => (false, ""),
            [only] if retain(only) => (true, ""),
            [only] => (false, only.as_str()),
            [first, second] if retain(first) => (true, second.as_str()),
            [first, second] if retain(second) => (true, first.as_str()),
            _ => return Err(unexpected()),
        };
        let strategy = match rest {
            "merge" => Strategy::Merge,
            "replace" => Strategy::Replace,
            _ => Strategy::Default,
        };
        Ok(Rule {
            schema: Self {
                types: self.types,
                id: field.id,
            },
            key: field.patch.merge_key.as_deref().unwrap_or_default(),
            strategy,
            retain_keys,
        })
    }
}
