//! Whether an expression compiles: what cel-go's checker says of it, at the same places.
//!
//! The checker follows `checker/checker.go` of cel-go 0.26. Macros are checked as they are expanded.

use std::collections::{BTreeMap, BTreeSet};

use cel_syntax::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue, SourceInfo,
};

use super::fit::{Known, Type, more_general};
use super::functions::format;
use super::library::{Overload, named, overloads};
use super::parse::parse;
use super::run::constant;
use super::values::converted;
use super::{MAX_NESTING, map_entry, parts};
use crate::crd::pattern;

/// An expression that compiles.
pub(crate) struct Checked {
    /// Its type.
    pub(crate) of: Type,
    /// The variables that it speaks of.
    pub(crate) variables: Vec<String>,
    pub(super) root: IdedExpr,
    /// The types of all its parts.
    pub(super) types: BTreeMap<u64, Type>,
    /// What its calls may call.
    pub(super) calls: BTreeMap<u64, Callee>,
}

/// What a call may call, as far as one knows before it runs.
#[derive(Debug)]
pub(super) struct Callee {
    /// With the name of its library, where it has one that expressions write.
    pub(super) name: String,
    /// Whether it is called on what stands before the dot.
    pub(super) member: bool,
    pub(super) overloads: Vec<&'static Overload>,
}

impl Checked {
    /// The type of a part of the expression.
    pub(super) fn type_of(&self, node: &IdedExpr) -> &Type {
        self.types.get(&node.id).unwrap_or(&Type::Error)
    }
}

/// Checks an expression over some variables. The error is all that is wrong with it, as cel-go prints it.
pub(crate) fn check(source: &str, variables: &[(&str, Type)]) -> Result<Checked, String> {
    let (mut root, places) = parse(source)?;
    let mut checker = Checker {
        rooted: strip_roots(&mut root),
        source,
        places: &places,
        known: Known::default(),
        scopes: vec![
            variables
                .iter()
                .map(|(name, of)| ((*name).to_owned(), of.clone()))
                .collect(),
        ],
        used: Vec::new(),
        types: BTreeMap::new(),
        calls: BTreeMap::new(),
        wrong: Vec::new(),
    };
    let of = checker.expression(&root, 0);
    if checker.wrong.is_empty() {
        checker.literals(&root, false, 0);
    }
    if checker.wrong.is_empty() {
        let known = checker.known;
        let types = checker.types.iter();
        return Ok(Checked {
            of: known.filled(&of, true),
            variables: checker.used,
            types: types
                .map(|(id, of)| (*id, known.filled(of, true)))
                .collect(),
            calls: checker.calls,
            root,
        });
    }
    checker.wrong.sort();
    checker.wrong.dedup();
    let all = checker.wrong.iter();
    let all = all.map(|(place, why)| super::in_source(source, *place, why));
    Err(all.collect::<Vec<_>>().join("\n"))
}

/// Takes the dot from names that begin with one, which looks for them from the root on, and that is where everything
/// stands here. Gives the nodes that had one: a name that is not there is told with it.
fn strip_roots(root: &mut IdedExpr) -> BTreeSet<u64> {
    let mut rooted = BTreeSet::new();
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        let name = match &mut node.expr {
            Expr::Ident(name) => Some(name),
            Expr::Call(call) => Some(&mut call.func_name),
            _ => None,
        };
        if let Some(name) = name
            && name.starts_with('.')
        {
            name.remove(0);
            rooted.insert(node.id);
        }
        open.extend(super::parts_mut(node));
    }
    rooted
}

struct Checker<'e> {
    /// Names that were written with a dot before them.
    rooted: BTreeSet<u64>,
    source: &'e str,
    places: &'e SourceInfo,
    known: Known,
    scopes: Vec<BTreeMap<String, Type>>,
    used: Vec<String>,
    /// The types of nodes, as far as they were known when they were looked at.
    types: BTreeMap<u64, Type>,
    calls: BTreeMap<u64, Callee>,
    wrong: Vec<((isize, isize), String)>,
}

