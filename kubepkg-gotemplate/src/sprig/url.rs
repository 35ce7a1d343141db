//! `urlParse` and `urlJoin`: Go's `net/url`, refusals included.

use super::address;
use super::args::{bytes, map, panic, text};
use super::strings::find;
use crate::collection::Map;
use crate::context::Context;
use crate::func::{FuncError, FuncResult, Function, Signature};
use crate::gotype::{Kind, MAP_ANY, STRING};
use crate::strconv::quote;
use crate::value::Value;

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    vec![
        Function::plain("urlJoin", Signature::new(types!(MAP_ANY), &STRING), join),
        Function::plain(
            "urlParse",
            Signature::new(types!(STRING), &MAP_ANY),
            |_, args| {
                let url = Url::parse(text(args, 0))
                    .map_err(|error| panic(format!("unable to parse url: {error}")))?;
                let userinfo = url.user.as_ref().map_or_else(Vec::new, User::text);
                let parts = [
                    ("scheme", url.scheme.clone()),
                    ("host", url.host.clone()),
                    ("hostname", url.hostname().to_vec()),
                    ("path", url.path.clone()),
                    ("query", url.query.clone()),
                    ("opaque", url.opaque.clone()),
                    ("fragment", url.fragment.clone()),
                    ("userinfo", userinfo),
                ];
                let result: Map = parts
                    .into_iter()
                    .map(|(key, part)| (key.into(), bytes(part)))
                    .collect();
                Ok(Value::Map(result))
            },
        ),
    ]
}

/// Which part of a URL is escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Path,
    Host,
    Zone,
    User,
    Fragment,
}

/// A URL as Go's `net/url` reads it.
#[derive(Default)]
pub struct Url {
    /// In lower case; empty when there is none.
    pub scheme: Vec<u8>,
    opaque: Vec<u8>,
    user: Option<User>,
    /// With port and brackets.
    pub host: Vec<u8>,
    /// Unescaped.
    pub path: Vec<u8>,
    /// As it was written.
    raw_path: Vec<u8>,
    query: Vec<u8>,
    fragment: Vec<u8>,
}

struct User {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

impl User {
    fn text(&self) -> Vec<u8> {
        let mut out = escape(&self.name, Part::User);
        if let Some(password) = &self.password {
            out.push(b':');
            out.extend_from_slice(&escape(password, Part::User));
        }
        out
    }
}

/// Whether a byte has to be written as `%XX`.
fn is_escaped(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return false;
    }
    match part {
        Part::Host | Part::Zone => !b"!$&'()*+,;=:[]<>\"".contains(&byte),
        Part::Path => !b"$&+,/:;=@".contains(&byte),
        Part::User => !b"$&+,;=".contains(&byte),
        Part::Fragment => !b"$&+,/:;=?@!()*".contains(&byte),
    }
}

fn escape(text: &[u8], part: Part) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        if is_escaped(*byte, part) {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        } else {
            out.push(*byte);
        }
    }
    out
}

fn hex(byte: Option<&u8>) -> Option<u8> {
    let digit = char::from(*byte?).to_digit(16)?;
    u8::try_from(digit).ok()
}

fn unescape(text: &[u8], part: Part) -> Result<Vec<u8>, String> {
    let bad = |text: &[u8]| format!("invalid URL escape {}", quote(text));
    let in_host = matches!(part, Part::Host | Part::Zone);
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        if *byte != b'%' {
            if in_host && byte.is_ascii() && is_escaped(*byte, part) {
                return Err(format!(
                    "invalid character {} in host name",
                    quote(&[*byte])
                ));
            }
            out.push(*byte);
            at += 1;
            continue;
        }
        let shown = text.get(at..(at + 3).min(text.len())).unwrap_or(b"");
        let (Some(high), Some(low)) = (hex(text.get(at + 1)), hex(text.get(at + 2))) else {
            return Err(bad(shown));
        };
        let value = high << 4 | low;
        if part == Part::Host && high < 8 && shown != b"%25" {
            return Err(bad(shown));
        }
        if part == Part::Zone && shown != b"%25" && value != b' ' && is_escaped(value, Part::Host) {
            return Err(bad(shown));
        }
        out.push(value);
        at += 3;
    }
    Ok(out)
}

/// What stands before and after the first `separator`.
fn cut<'t>(text: &'t [u8], separator: &[u8]) -> (&'t [u8], Option<&'t [u8]>) {
    match find(text, separator) {
        Some(at) => (
            text.get(..at).unwrap_or(text),
            text.get(at + separator.len()..),
        ),
        None => (text, None),
    }
}

