//! Regular expressions in Go's syntax. The forms without `must` panic on a bad pattern, but for
//! `regexMatch`, which answers false.

use std::rc::Rc;

use super::args::{bytes, int, panic, text};
use crate::budget::LimitExceeded;
use crate::collection::List;
use crate::context::Context;
use crate::func::{FuncError, FuncPtr, FuncResult, Function, Signature};
use crate::gotype::{BOOL, INT, SLICE_STRING, STRING};
use crate::regexp::{Regexp, RegexpError, Work, quote_meta};
use crate::strconv::{can_backquote, quote};
use crate::value::Value;

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    let check = Signature::new(types!(STRING, STRING), &BOOL);
    let find = Signature::new(types!(STRING, STRING), &STRING);
    let several = Signature::new(types!(STRING, STRING, INT), &SLICE_STRING);
    let change = Signature::new(types!(STRING, STRING, STRING), &STRING);
    let entries: [(&'static str, Signature, FuncPtr); 12] = [
        ("mustRegexFind", find, |ctx, args| {
            find_first(&*must(ctx, args)?, args)
        }),
        ("mustRegexFindAll", several, |ctx, args| {
            find_all(&*must(ctx, args)?, ctx, args)
        }),
        ("mustRegexMatch", check, |ctx, args| {
            Ok(Value::Bool(must(ctx, args)?.is_match(text(args, 1))))
        }),
        ("mustRegexReplaceAll", change, |ctx, args| {
            replace(&*must(ctx, args)?, ctx, args)
        }),
        ("mustRegexReplaceAllLiteral", change, |ctx, args| {
            literal(&*must(ctx, args)?, ctx, args)
        }),
        ("mustRegexSplit", several, |ctx, args| {
            split(&*must(ctx, args)?, ctx, args)
        }),
        ("regexFind", find, |ctx, args| {
            find_first(&*compile(ctx, args)?, args)
        }),
        ("regexFindAll", several, |ctx, args| {
            find_all(&*compile(ctx, args)?, ctx, args)
        }),
        ("regexMatch", check, |ctx, args| match must(ctx, args) {
            Ok(regexp) => Ok(Value::Bool(regexp.is_match(text(args, 1)))),
            Err(error @ FuncError::Limit(_)) => Err(error),
            Err(_) => Ok(Value::Bool(false)),
        }),
        ("regexReplaceAll", change, |ctx, args| {
            replace(&*compile(ctx, args)?, ctx, args)
        }),
        ("regexReplaceAllLiteral", change, |ctx, args| {
            literal(&*compile(ctx, args)?, ctx, args)
        }),
        ("regexSplit", several, |ctx, args| {
            split(&*compile(ctx, args)?, ctx, args)
        }),
    ];
    let mut table: Vec<Function> = entries
        .into_iter()
        .map(|(name, signature, call)| Function::plain(name, signature, call))
        .collect();
    table.push(Function::plain(
        "regexQuoteMeta",
        Signature::new(types!(STRING), &STRING),
        |_, args| Ok(bytes(quote_meta(text(args, 0)))),
    ));
    table
}

/// The step budget pays for searches, the output budget for what is written.
impl Work for Context<'_> {
    type Error = LimitExceeded;

    fn search(&mut self, bytes: usize) -> Result<(), LimitExceeded> {
        self.charge(1 + bytes as u64 / 256)
    }

    fn write(&mut self, bytes: usize) -> Result<(), LimitExceeded> {
        self.charge_bytes(bytes)
    }
}

/// The compiled pattern, with the expressions of this execution kept. Pays for compiling it and for one search.
fn compiled(
    ctx: &mut Context<'_>,
    args: &[Value],
) -> Result<Result<Rc<Regexp>, RegexpError>, LimitExceeded> {
    let (pattern, searched) = (text(args, 0), text(args, 1).len() as u64);
    let regexp = if let Some(regexp) = ctx.regexes.kept(pattern) {
        regexp
    } else {
        ctx.charge(pattern.len() as u64)?;
        let regexp = match ctx.regexes.compile(pattern) {
            Ok(regexp) => regexp,
            Err(error) => return Ok(Err(error)),
        };
        ctx.charge(regexp.size() as u64 / 256)?;
        regexp
    };
    let size = regexp.size() as u64;
    ctx.charge((searched / 100).saturating_add(searched.saturating_mul(size) / 8192))?;
    Ok(Ok(regexp))
}

/// `regexp.Compile`.
fn must(ctx: &mut Context<'_>, args: &[Value]) -> Result<Rc<Regexp>, FuncError> {
    compiled(ctx, args)?.map_err(|error| FuncError::new(error.to_string()))
}

/// `regexp.MustCompile`.
fn compile(ctx: &mut Context<'_>, args: &[Value]) -> Result<Rc<Regexp>, FuncError> {
    compiled(ctx, args)?.map_err(|error| {
        let pattern = text(args, 0);
        let shown = if can_backquote(pattern) {
            format!("`{}`", String::from_utf8_lossy(pattern))
        } else {
            quote(pattern)
        };
        panic(format!("regexp: Compile({shown}): {error}"))
    })
}

fn find_first(regexp: &Regexp, args: &[Value]) -> FuncResult {
    Ok(bytes(regexp.find(text(args, 1))))
}

/// A `[]string`, nil when nothing was found.
fn strings(found: Vec<&[u8]>) -> Value {
    if found.is_empty() {
        return Value::List(List::nil(&SLICE_STRING));
    }
    Value::string_list(found)
}

fn find_all(regexp: &Regexp, ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let whole = text(args, 1);
    let found = regexp.find_all(whole, int(args, 2), ctx)?;
    Ok(strings(
        found
            .into_iter()
            .map(|(start, end)| whole.get(start..end).unwrap_or(b""))
            .collect(),
    ))
}

fn split(regexp: &Regexp, ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let limit = int(args, 2);
    let parts = regexp.split(text(args, 1), limit, ctx)?;
    if limit == 0 {
        return Ok(Value::List(List::nil(&SLICE_STRING)));
    }
    Ok(Value::string_list(parts))
}

fn replace(regexp: &Regexp, ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    Ok(bytes(regexp.replace_all(
        text(args, 1),
        text(args, 2),
        ctx,
    )?))
}

fn literal(regexp: &Regexp, ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let out = regexp.replace_all_literal(text(args, 1), text(args, 2), ctx)?;
    Ok(bytes(out))
}
