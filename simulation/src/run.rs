//! One run: a world in a thread of its own, on paused time, from a seed.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kubepkg_sandbox::{ApiFault, ApiFaults, FaultRates};
use kubepkg_source::Charts;

use crate::charts::Lease;
use crate::laws;
use crate::state::State;
use crate::wire::{Crash, Sent};
use crate::world::{Stuck, World};

/// How long a world is left alone at the end: longer than the operator waits between two looks at a package at rest.
const REST: Duration = Duration::from_mins(6);

/// The stack of a run, enough for a debug build.
const STACK: usize = 16 << 20;

/// What a person does in a run.
pub type Script = for<'a> fn(&'a World) -> BoxFuture<'a, Result<(), Stuck>>;

/// What happens to the operator in a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Decides everything that is drawn.
    pub seed: u64,
    /// The packages that take part.
    pub packages: &'static [&'static str],
    /// Where lives of the operator end.
    pub crashes: Vec<Crash>,
    /// What happens to single requests.
    pub faults: Vec<(u64, ApiFault)>,
    /// What happens to requests by chance.
    pub rates: Option<FaultRates>,
    /// Whether a person who waits for a revision waits for exactly its number: no fault may cost one.
    pub strict: bool,
}

impl Plan {
    /// Nothing happens.
    pub fn calm(seed: u64, packages: &'static [&'static str]) -> Self {
        Self {
            seed,
            packages,
            crashes: Vec::new(),
            faults: Vec::new(),
            rates: None,
            strict: true,
        }
    }

    /// Whether reads are made to show the past that asked for the present.
    pub(crate) fn forces_stale_reads(&self) -> bool {
        let forced = |(_, fault): &(u64, ApiFault)| matches!(fault, ApiFault::ForcedStale(_));
        self.faults.iter().any(forced) || self.rates.is_some_and(|rates| rates.forced_stale > 0)
    }
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Everything that the operator sent.
    pub sent: Vec<Sent>,
    /// Why the script did not come to its end.
    pub stuck: Option<Stuck>,
    /// Everything at the end.
    pub state: State,
    /// The laws that were broken.
    pub broken: Vec<String>,
    /// Requests of the last minutes, in which nothing was to be done.
    pub resting: usize,
    /// How many lives of the operator have ended.
    pub kills: u64,
    /// The faults that requests met.
    pub met: Vec<(u64, ApiFault)>,
    /// How long it took, in the time of the world.
    pub took: Duration,
}

impl Run {
    /// What was sent, as text: the same for every run of one plan.
    pub fn log(&self) -> String {
        let lines = self.sent.iter().map(|sent| format!("{sent}\n"));
        lines.collect()
    }
}

/// Runs a script under a plan.
///
/// # Panics
///
/// When the machine gives no thread, and when the script does.
pub fn run<S>(plan: &Plan, script: &S) -> Run
where
    S: for<'a> Fn(&'a World) -> BoxFuture<'a, Result<(), Stuck>> + Sync,
{
    let done = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, || in_this_thread(plan, script));
        thread
            .map_err(|error| error.to_string())
            .map(|thread| match thread.join() {
                Ok(run) => run,
                Err(panic) => std::panic::resume_unwind(panic),
            })
    });
    match done {
        Ok(Ok(run)) => run,
        Ok(Err(why)) | Err(why) => nothing(why),
    }
}

/// A run that could not begin.
fn nothing(why: String) -> Run {
    Run {
        sent: Vec::new(),
        stuck: Some(Stuck::Source(why)),
        state: State::default(),
        broken: Vec::new(),
        resting: 0,
        kills: 0,
        met: Vec::new(),
        took: Duration::ZERO,
    }
}

fn in_this_thread<S>(plan: &Plan, script: &S) -> Result<Run, String>
where
    S: for<'a> Fn(&'a World) -> BoxFuture<'a, Result<(), Stuck>>,
{
    // The backoff of kube's watches draws from the generator of the thread.
    fastrand::seed(plan.seed);
    // Given back when nothing runs any more.
    let lease = Lease::take().map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| error.to_string())?;
    runtime
        .block_on(live(plan, script, lease.charts()))
        .map_err(|stuck| stuck.to_string())
}

async fn live<S>(plan: &Plan, script: &S, charts: Arc<Charts>) -> Result<Run, Stuck>
where
    S: for<'a> Fn(&'a World) -> BoxFuture<'a, Result<(), Stuck>>,
{
    let faults = match plan.rates {
        Some(rates) => ApiFaults::drawn(plan.seed, rates),
        None => ApiFaults::default(),
    };
    for (request, fault) in &plan.faults {
        faults.at(*request, *fault);
    }
    let world = World::new(plan, faults, charts).await?;
    let beginning = laws::Beginning::of(&world).await?;
    let stuck = script(&world).await.err();
    world.faults.calm();
    world.faults.partition(false);
    world.clock.set_off(0);
    let before = world.wire.count();
    if stuck.is_none() {
        world.pass(REST).await;
    }
    let resting = world.wire.count() - before;
    let mut broken = laws::broken(&world, &beginning, plan.forces_stale_reads()).await?;
    // Slow answers may hold it up, and are not its fault.
    if plan.rates.is_none() && world.wire.lingered() > 0 {
        broken.push("the operator did not end in time when it was asked to".to_owned());
    }
    Ok(Run {
        state: State::of(&world).await?,
        sent: world.wire.sent(),
        stuck,
        broken,
        resting,
        kills: world.wire.lives(),
        met: world.faults.met(),
        took: world.clock.elapsed(),
    })
}
