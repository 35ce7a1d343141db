//! Signatures of Helm checked here, and signatures made here checked by Helm.

use std::time::{Duration, SystemTime};

use kubepkg_charts::{
    ChartAddress, Keyring, ProvenanceError, ProvenanceWish, PullError, PullOptions, PushRequest,
    Repositories, pull, push,
};
use kubepkg_sandbox::DockerRegistry;
use pgp::composed::{ArmorOptions, KeyType, SecretKeyParamsBuilder, SignedSecretKey};
use pgp::ser::Serialize as _;

use crate::client;
use crate::helm::{Helm, write};

const NAME: &str = "Ann Example <ann@example.com>";
const PASSPHRASE: &str = "open sesame";

fn key(name: &str, passphrase: Option<&str>) -> SignedSecretKey {
    let mut builder = SecretKeyParamsBuilder::default();
    builder
        .key_type(KeyType::Ed25519Legacy)
        .can_certify(true)
        .can_sign(true)
        .primary_user_id(name.into())
        .passphrase(passphrase.map(str::to_owned));
    builder
        .build()
        .unwrap()
        .generate(rand::thread_rng())
        .unwrap()
}

/// Rings as GnuPG exports them, one with the secret key.
fn rings(helm: &Helm, key: &SignedSecretKey) {
    std::fs::write(helm.path("secret.gpg"), key.to_bytes().unwrap()).unwrap();
    let public = key.to_public_key();
    std::fs::write(helm.path("public.gpg"), public.to_bytes().unwrap()).unwrap();
    let armored = public.to_armored_string(ArmorOptions::default()).unwrap();
    write(&helm.path("public.asc"), &armored);
}

fn ring(helm: &Helm, file: &str) -> Keyring {
    Keyring::parse(&std::fs::read(helm.path(file)).unwrap()).unwrap()
}

fn chart(helm: &Helm) {
    helm.chart(
        "web",
        "apiVersion: v2\nname: web\nversion: 1.0.0\ndescription: \"- a dash  \"\n",
    );
}

#[test]
fn what_helm_signed_counts() {
    let helm = Helm::new();
    let key = key(NAME, None);
    rings(&helm, &key);
    chart(&helm);
    helm.run(&[
        "package",
        "web",
        "--sign",
        "--key",
        NAME,
        "--keyring",
        "secret.gpg",
    ]);
    let archive = std::fs::read(helm.path("web-1.0.0.tgz")).unwrap();
    let text = std::fs::read(helm.path("web-1.0.0.tgz.prov")).unwrap();
    for file in ["public.gpg", "public.asc", "secret.gpg"] {
        let ring = ring(&helm, file);
        let now = SystemTime::now();
        let signed = ring.check(&text, &archive, "web-1.0.0.tgz", now).unwrap();
        assert_eq!(signed.names, [NAME]);
        assert!(signed.text.contains("name: web\n"), "{}", signed.text);
        let mut changed = archive.clone();
        changed.push(0);
        let error = ring
            .check(&text, &changed, "web-1.0.0.tgz", now)
            .unwrap_err();
        assert!(
            matches!(error, ProvenanceError::Changed { .. }),
            "{error:?}"
        );
        let before = now - Duration::from_hours(1);
        let error = ring
            .check(&text, &archive, "web-1.0.0.tgz", before)
            .unwrap_err();
        assert!(error.to_string().contains("made in the future"), "{error}");
    }
}

#[test]
fn what_was_signed_here_counts_for_helm() {
    for passphrase in [None, Some(PASSPHRASE)] {
        let helm = Helm::new();
        let key = key(NAME, passphrase);
        rings(&helm, &key);
        chart(&helm);
        let path = helm.package("web");
        let archive = std::fs::read(&path).unwrap();
        let ring = ring(&helm, "secret.gpg");
        let signer = ring.signer("ann@").unwrap();
        let now = SystemTime::now();
        if passphrase.is_some() {
            let error = signer
                .sign(&archive, "web-1.0.0.tgz", "wrong", now)
                .unwrap_err();
            let text = format!("{error} {error:?}");
            assert!(matches!(error, ProvenanceError::Sign(_)), "{text}");
            assert!(!text.contains("wrong"), "{text}");
        }
        let text = signer
            .sign(
                &archive,
                "web-1.0.0.tgz",
                passphrase.unwrap_or_default(),
                now,
            )
            .unwrap();
        write(&helm.path("web-1.0.0.tgz.prov"), &text);
        let said = helm.run(&["verify", "web-1.0.0.tgz", "--keyring", "public.gpg"]);
        assert!(said.contains(&format!("Signed by: {NAME}")), "{said}");
        ring.check(text.as_bytes(), &archive, "web-1.0.0.tgz", now)
            .unwrap();
    }
}

