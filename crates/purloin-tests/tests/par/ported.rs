//! 45 chains as programs write them with rayon, ported by replacing `par_iter` with `par`, and so on. Where that is
//! not enough, a comment shows rayon's spelling; "From rayon", a page of the documentation, has the reasons.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use purloin::prelude::*;

const N: u64 = 1000;

fn numbers() -> Vec<u64> {
    (0..N).map(|n| n * 7919 % 1009).collect()
}

fn words() -> Vec<String> {
    numbers().iter().map(u64::to_string).collect()
}

#[test]
#[cfg_attr(miri, ignore = "the threads of the global pool never end")]
fn chains_that_reduce() {
    let (v, w) = (numbers(), words());
    assert_eq!(v.par().sum::<u64>(), v.iter().sum()); // 1
    assert_eq!(
        v.par().map(|n| n * n).sum::<u64>(),
        v.iter().map(|n| n * n).sum()
    ); // 2
    assert_eq!(
        v.par()
            .map(|&n| n as f64)
            .map(f64::sqrt)
            .filter(|x| *x > 9.0)
            .count(),
        v.iter().filter(|&&n| n > 81).count()
    ); // 3
    assert_eq!(v.par().copied().max(), v.iter().copied().max()); // 4
    assert_eq!(v.par().min(), v.iter().min()); // 5
    assert_eq!(
        w.par().max_by_key(|s| s.len()),
        w.iter().max_by_key(|s| s.len())
    ); // 6
    assert_eq!(
        w.par().min_by(|a, b| a.len().cmp(&b.len())),
        w.iter().min_by(|a, b| a.len().cmp(&b.len()))
    ); // 7
    assert!(v.par().any(|&n| n == v[500])); // 8
    assert!(v.par().all(|&n| n < 1009)); // 9
    assert_eq!(v.par().find_any(|n| **n == v[500]), Some(&v[500])); // 10
    assert_eq!(
        v.par().find_first(|n| **n > 500),
        v.iter().find(|n| **n > 500)
    ); // 11
    assert_eq!(v.par().position(|&n| n == v[500]), Some(500)); // 12, rayon: position_first
    assert_eq!(
        (1..=20_u64).into_par().product::<u64>(),
        2_432_902_008_176_640_000
    ); // 13
    // 14, rayon: .reduce(|| 0, |a, b| a ^ b)
    assert_eq!(
        v.par().copied().reduce(|a, b| a ^ b),
        v.iter().copied().reduce(|a, b| a ^ b)
    );
    // 15, rayon: .fold(|| 0, |sum, n| sum + n).sum()
    assert_eq!(
        v.par().fold(|| 0, |sum, n| sum + n, |a, b| a + b),
        v.iter().sum()
    );
    // 16, rayon: .fold(HashMap::new, count).reduce(HashMap::new, merge)
    let counts = w.par().fold(
        HashMap::<usize, usize>::new,
        |mut counts, word| {
            *counts.entry(word.len()).or_default() += 1;
            counts
        },
        |mut a, b| {
            b.into_iter()
                .for_each(|(len, count)| *a.entry(len).or_default() += count);
            a
        },
    );
    assert_eq!(counts.values().sum::<usize>(), v.len());
    let checked = v
        .par()
        .map(|&n| u8::try_from(n))
        .try_for_each(|n| n.map(|_| ())); // 17
    assert!(checked.is_err());
    // 18, rayon: .try_reduce(|| 0, |a, b| a.checked_add(b))
    assert!(matches!(
        v.par().map(|&n| Some(n)).try_reduce(u64::checked_add),
        Some(Some(_))
    ));
    assert_eq!(
        v.par().zip(&v).map(|(a, b)| a * b).sum::<u64>(),
        v.iter().map(|n| n * n).sum()
    ); // 19
    assert_eq!(
        v.par().flat_map_iter(|&n| 0..n % 3).count() as u64,
        v.iter().map(|n| n % 3).sum()
    ); // 20
}

