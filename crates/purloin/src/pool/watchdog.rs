//! The watchdog: says what each worker does if a pool is stuck.
//!
//! With the environment variable `PURLOIN_WATCHDOG=TIME`, such as `10s`, a thread looks at every pool of the program, four
//! times in each such time. A pool is **stuck** if it has something to do, and its threads have used next to no processor time
//! for this long. The watchdog then prints the pool's [state](super::state) and a likely reason on standard error, once,
//! until the pool has gone on. Where the system does not tell the processor time of threads, a pool counts as stuck
//! only if every worker is idle or waits within the pool.

use std::io::{Write, stderr};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Shared;
use super::state::{Does, PoolState};
use crate::scheduler::Scheduler;
use crate::sync::plain::{Mutex, Once, lock};
use crate::sync::{Instant, thread};
use crate::tracing::environment::{complain, watchdog};

/// The pools that are watched.
static POOLS: Mutex<Vec<Weak<dyn Watched>>> = Mutex::new(Vec::new());

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
    let Some(limit) = watchdog() else { return };
    let pool: Weak<Shared<S>> = Arc::downgrade(pool);
    lock(&POOLS).push(pool);
    STARTED.call_once(|| {
        let started = thread::Builder::new()
            .name("purloin-watchdog".into())
            .spawn(move || run(limit));
        if let Err(error) = started {
            complain(&format!("PURLOIN_WATCHDOG: cannot start a thread: {error}"));
        }
    });
}

/// What the watchdog remembers of a pool.
struct Seen {
    id: u64,
    /// The processor time of all workers, when the pool last went on.
    used: Duration,
    /// When the pool last went on.
    since: Instant,
    has_reported: bool,
}

fn run(limit: Duration) {
    let mut seen = Vec::<Seen>::new();
    loop {
        thread::sleep(limit / 4);
        let states: Vec<_> = {
            let mut pools = lock(&POOLS);
            pools.retain(|pool| pool.strong_count() > 0);
            let alive: Vec<_> = pools.iter().filter_map(Weak::upgrade).collect();
            drop(pools);
            alive.iter().map(|pool| pool.state()).collect()
        };
        seen.retain(|seen| states.iter().any(|state| state.id == seen.id));
        for state in &states {
            let used = processor_time(state);
            let place = seen.iter().position(|seen| seen.id == state.id);
            let seen = match place {
                Some(place) => &mut seen[place],
                None => {
                    seen.push(Seen {
                        id: state.id,
                        used,
                        since: Instant::now(),
                        has_reported: false,
                    });
                    continue;
                }
            };
            // A hundredth: a stuck worker wakes up now and then to look around.
            let goes_on = used.saturating_sub(seen.used) > seen.since.elapsed() / 100;
            if goes_on || !state.is_busy() || !may_be_stuck(state) {
                (seen.used, seen.since, seen.has_reported) = (used, Instant::now(), false);
            } else if seen.since.elapsed() >= limit && !seen.has_reported {
                seen.has_reported = true;
                report(state, seen.since.elapsed());
            }
        }
    }
}

/// Returns the processor time of all workers, as far as the system says it.
fn processor_time(state: &PoolState) -> Duration {
    let times = state.workers.iter().map(|worker| worker.processor_time);
    times.flatten().sum()
}

/// Returns whether no worker may be computing, if it has used no processor time.
fn may_be_stuck(state: &PoolState) -> bool {
    let is_known = state
        .workers
        .iter()
        .all(|worker| worker.processor_time.is_some());
    is_known || state.workers.iter().all(|worker| worker.does != Does::Runs)
}

fn report(state: &PoolState, time: Duration) {
    // Nothing is left to do if this fails. In one piece, so that other output does not come between.
    let _ = write!(
        stderr(),
        "purloin: pool {} has made no progress for {time:.1?}. {}\n{state}",
        state.id,
        state.likely_reason()
    );
}
