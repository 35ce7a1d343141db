//! Creating and replacing objects.
//!
//! Every write, whichever verb it came by, ends in [`World::commit_new`] or
//! [`World::commit_change`]: there the object is defaulted, validated, given what the server
//! decides, and stored.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::app_armor;
use super::convert;
use super::decode;
use super::defaults;
use super::encode::{self, Form};
use super::failure::{Cause, Failure, details};
use super::fields::Reading;
use super::kind::Kind;
use super::managed;
use super::object;
use super::object_meta;
use super::patch::Way;
use super::policies::{Asker, Change, Request};
use super::prepare;
use super::request::{Call, Place};
use super::service_addresses;
use super::validate;
use super::warnings;
use super::world::{Answer, OBJECT_LIMIT, World};

/// The parts of a request that every write needs.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    pub(crate) manager: String,
    pub(crate) asker: Asker,
    pub(crate) dry_run: bool,
    pub(crate) validation: FieldValidation,
    pub(crate) subresource: String,
    pub(crate) now: Timestamp,
    /// What the client is to be told.
    pub(crate) warnings: Vec<String>,
    /// Managed fields that server-side apply has already worked out, or none at all.
    pub(crate) managed: Option<Value>,
    /// How a patch was written, if it was one.
    pub(crate) way: Option<Way>,
    /// What reads the object.
    pub(crate) reading: Reading,
}

/// What becomes of fields that no schema knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

impl Writer {
    /// Reads the options of a request; `options` names them in a refusal.
    pub(crate) fn of(
        call: &Call,
        options: &str,
        subresource: &str,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let dry: Vec<&str> = call.query.all("dryRun").collect();
        if dry.iter().any(|value| *value != "All") {
            let shown = json!(dry).to_string();
            let cause = Cause::unsupported("dryRun", &shown, &["All"]);
            return Err(Failure::invalid_options(options, cause));
        }
        let manager = call.query.get("fieldManager");
        if manager.len() > 128 {
            let cause = Cause::too_long("fieldManager", 128);
            return Err(Failure::invalid_options(options, cause));
        }
        let odd = |(_, sign): &(usize, char)| sign.is_control();
        if let Some((at, sign)) = manager.chars().enumerate().find(odd) {
            let shown = kubepkg_yaml::go_quote(manager);
            let why = format!(
                "invalid character U+{:04X} (at position {at})",
                u32::from(sign)
            );
            let cause = Cause {
                reason: "FieldValueInvalid",
                message: format!("Invalid value: {shown}: {why}"),
                field: "fieldManager".to_owned(),
            };
            return Err(Failure::invalid_options(options, cause));
        }
        let validation = match call.query.get("fieldValidation") {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let shown = format!("\"{other}\"");
                let known = ["", "Ignore", "Strict", "Warn"];
                let cause = Cause::unsupported("fieldValidation", &shown, &known);
                return Err(Failure::invalid_options(options, cause));
            }
        };
        Ok(Self {
            manager: call.manager(),
            asker: Asker::of(call),
            dry_run: call.is_dry_run(),
            validation,
            subresource: subresource.to_owned(),
            now,
            warnings: Vec::new(),
            managed: None,
            way: None,
            reading: Reading::Json,
        })
    }

    /// A part of the server itself.
    pub(crate) fn internal(manager: &str, subresource: &str, now: Timestamp) -> Self {
        Self {
            manager: manager.to_owned(),
            asker: Asker::internal(manager),
            dry_run: false,
            validation: FieldValidation::Ignore,
            subresource: subresource.to_owned(),
            now,
            warnings: Vec::new(),
            managed: None,
            way: None,
            reading: Reading::Json,
        }
    }

    /// Notes what a client is told of an object that is fine.
    fn warn(&mut self, kind: &Kind, old: Option<&Value>, object: &Value) {
        if kind.custom.is_some() {
            self.warnings.extend(object_meta::warnings(old, object));
        }
        if self.subresource.is_empty() {
            self.warnings.extend(warnings::of(kind, old, object));
        }
        if kind.is("apiextensions.k8s.io", "customresourcedefinitions")
            && self.subresource.is_empty()
        {
            let formats = crate::crd::definition::unknown_formats(object, old);
            let formats = formats
                .into_iter()
                .map(|format| format!("unrecognized format \"{format}\""));
            self.warnings.extend(formats);
        }
    }

    /// The object that was written, with what the client is to be told.
    pub(crate) fn answer(
        self,
        status: u16,
        kind: &Kind,
        stored: &Arc<Value>,
        form: Form,
    ) -> Answer {
        Answer {
            warnings: self.warnings,
            ..Answer::bytes(status, encode::one(kind, stored, form, self.now))
        }
    }
}

