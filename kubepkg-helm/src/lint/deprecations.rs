//! Kinds that Kubernetes deprecated or no longer serves.
//!
//! The list is what the client library 0.37.1 of Helm 4.3.1 knows of its built-in kinds: the release that deprecated
//! one, and the warning that begins with its group version and kind.

use super::documents::Object;
use crate::capabilities::{Capabilities, KubeVersion};

const DEPRECATIONS: &str = include_str!("deprecations.txt");

/// The warning about an object's kind, if a cluster of this version has one.
pub(super) fn check(object: &Object, version: Option<&KubeVersion>) -> Result<(), String> {
    let Object {
        api_version, kind, ..
    } = object;
    if api_version.is_empty() || kind.is_empty() {
        return Ok(());
    }
    let head = format!("{api_version} {kind} is deprecated");
    let lines = DEPRECATIONS
        .lines()
        .filter_map(|line| line.split_once('\t'));
    let Some((since, warning)) = lines
        .into_iter()
        .find(|(_, warning)| warning.starts_with(&head))
    else {
        return Ok(());
    };
    let default = Capabilities::default().kube_version;
    let version = version.unwrap_or(&default);
    let current = (number(&version.major)?, number(&version.minor)?);
    let (major, minor) = since.split_once('.').unwrap_or((since, "0"));
    if (number(major)?, number(minor)?) <= current || current == (0, 0) {
        return Err(warning.to_owned());
    }
    Ok(())
}

fn number(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| {
        let text = crate::go::text::quote(text);
        format!("strconv.Atoi: parsing {text}: value out of range")
    })
}
