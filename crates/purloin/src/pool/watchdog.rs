//! The watchdog: says what each worker does if a pool is stuck.
//!
//! With the environment variable `PURLOIN_WATCHDOG=TIME`, such as `10s`, a thread looks at every pool of the program,
//! four times in each such time. A pool is **stuck** if it has something to do and has made no progress for this
//! long: no thread of its own has used a twentieth of a processor, no worker has begun work from outside, and none
//! has stolen. (A worker that waits for a future looks around each millisecond, which takes less.) A pool whose
//! workers all wait for other pools is stuck only if no other pool makes progress. The watchdog then prints the
//! pool's [state](super::state) and a likely reason on standard error, once until the pool makes progress again.
//! Where the system does not tell the processor time of threads, a pool counts as stuck only if no worker runs the
//! program.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Shared;
use super::state::{PoolState, WorkerActivity};
use crate::scheduler::Scheduler;
use crate::sync::plain::{Mutex, Once, lock};
use crate::sync::{Instant, thread};
use crate::tracing::environment::{complain, print, watchdog};
use crate::tracing::is_forked;

/// The pools that are watched.
static POOLS: Mutex<Vec<(u64, Weak<dyn Watched>)>> = Mutex::new(Vec::new());

/// A pool, whatever its scheduler is.
trait Watched: Send + Sync {
    fn state(&self) -> PoolState;
}

impl<S: Scheduler> Watched for Shared<S> {
    fn state(&self) -> PoolState {
        Shared::state(self)
    }
}

/// Lets the watchdog look at a pool, if the environment asks for one.
pub(super) fn watch<S: Scheduler>(pool: &Arc<Shared<S>>) {
    static STARTED: Once = Once::new();
    let Some(limit) = watchdog().filter(|_| !is_forked()) else {
        return;
    };
    let (id, pool): (_, Weak<Shared<S>>) = (pool.id, Arc::downgrade(pool));
    lock(&POOLS).push((id, pool));
    STARTED.call_once(|| {
        let started = thread::Builder::new()
            .name("purloin-watchdog".into())
            .spawn(move || run(limit));
        if let Err(error) = started {
            complain(&format!("PURLOIN_WATCHDOG: cannot start a thread: {error}"));
        }
    });
}

/// Forgets a pool that ends. When this returns, the watchdog holds no reference to the pool.
pub(super) fn forget(id: u64) {
    // In a forked process, the watchdog may have held the lock.
    if watchdog().is_some() && !is_forked() {
        lock(&POOLS).retain(|(other, _)| *other != id);
    }
}

/// What the watchdog remembers of a pool.
struct Seen {
    id: u64,
    /// The processor time of each worker when the pool last made progress.
    used: Vec<Duration>,
    progress: u64,
    /// When the pool last made progress.
    since: Instant,
    has_reported: bool,
}

impl Seen {
    fn new(state: &PoolState) -> Seen {
        Seen {
            id: state.id,
            used: processor_times(state),
            progress: state.progress,
            since: Instant::now(),
            has_reported: false,
        }
    }

    /// Returns whether the pool has made progress, has nothing to do, or may be computing.
    fn makes_progress(&self, state: &PoolState) -> bool {
        let before = self.used.iter().chain(std::iter::repeat(&Duration::ZERO));
        let used = processor_times(state).into_iter().zip(before);
        let most = used.map(|(now, before)| now.saturating_sub(*before)).max();
        let is_known = state
            .workers
            .iter()
            .all(|worker| worker.processor_time.is_some());
        let may_compute = !is_known
            && state
                .workers
                .iter()
                .any(|worker| worker.does == WorkerActivity::Runs);
        most.unwrap_or_default() > self.since.elapsed() / 20
            || self.progress != state.progress
            || !state.is_busy()
            || may_compute
    }
}

fn run(limit: Duration) {
    let mut seen = Vec::<Seen>::new();
    loop {
        thread::sleep(limit / 4);
        let states = states();
        seen.retain(|seen| states.iter().any(|state| state.id == seen.id));
        let mut makes_any_progress = false;
        for state in &states {
            match seen.iter_mut().find(|seen| seen.id == state.id) {
                Some(seen) if !seen.makes_progress(state) => continue,
                Some(seen) => *seen = Seen::new(state),
                None => seen.push(Seen::new(state)),
            }
            makes_any_progress |= state.is_busy();
        }
        for state in &states {
            let Some(seen) = seen.iter_mut().find(|seen| seen.id == state.id) else {
                continue;
            };
            if makes_any_progress && state.only_waits_for_others() {
                *seen = Seen::new(state);
            } else if seen.since.elapsed() >= limit && !seen.has_reported {
                seen.has_reported = true;
                let time = seen.since.elapsed();
                // In one piece, so that other output does not come between.
                print(&format!(
                    "purloin: pool {} has made no progress for {time:.1?}. {}\n{state}",
                    state.id,
                    state.likely_reason()
                ));
            }
        }
    }
}

fn states() -> Vec<PoolState> {
    // The lock is held until the pools are given up: see `forget`.
    let pools = lock(&POOLS);
    let alive = pools.iter().filter_map(|(_, pool)| pool.upgrade());
    alive.map(|pool| pool.state()).collect()
}

/// Returns the processor time of each worker, as far as it is known.
fn processor_times(state: &PoolState) -> Vec<Duration> {
    let times = state.workers.iter().map(|worker| worker.processor_time);
    times.map(Option::unwrap_or_default).collect()
}
