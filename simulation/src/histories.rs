//! Random histories: three packages that people change, break, mend, roll back and remove, while the operator is killed,
//! its clock is wrong, it is cut off, and requests meet faults. All drawn from one seed.
//!
//! In the end everything calms down and something is wanted of every package that can be had. Then what runs must be what
//! runs when the same is wanted in a world without a past.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use futures::FutureExt as _;
use http::Method;
use kubepkg_e2e::Source;
use kubepkg_sandbox::FaultRates;
use serde_json::{Value, json};

use crate::charts;
use crate::laws::restless;
use crate::run::{Plan, Run, run};
use crate::sweep::Reads;
use crate::wire::{Crash, When};
use crate::world::{Seen, Stuck, World};

/// The packages.
const PACKAGES: &[&str] = &["blog", "shop", "wiki"];

/// What a package ends as.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Removed,
    Installed { source: Wanted, spec: Value },
}

/// A source that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    version: String,
    safe: bool,
    components: Vec<(&'static str, &'static str)>,
}

impl Wanted {
    fn source(&self) -> Source {
        let components: Vec<(&str, &str)> = self.components.clone();
        let source = Source::new(&self.version, &components);
        if self.safe { source } else { source.not_safe() }
    }
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Happening {
    Source(usize, Wanted),
    Package(usize, Value),
    RollBack(usize, u64),
    Delete(usize),
    /// A Deployment of a package is deleted by hand.
    Vandal(usize),
    Kill,
    Partition(bool),
    ClockOff(i64),
    Outage(bool),
}

/// A history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    happenings: Vec<(Duration, Happening)>,
    crashes: Vec<Crash>,
    rates: FaultRates,
    ends: Vec<End>,
}

/// The history of a seed.
pub fn history(seed: u64) -> History {
    let mut rng = Rng::with_seed(seed);
    let mut happenings = Vec::new();
    for package in 0..PACKAGES.len() {
        happenings.push((
            Duration::ZERO,
            Happening::Source(package, a_source(&mut rng, 0)),
        ));
        happenings.push((
            Duration::ZERO,
            Happening::Package(package, a_spec(&mut rng)),
        ));
    }
    for step in 0..rng.usize(3..14) {
        let pause = Duration::from_millis(match rng.u8(0..4) {
            0 => 0,
            1 => rng.u64(0..3_000),
            2 => rng.u64(0..30_000),
            _ => rng.u64(0..400_000),
        });
        happenings.push((pause, happening(&mut rng, step + 1)));
    }
    let crashes = (0..rng.usize(0..4)).map(|_| Crash {
        at: rng.u64(0..600),
        when: if rng.bool() {
            When::Before
        } else {
            When::After
        },
    });
    let mut crashes: Vec<Crash> = crashes.collect();
    let mut rate = |most: u16| if rng.bool() { rng.u16(0..most) } else { 0 };
    let mut rates = FaultRates {
        refused: rate(60),
        unreachable: rate(60),
        lost: rate(60),
        watches: rate(300),
        stale: rate(60),
        slow: rate(40),
        ..FaultRates::default()
    };
    let ends = PACKAGES.iter().map(|_| {
        if rng.u8(0..4) == 0 {
            return End::Removed;
        }
        let mut source = a_good_source(&mut rng, 99);
        "9.9.9".clone_into(&mut source.version);
        let spec =
            json!({"components": {"web": {"values": {"message": format!("end {}", rng.u16(..))}}}});
        End::Installed { source, spec }
    });
    let ends = ends.collect();
    // Drawn last, so that what seeds meant before these were known is not lost.
    for _ in 0..rng.usize(0..3) {
        let (at, when) = (rng.u64(0..600), When::Asked);
        crashes.push(Crash { at, when });
    }
    if rng.bool() {
        rates.late = rng.u16(0..200);
    }
    History {
        happenings,
        crashes,
        rates,
        ends,
    }
}

const GOOD: &[&str] = &["1.0.0", "1.1.0", "1.2.0", "2.0.0"];

fn a_good_source(rng: &mut Rng, step: usize) -> Wanted {
    let mut components = Vec::new();
    let version = |rng: &mut Rng| GOOD[rng.usize(0..GOOD.len())];
    if rng.bool() {
        components.push(("store", version(rng)));
    }
    components.push(("web", version(rng)));
    if rng.u8(0..4) == 0 {
        components.push(("work", if rng.bool() { "1.0.0" } else { "1.1.0" }));
    }
    Wanted {
        version: format!("1.{step}.0"),
        safe: rng.bool(),
        components,
    }
}

/// One source in three has something that can't be installed.
fn a_source(rng: &mut Rng, step: usize) -> Wanted {
    let mut source = a_good_source(rng, step);
    let bad = match rng.u8(0..9) {
        0 => "9.0.0",
        1 => "8.0.0",
        // Nobody has it.
        2 => "7.0.0",
        _ => return source,
    };
    for component in source
        .components
        .iter_mut()
        .filter(|component| component.0 == "web")
    {
        component.1 = bad;
    }
    source
}

fn a_spec(rng: &mut Rng) -> Value {
    let timeout = ["20s", "60s", "10m"][rng.usize(0..3)];
    let mut spec = json!({
        "upgrade": {"timeout": timeout, "atomic": rng.u8(0..4) != 0},
        "components": {"web": {"values": {"message": format!("m{}", rng.u8(0..4)), "replicas": rng.u8(0..3)}}},
    });
    if rng.u8(0..3) == 0 {
        spec["revisionHistoryLimit"] = rng.u8(1..4).into();
    }
    spec
}

