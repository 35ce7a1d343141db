//! Charts through the proxies of the environment. The proxy and everything behind it are on loopback; the names that
//! are asked for exist nowhere, so that an answer can only have come through the proxy.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use kubepkg_sandbox::ChartServer;
use kubepkg_source::init_crypto;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::chart::{Run, chart_with};

/// A forward proxy that leads every request to one server, and every tunnel to another.
struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start(plain: SocketAddr, tunnel: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&asked);
        // It ends with the process.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let asked = Arc::clone(&shared);
                std::thread::spawn(move || lead(client, plain, tunnel, &asked));
            }
        });
        Self { address, asked }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The first request of each connection, `GET http://host/path` or `CONNECT host:port`, since the last call.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

/// A client that goes away ends its connection and nothing else.
fn lead(
    mut client: TcpStream,
    plain: SocketAddr,
    tunnel: SocketAddr,
    asked: &Mutex<Vec<String>>,
) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let line = std::str::from_utf8(&head).ok()?.lines().next()?;
    let (request, _) = line.rsplit_once(' ')?;
    asked.lock().unwrap().push(request.to_owned());
    let mut server = if request.starts_with("CONNECT ") {
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
        TcpStream::connect(tunnel).ok()?
    } else {
        let mut server = TcpStream::connect(plain).ok()?;
        server.write_all(&head).ok()?;
        server
    };
    let (mut from_server, mut to_client) = (server.try_clone().ok()?, client.try_clone().ok()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Write);
    });
    let _ = std::io::copy(&mut client, &mut server);
    server.shutdown(Shutdown::Write).ok()
}

/// Speaks TLS for a server, with a certificate for `name` that is its own authority; the address and that authority.
fn tls_before(server: SocketAddr, name: &str) -> (SocketAddr, String) {
    init_crypto();
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // A client that does not trust us goes away.
                    let mut client = acceptor.accept(stream).await.ok()?;
                    let mut server = tokio::net::TcpStream::connect(server).await.ok()?;
                    tokio::io::copy_bidirectional(&mut client, &mut server)
                        .await
                        .ok()
                });
            }
        });
    });
    (address, cert.pem())
}

fn web() -> ChartServer {
    ChartServer::builder()
        .chart("web", "1.0.0", [("templates/x.yaml", "")])
        .start()
        .unwrap()
}

fn pull(home: &Path, repository: &str, more: &[&str], environment: &[(&str, &str)]) -> Run {
    let arguments = ["pull", "web", "--repo", repository];
    chart_with(home, &[&arguments[..], more].concat(), "", environment)
}

fn assert_pulled(run: &Run, home: &Path) {
    assert_eq!(run.code, Some(0), "{}", run.messages);
    std::fs::remove_file(home.join("web-1.0.0.tgz")).unwrap();
}

#[test]
fn repositories_and_registries_are_asked_through_the_proxy() {
    let server = web();
    let proxy = Proxy::start(server.address(), server.address());
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        let environment = [(variable, &*proxy.url())];
        let run = pull(home, "http://charts.invalid/charts", &[], &environment);
        assert_pulled(&run, home);
        let asked = proxy.asked();
        let index = "GET http://charts.invalid/charts/index.yaml";
        assert!(asked.iter().any(|line| line == index), "{asked:?}");
    }
    // Versions are listed, the manifest and the blob fetched.
    let registry = ["pull", "oci://registry.invalid/charts/web", "--plain-http"];
    let environment = [("HTTP_PROXY", &*proxy.url())];
    let run = chart_with(home, &registry, "", &environment);
    assert_pulled(&run, home);
    let asked = proxy.asked();
    let registry = "GET http://registry.invalid/v2/charts/web/";
    assert!(
        asked.iter().all(|line| line.starts_with(registry)),
        "{asked:?}"
    );
    assert!(!asked.is_empty());
}

#[test]
fn hosts_that_are_excepted_and_loopback_are_asked_without_the_proxy() {
    let server = web();
    let proxy = Proxy::start(server.address(), server.address());
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    // Linux takes this address for loopback, while no name of loopback is in it.
    let any = format!("http://0.0.0.0:{}/charts", server.address().port());
    let through = [("HTTP_PROXY", &*proxy.url())];
    assert_pulled(&pull(home, &any, &[], &through), home);
    assert!(!proxy.asked().is_empty(), "nothing excepts it");
    for (variable, value) in [
        ("NO_PROXY", "0.0.0.0"),
        ("no_proxy", "charts.invalid,0.0.0.0/8"),
        ("NO_PROXY", "*"),
    ] {
        let environment = [("HTTP_PROXY", &*proxy.url()), (variable, value)];
        assert_pulled(&pull(home, &any, &[], &environment), home);
        assert_eq!(proxy.asked(), [""; 0], "{variable}={value}");
    }
    // What another host excepts does not count.
    let environment = [
        ("HTTP_PROXY", &*proxy.url()),
        ("NO_PROXY", "example.invalid"),
    ];
    assert_pulled(&pull(home, &any, &[], &environment), home);
    assert!(!proxy.asked().is_empty());

    assert_pulled(&pull(home, &server.repository_url(), &[], &through), home);
    assert_eq!(proxy.asked(), [""; 0], "no proxy can reach our loopback");
}

#[test]
fn https_goes_through_a_tunnel_to_a_server_of_the_given_authority() {
    let server = web();
    let (tls, authority) = tls_before(server.address(), "charts.invalid");
    let proxy = Proxy::start(server.address(), tls);
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    std::fs::write(home.join("ca.pem"), authority).unwrap();
    let repository = "https://charts.invalid/charts";
    let environment = [("HTTPS_PROXY", &*proxy.url())];

    let trusted = pull(home, repository, &["--ca-file", "ca.pem"], &environment);
    assert_pulled(&trusted, home);
    let asked = proxy.asked();
    assert!(
        asked
            .iter()
            .all(|line| line == "CONNECT charts.invalid:443"),
        "{asked:?}"
    );
    assert!(!asked.is_empty());

    let unknown = pull(home, repository, &[], &environment);
    assert_eq!(unknown.code, Some(1), "{}", unknown.results);
    assert!(
        unknown.messages.contains("is not trusted"),
        "{}",
        unknown.messages
    );
    let registry = ["pull", "oci://charts.invalid/charts/web"];
    let trusted = [&registry[..], &["--ca-file", "ca.pem"]].concat();
    assert_pulled(&chart_with(home, &trusted, "", &environment), home);
}
