//! Who may read from and write to a [`ChartServer`](super::ChartServer).
//!
//! The Helm repository takes basic authentication only. The registry takes what the server was
//! built with: basic authentication, or the token flow of the
//! [distribution specification](https://distribution.github.io/distribution/spec/auth/token/):
//! 401 with a `Bearer` challenge, a token from `/token` for the credentials, then the token. A token
//! is good for the scope that it was asked for: another repository, or writing, needs another one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::AUTHORIZATION;

/// How tokens that `/token` hands out begin; the scope follows, in base64.
const TOKEN: &str = "chart-server-token.";

/// The token for a scope, `repository:NAME:ACTIONS`.
pub(super) fn token_for(scope: &str) -> String {
    format!("{TOKEN}{}", STANDARD.encode(scope))
}

/// Whether a scope that was granted is enough for one that is needed.
fn covers(granted: &str, needed: &str) -> bool {
    let parts = |scope: &str| {
        let (name, actions) = scope.rsplit_once(':').unwrap_or((scope, ""));
        let actions: Vec<String> = actions.split(',').map(str::to_owned).collect();
        (name.to_owned(), actions)
    };
    let ((granted, may), (needed, wants)) = (parts(granted), parts(needed));
    granted == needed && wants.iter().all(|action| may.contains(action))
}

/// What requests must carry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Auth {
    /// Nothing.
    #[default]
    Open,
    /// Basic authentication everywhere.
    Basic { user: String, password: String },
    /// Basic authentication for the Helm repository, tokens for the registry.
    Token { user: String, password: String },
}

impl Auth {
    /// The challenge that a registry request gets, or `None` when it may pass. `scope` is what it needs; a request
    /// about the registry as a whole needs none.
    pub(super) fn challenge_registry(
        &self,
        headers: &HeaderMap,
        host: &str,
        scope: Option<&str>,
    ) -> Option<String> {
        match self {
            Self::Open => None,
            Self::Basic { .. } => self.challenge_repository(headers),
            Self::Token { .. } => {
                let sent = headers
                    .get(AUTHORIZATION)
                    .and_then(|value| value.to_str().ok())
                    .and_then(|value| value.strip_prefix("Bearer ")?.strip_prefix(TOKEN))
                    .and_then(|scope| String::from_utf8(STANDARD.decode(scope).ok()?).ok());
                let enough = match (sent, scope) {
                    (Some(granted), Some(needed)) => covers(&granted, needed),
                    (Some(_), None) => true,
                    (None, _) => false,
                };
                let scope = scope
                    .map(|scope| format!(",scope=\"{scope}\""))
                    .unwrap_or_default();
                (!enough).then(|| {
                    format!("Bearer realm=\"http://{host}/token\",service=\"chart-server\"{scope}")
                })
            }
        }
    }

    /// The challenge that a request to the Helm repository gets, or `None` when it may pass.
    pub(super) fn challenge_repository(&self, headers: &HeaderMap) -> Option<String> {
        (!self.has_password(headers)).then(|| "Basic realm=\"chart-server\"".to_owned())
    }

    /// Whether the credentials of a request to `/token` are right.
    pub(super) fn knows(&self, headers: &HeaderMap) -> bool {
        self.has_password(headers)
    }

    fn has_password(&self, headers: &HeaderMap) -> bool {
        let (Self::Basic { user, password } | Self::Token { user, password }) = self else {
            return true;
        };
        let wanted = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        headers
            .get(AUTHORIZATION)
            .is_some_and(|sent| sent.as_bytes() == wanted.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(authorization: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, authorization.parse().unwrap());
        headers
    }

    #[test]
    fn an_open_server_asks_for_nothing() {
        assert_eq!(Auth::Open.challenge_repository(&HeaderMap::new()), None);
        let challenge = Auth::Open.challenge_registry(&HeaderMap::new(), "h", None);
        assert_eq!(challenge, None);
    }

    #[test]
    fn basic_takes_only_the_right_password() {
        let auth = Auth::Basic {
            user: "u".into(),
            password: "p".into(),
        };
        // base64 of u:p is dTpw, of u:q dTpx.
        assert_eq!(auth.challenge_repository(&with("Basic dTpw")), None);
        assert!(auth.challenge_repository(&with("Basic dTpx")).is_some());
        assert!(auth.challenge_repository(&HeaderMap::new()).is_some());
    }

    #[test]
    fn tokens_are_for_the_registry_and_passwords_for_the_token() {
        let auth = Auth::Token {
            user: "u".into(),
            password: "p".into(),
        };
        let pull = Some("repository:c:pull");
        let challenge = auth.challenge_registry(&HeaderMap::new(), "h:1", pull);
        assert_eq!(
            challenge.unwrap(),
            "Bearer realm=\"http://h:1/token\",service=\"chart-server\",scope=\"repository:c:pull\""
        );
        assert!(auth.knows(&with("Basic dTpw")) && !auth.knows(&with("Basic dTpx")));
        let granted = with(&format!("Bearer {}", token_for("repository:c:pull")));
        assert_eq!(auth.challenge_registry(&granted, "h", pull), None);
        for needed in ["repository:d:pull", "repository:c:pull,push"] {
            let challenge = auth.challenge_registry(&granted, "h", Some(needed));
            assert!(challenge.is_some(), "{needed}");
        }
    }
}
