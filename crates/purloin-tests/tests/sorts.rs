//! Tests of sorts, against those of the standard library.
#![allow(missing_docs)]

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{self, AtomicUsize};

use purloin::implement::{self, in_order};
use purloin::prelude::*;
use purloin::{Handle, IntoIterations, Iterations, Pool, Scope, Serial, Worker};

const LEN: usize = if cfg!(miri) { 150 } else { 20_000 };

/// Returns pseudo-random numbers below `limit`.
fn random(len: usize, limit: u64) -> Vec<u64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % limit
    };
    (0..len).map(next).collect()
}

/// Slices that sorts treat differently.
fn slices() -> Vec<(&'static str, Vec<u64>)> {
    let len = LEN as u64;
    let mut nearly_sorted: Vec<u64> = (0..len).collect();
    nearly_sorted[LEN / 2] = 0;
    let mut slices = vec![
        ("random", random(LEN, u64::MAX)),
        ("few distinct", random(LEN, 4)),
        ("all equal", vec![7; LEN]),
        ("sorted", (0..len).collect()),
        ("descending", (0..len).rev().collect()),
        ("nearly sorted", nearly_sorted),
        (
            "two sorted halves",
            (0..len / 2).chain(0..len / 2).collect(),
        ),
        (
            "second half before the first",
            (len / 2..len).chain(0..len / 2).collect(),
        ),
        ("saw tooth", (0..len).map(|n| n % 100).collect()),
        (
            "organ pipe",
            (0..len / 2).chain((0..len / 2).rev()).collect(),
        ),
    ];
    if cfg!(miri) {
        slices.retain(|(name, _)| ["random", "few distinct", "descending"].contains(name));
        return slices;
    }
    for len in [0, 1, 2, 511, 512, 513, 1025, 2049] {
        slices.push(("short", random(len, 1000)));
    }
    slices
}

fn pool() -> Pool {
    let builder = match cfg!(miri) {
        // Each stack costs Miri some tenths of a second.
        true => Pool::builder()
            .workers(2)
            .spare_workers(1)
            .stack_size(1 << 16),
        false => Pool::builder().workers(3),
    };
    builder.build().unwrap()
}

#[test]
fn sorted_slices_are_those_of_the_standard_library() {
    pool().run(|mut w| {
        for (name, slice) in slices() {
            let mut expected = slice.clone();
            expected.sort();
            let mut sorted = slice.clone();
            w.sort(&mut sorted);
            assert!(sorted == expected, "stable, {name} of {}", slice.len());
            let mut sorted = slice.clone();
            w.sort_unstable(&mut sorted);
            assert!(sorted == expected, "unstable, {name} of {}", slice.len());
            expected.reverse();
            let mut sorted = slice.clone();
            w.sort_unstable_by(&mut sorted, |a, b| b.cmp(a));
            assert!(sorted == expected, "backwards, {name} of {}", slice.len());
        }
    });
}

#[test]
fn equal_elements_keep_their_order() {
    pool().run(|mut w| {
        for (name, slice) in slices() {
            let mut pairs: Vec<(u64, usize)> = slice.iter().map(|n| n % 50).zip(0..).collect();
            let unsorted = pairs.clone();
            let mut expected = pairs.clone();
            expected.sort();
            w.sort_by_key(&mut pairs, |pair| pair.0);
            assert!(pairs == expected, "{name} of {}", slice.len());
            pairs.clone_from(&unsorted);
            w.sort_by_cached_key(&mut pairs, |pair| pair.0.to_string().len());
            expected = unsorted;
            expected.sort_by_key(|pair| pair.0.to_string().len());
            assert!(pairs == expected, "{name} of {}, cached", slice.len());
        }
    });
}

/// An element that is not `Sync`, and whose drop counts.
struct Counted<'c>(Box<u64>, Cell<u32>, &'c AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.2.fetch_add(1, atomic::Ordering::Relaxed);
    }
}

