//! Parallel iterators against the standard library's, over random data: each adaptor, each end, and chains of
//! several, on a pool, serially, and without a token.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::common::counted::{Counted, Counting};
use crate::common::{self, Lcg};
use purloin::Serial;
use purloin::prelude::*;

/// Number of rounds of random data for each test.
const ROUNDS: u64 = if cfg!(miri) { 2 } else { 60 };

/// Calls `check` with random numbers, in vectors of various lengths, and with two small numbers.
fn for_random_data(check: impl Fn(&[u64], usize, usize)) {
    for seed in common::seeds(ROUNDS) {
        let mut numbers = Lcg::of_seed(seed);
        let longest = if numbers.below(4) == 0 && !cfg!(miri) {
            20_000
        } else {
            20
        };
        let len = numbers.below(longest);
        let data: Vec<u64> = (0..len).map(|_| numbers.below(1000)).collect();
        let (a, b) = (numbers.below(30) as usize, 1 + numbers.below(7) as usize);
        check(&data, a, b);
    }
}

/// Checks that a chain returns what the standard iterator returns: without a token, and with each kind.
macro_rules! check {
    ($source:expr => $($chain:tt)*) => {{
        let expected: Vec<_> = $source.into_iter() $($chain)* .collect();
        let free: Vec<_> = $source.into_par() $($chain)* .collect();
        assert_eq!(free, expected, "{}", stringify!($($chain)*));
        let serial: Vec<_> = Serial.par($source) $($chain)* .collect();
        assert_eq!(serial, expected, "{}", stringify!($($chain)*));
    }};
}

#[test]
#[allow(
    clippy::unnecessary_to_owned,
    reason = "a chain over a vector by value is checked"
)]
fn adaptors_return_what_the_standard_ones_do() {
    for_random_data(|data, a, b| {
        check!(data => .map(|n| n * 3));
        check!(data => .filter(|n| **n % 3 == 0));
        check!(data => .filter_map(|n| n.checked_sub(500)));
        check!(data => .inspect(|_| ()).cloned());
        check!(data => .copied());
        check!(data => .enumerate());
        check!(data => .zip(&data[..data.len() / 2]));
        check!(data => .chain(&data[data.len() / 2..]));
        check!(data => .rev());
        check!(data => .skip(a));
        check!(data => .take(a));
        check!(data => .step_by(b));
        check!(0..data.len() => .map(|i| data[i]));
        check!(data.to_vec() => .map(|n| n + 1));
    });
}

#[test]
fn chains_of_adaptors_return_what_the_standard_ones_do() {
    for_random_data(|data, a, b| {
        check!(data => .map(|n| n + 1).filter(|n| n % 2 == 0).map(|n| n / 2));
        check!(data => .enumerate().rev().skip(a).step_by(b));
        check!(data => .step_by(b).rev().enumerate());
        check!(data => .take(a).rev().skip(b));
        check!(data => .skip(a).rev().take(b).map(|n| n + 1));
        check!(data => .zip(data.to_vec()).rev().map(|(a, b)| a + b));
        check!(data => .map(|n| n + 1).zip((0..a).collect::<Vec<_>>()));
        check!(data => .copied().chain(vec![1, 2, 3]).rev().step_by(b));
        check!(data => .copied().chain(0..7_u64).enumerate().filter(|(i, _)| i % 2 == 0));
        check!(data => .chain(data).chain(data).skip(a).map(|n| n * 2));
        check!(data => .filter(|n| **n > 400).map(|n| n * 2).filter(|n| n % 3 == 0));
        check!(data => .rev().filter(|n| **n > 400).rev().map(|n| n * 2));
    });
}

#[test]
fn inner_iterators_are_flattened_in_order() {
    for_random_data(|data, _, b| {
        let expected: Vec<u64> = data.iter().flat_map(|n| 0..n % b as u64).collect();
        let all: Vec<u64> = data.par().flat_map_iter(|n| 0..n % b as u64).collect();
        assert_eq!(all, expected);
    });
}

