//! Random strings, numbers and orders, all from [`Env`](crate::Env).

use super::args::{bytes, int, panic, size, text};
use super::encoding::encode64;
use crate::context::Context;
use crate::func::{FuncResult, Function, Signature};
use crate::gotype::{INT, STRING};
use crate::strconv::decode_rune;
use crate::value::Value;

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    let counted = Signature::new(types!(INT), &STRING);
    vec![
        Function::plain("randAlpha", counted, |ctx, args| {
            characters(ctx, int(args, 0), |b| b.is_ascii_alphabetic())
        }),
        Function::plain("randAlphaNum", counted, |ctx, args| {
            characters(ctx, int(args, 0), |b| b.is_ascii_alphanumeric())
        }),
        Function::plain("randAscii", counted, |ctx, args| {
            characters(ctx, int(args, 0), |b| (b' '..=b'~').contains(&b))
        }),
        Function::plain("randBytes", counted, rand_bytes),
        Function::plain(
            "randInt",
            Signature::new(types!(INT, INT), &INT),
            |ctx, args| {
                let (low, high) = (int(args, 0), int(args, 1));
                let span = high.wrapping_sub(low);
                if span <= 0 {
                    return Err(panic("invalid argument to Intn"));
                }
                Ok(Value::int(low.wrapping_add(
                    ctx.env().below(span.unsigned_abs()).cast_signed(),
                )))
            },
        ),
        Function::plain("randNumeric", counted, |ctx, args| {
            characters(ctx, int(args, 0), |b| b.is_ascii_digit())
        }),
        Function::plain("shuffle", Signature::new(types!(STRING), &STRING), shuffle),
        Function::plain("uuidv4", Signature::new(&[], &STRING), |ctx, _| {
            Ok(bytes(uuid(ctx)))
        }),
    ]
}

fn characters(ctx: &mut Context<'_>, count: i64, belongs: fn(u8) -> bool) -> FuncResult {
    let alphabet: Vec<u8> = (b' '..=b'~').filter(|b| belongs(*b)).collect();
    let count = size(count);
    ctx.charge_bytes(count)?;
    ctx.charge(count as u64)?;
    let mut out = Vec::with_capacity(count);
    for _ in 0..count {
        let index = ctx.env().below(alphabet.len() as u64);
        out.extend(usize::try_from(index).ok().and_then(|i| alphabet.get(i)));
    }
    Ok(bytes(out))
}

fn rand_bytes(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let count = usize::try_from(int(args, 0))
        .map_err(|_| panic("runtime error: makeslice: len out of range"))?;
    ctx.charge_bytes(count)?;
    let mut buffer = vec![0; count];
    ctx.env().random(&mut buffer);
    Ok(bytes(encode64(&buffer)))
}

fn shuffle(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let mut rest = text(args, 0);
    let mut runes = Vec::new();
    while !rest.is_empty() {
        let (c, width) = decode_rune(rest);
        runes.push(c);
        rest = rest.get(width.max(1)..).unwrap_or(b"");
    }
    ctx.charge(runes.len() as u64)?;
    for i in (1..runes.len()).rev() {
        let other = usize::try_from(ctx.env().below(i as u64 + 1)).unwrap_or(i);
        runes.swap(i, other.min(i));
    }
    Ok(bytes(runes.into_iter().collect::<String>()))
}

fn uuid(ctx: &mut Context<'_>) -> String {
    let mut raw = [0_u8; 16];
    ctx.env().random(&mut raw);
    let number = u128::from_be_bytes(raw);
    // Version 4, variant 10 (RFC 9562).
    let number = number & !(0xf << 76) | 4 << 76;
    let number = number & !(3 << 62) | 2 << 62;
    let hex = format!("{number:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or("");
    format!(
        "{}-{}-{}-{}-{}",
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32)
    )
}
