//! A chart as a release record holds it: the JSON of Helm's `chart.Chart`. Subcharts and raw texts are not in it.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Chart, ChartFile, Lock, Metadata};
use crate::go::time::ZERO;
use crate::values::Values;

fn encode<S: Serializer>(data: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(data))
}

fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
    Ok(decode_optional(deserializer)?.unwrap_or_default())
}

fn decode_optional<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Arc<[u8]>>, D::Error> {
    // Go ignores line ends inside base64.
    let text = Option::<String>::deserialize(deserializer)?;
    let text = text.map(|text| text.replace(['\n', '\r'], ""));
    text.map(|text| {
        STANDARD
            .decode(text)
            .map(Arc::from)
            .map_err(D::Error::custom)
    })
    .transpose()
}

#[derive(Serialize, Deserialize)]
struct FileRecord {
    #[serde(default)]
    name: String,
    #[serde(default, serialize_with = "encode_arc", deserialize_with = "decode")]
    data: Arc<[u8]>,
    #[serde(default, rename = "modtime", skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
}

fn encode_arc<S: Serializer>(data: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    encode(data, serializer)
}

#[expect(clippy::ref_option, reason = "serde's signature")]
fn encode_optional<S: Serializer>(
    data: &Option<Arc<[u8]>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match data {
        Some(data) => encode(data, serializer),
        None => serializer.serialize_none(),
    }
}

impl Serialize for ChartFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FileRecord {
            name: self.name.clone(),
            data: Arc::clone(&self.data),
            modified: self.modified.clone(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ChartFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let FileRecord {
            name,
            data,
            modified,
        } = FileRecord::deserialize(deserializer)?;
        Ok(Self {
            name,
            data,
            modified: modified.filter(|time| time != ZERO),
        })
    }
}

#[derive(Serialize, Deserialize)]
struct ChartRecord {
    #[serde(default)]
    metadata: Option<Metadata>,
    #[serde(default)]
    lock: Option<Lock>,
    #[serde(default)]
    templates: Option<Vec<Option<ChartFile>>>,
    #[serde(default)]
    values: Option<Values>,
    #[serde(
        default,
        serialize_with = "encode_optional",
        deserialize_with = "decode_optional"
    )]
    schema: Option<Arc<[u8]>>,
    #[serde(default)]
    schemamodtime: Option<String>,
    #[serde(default)]
    files: Option<Vec<Option<ChartFile>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modtime: Option<String>,
}

fn list(files: &[ChartFile], keep_empty: bool) -> Option<Vec<Option<ChartFile>>> {
    (keep_empty || !files.is_empty()).then(|| files.iter().cloned().map(Some).collect())
}

impl Serialize for Chart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ChartRecord {
            metadata: Some(self.metadata.clone()),
            lock: self.lock.clone(),
            templates: list(&self.templates, self.empty_lists.0),
            values: self.values.clone(),
            schema: self.schema.clone(),
            schemamodtime: Some(
                self.schema_modified
                    .clone()
                    .unwrap_or_else(|| ZERO.to_owned()),
            ),
            files: list(&self.files, self.empty_lists.1),
            modtime: self.modified.clone(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Chart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let record = ChartRecord::deserialize(deserializer)?;
        let files =
            |list: Option<Vec<Option<ChartFile>>>| list.into_iter().flatten().flatten().collect();
        let empty_lists = (record.templates.is_some(), record.files.is_some());
        Ok(Self {
            metadata: record.metadata.unwrap_or_default(),
            lock: record.lock,
            values: record.values,
            templates: files(record.templates),
            files: files(record.files),
            schema: record.schema,
            dependencies: Vec::new(),
            raw_values: None,
            values_modified: None,
            schema_modified: record.schemamodtime.filter(|time| time != ZERO),
            modified: record.modtime.filter(|time| time != ZERO),
            empty_lists,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::chart::Chart;

    #[test]
    fn record_of_helm_is_kept() {
        // The chart of the first release record of the corpus, as Helm 4.3.1 encodes it again.
        let text = r#"{"metadata":{"name":"c","version":"1.0.0","apiVersion":"v2"},"lock":null,"templates":[{"name":"templates/a.yaml","data":"YTogMQo="}],"values":{"a":1},"schema":null,"schemamodtime":"0001-01-01T00:00:00Z","files":[]}"#;
        let chart: Chart = serde_json::from_str(text).unwrap();
        assert_eq!(&*chart.templates[0].data, b"a: 1\n");
        assert_eq!(crate::to_go_json(&chart).unwrap(), text.as_bytes());
    }
}
