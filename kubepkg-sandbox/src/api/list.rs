//! Lists: selectors, pages, and at which version.
//!
//! The rules for `resourceVersion` and `resourceVersionMatch` are those of
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions>; the texts of
//! refusals come from `k8s.io/apimachinery/pkg/apis/meta/internalversion/validation`.

use std::sync::Arc;

use base64::DecodeError;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::encode::{self, Form};
use super::failure::{Cause, Failure};
use super::kind::Kind;
use super::request::{Call, Query};
use super::selector::{Fields, Labels};
use super::store::Key;
use super::watch::Watch;
use super::world::{Answer, Reply, World};

/// Which objects of a resource.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) kind: Arc<Kind>,
    pub(crate) namespace: String,
    pub(crate) labels: Labels,
    pub(crate) fields: Fields,
}

impl Filter {
    pub(crate) fn parse(kind: &Arc<Kind>, namespace: &str, query: &Query) -> Result<Self, Failure> {
        Ok(Self {
            kind: Arc::clone(kind),
            namespace: namespace.to_owned(),
            labels: Labels::parse(query.get("labelSelector"))?,
            fields: Fields::parse(kind, query.get("fieldSelector"))?,
        })
    }

    pub(crate) fn matches(&self, key: &Key, object: &Value) -> bool {
        (self.namespace.is_empty() || self.namespace == key.0)
            && self.labels.matches(object)
            && self.fields.matches(object)
    }

    fn selects(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }
}

/// At which version a list is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Now,
    Exactly(u64),
}

impl World {
    /// `GET` of a collection: a list or a watch.
    pub(crate) fn list(
        &mut self,
        call: &Call,
        kind: &Arc<Kind>,
        namespace: &str,
        now: Timestamp,
    ) -> Result<Reply, Failure> {
        let query = &call.query;
        for parameter in ["limit", "timeoutSeconds"] {
            integer(query.get(parameter))?;
        }
        let form = Form::of(call)?;
        let filter = Filter::parse(kind, namespace, query)?;
        let watching = query.flag("watch");
        check_versions(query, watching)?;
        if watching {
            if !kind.allows("watch") {
                return Err(Failure::method_not_allowed());
            }
            return Ok(Reply::Stream(Box::new(Watch::start(
                self, filter, query, form, now,
            )?)));
        }
        let (objects, metadata) = self.page(&filter, call)?;
        let mut metadata = metadata;
        if kind.custom.is_some() && form == Form::Plain {
            super::object::default(&mut metadata, "continue", "");
        }
        let body = encode::many(kind, &objects, &metadata, form, now);
        Ok(Reply::Whole(Answer::bytes(200, body)))
    }

    /// The objects of one page and the metadata of the list.
    pub(crate) fn page(
        &self,
        filter: &Filter,
        call: &Call,
    ) -> Result<(Vec<Arc<Value>>, Value), Failure> {
        let query = &call.query;
        let limit = integer(query.get("limit"))?;
        let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0);
        let (at, after) = match query.get("continue") {
            "" => match (self.list_version(query)?, call.lag.0) {
                (At::Now, lag @ 1..) => {
                    let version = self.store.version_before(&filter.kind.stored_in, lag);
                    (At::Exactly(version), None)
                }
                (at, _) => (at, None),
            },
            token => {
                let (version, key) = read_token(token)?;
                (At::Exactly(version), Some(key))
            }
        };
        let version = match at {
            At::Now => self.store.version(),
            At::Exactly(version) => version,
        };
        let past = match at {
            At::Exactly(version) if version != self.store.version() => {
                let past = self.store.at(&filter.kind.stored_in, version);
                Some(past.map_err(|_| match after {
                    Some(_) => Failure::expired(
                        "The provided continue parameter is too old to display a consistent list \
                         result. You can start a new list without the continue parameter, or use \
                         the continue token in this response to retrieve the remainder of the \
                         results. Continuing with the provided token results in an inconsistent \
                         list - objects that were created, modified, or deleted between the time \
                         the first chunk was returned and now may show up in the list.",
                    ),
                    None => {
                        Failure::expired("The resourceVersion for the provided list is too old.")
                    }
                })?)
            }
            _ => None,
        };
        let all: Box<dyn Iterator<Item = (&Key, &Arc<Value>)> + '_> = match &past {
            Some(past) => Box::new(
                past.iter()
                    .filter(|(key, _)| after.as_ref().is_none_or(|after| *key > after)),
            ),
            None => Box::new(self.store.list(
                &filter.kind.stored_in,
                &filter.namespace,
                after.as_ref(),
            )),
        };
        let mut matching = all
            .filter(|(key, object)| filter.matches(key, object))
            .peekable();
        let mut objects = Vec::new();
        let mut last = None;
        while limit.is_none_or(|limit| objects.len() < limit) {
            let Some((key, object)) = matching.next() else {
                break;
            };
            objects.push(Arc::clone(object));
            last = Some(key.clone());
        }
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if let Some(last) = last.filter(|_| limit.is_some() && matching.peek().is_some()) {
            metadata["continue"] = write_token(version, &last).into();
            // With a selector the server does not know how many remain.
            if !filter.selects() {
                metadata["remainingItemCount"] = matching.count().into();
            }
        }
        Ok((objects, metadata))
    }

    fn list_version(&self, query: &Query) -> Result<At, Failure> {
        let asked = query.get("resourceVersion");
        if asked.is_empty() || asked == "0" {
            return Ok(At::Now);
        }
        let asked: u64 = asked.parse().map_err(|_| {
            Failure::bad_request(format!(
                "invalid resource version: resourceVersion: Invalid value: \"{asked}\": \
                 strconv.ParseUint: parsing \"{asked}\": invalid syntax"
            ))
        })?;
        if asked > self.store.version() {
            return Err(Failure::too_large_version(asked, self.store.version()));
        }
        Ok(match query.get("resourceVersionMatch") {
            "Exact" => At::Exactly(asked),
            // A limit without a match is an exact list, for clients from before the parameter.
            "" if integer(query.get("limit"))? > 0 => At::Exactly(asked),
            _ => At::Now,
        })
    }
}

