//! Who may read from and write to a [`ChartServer`](super::ChartServer).
//!
//! The Helm repository takes basic authentication only. The registry takes what the server was
//! built with: basic authentication, or the token flow of the
//! [distribution specification](https://distribution.github.io/distribution/spec/auth/token/):
//! 401 with a `Bearer` challenge, a token from `/token` for the credentials, then the token.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::AUTHORIZATION;

/// The token that `/token` hands out.
pub(super) const TOKEN: &str = "chart-server-token";

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
    /// The challenge that a registry request gets, or `None` when it may pass.
    pub(super) fn challenge_registry(&self, headers: &HeaderMap, host: &str) -> Option<String> {
        match self {
            Self::Open => None,
            Self::Basic { .. } => self.challenge_repository(headers),
            Self::Token { .. } => {
                let sent = headers
                    .get(AUTHORIZATION)
                    .and_then(|value| value.to_str().ok());
                (sent != Some(&format!("Bearer {TOKEN}"))).then(|| {
                    format!("Bearer realm=\"http://{host}/token\",service=\"chart-server\"")
                })
            }
        }
    }

    /// The challenge that a request to the Helm repository gets, or `None` when it may pass.
    pub(super) fn challenge_repository(&self, headers: &HeaderMap) -> Option<String> {
        (!self.has_password(headers)).then(|| "Basic realm=\"chart-server\"".to_owned())
    }

    /// The answer of `/token`: the token when the credentials are right.
    pub(super) fn token(&self, headers: &HeaderMap) -> Option<&'static str> {
        self.has_password(headers).then_some(TOKEN)
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
        assert_eq!(Auth::Open.challenge_registry(&HeaderMap::new(), "h"), None);
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
        let challenge = auth.challenge_registry(&HeaderMap::new(), "h:1").unwrap();
        assert_eq!(
            challenge,
            "Bearer realm=\"http://h:1/token\",service=\"chart-server\""
        );
        let token = auth.token(&with("Basic dTpw")).unwrap();
        assert_eq!(
            auth.challenge_registry(&with(&format!("Bearer {token}")), "h:1"),
            None
        );
        assert_eq!(auth.token(&with("Basic dTpx")), None);
    }
}
