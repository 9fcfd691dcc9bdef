//! The fullest knapsack, by branch and bound. Every task writes to one bound, so a second worker makes the
//! program slower. Trace it:
//!
//! ```console
//! PURLOIN_WORKERS=1 PURLOIN_TRACE=one.json cargo run --release --example knapsack
//! PURLOIN_COMPARE=one.json PURLOIN_REPORT=two.html cargo run --release --example knapsack
//! cargo run --release --example knapsack -- read-first
//! ```
//!
//! `docs/tracing.md` explains how the report shows it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use purloin::{Pool, join};

struct Problem {
    weights: Vec<u64>,
    /// The largest weight so far that fits.
    best: AtomicU64,
    /// Whether a task writes the bound only if it has a better one.
    reads_first: bool,
}

impl Problem {
    /// Chooses among the items from `next` on, with this room left and this weight so far.
    fn choose(&self, next: usize, room: u64, weight: u64) {
        if !self.reads_first || weight > self.best.load(Relaxed) {
            self.best.fetch_max(weight, Relaxed);
        }
        let Some(&item) = self.weights.get(next) else {
            return;
        };
        // The remaining items add at most `room`.
        if weight + room <= self.best.load(Relaxed) {
            return;
        }
        let with = || {
            if let Some(room) = room.checked_sub(item) {
                self.choose(next + 1, room, weight + item);
            }
        };
        join(with, || self.choose(next + 1, room, weight));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let reads_first = match args.next().as_deref() {
        None | Some("write") => false,
        Some("read-first") => true,
        Some(other) => return Err(format!("{other}: use write or read-first").into()),
    };
    let items = args.next().map_or(Ok(25), |n| n.parse())?;
    let problem = Problem {
        // Even weights, and an odd room that nothing fills: such a problem is hard, because the bound never ends the
        // search.
        weights: (0..items).map(|n| 2 * (50 + n * n * 7919 % 101)).collect(),
        best: AtomicU64::new(0),
        reads_first,
    };
    let (pool, start) = (Pool::new()?, Instant::now());
    pool.run(|_| problem.choose(0, 100 * items + 1, 0));
    let (best, time) = (problem.best.load(Relaxed), start.elapsed());
    println!("{best} of {} after {time:.1?}", 100 * items + 1);
    Ok(())
}
