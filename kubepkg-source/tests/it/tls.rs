//! Servers with certificates of their own authority.

use std::net::SocketAddr;
use std::sync::Arc;

use kubepkg_source::init_crypto;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::{chart, fetch, options, web};

/// Serves one answer to everybody, over TLS; gives the address and the certificate in PEM.
async fn serve(answer: String) -> (SocketAddr, String) {
    serve_to(answer, None).await
}

/// The same, to clients with one certificate alone when there is one.
async fn serve_to(answer: String, client: Option<CertificateDer<'static>>) -> (SocketAddr, String) {
    init_crypto();
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let verifier = match client {
        None => WebPkiClientVerifier::no_client_auth(),
        Some(certificate) => {
            let mut known = RootCertStore::empty();
            known.add(certificate).unwrap();
            WebPkiClientVerifier::builder(Arc::new(known))
                .build()
                .unwrap()
        }
    };
    let config = ServerConfig::builder()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that doesn't trust us goes away.
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut request = vec![0; 8192];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    (address, cert.pem())
}

#[tokio::test]
async fn an_unknown_authority_is_final_and_named() {
    let (address, _) = serve(String::new()).await;
    let url = format!("https://localhost:{}/charts", address.port());
    let error = fetch(options(), &chart(&url, "web", "1.0.0"))
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("/charts/index.yaml is not trusted: "),
        "{text}"
    );
    assert!(
        text.ends_with("; add the authority of the server to the trusted ones"),
        "{text}"
    );
    assert!(!error.is_transient());
}

#[tokio::test]
async fn an_added_authority_is_trusted_but_no_redirect_to_plain_http() {
    let server = web().start().unwrap();
    let answer = format!(
        "HTTP/1.1 302 Found\r\nlocation: {}/index.yaml\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        server.repository_url()
    );
    let (address, authority) = serve(answer).await;
    let mut options = options();
    options.tls.authorities = authority.into_bytes();
    let url = format!("https://localhost:{}/charts", address.port());
    let error = fetch(options, &chart(&url, "web", "1.0.0"))
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("a redirect from https://localhost:"),
        "{text}"
    );
    assert!(
        text.contains("was refused: it leads from https to http"),
        "{text}"
    );
    assert!(!error.is_transient());
    assert!(server.requests().is_empty());
}

/// What a server says that has nothing.
const NOTHING: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn every_certificate_is_taken_when_that_was_asked_for() {
    let (address, _) = serve(NOTHING.to_owned()).await;
    let mut options = options();
    options.tls.insecure = true;
    let url = format!("https://localhost:{}/charts", address.port());
    let error = fetch(options, &chart(&url, "web", "1.0.0"))
        .await
        .unwrap_err();
    assert!(error.is_missing(), "the server was heard: {error}");
}

#[tokio::test]
async fn a_client_certificate_is_shown_to_who_asks_for_one() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["client".to_owned()]).unwrap();
    let (address, authority) = serve_to(NOTHING.to_owned(), Some(cert.der().clone())).await;
    let url = format!("https://localhost:{}/charts", address.port());
    let of = |identity: Option<Vec<u8>>| {
        let mut options = options();
        options.limits.retry.attempts = 1;
        options.tls.authorities = authority.clone().into_bytes();
        options.tls.identity = identity;
        options
    };
    let chart = chart(&url, "web", "1.0.0");
    let error = fetch(of(None), &chart).await.unwrap_err();
    assert!(!error.is_missing(), "nobody without one is heard: {error}");
    let identity = format!("{}\n{}", cert.pem(), signing_key.serialize_pem());
    let error = fetch(of(Some(identity.into_bytes())), &chart)
        .await
        .unwrap_err();
    assert!(error.is_missing(), "the server was heard: {error}");
}