impl World {
    /// `POST` to a collection.
    pub(crate) fn create(
        &mut self,
        call: &Call,
        kind: &Arc<Kind>,
        namespace: &str,
        now: Timestamp,
    ) -> Result<Answer, Failure> {
        let form = Form::of(call)?;
        let mut writer = Writer::of(call, "CreateOptions", "", now)?;
        let object = decode::object(kind, call, &mut writer)?;
        place_in_namespace(kind, namespace, &object)?;
        let object = convert::stored(kind, object);
        let stored = self.commit_new(kind, namespace, object, &mut writer);
        let stored = stored.map_err(|failure| failure.warned(&writer.warnings))?;
        Ok(writer.answer(201, kind, &stored, form))
    }

    /// Creates an object.
    pub(crate) fn commit_new(
        &mut self,
        kind: &Arc<Kind>,
        namespace: &str,
        mut object: Value,
        writer: &mut Writer,
    ) -> Result<Arc<Value>, Failure> {
        if !matches!(object::meta(&object, "resourceVersion"), "" | "0") {
            return Err(Failure::plain(
                500,
                "resourceVersion should not be set on objects to be created",
            ));
        }
        object::unset(&mut object, "resourceVersion");
        let prefix = object::meta(&object, "generateName").to_owned();
        let generated = object::name(&object).is_empty() && !prefix.is_empty();
        if generated {
            // As long as Kubernetes allows: 63 less five generated characters.
            let kept: String = prefix.chars().take(58).collect();
            let name = format!("{kept}{}", self.ids.suffix(5));
            object::set(&mut object, "name", name);
        }
        if kind.namespaced {
            object::set(&mut object, "namespace", namespace);
        } else {
            object::unset(&mut object, "namespace");
        }
        for field in [
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
        ] {
            object::unset(&mut object, field);
        }
        object::set(&mut object, "creationTimestamp", object::time(writer.now));
        object::set(&mut object, "uid", self.ids.uid());
        let sent_fields = prepare::take_managed_fields(&mut object);

        self.check_namespace(kind, namespace, object::name(&object))?;
        if kind.has_generation() {
            object::set(&mut object, "generation", 1);
        }
        defaults::apply(kind, &mut object, writer.way);
        let fields = match writer.managed.take() {
            Some(fields) => fields,
            None => managed::updated(
                &self.registry,
                kind,
                None,
                &prepare::owned(kind, &object),
                sent_fields.as_ref(),
                writer,
            ),
        };
        defaults::server(self, kind, &mut object)?;
        if kind.is("", "services") {
            service_addresses::create(self, kind, &mut object, writer.dry_run)?;
        }
        prepare::create(kind, &mut object);
        if kind.is("", "pods") {
            let said = app_armor::move_to_fields(&mut object);
            writer.warnings.extend(said);
        }
        let causes = validate::new(kind, &object);
        if !causes.is_empty() {
            return Err(Failure::invalid(
                kind.own_group(),
                &kind.kind,
                object::name(&object),
                &causes,
            ));
        }
        writer.warn(kind, None, &object);
        managed::put(&mut object, fields);
        let name = object::name(&object).to_owned();
        let sent_name = if generated { "" } else { &name };
        self.admit_writer(kind, sent_name, Change::Create(&object), writer)?;
        if self.store.get(&kind.stored_in, namespace, &name).is_some() {
            let mut failure = Failure::already_exists(kind, &name);
            if !prefix.is_empty() {
                failure.message +=
                    ", the server was not able to generate a unique name for the object";
                if let Some(details) = &mut failure.details {
                    details["retryAfterSeconds"] = 1.into();
                }
            }
            return Err(failure);
        }
        check_size(&object)?;
        convert::read_back(kind, &mut object);
        if writer.dry_run {
            return Ok(Arc::new(object));
        }
        let stored = self.store.put(&kind.stored_in, object);
        self.after_write(kind);
        Ok(stored)
    }

    /// `PUT`.
    pub(crate) fn update(
        &mut self,
        call: &Call,
        kind: &Arc<Kind>,
        place: &Place,
        now: Timestamp,
    ) -> Result<Answer, Failure> {
        let form = Form::of(call)?;
        let mut writer = Writer::of(call, "UpdateOptions", &place.subresource, now)?;
        let object = decode::object(kind, call, &mut writer)?;
        check_place(kind, place, &object)?;
        let old = self.read(kind, place)?;
        check_version_given(kind, &object)?;
        let object = convert::stored(kind, object);
        let stored = self.commit_change(kind, &old, object, &mut writer);
        let stored = stored.map_err(|failure| failure.warned(&writer.warnings))?;
        Ok(writer.answer(200, kind, &stored, form))
    }

