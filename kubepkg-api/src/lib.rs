//! The kubepkg resource kinds, their CRDs, digests and names.
