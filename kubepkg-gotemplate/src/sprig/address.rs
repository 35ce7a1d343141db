//! IP addresses in brackets, with the complaints of Go's `net/netip`.

use crate::strconv::quote;

/// Whether `text` is an IPv4 address (`true`) or an IPv6 address with an optional zone: Go's `netip.ParseAddr`.
///
/// # Errors
/// Go's text for what is neither.
pub fn is_ipv4(text: &[u8]) -> Result<bool, String> {
    let complain = |message: &str, at: &[u8]| {
        let place = if at.is_empty() {
            String::new()
        } else {
            format!(" (at {})", quote(at))
        };
        format!("ParseAddr({}): {message}{place}", quote(text))
    };
    match text.iter().find(|b| matches!(b, b'.' | b':' | b'%')) {
        Some(b'.') => v4(text)
            .map(|()| true)
            .map_err(|(message, at)| complain(message, at)),
        Some(b':') => v6(text)
            .map(|()| false)
            .map_err(|(message, at)| complain(message, at)),
        Some(_) => Err(complain("missing IPv6 address", b"")),
        None => Err(complain("unable to parse IP", b"")),
    }
}

/// A complaint and where it arose.
type Bad<'t> = (&'static str, &'t [u8]);

fn v4(text: &[u8]) -> Result<(), Bad<'_>> {
    let (mut value, mut digits, mut fields) = (0_u32, 0, 0);
    for (i, byte) in text.iter().enumerate() {
        let rest = text.get(i..).unwrap_or(b"");
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(("IPv4 field has octet with leading zero", b""));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(("IPv4 field has value >255", b""));
                }
            }
            b'.' => {
                if digits == 0 || i + 1 == text.len() {
                    return Err(("IPv4 field must have at least one digit", rest));
                }
                if fields == 3 {
                    return Err(("IPv4 address too long", b""));
                }
                fields += 1;
                (value, digits) = (0, 0);
            }
            _ => return Err(("unexpected character", rest)),
        }
    }
    if fields < 3 {
        Err(("IPv4 address too short", b""))
    } else {
        Ok(())
    }
}

fn v6(whole: &[u8]) -> Result<(), Bad<'_>> {
    let mut rest = whole;
    if let Some(at) = whole.iter().position(|b| *b == b'%') {
        if at + 1 == whole.len() {
            return Err(("zone must be a non-empty string", b""));
        }
        rest = whole.get(..at).unwrap_or(whole);
    }
    let mut ellipsis = false;
    if let Some(after) = rest.strip_prefix(b"::") {
        ellipsis = true;
        rest = after;
        if rest.is_empty() {
            return Ok(());
        }
    }
    let mut bytes = 0;
    while bytes < 16 {
        let digits = rest.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        if digits > 4 {
            return Err(("each group must have 4 or less digits", rest));
        }
        if digits == 0 {
            return Err((
                "each colon-separated field must have at least one digit",
                rest,
            ));
        }
        if rest.get(digits) == Some(&b'.') {
            if !ellipsis && bytes != 12 {
                let message =
                    "embedded IPv4 address must replace the final 2 fields of the address";
                return Err((message, rest));
            }
            if bytes + 4 > 16 {
                let message =
                    "too many hex fields to fit an embedded IPv4 at the end of the address";
                return Err((message, rest));
            }
            v4(rest)?;
            rest = b"";
            bytes += 4;
            break;
        }
        bytes += 2;
        rest = rest.get(digits..).unwrap_or(b"");
        if rest.is_empty() {
            break;
        }
        let Some(after) = rest.strip_prefix(b":") else {
            return Err(("unexpected character, want colon", rest));
        };
        if after.is_empty() {
            return Err(("colon must be followed by more characters", rest));
        }
        rest = after;
        if let Some(after) = rest.strip_prefix(b":") {
            if ellipsis {
                return Err(("multiple :: in address", rest));
            }
            ellipsis = true;
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return Err(("trailing garbage after address", rest));
    }
    match (bytes < 16, ellipsis) {
        (true, false) => Err(("address string too short", b"")),
        (false, true) => Err(("the :: must expand to at least one field of zeros", b"")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complains_as_netip_does() {
        // From the tests of Go's net/netip.
        for (text, want) in [
            ("bad", "unable to parse IP"),
            ("1.2.3", "IPv4 address too short"),
            ("1.02.3.4", "IPv4 field has octet with leading zero"),
            (
                "fe80::12345",
                "each group must have 4 or less digits (at \"12345\")",
            ),
            ("1:2:3", "address string too short"),
            ("::1::", "multiple :: in address (at \":\")"),
        ] {
            assert_eq!(
                is_ipv4(text.as_bytes()),
                Err(format!("ParseAddr(\"{text}\"): {want}"))
            );
        }
        assert_eq!(is_ipv4(b"::ffff:1.2.3.4"), Ok(false));
        assert_eq!(is_ipv4(b"fe80::1%eth0"), Ok(false));
        assert_eq!(is_ipv4(b"10.0.0.1"), Ok(true));
    }
}