#[test]
fn long_inner_iterators_are_flattened_in_order() {
    let pool = purloin::Pool::builder().workers(3).build().unwrap();
    let scale = if cfg!(miri) { 3 } else { 200 };
    for_random_data(|data, a, b| {
        let short = &data[..data.len().min(12)];
        let inner = |n: u64| (0..n * scale).filter(move |m| m % (a as u64 + 1) == 0);
        let lens = || short.iter().map(|n| n % b as u64);
        let expected: Vec<u64> = lens().flat_map(inner).collect();
        let items = || short.par().map(|n| n % b as u64).flat_map_iter(inner);
        let all: Vec<u64> = pool.run(|_| items().collect());
        assert_eq!(all, expected);
        let sum = || items().map(|n| n + 1).filter(|n| n % 2 == 0).sum::<u64>();
        let expected: u64 = lens()
            .flat_map(inner)
            .map(|n| n + 1)
            .filter(|n| n % 2 == 0)
            .sum();
        assert_eq!((sum(), pool.run(|_| sum())), (expected, expected));
        let mut serial = Serial;
        let items_in_order = serial.par(short).map(|n| n % b as u64);
        let last = items_in_order.flat_map_iter(inner).max();
        assert_eq!(last, lens().flat_map(inner).max());
        let nested = pool.run(|_| items().flat_map_iter(|n| [n, n]).count());
        assert_eq!(nested, 2 * lens().flat_map(inner).count());
    });
}

#[test]
fn no_inner_item_is_lost_or_dropped_twice() {
    let pool = purloin::Pool::builder().workers(3).build().unwrap();
    let counting = Counting::begin();
    for panics_at in [None, Some(20)] {
        let run = || {
            pool.run(|mut w| {
                let items = w.par(0..10_u64).flat_map_iter(|n| {
                    let items = (0..10).map(|m| Counted::new(10 * n + m));
                    items.collect::<Vec<_>>()
                });
                let keys = items.map(|item| {
                    assert_ne!(Some(item.key()), panics_at);
                    item.key()
                });
                keys.sum::<u64>()
            })
        };
        let sum = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        assert_eq!(sum.ok(), panics_at.is_none().then_some(99 * 50));
        counting.expect_none_left(|| format!("panic at {panics_at:?}"));
    }
}

#[test]
fn ends_return_what_the_standard_ones_do() {
    for_random_data(|data, a, _| {
        let (par, std) = (|| data.par().copied(), || data.iter().copied());
        let is_large = |n: u64| n > 990;
        assert_eq!(par().sum::<u64>(), std().sum());
        assert_eq!(
            par().map(|n| n % 3).product::<u64>(),
            std().map(|n| n % 3).product()
        );
        assert_eq!((par().min(), par().max()), (std().min(), std().max()));
        assert_eq!(par().count(), data.len());
        assert_eq!(par().any(is_large), std().any(is_large));
        assert_eq!(par().all(is_large), std().all(is_large));
        assert_eq!(par().position(is_large), std().position(is_large));
        assert_eq!(
            par().find_first(|n| is_large(*n)),
            std().find(|n| is_large(*n))
        );
        assert_eq!(
            par().find_any(|n| is_large(*n)).is_some(),
            std().any(is_large)
        );
        assert_eq!(par().reduce(|a, b| a.max(b)), std().max());
        // The first of several that are equal, and the last.
        let key = |(_, n): &(usize, u64)| n % 10;
        let (pairs, expected) = (|| par().enumerate(), || std().enumerate());
        assert_eq!(pairs().min_by_key(key), expected().min_by_key(key));
        assert_eq!(pairs().max_by_key(key), expected().max_by_key(key));
        let (left, right) = pairs().partition::<Vec<_>, _>(|(i, _)| *i < a);
        assert_eq!((left, right), expected().partition(|(i, _)| *i < a));
        let unzipped: (Vec<_>, Vec<_>) = pairs().unzip();
        assert_eq!(unzipped, expected().unzip());
        let seen = AtomicUsize::new(0);
        par().for_each(|n| _ = seen.fetch_add(n as usize, Relaxed));
        assert_eq!(seen.into_inner() as u64, std().sum::<u64>());
        let failed = par().try_for_each(|n| match is_large(n) {
            true => ControlFlow::Break(n),
            false => ControlFlow::Continue(()),
        });
        assert_eq!(failed.is_break(), std().any(is_large));
        let folded = par().fold(String::new, |text, n| text + &n.to_string(), |a, b| a + &b);
        assert_eq!(folded, std().map(|n| n.to_string()).collect::<String>());
    });
}

