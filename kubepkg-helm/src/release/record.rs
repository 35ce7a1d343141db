//! One revision of a release in memory, and its way to and from the JSON of a record.

use super::codec::{self, RecordLimits};
use super::gojson::Json;
use super::{ReleaseStatus, ReleaseTime, shape};
use crate::{Chart, Hook, Values};
use serde_json::Value;
use std::collections::BTreeMap;

/// Labels of a record Secret that belong to Helm; a caller's labels must not use them.
pub(crate) const SYSTEM_LABELS: [&str; 6] = [
    "name",
    "owner",
    "status",
    "version",
    "createdAt",
    "modifiedAt",
];

/// Why a record can't be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The record is damaged; the text is Helm's.
    #[error("get: failed to decode data {key:?}: {reason}")]
    Damaged {
        /// Name of the Secret.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The chart can't be stored.
    #[error("release can't be encoded")]
    Encode(#[source] serde_json::Error),
    /// The record can't be packed.
    #[error("release can't be packed")]
    Pack(#[source] std::io::Error),
    /// The API server takes no object of this size.
    #[error(
        "release record of {bytes} bytes is larger than the {limit} bytes that it may have; unpacked it holds {}",
        listed(.parts)
    )]
    TooLarge {
        /// Bytes of the payload, packed.
        bytes: usize,
        /// Bytes allowed.
        limit: usize,
        /// What it holds, the largest part first.
        parts: Vec<PartSize>,
    },
    /// A caller's label is one of Helm's own.
    #[error(
        "user supplied labels contains system reserved label name. System labels: [name owner status version createdAt modifiedAt]"
    )]
    SystemLabel {
        /// The label.
        label: String,
    },
}

/// How large a part of a record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartSize {
    /// `manifest`, `hooks`, `values`, `notes`, or `chart templates` and the like.
    pub part: &'static str,
    /// Bytes of its JSON, before packing.
    pub bytes: usize,
}

fn listed(parts: &[PartSize]) -> String {
    parts
        .iter()
        .map(|part| format!("{} {}", part.part, part.bytes))
        .collect::<Vec<_>>()
        .join(", ")
}

/// How the objects of a release are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApplyMethod {
    /// Not said: records of Helm 3, which writes from the client.
    #[default]
    Unset,
    /// By the client (`csa`).
    ClientSide,
    /// By the server (`ssa`).
    ServerSide,
}

/// State of a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// When the first revision was deployed.
    pub first_deployed: Option<ReleaseTime>,
    /// When this revision was deployed.
    pub last_deployed: Option<ReleaseTime>,
    /// When the release was removed.
    pub deleted: Option<ReleaseTime>,
    /// What last happened, for people.
    pub description: String,
    /// Where the revision stands.
    pub status: ReleaseStatus,
    /// The revision that this one returned to; 0 for none.
    pub rollback_revision: u32,
    /// The rendered notes of the chart.
    pub notes: String,
}

/// One revision of a release. Its `Debug` form leaves out values, manifests and charts, which hold secrets.
#[derive(Clone, Default, PartialEq)]
pub struct Release {
    /// Name of the release.
    pub name: String,
    /// Namespace of the release and of its record.
    pub namespace: String,
    /// Revision, from 1.
    pub revision: u32,
    /// State of the revision.
    pub info: Info,
    /// The chart in the form of the record (metadata, templates, default values, files).
    pub chart: Value,
    /// Values of the user.
    pub config: Value,
    /// The rendered objects, one YAML stream.
    pub manifest: String,
    /// The rendered hooks.
    pub hooks: Vec<Hook>,
    /// Labels of the record that a caller set. They are labels of the Secret, not part of the payload.
    pub labels: BTreeMap<String, String>,
    /// How the objects are written.
    pub apply_method: ApplyMethod,
}

impl std::fmt::Debug for Release {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Release")
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .field("revision", &self.revision)
            .field("status", &self.info.status)
            .field("description", &self.info.description)
            .field("chart", &self.chart_name())
            .field("chart_version", &self.chart_version())
            .finish_non_exhaustive()
    }
}

