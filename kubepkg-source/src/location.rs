//! Where charts are: the `repository` of a chart reference, parsed.
//!
//! `https://…` and `http://…` are Helm repositories, `oci://…` is a registry; any other scheme is
//! kept for a distribution that registers a fetcher for it. Refuses relative locations, queries
//! and fragments, and user information in `oci://` locations; user information in an HTTP location
//! is taken as basic authentication and never shown again. Rules: reference §1.2, §2.8.

use std::fmt;
use std::net::IpAddr;

use url::{Host, Url};

use crate::credentials::Credential;
use crate::reference::{OCI_SCHEME, OciReference, ReferenceError};

/// A parsed location. Its [`Display`](fmt::Display) form holds no secret.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChartLocation {
    /// A Helm repository: the folder of an `index.yaml`.
    Http(HttpLocation),
    /// A path in an OCI registry; each chart is a repository below it.
    Oci(OciLocation),
    /// A location of another scheme.
    Other {
        /// The scheme in lower case.
        scheme: String,
        /// The location as it was given, without user information.
        url: Url,
    },
}

/// A Helm repository.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpLocation {
    /// Ends with a slash and has no user information.
    base: Url,
    credential: Option<Credential>,
}

/// A path in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciLocation {
    registry: String,
    path: String,
}

/// A text that is no location of charts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LocationError {
    /// It is no absolute URL.
    #[error("it is not an absolute URL")]
    Url(#[from] url::ParseError),
    /// It has a query or a fragment.
    #[error("a repository has no query and no fragment")]
    Query,
    /// It is an `http` or `https` URL without a host.
    #[error("the host is missing")]
    Host,
    /// It has user information where none is taken.
    #[error("user names and passwords don't belong in an oci:// location")]
    UserInfo,
    /// A mirror that is no `oci://` location.
    #[error("a mirror is an oci:// location")]
    Mirror,
    /// The registry or the path breaks the grammar of references.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
}

impl ChartLocation {
    /// Parses the `repository` of a chart reference.
    ///
    /// # Errors
    ///
    /// What the text lacks or must not have.
    pub fn parse(text: &str) -> Result<Self, LocationError> {
        if let Some(rest) = text.strip_prefix(OCI_SCHEME) {
            return OciLocation::parse(rest).map(Self::Oci);
        }
        let mut url = Url::parse(text)?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(LocationError::Query);
        }
        let credential = take_user_info(&mut url);
        if matches!(url.scheme(), "http" | "https") {
            if url.host().is_none() {
                return Err(LocationError::Host);
            }
            if !url.path().ends_with('/') {
                url.set_path(&format!("{}/", url.path()));
            }
            return Ok(Self::Http(HttpLocation {
                base: url,
                credential,
            }));
        }
        Ok(Self::Other {
            scheme: url.scheme().to_owned(),
            url,
        })
    }

    /// The scheme, by which the fetcher is chosen.
    pub fn scheme(&self) -> &str {
        match self {
            Self::Http(location) => location.base.scheme(),
            Self::Oci(_) => "oci",
            Self::Other { scheme, .. } => scheme,
        }
    }
}

impl HttpLocation {
    /// The folder of the index: ends with a slash, has no user information.
    pub fn base(&self) -> &Url {
        &self.base
    }

    /// The credential that the location itself held.
    pub fn credential(&self) -> Option<&Credential> {
        self.credential.as_ref()
    }

    /// The URL of `index.yaml`.
    ///
    /// # Errors
    ///
    /// The base can't be a base; parsing lets none such through.
    pub fn index_url(&self) -> Result<Url, url::ParseError> {
        self.base.join("index.yaml")
    }
}

impl OciLocation {
    fn parse(rest: &str) -> Result<Self, LocationError> {
        if rest.contains('@') {
            return Err(LocationError::UserInfo);
        }
        let rest = rest.trim_end_matches('/');
        // A bare registry holds charts at its root: `oci://host` and chart `c` is `host/c`.
        let probe = OciReference::parse(&format!("{rest}/x"))?;
        let path = probe.repository.strip_suffix('x').unwrap_or_default();
        Ok(Self {
            registry: probe.registry,
            path: path.trim_end_matches('/').to_owned(),
        })
    }

    /// `host` or `host:port`.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path below which charts are; may be empty.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The reference of a chart's version.
    ///
    /// # Errors
    ///
    /// The name or version can't be part of a reference.
    pub fn reference(&self, name: &str, version: &str) -> Result<OciReference, ReferenceError> {
        self.repository(name)?.with_tag(version)
    }

    /// The repository of a chart, without a tag.
    ///
    /// # Errors
    ///
    /// The name can't be part of a reference.
    pub fn repository(&self, name: &str) -> Result<OciReference, ReferenceError> {
        let path = if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}/{name}", self.path)
        };
        let reference = OciReference::parse(&format!("{}/{path}", self.registry))?;
        if !reference.tag.is_empty() || !reference.digest.is_empty() {
            return Err(ReferenceError::Repository(path));
        }
        Ok(reference)
    }

    /// The location itself as the repository of a chart, when it ends with the chart's name: people write
    /// `oci://host/charts/app` for the chart `app` below `oci://host/charts`.
    pub(crate) fn named(&self, name: &str) -> Option<OciReference> {
        let last = self.path.rsplit('/').next()?;
        (last == name && !name.is_empty()).then(|| OciReference {
            registry: self.registry.clone(),
            repository: self.path.clone(),
            tag: String::new(),
            digest: String::new(),
        })
    }
}

