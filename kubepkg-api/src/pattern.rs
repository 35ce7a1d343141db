//! One constant for each textual rule, used twice: as the `pattern` of the CRD schema, which the API server
//! checks, and as the check of the parsed type in this crate.
//!
//! The syntax is the common part of Go's RE2 and the `regex` crate, so both sides accept the same strings.

use std::sync::LazyLock;

use regex::Regex;

/// DNS-1123 subdomain, as Kubernetes wants object names and API groups.
pub(crate) const SUBDOMAIN: &str =
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// DNS-1123 subdomain with at least one dot: an API group that a custom resource may have, or a CRD's name.
pub(crate) const DOTTED: &str =
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$";
/// A capability: a plain word, or `api:<group>/<version>`.
pub(crate) const CAPABILITY: &str =
    r"^(api:[a-z0-9]([-a-z0-9.]*[a-z0-9])?/v[0-9a-z]+|[A-Za-z0-9]([-A-Za-z0-9._/]*[A-Za-z0-9])?)$";
/// A sha256 digest as every kubepkg document writes it.
pub(crate) const DIGEST: &str = r"^sha256:[a-f0-9]{64}$";
/// Where a chart repository may live.
pub(crate) const CHART_REPOSITORY: &str = r"^(https?|oci)://";
/// An OCI artifact: `oci://host/path[:tag][@sha256:...]`.
pub(crate) const OCI_URL: &str = r"^oci://[A-Za-z0-9.-]+(:[0-9]+)?(/[a-z0-9]([-a-z0-9._]*[a-z0-9])?)+(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[a-f0-9]{64})?$";
/// An image in its full form, pinned: `registry/path[:tag]@sha256:...`.
pub(crate) const PINNED_IMAGE: &str = r"^[A-Za-z0-9.-]+(:[0-9]+)?(/[a-z0-9]([-a-z0-9._]*[a-z0-9])?)+(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?@sha256:[a-f0-9]{64}$";
/// A duration in Go's syntax (`10m`, `1h30m`, `1.5s`, `0`).
pub(crate) const GO_DURATION: &str = r"^[-+]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*)$";

/// A compiled rule. A pattern that did not compile would match nothing; the tests match every one of them.
pub(crate) struct Pattern(LazyLock<Result<Regex, regex::Error>>);

impl Pattern {
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.0.as_ref().is_ok_and(|regex| regex.is_match(text))
    }
}

pub(crate) static SUBDOMAIN_RULE: Pattern = Pattern(LazyLock::new(|| Regex::new(SUBDOMAIN)));
pub(crate) static DOTTED_RULE: Pattern = Pattern(LazyLock::new(|| Regex::new(DOTTED)));
pub(crate) static CAPABILITY_RULE: Pattern = Pattern(LazyLock::new(|| Regex::new(CAPABILITY)));
pub(crate) static DIGEST_RULE: Pattern = Pattern(LazyLock::new(|| Regex::new(DIGEST)));
pub(crate) static OCI_URL_RULE: Pattern = Pattern(LazyLock::new(|| Regex::new(OCI_URL)));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_matches_its_example() {
        let hex = "0".repeat(64);
        for (pattern, good) in [
            (SUBDOMAIN, "a.b-c".to_owned()),
            (DOTTED, "kubepkg.dev".to_owned()),
            (CAPABILITY, "api:cert-manager.io/v1".to_owned()),
            (CAPABILITY, "ingress".to_owned()),
            (DIGEST, format!("sha256:{hex}")),
            (CHART_REPOSITORY, "https://charts.jetstack.io".to_owned()),
            (
                OCI_URL,
                format!("oci://localhost:5000/a/b_c:1.0@sha256:{hex}"),
            ),
            (
                PINNED_IMAGE,
                format!("quay.io/jetstack/cert-manager:v1@sha256:{hex}"),
            ),
            (GO_DURATION, "1h30m0.5s".to_owned()),
        ] {
            let regex = Regex::new(pattern).unwrap();
            assert!(regex.is_match(&good), "{pattern} must match {good}");
            assert!(!regex.is_match(" "), "{pattern} must not match a blank");
        }
    }
}
