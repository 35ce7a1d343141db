//! What an expression may cost at most.

use std::collections::BTreeMap;

use cel_syntax::common::ast::{ComprehensionExpr, Expr, IdedExpr, LiteralValue};

use super::super::check::{Callee, Checked};
use super::super::fit::Type;
use super::super::library::Overload;
use super::super::map_entry;
use super::super::parse::ACCUMULATOR;
use super::calls::{ADDRESS, Call, Operand, Path, compared, in_network, of_list, of_text};
use super::declared::Declared;
use super::price::{self, Price};
use super::range::Range;
use super::{CHARACTER, NEW_LIST, NEW_MAP, STEP};

/// The longest name of a format.
const FORMAT_NAME: u64 = 64;

/// What an expression over values of a schema may cost.
pub(crate) fn estimate(checked: &Checked, declared: &Declared) -> Range {
    let mut estimator = Estimator {
        checked,
        declared,
        paths: BTreeMap::new(),
        sizes: BTreeMap::new(),
        entries: BTreeMap::new(),
        locals: BTreeMap::new(),
    };
    estimator.cost(&checked.root)
}

/// How large what is in a list or a map may be.
#[derive(Clone, Copy)]
struct Entries {
    in_list: bool,
    keys: Range,
    values: Range,
}

impl Entries {
    fn or(self, other: Self) -> Self {
        Self {
            in_list: self.in_list,
            keys: self.keys.or(other.keys),
            values: self.values.or(other.values),
        }
    }
}

#[derive(Clone, Default)]
struct Local {
    path: Path,
    size: Option<Range>,
    entries: Option<Entries>,
}

struct Estimator<'e> {
    checked: &'e Checked,
    declared: &'e Declared,
    paths: BTreeMap<u64, Path>,
    sizes: BTreeMap<u64, Range>,
    entries: BTreeMap<u64, Entries>,
    locals: BTreeMap<&'e str, Vec<Local>>,
}

impl<'e> Estimator<'e> {
    fn cost(&mut self, node: &'e IdedExpr) -> Range {
        match &node.expr {
            Expr::Literal(_) | Expr::Unspecified | Expr::Struct(_) => Range::default(),
            Expr::Ident(name) => {
                let path = match self.local(name) {
                    Some(local) => local.path.clone(),
                    None => vec![name.clone()],
                };
                self.paths.insert(node.id, path);
                Range::exactly(STEP)
            }
            Expr::Select(select) => {
                let mut sum = self.cost(&select.operand);
                if select.test {
                    return sum;
                }
                let of = self.checked.type_of(&select.operand);
                if matches!(of, Type::Object(_) | Type::Of("map", _) | Type::Var(_)) {
                    sum = sum.plus(Range::exactly(STEP));
                }
                let mut path = self.path(&select.operand);
                path.push(select.field.clone());
                self.paths.insert(node.id, path);
                sum
            }
            Expr::Call(_) => self.call(node),
            Expr::List(list) => {
                let mut sum = Range::exactly(NEW_LIST);
                let mut values = if list.elements.is_empty() {
                    Range::default()
                } else {
                    Range::EMPTY
                };
                for item in &list.elements {
                    sum = sum.plus(self.cost(item));
                    values = values.or(self.size_or_unknown(item));
                }
                let entries = Entries {
                    in_list: true,
                    keys: Range::exactly(1),
                    values,
                };
                self.entries.insert(node.id, entries);
                sum
            }
            Expr::Map(map) => {
                let mut sum = Range::exactly(NEW_MAP);
                let start = if map.entries.is_empty() {
                    Range::default()
                } else {
                    Range::EMPTY
                };
                let (mut keys, mut values) = (start, start);
                for entry in map.entries.iter().filter_map(map_entry) {
                    sum = sum.plus(self.cost(&entry.key));
                    sum = sum.plus(self.cost(&entry.value));
                    keys = keys.or(self.size_or_unknown(&entry.key));
                    values = values.or(self.size_or_unknown(&entry.value));
                }
                let entries = Entries {
                    in_list: false,
                    keys,
                    values,
                };
                self.entries.insert(node.id, entries);
                sum
            }
            Expr::Comprehension(all) => self.comprehension(node, all),
        }
    }

