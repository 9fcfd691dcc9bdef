//! Sampling victim selection.

use super::random::Random;
use super::selection::{Selection, VictimSelection, in_range};
use super::walk::Walk;
use crate::error::BuildError;

/// Sampling: before the first steal of a search a thief looks at several victims, and steals from
/// the one whose oldest task is nearest to the root of the program's tree of tasks. That task is
/// likely to be the largest.
///
/// Sampling stops at a victim that has nothing to offer: tasks are rare then, and the thief should
/// take any task that it finds. The thief does not sample again after a failed steal, and never
/// samples a victim twice in one round. If no sample has a task, the search continues in the order
/// of `O`.
///
/// ```
/// use purloin::{Pool, Sampling, Sets};
///
/// let pool = Pool::builder().victims(Sampling::new(Sets::default())).build()?;
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// Source: Wool, sections 2.1 and 5.2 (SAMP, SAMP+SET).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampling<O = Random> {
    order: O,
    samples: Option<usize>,
}

impl<O: VictimSelection> Sampling<O> {
    /// Returns a selection that samples in this order. The default number of samples is about the
    /// square root of the number of workers.
    pub fn new(order: O) -> Self {
        Sampling {
            order,
            samples: None,
        }
    }

    /// Sets the maximum number of victims to sample, from 1 to
    /// [`Builder::MAX_WORKERS`](crate::Builder::MAX_WORKERS).
    pub fn samples(mut self, samples: usize) -> Self {
        self.samples = Some(samples);
        self
    }
}

impl<O: VictimSelection> Selection for Sampling<O> {
    fn check(&self) -> Result<(), BuildError> {
        self.order.check()?;
        match self.samples {
            Some(samples) => in_range("samples", samples),
            None => Ok(()),
        }
    }

    fn walk(&self, me: usize, workers: usize) -> Walk {
        let root = (workers as f64).sqrt().round() as usize;
        let order = self.order.walk(me, workers);
        order.with_samples(self.samples.unwrap_or(root))
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Pool, Worker};

    const LOOK: Duration = Duration::from_micros(300);

    /// Samples two victims, and takes its time for each.
    struct Slow;

    impl Selection for Slow {
        fn check(&self) -> Result<(), BuildError> {
            Ok(())
        }

        fn walk(&self, me: usize, workers: usize) -> Walk {
            let mut walk = Random.walk(me, workers).with_samples(2);
            walk.before_victim = || std::thread::sleep(LOOK);
            walk
        }
    }

    #[test]
    fn samples_are_a_part_of_what_a_steal_costs() {
        let builder = Pool::builder().workers(2).spare_workers(0).timed(true);
        let pool = builder.victims(Slow).build().unwrap();
        // Each answer makes several tasks public, so samples find some of them.
        pool.run(|mut w| {
            w.finish(|scope| {
                for _ in 0..100 {
                    scope.spawn(|_| std::thread::sleep(LOOK));
                }
            });
        });
        let stealing = pool.times().into_iter().map(|times| times.stealing);
        assert!(stealing.sum::<Duration>() >= LOOK, "{:?}", pool.times());
    }
}
