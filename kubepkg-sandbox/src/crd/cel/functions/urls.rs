//! URLs: `library/urls.go` of the API server, over Go's `net/url`.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::{Key, Map, Opaque};
use kubepkg_gotemplate::sprig::Url as GoUrl;
use kubepkg_yaml::go_quote;

use super::super::run::{Fault, Outcome};
use super::super::typed;
use super::{Called, Function};

struct Url(GoUrl);

impl Url {
    fn text(&self) -> String {
        text(&self.0.text())
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl PartialEq for Url {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Url {}

impl Opaque for Url {
    fn runtime_type_name(&self) -> &'static str {
        "kubernetes.URL"
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn url(value: &Value) -> Option<&Url> {
    typed::held(value)
}

pub(super) fn text_of(value: &Value) -> Option<String> {
    url(value).map(Url::text)
}

pub(super) fn named(name: &str) -> Option<Function> {
    Some(match name {
        "url" => parse,
        "isURL" => |called| match called.values {
            [Value::String(text)] => Ok(Value::Bool(offence(text).is_none())),
            _ => Err(called.no_overload()),
        },
        "getScheme" => |called| part(called, |url| text(&url.scheme)),
        "getHost" => |called| part(called, |url| text(&url.host)),
        "getHostname" => |called| part(called, |url| text(url.hostname())),
        "getPort" => |called| part(called, |url| text(url.port())),
        "getEscapedPath" => |called| part(called, |url| text(&url.escaped_path())),
        "getQuery" => query,
        _ => return None,
    })
}

fn parse(called: &mut Called<'_>) -> Outcome {
    let [Value::String(source)] = called.values else {
        return Err(called.no_overload());
    };
    let refused = |why| {
        Fault::error(format!(
            "URL parse error during conversion from string: {why}"
        ))
    };
    if let Some(why) = offence(source) {
        return Err(refused(why));
    }
    let parsed = GoUrl::parse(source.as_bytes()).map_err(refused)?;
    Ok(Value::Opaque(Arc::new(Url(parsed))))
}

fn part(called: &mut Called<'_>, of: fn(&GoUrl) -> String) -> Outcome {
    let url = called.values.first().and_then(url);
    let url = url.ok_or_else(|| called.no_overload())?;
    Ok(Value::String(Arc::new(of(&url.0))))
}

const NO_URI: &str = "invalid URI for request";

/// What `url.ParseRequestURI` says of a text.
pub(super) fn offence(source: &str) -> Option<String> {
    let why = if source.is_empty() {
        "empty url".to_owned()
    } else if source == "*" {
        return None;
    } else if source.starts_with('/') {
        // Without a scheme there is no host either.
        let path = format!("/{}", source.trim_start_matches('/'));
        let why = GoUrl::parse(path.as_bytes()).err()?;
        let (_, why) = why.split_once("\": ")?;
        why.to_owned()
    } else {
        let has_scheme = source.split_once(':').is_some_and(|(scheme, _)| {
            scheme.starts_with(|sign: char| sign.is_ascii_alphabetic())
                && scheme
                    .bytes()
                    .all(|sign| sign.is_ascii_alphanumeric() || b"+-.".contains(&sign))
        });
        match GoUrl::parse_request(source.as_bytes()).err()? {
            why if why.starts_with("invalid URL escape") && !has_scheme => NO_URI.to_owned(),
            why if why.starts_with("first path segment") => NO_URI.to_owned(),
            why => why,
        }
    };
    Some(format!("parse {}: {why}", go_quote(source)))
}

fn query(called: &mut Called<'_>) -> Outcome {
    let url = called.values.first().and_then(url);
    let url = url.ok_or_else(|| called.no_overload())?;
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for pair in url.0.raw_query().split(|byte| *byte == b'&') {
        if pair.is_empty() || pair.contains(&b';') {
            continue;
        }
        let mut parts = pair.splitn(2, |byte| *byte == b'=');
        let key = parts.next().and_then(unescaped);
        let value = unescaped(parts.next().unwrap_or_default());
        if let (Some(key), Some(value)) = (key, value) {
            let value = Value::String(Arc::new(value));
            all.entry(key).or_default().push(value);
        }
    }
    let all: HashMap<Key, Value> = all
        .into_iter()
        .map(|(key, values)| (Key::from(key), Value::List(Arc::new(values))))
        .collect();
    Ok(Value::Map(Map { map: Arc::new(all) }))
}

/// What a part of a query stands for; none when it is escaped in a wrong way.
fn unescaped(part: &[u8]) -> Option<String> {
    let mut found = Vec::with_capacity(part.len());
    let mut rest = part.iter();
    while let Some(byte) = rest.next() {
        found.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            plain => *plain,
        });
    }
    Some(text(&found))
}
