//! Formats whose complaints are worded as in Helm's library. They count for draft 7 and earlier, and in the
//! metaschemas. Rules and words: RFC 5321, RFC 1123, RFC 4291 as that library reads them.

use std::error::Error;
use std::net::Ipv6Addr;

use boon::{Compiler, Format};
use kubepkg_gotemplate::{FuncTable, SeededEnv, TemplateSet, sprig};
use serde_json::Value;

/// Makes the compiler use these formats.
pub(super) fn register(compiler: &mut Compiler) {
    for (name, check) in FORMATS {
        compiler.register_format(Format { name, func: *check });
    }
}

type Outcome = Result<(), Box<dyn Error>>;
type Check = fn(&Value) -> Outcome;

const FORMATS: &[(&str, Check)] = &[
    ("email", |value| of_text(value, email)),
    ("hostname", |value| of_text(value, hostname)),
    ("ipv4", |value| of_text(value, ipv4)),
    ("ipv6", |value| of_text(value, ipv6)),
    ("date", |value| of_text(value, crate::go::text::check_date)),
    ("uri", |value| of_text(value, uri)),
];

fn of_text(value: &Value, check: fn(&str) -> Result<(), String>) -> Outcome {
    match value {
        Value::String(text) => check(text).map_err(Into::into),
        _ => Ok(()),
    }
}

fn fail<T>(message: &str) -> Result<T, String> {
    Err(message.to_owned())
}

fn ipv4(text: &str) -> Result<(), String> {
    let groups: Vec<&str> = text.split('.').collect();
    if groups.len() != 4 {
        return fail("expected four decimals");
    }
    for group in groups {
        if group.len() > 1 && group.starts_with('0') {
            return fail("leading zeros");
        }
        match group.parse::<i64>() {
            Ok(0..=255) => {}
            Ok(_) => return fail("decimal must be between 0 and 255"),
            Err(_) => return Err(format!("strconv.Atoi: parsing {group:?}: invalid syntax")),
        }
    }
    Ok(())
}

/// Go reads nearly everything as an address; what it asks for here is a scheme.
fn uri(text: &str) -> Result<(), String> {
    if text.chars().any(|c| c.is_ascii_control()) {
        return Err(format!(
            "parse {text:?}: net/url: invalid control character in URL"
        ));
    }
    let scheme = text.split([':', '/', '?', '#']).next().unwrap_or_default();
    let has_scheme = text
        .get(scheme.len()..)
        .is_some_and(|rest| rest.starts_with(':'));
    let mut letters = scheme.chars();
    let first_is_letter = letters.next().is_some_and(|c| c.is_ascii_alphabetic());
    let rest_fits = letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    match (has_scheme, scheme.is_empty()) {
        (true, true) => Err(format!("parse {text:?}: missing protocol scheme")),
        (true, false) if !(first_is_letter && rest_fits) => Err(format!(
            "parse {text:?}: first path segment in URL cannot contain colon"
        )),
        (true, false) => Ok(()),
        (false, _) => fail("relative url"),
    }
}

fn ipv6(text: &str) -> Result<(), String> {
    if !text.contains(':') {
        return fail("missing colon");
    }
    if text.contains('%') {
        return fail("zone id is not a part of ipv6 address");
    }
    match text.parse::<Ipv6Addr>() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("ParseAddr({text:?}): unable to parse IP")),
    }
}

fn hostname(text: &str) -> Result<(), String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.len() > 253 {
        return fail("more than 253 characters long");
    }
    for label in text.split('.') {
        if label.is_empty() || label.len() > 63 {
            return fail("label must be 1 to 63 characters long");
        }
        if label.starts_with('-') {
            return fail("label starts with hyphen");
        }
        if label.ends_with('-') {
            return fail("label ends with hyphen");
        }
        if let Some(c) = label
            .chars()
            .find(|c| !c.is_ascii_alphanumeric() && *c != '-')
        {
            return Err(format!("invalid character '{c}'"));
        }
    }
    Ok(())
}

fn email(text: &str) -> Result<(), String> {
    if text.len() > 254 {
        return fail("more than 255 characters long");
    }
    let Some((local, domain)) = text.rsplit_once('@') else {
        return fail("missing @");
    };
    if local.len() > 64 {
        return fail("local part more than 64 characters long");
    }
    if local.len() > 1 && local.starts_with('"') && local.ends_with('"') {
        if local
            .get(1..local.len() - 1)
            .is_some_and(|inner| inner.contains(['\\', '"']))
        {
            return fail("backslash and quote are not allowed within quoted local part");
        }
    } else if local.starts_with('.') {
        return fail("starts with dot");
    } else if local.ends_with('.') {
        return fail("ends with dot");
    } else if local.contains("..") {
        return fail("consecutive dots");
    } else if let Some(c) = local
        .chars()
        .find(|c| !c.is_ascii_alphanumeric() && !".!#$%&'*+-/=?^_`{|}~".contains(*c))
    {
        return Err(format!("invalid character '{c}'"));
    }
    if let Some(address) = domain
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return match address.strip_prefix("IPv6:") {
            Some(address) => {
                ipv6(address).map_err(|error| format!("invalid ipv6 address: {error}"))
            }
            None => ipv4(address).map_err(|error| format!("invalid ipv4 address: {error}")),
        };
    }
    hostname(domain).map_err(|error| format!("invalid domain: {error}"))
}

/// Whether Go reads the text as a regular expression. The template functions know Go's syntax and words; the
/// library keeps its own check, so this one serves for the words only.
pub(super) fn regex(text: &str) -> Result<(), String> {
    let mut functions = FuncTable::default();
    functions.extend(
        sprig::functions()
            .into_iter()
            .filter(|function| function.name == "mustRegexMatch"),
    );
    let mut set = TemplateSet::new("regex", functions);
    set.parse("regex", "{{ mustRegexMatch . \"\" }}")
        .map_err(|error| error.to_string())?;
    let outcome = set.execute("regex", &text.into(), &mut SeededEnv::default());
    outcome.map(drop).map_err(|error| {
        let message = error.to_string();
        message
            .split_once("error calling mustRegexMatch: ")
            .map_or(message.clone(), |(_, rest)| rest.to_owned())
    })
}
