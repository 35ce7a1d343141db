//! Fetching charts by location and digest.
