//! Addresses and networks: what is wrong with the text of one, in the words of Go's `net/netip` and of `library/ip.go`
//! and `library/cidr.go` of the API server. The values are `kube-cel`'s.

use kube_cel::cel::Value;
use kubepkg_yaml::go_quote;

use super::super::run::{Fault, Outcome};
use super::super::typed;
use super::{Called, Function, hand_on};

pub(super) fn named(name: &str) -> Option<Function> {
    Some(match name {
        "ip" => |called| match called.values {
            [Value::String(text)] => {
                sound(address_offence(text))?;
                hand_on(called)
            }
            [Value::Opaque(_)] => hand_on(called),
            _ => Err(called.no_overload()),
        },
        "isIP" => |called| match called.values {
            [Value::String(text)] => Ok(Value::Bool(address_offence(text).is_none())),
            _ => Err(called.no_overload()),
        },
        "ip.isCanonical" => |called| match called.values {
            [Value::String(text)] => {
                sound(address_offence(text))?;
                hand_on(called)
            }
            _ => Err(called.no_overload()),
        },
        "cidr" => |called| match called.values {
            [Value::String(text)] => {
                sound(network_offence(text).map(|why| format!("{NETWORK}: {why}")))?;
                hand_on(called)
            }
            _ => Err(called.no_overload()),
        },
        "isCIDR" => |called| match called.values {
            [Value::String(text)] => Ok(Value::Bool(network_offence(text).is_none())),
            _ => Err(called.no_overload()),
        },
        "containsIP" => |called| match called.values {
            // The API server drops why.
            [_, Value::String(text)] if address_offence(text).is_some() => {
                Err(Fault::no_overload())
            }
            _ => of(called, "net.CIDR"),
        },
        "containsCIDR" => contains,
        "masked" | "prefixLength" => |called| of(called, "net.CIDR"),
        "family"
        | "isUnspecified"
        | "isLoopback"
        | "isLinkLocalMulticast"
        | "isLinkLocalUnicast"
        | "isGlobalUnicast" => |called| of(called, "net.IP"),
        _ => return None,
    })
}

/// A function of values of one type.
fn of(called: &mut Called<'_>, wanted: &str) -> Outcome {
    match called.values.first() {
        Some(value) if typed::name(value) == wanted => hand_on(called),
        _ => Err(called.no_overload()),
    }
}

const NETWORK: &str = "network address parse error during conversion from string";

fn contains(called: &mut Called<'_>) -> Outcome {
    if let [_, Value::String(text)] = called.values {
        sound(network_offence(text).map(|why| format!("{NETWORK}: {why}")))?;
    }
    of(called, "net.CIDR")
}

fn sound(offence: Option<String>) -> Result<(), Fault> {
    offence.map_or(Ok(()), |why| Err(Fault::Error(why)))
}

/// What is wrong with an address.
fn address_offence(text: &str) -> Option<String> {
    let quoted = go_quote(text);
    if let Err(why) = parsed(text) {
        return Some(format!(
            "IP Address {quoted} parse error during conversion from string: {why}"
        ));
    }
    if text.contains('%') {
        return Some(format!(
            "IP address {quoted} with zone value is not allowed"
        ));
    }
    is_mapped(text).then(|| format!("IPv4-mapped IPv6 address {quoted} is not allowed"))
}

fn is_mapped(text: &str) -> bool {
    let address = text.parse::<std::net::Ipv6Addr>();
    address.is_ok_and(|address| address.to_ipv4_mapped().is_some())
}

/// What is wrong with a network.
fn network_offence(text: &str) -> Option<String> {
    let refused = |why: String| {
        let quoted = go_quote(text);
        Some(format!("{NETWORK}: netip.ParsePrefix({quoted}): {why}"))
    };
    let Some((address, bits)) = text.rsplit_once('/') else {
        return refused("no '/'".to_owned());
    };
    if let Err(why) = parsed(address) {
        return refused(why);
    }
    if address.contains('%') {
        return refused("IPv6 zones cannot be present in a prefix".to_owned());
    }
    let plain = bits.bytes().all(|digit| digit.is_ascii_digit());
    let zero = bits.len() > 1 && bits.starts_with('0');
    let Some(count) = (plain && !zero).then(|| bits.parse::<u32>().ok()).flatten() else {
        return refused(format!("bad bits after slash: {}", go_quote(bits)));
    };
    if count > if address.contains(':') { 128 } else { 32 } {
        return refused("prefix length out of range".to_owned());
    }
    let quoted = go_quote(text);
    is_mapped(address).then(|| format!("IPv4-mapped IPv6 address {quoted} is not allowed"))
}

