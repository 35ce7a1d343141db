//! Formats of texts: those that the API server looks at, as `kube-openapi/pkg/validation/strfmt` reads them.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::pattern::matches;

/// Whether texts of a format are looked at. Dashes in its name don't count.
pub(super) fn is_known(format: &str) -> bool {
    checker(&format.replace('-', "")).is_some()
}

/// Whether a text is of a format.
pub(super) fn fits(format: &str, text: &str) -> bool {
    checker(&format.replace('-', "")).is_none_or(|checker| checker(text))
}

const UUID: &str = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
const UUID3: &str = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
const UUID4: &str = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
const UUID5: &str = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
const HOSTNAME: &str = r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$";
const HEX_COLOR: &str = "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$";
const RGB_COLOR: &str = r"^rgb\(\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*,\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*,\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*\)$";
const BASE64: &str =
    r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$";
const CREDIT_CARD: &str = "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$";
const TIME: &str = "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";
const SHORT_NAME: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
const LONG_NAME: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// A whole duration of Go, or one of its parts among anything else, which Scala's durations are.
const GO_DURATION: &str = r"^[-+]?(0|([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$";
const SCALA_DURATION: &str = r"(?i)[0-9]+\s*((ns|nano[a-zµ]*|us|µs|micro[a-zµ]*|ms|milli[a-zµ]*|s|sec[a-zµ]*|m|min[a-zµ]*|h|hr|hour[a-zµ]*|d|day[a-zµ]*|w|wk|week[a-zµ]*)([^A-Za-zµ]|$))";

fn checker(name: &str) -> Option<fn(&str) -> bool> {
    Some(match name {
        "bsonobjectid" => |text| text.len() == 24 && text.bytes().all(|it| it.is_ascii_hexdigit()),
        "uri" => is_uri,
        "email" => is_email,
        "hostname" => |text| {
            let parts = text.split('.').all(|part| part.len() <= 63);
            matches(HOSTNAME, text) && text.len() <= 255 && parts
        },
        "ipv4" => |text| is_ipv4(text) || (text.contains('.') && is_ipv6(text)),
        "ipv6" => is_ipv6,
        "cidr" => is_cidr,
        "mac" => is_mac,
        "uuid" => |text| matches(UUID, text),
        "uuid3" => |text| matches(UUID3, text),
        "uuid4" => |text| matches(UUID4, text),
        "uuid5" => |text| matches(UUID5, text),
        "isbn" => |text| is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10,
        "isbn13" => is_isbn13,
        "creditcard" => is_credit_card,
        "ssn" => |text| text.len() == 11 && matches("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$", text),
        "hexcolor" => |text| matches(HEX_COLOR, text),
        "rgbcolor" => |text| matches(RGB_COLOR, text),
        "byte" => |text| matches(BASE64, text),
        "password" => |_| true,
        "date" => is_date,
        "duration" => |text| matches(GO_DURATION, text) || matches(SCALA_DURATION, text),
        "datetime" => is_date_time,
        "k8sshortname" => |text| text.len() <= 63 && matches(SHORT_NAME, text),
        "k8slongname" => |text| text.len() <= 253 && matches(LONG_NAME, text),
        _ => return None,
    })
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    let within = |range: std::ops::Range<usize>, limit: &str| {
        time.get(range).is_some_and(|part| part <= limit)
    };
    is_date(date)
        && matches(TIME, time)
        && within(0..2, "23")
        && within(3..5, "59")
        && within(6..8, "59")
}

/// Leading zeros are taken, as older clients wrote them.
fn is_ipv4(text: &str) -> bool {
    let mut parts = text.split('.');
    let all = parts.by_ref().take(4).filter(|part| {
        let number = part.trim_start_matches('0');
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (number.is_empty() || number.parse::<u8>().is_ok())
    });
    let count = all.count();
    count == 4 && parts.next().is_none()
}

fn is_ipv6(text: &str) -> bool {
    text.contains(':') && text.parse::<Ipv6Addr>().is_ok()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let limit = if is_ipv4(address) {
        Ipv4Addr::BITS
    } else if is_ipv6(address) {
        Ipv6Addr::BITS
    } else {
        return false;
    };
    let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    digits && length.parse::<u32>().is_ok_and(|length| length <= limit)
}

