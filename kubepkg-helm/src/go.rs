//! The few habits of Go that Helm's bytes depend on: how a YAML text fills typed fields, how texts are
//! quoted, how JSON is written, how paths match a pattern.

pub(crate) mod decode;
pub(crate) mod glob;
pub(crate) mod json;
pub(crate) mod os;
pub(crate) mod path;
pub(crate) mod text;
pub(crate) mod time;
