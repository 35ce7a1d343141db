//! A text with its signature behind it: the cleartext framework of
//! [RFC 9580 §7](https://www.rfc-editor.org/rfc/rfc9580.html#name-cleartext-signature-framewor).
//!
//! Read as Go's `clearsign` reads it: the block may stand anywhere, `Hash` is the only header, lines lose the white
//! space at their ends, and what is signed are lines parted by CR LF, without one at the end.

const BEGIN: &str = "-----BEGIN PGP SIGNED MESSAGE-----";
const SIGNATURE: &str = "-----BEGIN PGP SIGNATURE-----";
const END: &str = "-----END PGP SIGNATURE-----";

/// The parts of a signed text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The text with LF.
    pub(super) text: String,
    /// What was signed.
    pub(super) signed: String,
    /// The armored signature.
    pub(super) signature: String,
}

/// Finds the first block; `None` when there is no whole one.
pub(super) fn decode(text: &[u8]) -> Option<Block> {
    let text = std::str::from_utf8(text).ok()?;
    let mut lines = text.lines();
    lines.find(|line| line.trim_end() == BEGIN)?;
    for line in lines.by_ref() {
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, _) = line.split_once(':')?;
        if name != "Hash" {
            return None;
        }
    }
    let mut kept = Vec::new();
    loop {
        let line = lines.next()?;
        if line.trim_end_matches('\r') == SIGNATURE {
            break;
        }
        let line = line.strip_prefix("- ").unwrap_or(line);
        kept.push(line.trim_end_matches([' ', '\t', '\r']));
    }
    let mut signature = vec![SIGNATURE];
    loop {
        let line = lines.next()?.trim_end();
        signature.push(line);
        if line == END {
            break;
        }
    }
    let mut plain = kept.join("\n");
    plain.push('\n');
    let mut armor = signature.join("\n");
    armor.push('\n');
    Some(Block {
        text: plain,
        signed: kept.join("\r\n"),
        signature: armor,
    })
}

/// A text that may stand in a block: no white space at the ends of lines, no line end behind the last.
pub(super) fn canonical(text: &str) -> String {
    let lines: Vec<&str> = text
        .trim_end_matches('\n')
        .split('\n')
        .map(|line| line.trim_end_matches([' ', '\t', '\r']))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "before\n-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\na \n- -----x\n\
        -----BEGIN PGP SIGNATURE-----\n\nAA==\n-----END PGP SIGNATURE-----\nafter\n";

    #[test]
    fn finds_the_block_in_its_surroundings() {
        let block = decode(BLOCK.as_bytes()).unwrap();
        assert_eq!(block.text, "a\n-----x\n");
        assert_eq!(block.signed, "a\r\n-----x");
        assert!(block.signature.ends_with("\n-----END PGP SIGNATURE-----\n"));
        assert_eq!(decode(BLOCK.replace('\n', "\r\n").as_bytes()), Some(block));
    }

    #[test]
    fn half_a_block_is_none() {
        for text in [
            BLOCK.replace("-----END", "-----FIN"),
            BLOCK.replace("-----BEGIN PGP SIGNATURE-----", ""),
            BLOCK.replace("Hash: SHA512", "Other: x"),
        ] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
    }
}