#[test]
fn collections_are_those_of_the_standard_iterators() {
    for_random_data(|data, _, _| {
        macro_rules! collects {
            ($($Collection:ty),*) => {
                $(
                    let all = data.par().copied().collect::<$Collection>();
                    assert_eq!(all, data.iter().copied().collect::<$Collection>());
                )*
            };
        }
        collects!(
            Vec<u64>,
            VecDeque<u64>,
            LinkedList<u64>,
            BTreeSet<u64>,
            HashSet<u64>,
            Box<[u64]>
        );
        let pairs = || data.par().enumerate().map(|(i, n)| (n % 50, i));
        let expected = || data.iter().enumerate().map(|(i, n)| (n % 50, i));
        // Later values win.
        assert_eq!(pairs().collect::<HashMap<_, _>>(), expected().collect());
        assert_eq!(pairs().collect::<BTreeMap<_, _>>(), expected().collect());
        let heap: BinaryHeap<_> = data.par().collect();
        assert_eq!(heap.into_sorted_vec(), sorted(data));
        let letters: String = data
            .par()
            .map(|n| char::from(b'a' + (n % 26) as u8))
            .collect();
        assert_eq!(letters.len(), data.len());
        let small: Option<Vec<u64>> = data.par().map(|n| (*n < 990).then_some(*n)).collect();
        assert_eq!(
            small,
            data.iter().map(|n| (*n < 990).then_some(*n)).collect()
        );
        let small: Result<Vec<u64>, u64> = data
            .par()
            .map(|n| if *n < 990 { Ok(*n) } else { Err(*n) })
            .collect();
        match small {
            Ok(all) => assert_eq!(all, data),
            Err(large) => assert!(data.contains(&large) && large >= 990),
        }
        let words = data
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(" ");
        let numbers: Vec<u64> = purloin::words(&words)
            .par()
            .map(|word| word.parse().unwrap())
            .collect();
        assert_eq!(numbers, data);
    });
}

fn sorted(data: &[u64]) -> Vec<&u64> {
    let mut sorted: Vec<_> = data.iter().collect();
    sorted.sort();
    sorted
}

/// Every item is dropped once, whoever leaves it out, and also if a closure panics.
#[test]
fn no_item_is_lost_or_dropped_twice() {
    let counting = Counting::begin();
    for_random_data(|data, a, b| {
        let items = || {
            data.iter()
                .map(|key| Counted::new(*key))
                .collect::<Vec<_>>()
        };
        let sum = |all: Vec<Counted>| all.iter().map(Counted::key).sum::<u64>();
        let expect_none_left = || counting.expect_none_left(|| format!("{} items", data.len()));
        assert_eq!(sum(items().into_par().collect()), data.iter().sum());
        expect_none_left();
        items().into_par().skip(a).take(b).for_each(drop);
        expect_none_left();
        items()
            .into_par()
            .zip(items().into_par().skip(a))
            .step_by(b)
            .for_each(drop);
        expect_none_left();
        let _ = items()
            .into_par()
            .rev()
            .chain(items())
            .find_any(|item| item.key() > 900);
        expect_none_left();
        let panicked = std::panic::catch_unwind(|| {
            items()
                .into_par()
                .map(|item| match item.key() {
                    990.. => std::panic::resume_unwind(Box::new(())),
                    key => Counted::new(key),
                })
                .collect::<Vec<_>>()
        });
        assert_eq!(panicked.is_err(), data.iter().any(|key| *key >= 990));
        drop(panicked);
        expect_none_left();
        let some: Option<Vec<_>> = items()
            .into_par()
            .map(|item| (item.key() < 990).then_some(item))
            .collect();
        drop(some);
        expect_none_left();
    });
}

#[test]
fn a_search_ends_although_a_filter_leaves_out_almost_all_items() {
    let pool = purloin::Pool::builder().workers(2).build().unwrap();
    pool.run(|mut w| {
        let all = w.par(0..u64::MAX).filter(|n| *n == 50_000);
        assert_eq!(all.find_any(|_| true), Some(50_000));
        assert!(
            w.par(0..u64::MAX)
                .filter_map(|n| (n == 7).then_some(n))
                .any(|n| n == 7)
        );
    });
}

