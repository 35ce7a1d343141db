#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod dependencies;
mod index;
mod message;
#[cfg(feature = "provenance")]
mod provenance;
mod pull;
mod push;
mod repositories;
mod unpack;

pub use index::{IndexFile, IndexFileError, IndexedChart};
pub use message::{Message, MessageError, Sums};
#[cfg(feature = "provenance")]
pub use provenance::{Keyring, ProvenanceError, Signed, Signer};
pub use pull::{ChartAddress, ProvenanceWish, PullError, PullOptions, Pulled, pull};
pub use push::{PushError, PushRequest, push};
pub use repositories::{Repositories, RepositoriesError, Repository};
pub use unpack::{UnpackError, unpack};
