//! Everything that could make two executions of one template differ: time, randomness, keys,
//! look-ups. It all comes through one trait, so that a plan can be rendered with a seed and a
//! test can record and replay.

use crate::collection::Map;
use crate::value::Value;

/// The outside world as template functions see it.
///
/// The default implementations answer with nothing, so that a host overrides only what it offers.
pub trait Env {
    /// The current time: seconds since the Unix epoch and nanoseconds within the second.
    fn now(&mut self) -> (i64, u32);

    /// Fills the buffer with random bytes (`randAlpha`, `uuidv4`, `randBytes`, `shuffle`, salts, keys).
    fn random(&mut self, buffer: &mut [u8]);

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

/// A repeatable environment: a fixed clock and a seeded generator (xorshift64*; not for secrets
/// that must be unpredictable).
#[derive(Clone, Debug)]
pub struct SeededEnv {
    state: u64,
    now: (i64, u32),
}

impl SeededEnv {
    /// An environment with this seed and clock.
    pub fn new(seed: u64, now: (i64, u32)) -> Self {
        // Zero is the one state that xorshift never leaves.
        Self {
            state: seed ^ 0x9E37_79B9_7F4A_7C15 | 1,
            now,
        }
    }
}

impl Default for SeededEnv {
    fn default() -> Self {
        Self::new(0, (0, 0))
    }
}

impl Env for SeededEnv {
    fn now(&mut self) -> (i64, u32) {
        self.now
    }

    fn random(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            self.state ^= self.state >> 12;
            self.state ^= self.state << 25;
            self.state ^= self.state >> 27;
            let word = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D).to_be_bytes();
            for (byte, random) in chunk.iter_mut().zip(word) {
                *byte = random;
            }
        }
    }
}
