//! Artificial work of a given duration, which the compiler cannot shorten.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::kernel::Answer;

/// Does `count` steps of dependent arithmetic, starting with `seed`. Returns a number that depends
/// on all steps and is never 0. Makes no memory references.
#[inline(never)]
pub fn steps(count: u64, seed: u64) -> u32 {
    let mut state = seed;
    for _ in 0..count {
        // This is a step of Knuth's linear congruential generator.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
    }
    (state >> 32) as u32 | 1
}

/// Returns the number of [`steps`] that an undisturbed core of this machine does in a microsecond.
/// The first call measures it, which takes some milliseconds.
///
/// A kernel runs a fixed number of steps, not a fixed time. On a core that is shared or slowed down
/// its work takes longer, as the work of any program does.
pub fn steps_per_microsecond() -> u64 {
    static STEPS: OnceLock<u64> = OnceLock::new();
    *STEPS.get_or_init(|| {
        const COUNT: u64 = 200_000;
        let time = |seed| {
            let start = Instant::now();
            black_box(steps(COUNT, black_box(seed)));
            start.elapsed()
        };
        let shortest = (0..20).map(time).min().unwrap_or(Duration::MAX);
        (u128::from(COUNT) * 1000 / shortest.as_nanos().max(1)) as u64
    })
}

/// The results of pieces of work. The result of a finished piece is not 0.
#[derive(Debug)]
pub(crate) struct Results(pub(crate) Vec<u32>);

impl Results {
    /// Creates `count` results of pieces to come. The system has supplied their memory when this
    /// function returns, so that a timed run does not wait for it.
    pub(crate) fn new(count: usize) -> Results {
        let mut results = vec![u32::MAX; count];
        black_box(&mut results).fill(0);
        Results(results)
    }

    /// Returns the number of pieces that have done their work.
    pub(crate) fn done(&self) -> Answer {
        Answer::Number(self.0.iter().filter(|&&result| result != 0).count() as u64)
    }

    /// Returns whether `answer` says that all pieces have done their work, whether they have, and
    /// whether a sample of them has the `expected` results.
    pub(crate) fn verify(&self, answer: &Answer, expected: impl Fn(usize) -> u32) -> bool {
        let results = self.0.iter().enumerate();
        *answer == Answer::Number(self.0.len() as u64)
            && self.done() == *answer
            && results
                .step_by(self.0.len() / 16 + 1)
                .all(|(i, &result)| result == expected(i))
    }
}
