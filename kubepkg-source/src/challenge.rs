//! What a registry wants to see: the `WWW-Authenticate` header
//! ([RFC 9110 §11.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1)).
//!
//! Understands `Basic` and `Bearer` with its `realm`, `service` and `scope`; other schemes are
//! passed over.

/// A challenge that can be answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// A user name and a password.
    Basic,
    /// A token from the service at `realm`.
    Bearer {
        realm: String,
        service: Option<String>,
        scope: Option<String>,
    },
}

impl Challenge {
    /// Reads one header; the first scheme in it decides.
    pub(crate) fn parse(header: &str) -> Option<Self> {
        let header = header.trim();
        let (scheme, rest) = header
            .split_once(char::is_whitespace)
            .unwrap_or((header, ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service, mut scope) = (None, None, None);
        for (name, value) in Parameters(rest) {
            match name.to_ascii_lowercase().as_str() {
                "realm" => realm = Some(value),
                "service" => service = Some(value),
                "scope" => scope = Some(value),
                _ => {}
            }
        }
        Some(Self::Bearer {
            realm: realm?,
            service,
            scope,
        })
    }
}

/// `name=value` and `name="value"`, separated by commas.
struct Parameters<'a>(&'a str);

impl Iterator for Parameters<'_> {
    type Item = (String, String);

    fn next(&mut self) -> Option<Self::Item> {
        let text = self
            .0
            .trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        let (name, rest) = text.split_once('=')?;
        let rest = rest.trim_start();
        let (value, rest) = if let Some(quoted) = rest.strip_prefix('"') {
            unquoted(quoted)?
        } else {
            let end = rest.find([',', ' ', '\t']).unwrap_or(rest.len());
            let (value, rest) = rest.split_at(end);
            (value.to_owned(), rest)
        };
        self.0 = rest;
        Some((name.trim().to_owned(), value))
    }
}

/// Reads up to the closing quote; a backslash quotes the next character.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, text.get(at + 1..).unwrap_or_default())),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_docker_hub_sends() {
        let header = "Bearer realm=\"https://auth.docker.io/token\",\
                      service=\"registry.docker.io\",scope=\"repository:a/b:pull,push\"";
        assert_eq!(
            Challenge::parse(header),
            Some(Challenge::Bearer {
                realm: "https://auth.docker.io/token".into(),
                service: Some("registry.docker.io".into()),
                scope: Some("repository:a/b:pull,push".into()),
            })
        );
    }

    #[test]
    fn reads_bare_and_quoted_values() {
        let header = r#"bearer realm=https://h/t , service="a \"b\"""#;
        assert_eq!(
            Challenge::parse(header),
            Some(Challenge::Bearer {
                realm: "https://h/t".into(),
                service: Some("a \"b\"".into()),
                scope: None,
            })
        );
    }

    #[test]
    fn passes_over_what_it_can_not_answer() {
        assert_eq!(
            Challenge::parse("Basic realm=\"x\""),
            Some(Challenge::Basic)
        );
        for other in [
            "",
            "Negotiate",
            "Bearer",
            "Bearer realm",
            "Bearer realm=\"open",
        ] {
            assert_eq!(Challenge::parse(other), None, "{other}");
        }
    }
}
