//! Keys and certificates that templates generate are real: a TLS client and a TLS server of another library take them.

use std::sync::Arc;
use std::time::Duration;

use kubepkg_gotemplate::{Env, FuncTable, SeededEnv, TemplateSet, Value, helm_funcs, sprig};
use rustls::crypto::{CryptoProvider, ring::default_provider};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

/// The clock of the templates, seconds since 1970.
const NOW: u64 = 1_700_000_000;
const DAY: u64 = 24 * 60 * 60;

fn rendered(text: &str, env: &mut dyn Env) -> serde_json::Value {
    let mut funcs = FuncTable::default();
    funcs.extend(sprig::functions());
    funcs.extend(helm_funcs::functions(false));
    let mut set = TemplateSet::new("gotpl", funcs);
    set.parse("t", text).unwrap();
    let output = set.execute("t", &Value::Nil, env).unwrap();
    serde_json::from_slice(&output).unwrap()
}

fn seeded(seed: u8) -> SeededEnv {
    SeededEnv::new([seed], (i64::try_from(NOW).unwrap(), 0))
}

/// Certificates that a template generates: `ca`, `cert` and `key` in PEM.
struct Pair(serde_json::Value);

impl Pair {
    fn new(text: &str, env: &mut dyn Env) -> Self {
        Self(rendered(text, env))
    }

    fn pem(&self, name: &str) -> &[u8] {
        self.0[name].as_str().unwrap().as_bytes()
    }

    fn certificate(&self, name: &str) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.pem(name)).unwrap()
    }

    /// A server with `cert` and `key`: this fails where the key is not that of the certificate.
    fn server(&self) -> Result<ServerConfig, rustls::Error> {
        let key = PrivateKeyDer::from_pem_slice(self.pem("key")).unwrap();
        ServerConfig::builder_with_details(provider(), Arc::new(Clock(NOW)))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate("cert")], key)
    }

    /// A client that trusts `ca`, so many days later.
    fn client(&self, days: u64) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate("ca")).unwrap();
        ClientConfig::builder_with_details(provider(), Arc::new(Clock(NOW + days * DAY)))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth()
    }

    /// A whole handshake in memory.
    fn connects_to(&self, name: &str, days: u64) -> Result<(), String> {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let client = Arc::new(self.client(days));
        let server = Arc::new(self.server().map_err(|error| error.to_string())?);
        let mut client = ClientConnection::new(client, name).unwrap();
        let mut server = ServerConnection::new(server).unwrap();
        while client.is_handshaking() || server.is_handshaking() {
            let mut wire = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut wire).unwrap();
            }
            server.read_tls(&mut wire.as_slice()).unwrap();
            server
                .process_new_packets()
                .map_err(|error| error.to_string())?;
            let mut wire = Vec::new();
            while server.wants_write() {
                server.write_tls(&mut wire).unwrap();
            }
            client.read_tls(&mut wire.as_slice()).unwrap();
            client
                .process_new_packets()
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(default_provider())
}

#[derive(Debug)]
struct Clock(u64);

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(self.0)))
    }
}

const SIGNED: &str = r#"{{ $ca := genCA "authority" 100 -}}
{{ $c := genSignedCert "web" (list "10.0.0.1" "2001:db8::1") (list "web.ns.svc" "*.example.com") 50 $ca -}}
{{ dict "ca" $ca.Cert "cert" $c.Cert "key" $c.Key | toJson }}"#;

#[test]
fn a_signed_certificate_serves_its_names_until_it_expires() {
    let pair = Pair::new(SIGNED, &mut seeded(1));
    for name in ["web.ns.svc", "a.example.com", "10.0.0.1", "2001:db8::1"] {
        assert_eq!(pair.connects_to(name, 1), Ok(()), "{name}");
    }
    for name in ["web", "other.ns.svc", "example.com", "10.0.0.2"] {
        let error = pair.connects_to(name, 1).unwrap_err();
        assert!(error.contains("not valid for name"), "{name}: {error}");
    }
    let error = pair.connects_to("web.ns.svc", 51).unwrap_err();
    assert!(error.contains("expired"), "{error}");
    let stranger = Pair::new(SIGNED, &mut seeded(2));
    let mixed = Pair(serde_json::json!({
        "ca": stranger.0["ca"], "cert": pair.0["cert"], "key": pair.0["key"],
    }));
    assert!(
        mixed
            .connects_to("web.ns.svc", 1)
            .unwrap_err()
            .contains("invalid peer certificate")
    );
    let mixed = Pair(serde_json::json!({
        "ca": pair.0["ca"], "cert": pair.0["cert"], "key": stranger.0["key"],
    }));
    assert!(mixed.connects_to("web.ns.svc", 1).is_err(), "another key");
}