/// `netip.ParseAddr`, as far as errors go.
fn parsed(text: &str) -> Result<(), String> {
    let wrong = |why: &str, at: &str| {
        let quoted = go_quote(text);
        let at = if at.is_empty() {
            String::new()
        } else {
            format!(" (at {})", go_quote(at))
        };
        format!("ParseAddr({quoted}): {why}{at}")
    };
    match text.chars().find(|sign| matches!(sign, '.' | ':' | '%')) {
        Some('.') => four(text).map_err(|(why, at)| wrong(why, at)),
        Some(':') => six(text).map_err(|(why, at)| wrong(why, at)),
        Some(_) => Err(wrong("missing IPv6 address", "")),
        None => Err(wrong("unable to parse IP", "")),
    }
}

type Wrong<'t> = (&'static str, &'t str);

fn four(text: &str) -> Result<(), Wrong<'_>> {
    let (mut fields, mut value, mut digits) = (0, 0_u32, 0);
    let bytes = text.as_bytes();
    for (index, sign) in bytes.iter().enumerate() {
        let rest = text.get(index..).unwrap_or_default();
        match sign {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(("IPv4 field has octet with leading zero", ""));
                }
                value = value * 10 + u32::from(sign - b'0');
                digits += 1;
                if value > 255 {
                    return Err(("IPv4 field has value >255", ""));
                }
            }
            b'.' => {
                let before = index.checked_sub(1).and_then(|before| bytes.get(before));
                if index + 1 == bytes.len() || before.is_none_or(|before| *before == b'.') {
                    return Err(("IPv4 field must have at least one digit", rest));
                }
                if fields == 3 {
                    return Err(("IPv4 address too long", ""));
                }
                fields += 1;
                (value, digits) = (0, 0);
            }
            _ => return Err(("unexpected character", rest)),
        }
    }
    if fields < 3 {
        return Err(("IPv4 address too short", ""));
    }
    Ok(())
}

fn six(text: &str) -> Result<(), Wrong<'_>> {
    let mut rest = text;
    if let Some((address, zone)) = text.split_once('%') {
        if zone.is_empty() {
            return Err(("zone must be a non-empty string", ""));
        }
        rest = address;
    }
    let mut gap = false;
    if let Some(after) = rest.strip_prefix("::") {
        gap = true;
        rest = after;
        if rest.is_empty() {
            return Ok(());
        }
    }
    let mut bytes = 0;
    while bytes < 16 {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return Err(("each group must have 4 or less digits", rest));
        }
        if digits == 0 {
            return Err((
                "each colon-separated field must have at least one digit",
                rest,
            ));
        }
        let after = rest.get(digits..).unwrap_or_default();
        if after.starts_with('.') {
            if !gap && bytes != 12 {
                let why = "embedded IPv4 address must replace the final 2 fields of the address";
                return Err((why, rest));
            }
            if bytes + 4 > 16 {
                let why = "too many hex fields to fit an embedded IPv4 at the end of the address";
                return Err((why, rest));
            }
            four(rest)?;
            rest = "";
            bytes += 4;
            break;
        }
        bytes += 2;
        rest = after;
        if rest.is_empty() {
            break;
        }
        let Some(after) = rest.strip_prefix(':') else {
            return Err(("unexpected character, want colon", rest));
        };
        if after.is_empty() {
            return Err(("colon must be followed by more characters", rest));
        }
        rest = after;
        if let Some(after) = rest.strip_prefix(':') {
            if gap {
                return Err(("multiple :: in address", rest));
            }
            gap = true;
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
    }
    match (rest.is_empty(), bytes < 16, gap) {
        (false, ..) => Err(("trailing garbage after address", rest)),
        (true, true, false) => Err(("address string too short", "")),
        (true, false, true) => Err(("the :: must expand to at least one field of zeros", "")),
        _ => Ok(()),
    }
}