    /// Changes an object, if it is still the one that the writer has seen.
    pub(crate) fn commit_change(
        &mut self,
        kind: &Arc<Kind>,
        old: &Arc<Value>,
        mut new: Value,
        writer: &mut Writer,
    ) -> Result<Arc<Value>, Failure> {
        let name = object::name(old).to_owned();
        check_identity(kind, old, &new, writer)?;
        let frozen = validate::frozen(old, &new);
        if !frozen.is_empty() {
            return Err(Failure::invalid(
                kind.own_group(),
                &kind.kind,
                &name,
                &frozen,
            ));
        }
        let sent_fields = prepare::take_managed_fields(&mut new);
        for field in [
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
            "resourceVersion",
            "name",
            "namespace",
        ] {
            match old["metadata"].get(field) {
                Some(value) => object::set(&mut new, field, value.clone()),
                None => object::unset(&mut new, field),
            }
        }
        object::unset(&mut new, "selfLink");
        defaults::apply(kind, &mut new, writer.way);
        // Whoever chooses a node owns nothing, and the pod counts as unchanged.
        let binds = writer.subresource == "binding";
        let fields = match writer.managed.take() {
            Some(fields) => fields,
            None if binds => old["metadata"]["managedFields"].clone(),
            None => managed::updated(
                &self.registry,
                kind,
                Some(old),
                &new,
                sent_fields.as_ref(),
                writer,
            ),
        };
        prepare::update(kind, old, &mut new, &writer.subresource, writer.now);
        if kind.is("", "services") && writer.subresource.is_empty() {
            service_addresses::change(self, kind, old, &mut new, writer.dry_run)?;
        }
        defaults::carried(kind, old, &mut new);
        if kind.has_generation() && !binds && prepare::spec_changed(kind, old, &new) {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
            object::set(&mut new, "generation", generation + 1);
        }
        let warnings = &mut writer.warnings;
        let causes = validate::changed(kind, (old, &new), &writer.subresource, warnings);
        if !causes.is_empty() {
            return Err(Failure::invalid(
                kind.own_group(),
                &kind.kind,
                &name,
                &causes,
            ));
        }
        writer.warn(kind, Some(old), &new);
        managed::put(&mut new, fields);
        self.admit_writer(kind, &name, Change::Update(old, &new), writer)?;
        check_size(&new)?;
        let gone = object::terminating(&new)
            && object::finalizers(&new).is_empty()
            && prepare::may_go(kind, &new);
        if writer.dry_run {
            convert::read_back(kind, &mut new);
            return Ok(Arc::new(new));
        }
        if gone {
            let key = object::key(old);
            self.store.remove(&kind.stored_in, &key);
            self.after_write(kind);
            return Ok(Arc::new(new));
        }
        if managed::equal_but_for_times(old, &new) {
            return Ok(Arc::clone(old));
        }
        convert::read_back(kind, &mut new);
        let stored = self.store.put(&kind.stored_in, new);
        self.after_write(kind);
        Ok(stored)
    }

    /// Asks the policies for a writer.
    fn admit_writer(
        &self,
        kind: &Arc<Kind>,
        name: &str,
        change: Change<'_>,
        writer: &mut Writer,
    ) -> Result<(), Failure> {
        // These are asked for with objects of their own, not with the one that they change.
        if matches!(writer.subresource.as_str(), "scale" | "binding") {
            return Ok(());
        }
        let request = Request {
            kind,
            subresource: &writer.subresource,
            shape: None,
            name,
            change,
            asker: &writer.asker,
        };
        self.admit(&request, &mut writer.warnings)
    }

    /// What must be known at once after a write.
    pub(crate) fn after_write(&mut self, kind: &Kind) {
        if kind.is("apiextensions.k8s.io", "customresourcedefinitions") {
            super::crds::serve(self);
        }
    }

    /// Nothing is created in a namespace that is not there, or that is going.
    fn check_namespace(&self, kind: &Kind, namespace: &str, name: &str) -> Result<(), Failure> {
        if !kind.namespaced {
            return Ok(());
        }
        let Some(found) = self.store.get("namespaces", "", namespace) else {
            return Err(Failure {
                reason: Some("NotFound"),
                details: Some(details("", "namespaces", namespace)),
                ..Failure::plain(404, format!("namespaces \"{namespace}\" not found"))
            });
        };
        if object::terminating(found) {
            let why = format!(
                "unable to create new content in namespace {namespace} because it is being \
                 terminated"
            );
            let mut failure = Failure::forbidden(kind, name, &why);
            if let Some(details) = &mut failure.details {
                details["causes"] = json!([{
                    "reason": "NamespaceTerminating",
                    "message": format!("namespace {namespace} is being terminated"),
                    "field": "metadata.namespace",
                }]);
            }
            return Err(failure);
        }
        Ok(())
    }
}

/// An object does not say its name, which the path does.
pub(crate) fn no_name(name: &str) -> Failure {
    Failure::bad_request(format!(
        "the name of the object ({name} based on URL) was undeterminable: name must be provided"
    ))
}

