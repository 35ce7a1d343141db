//! How objects of one version become those of another: `spec.conversion`.

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::Value;

use super::super::path::FieldError;
use super::{some, text, texts};
use crate::api::names;

/// What is wrong with the conversion that `spec` asks for, in the place of that of `old`.
pub(super) fn check(spec: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let Some(conversion) = some(spec, "conversion") else {
        return;
    };
    let at = |field: &str| format!("spec.conversion.{field}");
    let strategy = text(conversion, "strategy");
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(true)) && strategy != "None" {
        let why = "must be None if spec.preserveUnknownFields is true";
        errors.push(FieldError::invalid(&at("strategy"), &strategy.into(), why));
    }
    super::spec::one_of(&at("strategy"), strategy, &["None", "Webhook"], errors);
    let none = Value::Null;
    let webhook = some(conversion, "webhook").unwrap_or(&none);
    let config = some(webhook, "clientConfig");
    let versions: Vec<&str> = texts(webhook, "conversionReviewVersions").collect();
    if strategy != "Webhook" {
        let why = "should not be set when strategy is not set to Webhook";
        if config.is_some() {
            errors.push(FieldError::forbidden(&at("webhookClientConfig"), why));
        }
        if !versions.is_empty() {
            errors.push(FieldError::forbidden(&at("conversionReviewVersions"), why));
        }
        return;
    }
    match config {
        None => {
            let why = "required when strategy is set to Webhook";
            errors.push(FieldError::required_because(
                &at("webhookClientConfig"),
                why,
            ));
        }
        Some(config) => client(&at("webhookClientConfig"), config, errors),
    }
    // Certificates that are there do not give way to what is none.
    if old.is_some_and(has_valid_bundle) && !has_valid_bundle(spec) {
        let why = "unable to load root certificates: unable to parse bytes as PEM block";
        let found = bundle(spec).unwrap_or_default();
        let at = at("webhookClientConfig.caBundle");
        errors.push(FieldError::invalid(&at, &found.into(), why));
    }
    review_versions(&at("conversionReviewVersions"), &versions, errors);
}

/// The certificates that a webhook must show one of, if a definition names any: bytes in base64.
fn bundle(spec: &Value) -> Option<&str> {
    let conversion = some(spec, "conversion").filter(|it| text(it, "strategy") == "Webhook")?;
    let config = some(some(conversion, "webhook")?, "clientConfig")?;
    Some(text(config, "caBundle")).filter(|bundle| !bundle.is_empty())
}

/// Whether there is a certificate among those that a webhook must show one of, or none are named.
pub(crate) fn has_valid_bundle(spec: &Value) -> bool {
    let Some(bundle) = bundle(spec) else {
        return true;
    };
    let bytes = kubepkg_yaml::decode_base64(bundle.as_bytes()).unwrap_or_default();
    let mut found = CertificateDer::pem_slice_iter(&bytes);
    found.any(|one| one.is_ok_and(|one| RootCertStore::empty().add(one).is_ok()))
}

fn client(at: &str, config: &Value, errors: &mut Vec<FieldError>) {
    match (some(config, "url"), some(config, "service")) {
        (Some(address), None) => {
            address_of_webhook(
                &format!("{at}.url"),
                address.as_str().unwrap_or_default(),
                errors,
            );
        }
        (None, Some(found)) => service(&format!("{at}.service"), found, errors),
        _ => {
            let why = "exactly one of url or service is required";
            errors.push(FieldError::required_because(at, why));
        }
    }
}

