//! The tags of a repository, page by page.
//!
//! The next page is where the `Link` header leads, which must be the same registry. Bounded are the pages and the
//! bytes of each.

use http::StatusCode;
use http::header::LINK;
use serde::Deserialize;
use url::Url;

use super::OciRegistry;
use super::session::Actions;
use crate::digest_reader::DigestReader;
use crate::failure::{Failure, Missing};
use crate::location::shown;
use crate::net::{ContentKind, header, read_body};
use crate::reference::OciReference;

#[derive(Deserialize)]
struct TagList {
    tags: Option<Vec<String>>,
}

impl OciRegistry {
    /// All tags of the repository that a reference names.
    pub(crate) async fn tags(&self, reference: &OciReference) -> Result<Vec<String>, Failure> {
        let session = self.session(reference, Actions::Pull).await?;
        let mut next = Some(session.url("tags/list")?);
        let mut tags = Vec::new();
        for _ in 0..self.limits.tag_pages {
            let Some(url) = next else { return Ok(tags) };
            let response = session.get(&url, ContentKind::Document).await?;
            if response.status() == StatusCode::NOT_FOUND {
                return Err(Failure::Missing {
                    what: Missing::Manifest,
                    at: format!("{}/{}", reference.registry, reference.repository),
                });
            }
            let response = session.succeeded(response, &url)?;
            next = header(response.headers(), &LINK)
                .and_then(next_link)
                .map(|link| follow(&url, link))
                .transpose()?;
            let reader = DigestReader::new(self.limits.manifest_bytes);
            let body = read_body(response, reader, &url).await?;
            let list: TagList =
                serde_json::from_slice(body.bytes()).map_err(|error| Failure::Manifest {
                    url: shown(&url),
                    source: error.into(),
                })?;
            tags.extend(list.tags.unwrap_or_default());
        }
        match next {
            None => Ok(tags),
            Some(url) => Err(Failure::TooManyPages {
                url: shown(&url),
                limit: self.limits.tag_pages,
            }),
        }
    }
}

/// The target of `<target>; rel="next"`.
fn next_link(header: &str) -> Option<&str> {
    header.split(',').find_map(|link| {
        let (target, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
        let next = parameters
            .split(';')
            .any(|parameter| matches!(parameter.trim(), "rel=next" | "rel=\"next\""));
        next.then_some(target)
    })
}

fn follow(url: &Url, link: &str) -> Result<Url, Failure> {
    match url.join(link) {
        Ok(next) if next.origin() == url.origin() => Ok(next),
        _ => Err(Failure::Redirect {
            url: shown(url),
            reason: "the next page of tags is on another host",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_next_link() {
        for (header, expected) in [
            (
                r#"</v2/a/tags/list?n=1&last=x>; rel="next""#,
                Some("/v2/a/tags/list?n=1&last=x"),
            ),
            ("</a>; rel=prev, </b>; rel=next", Some("/b")),
            ("</a>; rel=prev", None),
            ("nonsense", None),
        ] {
            assert_eq!(next_link(header), expected, "{header}");
        }
    }

    #[test]
    fn a_next_page_elsewhere_is_refused() {
        let url = Url::parse("https://r.example/v2/a/tags/list").unwrap();
        assert!(follow(&url, "/v2/a/tags/list?last=x").is_ok());
        assert!(follow(&url, "https://evil.example/v2/a/tags/list").is_err());
        assert!(follow(&url, "http://r.example/v2/a/tags/list").is_err());
    }
}
