//! The kubepkg reconcilers: pure decide, thin act.
