//! Which tasks are long and which are short: [`Grains`].

use crate::options::Grain;
use crate::queue::MOST;

/// The least time of a task that is worth being created, in nanoseconds: a thousand times
/// what it costs to create and take back.
///
/// What a steal costs does not matter here, as a thief takes up to 24 tasks at a time,
/// the oldest that there are.
const LEAST: u64 = 10_000;

/// Which tasks are long and which are short, in nanoseconds.
///
/// The paper has one network, for which it has all of these times. Here, what has to do with
/// a steal follows from what a steal costs.
///
/// Source: AsynchWS, sections III and IV.B.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grains {
    /// The least time of a task that is worth being created. The paper: 2 ms.
    least: u64,
    /// The most that residual tasks take, together, if a steal is to be begun before they
    /// are done. The paper: 12 ms, about three times what a steal costs there.
    coarse: u64,
    /// How many tasks a subtree in doubt keeps ready.
    refill: usize,
    /// The least time of a task from another node that is worth being profiled anew. The
    /// paper: 4 ms, about what a steal costs.
    afar: u64,
    is_fixed: bool,
}

impl Grains {
    pub fn new(grain: Grain) -> Grains {
        let (least, is_fixed) = match grain {
            Grain::Auto => (LEAST, false),
            Grain::Fixed(time) => (u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), true),
        };
        Grains {
            least,
            coarse: least.saturating_mul(6),
            refill: MOST,
            afar: least.saturating_mul(2),
            is_fixed,
        }
    }

    /// A steal costs so many nanoseconds.
    pub fn tell_cost(&mut self, cost: u64) {
        if !self.is_fixed {
            self.coarse = cost.saturating_mul(3);
            self.refill = MOST.max((4 * cost / self.least) as usize);
            self.afar = cost.max(2 * self.least);
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
        work > self.coarse
    }

    /// How many tasks a subtree in doubt keeps ready: as many as are stolen at a time, or
    /// what lasts for some steals.
    pub fn refill(self) -> usize {
        self.refill
    }

    /// Whether a task from another node is worth being profiled anew.
    pub fn is_worth_it_afar(self, work: u64) -> bool {
        work > self.afar
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_papers_grain_gives_the_papers_times() {
        let grains = Grains::new(Grain::Fixed(Duration::from_millis(2)));
        assert!(grains.is_worth_it(2_000_001) && !grains.is_worth_it(2_000_000));
        assert!(grains.is_worth_it_afar(4_000_001) && !grains.is_worth_it_afar(4_000_000));
        assert!(grains.is_coarse(12_000_001) && !grains.is_coarse(12_000_000));
    }

    #[test]
    fn a_steal_that_costs_as_the_papers_gives_about_its_times() {
        let mut grains = Grains::new(Grain::Auto);
        grains.tell_cost(4_000_000);
        assert!(grains.is_coarse(12_000_001) && !grains.is_coarse(12_000_000));
        assert!(grains.is_worth_it_afar(4_000_001) && !grains.is_worth_it_afar(4_000_000));
        assert_eq!(grains.least(), LEAST);
    }
}