impl fmt::Display for ChartLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(location) => f.write_str(location.base.as_str().trim_end_matches('/')),
            Self::Oci(location) if location.path.is_empty() => {
                write!(f, "{OCI_SCHEME}{}", location.registry)
            }
            Self::Oci(location) => {
                write!(f, "{OCI_SCHEME}{}/{}", location.registry, location.path)
            }
            Self::Other { url, .. } => f.write_str(url.as_str()),
        }
    }
}

impl fmt::Debug for ChartLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChartLocation({self})")
    }
}

impl fmt::Debug for HttpLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpLocation({})", self.base)
    }
}

/// Removes user information and gives it as a credential.
fn take_user_info(url: &mut Url) -> Option<Credential> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let user = percent_decoded(url.username());
    let password = percent_decoded(url.password().unwrap_or_default());
    // Neither fails for a URL that has user information.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Some(Credential::Basic { user, password })
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after
            .get(..2)
            .and_then(|pair| std::str::from_utf8(pair).ok());
        match hex.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A URL as messages may show it: without user information, query and fragment.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// A text that may be a URL, as messages may show it.
pub(crate) fn shown_text(text: &str) -> String {
    match ChartLocation::parse(text) {
        Ok(location) => location.to_string(),
        Err(_) => match Url::parse(text) {
            Ok(url) => shown(&url),
            // Whatever stands before an `@` may be a password.
            Err(_) => text
                .rsplit_once('@')
                .map_or(text, |(_, rest)| rest)
                .to_owned(),
        },
    }
}

/// Whether a URL leads to this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            name.eq_ignore_ascii_case("localhost") || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_repositories_from_registries() {
        let helm = ChartLocation::parse("https://charts.example/stable").unwrap();
        let ChartLocation::Http(http) = &helm else {
            panic!("{helm}")
        };
        assert_eq!(
            http.index_url().unwrap().as_str(),
            "https://charts.example/stable/index.yaml"
        );
        assert_eq!(helm.scheme(), "https");

        let oci = ChartLocation::parse("oci://r.example:5000/org/charts/").unwrap();
        let ChartLocation::Oci(oci) = &oci else {
            panic!("{oci}")
        };
        let reference = oci.reference("web", "1.0.0+b").unwrap();
        assert_eq!(
            reference.to_string(),
            "r.example:5000/org/charts/web:1.0.0_b"
        );

        assert_eq!(
            ChartLocation::parse("s3://bucket/charts").unwrap().scheme(),
            "s3"
        );
    }

    #[test]
    fn a_bare_registry_holds_charts_at_its_root() {
        let ChartLocation::Oci(oci) = ChartLocation::parse("oci://r.example").unwrap() else {
            panic!("not oci")
        };
        assert_eq!(
            oci.reference("web", "1.0.0").unwrap().to_string(),
            "r.example/web:1.0.0"
        );
    }

    #[test]
    fn a_chart_name_can_not_smuggle_in_a_tag() {
        let ChartLocation::Oci(oci) = ChartLocation::parse("oci://r.example/c").unwrap() else {
            panic!("not oci")
        };
        for name in ["web:latest", "web@sha256:0", "../web", "web/", ""] {
            assert!(oci.reference(name, "1.0.0").is_err(), "{name}");
        }
    }

    #[test]
    fn only_the_tag_takes_underscores() {
        let ChartLocation::Oci(oci) = ChartLocation::parse("oci://r.example/1").unwrap() else {
            panic!("not oci")
        };
        assert_eq!(
            oci.reference("1", "1+1").unwrap().to_string(),
            "r.example/1/1:1_1"
        );
    }

    #[test]
    fn user_information_is_taken_and_not_shown() {
        let location = ChartLocation::parse("https://me:s%40cret@charts.example/x").unwrap();
        assert_eq!(location.to_string(), "https://charts.example/x");
        assert!(!format!("{location:?}").contains("cret"));
        let ChartLocation::Http(http) = location else {
            panic!("not http")
        };
        assert_eq!(
            http.credential(),
            Some(&Credential::Basic {
                user: "me".into(),
                password: "s@cret".into()
            })
        );
        assert!(!shown_text("https://me:secret@h example/").contains("secret"));
    }

    #[test]
    fn refuses_what_is_no_location() {
        assert_eq!(
            ChartLocation::parse("https://h/x?token=1"),
            Err(LocationError::Query)
        );
        assert_eq!(
            ChartLocation::parse("oci://u:p@h/x"),
            Err(LocationError::UserInfo)
        );
        assert!(matches!(
            ChartLocation::parse("charts/web"),
            Err(LocationError::Url(_))
        ));
        assert!(matches!(
            ChartLocation::parse("oci://h/UP"),
            Err(LocationError::Reference(_))
        ));
    }

    #[test]
    fn knows_loopback() {
        for (url, expected) in [
            ("http://localhost:1/", true),
            ("http://127.9.0.1/", true),
            ("http://[::1]/", true),
            ("http://10.0.0.1/", false),
            ("http://localhost.example/", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