impl Release {
    /// Reads the payload of a record.
    ///
    /// # Errors
    /// [`RecordError::Damaged`] with Helm's text. `key` names the record in it.
    pub fn from_payload(
        payload: &[u8],
        key: &str,
        limits: &RecordLimits,
    ) -> Result<Self, RecordError> {
        codec::decode(payload, limits)
            .map(|json| Self::from_record(&json))
            .map_err(|reason| RecordError::Damaged {
                key: key.to_owned(),
                reason,
            })
    }

    /// Packs the record as the payload of a Secret.
    ///
    /// # Errors
    /// When it can't be packed.
    pub fn to_payload(&self) -> Result<String, RecordError> {
        codec::encode(&self.to_record()).map_err(RecordError::Pack)
    }

    /// The parts of the record, the largest first.
    pub fn part_sizes(&self) -> Vec<PartSize> {
        let of = |value: &Value| value.to_string().len();
        let chart = |key: &str| self.chart.get(key).map_or(0, of);
        let hooks = serde_json::to_string(&self.hooks).map_or(0, |text| text.len());
        let mut parts: Vec<PartSize> = [
            ("manifest", self.manifest.len()),
            ("hooks", hooks),
            ("values", of(&self.config)),
            ("notes", self.info.notes.len()),
            ("chart templates", chart("templates")),
            ("chart files", chart("files")),
            ("chart values", chart("values")),
            ("chart schema", chart("schema")),
        ]
        .into_iter()
        .map(|(part, bytes)| PartSize { part, bytes })
        .filter(|part| part.bytes > 4)
        .collect();
        parts.sort_by(|a, b| (b.bytes, a.part).cmp(&(a.bytes, b.part)));
        parts
    }

    pub(crate) fn too_large(&self, bytes: usize, limit: usize) -> RecordError {
        RecordError::TooLarge {
            bytes,
            limit,
            parts: self.part_sizes(),
        }
    }

