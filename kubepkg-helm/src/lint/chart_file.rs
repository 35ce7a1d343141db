//! Rules about `Chart.yaml`.

use kubepkg_resolve::{Constraint, Version};
use serde_json::Value;

use super::tree::{Entry, Tree};
use super::{Found, Severity, address};
use crate::chart::{API_VERSION_V1, Metadata};
use crate::go::decode::decode_map;
use crate::go::path::base;
use crate::go::text::quote;

const FILE: &str = "Chart.yaml";
const API_VERSION_V2: &str = "v2";

pub(super) fn check(tree: &Tree, found: &mut Found) {
    if tree.entry(FILE) == Entry::Folder {
        found.rule(
            Severity::Error,
            FILE,
            Err("should be a file, not a directory".into()),
        );
    }
    let read = tree.read(FILE);
    let read = read.and_then(|text| Ok((Metadata::decode(&text)?, text)));
    let (chart, text) = match read {
        Ok(read) => read,
        Err(why) => {
            found.rule(
                Severity::Error,
                FILE,
                Err(format!("unable to parse YAML\n\t{why}")),
            );
            return;
        }
    };
    let strict = Metadata::check_strictly(&text)
        .map_err(|why| format!("failed to strictly parse chart metadata file\n\t{why}"));
    found.rule(Severity::Warning, FILE, strict);
    let untyped = decode_map(&text).unwrap_or_default();
    let mut error = |outcome| found.rule(Severity::Error, FILE, outcome);
    error(name(&chart));
    error(api_version(&chart));
    error(is_text(&untyped, "version"));
    error(version(&chart));
    error(is_text(&untyped, "appVersion"));
    error(maintainers(&chart));
    error(sources(&chart));
    let icon = refuse_if(chart.icon.is_empty(), || "icon is recommended".into());
    found.rule(Severity::Info, FILE, icon);
    let mut error = |outcome| found.rule(Severity::Error, FILE, outcome);
    let bad_icon = !chart.icon.is_empty() && !address::is_request_url(&chart.icon);
    error(refuse_if(bad_icon, || {
        format!("invalid icon URL '{}'", chart.icon)
    }));
    let is_v2 = chart.api_version == API_VERSION_V2;
    error(refuse_if(!chart.chart_type.is_empty() && !is_v2, || {
        format!(
            "chart type is not valid in apiVersion '{}'. It is valid in apiVersion '{API_VERSION_V2}'",
            chart.api_version
        )
    }));
    error(refuse_if(!chart.dependencies.is_empty() && !is_v2, || {
        format!(
            "dependencies are not valid in the Chart file with apiVersion '{}'. They are valid in apiVersion \
             '{API_VERSION_V2}'",
            chart.api_version
        )
    }));
    let loose = Version::parse_strict(&chart.version).is_err();
    let strict = refuse_if(loose, || {
        format!("version '{}' is not a valid SemVerV2", chart.version)
    });
    found.rule(Severity::Warning, FILE, strict);
}

fn refuse_if(refused: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if refused { Err(why()) } else { Ok(()) }
}

fn name(chart: &Metadata) -> Result<(), String> {
    refuse_if(chart.name.is_empty(), || "name is required".into())?;
    refuse_if(base(&chart.name) != chart.name, || {
        format!("chart name {} is invalid", quote(&chart.name))
    })
}

fn api_version(chart: &Metadata) -> Result<(), String> {
    let version = chart.api_version.as_str();
    refuse_if(version.is_empty(), || {
        "apiVersion is required. The value must be either \"v1\" or \"v2\"".into()
    })?;
    refuse_if(![API_VERSION_V1, API_VERSION_V2].contains(&version), || {
        format!("apiVersion '{version}' is not valid. The value must be either \"v1\" or \"v2\"")
    })
}

/// Whether YAML holds a text at a key, if anything; named as Go names types.
fn is_text(map: &serde_json::Map<String, Value>, key: &str) -> Result<(), String> {
    let found = match map.get(key) {
        None | Some(Value::String(_)) => return Ok(()),
        Some(Value::Null) => "<nil>",
        Some(Value::Bool(_)) => "bool",
        Some(Value::Number(_)) => "float64",
        Some(Value::Array(_)) => "[]interface {}",
        Some(Value::Object(_)) => "map[string]interface {}",
    };
    Err(format!(
        "{key} should be of type string but it's of type {found}"
    ))
}

fn version(chart: &Metadata) -> Result<(), String> {
    refuse_if(chart.version.is_empty(), || "version is required".into())?;
    let version = Version::parse(&chart.version)
        .map_err(|_| format!("version '{}' is not a valid SemVer", chart.version))?;
    let above_zero = Constraint::parse(">0.0.0-0").map_err(|error| error.to_string())?;
    match above_zero.validate(&version) {
        Err(reasons) if !reasons.is_empty() => {
            let reason = reasons.first().map(ToString::to_string);
            Err(format!("version {}", reason.unwrap_or_default()))
        }
        _ => Ok(()),
    }
}

fn maintainers(chart: &Metadata) -> Result<(), String> {
    for maintainer in &chart.maintainers {
        let Some(maintainer) = maintainer else {
            return Err("a maintainer entry is empty".into());
        };
        let (name, email, url) = (&maintainer.name, &maintainer.email, &maintainer.url);
        refuse_if(name.is_empty(), || "each maintainer requires a name".into())?;
        refuse_if(!email.is_empty() && !address::is_email(email), || {
            format!("invalid email '{email}' for maintainer '{name}'")
        })?;
        refuse_if(!url.is_empty() && !address::is_url(url), || {
            format!("invalid url '{url}' for maintainer '{name}'")
        })?;
    }
    Ok(())
}

fn sources(chart: &Metadata) -> Result<(), String> {
    let mut sources = chart.sources.iter();
    match sources.find(|source| source.is_empty() || !address::is_request_url(source)) {
        Some(bad) => Err(format!("invalid source URL '{bad}'")),
        None => Ok(()),
    }
}