    fn comprehension(&mut self, node: &'e IdedExpr, all: &'e ComprehensionExpr) -> Range {
        let mut sum = self.cost(&all.iter_range);
        sum = sum.plus(self.cost(&all.accu_init));
        let local = Local {
            path: self.path(&all.accu_init),
            size: self.size(&all.accu_init),
            entries: self.entries(&all.accu_init),
        };
        self.push(&all.accu_var, local);
        let bind = matches!(&all.iter_range.expr, Expr::List(list) if list.elements.is_empty())
            && matches!(&all.loop_cond.expr, Expr::Literal(LiteralValue::Boolean(flag)) if !flag.inner());
        if bind {
            sum = sum.plus(self.cost(&all.result));
            self.pop(&all.accu_var);
            let (size, entries) = (self.size(&all.result), self.entries(&all.result));
            self.set(node, size, entries);
            return sum;
        }
        let range = self.entries(&all.iter_range);
        let in_list = match range {
            Some(range) => range.in_list,
            None => matches!(self.checked.type_of(&all.iter_range), Type::Of("list", _)),
        };
        let keys = (
            if in_list { "@indices" } else { "@keys" },
            range.map(|range| range.keys),
        );
        let values = (
            if in_list { "@items" } else { "@values" },
            range.map(|range| range.values),
        );
        let path = self.path(&all.iter_range);
        let mut variable = |name: &'e str, (step, size): (&str, Option<Range>)| {
            let mut path = path.clone();
            path.push(step.to_owned());
            let entries = None;
            self.push(
                name,
                Local {
                    path,
                    size,
                    entries,
                },
            );
        };
        match &all.iter_var2 {
            Some(second) => {
                variable(&all.iter_var, keys);
                variable(second, values);
            }
            None if in_list => variable(&all.iter_var, values),
            None => variable(&all.iter_var, keys),
        }
        let condition = self.cost(&all.loop_cond);
        let step = self.cost(&all.loop_step);
        self.pop(&all.iter_var);
        if let Some(second) = &all.iter_var2 {
            self.pop(second);
        }
        sum = sum.plus(self.cost(&all.result));
        self.pop(&all.accu_var);
        let count = self.size_or_unknown(&all.iter_range);
        sum = sum.plus(count.times(step.plus(condition)));
        match &all.accu_init.expr {
            Expr::Literal(_) => {
                let size = self.size(&all.accu_init);
                self.set(node, size, None);
            }
            Expr::List(_) | Expr::Map(_) => {
                let entries = self.entries(&all.loop_step);
                self.set(node, Some(count), entries);
            }
            _ => {}
        }
        sum
    }

    fn call(&mut self, node: &'e IdedExpr) -> Range {
        let (Expr::Call(call), Some(callee)) = (&node.expr, self.checked.calls.get(&node.id))
        else {
            return Range::default();
        };
        if let ("dyn", [argument]) = (callee.name.as_str(), call.args.as_slice()) {
            let cost = self.cost(argument);
            let (size, entries) = (self.size(argument), self.entries(argument));
            self.set(node, size, entries);
            return cost.plus(Range::exactly(1));
        }
        let mut costs = Vec::with_capacity(call.args.len());
        let mut arguments = Vec::with_capacity(call.args.len());
        for argument in &call.args {
            costs.push(self.cost(argument));
            arguments.push(self.operand(argument));
        }
        let mut sum = Range::default();
        let target = call.target.as_deref().filter(|_| callee.member);
        let target = target.map(|target| {
            sum = self.cost(target);
            self.operand(target)
        });
        let operands = Call {
            node,
            target,
            arguments,
            costs: &costs,
        };
        let (cost, size) = self.ways(&operands, callee);
        self.set(node, size, None);
        sum.plus(cost)
    }

    /// What encloses all ways to call a function, and how large what comes out may be.
    fn ways(&mut self, call: &Call<'_, 'e>, callee: &Callee) -> (Range, Option<Range>) {
        let mut all = Range::EMPTY;
        let mut size: Option<Range> = None;
        let mut ways: Vec<Option<&Overload>> = callee.overloads.iter().copied().map(Some).collect();
        if ways.is_empty() {
            ways.push(None);
        }
        for overload in ways {
            let (cost, result) = self.way(call, &callee.name, overload);
            all = all.or(cost);
            size = match (size, result) {
                (Some(size), Some(result)) => Some(size.or(result)),
                (size, result) => size.or(result),
            };
            let step = match (
                callee.name.as_str(),
                overload.map(|it| it.arguments.as_slice()),
            ) {
                ("_[_]", Some([Type::Of("list", _), _])) => Some("@items"),
                ("_[_]", Some([Type::Of("map", _), _])) => Some("@values"),
                _ => None,
            };
            if let (Some(step), Some(of)) = (step, call.arguments.first()) {
                size = self.entries(of.node).map(|entries| entries.values);
                let mut path = self.path(of.node);
                path.push(step.to_owned());
                self.paths.insert(call.node.id, path);
            }
            if size.is_none() {
                size = self.size(call.node);
            }
        }
        (all, size)
    }

    fn way(
        &mut self,
        call: &Call<'_, 'e>,
        name: &str,
        overload: Option<&Overload>,
    ) -> (Range, Option<Range>) {
        let arguments = call
            .costs
            .iter()
            .fold(Range::default(), |sum, cost| sum.plus(*cost));
        let one = Range::exactly(1);
        let price = price::of(name, overload);
        let (cost, result) = match price {
            Price::Step => (one, None),
            Price::And => {
                let least = call.costs.first().map_or(0, |cost| cost.min);
                return (Range::new(least, arguments.max), None);
            }
            Price::Choice => {
                let cost = |index: usize| call.costs.get(index).copied().unwrap_or_default();
                if let [_, one, other] = call.arguments.as_slice() {
                    self.either(call.node, one, other);
                }
                let size = call.argument(1).or(call.argument(2));
                return (cost(0).plus(cost(1).or(cost(2))), Some(size));
            }
            Price::JoinTexts | Price::JoinLists => {
                let result = call.size(0).plus(call.argument(1));
                if let [one, other] = call.arguments.as_slice() {
                    self.either(call.node, one, other);
                }
                if price == Price::JoinLists {
                    (one, Some(result))
                } else {
                    (result.scaled(CHARACTER), Some(result))
                }
            }
            Price::Items => (self.items(call), None),
            Price::Join => {
                let size = self.joined(call);
                (size.scaled(CHARACTER), Some(size))
            }
            Price::InList => (call.argument(1).scaled(1.0), None),
            Price::Compare => (compared(call), None),
            Price::Equal => (self.equal(call), None),
            Price::HasAddress { parses } => (in_network(call, parses), None),
            Price::HasNetwork { parses } => {
                // The address is masked first.
                let masked = ADDRESS.scaled(CHARACTER).plus(one);
                (in_network(call, parses).plus(masked), None)
            }
            text => of_text(call, text).unwrap_or_else(|| of_list(call, text, overload)),
        };
        (cost.plus(arguments), result)
    }

    /// What is in one list or map or in another may be in what comes out.
    fn either(&mut self, node: &IdedExpr, one: &Operand<'_>, other: &Operand<'_>) {
        let both = self.entries(one.node).zip(self.entries(other.node));
        self.set(node, None, both.map(|(one, other)| one.or(other)));
    }

    /// How large the text may be that the items of a list are joined to.
    fn joined(&self, call: &Call<'_, 'e>) -> Range {
        let count = call.size(0);
        let item = call.target.as_ref().and_then(|list| self.item(list));
        let size = item.map_or_else(Range::default, |(_, item)| count.times(item));
        let Some(by) = call.arguments.first() else {
            return size;
        };
        let between = Range::new(count.min.saturating_sub(1), count.max.saturating_sub(1));
        size.plus(by.size().times(between))
    }

    /// To look at each item of a list, or to go through a text.
    fn items(&self, call: &Call<'_, 'e>) -> Range {
        let size = call.size(0);
        match call.target.as_ref().and_then(|target| self.item(target)) {
            Some((of, item)) => {
                let mut each = Range::exactly(1);
                if matches!(of, Type::Plain("string" | "bytes")) {
                    each = each.plus(item.scaled(CHARACTER));
                }
                size.times(each)
            }
            None => size.scaled(CHARACTER),
        }
    }

    /// What is in a list: its type, and how large it may be.
    fn item(&self, list: &Operand<'_>) -> Option<(&'e Type, Range)> {
        let Type::Of(_, parts) = self.checked.type_of(list.node) else {
            return None;
        };
        let mut path = list.path.clone();
        let mut size = None;
        if !path.is_empty() {
            path.push("@items".to_owned());
            size = self.declared.at_path(&path);
        }
        let size = size.map_or(Range::UNKNOWN, |max| Range::new(0, max));
        Some((parts.first()?, size))
    }

    fn equal(&self, call: &Call<'_, 'e>) -> Range {
        let [one, other] = call.arguments.as_slice() else {
            return Range::exactly(1);
        };
        let of = self.checked.type_of(one.node);
        if of == self.checked.type_of(other.node) {
            match of {
                Type::Plain(
                    "net.IP" | "net.CIDR" | "kubernetes.Quantity" | "kubernetes.Semver",
                ) => return Range::exactly(1),
                Type::Plain("kubernetes.NamedFormat") => {
                    return Range::new(1, FORMAT_NAME).scaled(CHARACTER);
                }
                Type::Plain("kubernetes.URL") => {
                    let most = other.size.map_or(1, |size| size.max);
                    return Range::new(1, most).scaled(CHARACTER);
                }
                _ => {}
            }
        }
        compared(call)
    }

    fn operand(&mut self, node: &'e IdedExpr) -> Operand<'e> {
        let mut path = self.path(node);
        if path.first().is_some_and(|first| first == ACCUMULATOR) {
            path.clear();
        }
        Operand {
            node,
            path,
            size: self.size(node),
        }
    }

    fn path(&self, node: &IdedExpr) -> Path {
        if let Expr::Ident(name) = &node.expr
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths.get(&node.id).cloned().unwrap_or_default()
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.get(name).and_then(|all| all.last())
    }

    fn push(&mut self, name: &'e str, local: Local) {
        self.locals.entry(name).or_default().push(local);
    }

    fn pop(&mut self, name: &str) {
        if let Some(all) = self.locals.get_mut(name) {
            all.pop();
        }
    }

    fn set(&mut self, node: &IdedExpr, size: Option<Range>, entries: Option<Entries>) {
        if let Some(size) = size {
            self.sizes.insert(node.id, size);
        }
        if let Some(entries) = entries {
            self.entries.insert(node.id, entries);
        }
    }

    fn size_or_unknown(&mut self, node: &IdedExpr) -> Range {
        self.size(node).unwrap_or(Range::UNKNOWN)
    }

    /// How large the value of a node may be, where that is known.
    fn size(&mut self, node: &IdedExpr) -> Option<Range> {
        if let Some(size) = self.sizes.get(&node.id) {
            return Some(*size);
        }
        let written = match &node.expr {
            Expr::Literal(literal) => Some(match literal {
                LiteralValue::String(text) => text.inner().chars().count(),
                LiteralValue::Bytes(bytes) => bytes.inner().len(),
                _ => 1,
            }),
            Expr::List(list) => Some(list.elements.len()),
            Expr::Map(map) => Some(map.entries.len()),
            _ => None,
        };
        if let Some(count) = written {
            return Some(Range::exactly(count as u64));
        }
        let path = self.path(node);
        if !path.is_empty()
            && let Some(max) = self.declared.at_path(&path)
        {
            let size = Range::new(0, max);
            self.sizes.insert(node.id, size);
            return Some(size);
        }
        if is_scalar(self.checked.type_of(node)) {
            return Some(Range::exactly(1));
        }
        match &node.expr {
            Expr::Ident(name) => self.local(name)?.size,
            _ => None,
        }
    }

    fn entries(&self, node: &IdedExpr) -> Option<Entries> {
        if let Some(entries) = self.entries.get(&node.id) {
            return Some(*entries);
        }
        match &node.expr {
            Expr::Ident(name) => self.local(name)?.entries,
            _ => None,
        }
    }
}

/// Whether all values of a type are of one size.
fn is_scalar(of: &Type) -> bool {
    match of {
        Type::Plain(name) => matches!(
            *name,
            "bool" | "double" | "duration" | "int" | "timestamp" | "uint"
        ),
        other => other.in_optional().is_some_and(is_scalar),
    }
}
