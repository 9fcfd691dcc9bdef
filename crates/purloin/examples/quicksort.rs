//! Sorts numbers with a parallel quicksort, and compares its time with the time of
//! `slice::sort_unstable`. It shows `Worker::join` and tokens: each call passes its token on, and
//! joins go all the way down to single elements.
//!
//! Run it: `cargo run --release --example quicksort [COUNT]` (default: 1,000,000)

use std::error::Error;
use std::iter::repeat_with;
use std::time::{Duration, Instant};

use purloin::{Pool, Worker};

fn quicksort<W: Worker, T: Ord + Send>(mut w: W, values: &mut [T]) {
    if values.len() <= 1 {
        return;
    }
    let middle = partition(values);
    let (left, right) = values.split_at_mut(middle);
    w.join(|w| quicksort(w, left), |w| quicksort(w, &mut right[1..]));
}

/// Moves the values that are smaller than a pivot to the front, with the pivot after them. Returns
/// the position of the pivot.
fn partition<T: Ord>(values: &mut [T]) -> usize {
    let last = values.len() - 1;
    values.swap(last / 2, last);
    let mut smaller = 0;
    for i in 0..last {
        // Swapping every value is faster than a branch that is mispredicted half of the time.
        let is_smaller = values[i] < values[last];
        values.swap(i, smaller);
        smaller += usize::from(is_smaller);
    }
    values.swap(smaller, last);
    smaller
}

/// Returns pseudo-random numbers, by xorshift.
fn random_numbers(count: usize) -> Vec<u64> {
    let mut state = 0x2545_f491_4f6c_dd1d;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    repeat_with(next).take(count).collect()
}

fn time(f: impl FnOnce()) -> Duration {
    let start = Instant::now();
    f();
    start.elapsed()
}

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args()
        .nth(1)
        .map_or(Ok(1_000_000), |n| n.parse())?;
    let mut numbers = random_numbers(count);
    let mut expected = numbers.clone();

    let pool = Pool::new()?;
    let parallel = time(|| pool.run(|w| quicksort(w, &mut numbers)));
    let serial = time(|| expected.sort_unstable());

    assert_eq!(numbers, expected);
    println!("sorted {count} numbers");
    println!("quicksort on {} workers: {parallel:.1?}", pool.workers());
    println!("slice::sort_unstable:   {serial:.1?}");
    Ok(())
}
