//! Inputs near the seeds, without a fuzzer: number N is always the same one, so that a test can run the first few and a
//! finding can be told by its number.

/// Pieces that mean something to one reader or another.
const PIECES: &[&[u8]] = &[
    b"{{",
    b"}}",
    b"{{-",
    b"-}}",
    b"---\n",
    b"\n",
    b"\r\n",
    b"\t",
    b"  ",
    b": ",
    b"- ",
    b"? ",
    b"&a ",
    b"*a",
    b"<<: ",
    b"!!binary ",
    b"!!int ",
    b"|",
    b">-",
    b"[",
    b"]",
    b"{",
    b"}",
    b"(",
    b")",
    b"\"",
    b"'",
    b"`",
    b"\\",
    b"#",
    b",",
    b".",
    b"=",
    b"null",
    b"true",
    b".nan",
    b"-.inf",
    b"0x",
    b"1e400",
    b"-1",
    b"65536",
    b"9223372036854775807",
    b"\xff",
    b"\xfe",
    b"\xef\xbb\xbf",
    b"\xc2\x85",
    b"\0",
    b"||",
    b">=",
    b"~",
    b"^",
    b"*",
    b"@sha256:",
    b"global",
    b"$ref",
    b"{{ tpl . . }}",
    b"{{ range . }}",
    b"{{ end }}",
    b"{{ define \"a\" }}",
    b"{{ include \"a\" . }}",
    b"| toYaml",
    b"| fromYaml",
    b"| quote",
];

/// Deterministic chance (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A number below `limit`, 0 when that is 0.
    fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % limit).unwrap_or(0)
    }

    fn of<'a, T: ?Sized>(&mut self, from: &'a [&'a T]) -> Option<&'a T> {
        let index = self.below(from.len());
        from.get(index).copied()
    }

    /// A range inside something of this length.
    fn range(&mut self, length: usize, most: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let end = (start + self.below(most + 1)).min(length);
        start..end
    }
}

/// Input number `number` near the seeds: one of them after a few changes.
pub fn mutated(seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut chance = Chance(number);
    let seed = chance.below(seeds.len());
    let mut input = seeds.get(seed).cloned().unwrap_or_default();
    for _ in 0..=chance.below(6) {
        let at = chance.below(input.len() + 1);
        match chance.below(7) {
            0 => {
                let range = chance.range(input.len(), 12);
                input.drain(range);
            }
            1 => {
                let range = chance.range(input.len(), 40);
                let again = input.get(range).unwrap_or_default().to_vec();
                let times = 1 + chance.below(4);
                input.splice(at..at, again.repeat(times));
            }
            2 => {
                let byte = chance.below(256);
                if let (Some(slot), Ok(byte)) = (input.get_mut(at), u8::try_from(byte)) {
                    *slot = byte;
                }
            }
            3 => {
                let other = chance.below(seeds.len());
                let other = seeds.get(other).map(Vec::as_slice).unwrap_or_default();
                let range = chance.range(other.len(), 80);
                input.splice(at..at, other.get(range).unwrap_or_default().iter().copied());
            }
            4 => {
                let piece = chance.of(PIECES).unwrap_or_default();
                let times = 1 << chance.below(5);
                input.splice(at..at, piece.repeat(times));
            }
            5 => {
                let range = chance.range(input.len(), 8);
                let piece = chance.of(PIECES).unwrap_or_default();
                input.splice(range, piece.iter().copied());
            }
            _ => {
                if let Some(slot) = input.get_mut(at) {
                    *slot ^= 1 << chance.below(8);
                }
            }
        }
    }
    input
}
