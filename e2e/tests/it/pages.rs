//! The operator's own pages: health for the kubelet, metrics for Prometheus.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use kubepkg_e2e::{Chart, Error, Source, Stage};
use serde_json::json;

/// An address on loopback that nobody listens on.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// The status and the body of a page; nothing while nobody serves it.
fn page(address: &str, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    let body = answer.split_once("\r\n\r\n")?.1.to_owned();
    Some((status, body))
}

#[tokio::test(flavor = "multi_thread")]
async fn tells_its_health_and_counts_what_it_does() -> Result<(), Error> {
    let stage = Stage::new("pages").await?;
    stage.chart(&Chart::new("web", "1.0.0"))?;
    stage.chart(&Chart::new("web", "2.0.0").fate("pull-error"))?;
    let (metrics, health) = (free_address(), free_address());
    let _operator = stage.operator(&[
        "--metrics-bind-address",
        &metrics,
        "--health-probe-bind-address",
        &health,
        "--retry-backoff",
        "1h",
        "--retry-backoff-max",
        "1h",
    ])?;
    let status = |path: &str| page(&health, path).map(|(status, _)| status);
    stage
        .until("the operator to be ready", &Some(200), || {
            Ok(status("/readyz"))
        })
        .await?;
    assert_eq!(status("/healthz"), Some(200));
    assert_eq!(status("/nothing"), Some(404));
    stage.source("shop", &Source::new("1.0.0", &[("web", "1.0.0")]))?;
    stage.package("shop", json!({ "upgrade": { "timeout": "5s" } }))?;
    stage
        .until_ready_is("shop", "True ReconciliationSucceeded")
        .await?;
    let counted = |series: &str| {
        let (_, text) = page(&metrics, "/metrics").unwrap_or_default();
        text.lines().any(|line| line == series)
    };
    for series in [
        r#"kubepkg_package_ready{package="shop"} 1"#,
        r#"kubepkg_package_info{package="shop",version="1.0.0",revision="1"} 1"#,
        r#"kubepkg_revisions_total{package="shop",outcome="applied"} 1"#,
        "kubepkg_leader 1",
    ] {
        stage.until(series, &true, || Ok(counted(series))).await?;
    }
    stage.source("shop", &Source::new("2.0.0", &[("web", "2.0.0")]))?;
    stage
        .until_ready_is("shop", "False UpgradeRolledBack")
        .await?;
    for series in [
        r#"kubepkg_package_ready{package="shop"} 0"#,
        r#"kubepkg_package_info{package="shop",version="1.0.0",revision="3"} 1"#,
        r#"kubepkg_revisions_total{package="shop",outcome="failed"} 1"#,
        r#"kubepkg_revisions_total{package="shop",outcome="rolled_back"} 1"#,
    ] {
        stage.until(series, &true, || Ok(counted(series))).await?;
    }
    Ok(())
}
