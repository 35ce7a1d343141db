//! Defaults and choices.

use super::args::{any, is_empty};
use crate::func::{Function, Signature};
use crate::gotype::{ANY, BOOL};
use crate::value::Value;

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    let check = Signature::variadic(&[], &ANY, &BOOL);
    vec![
        Function::plain("all", check, |_, args| {
            Ok(Value::Bool(!args.iter().any(is_empty)))
        }),
        Function::plain("any", check, |_, args| {
            Ok(Value::Bool(!args.iter().all(is_empty)))
        }),
        Function::plain(
            "coalesce",
            Signature::variadic(&[], &ANY, &ANY),
            |_, args| {
                Ok(args
                    .iter()
                    .find(|value| !is_empty(value))
                    .cloned()
                    .unwrap_or_default())
            },
        ),
        Function::plain(
            "default",
            Signature::variadic(types!(ANY), &ANY, &ANY),
            |_, args| {
                let given = any(args, 1);
                Ok(if is_empty(given) {
                    any(args, 0).clone()
                } else {
                    given.clone()
                })
            },
        ),
        Function::plain("empty", Signature::new(types!(ANY), &BOOL), |_, args| {
            Ok(Value::Bool(is_empty(any(args, 0))))
        }),
        Function::plain(
            "ternary",
            Signature::new(types!(ANY, ANY, BOOL), &ANY),
            |_, args| {
                let yes = matches!(any(args, 2), Value::Bool(true));
                Ok(any(args, usize::from(!yes)).clone())
            },
        ),
    ]
}
