//! What templates see of the world: look-ups, the clock, randomness.

use std::time::{SystemTime, UNIX_EPOCH};

use kubepkg_gotemplate::{Env, SeededEnv, Value};

use super::RenderOptions;

pub(super) struct RenderEnv<'a> {
    options: RenderOptions<'a>,
    now: (i64, u32),
    seeded: Option<SeededEnv>,
    pub(super) no_randomness: bool,
    pub(super) warnings: Vec<String>,
}

impl<'a> RenderEnv<'a> {
    pub(super) fn new(options: &RenderOptions<'a>) -> Self {
        let now = options.now.unwrap_or_else(|| {
            let since = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            (
                i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
                since.subsec_nanos(),
            )
        });
        let seeded = options.seed.map(|seed| SeededEnv::new(seed, now));
        Self {
            options: *options,
            now,
            seeded,
            no_randomness: false,
            warnings: Vec::new(),
        }
    }
}

impl Env for RenderEnv<'_> {
    fn now(&mut self) -> (i64, u32) {
        self.now
    }

    fn random(&mut self, buffer: &mut [u8]) {
        match &mut self.seeded {
            Some(seeded) => seeded.random(buffer),
            None => self.no_randomness |= getrandom::fill(buffer).is_err(),
        }
    }

    fn lookup(
        &mut self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Value, String> {
        let Some(lookup) = self.options.lookup else {
            return Ok(Value::Map(kubepkg_gotemplate::Map::default()));
        };
        match lookup.lookup(api_version, kind, namespace, name) {
            // Objects of a cluster arrive through Kubernetes' decoder, which keeps whole numbers.
            Ok(found) => Ok(Value::from_json_with_ints(&found)),
            Err(error) => Err(error.message),
        }
    }

    fn warn(&mut self, message: &str) {
        self.warnings.push(message.to_owned());
    }
}