    /// Leaves out of the chart what a rollback does not need, until the record fits: its files, then its
    /// templates and schema. Helm reads what is left. Tells what was left out.
    pub(crate) fn fit(&mut self, limit: usize) -> Result<Vec<&'static str>, RecordError> {
        let mut left_out = Vec::new();
        let mut bytes = self.to_payload()?.len();
        if bytes <= limit {
            return Ok(left_out);
        }
        let whole = self.too_large(bytes, limit);
        for (keys, what) in [
            (&["files"][..], "chart files"),
            (&["templates", "schema"][..], "chart templates and schema"),
        ] {
            let Some(chart) = self.chart.as_object_mut() else {
                break;
            };
            for key in keys {
                if let Some(part) = chart.get_mut(*key) {
                    *part = if *key == "schema" {
                        Value::Null
                    } else {
                        Value::Array(Vec::new())
                    };
                }
            }
            left_out.push(what);
            bytes = self.to_payload()?.len();
            if bytes <= limit {
                return Ok(left_out);
            }
        }
        Err(whole)
    }

    /// The chart, without its subcharts, which records do not hold.
    pub fn chart(&self) -> Option<Chart> {
        serde_json::from_value(self.chart.clone()).ok()
    }

    /// The user's values.
    pub fn values(&self) -> Values {
        Values::from_json(self.config.clone())
    }

    /// Name of the chart; empty when the record holds none.
    pub fn chart_name(&self) -> &str {
        self.chart
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Version of the chart; empty when the record holds none.
    pub fn chart_version(&self) -> &str {
        self.chart
            .pointer("/metadata/version")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Version of what the chart installs; empty when the record holds none.
    pub fn app_version(&self) -> &str {
        self.chart
            .pointer("/metadata/appVersion")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    pub(crate) fn from_record(json: &Json) -> Self {
        let text = |value: Option<&Json>| match value {
            Some(Json::String(text)) => text.clone(),
            _ => String::new(),
        };
        let int = |value: Option<&Json>| match value {
            Some(Json::Number(text)) => text.parse().unwrap_or_default(),
            _ => 0,
        };
        let value = |key: &str| json.get(key).map_or(Value::Null, Value::from);
        let info = json.get("info").unwrap_or(&Json::Null);
        let time = |key: &str| ReleaseTime::from_record(&text(info.get(key)));
        let hooks = match json.get("hooks") {
            Some(Json::Array(hooks)) => hooks
                .iter()
                .filter_map(|hook| serde_json::from_value(Value::from(hook)).ok())
                .collect(),
            _ => Vec::new(),
        };
        Self {
            name: text(json.get("name")),
            namespace: text(json.get("namespace")),
            revision: int(json.get("version")),
            info: Info {
                first_deployed: time("first_deployed"),
                last_deployed: time("last_deployed"),
                deleted: time("deleted"),
                description: text(info.get("description")),
                status: match text(info.get("status")).as_str() {
                    "" => ReleaseStatus::Other(String::new()),
                    word => word.into(),
                },
                rollback_revision: int(info.get("rollback_revision")),
                notes: text(info.get("notes")),
            },
            chart: value("chart"),
            config: value("config"),
            manifest: text(json.get("manifest")),
            hooks,
            labels: BTreeMap::new(),
            apply_method: match text(json.get("apply_method")).as_str() {
                "ssa" => ApplyMethod::ServerSide,
                "" => ApplyMethod::Unset,
                _ => ApplyMethod::ClientSide,
            },
        }
    }

    pub(crate) fn to_record(&self) -> Json {
        let text = |text: &str| Json::String(text.to_owned());
        let time = |time: &Option<ReleaseTime>| {
            time.as_ref().map_or(Json::Null, |time| text(time.as_str()))
        };
        let info = Json::Object(vec![
            ("first_deployed".to_owned(), time(&self.info.first_deployed)),
            ("last_deployed".to_owned(), time(&self.info.last_deployed)),
            ("deleted".to_owned(), time(&self.info.deleted)),
            ("description".to_owned(), text(&self.info.description)),
            ("status".to_owned(), text(self.info.status.as_str())),
            (
                "rollback_revision".to_owned(),
                Json::Number(self.info.rollback_revision.to_string()),
            ),
            ("notes".to_owned(), text(&self.info.notes)),
        ]);
        let hooks = self
            .hooks
            .iter()
            .filter_map(|hook| serde_json::to_value(hook).ok())
            .map(|hook| Json::from(&hook))
            .collect();
        let apply_method = match self.apply_method {
            ApplyMethod::ServerSide => "ssa",
            ApplyMethod::ClientSide => "csa",
            ApplyMethod::Unset => "",
        };
        let raw = Json::Object(vec![
            ("name".to_owned(), text(&self.name)),
            ("info".to_owned(), info),
            ("chart".to_owned(), Json::from(&self.chart)),
            ("config".to_owned(), Json::from(&self.config)),
            ("manifest".to_owned(), text(&self.manifest)),
            ("hooks".to_owned(), Json::Array(hooks)),
            (
                "version".to_owned(),
                Json::Number(self.revision.to_string()),
            ),
            ("namespace".to_owned(), text(&self.namespace)),
            ("apply_method".to_owned(), text(apply_method)),
        ]);
        // The table puts the members into Helm's order and leaves out what Helm leaves out; what is built
        // here has the right types, so it cannot be refused.
        shape::conform_release(&raw).unwrap_or(raw)
    }
}

#[cfg(test)]
mod tests {
    use super::Release;
    use serde_json::json;

    #[test]
    fn a_debug_text_holds_no_values() {
        let release = Release {
            name: "r".to_owned(),
            config: json!({"password": "hunter2"}),
            manifest: "hunter2".to_owned(),
            ..Release::default()
        };
        assert!(!format!("{release:?}").contains("hunter2"));
    }
}
