//! What templates see of the world: look-ups, the clock, randomness.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

use kubepkg_gotemplate::{Env, GoString, SeededEnv, Value};

use super::RenderOptions;

pub(super) struct RenderEnv<'a> {
    options: RenderOptions<'a>,
    chance: Chance<'a>,
    pub(super) warnings: Vec<String>,
}

/// Where clock and randomness come from.
enum Chance<'a> {
    Machine(Machine),
    Seeded(Box<SeededEnv>),
    Given(&'a RefCell<dyn Env>),
}

/// The machine's randomness, at one moment.
struct Machine {
    now: (i64, u32),
    failed: bool,
}

impl Env for Machine {
    fn now(&mut self) -> (i64, u32) {
        self.now
    }

    fn random(&mut self, buffer: &mut [u8]) {
        self.failed |= getrandom::fill(buffer).is_err();
    }
}

fn present() -> (i64, u32) {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    (
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        since.subsec_nanos(),
    )
}

impl<'a> RenderEnv<'a> {
    pub(super) fn new(options: &RenderOptions<'a>) -> Self {
        let now = options.now.unwrap_or_else(present);
        let chance = match (options.chance, options.seed) {
            (Some(given), _) => Chance::Given(given),
            (None, Some(seed)) => Chance::Seeded(Box::new(SeededEnv::new(seed, now))),
            (None, None) => Chance::Machine(Machine { now, failed: false }),
        };
        Self {
            options: *options,
            chance,
            warnings: Vec::new(),
        }
    }

    /// Whether the machine had no randomness to give.
    pub(super) fn no_randomness(&self) -> bool {
        matches!(self.chance, Chance::Machine(Machine { failed: true, .. }))
    }

    fn chance<T>(&mut self, ask: impl FnOnce(&mut dyn Env) -> T) -> T {
        match &mut self.chance {
            Chance::Machine(machine) => ask(machine),
            Chance::Seeded(seeded) => ask(seeded.as_mut()),
            Chance::Given(given) => ask(&mut *given.borrow_mut()),
        }
    }
}

impl Env for RenderEnv<'_> {
    fn now(&mut self) -> (i64, u32) {
        self.chance(|env| env.now())
    }

    fn uptime(&mut self) -> i64 {
        self.chance(|env| env.uptime())
    }

    fn random(&mut self, buffer: &mut [u8]) {
        self.chance(|env| env.random(buffer));
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.chance(|env| env.below(limit))
    }

    fn order(&mut self, keys: &mut [GoString]) {
        self.chance(|env| env.order(keys));
    }

    fn private_key(&mut self, kind: &str) -> Option<Vec<u8>> {
        self.chance(|env| env.private_key(kind))
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
