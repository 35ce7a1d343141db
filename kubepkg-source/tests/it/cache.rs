use std::sync::Arc;
use std::time::Duration;

use kubepkg_api::Digest;
use kubepkg_sandbox::{ChartServer, Fault};
use kubepkg_source::{Charts, SourceOptions};

use crate::{chart, fetch, pinned, web, with_cache};

fn offline(folder: &tempfile::TempDir) -> SourceOptions {
    let mut options = with_cache(folder);
    options.offline = true;
    options
}

fn archives(folder: &tempfile::TempDir) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder.path().join("charts"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn urls(server: &ChartServer) -> [String; 2] {
    [server.repository_url(), server.registry_url()]
}

#[tokio::test]
async fn a_pinned_cached_chart_needs_no_network() {
    let server = web().start().unwrap();
    let digest = server.digest("web", "1.0.0").unwrap();
    for url in urls(&server) {
        let folder = tempfile::tempdir().unwrap();
        let chart = pinned(&url, "web", "1.0.0", &digest);
        let first = fetch(with_cache(&folder), &chart).await.unwrap();
        assert!(!first.from_cache);
        assert_eq!(
            archives(&folder),
            [format!("sha256-{}.tgz", first.digest.hex())]
        );
        server.clear_requests();
        let second = fetch(offline(&folder), &chart).await.unwrap();
        assert!(second.from_cache);
        assert_eq!(second.bytes, first.bytes);
        assert!(server.requests().is_empty());
    }
}

#[tokio::test]
async fn offline_without_the_chart_says_so() {
    let server = web().start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let chart = chart(&server.repository_url(), "web", "1.0.0");
    let error = fetch(offline(&folder), &chart).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("not in the cache, and the network is switched off")
    );
    assert!(!error.is_transient());
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_refused_archive_is_not_kept() {
    let server = web().start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let digest = server.digest("web", "1.0.0").unwrap();
    for (url, path) in [
        (server.repository_url(), server.archive_path("web", "1.0.0")),
        (
            server.registry_url(),
            server.blob_path("web", "1.0.0").unwrap(),
        ),
    ] {
        server.fault(&path, Fault::WrongDigest);
        fetch(with_cache(&folder), &pinned(&url, "web", "1.0.0", &digest))
            .await
            .unwrap_err();
        fetch(with_cache(&folder), &chart(&url, "web", "1.0.0"))
            .await
            .unwrap_err();
    }
    assert!(archives(&folder).is_empty());
}

#[tokio::test]
async fn a_damaged_entry_is_fetched_again() {
    let server = web().start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let digest = server.digest("web", "1.0.0").unwrap();
    let chart = pinned(&server.repository_url(), "web", "1.0.0", &digest);
    fetch(with_cache(&folder), &chart).await.unwrap();
    let file = folder.path().join("charts").join(&archives(&folder)[0]);
    std::fs::write(&file, b"damaged").unwrap();
    let again = fetch(with_cache(&folder), &chart).await.unwrap();
    assert!(!again.from_cache);
    assert_eq!(std::fs::read(file).unwrap(), again.bytes);
}

#[tokio::test]
async fn an_unpinned_chart_needs_no_network_for_a_while() {
    let server = web().start().unwrap();
    for url in urls(&server) {
        let folder = tempfile::tempdir().unwrap();
        let chart = chart(&url, "web", "1.0.0");
        fetch(with_cache(&folder), &chart).await.unwrap();
        server.clear_requests();
        assert!(fetch(with_cache(&folder), &chart).await.unwrap().from_cache);
        assert!(server.requests().is_empty());
    }
}

#[tokio::test]
async fn an_unpinned_chart_is_looked_up_again_but_not_downloaded_when_unchanged() {
    let server = web().start().unwrap();
    for url in urls(&server) {
        let folder = tempfile::tempdir().unwrap();
        let chart = chart(&url, "web", "1.0.0");
        let mut options = with_cache(&folder);
        options.unpinned_fresh_for = Duration::ZERO;
        let charts = Charts::new(options).unwrap();
        charts.fetch(&chart).await.unwrap();
        server.clear_requests();
        assert!(charts.fetch(&chart).await.unwrap().from_cache);
        assert_eq!(server.requests().len(), 1, "index or manifest only");

        let changed = server
            .add_chart("web", "1.0.0", [("values.yaml", url.as_str())])
            .unwrap();
        let fetched = charts.fetch(&chart).await.unwrap();
        assert_eq!(fetched.digest.to_string(), changed);
    }
}

#[tokio::test]
async fn an_unpinned_chart_outlives_its_repository_a_pinned_one_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = with_cache(&folder);
    options.unpinned_fresh_for = Duration::ZERO;
    options.limits.retry.attempts = 1;
    let charts = Charts::new(options).unwrap();
    let url = {
        let server = web().start().unwrap();
        charts
            .fetch(&chart(&server.repository_url(), "web", "1.0.0"))
            .await
            .unwrap();
        server.repository_url()
    };
    let fetched = charts.fetch(&chart(&url, "web", "1.0.0")).await.unwrap();
    assert!(fetched.from_cache);
    let other = Digest::of(b"something else").to_string();
    let error = charts
        .fetch(&pinned(&url, "web", "1.0.0", &other))
        .await
        .unwrap_err();
    assert!(error.is_transient(), "{error}");
}

#[tokio::test]
async fn many_callers_share_one_download() {
    let server = web().start().unwrap();
    for url in urls(&server) {
        let folder = tempfile::tempdir().unwrap();
        server.clear_requests();
        let charts = Arc::new(Charts::new(with_cache(&folder)).unwrap());
        let callers: Vec<_> = (0..8)
            .map(|_| {
                let (charts, chart) = (Arc::clone(&charts), chart(&url, "web", "1.0.0"));
                tokio::spawn(async move { charts.fetch(&chart).await.unwrap().digest })
            })
            .collect();
        let mut digests = Vec::new();
        for caller in callers {
            digests.push(caller.await.unwrap());
        }
        digests.dedup();
        assert_eq!(digests.len(), 1);
        assert_eq!(server.requests().len(), 2, "one document and one archive");
    }
}
