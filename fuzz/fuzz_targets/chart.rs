//! Checks the law `chart` of `laws/`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kubepkg_laws::hold("chart", input));
