//! Rules that many kinds share: numbers, labels and selectors, paths, ports, names of other objects.

use serde_json::{Value, json};

use crate::api::failure::Cause;
use crate::api::names;
use crate::api::object::{list, text};

/// What a port that is none is told.
const PORT: &str = "must be between 1 and 65535, inclusive";
const NEGATIVE: &str = "must be greater than or equal to 0";

/// A name or a number that is there must be one of those.
pub(super) fn one_of(causes: &mut Vec<Cause>, at: &str, value: &str, known: &[&str]) {
    if !known.contains(&value) {
        let shown = json!(value).to_string();
        causes.push(Cause::unsupported(at, &shown, known));
    }
}

/// Like [`one_of`] where an empty value is a missing one.
pub(super) fn required_one_of(causes: &mut Vec<Cause>, at: &str, value: &str, known: &[&str]) {
    if value.is_empty() {
        causes.push(Cause::required(at, ""));
    } else {
        one_of(causes, at, value, known);
    }
}

/// Like [`one_of`], for a field that may be left out.
pub(super) fn one_of_if_given(
    causes: &mut Vec<Cause>,
    at: &str,
    of: &Value,
    field: &str,
    known: &[&str],
) {
    if !of[field].is_null() {
        one_of(causes, &format!("{at}.{field}"), text(of, field), known);
    }
}

/// A text that may not be left out, nor be empty.
pub(super) fn required(causes: &mut Vec<Cause>, at: &str, of: &Value, field: &str) {
    if text(of, field).is_empty() {
        causes.push(Cause::required(format!("{at}.{field}"), ""));
    }
}

/// The protocol of a port, which may not be left out.
pub(super) fn protocol(causes: &mut Vec<Cause>, at: &str, port: &Value) {
    let known = ["SCTP", "TCP", "UDP"];
    required_one_of(
        causes,
        &format!("{at}.protocol"),
        text(port, "protocol"),
        &known,
    );
}

/// Nothing below zero.
pub(super) fn not_negative(causes: &mut Vec<Cause>, at: &str, value: &Value) {
    if value.as_i64().is_some_and(|number| number < 0) {
        causes.push(Cause::invalid(at, value, NEGATIVE));
    }
}

/// A value for each reason why a name is none.
pub(super) fn name(causes: &mut Vec<Cause>, at: &str, value: &str, rule: fn(&str) -> Vec<String>) {
    for why in rule(value) {
        causes.push(Cause::invalid(at, &json!(value), &why));
    }
}

/// Labels that are wanted or given, with the path of all of them.
pub(super) fn labels(causes: &mut Vec<Cause>, at: &str, labels: &Value) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        name(causes, at, key, names::qualified_name);
        if let Some(why) = names::label_value(value.as_str().unwrap_or_default()) {
            causes.push(Cause::invalid(at, value, &why));
        }
    }
}

