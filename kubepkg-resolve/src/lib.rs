//! Versions, constraints and resolution of packages.