/// The name of an object and of the path must be one.
pub(crate) fn check_name(place: &Place, name: &str) -> Result<(), Failure> {
    if name.is_empty() {
        return Err(no_name(&place.name));
    }
    if name == place.name {
        return Ok(());
    }
    Err(Failure::bad_request(format!(
        "the name of the object ({name}) does not match the name on the URL ({})",
        place.name
    )))
}

/// Name and namespace of an object that is changed must be those of the path.
pub(crate) fn check_place(kind: &Kind, place: &Place, object: &Value) -> Result<(), Failure> {
    check_name(place, object::name(object))?;
    place_in_namespace(kind, &place.namespace, object)
}

/// The namespace of an object and of the path must be one.
pub(crate) fn place_in_namespace(
    kind: &Kind,
    namespace: &str,
    object: &Value,
) -> Result<(), Failure> {
    let named = object::namespace(object);
    if kind.namespaced && !named.is_empty() && named != namespace {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// The version and the UID that a writer names must be those that are stored.
fn check_identity(kind: &Kind, old: &Value, new: &Value, writer: &Writer) -> Result<(), Failure> {
    let name = object::name(old);
    let uid = object::uid(new);
    // A UID that a patch brings is a field like others, which may not change.
    if writer.way.is_none() && !uid.is_empty() && uid != object::uid(old) {
        let key = if kind.namespaced {
            format!("{}/{name}", object::namespace(old))
        } else {
            name.to_owned()
        };
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{}/{key}, ResourceVersion: 0, \
             AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object \
             meta: {}",
            kind.plural,
            object::uid(old)
        );
        return Err(Failure::conflict(kind, name, &why));
    }
    let version = object::meta(new, "resourceVersion");
    if matches!(version, "" | "0") {
        return Ok(());
    }
    if version.parse::<u64>().is_err() {
        return Err(Failure::plain(
            500,
            format!("strconv.ParseUint: parsing \"{version}\": invalid syntax"),
        ));
    }
    if version != object::meta(old, "resourceVersion") {
        return Err(Failure::conflict(
            kind,
            name,
            "the object has been modified; please apply your changes to the latest version and \
             try again",
        ));
    }
    Ok(())
}

/// Custom resources and some others are never replaced without a version.
fn check_version_given(kind: &Kind, object: &Value) -> Result<(), Failure> {
    let conditional = kind.custom.is_some()
        || matches!(
            (kind.group.as_str(), kind.plural.as_str()),
            (
                "admissionregistration.k8s.io"
                    | "apiextensions.k8s.io"
                    | "apiregistration.k8s.io"
                    | "coordination.k8s.io",
                _
            ) | ("policy", "poddisruptionbudgets")
                | ("node.k8s.io", "runtimeclasses")
                | (
                    "storage.k8s.io",
                    "csidrivers" | "csinodes" | "csistoragecapacities" | "volumeattachments"
                )
        );
    if !conditional || !object::meta(object, "resourceVersion").is_empty() {
        return Ok(());
    }
    let why = "must be specified for an update";
    let cause = Cause::invalid("metadata.resourceVersion", &json!(0), why);
    let name = object::name(object);
    Err(Failure::invalid(&kind.group, &kind.plural, name, &[cause]))
}

/// A size in JSON that the value does not exceed, whatever has to be escaped in it.
fn at_most(value: &Value) -> usize {
    let text = |text: &str| 2 + 6 * text.len();
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 32,
        Value::String(string) => text(string),
        Value::Array(items) => 2 + items.iter().map(|item| 1 + at_most(item)).sum::<usize>(),
        Value::Object(fields) => {
            let fields = fields.iter();
            2 + fields
                .map(|(name, value)| 2 + text(name) + at_most(value))
                .sum::<usize>()
        }
    }
}

fn check_size(object: &Value) -> Result<(), Failure> {
    // Only what may come near the limit is measured.
    if at_most(object) <= OBJECT_LIMIT {
        return Ok(());
    }
    let size = serde_json::to_vec(object).map(|bytes| bytes.len());
    if size.unwrap_or(usize::MAX) > OBJECT_LIMIT {
        return Err(Failure::plain(500, "etcdserver: request is too large"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_of_a_size_is_never_under_it() {
        let values = [
            json!(null),
            json!([
                true,
                false,
                -1.797_693_134_862_315_7e308,
                u64::MAX,
                i64::MIN
            ]),
            json!({"\u{1}\u{2}": "\u{0}\u{1f}\"\\\n", "": [[], {}], "ä": "\u{10ffff}"}),
        ];
        for value in values {
            let size = serde_json::to_vec(&value).unwrap().len();
            assert!(at_most(&value) >= size, "{value}");
        }
    }
}
