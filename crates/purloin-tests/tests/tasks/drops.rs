//! Loops whose items have destructors that panic: every other item is still dropped, once.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use crate::common::{self, busy, rounds};
use purloin::implement::in_pieces;
use purloin::prelude::*;
use purloin::{Pool, Scheduler, Serial};

/// Number of items. The loops that end early use half of them.
const ITEMS: usize = if cfg!(miri) { 6 } else { 24 };

/// Counts its drops. The destructor of one item panics.
struct Item<'c> {
    drops: &'c [AtomicUsize],
    index: usize,
    is_bomb: bool,
}

impl Drop for Item<'_> {
    fn drop(&mut self) {
        self.drops[self.index].fetch_add(1, Relaxed);
        if self.is_bomb {
            // Without a message.
            resume_unwind(Box::new("dropped"));
        }
    }
}

impl PartialEq for Item<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
    }
}

impl Eq for Item<'_> {}

impl PartialOrd for Item<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Item<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.index.cmp(&self.index)
    }
}

/// Runs loops with items of which one has a destructor that panics, for each of the items.
struct Check<'n> {
    worker: &'n str,
    /// How often each loop runs.
    rounds: usize,
    has_panicked: Cell<bool>,
}

impl Check<'_> {
    fn run(&self, name: &str, mut run: impl for<'c> FnMut(Vec<Item<'c>>)) {
        for bomb in 0..ITEMS {
            for _ in 0..self.rounds {
                let drops: Vec<_> = (0..ITEMS).map(|_| AtomicUsize::new(0)).collect();
                let items = (0..ITEMS).map(|index| Item {
                    drops: &drops,
                    index,
                    is_bomb: index == bomb,
                });
                let result = catch_unwind(AssertUnwindSafe(|| run(items.collect())));
                let counts: Vec<_> = drops.iter().map(|count| count.load(Relaxed)).collect();
                assert_eq!(
                    counts, [1; ITEMS],
                    "`{name}` under {}, if item {bomb} panics",
                    self.worker
                );
                let panic = result.expect_err("the item has panicked");
                assert_eq!(panic.downcast_ref(), Some(&"dropped"));
                self.has_panicked.set(true);
            }
        }
    }

    /// Checks all loops that take or make values.
    fn all<W: Worker>(&self, worker: &mut W) {
        let w = Cell::new(Some(worker));
        macro_rules! check {
            ($name:expr, |$w:ident, $items:ident| $body:expr) => {
                self.run($name, |$items| {
                    let $w = w.take().expect("the worker is free");
                    #[allow(clippy::let_unit_value)]
                    let run = || {
                        let _result = $body;
                    };
                    let result = catch_unwind(AssertUnwindSafe(run));
                    w.set(Some($w));
                    result.unwrap_or_else(|panic| resume_unwind(panic));
                });
            };
        }
        const HALF: usize = ITEMS / 2;
        fn slowly<T>(value: T) -> T {
            busy(Duration::from_micros(2));
            value
        }
        fn push<T>(mut all: Vec<T>, item: T) -> Vec<T> {
            all.push(slowly(item));
            all
        }
        fn append<T>(mut all: Vec<T>, mut more: Vec<T>) -> Vec<T> {
            all.append(&mut more);
            all
        }

        fn second<T>(left: T, right: T) -> T {
            drop(left);
            right
        }

        check!("for_each", |w, items| w
            .for_each(items, |item| drop(slowly(item))));
        check!("for_each of a zip", |w, items| w
            .for_each((0..HALF, items), |(_, item)| drop(slowly(item))));
        check!("map_into_vec", |w, items| w
            .par(items)
            .map(slowly)
            .collect::<Vec<_>>());
        check!("map_into_vec of a zip", |w, items| w
            .par((items, 0..HALF))
            .map(|(item, _)| slowly(item))
            .collect::<Vec<_>>());
        check!("map_into_vec of a reversed zip", |w, items| w
            .par((0..HALF, items.into_par().rev().into_iterations()))
            .map(|(_, item)| slowly(item))
            .collect::<Vec<_>>());
        check!("map_into_vec of a zip of four", |w, items| {
            let mut others = VecDeque::from(items);
            let items: Vec<_> = others.drain(..HALF + 2).collect();
            w.par((items, 0..HALF - 3, others, 0..))
                .map(slowly)
                .collect::<Vec<_>>()
        });
        check!("map_into_vec of each third", |w, items| w
            .par(items)
            .step_by(3)
            .map(slowly)
            .collect::<Vec<_>>());
        check!("map_into_vec of pairs", |w, items| w
            .par((items, 0..HALF + 1))
            .step_by(2)
            .zip(0..3)
            .map(slowly)
            .collect::<Vec<_>>());
        check!("map_into_vecs", |w, items| {
            let mut others = items;
            let items: Vec<_> = others.drain(..HALF).collect();
            w.par((items, others, 0..HALF - 2))
                .map(|(a, b, _)| slowly((a, b)))
                .unzip::<_, _, Vec<_>, Vec<_>>()
        });
        check!("filter_map_into_vec", |w, items| w
            .par((items, 0..HALF + 3))
            .filter_map(|(item, i)| (i % 3 > 0).then(|| slowly(item)))
            .collect::<Vec<_>>());
        check!("map_reduce", |w, items| w.map_reduce(
            (items, 0..HALF),
            |(item, _)| slowly(item),
            second
        ));
        check!("map_reduce_from", |w, items| w
            .par((items, 0..HALF))
            .map(|(item, _)| vec![slowly(item)])
            .fold(Vec::new, append, append));
        check!("fold", |w, items| w.par((items, 0..HALF)).fold(
            Vec::new,
            |all, (item, _)| push(all, item),
            append
        ));
        for limit in [1, HALF] {
            check!("try_fold", |w, items| w.par(items).try_fold(
                Vec::new,
                |all, item: Item<'_>| match item.index == limit {
                    true => ControlFlow::Break((all, item)),
                    false => ControlFlow::Continue(push(all, item)),
                },
                |all, more| ControlFlow::Continue(append(all, more))
            ));
            check!("try_for_each", |w, items| w.par(items).try_for_each(
                |item| {
                    match slowly(item.index) >= limit {
                        true => Err(item),
                        false => Ok(()),
                    }
                }
            ));
            check!("try_map_reduce", |w, items| w
                .par(items)
                .map(|item| match slowly(item.index) == limit {
                    true => Err(item),
                    false => Ok(item),
                })
                .try_reduce(|left, right| Ok(second(left, right))));
            check!("find_any", |w, items| w
                .par(items)
                .find_any(|item| slowly(item.index) >= limit));
            check!("find_first", |w, items| w
                .par(items)
                .find_first(|item| slowly(item.index) >= limit));
            check!("position", |w, items| w
                .par(items)
                .position(|item| slowly(item.index) >= limit));
            check!("any", |w, items| w
                .par(items)
                .any(|item| slowly(item.index) == limit));
        }
        check!("sort_by_cached_key", |w, items| {
            let keys = std::sync::Mutex::new(items);
            let mut numbers = [0; ITEMS];
            w.sort_by_cached_key(&mut numbers, |_| keys.lock().unwrap().pop().unwrap());
        });
        check!("in_pieces", |w, items| in_pieces(
            w,
            (items, 0..HALF),
            5,
            Vec::new,
            |_, all, (item, _)| ControlFlow::Continue(push(all, item)),
            append
        ));
        check!("in_pieces that end early", |w, items| in_pieces(
            w,
            items,
            3,
            Vec::new,
            |_, all, item| ControlFlow::Break(push(all, item)),
            append
        ));
        assert!(self.has_panicked.get());
    }
}

#[test]
fn a_panicking_destructor_of_an_item_leaks_no_other_item_serially() {
    let check = Check {
        worker: "the serial elision",
        rounds: 1,
        has_panicked: Cell::new(false),
    };
    check.all(&mut Serial);
}

common::under_two_schedulers! {
    for workers in common::workers([1, 2, 4]), Pool::builder().workers(workers);
    a_panicking_destructor_of_an_item_leaks_no_other_item,
}

fn a_panicking_destructor_of_an_item_leaks_no_other_item(pool: Pool<impl Scheduler>) {
    pool.run(|mut w| {
        let check = Check {
            worker: "a pool",
            rounds: rounds(3),
            has_panicked: Cell::new(false),
        };
        check.all(&mut w);
    });
}
