//! Clusters for tests and demonstrations, started on loopback.
