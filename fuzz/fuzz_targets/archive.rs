//! Checks the law `archive` of `laws/`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kubepkg_laws::hold("archive", input));
