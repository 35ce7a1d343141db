//! A distribution's own scheme and a mirror.

use std::sync::Arc;

use async_trait::async_trait;
use kubepkg_source::{Cache, Charts, Failure, Fetch, FetchRequest, Fetched, Missing};

use crate::{chart, fetch, options, web};

/// A bucket that has one chart.
struct Bucket;

#[async_trait]
impl Fetch for Bucket {
    async fn fetch(&self, request: &FetchRequest, _: &Cache) -> Result<Fetched, Failure> {
        if request.name != "web" {
            let at = format!("{}/{}", request.location, request.name);
            return Err(Failure::Missing {
                what: Missing::Archive,
                at,
            });
        }
        let mut reader = request.archive_reader();
        reader.push(b"archive").unwrap();
        Ok(Fetched::downloaded(reader.finish().unwrap()))
    }
}

#[tokio::test]
async fn a_distribution_adds_its_own_scheme() {
    let mut charts = Charts::new(options()).unwrap();
    charts.register("s3", Arc::new(Bucket));
    let fetched = charts
        .fetch(&chart("s3://bucket/charts", "web", "1.0.0"))
        .await
        .unwrap();
    assert_eq!(fetched.bytes.as_ref(), b"archive");
    let error = charts
        .fetch(&chart("s3://bucket/charts", "x", "1.0.0"))
        .await
        .unwrap_err();
    assert!(error.is_missing(), "{error}");
}

#[tokio::test]
async fn a_mirror_stands_for_every_origin() {
    let server = web().start().unwrap();
    let mut options = options();
    // The mirrored path of https://web.example is <mirror>/web.example.
    options.mirror = Some(server.registry_url().replace("/charts", ""));
    let fetched = fetch(options.clone(), &chart("https://charts", "web", "1.0.0"))
        .await
        .unwrap();
    assert_eq!(
        Some(fetched.digest.to_string()),
        server.digest("web", "1.0.0")
    );
    options.mirror = Some("https://mirror.example".into());
    assert!(Charts::new(options).is_err());
}
