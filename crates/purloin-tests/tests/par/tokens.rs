//! Bodies that get a token, under every kind of worker.

use std::sync::atomic::AtomicU64;

use purloin::prelude::*;
use purloin::{Pool, Scheduler, Serial};
use purloin_analysis::Counted;

use crate::common;

const ROWS: usize = if cfg!(miri) { 4 } else { 60 };

fn table() -> Vec<Vec<u64>> {
    (0..ROWS as u64).map(|n| (0..n * n).collect()).collect()
}

fn sum<W: Worker>(w: &mut W, rows: &[Vec<u64>]) -> u64 {
    w.par(rows)
        .map_with_token(|mut w, row| w.par(row).map(|n| n % 7).sum::<u64>())
        .sum()
}

fn check<W: Worker>(mut w: W) {
    let mut rows = table();
    let sums: Vec<u64> = rows
        .iter()
        .map(|row| row.iter().map(|n| n % 7).sum())
        .collect();
    assert_eq!(sum(&mut w, &rows), sums.iter().sum());
    let of_rows = |mut w: W::Token<'_>, row: &Vec<u64>| w.par(row).map(|n| n % 7).sum::<u64>();
    assert_eq!(w.par(&rows).map_with_token(of_rows).collect_vec(), sums);
    let odd = w.par(&rows).filter(|row| row.len() % 2 == 1);
    let odd_sums = odd.map_with_token(of_rows).collect_vec();
    assert_eq!(
        odd_sums,
        sums.iter().copied().skip(1).step_by(2).collect::<Vec<_>>()
    );
    assert_eq!(
        w.par(&rows).map_with_token(of_rows).max(),
        sums.iter().copied().max()
    );
    let least = w
        .par(&rows)
        .map_with_token(of_rows)
        .min_by_key(|sum| sum.abs_diff(100));
    assert_eq!(
        least,
        sums.iter().copied().min_by_key(|sum| sum.abs_diff(100))
    );
    assert!(
        w.par(&rows)
            .map_with_token(of_rows)
            .all(|sum| sums.contains(&sum))
    );
    let found = w
        .par(&rows)
        .map_with_token(of_rows)
        .find_first(|sum| *sum > 20);
    assert_eq!(found, sums.iter().copied().find(|sum| *sum > 20));
    let position = w
        .par(&rows)
        .map_with_token(of_rows)
        .position(|sum| sum > 20);
    assert_eq!(position, sums.iter().position(|sum| *sum > 20));
    let mut appended = vec![7];
    w.par(&rows)
        .map_with_token(of_rows)
        .collect_into(&mut appended);
    assert_eq!(appended[1..], sums);
    let parts: (Vec<u64>, Vec<u64>) = w
        .par(&rows)
        .map_with_token(of_rows)
        .partition(|n| n % 2 == 0);
    assert_eq!(parts, sums.iter().partition(|n| **n % 2 == 0));
    let pairs = w
        .par(&rows)
        .map_with_token(|w, row| (of_rows(w, row), row.len()));
    let (first, lens): (Vec<u64>, Vec<usize>) = pairs.unzip();
    assert_eq!(
        (first, lens),
        (sums.clone(), rows.iter().map(Vec::len).collect())
    );
    assert_eq!(
        w.par(&rows)
            .map_with_token(of_rows)
            .find_any(|sum| *sum > 1 << 40),
        None
    );
    assert_eq!(w.par(&rows).map_with_token(of_rows).count(), ROWS);
    let checked = w.par(&rows).map_with_token(|w, row| Some(of_rows(w, row)));
    assert_eq!(
        checked.try_reduce(u64::checked_add),
        Some(Some(sums.iter().sum()))
    );
    w.par(&mut rows)
        .for_each_with_token(|mut w, row| w.sort_by_key(row, |n| n % 3));
    assert!(rows.iter().all(|row| row.is_sorted_by_key(|n| n % 3)));
}

fn bodies_with_tokens_are_parallel_themselves(pool: Pool<impl Scheduler>) {
    pool.run(|w| check(w));
}

common::under_each_scheduler! {
    for workers in common::workers([1, 2, 4]), Pool::builder().workers(workers);
    bodies_with_tokens_are_parallel_themselves,
}

#[test]
fn bodies_with_tokens_run_serially_and_under_measuring_workers() {
    check(Serial);
    check(Counted::new(Serial, &AtomicU64::new(0)));
}

#[test]
fn slices_are_sorted_without_a_token() {
    let by_key =
        |rows: &mut [Vec<u64>]| rows.par_sort_by_cached_key(|row| std::cmp::Reverse(row.len()));
    common::pool(2).run(|_| {
        let mut rows = table();
        by_key(&mut rows);
        assert!(rows.is_sorted_by_key(|row| std::cmp::Reverse(row.len())));
        rows.par_sort_unstable_by_key(|row| row.len());
        assert!(rows.is_sorted_by_key(Vec::len));
        rows.par_sort_by(|a, b| b.len().cmp(&a.len()));
        assert!(rows.is_sorted_by_key(|row| std::cmp::Reverse(row.len())));
        let mut numbers: Vec<u64> = rows.concat();
        numbers.par_sort();
        assert!(numbers.is_sorted());
        numbers.par_sort_unstable_by(|a, b| b.cmp(a));
        assert!(numbers.is_sorted_by_key(|n| std::cmp::Reverse(*n)));
    });
}
