//! Expressions as cel-go's parser leaves them: macros expanded, those of the optional types, of the list library and
//! of comprehensions over two variables too.
//!
//! The expansions are those of cel-go 0.26 (`parser/macro.go`, `cel/library.go`, `ext/lists.go`,
//! `ext/comprehensions.go`): what an expression costs depends on them. All are here, since the parser's own ones have
//! `existsOne` with one variable, which the API server doesn't know. Names in them that no expression can write start with `@` or `#`.

use std::sync::LazyLock;

use cel_syntax::Env;
use cel_syntax::common::ast::{
    CallExpr, ComprehensionExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, SelectExpr,
    SourceInfo,
};
use cel_syntax::parser::{Macro, MacroExprHelper, ParseError};

use super::parts;

/// An expression has at most as many bytes as a request to the API server.
const MAX_SOURCE: usize = 3 * 1024 * 1024;

/// What `optMap` is called on stands twice in its expansion, so this many parts of an expression can be copied.
const MAX_COPIED: usize = 2000;

/// What macros build up their results in.
pub(super) const ACCUMULATOR: &str = "@result";
/// The variable of a comprehension over nothing, as which `cel.bind` and its like are written.
const UNUSED: &str = "#unused";
const SORTED: &str = "@__sortBy_input__";
pub(super) const SORT_BY_KEYS: &str = "@sortByAssociatedKeys";
pub(super) const INSERT: &str = "cel.@mapInsert";

/// Parses an expression; the error is all that is wrong with it, as cel-go prints it.
pub(super) fn parse(source: &str) -> Result<(IdedExpr, SourceInfo), String> {
    if source.len() > MAX_SOURCE {
        return Err("expression too long".to_owned());
    }
    let parsed = MACROS.parser().parse_with_source_info(source);
    parsed.map_err(|errors| {
        let all: Vec<String> = errors
            .errors
            .iter()
            .map(|error| super::in_source(source, error.pos, &error.msg))
            .collect();
        all.join("\n")
    })
}

static MACROS: LazyLock<Env> = LazyLock::new(|| {
    let mut macros = Env::default();
    for added in all() {
        // Only a macro that is there already is refused.
        let _ = macros.add_macro(added);
    }
    macros
});

const NO_IDENTIFIER: &str = "argument is not an identifier";

type Expanded = Result<Option<IdedExpr>, ParseError>;

/// Macros that go through lists and maps: how many variables they have, and how many expressions after them.
const LOOPS: &[(&str, usize, usize)] = &[
    ("all", 1, 1),
    ("exists", 1, 1),
    ("exists_one", 1, 1),
    ("map", 1, 1),
    ("map", 1, 2),
    ("filter", 1, 1),
    ("all", 2, 1),
    ("exists", 2, 1),
    ("existsOne", 2, 1),
    ("exists_one", 2, 1),
    ("transformList", 2, 1),
    ("transformList", 2, 2),
    ("transformMap", 2, 1),
    ("transformMap", 2, 2),
    ("transformMapEntry", 2, 1),
    ("transformMapEntry", 2, 2),
];

fn all() -> Vec<Macro> {
    let mut all = vec![
        Macro::global("has", 1, has),
        Macro::receiver("optMap", 2, |new, target, arguments| {
            optional(new, target, arguments, "optMap")
        }),
        Macro::receiver("optFlatMap", 2, |new, target, arguments| {
            optional(new, target, arguments, "optFlatMap")
        }),
        Macro::receiver("sortBy", 2, sort_by),
    ];
    for (name, variables, bodies) in LOOPS {
        let expander = |new: &mut MacroExprHelper<'_>,
                        target: &mut Option<IdedExpr>,
                        arguments: &mut Vec<IdedExpr>| {
            looped(new, target, arguments, (name, *variables))
        };
        all.push(Macro::receiver(*name, variables + bodies, expander));
    }
    all
}

fn has(
    helper: &mut MacroExprHelper<'_>,
    _: &mut Option<IdedExpr>,
    arguments: &mut Vec<IdedExpr>,
) -> Expanded {
    let Some(argument) = arguments.pop() else {
        return Ok(None);
    };
    match argument.expr {
        Expr::Select(mut select) => {
            select.test = true;
            Ok(Some(helper.next_expr(Expr::Select(select))))
        }
        _ => Err(helper.new_error(argument.id, "invalid argument to has() macro")),
    }
}

/// Nodes with places in the source.
struct New<'h, 'p>(&'h mut MacroExprHelper<'p>);

impl New<'_, '_> {
    fn node(&mut self, expr: Expr) -> IdedExpr {
        self.0.next_expr(expr)
    }

    fn ident(&mut self, name: &str) -> IdedExpr {
        self.node(Expr::Ident(name.to_owned()))
    }

    fn result(&mut self) -> IdedExpr {
        self.ident(ACCUMULATOR)
    }

    fn flag(&mut self, flag: bool) -> IdedExpr {
        self.node(Expr::Literal(LiteralValue::Boolean(flag.into())))
    }