/// Which of the version parameters go together (`ValidateListOptions` of `k8s.io/apimachinery`).
pub(crate) fn check_versions(query: &Query, watching: bool) -> Result<(), Failure> {
    let field = "resourceVersionMatch";
    let version = query.get("resourceVersion");
    let initial = query.has("sendInitialEvents");
    // A watch from no version is one with the events of now.
    let defaulted = watching && !initial && query.get(field).is_empty();
    let defaulted = defaulted && matches!(version, "" | "0");
    let matching = if defaulted {
        "NotOlderThan"
    } else {
        query.get(field)
    };
    let forbidden = |why: &str| Cause::forbidden(field, why);
    let unsupported = |known: &[&str]| Cause::unsupported(field, &format!("\"{matching}\""), known);
    let mut causes = Vec::new();
    if watching && initial && matching != "NotOlderThan" {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        causes.push(forbidden(why));
    }
    if !matching.is_empty() {
        if watching && !initial && !defaulted {
            let why =
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            causes.push(forbidden(why));
        }
        if watching && matching != "NotOlderThan" {
            causes.push(unsupported(&["NotOlderThan"]));
        }
        if !watching && version.is_empty() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            causes.push(forbidden(why));
        }
        if !query.get("continue").is_empty() {
            let why = "resourceVersionMatch is forbidden when continue is provided";
            causes.push(forbidden(why));
        }
        if !watching && !matches!(matching, "Exact" | "NotOlderThan") {
            causes.push(unsupported(&["Exact", "NotOlderThan", ""]));
        }
        if !watching && matching == "Exact" && version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            causes.push(forbidden(why));
        }
    }
    if initial && !watching {
        let why = "sendInitialEvents is forbidden for list";
        causes.push(Cause::forbidden("sendInitialEvents", why));
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(Failure::invalid("meta.k8s.io", "ListOptions", "", &causes))
}

/// A number of a query, zero when it is not there.
pub(crate) fn integer(text: &str) -> Result<i64, Failure> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|error: std::num::ParseIntError| {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let why = match error.kind() {
            PosOverflow | NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        Failure::bad_request(format!("strconv.ParseInt: parsing \"{text}\": {why}"))
    })
}

fn write_token(version: u64, last: &Key) -> String {
    let start = if last.0.is_empty() {
        format!("{}\0", last.1)
    } else {
        format!("{}/{}\0", last.0, last.1)
    };
    let token = json!({"v": "meta.k8s.io/v1", "rv": version, "start": start});
    URL_SAFE_NO_PAD.encode(token.to_string())
}

fn read_token(token: &str) -> Result<(u64, Key), Failure> {
    let wrong = |why: String| Failure::bad_request(format!("invalid continue token: {why}"));
    let bytes = URL_SAFE_NO_PAD
        .decode(token.trim_end_matches('='))
        .map_err(|error| {
            let at = match error {
                DecodeError::InvalidByte(at, _) => at,
                // A sign alone at the end.
                _ => token.len().saturating_sub(1),
            };
            wrong(format!(
                "continue key is not valid: illegal base64 data at input byte {at}"
            ))
        })?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| {
        let first = bytes.first().map_or(' ', |byte| char::from(*byte));
        wrong(format!(
            "continue key is not valid: invalid character '{first}' looking for beginning of value"
        ))
    })?;
    if value["v"] != "meta.k8s.io/v1" {
        return Err(wrong(
            "continue key is not valid: server does not recognize this encoded version \"\""
                .to_owned(),
        ));
    }
    let start = value["start"].as_str().unwrap_or_default();
    if start.is_empty() {
        return Err(wrong(
            "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)"
                .to_owned(),
        ));
    }
    let start = start.trim_end_matches('\0');
    let (namespace, name) = start.split_once('/').unwrap_or(("", start));
    let version = value["rv"].as_u64().unwrap_or_default();
    Ok((version, (namespace.to_owned(), name.to_owned())))
}