#[test]
fn a_self_signed_certificate_serves_who_trusts_it() {
    let text = r#"{{ $c := genSelfSignedCert "web.ns.svc" (list) (list "web.ns.svc") 10 -}}
{{ dict "ca" $c.Cert "cert" $c.Cert "key" $c.Key | toJson }}"#;
    let pair = Pair::new(text, &mut seeded(3));
    assert_eq!(pair.connects_to("web.ns.svc", 1), Ok(()));
    assert!(pair.connects_to("web.other.svc", 1).is_err());
}

#[test]
fn given_keys_of_other_kinds_sign_and_serve() {
    for kind in ["ecdsa", "ed25519"] {
        let text = format!(
            r#"{{{{ $ca := genCAWithKey "authority" 100 (genPrivateKey "{kind}") -}}}}
{{{{ $key := genPrivateKey "{kind}" -}}}}
{{{{ $c := genSignedCertWithKey "web" (list) (list "web.ns.svc") 50 $ca $key -}}}}
{{{{ dict "ca" $ca.Cert "cert" $c.Cert "key" $key | toJson }}}}"#
        );
        let pair = Pair::new(&text, &mut seeded(4));
        assert_eq!(pair.connects_to("web.ns.svc", 1), Ok(()), "{kind}");
    }
}

#[test]
fn an_authority_that_is_given_back_signs_again() {
    let text = r#"{{ $old := genCA "authority" 100 -}}
{{ $ca := buildCustomCert ($old.Cert | b64enc) ($old.Key | b64enc) -}}
{{ $c := genSignedCert "web" (list) (list "web.ns.svc") 50 $ca -}}
{{ dict "ca" $old.Cert "cert" $c.Cert "key" $c.Key | toJson }}"#;
    assert_eq!(
        Pair::new(text, &mut seeded(5)).connects_to("web.ns.svc", 1),
        Ok(())
    );
}

#[test]
fn a_private_key_is_one_that_others_read() {
    let key = rendered(r#"{{ genPrivateKey "rsa" | toJson }}"#, &mut seeded(6));
    let key = PrivateKeyDer::from_pem_slice(key.as_str().unwrap().as_bytes()).unwrap();
    let key = rustls::crypto::ring::sign::any_supported_type(&key).unwrap();
    let schemes = [rustls::SignatureScheme::RSA_PKCS1_SHA256];
    let signature = key
        .choose_scheme(&schemes)
        .unwrap()
        .sign(b"message")
        .unwrap();
    assert_eq!(signature.len(), 512);
}

#[test]
fn what_was_planned_is_what_is_applied() {
    let all = format!(
        "{{{{ dict \"pair\" {SIGNED_JSON} \"word\" (randAlphaNum 20) \"id\" uuidv4 \"hash\" (htpasswd \"u\" \"p\") \
         \"sealed\" (encryptAES \"k\" \"text\") \"mixed\" (shuffle \"abcdefgh\") \"at\" (now | unixEpoch) | toJson }}}}"
    );
    let planned = rendered(&all, &mut seeded(7));
    assert_eq!(rendered(&all, &mut seeded(7)), planned);
    let other = rendered(&all, &mut seeded(8));
    for (name, value) in planned.as_object().unwrap() {
        assert!(
            name == "at" || other[name] != *value,
            "{name} does not depend on the seed"
        );
    }
}

const SIGNED_JSON: &str =
    r#"(genSelfSignedCertWithKey "a" (list) (list "a") 1 (genPrivateKey "ecdsa"))"#;
