//! The watchdog: says what each worker does if a pool is stuck.
//!
//! With the environment variable `PURLOIN_WATCHDOG=TIME`, such as `10s`, a thread looks at every pool of the program,
//! four times in each such time. If a pool has been [stuck](super::watched) for this long, the watchdog prints the
//! pool's [state](super::state) and a likely reason on standard error, once until the pool makes progress again.

use std::time::Duration;

use super::watched::{self, Progress};
use crate::sync::plain::Once;
use crate::sync::thread;
use crate::tracing::environment::{complain, print, watchdog};

/// Starts the watchdog, if the environment asks for it and it does not run.
pub(super) fn start() {
    static STARTED: Once = Once::new();
    let Some(limit) = watchdog() else {
        return;
    };
    STARTED.call_once(|| {
        let started = thread::Builder::new()
            .name("purloin-watchdog".into())
            .spawn(move || run(limit));
        if let Err(error) = started {
            complain(&format!("PURLOIN_WATCHDOG: cannot start a thread: {error}"));
        }
    });
}

fn run(limit: Duration) {
    let mut progress = Progress::default();
    // The pools that were reported, and have made no progress since.
    let mut reported = Vec::new();
    loop {
        thread::sleep(limit / 4);
        let states = watched::map(|pool| pool.state());
        let stuck: Vec<_> = std::iter::zip(&states, progress.look(&states))
            .filter(|(_, time)| *time >= limit)
            .collect();
        reported.retain(|id| stuck.iter().any(|(state, _)| state.id == *id));
        for (state, time) in stuck {
            if reported.contains(&state.id) {
                continue;
            }
            reported.push(state.id);
            // In one piece, so that other output does not come between.
            print(&format!(
                "purloin: pool {} has made no progress for {time:.1?}. {}\n{state}",
                state.id,
                state.likely_reason()
            ));
        }
    }
}
