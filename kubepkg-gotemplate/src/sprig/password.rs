//! `derivePassword`: the Master Password algorithm, version 3 (scrypt, then HMAC over site and counter).

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

const SCOPE: &[u8] = b"com.lyndir.masterpassword";

/// Templates of a password type; each letter names a class of characters.
fn templates(kind: &[u8]) -> Option<&'static [&'static str]> {
    Some(match kind {
        b"maximum" => &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"],
        b"long" => &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
        b"medium" => &["CvcnoCvc", "CvcCvcno"],
        b"short" => &["Cvcn"],
        b"basic" => &["aaanaaan", "aannaaan", "aaannaaa"],
        b"pin" => &["nnnn"],
        _ => return None,
    })
}

fn characters(class: u8) -> &'static [u8] {
    match class {
        b'V' => b"AEIOU",
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'A' => b"AEIOUBCDFGHJKLMNPQRSTVWXYZ",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

fn with_length(text: &[u8]) -> Vec<u8> {
    let mut out = SCOPE.to_vec();
    out.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(text);
    out
}

/// The password, or Sprig's words for an unknown type.
pub(super) fn derive(
    counter: u32,
    kind: &[u8],
    password: &[u8],
    user: &[u8],
    site: &[u8],
) -> Vec<u8> {
    let unknown = || [b"cannot find password template ".as_slice(), kind].concat();
    let Some(templates) = templates(kind) else {
        return unknown();
    };
    let failed = |error: &str| format!("failed to derive password: {error}").into_bytes();
    let mut key = [0; 64];
    let params = match scrypt::Params::new(15, 8, 2) {
        Ok(params) => params,
        Err(error) => return failed(&error.to_string()),
    };
    if let Err(error) = scrypt::scrypt(password, &with_length(user), &params, &mut key) {
        return failed(&error.to_string());
    }
    let mut message = with_length(site);
    message.extend_from_slice(&counter.to_be_bytes());
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&key) else {
        return failed("no key");
    };
    mac.update(&message);
    let seed = mac.finalize().into_bytes();
    let pick =
        |at: usize, count: usize| usize::from(seed.get(at).copied().unwrap_or(0)) % count.max(1);
    let template = templates
        .get(pick(0, templates.len()))
        .copied()
        .unwrap_or("");
    template
        .bytes()
        .enumerate()
        .filter_map(|(i, class)| {
            let set = characters(class);
            set.get(pick(i + 1, set.len())).copied()
        })
        .collect()
}
