//! Random loops, compared with the standard library's iterators.
//!
//! Each loop has a random source with random adaptors, and runs to every end that loops have:
//! serially, and on pools. In some loops an iteration panics, or the destructor of an item. All
//! values are counted: none may be left, and none may be dropped twice.
//!
//! The iterations are trait objects, so that the ends are compiled once, and not once for each
//! combination of adaptors.
//!
//! A failure names the seed. The environment variable `PURLOIN_SEED` sets the first seed, and
//! `PURLOIN_PROGRAMS` the number of loops.

#[path = "../common/mod.rs"]
mod common;

mod ends;
mod items;
mod sources;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use common::Lcg;
use common::counted::Counting;
use ends::Check;
use purloin::{Pool, Scheduler, Serial};
use purloin_schedulers::Channel;
use sources::Sources;

/// Default number of loops for each scheduler.
const LOOPS: u64 = if cfg!(miri) { 4 } else { 300 };
/// Maximum number of items of most collections, and of the long ones.
const SHORT: u64 = if cfg!(miri) { 8 } else { 40 };
const LONG: u64 = if cfg!(miri) { 12 } else { 2_000 };
/// Maximum number of items of a loop that runs to its end.
const LIMIT: usize = LONG as usize;
/// Maximum number of steps of about a nanosecond that an iteration takes.
const MOST_WORK: u64 = if cfg!(miri) { 2 } else { 500 };

/// Makes the loops of all seeds, and runs each of them in some places.
fn check_all(places: &[String], is_in_order: bool, run: impl Fn(usize, &Check<'_>)) {
    let counting = Counting::begin();
    for seed in common::seeds(LOOPS) {
        let mut numbers = Lcg::of_seed(seed);
        let longest = if numbers.below(4) == 0 { LONG } else { SHORT };
        let bombs = match numbers.below(5) {
            0 => 1 + numbers.below(2 * longest),
            _ => 0,
        };
        let depth = numbers.below(4);
        let source = Sources::new(&mut numbers, longest, bombs).any(depth);
        for (index, place) in places.iter().enumerate() {
            let check = Check::new(&counting, &source, is_in_order, &mut numbers);
            let name = format!("PURLOIN_SEED={seed}, {place}: {}", source.name);
            let run = || common::abort_if_it_hangs(&name, || run(index, &check));
            if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
                eprintln!("{name}");
                resume_unwind(panic);
            }
        }
    }
}

fn check_on<S: Scheduler>(pools: impl Iterator<Item = Pool<S>>) {
    let pools: Vec<_> = pools.collect();
    let places = pools
        .iter()
        .map(|pool| format!("{} workers", pool.workers()));
    check_all(&places.collect::<Vec<_>>(), false, |index, check| {
        pools[index].run(|mut w| check.run(&mut w));
    });
}

#[test]
fn random_loops_agree_with_the_standard_iterators_serially() {
    let serially = ["serially".to_string()];
    check_all(&serially, true, |_, check| check.run(&mut Serial));
}

#[test]
fn random_loops_agree_with_the_standard_iterators_on_pools() {
    check_on(common::workers([1, 2, 3, 8]).map(common::pool));
}

#[test]
fn random_loops_agree_with_the_standard_iterators_under_channels() {
    let pool = |workers| common::pool_with(Channel::default(), workers);
    check_on(common::workers([2, 3]).map(pool));
}
