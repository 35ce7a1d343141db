//! A request, read: who asks, for what, with which options.

use std::borrow::Cow;

use bytes::Bytes;
use http::Method;

/// A request to the API server.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) accept: String,
    pub(crate) content_type: String,
    pub(crate) user_agent: String,
    pub(crate) body: Bytes,
    /// Who asks.
    pub(crate) user: User,
    /// How far behind the answer to a read may be.
    pub(crate) lag: Lag,
}

/// How many changes of its resource a read does not see yet, as from a watch cache that lags
/// behind. Faults put it into the extensions of a request; no client can send it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lag(pub(crate) usize);

/// The name of a user. Who listens on a socket puts it into the extensions of a request; within the process everybody
/// is the administrator.
#[derive(Clone, Debug)]
pub(crate) struct User(pub(crate) String);

impl Default for User {
    fn default() -> Self {
        Self("admin".to_owned())
    }
}

impl Call {
    /// The `Content-Type` without parameters; one whose parameters have no values is none that is known.
    pub(crate) fn media_type(&self) -> &str {
        let mut parts = self.content_type.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        if parts.any(|parameter| !parameter.is_empty() && !parameter.contains('=')) {
            return &self.content_type;
        }
        media
    }

    /// Who writes, for `managedFields`: the parameter, else the first word of the user agent.
    pub(crate) fn manager(&self) -> String {
        match self.query.get("fieldManager") {
            "" => {
                let agent = self.user_agent.split('/').next().unwrap_or_default();
                let agent = if agent.is_empty() { "unknown" } else { agent };
                agent.chars().take(128).collect()
            }
            given => given.to_owned(),
        }
    }

    /// Whether nothing is to be stored.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.query.all("dryRun").any(|value| value == "All")
    }
}

/// The parameters of a URL, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        Self(
            url::form_urlencoded::parse(text.as_bytes())
                .map(|(key, value)| (key.into_owned(), value.into_owned()))
                .collect(),
        )
    }

    /// The first value of a parameter; empty when it is not there.
    pub(crate) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let of_name = self.0.iter().filter(move |(key, _)| key == name);
        of_name.map(|(_, value)| value.as_str())
    }

    /// A flag, as Go's `ParseBool` and the API server's conversion read it: `0`, `false` and
    /// nothing are false, everything else is true.
    pub(crate) fn flag(&self, name: &str) -> bool {
        match self.all(name).next() {
            None => false,
            Some(value) => !(value.eq_ignore_ascii_case("false") || value == "0"),
        }
    }

    /// Whether a parameter is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }
}

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// `/api`
    Core,
    /// `/apis`
    Groups,
    /// `/apis/GROUP`
    Group(String),
    /// `/api/v1`, `/apis/GROUP/VERSION`
    Version(String, String),
    /// Objects.
    Objects(Place),
    /// Something else: `/version`, `/healthz`, `/openapi/v3`.
    Other,
}

/// What a path below a version names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) group: String,
    pub(crate) version: String,
    /// Empty outside of namespaces.
    pub(crate) namespace: String,
    pub(crate) plural: String,
    /// Empty for a collection.
    pub(crate) name: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
    /// Something is behind the subresource.
    pub(crate) deeper: bool,
}

impl Target {
    pub(crate) fn parse(path: &str) -> Self {
        let parts: Vec<Cow<'_, str>> = path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| percent_decoded(part))
            .collect();
        let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
        match parts.as_slice() {
            ["api"] => Self::Core,
            ["apis"] => Self::Groups,
            ["apis", group] => Self::Group((*group).to_owned()),
            ["api", version] => Self::Version(String::new(), (*version).to_owned()),
            ["apis", group, version] => Self::Version((*group).to_owned(), (*version).to_owned()),
            ["api", version, rest @ ..] => Self::Objects(Place::parse("", version, rest)),
            ["apis", group, version, rest @ ..] => {
                Self::Objects(Place::parse(group, version, rest))
            }
            _ => Self::Other,
        }
    }
}

impl Place {
    fn parse(group: &str, version: &str, rest: &[&str]) -> Self {
        let place = |namespace: &str, plural: &str, rest: &[&str]| Self {
            group: group.to_owned(),
            version: version.to_owned(),
            namespace: namespace.to_owned(),
            plural: plural.to_owned(),
            name: rest.first().copied().unwrap_or_default().to_owned(),
            subresource: rest.get(1).copied().unwrap_or_default().to_owned(),
            deeper: rest.len() > 2,
        };
        match rest {
            // The two parts of a namespace itself look like resources in it.
            ["namespaces", name, sub @ ("status" | "finalize")] => {
                place("", "namespaces", &[name, sub])
            }
            ["namespaces", namespace, plural, rest @ ..] => place(namespace, plural, rest),
            [plural, rest @ ..] => place("", plural, rest),
            [] => place("", "", &[]),
        }
    }
}

/// The verb of a request and the object that it is about, as the audit log has them.
pub(crate) fn audited(method: &Method, uri: &http::Uri) -> (&'static str, serde_json::Value) {
    let query = Query::parse(uri.query().unwrap_or_default());
    let place = match Target::parse(uri.path()) {
        Target::Objects(place) => place,
        _ => Place::default(),
    };
    let one = !place.name.is_empty() || place.plural.is_empty();
    let verb = match (method.as_str(), one) {
        ("GET", true) => "get",
        ("GET", false) if query.flag("watch") => "watch",
        ("GET", false) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "delete",
        ("DELETE", false) => "deletecollection",
        _ => "",
    };
    let object = serde_json::json!({
        "apiGroup": place.group, "resource": place.plural, "subresource": place.subresource,
        "namespace": place.namespace, "name": place.name,
    });
    (verb, object)
}

fn percent_decoded(part: &str) -> Cow<'_, str> {
    if !part.contains('%') {
        return Cow::Borrowed(part);
    }
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        let hex = (byte == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match hex {
            Some(decoded) => {
                bytes.push(decoded);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => bytes.push(byte),
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> (String, String, String, String) {
        match Target::parse(path) {
            Target::Objects(place) => {
                (place.namespace, place.plural, place.name, place.subresource)
            }
            other => panic!("{path} is {other:?}"),
        }
    }

    #[test]
    fn a_namespace_is_an_object_and_a_place() {
        let is = |a: &str, b: &str, c: &str, d: &str| {
            (a.to_owned(), b.to_owned(), c.to_owned(), d.to_owned())
        };
        assert_eq!(place("/api/v1/namespaces"), is("", "namespaces", "", ""));
        assert_eq!(place("/api/v1/namespaces/a"), is("", "namespaces", "a", ""));
        assert_eq!(
            place("/api/v1/namespaces/a/status"),
            is("", "namespaces", "a", "status")
        );
        assert_eq!(place("/api/v1/namespaces/a/pods"), is("a", "pods", "", ""));
        assert_eq!(
            place("/apis/apps/v1/namespaces/a/deployments/b/scale"),
            is("a", "deployments", "b", "scale")
        );
        assert_eq!(
            place("/apis/x.io/v1/things/system%3Aa"),
            is("", "things", "system:a", "")
        );
    }

    #[test]
    fn flags_are_true_unless_they_say_no() {
        let query = Query::parse("a&b=1&c=false&d=0&e=no");
        let flags = ["a", "b", "c", "d", "e", "f"].map(|name| query.flag(name));
        assert_eq!(flags, [true, true, false, false, true, false]);
    }
}
