//! DER, as far as keys and certificates need it: writing any of it, reading what is well formed.
//! Source: ITU-T X.690.

/// One value of a parsed text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item<'t> {
    /// The tag byte.
    pub(super) tag: u8,
    /// What it holds.
    pub(super) body: &'t [u8],
    /// Tag, length and body.
    pub(super) whole: &'t [u8],
}

pub(super) const INTEGER: u8 = 2;
pub(super) const BIT_STRING: u8 = 3;
pub(super) const OCTET_STRING: u8 = 4;
pub(super) const OID: u8 = 6;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// The first value of `text` and what follows it.
pub(super) fn read(text: &[u8]) -> Option<(Item<'_>, &[u8])> {
    let tag = *text.first()?;
    if tag & 0x1f == 0x1f {
        return None;
    }
    let first = usize::from(*text.get(1)?);
    let (length, header) = if first < 0x80 {
        (first, 2)
    } else {
        let count = first & 0x7f;
        if count == 0 || count > 4 {
            return None;
        }
        let digits = text.get(2..2 + count)?;
        let length = digits.iter().fold(0_usize, |n, b| n << 8 | usize::from(*b));
        if length < 0x80 || digits.first() == Some(&0) {
            return None;
        }
        (length, 2 + count)
    };
    let end = header.checked_add(length)?;
    let item = Item {
        tag,
        body: text.get(header..end)?,
        whole: text.get(..end)?,
    };
    Some((item, text.get(end..)?))
}

impl<'t> Item<'t> {
    /// The values inside.
    pub(super) fn items(&self) -> Option<Vec<Item<'t>>> {
        let mut rest = self.body;
        let mut items = Vec::new();
        while !rest.is_empty() {
            let (item, after) = read(rest)?;
            items.push(item);
            rest = after;
        }
        Some(items)
    }

    /// The values inside a sequence.
    pub(super) fn sequence(&self) -> Option<Vec<Item<'t>>> {
        if self.tag == SEQUENCE {
            self.items()
        } else {
            None
        }
    }

    /// The bytes of a non-negative integer, without leading zeros.
    pub(super) fn unsigned(&self) -> Option<&'t [u8]> {
        if self.tag != INTEGER || self.body.is_empty() || self.body.first()? & 0x80 != 0 {
            return None;
        }
        let zeros = self.body.iter().take_while(|b| **b == 0).count();
        self.body.get(zeros..)
    }

    /// The body, when the tag is the given one.
    pub(super) fn of(&self, tag: u8) -> Option<&'t [u8]> {
        (self.tag == tag).then_some(self.body)
    }

    /// The bytes of a bit string of whole bytes.
    pub(super) fn bits(&self) -> Option<&'t [u8]> {
        self.of(BIT_STRING)?.strip_prefix(&[0])
    }
}

/// The one value that `text` is.
pub(super) fn parse(text: &[u8]) -> Option<Item<'_>> {
    let (item, rest) = read(text)?;
    rest.is_empty().then_some(item)
}

/// A value of any tag.
pub(super) fn write(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = body.len();
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => out.push(short),
        _ => {
            let digits: Vec<u8> = length
                .to_be_bytes()
                .into_iter()
                .skip_while(|b| *b == 0)
                .collect();
            out.push(0x80 | u8::try_from(digits.len()).unwrap_or(8));
            out.extend_from_slice(&digits);
        }
    }
    out.extend_from_slice(body);
    out
}

/// A value that holds others.
pub(super) fn group(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    write(tag, &parts.concat())
}

/// A sequence.
pub(super) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    group(SEQUENCE, parts)
}

/// A non-negative integer from its big-endian bytes.
pub(super) fn unsigned(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|b| **b == 0).count();
    let digits = bytes.get(zeros..).unwrap_or(b"");
    let mut body = Vec::with_capacity(digits.len() + 1);
    if digits.first().is_none_or(|b| b & 0x80 != 0) {
        body.push(0);
    }
    body.extend_from_slice(digits);
    write(INTEGER, &body)
}

/// A bit string of whole bytes.
pub(super) fn bits(bytes: &[u8]) -> Vec<u8> {
    group(BIT_STRING, &[&[0], bytes])
}

/// PEM text of a block, in lines of 64 characters.
pub(super) fn to_pem(label: &str, data: &[u8]) -> String {
    let mut out = format!("-----BEGIN {label}-----\n");
    for (i, c) in super::encoding::encode64(data).chars().enumerate() {
        if i > 0 && i % 64 == 0 {
            out.push('\n');
        }
        out.push(c);
    }
    if !data.is_empty() {
        out.push('\n');
    }
    out.push_str("-----END ");
    out.push_str(label);
    out.push_str("-----\n");
    out
}

/// Label and data of the first block of a PEM text; headers inside a block are passed over.
pub(super) fn from_pem(text: &[u8]) -> Option<(String, Vec<u8>)> {
    let text = std::str::from_utf8(text).ok()?;
    let mut rest = text;
    loop {
        let start = rest.find("-----BEGIN ")?;
        let at_line_start = start == 0 || rest.as_bytes().get(start - 1) == Some(&b'\n');
        let after = rest.get(start + 11..)?;
        let end = after.find("-----")?;
        let label = after.get(..end)?;
        let body = after.get(end + 5..)?;
        let closing = format!("-----END {label}-----");
        if at_line_start
            && !label.contains('\n')
            && let Some(stop) = body.find(&closing)
        {
            let body = body.get(..stop)?;
            let body = match body.rsplit_once("\n\n") {
                Some((headers, data)) if headers.contains(':') => data,
                _ => body,
            };
            let compact: Vec<u8> = body.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
            if let Ok(data) = super::encoding::decode64(&compact) {
                return Some((label.to_owned(), data));
            }
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_integers() {
        assert_eq!(unsigned(&[0, 0x80]), [2, 2, 0, 0x80]);
        assert_eq!(unsigned(&[]), [2, 1, 0]);
        assert_eq!(write(4, &[7; 200]).get(..3), Some(&[4, 0x81, 200][..]));
        let sequence = sequence(&[&unsigned(&[5]), &bits(&[1])]);
        let items = parse(&sequence).unwrap().sequence().unwrap();
        assert_eq!(items[0].unsigned(), Some(&[5][..]));
        assert_eq!(items[1].bits(), Some(&[1][..]));
        assert!(parse(&[0x30, 0x81, 5, 0, 0, 0, 0, 0]).is_none());
    }

    #[test]
    fn pem_round_trips() {
        let text = to_pem("X", &[9; 100]);
        assert_eq!(
            from_pem(text.as_bytes()),
            Some(("X".to_owned(), vec![9; 100]))
        );
        assert_eq!(from_pem(b"nothing"), None);
    }
}