fn split_scheme(text: &[u8]) -> Result<(&[u8], &[u8]), String> {
    for (i, byte) in text.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => {
                return Ok((
                    text.get(..i).unwrap_or(b""),
                    text.get(i + 1..).unwrap_or(b""),
                ));
            }
            _ => break,
        }
    }
    Ok((b"", text))
}

fn check_port(port: &[u8]) -> Result<(), String> {
    let digits = match port.split_first() {
        None => return Ok(()),
        Some((b':', digits)) => digits,
        Some(_) => port,
    };
    if port.starts_with(b":") && digits.iter().all(u8::is_ascii_digit) {
        return Ok(());
    }
    Err(format!("invalid port {} after host", quote(port)))
}

fn parse_host(scheme: &[u8], host: &[u8]) -> Result<Vec<u8>, String> {
    match host.iter().rposition(|b| *b == b'[') {
        Some(0) => {}
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {
            let first = host.iter().position(|b| *b == b':');
            let last = host.iter().rposition(|b| *b == b':');
            // Several colons are tolerated where the scheme is not that of the web.
            let colon = if matches!(scheme, b"http" | b"https") {
                first
            } else {
                last
            };
            check_port(colon.and_then(|at| host.get(at..)).unwrap_or(b""))?;
            return unescape(host, Part::Host);
        }
    }
    let Some(close) = host.iter().rposition(|b| *b == b']') else {
        return Err("missing ']' in host".to_owned());
    };
    let port = host.get(close + 1..).unwrap_or(b"");
    check_port(port)?;
    let port = unescape(port, Part::Host)?;
    let literal = host.get(1..close).unwrap_or(b"");
    let address = match find(literal, b"%25") {
        Some(zone) => {
            let mut address = unescape(literal.get(..zone).unwrap_or(b""), Part::Host)?;
            address.append(&mut unescape(
                literal.get(zone..).unwrap_or(b""),
                Part::Zone,
            )?);
            address
        }
        None => unescape(literal, Part::Host)?,
    };
    if address::is_ipv4(&address).map_err(|error| format!("invalid host: {error}"))? {
        return Err("invalid IP-literal".to_owned());
    }
    let mut out = vec![b'['];
    out.extend_from_slice(&address);
    out.push(b']');
    out.extend_from_slice(&port);
    Ok(out)
}

fn parse_user(text: &[u8]) -> Result<User, String> {
    let known = |b: &u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(b);
    if !text.iter().all(known) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let (name, password) = cut(text, b":");
    Ok(User {
        name: unescape(name, Part::User)?,
        password: password
            .map(|password| unescape(password, Part::User))
            .transpose()?,
    })
}

