#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod base64;
mod category;
mod compose;
mod decode;
mod emit;
mod error;
mod gojson;
mod gosyntax;
mod json;
mod json_scan;
mod limits;
mod load;
mod number;
mod order;
mod parse;
mod plain;
mod quote;
mod read;
mod scalar;
mod scan;
mod spans;
mod stream;
mod tree;

pub use base64::{CorruptBase64, decode_base64};
pub use error::{DuplicateKey, LimitKind, Position, YamlError};
pub use gojson::GoJsonFormatter;
pub use gosyntax::go_quote;
pub use json_scan::{JsonScanner, JsonSyntaxError, JsonToken, unescape_json};
pub use limits::Limits;
pub use load::{
    is_printable, json_to_yaml, json_to_yaml_with, load, load_strict, load_strict_with, load_with,
    to_go_json, to_yaml, to_yaml_with, yaml_to_json, yaml_to_json_strict, yaml_to_json_strict_with,
    yaml_to_json_with,
};
pub use number::go_float;
pub use spans::{Span, Spanned, load_spanned};
pub use stream::{
    DocumentText, documents, load_values, load_values_with, merge, read_values, split_documents,
};
