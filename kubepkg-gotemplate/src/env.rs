//! Everything that could make two executions of one template differ: time, randomness, keys,
//! look-ups. It all comes through one trait, so that a plan can be rendered with a seed and a
//! test can record and replay.

use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt as _, KeyInit as _};
use sha2::{Digest as _, Sha256};

use crate::bytestring::GoString;
use crate::collection::Map;
use crate::value::Value;

/// The outside world as template functions see it.
///
/// The default implementations answer with nothing, so that a host overrides only what it offers.
pub trait Env {
    /// The current time: seconds since the Unix epoch and nanoseconds within the second.
    fn now(&mut self) -> (i64, u32);

    /// Nanoseconds since the start of the program, which Go shows after a time that `now` gave (`m=+0.000000001`).
    /// Every program has just begun.
    fn uptime(&mut self) -> i64 {
        1
    }

    /// Fills the buffer with random bytes (`uuidv4`, `randBytes`, salts, serial numbers, keys).
    fn random(&mut self, buffer: &mut [u8]);

    /// A number below `limit`, every one as likely as another (`randInt`, `shuffle`, each sign of `randAlpha` and its
    /// relatives: a place in the signs that it may be, in ASCII order). Made of [`Env::random`].
    fn below(&mut self, limit: u64) -> u64 {
        let limit = limit.max(1);
        let largest = u64::MAX - u64::MAX % limit;
        loop {
            let mut buffer = [0; 8];
            self.random(&mut buffer);
            let number = u64::from_be_bytes(buffer);
            if number < largest {
                return number % limit;
            }
        }
    }

    /// Puts the keys of a map in the order in which `keys` and `values` give them. Go's changes from call to call;
    /// here they come ascending, and stay so.
    fn order(&mut self, keys: &mut [GoString]) {
        let _ = keys;
    }

    /// A private key made elsewhere (a recording, a pool), in the encoding that the function
    /// produces, for `kind` = `rsa`, `ecdsa`, `dsa` or `ed25519`. `None`: the function makes one from
    /// [`Env::random`].
    fn private_key(&mut self, kind: &str) -> Option<Vec<u8>> {
        let _ = kind;
        None
    }

    /// `getHostByName`: an address of the host. Empty unless the host allows name resolution.
    fn host_by_name(&mut self, name: &str) -> String {
        let _ = name;
        String::new()
    }

    /// Helm's `lookup`. The default is what Helm does without a cluster: an empty map.
    ///
    /// # Errors
    /// The text of a failed request; it ends the execution.
    fn lookup(
        &mut self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Value, String> {
        let _ = (api_version, kind, namespace, name);
        Ok(Value::Map(Map::default()))
    }

    /// A variable of the process environment, for `env` and `expandenv` where a host offers them.
    fn variable(&mut self, name: &str) -> Option<String> {
        let _ = name;
        None
    }

    /// A message that Helm would log (a missing required value in lint mode).
    fn warn(&mut self, message: &str) {
        let _ = message;
    }
}

/// A repeatable environment: a fixed clock, and random bytes that a seed decides.
///
/// The bytes are AES-256 in counter mode under the SHA-256 of the seed. Who does not know the seed can't tell them from
/// chance, so what a plan generates (passwords, keys) can be what is applied, if the seed is kept as a secret and has
/// as much chance in it as a key: 32 random bytes.
#[derive(Clone, Debug)]
pub struct SeededEnv {
    cipher: Aes256,
    blocks: u128,
    now: (i64, u32),
}

impl SeededEnv {
    /// An environment with this seed and clock.
    pub fn new(seed: impl AsRef<[u8]>, now: (i64, u32)) -> Self {
        let key: [u8; 32] = Sha256::digest(seed.as_ref()).into();
        Self {
            cipher: Aes256::new(&Array::from(key)),
            blocks: 0,
            now,
        }
    }
}

impl Default for SeededEnv {
    /// An empty seed, and 1970: for tests, and for templates without chance in them.
    fn default() -> Self {
        Self::new([], (0, 0))
    }
}

impl Env for SeededEnv {
    fn now(&mut self) -> (i64, u32) {
        self.now
    }

    fn random(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(16) {
            let mut block = Array::from(self.blocks.to_be_bytes());
            self.blocks = self.blocks.wrapping_add(1);
            self.cipher.encrypt_block(&mut block);
            for (byte, random) in chunk.iter_mut().zip(block) {
                *byte = random;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::{FuncTable, TemplateSet, sprig};

    /// Answers as if the first choice were made each time, and maps came backwards.
    struct First;

    impl Env for First {
        fn now(&mut self) -> (i64, u32) {
            (0, 0)
        }

        fn uptime(&mut self) -> i64 {
            1_500_000_000
        }

        fn random(&mut self, buffer: &mut [u8]) {
            buffer.fill(0);
        }

        fn below(&mut self, _: u64) -> u64 {
            0
        }

        fn order(&mut self, keys: &mut [GoString]) {
            keys.reverse();
        }
    }

    #[test]
    fn a_seed_gives_the_key_stream_of_aes() {
        // SHA-256 of the seed as the key, blocks 0 and 1 encrypted:
        // printf seed | openssl dgst -sha256; openssl enc -aes-256-ctr -K ... -iv 0 -in /dev/zero
        let bytes = |env: &mut SeededEnv| {
            let mut buffer = [0; 20];
            env.random(&mut buffer);
            buffer
        };
        let mut env = SeededEnv::new("seed", (0, 0));
        let wanted = [
            0x10, 0x24, 0xe0, 0x3e, 0xf1, 0x67, 0x21, 0x93, 0xf3, 0x96, 0x22, 0x13, 0x7b, 0x64,
            0x56, 0x16, 0x95, 0x03, 0x54, 0x81,
        ];
        assert_eq!(bytes(&mut env), wanted);
        // Each call begins a block of its own.
        assert_ne!(bytes(&mut env), wanted);
        assert_ne!(bytes(&mut SeededEnv::new("seeD", (0, 0))), wanted);
    }

    #[test]
    fn every_choice_of_a_template_is_the_environments() {
        let mut functions = FuncTable::default();
        functions.extend(sprig::functions());
        let mut set = TemplateSet::new("t", functions);
        let text = r#"{{ $d := dict "a" 1 "b" 2 "c" 3 }}{{ keys $d }} {{ values $d }} {{ randAlphaNum 3 }} {{ randAlpha 2 }} {{ randInt 5 9 }} {{ shuffle "abc" }} {{ now }}"#;
        set.parse("t", text).unwrap();
        let output = set.execute("t", &Value::Nil, &mut First).unwrap();
        // Go's Fisher-Yates with zero each time: abc, cba, bca. Times as Go prints them with a monotonic reading.
        let wanted = "[c b a] [3 2 1] 000 AA 5 bca 1970-01-01 00:00:00 +0000 UTC m=+1.500000000";
        assert_eq!(String::from_utf8_lossy(&output), wanted);
    }
}
