//! Requests to one repository of a registry, with the credentials that it asks for.
//!
//! Credentials are sent when the registry challenges: a password to the registry itself (basic), or to the token
//! service that it names, which must use HTTPS when the registry does. Tokens are kept per registry, repository and
//! credential, never used for another repository, and never sent to another host: an upload that is to go elsewhere
//! goes there without them. Refuses challenges of other kinds.

use bytes::Bytes;
use http::StatusCode;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RANGE, WWW_AUTHENTICATE};
use reqwest::{RequestBuilder, Response};
use serde::Deserialize;
use url::Url;

use super::{MANIFEST_TYPES, OciRegistry, RepositoryKey};
use crate::challenge::Challenge;
use crate::credentials::Credential;
use crate::digest_reader::DigestReader;
use crate::failure::Failure;
use crate::location::shown;
use crate::net::{ContentKind, Net, read_body, send, status_failure};

/// What a token must be good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Actions {
    /// Reading.
    Pull,
    /// Reading and writing.
    PullPush,
}

impl Actions {
    fn text(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::PullPush => "pull,push",
        }
    }
}

/// A repository that is being read or written.
pub(crate) struct Session<'a> {
    pub(super) registry: &'a OciRegistry,
    pub(crate) base: Url,
    pub(super) key: RepositoryKey,
    pub(super) credential: Option<Credential>,
    pub(super) actions: Actions,
}

/// The answer of a token service, by either name.
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Session<'_> {
    pub(super) fn url(&self, path: &str) -> Result<Url, Failure> {
        self.base
            .join(path)
            .map_err(|error| Failure::Location(error.into()))
    }

    pub(crate) fn succeeded(&self, response: Response, url: &Url) -> Result<Response, Failure> {
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(status_failure(&response, url, self.credential.is_some()))
        }
    }

    pub(crate) async fn get(&self, url: &Url, kind: ContentKind) -> Result<Response, Failure> {
        self.send(url, |net| net.get(url, kind).header(ACCEPT, MANIFEST_TYPES))
            .await
    }

    /// Asks for what is missing of a blob.
    pub(super) async fn get_range(&self, url: &Url, range: String) -> Result<Response, Failure> {
        self.send(url, |net| {
            net.get(url, ContentKind::Archive).header(RANGE, &range)
        })
        .await
    }

    /// Sends a request; answers one challenge. The request may be made twice.
    pub(super) async fn send(
        &self,
        url: &Url,
        call: impl Fn(&Net) -> RequestBuilder + Send + Sync,
    ) -> Result<Response, Failure> {
        let net = &self.registry.net;
        if url.origin() != self.base.origin() {
            return send(call(net), url).await;
        }
        let kept = self.registry.token(&self.key, self.credential.as_ref());
        let response = send(with_authorization(call(net), kept.as_deref()), url).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        // The first challenge that can be answered counts.
        let challenge = response
            .headers()
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .find_map(Challenge::parse);
        let authorization = match (challenge, &self.credential) {
            (Some(Challenge::Basic), Some(Credential::Basic { user, password })) => {
                basic(user, password)
            }
            (
                Some(Challenge::Bearer {
                    realm,
                    service,
                    scope,
                }),
                _,
            ) => {
                self.exchange(url, &realm, service.as_deref(), scope.as_deref())
                    .await?
            }
            (Some(Challenge::Basic), _) | (None, None) => return Ok(response),
            (None, Some(_)) => {
                let reason = "neither basic nor bearer";
                return Err(Failure::Challenge {
                    url: shown(url),
                    reason,
                });
            }
        };
        let answered = send(with_authorization(call(net), Some(&authorization)), url).await?;
        if answered.status() != StatusCode::UNAUTHORIZED {
            self.registry
                .keep_token(self.key.clone(), self.credential.clone(), authorization);
        }
        Ok(answered)
    }

    /// Gets a token from the service that the challenge names.
    async fn exchange(
        &self,
        url: &Url,
        realm: &str,
        service: Option<&str>,
        scope: Option<&str>,
    ) -> Result<String, Failure> {
        let unusable = |reason| Failure::Challenge {
            url: shown(url),
            reason,
        };
        let mut token_url = Url::parse(realm).map_err(|_| unusable("the realm is not a URL"))?;
        if token_url.scheme() != "https" && url.scheme() == "https" {
            return Err(unusable("the token service does not use https"));
        }
        // A login asks about the registry as a whole, which needs no scope.
        let usual = (!self.key.1.is_empty())
            .then(|| format!("repository:{}:{}", self.key.1, self.actions.text()));
        let scope = scope.or(usual.as_deref());
        let call = if let Some(Credential::IdentityToken(token)) = &self.credential {
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            form.append_pair("grant_type", "refresh_token");
            form.append_pair("refresh_token", token);
            form.append_pair("client_id", "kubepkg");
            form.append_pair("scope", scope.unwrap_or_default());
            form.append_pair("service", service.unwrap_or_default());
            let call = self.registry.net.post(&token_url);
            call.header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(form.finish())
        } else {
            for (name, value) in [("scope", scope), ("service", service)] {
                if let Some(value) = value {
                    token_url.query_pairs_mut().append_pair(name, value);
                }
            }
            let call = self.registry.net.get(&token_url, ContentKind::Document);
            match &self.credential {
                Some(Credential::Basic { user, password }) => call.basic_auth(user, Some(password)),
                _ => call,
            }
        };
        let response = self.succeeded(send(call, &token_url).await?, &token_url)?;
        let reader = DigestReader::new(self.registry.limits.token_bytes);
        let body = read_body(response, reader, &token_url).await?;
        let token: Token = serde_json::from_slice(body.bytes())
            .map_err(|_| unusable("the token service's answer is not JSON"))?;
        let token = token
            .token
            .or(token.access_token)
            .filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| unusable("the token service gave no token"))?;
        Ok(format!("Bearer {token}"))
    }

    /// Sends a body with a method other than GET.
    pub(super) async fn send_body(
        &self,
        method: http::Method,
        url: &Url,
        content_type: &str,
        headers: &[(http::HeaderName, String)],
        body: &Bytes,
    ) -> Result<Response, Failure> {
        self.send(url, |net| {
            let call = net
                .request(method.clone(), url)
                .header(CONTENT_TYPE, content_type)
                .body(body.clone());
            headers
                .iter()
                .fold(call, |call, (name, value)| call.header(name, value))
        })
        .await
    }
}

fn with_authorization(call: RequestBuilder, authorization: Option<&str>) -> RequestBuilder {
    match authorization {
        Some(value) => call.header(AUTHORIZATION, value),
        None => call,
    }
}

fn basic(user: &str, password: &str) -> String {
    use base64::Engine as _;
    let text = format!("{user}:{password}");
    format!(
        "Basic {}",
        base64::engine::general_purpose::STANDARD.encode(text)
    )
}
