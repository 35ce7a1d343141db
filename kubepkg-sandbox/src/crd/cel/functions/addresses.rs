//! Addresses and networks: what is wrong with the text of one, in the words of Go's `net/netip` and of `library/ip.go`
//! and `library/cidr.go` of the API server. The values are `kube-cel`'s.

use kube_cel::cel::Value;
use kubepkg_gotemplate::sprig::is_ipv4;
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
    if let Err(why) = is_ipv4(text.as_bytes()) {
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
    if let Err(why) = is_ipv4(address.as_bytes()) {
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
