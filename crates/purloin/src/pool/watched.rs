//! The pools of a program that is watched, by the [watchdog] or by the [monitor](super::monitor), and which of them
//! make no progress.
//!
//! A pool is **stuck** for as long as it has something to do and makes no progress: no thread of its own uses a
//! twentieth of a processor, no worker begins work from outside, and none steals. (A worker that waits for a future
//! looks around each millisecond, which takes less.) A pool whose workers all wait for other pools is stuck only if no
//! other pool makes progress. Where the system does not tell the processor time of threads, a pool counts as stuck
//! only if no worker runs the program.

use std::sync::{Arc, Weak};
use std::time::Duration;

use purloin_trace::live;

use super::state::{PoolState, WorkerActivity};
use super::{Shared, watchdog};
use crate::scheduler::Scheduler;
use crate::sync::Instant;
use crate::sync::plain::{Mutex, lock};
use crate::tracing::{environment, is_forked};

/// The pools that are watched.
static POOLS: Mutex<Vec<(u64, Weak<dyn Watched>)>> = Mutex::new(Vec::new());

/// A pool, whatever its scheduler is.
pub(super) trait Watched: Send + Sync {
    /// Returns what the pool does at this moment.
    fn state(&self) -> PoolState;

    /// Returns a pool's [state](Self::state) with what its workers have done so far.
    fn with_totals(&self, state: &PoolState) -> live::Pool;
}

/// Lets the watchdog and the monitor look at a pool, if the environment asks for one.
pub(super) fn watch<S: Scheduler>(pool: &Arc<Shared<S>>) {
    if !environment::watches() || is_forked() {
        return;
    }
    let (id, pool): (_, Weak<Shared<S>>) = (pool.id, Arc::downgrade(pool));
    lock(&POOLS).push((id, pool));
    watchdog::start();
    #[cfg(unix)]
    super::monitor::start();
}

/// Forgets a pool that ends. When this returns, no watcher holds a reference to the pool.
pub(super) fn forget(id: u64) {
    // In a forked process, a watcher may have held the lock.
    if environment::watches() && !is_forked() {
        lock(&POOLS).retain(|(other, _)| *other != id);
    }
}

/// Calls `look` with each pool that exists, in the order in which they were built.
pub(super) fn map<T>(look: impl Fn(&dyn Watched) -> T) -> Vec<T> {
    // The lock is held until the pools are given up: see `forget`.
    let pools = lock(&POOLS);
    let alive = pools.iter().filter_map(|(_, pool)| pool.upgrade());
    alive.map(|pool| look(&*pool)).collect()
}

/// When each pool last made progress.
#[derive(Default)]
pub(super) struct Progress(Vec<Seen>);

impl Progress {
    /// Returns for how long each of these pools has made no progress, according to this look at them and earlier
    /// ones.
    pub(super) fn look(&mut self, states: &[PoolState]) -> Vec<Duration> {
        let Progress(seen) = self;
        seen.retain(|seen| states.iter().any(|state| state.id == seen.id));
        let mut makes_any_progress = false;
        for state in states {
            match seen.iter_mut().find(|seen| seen.id == state.id) {
                Some(seen) if !seen.makes_progress(state) => continue,
                Some(seen) => *seen = Seen::new(state),
                None => seen.push(Seen::new(state)),
            }
            makes_any_progress |= state.is_busy();
        }
        let since = |state: &PoolState| {
            let Some(seen) = seen.iter_mut().find(|seen| seen.id == state.id) else {
                return Duration::ZERO;
            };
            if makes_any_progress && state.only_waits_for_others() {
                *seen = Seen::new(state);
            }
            seen.since.elapsed()
        };
        states.iter().map(since).collect()
    }
}

/// A pool at the moment when it last made progress.
struct Seen {
    id: u64,
    /// Whether it had something to do. If not, the work that it has at the next look may just have come.
    was_busy: bool,
    /// The processor time of each worker.
    used: Vec<Duration>,
    progress: u64,
    since: Instant,
}

impl Seen {
    fn new(state: &PoolState) -> Seen {
        Seen {
            id: state.id,
            was_busy: state.is_busy(),
            used: processor_times(state),
            progress: state.progress,
            since: Instant::now(),
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
            || !(self.was_busy && state.is_busy())
            || may_compute
    }
}

/// Returns the processor time of each worker, as far as it is known.
fn processor_times(state: &PoolState) -> Vec<Duration> {
    let times = state.workers.iter().map(|worker| worker.processor_time);
    times.map(Option::unwrap_or_default).collect()
}