    fn int(&mut self, number: i64) -> IdedExpr {
        self.node(Expr::Literal(LiteralValue::Int(number.into())))
    }

    fn list(&mut self, items: Vec<IdedExpr>) -> IdedExpr {
        self.node(Expr::List(ListExpr::new(items)))
    }

    fn call(&mut self, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
        self.node(Expr::Call(CallExpr {
            func_name: name.to_owned(),
            target: None,
            args,
        }))
    }

    fn member(&mut self, target: IdedExpr, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
        self.node(Expr::Call(CallExpr {
            func_name: name.to_owned(),
            target: Some(Box::new(target)),
            args,
        }))
    }

    /// An expression with a variable in it.
    fn bound(&mut self, variable: &str, value: IdedExpr, body: IdedExpr) -> IdedExpr {
        let all = ComprehensionExpr {
            iter_range: self.list(Vec::new()),
            iter_var: UNUSED.to_owned(),
            iter_var2: None,
            accu_var: variable.to_owned(),
            accu_init: value,
            loop_cond: self.flag(false),
            loop_step: self.ident(variable),
            result: body,
        };
        self.node(Expr::Comprehension(Box::new(all)))
    }

    /// The same expression once more, at the place of the macro.
    fn copy(&mut self, of: &IdedExpr) -> IdedExpr {
        let each = |new: &mut Self, all: &[IdedExpr]| -> Vec<IdedExpr> {
            all.iter().map(|part| new.copy(part)).collect()
        };
        let copied = match &of.expr {
            Expr::Select(select) => Expr::Select(SelectExpr {
                operand: Box::new(self.copy(&select.operand)),
                field: select.field.clone(),
                test: select.test,
            }),
            Expr::Call(call) => Expr::Call(CallExpr {
                func_name: call.func_name.clone(),
                target: call.target.as_deref().map(|it| Box::new(self.copy(it))),
                args: each(self, &call.args),
            }),
            Expr::List(list) => Expr::List(ListExpr::new_with_optionals(
                each(self, &list.elements),
                list.optional_indices.clone(),
            )),
            Expr::Map(map) => {
                let mut map = map.clone();
                for entry in &mut map.entries {
                    if let cel_syntax::common::ast::EntryExpr::MapEntry(entry) = &mut entry.expr {
                        entry.key = self.copy(&entry.key);
                        entry.value = self.copy(&entry.value);
                    }
                }
                Expr::Map(map)
            }
            Expr::Comprehension(all) => Expr::Comprehension(Box::new(ComprehensionExpr {
                iter_range: self.copy(&all.iter_range),
                iter_var: all.iter_var.clone(),
                iter_var2: all.iter_var2.clone(),
                accu_var: all.accu_var.clone(),
                accu_init: self.copy(&all.accu_init),
                loop_cond: self.copy(&all.loop_cond),
                loop_step: self.copy(&all.loop_step),
                result: self.copy(&all.result),
            })),
            plain => plain.clone(),
        };
        self.node(copied)
    }
}

/// The parts of an expression, up to as many as may be copied.
fn size(of: &IdedExpr) -> usize {
    let (mut open, mut count) = (vec![of], 0);
    while let Some(next) = open.pop() {
        count += 1;
        if count > MAX_COPIED {
            break;
        }
        open.extend(parts(next));
    }
    count
}

fn optional(
    helper: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    arguments: &mut Vec<IdedExpr>,
    name: &str,
) -> Expanded {
    let (Some(value), [variable, _]) = (target.take(), arguments.as_slice()) else {
        return Ok(None);
    };
    let Expr::Ident(variable) = &variable.expr else {
        let why = format!("{name}() variable name must be a simple identifier");
        return Err(helper.new_error(variable.id, why));
    };
    let variable = variable.clone();
    if size(&value) > MAX_COPIED {
        return Err(helper.new_error(value.id, "expression nested too deeply"));
    }
    let body = arguments.pop().unwrap_or_default();
    let mut new = New(helper);
    let copy = new.copy(&value);
    let present = new.member(value, "hasValue", Vec::new());
    let inner = new.member(copy, "value", Vec::new());
    let mut found = new.bound(&variable, inner, body);
    if name == "optMap" {
        found = new.call("optional.of", vec![found]);
    }
    let none = new.call("optional.none", Vec::new());
    Ok(Some(new.call("_?_:_", vec![present, found, none])))
}

