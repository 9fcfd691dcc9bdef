//! Parallel merge sort of integers, with a parallel merge.
//!
//! Source: Wool, section 5.1 (up to 4 M integers), from BOTS and Cilk; Return barrier, section 3.1
//! (10 million).

use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, REPETITIONS, Range};
use crate::random::Xorshift;

/// The default cut-off, as in BOTS.
const CUT_OFF: u32 = 2048;

/// The least cut-off: two halvings make parts of at least one element.
const MIN_CUT_OFF: u32 = 4;

/// Sorts `numbers`. `scratch` must have the same length; its contents are lost. Fewer elements than
/// `cut_off` are sorted or merged sequentially.
///
/// Two levels of halving make four quarters. The quarters are sorted in place, then merged in pairs
/// into `scratch`, and the two pairs are merged back into `numbers`.
///
/// # Panics
///
/// Panics if the lengths differ, or if `cut_off` is less than 4.
pub fn sort<W: Worker>(mut w: W, numbers: &mut [u32], scratch: &mut [u32], cut_off: u32) {
    sort_on(&mut w, numbers, scratch, cut_off);
}

/// Sorts as [`sort`] does, but borrows the token, so that the caller can sort repeatedly.
#[inline(always)]
fn sort_on<W: Worker>(w: &mut W, numbers: &mut [u32], scratch: &mut [u32], cut_off: u32) {
    assert!(numbers.len() == scratch.len() && cut_off >= MIN_CUT_OFF);
    if numbers.len() < cut_off as usize {
        numbers.sort_unstable();
        return;
    }
    let half = numbers.len() / 2;
    let (low, high) = numbers.split_at_mut(half);
    let (low_scratch, high_scratch) = scratch.split_at_mut(half);
    w.join(
        move |w| sort_into(w, low, low_scratch, cut_off),
        move |w| sort_into(w, high, high_scratch, cut_off),
    );
    let (low, high) = scratch.split_at(half);
    merge_on(w, low, high, numbers, cut_off);
}

/// Sorts the two halves of `numbers` and merges them into `sorted`.
fn sort_into<W: Worker>(mut w: W, numbers: &mut [u32], sorted: &mut [u32], cut_off: u32) {
    let half = numbers.len() / 2;
    let (low, high) = numbers.split_at_mut(half);
    let (low_scratch, high_scratch) = sorted.split_at_mut(half);
    w.join(
        move |w| sort(w, low, low_scratch, cut_off),
        move |w| sort(w, high, high_scratch, cut_off),
    );
    let (low, high) = numbers.split_at(half);
    merge(w, low, high, sorted, cut_off);
}

/// Merges two sorted slices into `merged`, which is as long as both together.
///
/// Splits the longer slice at its middle element, and the other slice at the place of that element.
/// The two lower parts can then be merged independently of the two upper parts.
fn merge<W: Worker>(mut w: W, a: &[u32], b: &[u32], merged: &mut [u32], cut_off: u32) {
    merge_on(&mut w, a, b, merged, cut_off);
}

/// Merges as [`merge`] does, but borrows the token.
#[inline(always)]
fn merge_on<W: Worker>(w: &mut W, a: &[u32], b: &[u32], merged: &mut [u32], cut_off: u32) {
    if merged.len() < cut_off as usize {
        return merge_sequentially(a, b, merged);
    }
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let middle = long.len() / 2;
    let pivot = long[middle];
    let (long_low, long_high) = long.split_at(middle);
    let (short_low, short_high) = short.split_at(short.partition_point(|&number| number < pivot));
    let (low, high) = merged.split_at_mut(long_low.len() + short_low.len());
    w.join(
        move |w| merge(w, long_low, short_low, low, cut_off),
        move |w| merge(w, long_high, short_high, high, cut_off),
    );
}

fn merge_sequentially(a: &[u32], b: &[u32], merged: &mut [u32]) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        // There is no branch, because the processor would mispredict it every other time.
        let from_b = b[j] < a[i];
        merged[i + j] = if from_b { b[j] } else { a[i] };
        i += usize::from(!from_b);
        j += usize::from(from_b);
    }
    let (from_a, from_b) = merged[i + j..].split_at_mut(a.len() - i);
    from_a.copy_from_slice(&a[i..]);
    from_b.copy_from_slice(&b[j..]);
}

/// The kernel `multisort`.
#[derive(Debug)]
pub struct Multisort {
    numbers: Vec<u32>,
    scratch: Vec<u32>,
    /// The unsorted numbers, for repetitions. Empty if there is only one.
    unsorted: Vec<u32>,
    repetitions: u32,
    cut_off: u32,
    /// The fingerprint of the unsorted numbers.
    fingerprint: Fingerprint,
}

impl Kernel for Multisort {
    const DESCRIPTION: Description = Description {
        name: "multisort",
        about: "parallel merge sort of random 32-bit integers",
        inputs: Inputs::Numbers(&[
            Range {
                name: "integers",
                min: 1,
                max: 200_000_000,
                default: None,
            },
            REPETITIONS,
            Range {
                name: "cut-off",
                min: MIN_CUT_OFF,
                max: 200_000_000,
                default: Some(CUT_OFF),
            },
        ]),
        default: "10000000",
    };

    fn memory(input: Input) -> u64 {
        // With repetitions, also the unsorted numbers.
        let arrays = 2 + u64::from(input[1] > 1);
        arrays * 4 * u64::from(input[0])
    }

    fn prepare(input: Input) -> Self {
        let len = input[0];
        let mut random = Xorshift::new(0);
        let numbers: Vec<u32> = (0..len).map(|_| random.bits()).collect();
        Multisort {
            fingerprint: Fingerprint::of(&numbers),
            // A copy instead of zeros, so that the system supplies all of its memory before the
            // timed run.
            scratch: numbers.clone(),
            unsorted: match input[1] {
                1 => Vec::new(),
                _ => numbers.clone(),
            },
            repetitions: input[1],
            cut_off: input[2],
            numbers,
        }
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        self.sort(&mut w);
        for _ in 1..self.repetitions {
            self.numbers.copy_from_slice(&self.unsorted);
            self.sort(&mut w);
        }
        Answer::Sorted
    }

    fn verify(&self, answer: &Answer) -> bool {
        *answer == Answer::Sorted
            && self.numbers.is_sorted()
            && Fingerprint::of(&self.numbers) == self.fingerprint
    }
}

impl Multisort {
    fn sort<W: Worker>(&mut self, w: &mut W) {
        sort_on(w, &mut self.numbers, &mut self.scratch, self.cut_off);
    }
}

/// The length of an array, and the sums of its numbers and of their squares. Two arrays with equal
/// fingerprints are almost certainly permutations of each other.
#[derive(Debug, PartialEq, Eq)]
struct Fingerprint {
    len: usize,
    sum: u64,
    squares: u128,
}

impl Fingerprint {
    fn of(numbers: &[u32]) -> Self {
        let numbers_of_64_bits = || numbers.iter().map(|&number| u64::from(number));
        Fingerprint {
            len: numbers.len(),
            sum: numbers_of_64_bits().sum(),
            squares: numbers_of_64_bits()
                .map(|number| u128::from(number * number))
                .sum(),
        }
    }
}
