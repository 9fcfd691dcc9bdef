//! The first join of a program that has another thread already, such as one for signals.
//!
//! The kernel takes 5 to 20 milliseconds to register such a program for `membarrier`. This file has
//! only one test, because the first pool of the process matters.
#![cfg(target_os = "linux")]

mod common;

use std::thread;
use std::time::{Duration, Instant};

/// Builds a pool and joins, in a process with another thread. Returns how long that took.
fn first_join() -> Duration {
    thread::spawn(|| thread::sleep(Duration::from_secs(60)));
    thread::sleep(Duration::from_millis(2));
    let start = Instant::now();
    let pool = common::pool(2);
    assert_eq!(pool.run(|w| common::fib(w, 10)), 55);
    start.elapsed()
}

#[test]
fn the_first_join_does_not_wait_for_the_kernel() {
    if common::is_child() {
        eprintln!("{}", first_join().as_micros());
        return;
    }
    let first_join = |_| {
        let child = common::run_in_child("the_first_join_does_not_wait_for_the_kernel", &[]);
        assert!(child.status.success(), "{child:?}");
        let error = String::from_utf8(child.stderr).unwrap();
        error.trim().parse::<u64>().unwrap()
    };
    // The machine may be busy, so the shortest of several counts.
    let shortest = (0..20).map(first_join).min().unwrap();
    assert!(shortest < 3_000, "the first join took {shortest} µs");
}
