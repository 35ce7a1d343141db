//! Go's `encoding/json` on template values: the same bytes out, the same errors in.
//!
//! [`encode()`] writes what `json.Marshal`, `MarshalIndent` and an encoder without HTML escaping
//! write. [`decode()`] reads into `interface{}` (every number a `float64`), [`decode_map`] and
//! [`decode_list`] into the targets of Helm's `fromJson` and `fromJsonArray`. Refused: what Go
//! refuses, in its words, and nesting beyond Go's limit of 10,000.

mod decode;
mod encode;

pub(crate) use decode::{decode, decode_list, decode_map};
pub(crate) use encode::{Style, encode};
