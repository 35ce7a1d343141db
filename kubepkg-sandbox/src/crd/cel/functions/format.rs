//! `format`: texts by templates, as `ext/formatting.go` of cel-go 0.26 writes them in the locale `en_US`.

use std::sync::Arc;

use cel_syntax::common::ast::{EntryExpr, Expr, IdedExpr};
use kube_cel::cel::Value;
use kubepkg_yaml::go_quote;

use super::super::fit::Type;
use super::super::run::{Fault, Outcome};
use super::super::typed;
use super::super::values::of_key;
use super::Called;

const DEFAULT_PRECISION: usize = 6;
/// Digits that a template may ask for.
const MAX_PRECISION: usize = 1000;

/// What is wrong, and with which argument where it is one.
pub(in super::super) struct Offence {
    pub(in super::super) why: String,
    pub(in super::super) node: Option<u64>,
}

impl Offence {
    fn new(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            node: None,
        }
    }
}

#[derive(Clone, Copy)]
struct Clause {
    verb: u8,
    precision: usize,
}

enum Part<'f> {
    Text(&'f str),
    Clause(usize, Clause),
}

/// Goes through a template.
fn each(
    template: &str,
    count: usize,
    runs: bool,
    put: &mut dyn FnMut(Part<'_>) -> Result<(), Offence>,
) -> Result<(), Offence> {
    let mut rest = template;
    let mut index = 0;
    while let Some(at) = rest.find('%') {
        let (before, clause) = rest.split_at(at);
        put(Part::Text(before))?;
        if clause.starts_with("%%") {
            put(Part::Text("%"))?;
            rest = clause.get(2..).unwrap_or_default();
            continue;
        }
        let missing = || Offence::new(format!("index {index} out of range"));
        if runs && index >= count {
            return Err(missing());
        }
        let clause = clause.get(1..).unwrap_or_default();
        if clause.is_empty() {
            return Err(Offence::new("unexpected end of string"));
        }
        if index >= count {
            return Err(missing());
        }
        let (parsed, after) = parsed(clause)
            .map_err(|why| Offence::new(format!("could not parse formatting clause: {why}")))?;
        put(Part::Clause(index, parsed)).map_err(|offence| Offence {
            why: format!("error during formatting: {}", offence.why),
            ..offence
        })?;
        index += 1;
        rest = after;
    }
    put(Part::Text(rest))
}

fn parsed(clause: &str) -> Result<(Clause, &str), String> {
    let mut precision = DEFAULT_PRECISION;
    let mut rest = clause;
    if let Some(after) = clause.strip_prefix('.') {
        let end = after.find(|sign: char| !sign.is_ascii_digit());
        let Some((digits, after)) = end.map(|end| after.split_at(end)) else {
            let why = "error while parsing precision: could not find end of precision specifier";
            return Err(why.to_owned());
        };
        precision = digits.parse().map_err(|_| {
            format!(
                "error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing \
                 {}: invalid syntax",
                go_quote(digits)
            )
        })?;
        rest = after;
    }
    let verb = rest.bytes().next().unwrap_or_default();
    if !b"sdfebxXo".contains(&verb) {
        let shown = char::from(verb);
        return Err(format!("unrecognized formatting clause \"{shown}\""));
    }
    let precision = precision.min(MAX_PRECISION);
    Ok((
        Clause { verb, precision },
        rest.get(1..).unwrap_or_default(),
    ))
}

/// That a clause is not for values of a type.
fn unfit(verb: u8, of: &str) -> String {
    let rule = match verb {
        b'd' => "decimal clause can only be used on integers",
        b'f' => "fixed-point clause can only be used on doubles",
        b'e' => "scientific clause can only be used on doubles",
        b'b' => "only integers and bools can be formatted as binary",
        b'x' | b'X' => "only integers, byte buffers, and strings can be formatted as hex",
        b'o' => "octal clause can only be used on integers",
        _ => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, \
             and timestamps"
        }
    };
    format!("{rule}, was given {of}")
}

