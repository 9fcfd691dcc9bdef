//! Searches over iterators of unknown length.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::mpsc::channel;
use std::time::Duration;

use purloin::bridge;
use purloin::prelude::*;

use crate::common::{self, busy, rounds};

/// The items are slow, so that the loop is split before the item is found. Then no worker asks for many more.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn a_search_over_a_slow_iterator_ends_soon() {
    let pool = common::pool(3);
    for round in 0..rounds(6) {
        let looked = AtomicUsize::new(0);
        let items = (0..20_000).inspect(|_| {
            looked.fetch_add(1, Relaxed);
            busy(Duration::from_micros(20));
        });
        let found = pool.run(|mut w| match round % 2 {
            0 => w.par(bridge(items)).find_first(|n| *n == 500),
            _ => w
                .par(bridge(items))
                .filter(|_| true)
                .find_any(|n| *n == 500),
        });
        assert_eq!(found, Some(500));
        let looked = looked.into_inner();
        assert!(looked < 2000, "looked at {looked} items");
    }
}

/// The iterator never ends, and the loop has been split when an item is found.
#[test]
fn a_search_over_an_iterator_ends() {
    let pool = common::pool(3);
    for round in 0..rounds(20) as u64 {
        let looked = AtomicUsize::new(0);
        let items = (0_u64..).inspect(|_| {
            looked.fetch_add(1, Relaxed);
        });
        let limit = 100 * round;
        let (first, any) = (round % 2 == 0, |n: &u64| *n >= limit);
        let found = pool.run(|mut w| match first {
            true => w.par(bridge(items)).find_first(any),
            false => w.par(bridge(items)).filter(|_| true).find_any(any),
        });
        assert!(found.is_some_and(|n| n >= limit));
        assert!(looked.into_inner() as u64 >= limit);
    }
    let (send, receive) = channel();
    send.send(7).unwrap();
    // Nothing else comes.
    let pool = common::pool(1);
    let found = pool.run(|mut w| w.par(bridge(receive)).find_first(|n| *n == 7));
    assert_eq!(found, Some(7));
    drop(send);
}

/// Each part of the loop ends after an item or two, and the item comes late.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn a_search_ends_after_many_parts() {
    let pool = common::pool(2);
    let items = (0..2000_u64).inspect(|_| busy(Duration::from_micros(200)));
    let looked = AtomicUsize::new(0);
    let found = pool.run(|mut w| {
        w.par(bridge(items)).find_first(|n| {
            looked.fetch_add(1, Relaxed);
            busy(Duration::from_micros(100));
            *n == 150
        })
    });
    assert_eq!(found, Some(150));
    assert!(looked.into_inner() < 1000);
}

/// One item matches, and all parts of the loop end soon.
#[test]
fn a_search_over_an_iterator_ends_for_all_parts() {
    let pool = common::pool(3);
    for round in 0..rounds(50) as u64 {
        let (wanted, in_vain) = (300 * round, AtomicUsize::new(0));
        let is_found = AtomicBool::new(false);
        let items = (0_u64..).inspect(|_| {
            in_vain.fetch_add(usize::from(is_found.load(Relaxed)), Relaxed);
        });
        let found = pool.run(|mut w| {
            w.par(bridge(items)).find_first(|n| {
                is_found.fetch_or(*n == wanted, Relaxed);
                *n == wanted
            })
        });
        assert_eq!(found, Some(wanted));
        let in_vain = in_vain.into_inner();
        assert!(
            in_vain < 10_000,
            "{in_vain} items after the one that was looked for"
        );
    }
}