fn parse_main(whole: &[u8]) -> Result<Url, String> {
    if whole.iter().any(|b| *b < b' ' || *b == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    let mut url = Url::default();
    if whole == b"*" {
        url.path = b"*".to_vec();
        return Ok(url);
    }
    let (scheme, rest) = split_scheme(whole)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (mut rest, query) = cut(rest, b"?");
    url.query = query.unwrap_or(b"").to_vec();
    if !rest.starts_with(b"/") {
        if !url.scheme.is_empty() {
            url.opaque = rest.to_vec();
            return Ok(url);
        }
        if cut(rest, b"/").0.contains(&b':') {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    if (!url.scheme.is_empty() || !rest.starts_with(b"///"))
        && let Some(authority) = rest.strip_prefix(b"//")
    {
        let end = authority
            .iter()
            .position(|b| *b == b'/')
            .unwrap_or(authority.len());
        let (authority, path) = authority.split_at(end);
        rest = path;
        match authority.iter().rposition(|b| *b == b'@') {
            None => url.host = parse_host(&url.scheme, authority)?,
            Some(at) => {
                url.host = parse_host(&url.scheme, authority.get(at + 1..).unwrap_or(b""))?;
                url.user = Some(parse_user(authority.get(..at).unwrap_or(b""))?);
            }
        }
    }
    url.path = unescape(rest, Part::Path)?;
    url.raw_path = rest.to_vec();
    Ok(url)
}

impl Url {
    /// `url.Parse`.
    ///
    /// # Errors
    /// Go's text.
    pub fn parse(whole: &[u8]) -> Result<Self, String> {
        let shown = |text: &[u8], error: String| format!("parse {}: {error}", quote(text));
        let (main, fragment) = cut(whole, b"#");
        let mut url = parse_main(main).map_err(|error| shown(main, error))?;
        if let Some(fragment) = fragment {
            url.fragment =
                unescape(fragment, Part::Fragment).map_err(|error| shown(whole, error))?;
        }
        Ok(url)
    }

    /// `url.ParseRequestURI` of a text that has a scheme: a `#` is no more than a character.
    ///
    /// # Errors
    /// Go's text, without the URL in it.
    pub fn parse_request(whole: &[u8]) -> Result<Self, String> {
        match parse_main(whole)? {
            url if url.scheme.is_empty() => Err("invalid URI for request".to_owned()),
            url => Ok(url),
        }
    }

    /// The path as it was written, or escaped when it was written as none may be: `EscapedPath`.
    #[must_use]
    pub fn escaped_path(&self) -> Vec<u8> {
        if self.path == b"*" {
            return self.path.clone();
        }
        let allowed = |byte: &u8| b"!'()*[]%".contains(byte) || !is_escaped(*byte, Part::Path);
        if self.raw_path.iter().all(allowed)
            && unescape(&self.raw_path, Part::Path).as_ref() == Ok(&self.path)
        {
            return self.raw_path.clone();
        }
        escape(&self.path, Part::Path)
    }

    /// What stands between `?` and `#`.
    #[must_use]
    pub fn raw_query(&self) -> &[u8] {
        &self.query
    }

    /// What stands behind the last colon of the host, when it is a port.
    #[must_use]
    pub fn port(&self) -> &[u8] {
        let colon = self.host.iter().rposition(|b| *b == b':');
        let port = colon.and_then(|at| self.host.get(at..)).unwrap_or(b"");
        if check_port(port).is_ok() {
            port.strip_prefix(b":").unwrap_or(b"")
        } else {
            b""
        }
    }

    /// The host without port and brackets.
    #[must_use]
    pub fn hostname(&self) -> &[u8] {
        let colon = self.host.iter().rposition(|b| *b == b':');
        let host = match colon {
            Some(at) if check_port(self.host.get(at..).unwrap_or(b"")).is_ok() => {
                self.host.get(..at).unwrap_or(b"")
            }
            _ => &self.host,
        };
        host.strip_prefix(b"[")
            .and_then(|host| host.strip_suffix(b"]"))
            .unwrap_or(host)
    }

    /// `url.String()`.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.scheme.is_empty() {
            out.extend_from_slice(&self.scheme);
            out.push(b':');
        }
        if self.opaque.is_empty() {
            let has_host = !self.host.is_empty() || self.user.is_some();
            if has_host || !self.scheme.is_empty() && !self.path.is_empty() {
                out.extend_from_slice(b"//");
            }
            if let Some(user) = &self.user {
                out.extend_from_slice(&user.text());
                out.push(b'@');
            }
            out.extend_from_slice(&escape(&self.host, Part::Host));
            let path = self.escaped_path();
            if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
                out.push(b'/');
            }
            if out.is_empty() && cut(&path, b"/").0.contains(&b':') {
                out.extend_from_slice(b"./");
            }
            out.extend_from_slice(&path);
        } else {
            out.extend_from_slice(&self.opaque);
        }
        if !self.query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push(b'#');
            out.extend_from_slice(&escape(&self.fragment, Part::Fragment));
        }
        out
    }
}

fn join(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let parts = map(args, 0);
    let part = |key: &str| -> Result<Vec<u8>, FuncError> {
        match parts.get(key.as_bytes()) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(text.to_vec()),
            Some(Value::Nil) => Err(panic(super::args::NIL_DEREFERENCE)),
            Some(other) if other.kind() == Kind::String => Ok(Vec::new()),
            Some(other) => Err(panic(format!(
                "unable to parse {key} key, must be of type string, but {} found",
                other.kind().name()
            ))),
        }
    };
    let mut url = Url {
        scheme: part("scheme")?,
        host: part("host")?,
        path: part("path")?,
        query: part("query")?,
        opaque: part("opaque")?,
        fragment: part("fragment")?,
        user: None,
        raw_path: Vec::new(),
    };
    let userinfo = part("userinfo")?;
    if !userinfo.is_empty() {
        let carrier = [b"proto://", userinfo.as_slice(), b"@host"].concat();
        let carrier = Url::parse(&carrier)
            .map_err(|error| panic(format!("unable to parse userinfo in dict: {error}")))?;
        url.user = carrier.user;
    }
    Ok(bytes(url.text()))
}