/// `matchLabels` and `matchExpressions`.
pub(super) fn selector(causes: &mut Vec<Cause>, at: &str, selector: &Value) {
    labels(
        causes,
        &format!("{at}.matchLabels"),
        &selector["matchLabels"],
    );
    for (index, wanted) in list(&selector["matchExpressions"]).enumerate() {
        let at = format!("{at}.matchExpressions[{index}]");
        let some = list(&wanted["values"]).next().is_some();
        let operator = text(wanted, "operator");
        match operator {
            "In" | "NotIn" if !some => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                causes.push(Cause::required(format!("{at}.values"), why));
            }
            "Exists" | "DoesNotExist" if some => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.push(Cause::forbidden(format!("{at}.values"), why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => {
                let why = "not a valid selector operator";
                causes.push(Cause::invalid(
                    format!("{at}.operator"),
                    &json!(operator),
                    why,
                ));
            }
        }
        name(
            causes,
            &format!("{at}.key"),
            text(wanted, "key"),
            names::qualified_name,
        );
        label_values(causes, &at, &wanted["values"]);
    }
}

/// Values of labels in a list.
pub(super) fn label_values(causes: &mut Vec<Cause>, at: &str, values: &Value) {
    for (index, value) in list(values).enumerate() {
        if let Some(why) = names::label_value(value.as_str().unwrap_or_default()) {
            causes.push(Cause::invalid(format!("{at}.values[{index}]"), value, &why));
        }
    }
}

/// Whether a number is that of a port.
pub(super) fn port(causes: &mut Vec<Cause>, at: &str, value: &Value) {
    if !value
        .as_i64()
        .is_some_and(|number| (1..=65535).contains(&number))
    {
        causes.push(Cause::invalid(at, value, PORT));
    }
}

/// A port by its number or by its name.
pub(super) fn port_or_name(causes: &mut Vec<Cause>, at: &str, value: &Value) {
    match value.as_str() {
        Some(text) => name(causes, at, text, port_name),
        None if value.is_null() => port(causes, at, &json!(0)),
        None => port(causes, at, value),
    }
}

/// Names of ports: `IsValidPortName`.
pub(super) fn port_name(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let known = |sign: u8| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == b'-';
    let mut say = |when: bool, why: &str| {
        if when {
            wrong.push(why.to_owned());
        }
    };
    say(name.len() > 15, "must be no more than 15 characters");
    say(
        name.is_empty() || !name.bytes().all(known),
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
    );
    say(
        !name.bytes().any(|sign| sign.is_ascii_lowercase()),
        "must contain at least one letter (a-z)",
    );
    say(name.contains("--"), "must not contain consecutive hyphens");
    say(
        name.starts_with('-') || name.ends_with('-'),
        "must not begin or end with a hyphen",
    );
    wrong
}

/// A path that goes down: relative, and never back.
pub(super) fn descending(causes: &mut Vec<Cause>, at: &str, path: &str) {
    if path.starts_with('/') {
        let why = "must be a relative path";
        causes.push(Cause::invalid(at, &json!(path), why));
    }
    no_backsteps(causes, at, path);
}

/// A path without `..`.
pub(super) fn no_backsteps(causes: &mut Vec<Cause>, at: &str, path: &str) {
    if path.split('/').any(|part| part == "..") {
        causes.push(Cause::invalid(at, &json!(path), "must not contain '..'"));
    }
}

/// A path that goes down and does not begin as those that Kubernetes keeps for itself.
pub(super) fn not_reserved(causes: &mut Vec<Cause>, at: &str, path: &str) {
    descending(causes, at, path);
    if path.starts_with("..") && !path.starts_with("../") {
        causes.push(Cause::invalid(at, &json!(path), "must not start with '..'"));
    }
}

/// An address, written as loosely as Kubernetes has always read them.
pub(super) fn address(causes: &mut Vec<Cause>, at: &str, text: &str) {
    if !is_address(text) {
        let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        causes.push(Cause::invalid(at, &json!(text), why));
    }
}

/// Numbers of IPv4 may begin with zeros.
pub(crate) fn is_address(text: &str) -> bool {
    if text.contains(':') {
        return text.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let mut parts = 0;
    let good = text.split('.').all(|part| {
        parts += 1;
        let digits = !part.is_empty() && part.bytes().all(|sign| sign.is_ascii_digit());
        digits
            && part.trim_start_matches('0').len() <= 3
            && part.parse::<u64>().is_ok_and(|number| number <= 255)
    });
    good && parts == 4
}

/// A network: an address and the length of its prefix.
pub(super) fn network(causes: &mut Vec<Cause>, at: &str, text: &str) -> bool {
    let good = text.split_once('/').is_some_and(|(address, length)| {
        let most = if address.contains(':') { 128 } else { 32 };
        let digits = !length.is_empty() && length.bytes().all(|sign| sign.is_ascii_digit());
        is_address(address) && digits && length.parse::<u8>().is_ok_and(|length| length <= most)
    });
    if !good {
        let why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        causes.push(Cause::invalid(at, &json!(text), why));
    }
    good
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_have_zeros_before_their_numbers() {
        assert!(is_address("010.002.003.004") && is_address("::1") && is_address("::ffff:1.2.3.4"));
        assert!(!is_address("1.2.3") && !is_address("1.2.3.256") && !is_address("a"));
    }
}
