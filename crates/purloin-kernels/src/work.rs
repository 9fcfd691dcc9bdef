//! Work by the microsecond, that no compiler can shorten.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::kernel::Answer;

/// Does so many steps of dependent arithmetic, from `seed`, and returns where
/// it has come to; never 0. It makes no memory references.
#[inline(never)]
pub fn steps(count: u64, seed: u64) -> u32 {
    let mut state = seed;
    for _ in 0..count {
        // A step of Knuth's linear congruential generator.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
    }
    (state >> 32) as u32 | 1
}

/// How many [`steps`] this machine does in a microsecond, when nothing disturbs
/// it; measured at the first call, which takes some milliseconds.
///
/// Work is counted, not timed: what is run while its core is shared or slowed
/// down takes longer, as in any program.
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

/// What pieces of work have come to, each a number that is not 0.
#[derive(Debug)]
pub(crate) struct Results(pub(crate) Vec<u32>);

impl Results {
    /// So many to come, in memory that the system has already supplied.
    pub(crate) fn new(count: usize) -> Results {
        let mut results = vec![u32::MAX; count];
        black_box(&mut results).fill(0);
        Results(results)
    }

    /// How many pieces have done their work.
    pub(crate) fn done(&self) -> Answer {
        Answer::Number(self.0.iter().filter(|&&result| result != 0).count() as u64)
    }

    /// Whether all have, that being the answer, and some of them looked at more
    /// closely have come to what they should.
    pub(crate) fn verify(&self, answer: &Answer, expected: impl Fn(usize) -> u32) -> bool {
        let results = self.0.iter().enumerate();
        *answer == Answer::Number(self.0.len() as u64)
            && self.done() == *answer
            && results
                .step_by(self.0.len() / 16 + 1)
                .all(|(i, &result)| result == expected(i))
    }
}
