//! TOML as `BurntSushi/toml` 1.6 writes and reads it, errors included.

mod decode;
mod encode;
mod scan;

pub(crate) use decode::decode;
pub(crate) use encode::{EncodeError, encode};
