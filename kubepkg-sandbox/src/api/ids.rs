//! Names and numbers that a server invents, from a seed: two worlds with one seed invent the same.

/// A small deterministic generator (SplitMix64 by Steele, Lea and Flood).
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    state: u64,
}

impl Ids {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below a bound that is not zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// A UID, version 4 of RFC 9562.
    pub(crate) fn uid(&mut self) -> String {
        let (a, b) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            0x8000 | ((b >> 48) & 0x3fff),
            b & 0xffff_ffff_ffff,
        )
    }

    /// The end of a generated name: characters that spell no words
    /// (`k8s.io/apimachinery/pkg/util/rand`).
    pub(crate) fn suffix(&mut self, length: usize) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut one = || LETTERS[usize::try_from(self.below(27)).unwrap_or(0)];
        (0..length).map(|_| char::from(one())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_invents_one_sequence() {
        let (mut a, mut b) = (Ids::new(7), Ids::new(7));
        assert_eq!((a.uid(), a.suffix(5)), (b.uid(), b.suffix(5)));
        assert_ne!(a.uid(), a.uid());
        assert_eq!(a.uid().len(), 36);
    }
}
