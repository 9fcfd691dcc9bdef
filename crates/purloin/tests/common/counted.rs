//! Values whose drops are counted, so that a test sees whether one is left or was dropped twice.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// The number of values that were made.
static MADE: AtomicU64 = AtomicU64::new(0);
/// The number of values that were made as bombs.
static BOMBS: AtomicU64 = AtomicU64::new(0);
/// The number of values that have not been dropped.
static LEFT: AtomicU64 = AtomicU64::new(0);
/// The sum of the marks of these values. It tells a value that is left and another one that was
/// dropped twice from two that were dropped once.
static MARKS: AtomicU64 = AtomicU64::new(0);

/// The payload of a bomb's panic.
pub struct Explosion;

/// A value that is counted. Its identity is not part of comparisons: two values with the same key
/// are equal.
#[derive(Debug)]
pub struct Counted {
    key: u64,
    mark: u64,
    is_bomb: bool,
}

impl Counted {
    pub fn new(key: u64) -> Self {
        Counted::make(key, false)
    }

    /// Makes a value whose destructor panics, unless its thread panics already.
    pub fn bomb(key: u64) -> Self {
        BOMBS.fetch_add(1, Relaxed);
        Counted::make(key, true)
    }

    fn make(key: u64, is_bomb: bool) -> Self {
        let number = MADE.fetch_add(1, Relaxed) + 1;
        let mark = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mark = (mark ^ mark >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        LEFT.fetch_add(1, Relaxed);
        MARKS.fetch_add(mark, Relaxed);
        Counted { key, mark, is_bomb }
    }

    pub fn key(&self) -> u64 {
        self.key
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LEFT.fetch_sub(1, Relaxed);
        MARKS.fetch_sub(self.mark, Relaxed);
        if self.is_bomb && !thread::panicking() {
            resume_unwind(Box::new(Explosion));
        }
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Counted {}

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Counted {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl Hash for Counted {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

/// The right to count. A test has it while it makes values, so that no other test makes any.
pub struct Counting(#[allow(dead_code, reason = "it is dropped")] MutexGuard<'static, ()>);

impl Counting {
    pub fn begin() -> Self {
        static COUNTING: Mutex<()> = Mutex::new(());
        // A test that has failed may have left values.
        let guard = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
        LEFT.store(0, Relaxed);
        MARKS.store(0, Relaxed);
        Counting(guard)
    }

    /// Returns the number of bombs that were made, since the start of the program.
    pub fn bombs(&self) -> u64 {
        BOMBS.load(Relaxed)
    }

    /// Fails unless every value was dropped once.
    pub fn expect_none_left(&self, place: impl FnOnce() -> String) {
        let (left, marks) = (LEFT.load(Relaxed) as i64, MARKS.load(Relaxed));
        match left {
            0 if marks == 0 => (),
            0 => panic!("{}: some values are left, others dropped twice", place()),
            1.. => panic!("{}: {left} values are left", place()),
            _ => panic!("{}: {} values are dropped twice", place(), -left),
        }
    }
}
