//! Tasks that are too small to be worth a steal.
#![allow(missing_docs)]

use std::hint::black_box;

use purloin::{Pool, Worker};

/// A loop of some fifty nanoseconds is hardly ever split, although a thief has nothing else to do.
/// Without rests between steals, there are two steals for each loop.
#[test]
fn a_thief_leaves_tiny_loops_alone() {
    const LOOPS: u64 = 100_000;
    let pool = Pool::builder().workers(2).build().unwrap();
    pool.run(|mut w| {
        for i in 0..LOOPS {
            let sum = w.map_reduce(0..10_u64, |n| black_box(n + i), |a, b| a + b);
            assert_eq!(sum, Some(45 + 10 * i));
        }
    });
    let steals = pool.stats().steals;
    assert!(steals < LOOPS / 2, "{steals} steals");
}
