//! Release records: what is read is written and read again as the same.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use kubepkg_helm::{RecordLimits, Release};

use crate::guard::soon;

const LIMITS: RecordLimits = RecordLimits {
    payload: 1 << 20,
    json: 4 << 20,
    depth: 128,
};

/// A payload as a Secret holds it; else JSON, or something compressed, that is packed first.
pub(crate) fn check(input: &[u8]) {
    read(input);
    if input.starts_with(&[0x1f, 0x8b]) {
        read(&encoded(input));
    } else {
        let mut packer = GzEncoder::new(Vec::new(), Compression::none());
        packer.write_all(input).expect("memory takes all");
        read(&encoded(&packer.finish().expect("memory takes all")));
    }
}

fn encoded(bytes: &[u8]) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD
        .encode(bytes)
        .into_bytes()
}

fn read(payload: &[u8]) {
    let release = match soon("decoding", || {
        Release::from_payload(payload, "key", &LIMITS)
    }) {
        Ok(release) => release,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let _ = (release.chart(), release.values());
    let packed = soon("encoding", || release.to_payload()).expect("a record that was read");
    let wide = RecordLimits {
        payload: 64 << 20,
        json: 64 << 20,
        depth: 256,
    };
    let again =
        Release::from_payload(packed.as_bytes(), "key", &wide).expect("a record that was written");
    assert!(
        again == release,
        "{:?} {:?}",
        again.to_payload(),
        release.to_payload()
    );
    assert_eq!(again.to_payload().ok(), Some(packed), "written again");
}