/// What is wrong with the URL of a webhook.
pub(crate) fn address_of_webhook(at: &str, address: &str, errors: &mut Vec<FieldError>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (scheme, rest) = match address.split_once(':') {
        Some((scheme, rest)) if !scheme.contains('/') => (scheme, rest),
        _ => ("", address),
    };
    let good = scheme
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    if address.bytes().any(|byte| byte.is_ascii_control()) || !good {
        let why = if good {
            "net/url: invalid control character in URL"
        } else {
            "first path segment in URL cannot contain colon"
        };
        let quoted = kubepkg_yaml::go_quote(address);
        let why = format!("url must be a valid URL: parse {quoted}: {why}{FORM}");
        errors.push(FieldError::required_because(at, &why));
        return;
    }
    if scheme.is_empty() && address.starts_with(':') {
        let quoted = kubepkg_yaml::go_quote(address);
        let why = format!("url must be a valid URL: parse {quoted}: missing protocol scheme{FORM}");
        errors.push(FieldError::required_because(at, &why));
        return;
    }
    let escaped = |at: &usize| {
        let digits = address.as_bytes().get(at + 1..at + 3);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let mut percents = address.match_indices('%').map(|(at, _)| at);
    if let Some(wrong) = percents.find(|at| !escaped(at)) {
        let quoted = kubepkg_yaml::go_quote(address);
        let escape = address.get(wrong..).unwrap_or_default();
        let escape: String = escape.chars().take(3).collect();
        let escape = kubepkg_yaml::go_quote(&escape);
        let why =
            format!("url must be a valid URL: parse {quoted}: invalid URL escape {escape}{FORM}");
        errors.push(FieldError::required_because(at, &why));
        return;
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = rest
        .strip_prefix("//")
        .map(|rest| rest.split('/').next().unwrap_or_default())
        .unwrap_or_default();
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let mut invalid = |value: &str, why: &str| {
        errors.push(FieldError::invalid(at, &value.into(), why));
    };
    if !scheme.eq_ignore_ascii_case("https") {
        let why = format!("'https' is the only allowed URL scheme{FORM}");
        invalid(&scheme.to_ascii_lowercase(), &why);
    }
    if host.is_empty() {
        invalid("", &format!("host must be specified{FORM}"));
    }
    if let Some(user) = user {
        invalid(user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        invalid(fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        invalid(query, "query parameters are not permitted in the URL");
    }
}

/// The server takes name and namespace for one another here, so each is missed under the other's field.
fn service(at: &str, service: &Value, errors: &mut Vec<FieldError>) {
    for (field, other) in [("name", "namespace"), ("namespace", "name")] {
        if text(service, other).is_empty() {
            errors.push(FieldError::required(&format!("{at}.{field}")));
        }
    }
    let port = service["port"].as_i64().unwrap_or_default();
    if !(1..=65535).contains(&port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(
            &format!("{at}.port"),
            &port.into(),
            why,
        ));
    }
    let path = text(service, "path");
    if path.is_empty() || path == "/" {
        return;
    }
    let mut wrong = |why: String| {
        errors.push(FieldError::invalid(
            &format!("{at}.path"),
            &path.into(),
            &why,
        ));
    };
    if path == "//" {
        wrong("segment[0] may not be empty".to_owned());
        return;
    }
    if !path.starts_with('/') {
        wrong("must start with a '/'".to_owned());
    }
    let mut rest = path.chars();
    rest.next();
    let steps = rest.as_str();
    let steps = steps.strip_suffix('/').unwrap_or(steps);
    for (index, step) in steps.split('/').enumerate() {
        if step.is_empty() {
            wrong(format!("segment[{index}] may not be empty"));
            continue;
        }
        for why in names::subdomain(step) {
            wrong(format!("segment[{index}]: {why}"));
        }
    }
}

fn review_versions(at: &str, versions: &[&str], errors: &mut Vec<FieldError>) {
    if versions.is_empty() {
        errors.push(FieldError::required(at));
        return;
    }
    let mut seen: Vec<&str> = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let shown = Value::from(*version);
        if seen.contains(version) {
            errors.push(FieldError::invalid(&at, &shown, "duplicate version"));
            continue;
        }
        seen.push(version);
        for why in names::old_label(version) {
            errors.push(FieldError::invalid(&at, &shown, &why));
        }
    }
    if !versions
        .iter()
        .any(|version| matches!(*version, "v1" | "v1beta1"))
    {
        let why = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid(at, &versions.to_vec().into(), why));
    }
}
