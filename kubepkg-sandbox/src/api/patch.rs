//! `PATCH`: four ways to say what to change.

use std::sync::Arc;

use jiff::Timestamp;
use kubepkg_patch::merge::Dialect;
use serde_json::Value;

use super::apply;
use super::convert;
use super::decode;
use super::encode::{self, Form};
use super::failure::Failure;
use super::fields::{self, Reading};
use super::kind::Kind;
use super::managed;
use super::request::{Call, Place};
use super::structs::Types;
use super::world::{Answer, World};
use super::write::{Writer, check_place};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// How a patch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Way {
    pub(crate) fn of(kind: &Kind, call: &Call) -> Result<Self, Failure> {
        let way = match call.media_type() {
            JSON => Some(Self::Json),
            MERGE => Some(Self::Merge),
            STRATEGIC if kind.custom.is_none() => Some(Self::Strategic),
            APPLY => Some(Self::Apply),
            _ => None,
        };
        way.ok_or_else(|| {
            if kind.custom.is_some() {
                return Failure {
                    details: None,
                    ..Failure::unsupported_media_type(
                        "the body of the request was in an unknown format - accepted media types \
                         include: application/json-patch+json, application/merge-patch+json, \
                         application/apply-patch+yaml",
                    )
                };
            }
            Failure::unsupported_media_type("415: Unsupported Media Type")
        })
    }
}

impl World {
    /// `PATCH` of an object or of its status.
    pub(crate) fn patch(
        &mut self,
        call: &Call,
        kind: &Arc<Kind>,
        place: &Place,
        now: Timestamp,
    ) -> Result<Answer, Failure> {
        let form = Form::of(call)?;
        let way = Way::of(kind, call)?;
        let mut writer = Writer::of(call, "PatchOptions", &place.subresource, now)?;
        writer.way = Some(way);
        apply::check_options(way, call)?;
        if way == Way::Apply {
            return self.apply(call, kind, place, form, writer);
        }
        let old = self.read(kind, place)?;
        let current = encode::with_type(kind, &old);
        let changed = changed(kind, way, &current, &call.body)?;
        if way == Way::Strategic {
            writer.reading = Reading::Converted;
        }
        let shown = || shown(kind, way, &current, &call.body);
        let object = decode::patched(kind, changed, &shown, &mut writer)?;
        let stored = check_place(kind, place, &object).and_then(|()| {
            let object = convert::stored(kind, object);
            self.commit_change(kind, &old, object, &mut writer)
        });
        let stored = stored.map_err(|failure| failure.warned(&writer.warnings))?;
        Ok(writer.answer(200, kind, &stored, form))
    }
}

/// The object after a patch that is no apply.
pub(crate) fn changed(
    kind: &Kind,
    way: Way,
    current: &Value,
    body: &[u8],
) -> Result<Value, Failure> {
    match way {
        Way::Json => {
            let patch = kubepkg_patch::json::Patch::parse(body).map_err(|error| {
                let why = error
                    .to_string()
                    .replace("jsonpatch.Patch", "[]handlers.jsonPatchOp");
                Failure::bad_request(format!("error decoding patch: {why}"))
            })?;
            patch.apply(current).map_err(|_| Failure {
                reason: Some("Invalid"),
                details: Some(serde_json::json!({})),
                ..Failure::plain(
                    422,
                    "the server rejected our request due to an error in our request",
                )
            })
        }
        Way::Strategic | Way::Merge | Way::Apply => {
            let step = if way == Way::Strategic {
                ""
            } else {
                "error decoding patch: "
            };
            let (patch, _) = fields::parse(body)
                .map_err(|error| Failure::bad_request(format!("{step}{error}")))?;
            if patch.is_null() && way == Way::Merge {
                return Err(Failure::bad_request("Invalid JSON Patch"));
            }
            if !patch.is_object() {
                return Err(Failure::bad_request(format!(
                    "{step}json: cannot unmarshal {} into Go value of type \
                     map[string]interface {{}}",
                    decode::go_type(&patch)
                )));
            }
            if way == Way::Strategic {
                let merged =
                    kubepkg_patch::strategic::apply(current, &patch, &managed::type_of(kind));
                return merged.map_err(|error| Failure::plain(500, error.to_string()));
            }
            kubepkg_patch::merge::apply(current, &patch)
                .map_err(|error| Failure::bad_request(error.to_string()))
        }
    }
}

/// What stands for a patched object in messages: its text as the server makes it, where what the patch does not
/// touch keeps the order of Go's structures, or the patch when that is a strategic one.
fn shown(kind: &Kind, way: Way, current: &Value, body: &[u8]) -> String {
    if way == Way::Strategic {
        let patch = fields::parse(body).map(|(patch, _)| patch);
        return kubepkg_patch::print_go(&patch.unwrap_or_default());
    }
    let types = Types::get();
    let message = types.of_kind(&kind.api_version(), &kind.kind);
    let text = match message.filter(|_| kind.custom.is_none()) {
        Some(message) => types.written(message, current),
        None => current.to_string(),
    };
    let patched = if way == Way::Json {
        let patch = kubepkg_patch::json::Patch::parse(body);
        patch
            .and_then(|patch| patch.apply_text(text.as_bytes()))
            .ok()
    } else {
        kubepkg_patch::merge::apply_text(text.as_bytes(), body, Dialect::V4).ok()
    };
    patched.unwrap_or(text)
}