fn sort_by(
    helper: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    arguments: &mut Vec<IdedExpr>,
) -> Expanded {
    let (Some(value), [variable, _]) = (target.take(), arguments.as_slice()) else {
        return Ok(None);
    };
    if matches!(
        value.expr,
        Expr::Literal(_) | Expr::Map(_) | Expr::Struct(_)
    ) {
        let why = "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
        return Err(helper.new_error(value.id, why));
    }
    let variable = name_of(helper, variable, NO_IDENTIFIER)?;
    let key = arguments.pop().unwrap_or_default();
    let mut new = New(helper);
    let item = new.list(vec![key]);
    let (before, result) = (new.result(), new.result());
    let keys = ComprehensionExpr {
        iter_range: new.ident(SORTED),
        iter_var: variable,
        iter_var2: None,
        accu_var: ACCUMULATOR.to_owned(),
        accu_init: new.list(Vec::new()),
        loop_cond: new.flag(true),
        loop_step: new.call("_+_", vec![before, item]),
        result,
    };
    let keys = new.node(Expr::Comprehension(Box::new(keys)));
    let input = new.ident(SORTED);
    let sorted = new.member(input, SORT_BY_KEYS, vec![keys]);
    Ok(Some(new.bound(SORTED, value, sorted)))
}

fn name_of(
    helper: &MacroExprHelper<'_>,
    variable: &IdedExpr,
    refusal: &str,
) -> Result<String, ParseError> {
    match &variable.expr {
        Expr::Ident(name) => Ok(name.clone()),
        _ => Err(helper.new_error(variable.id, refusal)),
    }
}

/// The names of the variables of a macro.
fn names_of(
    helper: &MacroExprHelper<'_>,
    arguments: &[IdedExpr],
    variables: usize,
    refusal: &str,
) -> Result<Vec<String>, ParseError> {
    let mut names = Vec::new();
    for variable in arguments.iter().take(variables) {
        names.push(name_of(helper, variable, refusal)?);
    }
    if let ([first, second], Some(place)) = (names.as_slice(), arguments.get(1))
        && first == second
    {
        let why = format!("duplicate variable name: {first}");
        return Err(helper.new_error(place.id, why));
    }
    for (variable, name) in arguments.iter().zip(&names) {
        if matches!(name.as_str(), ACCUMULATOR | "__result__") {
            let why = "iteration variable overwrites accumulator variable";
            return Err(helper.new_error(variable.id, why));
        }
    }
    Ok(names)
}

/// Macros that go through lists and maps.
fn looped(
    helper: &mut MacroExprHelper<'_>,
    target: &mut Option<IdedExpr>,
    arguments: &mut Vec<IdedExpr>,
    (name, variables): (&str, usize),
) -> Expanded {
    let refusal = if matches!(name, "map" | "filter") {
        NO_IDENTIFIER
    } else {
        "argument must be a simple name"
    };
    let names = names_of(helper, arguments, variables, refusal)?;
    let mut names = names.into_iter();
    let (first, second) = (names.next().unwrap_or_default(), names.next());
    let range = target.take().unwrap_or_default();
    let body = arguments.pop().unwrap_or_default();
    let mut filter = (arguments.len() > variables)
        .then(|| arguments.pop())
        .flatten();
    let mut new = New(helper);
    let before = new.result();
    let (start, go_on, mut step, result) = match name {
        "all" => {
            let so_far = new.result();
            (
                new.flag(true),
                new.call("@not_strictly_false", vec![so_far]),
                new.call("_&&_", vec![before, body]),
                new.result(),
            )
        }
        "exists" => {
            let so_far = new.result();
            let not = new.call("!_", vec![so_far]);
            (
                new.flag(false),
                new.call("@not_strictly_false", vec![not]),
                new.call("_||_", vec![before, body]),
                new.result(),
            )
        }
        "existsOne" | "exists_one" => {
            let one = new.int(1);
            let more = new.call("_+_", vec![before, one]);
            let same = new.result();
            let (count, one) = (new.result(), new.int(1));
            (
                new.int(0),
                new.flag(true),
                new.call("_?_:_", vec![body, more, same]),
                new.call("_==_", vec![count, one]),
            )
        }
        "filter" => {
            filter = Some(body);
            let item = arguments.pop().unwrap_or_default();
            let item = new.list(vec![item]);
            (
                new.list(Vec::new()),
                new.flag(true),
                new.call("_+_", vec![before, item]),
                new.result(),
            )
        }
        "map" | "transformList" => {
            let item = new.list(vec![body]);
            (
                new.list(Vec::new()),
                new.flag(true),
                new.call("_+_", vec![before, item]),
                new.result(),
            )
        }
        _ => {
            let entry = if name == "transformMap" {
                vec![before, new.ident(&first), body]
            } else {
                vec![before, body]
            };
            (
                new.node(Expr::Map(MapExpr::default())),
                new.flag(true),
                new.call(INSERT, entry),
                new.result(),
            )
        }
    };
    if let Some(filter) = filter {
        let same = new.result();
        step = new.call("_?_:_", vec![filter, step, same]);
    }
    let all = ComprehensionExpr {
        iter_range: range,
        iter_var: first,
        iter_var2: second,
        accu_var: ACCUMULATOR.to_owned(),
        accu_init: start,
        loop_cond: go_on,
        loop_step: step,
        result,
    };
    Ok(Some(new.node(Expr::Comprehension(Box::new(all)))))
}