pub(super) fn format(called: &mut Called<'_>) -> Outcome {
    let [Value::String(template), Value::List(arguments)] = called.values else {
        return Err(called.no_overload());
    };
    let mut made = String::new();
    let outcome = each(template, arguments.len(), true, &mut |part| {
        match part {
            Part::Text(text) => made.push_str(text),
            Part::Clause(index, clause) => {
                let value = arguments.get(index).unwrap_or(&Value::Null);
                made.push_str(&written(value, clause).map_err(Offence::new)?);
            }
        }
        Ok(())
    });
    outcome.map_err(|offence| Fault::error(offence.why))?;
    called.meter.look(made.len() / 16)?;
    Ok(Value::String(Arc::new(made)))
}

fn written(value: &Value, clause: Clause) -> Result<String, String> {
    let special = |text: &str| matches!(text, "NaN" | "Infinity" | "-Infinity");
    let number = match value {
        Value::Float(number) => Some(*number),
        Value::String(text) if special(text) => text.parse().ok(),
        _ => None,
    };
    let Clause { verb, precision } = clause;
    let found = match (verb, value) {
        (b's', _) => shown(value),
        (b'd' | b'b' | b'o' | b'x' | b'X', Value::Int(number)) => {
            let sign = if *number < 0 { "-" } else { "" };
            Some(format!("{sign}{}", digits(number.unsigned_abs(), verb)))
        }
        (b'd' | b'b' | b'o' | b'x' | b'X', Value::UInt(number)) => Some(digits(*number, verb)),
        (b'b', Value::Bool(flag)) => Some(if *flag { "1" } else { "0" }.to_owned()),
        (b'x' | b'X', Value::String(text)) => Some(hex(text.as_bytes(), verb)),
        (b'x' | b'X', Value::Bytes(bytes)) => Some(hex(bytes, verb)),
        (b'f', _) => number.map(|number| fixed(number, precision)),
        (b'e', _) => number.map(|number| scientific(number, precision)),
        _ => None,
    };
    found.ok_or_else(|| unfit(verb, typed::name(value)))
}

fn digits(number: u64, verb: u8) -> String {
    match verb {
        b'b' => format!("{number:b}"),
        b'o' => format!("{number:o}"),
        b'x' => format!("{number:x}"),
        b'X' => format!("{number:X}"),
        _ => number.to_string(),
    }
}

fn hex(bytes: &[u8], verb: u8) -> String {
    let each = |byte: &u8| {
        if verb == b'X' {
            format!("{byte:02X}")
        } else {
            format!("{byte:02x}")
        }
    };
    bytes.iter().map(each).collect()
}

/// What is no finite number.
fn endless(number: f64) -> Option<String> {
    if number.is_nan() {
        return Some("NaN".to_owned());
    }
    number.is_infinite().then(|| {
        let sign = if number < 0.0 { "-" } else { "" };
        format!("{sign}∞")
    })
}

/// With commas between thousands, as in English.
fn fixed(number: f64, precision: usize) -> String {
    if let Some(endless) = endless(number) {
        return endless;
    }
    let plain = format!("{number:.precision$}");
    let (sign, plain) = plain
        .strip_prefix('-')
        .map_or(("", plain.as_str()), |plain| ("-", plain));
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{point}{fraction}")
}

/// The precision is the least width here, as cel-go has it.
fn scientific(number: f64, width: usize) -> String {
    let written = endless(number).unwrap_or_else(|| raised(number));
    format!("{written:>width$}")
}

