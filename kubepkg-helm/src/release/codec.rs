//! The `release` key of a record Secret: base64 of gzip of JSON. Reads what Helm reads (line breaks inside
//! the base64, text without gzip from before compression, several gzip members) and refuses what Helm
//! refuses, with the text that Helm shows; on top of that it refuses payloads that unpack to more than the
//! caller allows. Source of the rules: Helm 4.3.1 `pkg/storage/driver/util.go`.

use super::gojson::{self, Json};
use super::shape;
use base64::Engine as _;
use std::io::{Read as _, Write as _};

/// Bounds on what a record may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLimits {
    /// Bytes of the base64 text. The API server refuses Secrets above 1 MiB, so the default is that.
    pub payload: usize,
    /// Bytes of JSON after unpacking; 64 MiB by default.
    pub json: usize,
    /// Depth of nesting in the JSON; 512 by default.
    pub depth: usize,
}

impl Default for RecordLimits {
    fn default() -> Self {
        Self {
            payload: 1 << 20,
            json: 64 << 20,
            depth: 512,
        }
    }
}

const MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];

/// Decodes a payload into the conformed record.
pub(crate) fn decode(payload: &[u8], limits: &RecordLimits) -> Result<Json, String> {
    if payload.len() > limits.payload {
        return Err(format!("payload is longer than {} bytes", limits.payload));
    }
    let bytes = kubepkg_yaml::decode_base64(payload).map_err(|error| error.to_string())?;
    let text = if bytes.len() > 3 && bytes.starts_with(&MAGIC) {
        gunzip(&bytes, limits.json)?
    } else {
        bytes
    };
    shape::conform_release(&gojson::parse(&text, limits.depth)?)
}

/// Encodes a record as the payload of a Secret.
pub(crate) fn encode(record: &Json) -> std::io::Result<String> {
    let mut text = String::new();
    gojson::write(record, &mut text);
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(text.as_bytes())?;
    Ok(base64::engine::general_purpose::STANDARD.encode(packer.finish()?))
}

fn gunzip(bytes: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut unpacker = flate2::bufread::MultiGzDecoder::new(bytes);
    let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    (&mut unpacker)
        .take(bound)
        .read_to_end(&mut out)
        .map_err(|error| go_gzip_error(&error))?;
    if out.len() > limit {
        return Err(format!("record unpacks to more than {limit} bytes"));
    }
    Ok(out)
}

/// Go's words for the failures that both libraries know.
fn go_gzip_error(error: &std::io::Error) -> String {
    let text = error.to_string();
    if error.kind() == std::io::ErrorKind::UnexpectedEof {
        "unexpected EOF".to_owned()
    } else if text.contains("checksum") {
        "gzip: invalid checksum".to_owned()
    } else if text.contains("header") {
        "gzip: invalid header".to_owned()
    } else {
        format!("flate: corrupt input: {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::{RecordLimits, decode, encode};
    use crate::release::gojson::{self, Json};

    fn text_of(json: &Json) -> String {
        let mut out = String::new();
        gojson::write(json, &mut out);
        out
    }

    #[test]
    fn refuses_a_record_that_unpacks_too_far() {
        let bomb = encode(&Json::String("x".repeat(4096))).expect("encodes");
        let limits = RecordLimits {
            json: 1000,
            ..RecordLimits::default()
        };
        assert_eq!(
            decode(bomb.as_bytes(), &limits),
            Err("record unpacks to more than 1000 bytes".to_owned())
        );
    }

    /// Rows of Helm 4.3.1: payload -> record, and record -> what is stored.
    #[test]
    fn meets_the_vectors_of_helm() {
        let vectors = kubepkg_vectors::Vectors {
            name: "release-secret",
            packed: include_bytes!("../../tests/vectors/release-secret.jsonl.gz"),
            exceptions: include_str!("../../tests/vectors/exceptions.txt"),
        };
        vectors.run(check);
    }

    fn check(row: &serde_json::Value) -> Result<(), String> {
        let limits = RecordLimits {
            payload: 8 << 20,
            depth: 10_000,
            ..RecordLimits::default()
        };
        if let Some(payload) = row["payload"].as_str() {
            let read = decode(payload.as_bytes(), &limits).map(|json| text_of(&json));
            return match (read, row["json"].as_str(), row["error"].as_str()) {
                (Ok(text), Some(expected), _) if text == expected => Ok(()),
                (Err(why), None, Some(expected))
                    if format!("get: failed to decode data \"sh.helm.release.v1.r.v1\": {why}")
                        == expected =>
                {
                    Ok(())
                }
                (read, json, error) => Err(format!("{read:?} instead of {json:?} {error:?}")),
            };
        }
        let raw = row["release"].as_str().ok_or("no release")?;
        let json = crate::release::shape::conform_release(&gojson::parse(raw.as_bytes(), 99)?)?;
        let stored = row["stored_json"].as_str().unwrap_or_default();
        if text_of(&json) != stored {
            return Err(format!("{} instead of {stored}", text_of(&json)));
        }
        let labels: std::collections::BTreeMap<String, String> =
            serde_json::from_value(row["labels"].clone()).unwrap_or_default();
        let mut release = crate::release::Release::from_record(&json);
        release.labels = labels;
        let secret = crate::release::secret::Holder::Secret
            .object_of(&release, "x", None, None)
            .map_err(|error| error.to_string())?;
        let mut made: std::collections::BTreeMap<String, String> =
            serde_json::from_value(secret["metadata"]["labels"].clone()).unwrap_or_default();
        made.remove("createdAt");
        let expected: std::collections::BTreeMap<String, String> =
            serde_json::from_value(row["secret_labels"].clone()).unwrap_or_default();
        if made != expected
            || secret["metadata"]["name"] != row["secret_name"]
            || secret["type"] != row["secret_type"]
        {
            return Err(format!("secret {secret}"));
        }
        let again = decode(
            encode(&release.to_record())
                .map_err(|e| e.to_string())?
                .as_bytes(),
            &limits,
        )?;
        if text_of(&again) == stored {
            Ok(())
        } else {
            Err(format!("round trip {}", text_of(&again)))
        }
    }
}
