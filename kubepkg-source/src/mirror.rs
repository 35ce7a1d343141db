//! The place of a chart in a mirror registry.
//!
//! A mirror holds charts of every origin as OCI artifacts below one path. Rule of the reference
//! (§2.11): without its scheme the origin is split at `/`; each element is written in lower case,
//! runs of characters outside `[a-z0-9._-]` become one `-`, and `.`, `_` and `-` at its ends are
//! dropped; empty elements vanish.

use crate::location::{ChartLocation, HttpLocation, LocationError};

/// The location in the mirror that stands for another location.
///
/// # Errors
///
/// The mirror is no `oci://` location, or the origin leaves no usable path.
pub fn mirrored(
    mirror: &ChartLocation,
    origin: &ChartLocation,
) -> Result<ChartLocation, LocationError> {
    let ChartLocation::Oci(mirror) = mirror else {
        return Err(LocationError::Mirror);
    };
    let text = match origin {
        ChartLocation::Http(location) => HttpLocation::base(location).to_string(),
        other => other.to_string(),
    };
    let path = text
        .split_once("://")
        .map_or(text.as_str(), |(_, rest)| rest);
    let elements: Vec<String> = path
        .split('/')
        .map(element)
        .filter(|element| !element.is_empty())
        .collect();
    let mut parts = vec![mirror.registry().to_owned()];
    parts.extend((!mirror.path().is_empty()).then(|| mirror.path().to_owned()));
    parts.extend(elements);
    ChartLocation::parse(&format!("oci://{}", parts.join("/")))
}

fn element(text: &str) -> String {
    let mut element = String::new();
    for character in text.to_lowercase().chars() {
        if character.is_ascii_lowercase()
            || character.is_ascii_digit()
            || matches!(character, '.' | '_' | '-')
        {
            element.push(character);
        } else if !element.ends_with('\u{0}') {
            element.push('\u{0}');
        }
    }
    element
        .replace('\u{0}', "-")
        .trim_matches(['.', '_', '-'])
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_examples_of_the_reference() {
        let mirror = ChartLocation::parse("oci://mirror.example/m").unwrap();
        for (origin, expected) in [
            ("oci://ghcr.io/org", "oci://mirror.example/m/ghcr.io/org"),
            (
                "https://charts.jetstack.io",
                "oci://mirror.example/m/charts.jetstack.io",
            ),
            (
                "oci://localhost:5000/a",
                "oci://mirror.example/m/localhost-5000/a",
            ),
            (
                "https://h.example/A~~b/-c-/",
                "oci://mirror.example/m/h.example/a-b/c",
            ),
        ] {
            let origin = ChartLocation::parse(origin).unwrap();
            assert_eq!(mirrored(&mirror, &origin).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn a_mirror_is_a_registry() {
        let http = ChartLocation::parse("https://h.example").unwrap();
        assert_eq!(mirrored(&http, &http), Err(LocationError::Mirror));
    }
}