#[test]
fn no_value_follows_a_none_on_one_worker() {
    let all = (0..100_000_u32).map(|n| (n != 5_000).then_some(n));
    let expected: Vec<u32> = all.map_while(|n| n).collect();
    let pool = purloin::Pool::builder()
        .workers(1)
        .spare_workers(0)
        .build()
        .unwrap();
    let items = |n: u32| (n != 5_000).then_some(n);
    let found: Vec<u32> = pool.run(|mut w| w.par(0..100_000_u32).map(items).while_some().collect());
    assert_eq!(found, expected);
}

/// After the `None`, the first of the two chains seems empty. No items of the second may be invented.
#[test]
fn a_chain_after_one_that_ends_early_has_its_own_items_only() {
    for _ in 0..if cfg!(miri) { 1 } else { 300 } {
        let first = (0..50_000_u32)
            .into_par()
            .map(|n| (n != 20_000).then_some(0));
        assert_eq!(first.while_some().chain(0..10_u32).max(), Some(9));
    }
}

#[test]
fn a_cancelled_scope_stops_no_loop_with_a_result() {
    let pool = purloin::Pool::builder().workers(2).build().unwrap();
    pool.run(|mut w| {
        w.finish(|scope| {
            scope.cancel();
            let items = || {
                (0..1000)
                    .into_par()
                    .map(|n| if n == 999 { Err(n) } else { Ok(()) })
            };
            assert_eq!(items().collect::<Result<(), i32>>(), Err(999));
        });
    });
}

#[test]
#[should_panic = "fewer than `usize::MAX` items"]
fn a_part_of_an_endless_chain_cannot_run_backwards() {
    (0..=u64::MAX).into_par().take(3).rev().for_each(drop);
}

#[test]
fn endless_numbers_go_in_steps() {
    let letters = ['a', 'b', 'c'];
    let all: Vec<_> = (0..).into_par().step_by(2).zip(&letters).rev().collect();
    assert_eq!(all, [(4, &'c'), (2, &'b'), (0, &'a')]);
}

/// The destructors of left-out items panic. The others are dropped all the same.
#[test]
fn items_are_dropped_although_the_destructor_of_another_one_panics() {
    let counting = Counting::begin();
    for bomb in 0..6 {
        let items = || {
            (0..6)
                .map(|key| {
                    if key == bomb {
                        Counted::bomb(key)
                    } else {
                        Counted::new(key)
                    }
                })
                .collect::<Vec<_>>()
        };
        let chains: [&dyn Fn(); 4] = [
            &|| items().into_par().skip(3).for_each(drop),
            &|| items().into_par().take(3).for_each(drop),
            &|| drop(items().into_par().min_by_key(Counted::key)),
            &|| drop(items().into_par().zip(items()).rev().collect::<Vec<_>>()),
        ];
        for chain in chains {
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(chain));
            counting.expect_none_left(|| format!("bomb {bomb}"));
        }
    }
}

#[test]
fn results_that_fill_several_blocks_keep_their_order() {
    /// 64 values of this size fill a block of a build without debug assertions. Miri runs with small blocks.
    const SIZE: usize = if cfg!(miri) { 64 } else { 128 << 10 };

    struct Large(Counted, [u8; SIZE]);

    let large = |n: u64| Large(Counted::new(n), [n as u8; SIZE]);
    let len = 600;
    let counting = Counting::begin();
    let pool = common::pool(3);
    let odd = |n: &u64| n % 2 == 1;
    let is_left = |n: &u64| (*n as u8) < 100;
    let check = |results: &[Large], numbers: &mut dyn Iterator<Item = u64>| {
        let expected: Vec<u8> = numbers.map(|n| n as u8).collect();
        let first: Vec<u8> = results.iter().map(|large| large.1[0]).collect();
        assert_eq!(first, expected);
        let is_whole = |large: &Large| large.1.iter().all(|byte| *byte == large.0.key() as u8);
        assert!(results.iter().all(is_whole));
    };
    pool.run(|mut w| {
        let mut results = vec![large(7)];
        let filtered = w.par(0..len).filter(odd).map(large);
        filtered.collect_into(&mut results);
        check(
            &results,
            &mut std::iter::once(7).chain((0..len).filter(odd)),
        );
        let all = w.par(0..len).map(large);
        let (left, right): (Vec<_>, Vec<_>) = all.partition(|large| large.1[0] < 100);
        check(&left, &mut (0..len).filter(is_left));
        check(&right, &mut (0..len).filter(|n| !is_left(n)));
    });
    counting.expect_none_left(|| "large results".into());
}
