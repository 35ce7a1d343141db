//! Server-side apply.

use std::sync::Arc;

use super::convert;
use super::decode;
use super::encode::Form;
use super::failure::{Cause, Failure};
use super::kind::Kind;
use super::managed;
use super::object;
use super::patch::Way;
use super::prepare;
use super::request::{Call, Place};
use super::world::{Answer, World};
use super::write::{Writer, check_name, no_name, place_in_namespace};

/// Apply needs a manager and alone may force.
pub(crate) fn check_options(way: Way, call: &Call) -> Result<(), Failure> {
    let apply = way == Way::Apply;
    if !apply && call.query.has("force") {
        let cause = Cause::forbidden("force", "may not be specified for non-apply patch");
        return Err(Failure::invalid_options("PatchOptions", cause));
    }
    if apply && call.query.get("fieldManager").is_empty() {
        let cause = Cause::required("fieldManager", "is required for apply patch");
        return Err(Failure::invalid_options("PatchOptions", cause));
    }
    Ok(())
}

impl World {
    pub(crate) fn apply(
        &mut self,
        call: &Call,
        kind: &Arc<Kind>,
        place: &Place,
        form: Form,
        mut writer: Writer,
    ) -> Result<Answer, Failure> {
        let applied = kubepkg_yaml::load(&call.body).map_err(|error| {
            Failure::bad_request(format!(
                "error decoding YAML: error converting YAML to JSON: {error}"
            ))
        })?;
        if applied.is_null() {
            return Err(Failure::bad_request("invalid object type: /, Kind="));
        }
        if !applied.is_object() {
            return Err(Failure::bad_request(format!(
                "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go \
                 value of type map[string]interface {{}}",
                decode::go_type(&applied)
            )));
        }
        let name = object::name(&applied);
        if !name.is_empty() {
            check_name(place, name)?;
        }
        place_in_namespace(kind, &place.namespace, &applied)?;
        let old = self
            .store
            .get(&kind.stored_in, &place.namespace, &place.name)
            .cloned();
        let force = call.query.flag("force");
        let mut merged = managed::applied(
            &self.registry,
            kind,
            old.as_deref(),
            &applied,
            force,
            &writer,
        )?;
        writer.managed = Some(prepare::take_managed_fields(&mut merged).unwrap_or_default());
        if name.is_empty() {
            return Err(no_name(&place.name));
        }
        let body = &call.body;
        let object = decode::typed(kind, merged, &[], body, &mut writer)
            .map_err(|failure| decode::not_converted(kind, &place.name, failure))?;
        let mut object = convert::stored(kind, object);
        let uid = object::uid(&object);
        if old.is_none() && !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(Failure::conflict(kind, &place.name, &why));
        }
        if old.is_none() {
            // An apply that creates is an update to the storage, which compares versions only
            // with what is there.
            object::unset(&mut object, "resourceVersion");
        }
        let (status, stored) = match old {
            None if place.subresource.is_empty() => (
                201,
                self.commit_new(kind, &place.namespace, object, &mut writer),
            ),
            None => return Err(Failure::not_found(kind, &place.name)),
            Some(old) => (200, self.commit_change(kind, &old, object, &mut writer)),
        };
        let stored = stored.map_err(|failure| failure.warned(&writer.warnings))?;
        Ok(writer.answer(status, kind, &stored, form))
    }
}
