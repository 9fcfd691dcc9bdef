//! The most valuable knapsack, by branch and bound. Every task writes to one bound, so a second worker makes the
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

struct Item {
    value: u64,
    weight: u64,
}

struct Problem {
    items: Vec<Item>,
    best: AtomicU64,
    /// Whether a task writes the bound only if it has a better one.
    reads_first: bool,
}

impl Problem {
    /// Chooses among the items from `next` on, with this room left and this value so far.
    fn choose(&self, next: usize, room: u64, value: u64) {
        if !self.reads_first || value > self.best.load(Relaxed) {
            self.best.fetch_max(value, Relaxed);
        }
        let Some(item) = self.items.get(next) else {
            return;
        };
        // The rest of the room cannot hold more than the best of the items that are left.
        if value + room * item.value / item.weight <= self.best.load(Relaxed) {
            return;
        }
        let with = || {
            if let Some(room) = room.checked_sub(item.weight) {
                self.choose(next + 1, room, value + item.value);
            }
        };
        join(with, || self.choose(next + 1, room, value));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let reads_first = std::env::args()
        .nth(1)
        .is_some_and(|argument| argument == "read-first");
    // Even weights, and an odd room that nothing fills: such a problem is hard, because the bound never ends the search.
    let item = |n: u64| {
        let weight = 2 * (50 + n * n * 7919 % 101);
        Item {
            value: weight,
            weight,
        }
    };
    let items = (0..25).map(item).collect();
    let problem = Problem {
        items,
        best: AtomicU64::new(0),
        reads_first,
    };
    let (pool, start) = (Pool::new()?, Instant::now());
    pool.run(|_| problem.choose(0, 2501, 0));
    println!(
        "value {} after {:.1?}",
        problem.best.load(Relaxed),
        start.elapsed()
    );
    Ok(())
}
