//! The API server over HTTPS on loopback, for `kubectl`, `helm` and every other client.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

use http::{Request, Response, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tower::Service as _;

use super::failure::Failure;
use super::request::User;
use super::service::{ApiBody, ApiServer, refuse};
use crate::audit::{AuditWriter, Line};
use crate::embedded::FolderRules;

/// A server could not be made reachable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Loopback can't be listened on, or no thread can be started.
    #[error("listening on loopback")]
    Listen(#[source] io::Error),
    /// No certificate can be made.
    #[error("making a certificate")]
    Certificate(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The system gives no random numbers.
    #[error("making a token")]
    Token(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// An API server that listens. It ends when dropped; the server behind it does not.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    token: String,
    certificate: String,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl ApiServer {
    /// Listens on a free port of loopback. A token guards the socket, a certificate of its own
    /// secures it; both are in [`Listener::kubeconfig`].
    ///
    /// # Errors
    ///
    /// [`ListenError`] when the machine does not let it.
    pub fn listen(&self) -> Result<Listener, ListenError> {
        self.listen_on(0)
    }

    /// As [`ApiServer::listen`], on this port.
    ///
    /// # Errors
    ///
    /// As [`ApiServer::listen`].
    pub fn listen_on(&self, port: u16) -> Result<Listener, ListenError> {
        let users = BTreeMap::from([(token()?, "admin".to_owned())]);
        self.listen_for(port, users, None)
    }

    /// As [`ApiServer::listen_on`], for the users of these tokens, with somebody who sees their requests.
    pub(crate) fn listen_for(
        &self,
        port: u16,
        users: BTreeMap<String, String>,
        keeper: Option<Keeper>,
    ) -> Result<Listener, ListenError> {
        let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .map_err(ListenError::Listen)?;
        let address = socket.local_addr().map_err(ListenError::Listen)?;
        socket.set_nonblocking(true).map_err(ListenError::Listen)?;
        let (certificate, tls) = certificate().map_err(ListenError::Certificate)?;
        self.trust(&certificate);
        let token = users.keys().next().cloned().unwrap_or_default();
        let (stop, stopped) = watch::channel(false);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(ListenError::Listen)?;
        let door = Door {
            server: self.clone(),
            users: Arc::new(users),
            keeper: keeper.map(Arc::new),
            tls,
        };
        let thread = std::thread::Builder::new()
            .name("api-server".into())
            .spawn(move || runtime.block_on(accept(socket, door, stopped)))
            .map_err(ListenError::Listen)?;
        Ok(Listener {
            address,
            token,
            certificate,
            stop,
            thread: Some(thread),
        })
    }
}

impl Listener {
    /// `https://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The token that opens it.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The certificate that clients have to trust, in PEM.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A kubeconfig for it, as JSON, which is YAML.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        use base64::Engine as _;
        let authority = base64::engine::general_purpose::STANDARD.encode(&self.certificate);
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "sandbox",
            "clusters": [{"name": "sandbox", "cluster": {
                "server": self.url(), "certificate-authority-data": authority,
            }}],
            "users": [{"name": "sandbox", "user": {"token": self.token}}],
            "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": "sandbox"}}],
        });
        format!("{config:#}\n")
    }

    /// Writes [`Listener::kubeconfig`] into a file that only its owner may read; one that is there
    /// is replaced whole.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn write_kubeconfig(&self, path: &std::path::Path) -> io::Result<()> {
        crate::folder::replace_private(path, &self.kubeconfig())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Who keeps the folder of a plane in step with the requests.
#[derive(Debug)]
pub(crate) struct Keeper {
    /// The log of them.
    pub(crate) audit: AuditWriter,
    /// What tests have decided before they ask.
    pub(crate) rules: FolderRules,
}

/// What every connection needs.
#[derive(Clone)]
struct Door {
    server: ApiServer,
    /// Users by token.
    users: Arc<BTreeMap<String, String>>,
    keeper: Option<Arc<Keeper>>,
    tls: TlsAcceptor,
}

async fn accept(socket: std::net::TcpListener, door: Door, mut stopped: watch::Receiver<bool>) {
    let listener = match TcpListener::from_std(socket) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "the API server can't use its socket");
            return;
        }
    };
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.wait_for(|stop| *stop) => return,
        };
        match stream {
            Ok((stream, _)) => drop(tokio::spawn(connection(stream, door.clone()))),
            // Out of file descriptors, for example: wait for some to be closed.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
        }
    }
}

async fn connection(stream: TcpStream, door: Door) {
    let _ = stream.set_nodelay(true);
    let Ok(stream) = door.tls.accept(stream).await else {
        return;
    };
    let service = service_fn(move |request| answer(door.clone(), request));
    // A client that goes away ends its connection.
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(
    mut door: Door,
    mut request: Request<Incoming>,
) -> Result<Response<ApiBody>, std::convert::Infallible> {
    let open = matches!(
        request.uri().path(),
        "/healthz" | "/livez" | "/readyz" | "/version"
    );
    let shown = request.headers().get(header::AUTHORIZATION);
    let token = shown
        .and_then(|shown| shown.to_str().ok()?.strip_prefix("Bearer "))
        .unwrap_or_default();
    let user = door.user(token);
    if user.is_none() && !open {
        return Ok(refuse(Failure::unauthorized()));
    }
    if let Some(user) = &user {
        request.extensions_mut().insert(User(user.clone()));
    }
    let Some((keeper, user)) = door.keeper.clone().zip(user) else {
        return door.server.call(request).await;
    };
    keeper.rules.refresh();
    let line = Line::of(&request, &user);
    let response = door.server.call(request).await?;
    keeper.audit.write(&line, response.status().as_u16());
    Ok(response)
}

impl Door {
    /// Who shows this token.
    fn user(&self, token: &str) -> Option<String> {
        let known = |(known, _): &(&String, &String)| same(known.as_bytes(), token.as_bytes());
        let of_start = self.users.iter().find(known).map(|(_, user)| user.clone());
        of_start.or_else(|| self.server.issued_to(token))
    }
}

/// Compares without telling by its time how much is right.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

fn token() -> Result<String, ListenError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| ListenError::Token(error.to_string().into()))?;
    Ok(crate::folder::hex(&bytes))
}

type Secured = Result<(String, TlsAcceptor), Box<dyn std::error::Error + Send + Sync>>;

/// A certificate for loopback that signs itself.
fn certificate() -> Secured {
    let names = ["127.0.0.1", "localhost", "kubernetes.default.svc"].map(str::to_owned);
    let made = rcgen::generate_simple_self_signed(names)?;
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    Ok((made.cert.pem(), TlsAcceptor::from(Arc::new(config))))
}