fn is_mac(text: &str) -> bool {
    let bytes = |separator: char, width: usize, counts: &[usize]| {
        let mut count = 0;
        let all = text.split(separator).all(|part| {
            count += 1;
            part.len() == width && part.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        all && counts.contains(&count)
    };
    bytes(':', 2, &[6, 8, 20]) || bytes('-', 2, &[6, 8, 20]) || bytes('.', 4, &[3, 4, 10])
}

fn digits(text: &str) -> Vec<u32> {
    text.chars().filter_map(|sign| sign.to_digit(10)).collect()
}

fn without_dashes(text: &str) -> String {
    let kept = text
        .chars()
        .filter(|sign| !sign.is_whitespace() && *sign != '-');
    kept.collect()
}

fn is_isbn10(text: &str) -> bool {
    let text = without_dashes(text);
    if !matches("^(?:[0-9]{9}X|[0-9]{10})$", &text) {
        return false;
    }
    let last = if text.ends_with('X') { 100 } else { 0 };
    let sum: u32 = (1..)
        .zip(digits(&text))
        .map(|(place, digit)| place * digit)
        .sum();
    (sum + last).is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let text = without_dashes(text);
    if !matches("^[0-9]{13}$", &text) {
        return false;
    }
    let weights = [1, 3].into_iter().cycle();
    let sum: u32 = weights
        .zip(digits(&text))
        .map(|(weight, digit)| weight * digit)
        .sum();
    sum.is_multiple_of(10)
}

fn is_credit_card(text: &str) -> bool {
    let numbers: String = text.chars().filter(char::is_ascii_digit).collect();
    if !matches(CREDIT_CARD, &numbers) {
        return false;
    }
    let doubled = |(place, digit): (usize, u32)| match (place % 2, digit * 2) {
        (0, _) => digit,
        (_, twice) if twice >= 10 => twice % 10 + 1,
        (_, twice) => twice,
    };
    let sum: u32 = digits(&numbers)
        .into_iter()
        .rev()
        .enumerate()
        .map(doubled)
        .sum();
    sum.is_multiple_of(10)
}

/// Absolute, or a path: what `url.ParseRequestURI` takes.
fn is_uri(text: &str) -> bool {
    let plain = text.bytes().all(|byte| !byte.is_ascii_control());
    let (head, _) = text.split_once('?').unwrap_or((text, ""));
    let escapes = head.split('%').skip(1).all(|rest| {
        let code = rest.as_bytes().get(..2);
        code.is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit))
    });
    if text == "*" {
        return true;
    }
    if !plain || !escapes || text.is_empty() {
        return false;
    }
    if head.starts_with('/') {
        return true;
    }
    let Some((scheme, rest)) = head.split_once(':') else {
        return false;
    };
    let good = scheme.starts_with(|sign: char| sign.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    if !good {
        return false;
    }
    let Some(authority) = rest.strip_prefix("//") else {
        return true;
    };
    let authority = authority.split('/').next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if !host.starts_with('[') || host.ends_with(']') => (host, port),
        _ => (host, ""),
    };
    let odd = |byte: u8| {
        matches!(
            byte,
            b' ' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'
        )
    };
    port.bytes().all(|byte| byte.is_ascii_digit()) && !host.bytes().any(odd)
}

/// An address, perhaps with a name before it in angle brackets.
fn is_email(text: &str) -> bool {
    let text = text.trim();
    let address = match text
        .strip_suffix('>')
        .and_then(|text| text.rsplit_once('<'))
    {
        Some((_, address)) => address,
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else {
        return false;
    };
    let atom = |text: &str| {
        !text.is_empty()
            && text.split('.').all(|part| {
                !part.is_empty()
                    && part
                        .chars()
                        .all(|sign| sign.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(sign))
            })
    };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let literal = domain.starts_with('[') && domain.ends_with(']');
    (atom(local) || quoted) && (atom(domain) || literal)
}
