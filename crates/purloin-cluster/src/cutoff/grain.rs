//! Which tasks are long and which are short: [`Grains`].

use crate::options::Grain;

/// The least grain that is chosen from what a steal costs, in nanoseconds: a created
/// task's own cost, timed, is a tenth of a microsecond.
const LEAST: u64 = 10_000;

/// Times, all derived from the one that makes a task worth it.
///
/// With the paper's 2 ms they are its other figures: residual tasks of more than 12 ms
/// in all are run before anything is stolen, and a task of more than 4 ms is profiled
/// anew where it is stolen from another node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grains {
    /// The least time of a task that is worth being created, in nanoseconds.
    least: u64,
    residual: u64,
    is_fixed: bool,
}

impl Grains {
    pub fn new(grain: Grain, residual: usize) -> Grains {
        let (least, is_fixed) = match grain {
            Grain::Auto => (LEAST, false),
            Grain::Fixed(time) => (time.as_nanos() as u64, true),
        };
        Grains {
            least,
            residual: residual.max(1) as u64,
            is_fixed,
        }
    }

    /// A steal costs so many nanoseconds. The residual tasks should last as long.
    ///
    /// Source: AsynchWS, section IV.B: 3.7 to 5.2 ms, so 2 or 3 tasks of 2 ms.
    pub fn tell_cost(&mut self, cost: u64) {
        if !self.is_fixed {
            self.least = (cost / self.residual).max(LEAST);
        }
    }

    pub fn least(self) -> u64 {
        self.least
    }

    pub fn is_worth_it(self, work: u64) -> bool {
        work > self.least
    }

    /// Whether residual tasks take so long that they are run first.
    pub fn is_coarse(self, work: u64) -> bool {
        work > 6 * self.least
    }

    /// Whether a task from another node is worth being profiled anew.
    pub fn is_worth_it_afar(self, work: u64) -> bool {
        work > 2 * self.least
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_papers_grain_gives_the_papers_times() {
        let grains = Grains::new(Grain::Fixed(Duration::from_millis(2)), 2);
        assert!(grains.is_worth_it(2_000_001) && !grains.is_worth_it(2_000_000));
        assert!(grains.is_worth_it_afar(4_000_001) && !grains.is_worth_it_afar(4_000_000));
        assert!(grains.is_coarse(12_000_001) && !grains.is_coarse(12_000_000));
    }

    #[test]
    fn residual_tasks_last_as_long_as_a_steal() {
        let mut grains = Grains::new(Grain::Auto, 2);
        grains.tell_cost(4_000_000);
        assert_eq!(grains.least(), 2_000_000);
        grains.tell_cost(300);
        assert_eq!(grains.least(), LEAST);
    }
}
