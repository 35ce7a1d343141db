//! Inputs of several parts: one byte string, cut at a byte that is in no UTF-8 text.
//!
//! A plain form, so that a fuzzer that moves bytes around also moves parts around, and a finding can be read.

/// Ends a part.
const END: u8 = 0xff;
/// Stands between the name and the contents of a part.
const BETWEEN: u8 = 0xfe;

/// The parts of an input.
pub(crate) fn split(input: &[u8]) -> impl Iterator<Item = &[u8]> {
    input.split(|byte| *byte == END)
}

/// A part and all after it.
pub(crate) fn first(input: &[u8]) -> (&[u8], &[u8]) {
    match input.iter().position(|byte| *byte == END) {
        Some(at) => {
            let (first, rest) = input.split_at(at);
            (first, rest.get(1..).unwrap_or_default())
        }
        None => (input, &[]),
    }
}

/// An input of these parts.
pub(crate) fn join<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, part) in parts.into_iter().enumerate() {
        if index > 0 {
            out.push(END);
        }
        out.extend_from_slice(part.as_ref());
    }
    out
}

/// A named part.
pub(crate) fn file(part: &[u8]) -> Option<(String, &[u8])> {
    let at = part.iter().position(|byte| *byte == BETWEEN)?;
    let (name, contents) = part.split_at(at);
    let name = std::str::from_utf8(name).ok()?;
    Some((name.to_owned(), contents.get(1..).unwrap_or_default()))
}

/// A part of this name and contents.
pub(crate) fn named(name: &str, contents: &[u8]) -> Vec<u8> {
    let mut out = name.as_bytes().to_vec();
    out.push(BETWEEN);
    out.extend_from_slice(contents);
    out
}

/// A text, bytes that are none replaced.
pub(crate) fn text(part: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(part)
}
