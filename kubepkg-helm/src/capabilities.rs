//! What a template is told about the cluster: `.Capabilities`.
//!
//! Without a cluster it is what `helm template` of Helm 4.3.1 says: Kubernetes 1.37 and every group version
//! that its client library knows.

use crate::go::text::quote;

/// Group versions that Helm 4.3.1 knows without a cluster, in its order.
const DEFAULT_API_VERSIONS: &str = include_str!("capabilities/api-versions.txt");

/// The Helm version whose behaviour this crate has.
pub const HELM_VERSION: &str = "v4.3.1";

/// What a template may ask about the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Version of the cluster.
    pub kube_version: KubeVersion,
    /// Group versions (`apps/v1`), and from a cluster also `apps/v1/Deployment`.
    pub api_versions: Vec<String>,
    /// What `.Capabilities.HelmVersion` says.
    pub helm_version: HelmVersion,
}

/// `.Capabilities.HelmVersion`: how Helm was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelmVersion {
    /// `v4.3.1`.
    pub version: String,
    /// Commit, empty when it is not known.
    pub git_commit: String,
    /// `clean`, `dirty` or empty.
    pub git_tree_state: String,
    /// Go version that a chart may ask for.
    pub go_version: String,
    /// Version of the Kubernetes client library.
    pub kube_client_version: String,
}

impl Default for HelmVersion {
    fn default() -> Self {
        Self {
            version: HELM_VERSION.into(),
            git_commit: String::new(),
            git_tree_state: String::new(),
            go_version: "go1.26.8".into(),
            kube_client_version: "v1.37".into(),
        }
    }
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            kube_version: KubeVersion::new("v1.37.0", "v1.37.0", "1", "37"),
            api_versions: DEFAULT_API_VERSIONS.lines().map(str::to_owned).collect(),
            helm_version: HelmVersion::default(),
        }
    }
}

impl Capabilities {
    /// Capabilities of a cluster: the version it reports and what it serves.
    ///
    /// # Errors
    /// [`KubeVersionError`] when the version is none.
    pub fn of_cluster(version: &str, api_versions: Vec<String>) -> Result<Self, KubeVersionError> {
        Ok(Self {
            kube_version: KubeVersion::parse(version)?,
            api_versions,
            helm_version: HelmVersion::default(),
        })
    }
}

/// A Kubernetes version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeVersion {
    /// In full, with a leading `v`: `v1.33.4-gke.1245000`.
    pub version: String,
    /// Without what follows the numbers; a chart's `kubeVersion` is checked against this.
    pub normalized: String,
    /// `1`.
    pub major: String,
    /// `33`.
    pub minor: String,
}

/// A text that is no Kubernetes version; the words are those of Kubernetes' parser.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct KubeVersionError {
    message: String,
}

impl KubeVersion {
    fn new(version: &str, normalized: &str, major: &str, minor: &str) -> Self {
        Self {
            version: version.into(),
            normalized: normalized.into(),
            major: major.into(),
            minor: minor.into(),
        }
    }

    /// Reads a version: at least two numbers, an optional `v` before, anything behind.
    ///
    /// # Errors
    /// [`KubeVersionError`] when there is no number, only one, a leading zero in the first, or one too large.
    pub fn parse(text: &str) -> Result<Self, KubeVersionError> {
        let fail = |message: String| Err(KubeVersionError { message });
        let start = text.trim_start();
        let start = start.strip_prefix('v').unwrap_or(start);
        let mut components: Vec<&str> = Vec::new();
        let mut rest = start;
        loop {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 {
                break;
            }
            let (component, after) = rest.split_at(digits);
            components.push(component);
            let more = after
                .strip_prefix('.')
                .filter(|more| more.starts_with(|c: char| c.is_ascii_digit()));
            rest = more.unwrap_or(after);
            if more.is_none() {
                break;
            }
        }
        if components.is_empty() || rest.contains('\n') {
            return fail(format!("could not parse {} as version", quote(text)));
        }
        let [major, minor, ..] = components.as_slice() else {
            return fail(format!("illegal version string {}", quote(text)));
        };
        if major.starts_with('0') && *major != "0" {
            return fail(format!(
                "illegal zero-prefixed version component {} in {}",
                quote(major),
                quote(text)
            ));
        }
        let mut numbers = Vec::new();
        for component in &components {
            let Ok(number) = component.parse::<u64>() else {
                return fail(format!(
                    "illegal non-numeric version component {} in {}: strconv.ParseUint: parsing {}: value out of range",
                    quote(component),
                    quote(text),
                    quote(component)
                ));
            };
            numbers.push(number.to_string());
        }
        let version = if text.starts_with('v') {
            text.to_owned()
        } else {
            format!("v{text}")
        };
        let normalized = format!("v{}", numbers.join("."));
        let number = |text: &str| text.trim_start_matches('0').to_owned();
        let or_zero = |text: String| {
            if text.is_empty() {
                "0".to_owned()
            } else {
                text
            }
        };
        Ok(Self {
            version,
            normalized,
            major: or_zero(number(major)),
            minor: or_zero(number(minor)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::KubeVersion;

    #[test]
    fn suffix_stays_in_the_version_only() {
        let version = KubeVersion::parse("1.33.4-gke.1245000").unwrap();
        assert_eq!(
            version,
            KubeVersion::new("v1.33.4-gke.1245000", "v1.33.4", "1", "33")
        );
        assert_eq!(
            KubeVersion::parse("1").unwrap_err().to_string(),
            "illegal version string \"1\""
        );
        assert_eq!(
            KubeVersion::parse("abc").unwrap_err().to_string(),
            "could not parse \"abc\" as version"
        );
        assert_eq!(
            KubeVersion::parse("1..2").unwrap_err().to_string(),
            "illegal version string \"1..2\""
        );
    }
}