/// Sorts elements by a comparison, each way, and checks that all elements are there afterwards.
fn sort_and_count(compare: impl Fn(&Counted<'_>, &Counted<'_>) -> Ordering + Sync) {
    let drops = AtomicUsize::new(0);
    pool().run(|mut w| {
        for (name, slice) in slices() {
            for is_stable in [true, false] {
                let make = |n: &u64| Counted(Box::new(*n), Cell::new(0), &drops);
                let mut elements: Vec<_> = slice.iter().map(make).collect();
                let sort = || match is_stable {
                    true => w.sort_by(&mut elements, &compare),
                    false => w.sort_unstable_by(&mut elements, &compare),
                };
                let _ = catch_unwind(AssertUnwindSafe(sort));
                let mut left: Vec<u64> = elements.iter().map(|element| *element.0).collect();
                left.sort();
                let mut expected = slice.clone();
                expected.sort();
                assert!(left == expected, "{name} of {}", slice.len());
                let before = drops.swap(0, atomic::Ordering::Relaxed);
                drop(elements);
                let after = drops.swap(0, atomic::Ordering::Relaxed);
                assert_eq!((before, after), (0, slice.len()), "{name}");
            }
        }
    });
}

#[test]
fn a_comparison_may_write_into_elements_that_are_not_sync() {
    sort_and_count(|a, b| {
        a.1.set(a.1.get() + 1);
        b.1.set(b.1.get() + 1);
        a.0.cmp(&b.0)
    });
}

#[test]
fn no_element_is_lost_when_a_comparison_panics() {
    let rounds = if cfg!(miri) { 2 } else { 12 };
    for round in 0..rounds {
        let limit = LEN << round >> 2;
        let comparisons = AtomicUsize::new(0);
        sort_and_count(|a, b| {
            let count = comparisons.fetch_add(1, atomic::Ordering::Relaxed);
            assert!(count % limit != limit - 1, "this comparison panics");
            a.0.cmp(&b.0)
        });
    }
}

/// What a comparison writes into an element through a cell must stay there, because it may have
/// dropped what was there before.
#[test]
fn nothing_that_a_comparison_has_written_is_lost_when_it_panics() {
    // Each block takes one merge of a stable sort. After that the blocks follow each other.
    let (blocks, block) = if cfg!(miri) { (8, 18) } else { (32, 1400) };
    let len = blocks * block;
    let block_of = |key: u64| key / block as u64;
    let in_blocks: Vec<u64> = random(len, block as u64)
        .into_iter()
        .zip(0..len)
        .map(|(key, n)| key + (n / block * block) as u64)
        .collect();
    let in_disorder = random(len, len as u64);
    let pool = pool();
    for (keys, is_stable) in [
        (&in_blocks, true),
        (&in_disorder, true),
        (&in_disorder, false),
    ] {
        for limit in 1..blocks {
            let (all, across) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let compare = |a: &(u64, Cell<usize>), b: &(u64, Cell<usize>)| {
                a.1.set(a.1.get() + 1);
                b.1.set(b.1.get() + 1);
                all.fetch_add(1, atomic::Ordering::Relaxed);
                if block_of(a.0) != block_of(b.0) {
                    let count = across.fetch_add(1, atomic::Ordering::Relaxed) + 1;
                    assert!(count != limit, "this comparison panics");
                }
                a.0.cmp(&b.0)
            };
            let mut elements: Vec<_> = keys.iter().map(|&key| (key, Cell::new(0))).collect();
            let sort = || {
                pool.run(|mut w| match is_stable {
                    true => w.sort_by(&mut elements, compare),
                    false => w.sort_unstable_by(&mut elements, compare),
                })
            };
            assert!(catch_unwind(AssertUnwindSafe(sort)).is_err());
            let written: usize = elements.iter().map(|element| element.1.get()).sum();
            let case = format!("panic {limit}, stable {is_stable}");
            assert_eq!(written, 2 * all.into_inner(), "{case}");
        }
    }
}

#[test]
fn no_element_is_lost_when_comparisons_contradict_each_other() {
    sort_and_count(|_, _| Ordering::Less);
    sort_and_count(|_, _| Ordering::Greater);
    let calls = AtomicUsize::new(0);
    sort_and_count(
        |_, _| match calls.fetch_add(1, atomic::Ordering::Relaxed) * 7 % 11 {
            0..5 => Ordering::Less,
            5..7 => Ordering::Equal,
            _ => Ordering::Greater,
        },
    );
}

