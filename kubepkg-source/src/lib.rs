#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod cache;
mod challenge;
mod charts;
mod credentials;
mod digest_reader;
mod failure;
mod fetch;
mod fetch_error;
mod http;
mod index;
mod limits;
mod location;
mod login;
mod mirror;
mod net;
mod oci;
mod reference;
mod retry;
mod versions;

pub use cache::ArchiveCache;
pub use charts::{Charts, FetchedChart, SourceError, SourceOptions};
pub use credentials::{Credential, CredentialError, CredentialSource, DockerConfig, native_helper};
pub use digest_reader::{DigestClaim, DigestReader, Unverified, Verified};
pub use failure::{Failure, Missing};
pub use fetch::{Cache, Fetch, FetchRequest, Fetched};
pub use fetch_error::FetchError;
pub use index::{Found, Index, IndexEntry, IndexError};
pub use limits::{Limits, RetryPolicy};
pub use location::{ChartLocation, HttpLocation, LocationError, OciLocation};
pub use login::StoreError;
pub use mirror::mirrored;
pub use net::{ContentKind, Net, NetError, Tls, init_crypto};
pub use oci::{Artifact, Blob, Descriptor, Pushed};
pub use reference::{OciReference, ReferenceError};
pub use versions::{SelectError, select_version};