fn raised(number: f64) -> String {
    let plain = format!("{number:.DEFAULT_PRECISION$e}");
    let (digits, exponent) = plain.split_once('e').unwrap_or((&plain, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let raised = |sign: char| match sign {
        '-' => '⁻',
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        _ => '⁹',
    };
    let sign = if exponent < 0 { "-" } else { "" };
    let exponent: String = format!("{sign}{:02}", exponent.abs())
        .chars()
        .map(raised)
        .collect();
    format!("{digits}×10{exponent}")
}

/// A value as `%s` writes it.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::List(_) | Value::Map(_) => literal(value),
        Value::Null => Some("null".to_owned()),
        Value::Bytes(bytes) => String::from_utf8(bytes.as_ref().clone()).ok(),
        Value::Opaque(_) if typed::name(value) != "type" => None,
        plain => Some(typed::plain(plain)),
    }
}

/// A value in a list or a map, as an expression may write it.
fn literal(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(text) => go_quote(text),
        Value::Bytes(_) => format!("b{}", go_quote(&shown(value)?)),
        Value::Float(number) if !number.is_finite() => go_quote(&typed::plain(value)),
        Value::Float(number) => format!("{number:.DEFAULT_PRECISION$}"),
        Value::Timestamp(_) => format!("timestamp({})", go_quote(&typed::plain(value))),
        Value::Duration(_) => format!("duration({})", go_quote(&typed::plain(value))),
        Value::List(items) => {
            let items: Option<Vec<String>> = items.iter().map(literal).collect();
            format!("[{}]", items?.join(", "))
        }
        Value::Map(map) => {
            let pairs = map.map.iter();
            let pairs = pairs.map(|(key, value)| Some((literal(&of_key(key))?, literal(value)?)));
            let mut pairs = pairs.collect::<Option<Vec<_>>>()?;
            pairs.sort();
            let pairs: Vec<String> = pairs
                .into_iter()
                .map(|(key, value)| format!("{key}:{value}"))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        }
        plain => shown(plain)?,
    })
}

/// Checks a template that is written down with a list that is, too.
pub(in super::super) fn check(
    template: &str,
    arguments: &[IdedExpr],
    type_of: &dyn Fn(&IdedExpr) -> Type,
) -> Result<(), Offence> {
    let mut asked = 0;
    each(template, arguments.len(), false, &mut |part| {
        let Part::Clause(index, clause) = part else {
            return Ok(());
        };
        asked += 1;
        let Some(argument) = arguments.get(index) else {
            return Ok(());
        };
        let bad = if clause.verb == b's' {
            bad_text(argument, type_of)
        } else {
            let fits = |name| match clause.verb {
                b'f' | b'e' => matches!(name, "double" | "string"),
                b'b' => matches!(name, "int" | "uint" | "bool"),
                b'x' | b'X' => matches!(name, "int" | "uint" | "string" | "bytes"),
                _ => matches!(name, "int" | "uint"),
            };
            let of = type_of(argument);
            let good = of.is_dyn() || matches!(of, Type::Plain(name) if fits(name));
            (!good).then_some((argument.id, of))
        };
        match bad {
            None => Ok(()),
            Some((node, of)) => Err(Offence {
                why: unfit(clause.verb, &typed::name_of_type(&of)),
                node: Some(node),
            }),
        }
    })?;
    if arguments.len() > asked {
        return Err(Offence::new(format!(
            "too many arguments supplied to string.format (expected {asked}, got {})",
            arguments.len()
        )));
    }
    Ok(())
}

/// What in an argument can't be written as text.
fn bad_text(argument: &IdedExpr, type_of: &dyn Fn(&IdedExpr) -> Type) -> Option<(u64, Type)> {
    let of = type_of(argument);
    let good = match &of {
        Type::Dyn | Type::Error | Type::Of("list" | "map" | "type", _) => true,
        Type::Plain(name) => !name.contains('.'),
        _ => false,
    };
    if !good {
        return Some((argument.id, of));
    }
    match &argument.expr {
        Expr::List(list) => list
            .elements
            .iter()
            .find_map(|item| bad_text(item, type_of)),
        Expr::Map(map) => map.entries.iter().find_map(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => {
                bad_text(&entry.key, type_of).or_else(|| bad_text(&entry.value, type_of))
            }
            EntryExpr::StructField(_) => None,
        }),
        _ => None,
    }
}