#[test]
fn elements_without_a_size_can_be_sorted() {
    pool().run(|mut w| {
        let mut units = vec![(); LEN];
        w.sort(&mut units);
        w.sort_unstable(&mut units);
        w.sort_by_cached_key(&mut units, |()| 1);
    });
}

/// A worker of another crate that runs loops wrongly.
#[derive(Clone, Copy)]
enum Wrong {
    /// It forgets half of the iterations.
    Forgetful,
    /// It asks for more iterations than are left.
    Greedy,
}

impl Worker for Wrong {
    type Token<'t> = Wrong;
    type Spawner = Serial;

    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(Wrong) -> RA + Send,
        B: FnOnce(Wrong) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        (a(*self), b(*self))
    }

    fn finish<'env, F, R>(&mut self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, Serial>) -> R,
    {
        Serial.finish(body)
    }

    fn lend<R>(&mut self, f: impl FnOnce(Wrong) -> R) -> R {
        f(*self)
    }

    fn future<F, T>(&mut self, f: F) -> Handle<T>
    where
        F: FnOnce(Wrong) -> T + Send + 'static,
        T: Send + 'static,
    {
        implement::ready(|| f(*self))
    }

    fn split_hint(&mut self, _: usize) -> usize {
        0
    }

    fn run_loop<I, A, N, F, C>(&mut self, iterations: I, init: N, step: F, _: C) -> A
    where
        I: IntoIterations,
        N: Fn() -> A + Sync,
        F: for<'t> Fn(Wrong, A, I::Item) -> ControlFlow<A, A> + Sync,
        C: Fn(A, A) -> A + Sync,
        A: Send,
    {
        let mut iterations = iterations.into_iterations();
        let step = |sum, item| step(*self, sum, item);
        let len = iterations.remaining();
        match self {
            Wrong::Forgetful => in_order(iterations.split_at(len / 2).0, init(), step),
            Wrong::Greedy => {
                let sum = in_order_of(iterations.strip(len / 2), init(), step);
                in_order_of(iterations.strip(len), sum, step)
            }
        }
    }
}

/// Folds items, whether or not a step breaks.
fn in_order_of<T, A>(
    items: impl IntoIterator<Item = T>,
    sum: A,
    mut step: impl FnMut(A, T) -> ControlFlow<A, A>,
) -> A {
    items
        .into_iter()
        .fold(sum, |sum, item| match step(sum, item) {
            ControlFlow::Continue(sum) | ControlFlow::Break(sum) => sum,
        })
}

#[test]
fn no_element_is_lost_when_a_worker_forgets_iterations_or_asks_for_too_many() {
    for mut w in [Wrong::Forgetful, Wrong::Greedy] {
        let mut strings: Vec<String> = (0..LEN).map(|n| n.to_string()).collect();
        let sort = || w.sort_by_cached_key(&mut strings, |string| string.len());
        assert!(catch_unwind(AssertUnwindSafe(sort)).is_err());
        assert!(
            strings
                .iter()
                .enumerate()
                .all(|(n, string)| *string == n.to_string())
        );
    }
}

#[test]
fn results_keep_to_their_vector_when_a_worker_asks_for_too_many_iterations() {
    let results = Wrong::Greedy
        .par(0..LEN)
        .map_with_token(|_, n| n.to_string())
        .collect_vec();
    assert!(
        results
            .iter()
            .eq(&(0..LEN).map(|n| n.to_string()).collect::<Vec<_>>())
    );
    let (left, right) = Wrong::Greedy
        .par(0..LEN)
        .map(|n| (n, n.to_string()))
        .unzip::<_, _, Vec<_>, Vec<_>>();
    assert!(left.into_iter().eq(0..LEN));
    assert!(right == results);
}

#[test]
fn nested_sorts_and_sorts_without_a_token_work() {
    // On a worker, because the global pool never ends, and Miri complains.
    pool().run(|_| {
        let mut rows: Vec<Vec<u64>> = (0..8).map(|n| random(LEN / 8 + n, 1000)).collect();
        rows.par_mut().for_each(|row| row.par_sort_unstable());
        rows.par_sort_by_key(|row| std::cmp::Reverse(row.len()));
        assert!(rows.iter().all(|row| row.is_sorted()));
        assert!(rows.is_sorted_by_key(|row| std::cmp::Reverse(row.len())));
    });
}