impl Checker<'_> {
    /// Line and column of a node, from one.
    fn place(&self, id: u64) -> (isize, isize) {
        let offset = self.places.offset_for(id).map_or(0, |(start, _)| start);
        let mut place = (1, 1);
        let before = usize::try_from(offset).unwrap_or(usize::MAX);
        for sign in self.source.chars().take(before) {
            if sign == '\n' {
                place = (place.0 + 1, 1);
            } else {
                place.1 += 1;
            }
        }
        place
    }

    fn wrong(&mut self, id: u64, why: String) -> Type {
        let place = self.place(id);
        self.wrong.push((place, why));
        Type::Error
    }

    fn undeclared(&mut self, id: u64, name: &str) -> Type {
        let dot = if self.rooted.contains(&id) { "." } else { "" };
        self.wrong(
            id,
            format!("undeclared reference to '{dot}{name}' (in container '')"),
        )
    }

    fn mismatch(&mut self, id: u64, wanted: &Type, found: &Type) -> Type {
        let wanted = self.known.filled(wanted, false);
        let found = self.known.filled(found, false);
        self.wrong(id, format!("expected type '{wanted}' but found '{found}'"))
    }

    fn variable(&mut self, name: &str) -> Option<Type> {
        let found = self
            .scopes
            .iter()
            .enumerate()
            .rev()
            .find_map(|(depth, scope)| Some((depth, scope.get(name)?.clone())));
        if let Some((depth, found)) = found {
            if depth == 0 && !self.used.iter().any(|used| used == name) {
                self.used.push(name.to_owned());
            }
            return Some(found);
        }
        named(name)
    }

    fn expression(&mut self, node: &IdedExpr, depth: usize) -> Type {
        let found = self.type_of(node, depth);
        self.types.insert(node.id, found.clone());
        found
    }

    fn type_of(&mut self, node: &IdedExpr, depth: usize) -> Type {
        if depth > MAX_NESTING {
            return self.wrong(node.id, "expression nested too deeply".to_owned());
        }
        match &node.expr {
            Expr::Unspecified => Type::Error,
            Expr::Literal(literal) => Type::Plain(match literal {
                LiteralValue::Boolean(_) => "bool",
                LiteralValue::Bytes(_) => "bytes",
                LiteralValue::Double(_) => "double",
                LiteralValue::Int(_) => "int",
                LiteralValue::Null => "null",
                LiteralValue::String(_) => "string",
                LiteralValue::UInt(_) => "uint",
            }),
            Expr::Ident(name) => match self.variable(name) {
                Some(found) => found,
                None => self.undeclared(node.id, name),
            },
            Expr::Select(select) => {
                if let Some(name) = qualified(node)
                    && let Some(found) = self.variable(&name)
                {
                    return found;
                }
                let operand = self.expression(&select.operand, depth + 1);
                let found = self.field(node.id, &operand, &select.field, false);
                if select.test {
                    Type::Plain("bool")
                } else {
                    self.known.filled(&found, false)
                }
            }
            Expr::Call(call) => self.call(node.id, call, depth),
            Expr::List(list) => {
                let mut joined = None;
                for (index, item) in list.elements.iter().enumerate() {
                    let mut of = self.expression(item, depth + 1);
                    if list.optional_indices.contains(&index) {
                        of = self.in_optional(item.id, &of);
                    }
                    joined = Some(self.joined(joined, of));
                }
                Type::list(joined.unwrap_or_else(|| self.known.variable()))
            }
            Expr::Map(map) => self.entries(&map.entries, depth),
            Expr::Struct(object) => self.undeclared(node.id, &object.type_name),
            Expr::Comprehension(all) => self.comprehension(all, depth),
        }
    }

    /// The type of a field of a value.
    fn field(&mut self, id: u64, operand: &Type, field: &str, optional: bool) -> Type {
        let operand = self.known.filled(operand, false);
        let target = operand.in_optional().unwrap_or(&operand);
        let found = match target {
            Type::Of("map", parts) => parts.get(1).cloned().unwrap_or(Type::Dyn),
            Type::Object(object) => match object.fields.get(field) {
                Some(found) => found.clone(),
                None => self.wrong(id, format!("undefined field '{field}'")),
            },
            Type::Var(_) => {
                self.known.fits(&Type::Dyn, target);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            other => {
                let why = format!("type '{other}' does not support field selection");
                self.wrong(id, why)
            }
        };
        if optional || operand.in_optional().is_some() {
            Type::optional(found)
        } else {
            found
        }
    }

    fn in_optional(&mut self, id: u64, of: &Type) -> Type {
        let of = self.known.filled(of, false);
        match of.in_optional() {
            Some(inner) => inner.clone(),
            None if of.is_dyn() => of,
            None => self.mismatch(id, &Type::optional(of.clone()), &of),
        }
    }

    /// The type of items of one list.
    fn joined(&mut self, before: Option<Type>, current: Type) -> Type {
        let Some(before) = before else {
            return current;
        };
        if self.known.fits(&before, &current) {
            more_general(&before, &current)
        } else {
            Type::Dyn
        }
    }

    fn entries(&mut self, entries: &[IdedEntryExpr], depth: usize) -> Type {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                continue;
            };
            let key = self.expression(&entry.key, depth + 1);
            keys = Some(self.joined(keys, key));
            let mut value = self.expression(&entry.value, depth + 1);
            if entry.optional {
                value = self.in_optional(entry.value.id, &value);
            }
            values = Some(self.joined(values, value));
        }
        match (keys, values) {
            (Some(key), Some(value)) => Type::map(key, value),
            _ => Type::map(self.known.variable(), self.known.variable()),
        }
    }

    fn call(&mut self, id: u64, call: &CallExpr, depth: usize) -> Type {
        if call.func_name == "_?._"
            && let [operand, field] = call.args.as_slice()
        {
            let of = self.expression(operand, depth + 1);
            let Expr::Literal(LiteralValue::String(name)) = &field.expr else {
                return self.wrong(id, "unsupported optional field selection".to_owned());
            };
            let found = self.field(id, &of, name.inner(), true);
            self.expression(field, depth + 1);
            self.calls.insert(
                id,
                Callee {
                    name: call.func_name.clone(),
                    member: false,
                    overloads: Vec::new(),
                },
            );
            return self.known.filled(&found, false);
        }
        let mut arguments: Vec<Type> = call
            .args
            .iter()
            .map(|argument| self.expression(argument, depth + 1))
            .collect();
        let Some(target) = &call.target else {
            if matches!(call.func_name.as_str(), "_&&_" | "_||_") {
                for (argument, found) in call.args.iter().zip(&arguments) {
                    self.must_fit(argument.id, &Type::Plain("bool"), found);
                }
                self.calls.insert(
                    id,
                    Callee {
                        name: call.func_name.clone(),
                        member: false,
                        overloads: overloads(&call.func_name)
                            .unwrap_or_default()
                            .iter()
                            .collect(),
                    },
                );
                return Type::Plain("bool");
            }
            if overloads(&call.func_name).is_none() {
                return self.undeclared(id, &call.func_name);
            }
            return self.resolved(id, &call.func_name, &arguments, false);
        };
        if let Some(prefix) = qualified(target) {
            let name = format!("{prefix}.{}", call.func_name);
            if overloads(&name).is_some() {
                return self.resolved(id, &name, &arguments, false);
            }
        }
        let of = self.expression(target, depth + 1);
        arguments.insert(0, of);
        if overloads(&call.func_name).is_none() {
            return self.undeclared(id, &call.func_name);
        }
        self.resolved(id, &call.func_name, &arguments, true)
    }

    /// The type of a call of a function that there is.
    fn resolved(&mut self, id: u64, name: &str, arguments: &[Type], member: bool) -> Type {
        let mut result: Option<Type> = None;
        let mut ways = Vec::new();
        for overload in overloads(name).unwrap_or_default() {
            if overload.member != member {
                continue;
            }
            let fresh = [self.known.variable(), self.known.variable()];
            let wanted: Vec<Type> = overload
                .arguments
                .iter()
                .map(|of| instance(of, &fresh))
                .collect();
            if !self.known.fit_all(arguments, &wanted) {
                continue;
            }
            ways.push(overload);
            let found = self
                .known
                .filled(&instance(&overload.result, &fresh), false);
            result = Some(match result {
                None => found,
                Some(before) if before.is_dyn() || before == found => before,
                Some(_) => Type::Dyn,
            });
        }
        if let Some(result) = result {
            let callee = Callee {
                name: name.to_owned(),
                member,
                overloads: ways,
            };
            self.calls.insert(id, callee);
            return result;
        }
        let shown: Vec<String> = arguments
            .iter()
            .map(|of| self.known.filled(of, true).to_string())
            .collect();
        let shown = match shown.split_first() {
            Some((target, others)) if member => format!("{target}.({})", others.join(", ")),
            _ => format!("({})", shown.join(", ")),
        };
        let why = format!("found no matching overload for '{name}' applied to '{shown}'");
        self.wrong(id, why)
    }

    fn comprehension(&mut self, all: &ComprehensionExpr, depth: usize) -> Type {
        let range = self.expression(&all.iter_range, depth + 1);
        let accumulated = self.expression(&all.accu_init, depth + 1);
        let (item, both) = self.item(all.iter_range.id, &range);
        let items = match &all.iter_var2 {
            None => BTreeMap::from([(all.iter_var.clone(), item)]),
            Some(second) => BTreeMap::from([
                (all.iter_var.clone(), both[0].clone()),
                (second.clone(), both[1].clone()),
            ]),
        };
        self.scopes.push(BTreeMap::from([(
            all.accu_var.clone(),
            accumulated.clone(),
        )]));
        self.scopes.push(items);
        let condition = self.expression(&all.loop_cond, depth + 1);
        self.must_fit(all.loop_cond.id, &Type::Plain("bool"), &condition);
        let step = self.expression(&all.loop_step, depth + 1);
        self.must_fit(all.loop_step.id, &accumulated, &step);
        self.scopes.pop();
        let result = self.expression(&all.result, depth + 1);
        self.scopes.pop();
        self.known.filled(&result, false)
    }

    fn must_fit(&mut self, id: u64, wanted: &Type, found: &Type) {
        if !self.known.fits(wanted, found) {
            self.mismatch(id, wanted, found);
        }
    }

    /// What one goes through in a list or a map: first with one variable, then with two.
    fn item(&mut self, id: u64, range: &Type) -> (Type, [Type; 2]) {
        let range = self.known.filled(range, false);
        match &range {
            Type::Of("list", parts) => {
                let item = parts.first().cloned().unwrap_or(Type::Dyn);
                (item.clone(), [Type::Plain("int"), item])
            }
            Type::Of("map", parts) => {
                let part = |index: usize| parts.get(index).cloned().unwrap_or(Type::Dyn);
                (part(0), [part(0), part(1)])
            }
            Type::Dyn | Type::Error | Type::Var(_) => {
                self.known.fits(&Type::Dyn, &range);
                (Type::Dyn, [Type::Dyn, Type::Dyn])
            }
            other => {
                let why = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.wrong(id, why);
                (Type::Error, [Type::Error, Type::Error])
            }
        }
    }

    /// What is looked at before anything runs: patterns, durations and times, and whether what stands in a list is of
    /// one type, but for those that are formatted.
    fn literals(&mut self, node: &IdedExpr, formatted: bool, depth: usize) {
        if depth > MAX_NESTING {
            return;
        }
        let formatted =
            formatted || matches!(&node.expr, Expr::Call(call) if call.func_name == "format");
        match &node.expr {
            Expr::List(list) if !formatted => {
                let items = list.elements.iter().enumerate();
                let items =
                    items.map(|(index, item)| (item, list.optional_indices.contains(&index)));
                self.of_one_type(items);
            }
            Expr::Map(map) if !formatted => {
                let entries = || map.entries.iter().filter_map(map_entry);
                self.of_one_type(entries().map(|entry| (&entry.key, false)));
                self.of_one_type(entries().map(|entry| (&entry.value, entry.optional)));
            }
            _ => {}
        }
        if let Expr::Call(call) = &node.expr
            && let Some(argument) = call.args.first()
            && let Expr::Literal(literal) = &argument.expr
        {
            let name = call.func_name.as_str();
            let good = match (name, literal) {
                ("matches", LiteralValue::String(text)) => pattern::offence(text.inner()).is_none(),
                ("duration" | "timestamp", literal) if call.target.is_none() => {
                    converted(name, constant(literal)).is_some()
                }
                _ => true,
            };
            if !good {
                self.wrong(argument.id, format!("invalid {name} argument"));
            }
        }
        if let Expr::Call(call) = &node.expr
            && call.func_name == "format"
            && let (Some(target), [arguments]) = (&call.target, call.args.as_slice())
            && let Expr::Literal(LiteralValue::String(template)) = &target.expr
            && let Expr::List(arguments) = &arguments.expr
        {
            let type_of = |node: &IdedExpr| {
                let found = self.types.get(&node.id).unwrap_or(&Type::Dyn);
                self.known.filled(found, true)
            };
            if let Err(offence) = format::check(template.inner(), &arguments.elements, &type_of) {
                self.wrong(offence.node.unwrap_or(node.id), offence.why);
            }
        }
        for part in parts(node) {
            self.literals(part, formatted, depth + 1);
        }
    }

    fn of_one_type<'n>(&mut self, items: impl Iterator<Item = (&'n IdedExpr, bool)>) {
        let mut first: Option<Type> = None;
        for (item, optional) in items {
            let found = self.types.get(&item.id).unwrap_or(&Type::Dyn);
            let mut found = self.known.filled(found, true);
            if optional && let Some(inner) = found.in_optional() {
                found = inner.clone();
            }
            match &first {
                None => first = Some(found),
                Some(first) if *first == found => {}
                Some(first) => {
                    let why = format!("expected type '{first}' but found '{found}'");
                    self.wrong(item.id, why);
                    return;
                }
            }
        }
    }
}

/// A declared type with variables of its own.
fn instance(of: &Type, fresh: &[Type; 2]) -> Type {
    match of {
        Type::Var(number) => fresh.get(*number).cloned().unwrap_or(Type::Dyn),
        Type::Of(name, parts) => {
            let parts = parts.iter().map(|part| instance(part, fresh));
            Type::Of(name, parts.collect())
        }
        other => other.clone(),
    }
}

/// `a.b.c`, when an expression is nothing else.
pub(super) fn qualified(node: &IdedExpr) -> Option<String> {
    let mut names = Vec::new();
    let mut node = node;
    loop {
        match &node.expr {
            Expr::Ident(name) => {
                names.push(name.as_str());
                names.reverse();
                return Some(names.join("."));
            }
            Expr::Select(select) if !select.test => {
                names.push(&select.field);
                node = &select.operand;
            }
            _ => return None,
        }
    }
}