#[test]
fn names_choose_a_secret_key() {
    let helm = Helm::new();
    let (ann, bob) = (key(NAME, None), key("Bob <bob@example.com>", None));
    let mut both = ann.to_bytes().unwrap();
    both.extend(bob.to_bytes().unwrap());
    let ring = Keyring::parse(&both).unwrap();
    assert!(ring.signer(NAME).is_ok() && ring.signer("bob@").is_ok());
    assert!(matches!(
        ring.signer("example.com"),
        Err(ProvenanceError::Vague { .. })
    ));
    assert!(matches!(
        ring.signer("eve"),
        Err(ProvenanceError::NoSecretKey { .. })
    ));
    rings(&helm, &ann);
    let public = self::ring(&helm, "public.gpg");
    assert!(matches!(
        public.signer(NAME),
        Err(ProvenanceError::NoSecretKey { .. })
    ));
    let keybox = b"\x00\x00\x00\x20\x01\x01\x00\x02KBXf\x00\x00\x00\x00";
    assert!(matches!(
        Keyring::parse(keybox),
        Err(ProvenanceError::Keybox)
    ));
    assert!(Keyring::parse(b"").is_err() && Keyring::parse(b"nonsense").is_err());
}

#[tokio::test]
async fn a_pull_can_insist_on_a_signature() {
    let (helm, registry) = (Helm::new(), DockerRegistry::start().unwrap());
    let known = key(NAME, None);
    rings(&helm, &known);
    chart(&helm);
    helm.run(&[
        "package",
        "web",
        "--sign",
        "--key",
        NAME,
        "--keyring",
        "secret.gpg",
    ]);
    let request = |path: &str| {
        PushRequest::of_file(
            &helm.path("web-1.0.0.tgz"),
            &format!("{}/{path}", registry.url()),
        )
    };
    push(&client(), &request("signed").unwrap()).await.unwrap();
    std::fs::remove_file(helm.path("web-1.0.0.tgz.prov")).unwrap();
    push(&client(), &request("unsigned").unwrap())
        .await
        .unwrap();

    let wanted = |ring: Keyring| PullOptions {
        provenance: ProvenanceWish::Check(ring.into()),
        ..PullOptions::default()
    };
    let address = |path: &str| {
        let text = format!("{}/{path}/web", registry.url());
        ChartAddress::parse(&text, &Repositories::default()).unwrap()
    };
    let options = wanted(ring(&helm, "public.gpg"));
    let pulled = pull(&client(), &address("signed"), &options).await.unwrap();
    assert_eq!(pulled.signed.as_ref().unwrap().names, [NAME]);
    pulled.save(&helm.path("here")).unwrap();
    helm.run(&["verify", "here/web-1.0.0.tgz", "--keyring", "public.gpg"]);
    let web = format!("{}/signed/web", registry.url());
    helm.run(&[
        "pull",
        &web,
        "--verify",
        "--keyring",
        "public.gpg",
        "--plain-http",
    ]);

    let error = pull(&client(), &address("unsigned"), &options)
        .await
        .unwrap_err();
    assert!(matches!(error, PullError::NoProvenance { .. }), "{error:?}");
    let if_there = |ring: Keyring| PullOptions {
        provenance: ProvenanceWish::CheckIfThere(ring.into()),
        ..PullOptions::default()
    };
    let lenient = if_there(ring(&helm, "public.gpg"));
    let pulled = pull(&client(), &address("unsigned"), &lenient).await;
    assert_eq!(pulled.unwrap().signed, None, "nobody vouches for it");
    let pulled = pull(&client(), &address("signed"), &lenient).await;
    assert_eq!(pulled.unwrap().signed.unwrap().names, [NAME]);

    let stranger = key("Eve <eve@example.com>", None).to_bytes().unwrap();
    let stranger = || Keyring::parse(&stranger).unwrap();
    for options in [wanted(stranger()), if_there(stranger())] {
        let error = pull(&client(), &address("signed"), &options)
            .await
            .unwrap_err();
        assert!(matches!(error, PullError::Provenance { .. }), "{error:?}");
    }
}