#[test]
#[cfg_attr(miri, ignore = "the threads of the global pool never end")]
fn chains_that_collect() {
    let (v, w) = (numbers(), words());
    let doubled: Vec<u64> = v.par().map(|n| 2 * n).collect(); // 21
    assert!(
        doubled
            .iter()
            .eq(&v.iter().map(|n| 2 * n).collect::<Vec<_>>())
    );
    let even: Vec<&u64> = v.par().filter(|n| *n % 2 == 0).collect(); // 22
    assert_eq!(even, v.iter().filter(|n| *n % 2 == 0).collect::<Vec<_>>());
    let parsed: Vec<u64> = w.par().filter_map(|s| s.parse().ok()).collect(); // 23
    assert_eq!(parsed, v);
    let all: Result<Vec<u64>, std::num::ParseIntError> = w.par().map(|s| s.parse()).collect(); // 24
    assert_eq!(all.as_ref(), Ok(&v));
    let some: Option<Vec<u64>> = v.par().map(|n| n.checked_add(1)).collect(); // 25
    assert!(some.is_some());
    let set: HashSet<u64> = v.par().cloned().collect(); // 26
    assert_eq!(set.len(), v.iter().collect::<HashSet<_>>().len());
    let map: HashMap<&str, usize> = w.par().map(|s| (s.as_str(), s.len())).collect(); // 27
    assert_eq!(map["7"], 1);
    let sorted: BTreeMap<u64, usize> = v.par().enumerate().map(|(i, &n)| (n, i)).collect(); // 28
    assert!(sorted.keys().is_sorted());
    let text: String = w.par().map(String::as_str).collect(); // 29
    assert_eq!(text, w.concat());
    let (low, high): (Vec<u64>, Vec<u64>) = v.par().copied().partition(|&n| n < 500); // 30
    assert_eq!(low.len() + high.len(), v.len());
    let (left, right): (Vec<u64>, Vec<String>) = v.par().map(|n| (n + 1, n.to_string())).unzip(); // 31
    assert!(left.len() == right.len() && right == w);
    let mut into = Vec::new();
    v.par().map(|n| n % 10).collect_into(&mut into); // 32, rayon: collect_into_vec
    assert_eq!(into.len(), v.len());
    let backwards: Vec<u64> = v.par().rev().copied().collect(); // 33
    assert!(backwards.iter().eq(v.iter().rev()));
    let some: Vec<&u64> = v.par().skip(10).step_by(3).take(5).collect(); // 34
    assert_eq!(
        some,
        v.iter().skip(10).step_by(3).take(5).collect::<Vec<_>>()
    );
    let both: Vec<u64> = v.par().copied().chain(0..3).collect(); // 35
    assert_eq!(both[v.len()..], [0, 1, 2]);
    let sums: Vec<u64> = v.par().chunks(7).map(|part| part.iter().sum()).collect(); // 36, rayon: par_chunks(7)
    assert_eq!(sums.iter().sum::<u64>(), v.iter().sum());
    let rises: Vec<bool> = v.par().windows(2).map(|pair| pair[0] < pair[1]).collect(); // 37, rayon: par_windows(2)
    assert_eq!(rises.len(), v.len() - 1);
    let lens: Vec<usize> = w.into_par().map(|s| s.len()).collect(); // 38
    assert_eq!(lens.len(), v.len());
}

#[test]
#[cfg_attr(miri, ignore = "the threads of the global pool never end")]
fn chains_that_change_things() {
    let mut v = numbers();
    v.par_mut().for_each(|n| *n += 1); // 39
    v.par_mut()
        .enumerate()
        .for_each(|(i, n)| *n -= 1 + i as u64 - i as u64); // 40
    assert_eq!(v, numbers());
    v.par_mut()
        .zip(0..N)
        .filter(|(_, i)| i % 2 == 0)
        .for_each(|(n, _)| *n = 0); // 41
    assert!(v.iter().step_by(2).all(|&n| n == 0));
    v.par_mut().chunks(10).for_each(|part| part.fill(7)); // 42, rayon: par_chunks_mut(10)
    assert!(v.iter().all(|&n| n == 7));
    let sum = AtomicU64::new(0);
    // 43, rayon: .for_each_with(channel, ..), .for_each_init(Vec::new, ..)
    v.par().for_each_init(Vec::new, |seen, &n| {
        seen.push(n);
        sum.fetch_add(n, Relaxed);
    });
    assert_eq!(sum.into_inner(), 7 * N);
    let mut v = numbers();
    v.par_sort_unstable_by_key(|n| std::cmp::Reverse(*n)); // 44
    assert!(v.is_sorted_by_key(|n| std::cmp::Reverse(*n)));
    let mut lines: Vec<usize> = "a\nbc\n".lines().par_bridge().map(str::len).collect(); // 45
    lines.sort_unstable();
    assert_eq!(lines, [1, 2]);
}
