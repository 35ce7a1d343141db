//! Slash-separated paths: Go's `path`, and `path/filepath` as on Unix.

use super::args::{bytes, text};
use crate::func::{FuncPtr, Function, Signature};
use crate::gotype::{BOOL, STRING};
use crate::value::Value;

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    let one = Signature::new(types!(STRING), &STRING);
    let call_base: FuncPtr = |_, args| Ok(bytes(base(text(args, 0))));
    let call_clean: FuncPtr = |_, args| Ok(bytes(clean(text(args, 0))));
    let call_dir: FuncPtr = |_, args| Ok(bytes(dir(text(args, 0))));
    let call_ext: FuncPtr = |_, args| Ok(bytes(ext(text(args, 0))));
    let call_is_abs: FuncPtr = |_, args| Ok(Value::Bool(text(args, 0).starts_with(b"/")));
    let mut table = Vec::new();
    for name in ["base", "osBase"] {
        table.push(Function::plain(name, one, call_base));
    }
    for name in ["clean", "osClean"] {
        table.push(Function::plain(name, one, call_clean));
    }
    for name in ["dir", "osDir"] {
        table.push(Function::plain(name, one, call_dir));
    }
    for name in ["ext", "osExt"] {
        table.push(Function::plain(name, one, call_ext));
    }
    for name in ["isAbs", "osIsAbs"] {
        table.push(Function::plain(
            name,
            Signature::new(types!(STRING), &BOOL),
            call_is_abs,
        ));
    }
    table
}

fn without_trailing_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|b| *b != b'/').map_or(0, |i| i + 1);
    path.get(..end).unwrap_or(path)
}

fn after_last_slash(path: &[u8]) -> usize {
    path.iter().rposition(|b| *b == b'/').map_or(0, |i| i + 1)
}

fn base(path: &[u8]) -> &[u8] {
    if path.is_empty() {
        return b".";
    }
    let path = without_trailing_slashes(path);
    let last = path.get(after_last_slash(path)..).unwrap_or(b"");
    if last.is_empty() { b"/" } else { last }
}

fn dir(path: &[u8]) -> Vec<u8> {
    clean(path.get(..after_last_slash(path)).unwrap_or(b""))
}

fn ext(path: &[u8]) -> &[u8] {
    let name = path.get(after_last_slash(path)..).unwrap_or(b"");
    name.iter()
        .rposition(|b| *b == b'.')
        .and_then(|at| name.get(at..))
        .unwrap_or(b"")
}

/// `path.Clean`: the shortest path that means the same, without looking at any file.
pub(super) fn clean(path: &[u8]) -> Vec<u8> {
    if path.is_empty() {
        return b".".to_vec();
    }
    let rooted = path.starts_with(b"/");
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                if parts.last().is_some_and(|last| *last != b"..") {
                    parts.pop();
                } else if !rooted {
                    parts.push(part);
                }
            }
            _ => parts.push(part),
        }
    }
    let mut out = if rooted { b"/".to_vec() } else { Vec::new() };
    out.extend_from_slice(&parts.join(&b'/'));
    if out.is_empty() { b".".to_vec() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleans_as_go_does() {
        // From Go's path tests.
        for (from, to) in [
            ("", "."),
            ("abc/../../././../def", "../../def"),
            ("/../abc", "/abc"),
            ("abc//def//ghi/", "abc/def/ghi"),
            ("/..", "/"),
            ("../../abc", "../../abc"),
        ] {
            assert_eq!(clean(from.as_bytes()), to.as_bytes());
        }
        assert_eq!(base(b"/a/"), b"a");
        assert_eq!(dir(b"/"), b"/");
        assert_eq!(ext(b"a.b/c"), b"");
    }
}
