//! The functions that Helm's engine adds to Sprig and that concern the running template set:
//! `include`, `tpl`, `required`, `fail`, `lookup`, `getHostByName`.
//!
//! Insert them after the Sprig functions, whose `fail` they replace. In lint mode a failing
//! `required` or `fail` gives an empty string and a warning instead. Source:
//! `pkg/engine/engine.go` of Helm 4.3.1.

use std::borrow::Cow;

use crate::context::Context;
use crate::exec::NO_VALUE;
use crate::func::{Callable, FuncError, FuncResult, Function, Signature};
use crate::gotype::{ANY, MAP_ANY, STRING};
use crate::types;
use crate::value::Value;

/// All of them. `lint`: Helm's lint mode.
pub fn functions(lint: bool) -> Vec<Function> {
    let text_and_data = Signature::new(types!(STRING, ANY), &STRING);
    vec![
        Function {
            name: "include",
            signature: text_and_data,
            call: Callable::Include,
        },
        Function {
            name: "tpl",
            signature: text_and_data,
            call: Callable::Tpl,
        },
        Function::plain(
            "required",
            Signature::new(types!(STRING, ANY), &ANY),
            if lint { required_lint } else { required },
        ),
        Function::plain(
            "fail",
            Signature::new(types!(STRING), &STRING),
            if lint { fail_lint } else { fail },
        ),
        Function::plain(
            "lookup",
            Signature::new(types!(STRING, STRING, STRING, STRING), &MAP_ANY),
            lookup,
        ),
        Function::plain(
            "getHostByName",
            Signature::new(types!(STRING), &STRING),
            host_by_name,
        ),
    ]
}

/// The text without `<no value>`: Helm removes it from what templates and `tpl` give, literal text included.
pub fn without_no_value(text: &[u8]) -> Cow<'_, [u8]> {
    let mut found = memchr::memmem::find_iter(text, NO_VALUE).peekable();
    if found.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut from) = (Vec::with_capacity(text.len()), 0);
    for at in found {
        out.extend_from_slice(text.get(from..at).unwrap_or_default());
        from = at + NO_VALUE.len();
    }
    out.extend_from_slice(text.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

fn text(args: &[Value], index: usize) -> String {
    match args.get(index) {
        Some(Value::String(text)) => text.to_str_lossy().into_owned(),
        _ => String::new(),
    }
}

/// What `required` refuses: nil and the empty string, nothing else.
fn is_missing(value: &Value) -> bool {
    match value {
        Value::Nil => true,
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

fn required(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let value = args.get(1).cloned().unwrap_or_default();
    if is_missing(&value) {
        return Err(FuncError::Fail(text(args, 0)));
    }
    Ok(value)
}

#[expect(clippy::unnecessary_wraps, reason = "the type of a template function")]
fn required_lint(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let value = args.get(1).cloned().unwrap_or_default();
    if is_missing(&value) {
        let message = format!("missing required value: {}", text(args, 0));
        ctx.env().warn(&message);
        return Ok(Value::string(""));
    }
    Ok(value)
}

fn fail(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    Err(FuncError::Fail(text(args, 0)))
}

#[expect(clippy::unnecessary_wraps, reason = "the type of a template function")]
fn fail_lint(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let message = format!("fail: {}", text(args, 0));
    ctx.env().warn(&message);
    Ok(Value::string(""))
}

fn lookup(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let (api_version, kind) = (text(args, 0), text(args, 1));
    let (namespace, name) = (text(args, 2), text(args, 3));
    ctx.env()
        .lookup(&api_version, &kind, &namespace, &name)
        .map_err(FuncError::Message)
}

#[expect(clippy::unnecessary_wraps, reason = "the type of a template function")]
fn host_by_name(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    Ok(Value::string(ctx.env().host_by_name(&text(args, 0))))
}