fn happening(rng: &mut Rng, step: usize) -> Happening {
    let package = rng.usize(0..PACKAGES.len());
    match rng.u8(0..20) {
        0..=6 => Happening::Source(package, a_source(rng, step)),
        7..=9 => Happening::Package(package, a_spec(rng)),
        10..=11 => Happening::RollBack(package, rng.u64(1..5)),
        12 => Happening::Delete(package),
        13 => Happening::Vandal(package),
        14..=15 => Happening::Kill,
        16..=17 => Happening::Partition(rng.bool()),
        18 => Happening::ClockOff(rng.i64(-7_200..7_200)),
        _ => Happening::Outage(rng.bool()),
    }
}

async fn happen(world: &World, happening: &Happening) -> Result<(), Stuck> {
    let done = match happening {
        Happening::Source(package, source) => {
            world.source(PACKAGES[*package], &source.source()).await
        }
        Happening::Package(package, spec) => world.package(PACKAGES[*package], spec.clone()).await,
        Happening::RollBack(package, to) => world.roll_back(PACKAGES[*package], *to).await,
        Happening::Delete(package) => world.delete(PACKAGES[*package]).await,
        Happening::Vandal(package) => {
            let path = format!(
                "/apis/apps/v1/namespaces/apps/deployments/{}-web",
                PACKAGES[*package]
            );
            world
                .ask(Method::DELETE, &path, "application/json", &json!({}))
                .await
                .map(drop)
        }
        Happening::Kill => {
            world.wire.kill();
            Ok(())
        }
        Happening::Partition(off) => {
            world.faults.partition(*off);
            Ok(())
        }
        Happening::ClockOff(seconds) => {
            world.clock.set_off(*seconds);
            Ok(())
        }
        Happening::Outage(out) => {
            charts::outage(*out);
            Ok(())
        }
    };
    match done {
        // There is nothing to roll back or to destroy, or the package is on its way out.
        Err(Stuck::Refused {
            status: 404 | 409 | 422,
            ..
        }) => Ok(()),
        done => done,
    }
}

async fn live(world: &World, history: Arc<History>) -> Result<(), Stuck> {
    for (pause, happening) in &history.happenings {
        world.pass(*pause).await;
        happen(world, happening).await?;
    }
    charts::outage(false);
    world.faults.calm();
    world.faults.partition(false);
    world.clock.set_off(0);
    end(world, history).await
}

/// What everything comes to.
async fn end(world: &World, history: Arc<History>) -> Result<(), Stuck> {
    let all = || PACKAGES.iter().zip(&history.ends);
    for (package, end) in all() {
        match end {
            End::Removed => world.delete(package).await?,
            End::Installed { source, spec } => {
                world.drop_request(package).await?;
                // One that is on its way out is waited for, then made anew.
                let going = world.get(&world.path("packages", package)).await?;
                if going.is_some_and(|package| !package["metadata"]["deletionTimestamp"].is_null())
                {
                    world
                        .until_seen(package, "gone", |seen| seen.ready == "gone")
                        .await?;
                }
                world.source(package, &source.source()).await?;
                world.package(package, spec.clone()).await?;
            }
        }
    }
    for (package, end) in all() {
        match end {
            End::Removed => {
                let is_gone = |seen: &Seen| seen.ready == "gone";
                world.until_seen(package, "gone", is_gone).await?;
            }
            End::Installed { .. } => {
                world
                    .until_seen(package, "ready with version 9.9.9", |seen| {
                        let newest = seen.history.last();
                        seen.ready == "True ReconciliationSucceeded"
                            && newest.is_some_and(|row| row.ends_with(" 9.9.9 Applied"))
                    })
                    .await?;
            }
        }
    }
    Ok(())
}

/// Runs the history of a seed; what is wrong with it.
pub(crate) fn check(seed: u64, reads: Reads) -> (Run, Vec<String>) {
    let mut history = history(seed);
    if reads == Reads::ForcedStale {
        history.rates.forced_stale = std::mem::take(&mut history.rates.stale);
    }
    let history = Arc::new(history);
    let plan = Plan {
        crashes: history.crashes.clone(),
        rates: Some(history.rates),
        strict: false,
        ..Plan::calm(seed, PACKAGES)
    };
    let (all, last) = (Arc::clone(&history), Arc::clone(&history));
    let lived = run(&plan, &move |world: &World| {
        live(world, Arc::clone(&all)).boxed()
    });
    let calm = Plan::calm(seed, PACKAGES);
    let calm = run(&calm, &move |world: &World| {
        end(world, Arc::clone(&last)).boxed()
    });
    let mut what = lived.broken.clone();
    what.extend(
        calm.stuck
            .iter()
            .map(|stuck| format!("without faults: {stuck}")),
    );
    what.extend(restless(lived.resting, PACKAGES.len()));
    // As in a sweep: what must never happen does not happen even where reads show the past, and that is all.
    if reads == Reads::Present {
        match &lived.stuck {
            Some(stuck) => what.push(stuck.to_string()),
            None if calm.stuck.is_none() => {
                what.extend(lived.state.differences_of_what_runs(&calm.state));
            }
            None => {}
        }
    }
    (lived, what)
}
