//! The stealing strategy: how many tasks a thief asks for, and when it asks.

/// How many of a victim's tasks a thief takes at once, for
/// [`Channel::steal`](super::Channel::steal).
///
/// Source: Channel (stealing strategies).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stealing {
    /// The oldest task.
    One,
    /// The older half of the tasks.
    Half,
    /// One task or half of the tasks, re-evaluated every 25 steals. A thief of one task switches
    /// to half if the tasks that it ran had no children. A thief of half switches back to one if
    /// half of the tasks was about one task.
    #[default]
    Adaptive,
}

/// How many tasks a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Amount {
    One,
    Half,
}

impl Amount {
    /// Returns this amount as a number of tasks, for a victim that has `count` tasks.
    pub(super) fn of(self, count: usize) -> usize {
        match self {
            Amount::One => count.min(1),
            Amount::Half => (count / 2).max(count.min(1)),
        }
    }
}

/// Number of steals between two evaluations of the strategy.
const INTERVAL: u32 = 25;

/// One thief's strategy.
pub(super) struct Strategy {
    stealing: Stealing,
    amount: Amount,
    /// Number of steals since the last evaluation.
    steals: u32,
    /// Number of stolen tasks run since the last evaluation. A task with children counts twice.
    tasks: u32,
    /// Whether the last stolen task had no children.
    was_leaf: bool,
}

impl Strategy {
    pub(super) fn new(stealing: Stealing) -> Self {
        Strategy {
            stealing,
            amount: match stealing {
                Stealing::One | Stealing::Adaptive => Amount::One,
                Stealing::Half => Amount::Half,
            },
            steals: 0,
            tasks: 0,
            was_leaf: false,
        }
    }

    /// Returns whether the thief asks for its next task before it begins this one. If its last task
    /// had children, this task probably has children, too. The thief then has enough to do, and
    /// would take tasks that other workers need.
    pub(super) fn asks_ahead(&self) -> bool {
        self.was_leaf
    }

    /// Returns how many tasks to ask for next.
    pub(super) fn amount(&self) -> Amount {
        self.amount
    }

    /// Records that a request was answered.
    pub(super) fn count_steal(&mut self) {
        self.steals += 1;
        if self.steals == INTERVAL {
            if self.stealing == Stealing::Adaptive {
                self.amount = match self.amount {
                    // Each steal brought one task, and no task had children.
                    Amount::One if self.tasks <= INTERVAL => Amount::Half,
                    // Half of the tasks was about one task.
                    Amount::Half if self.tasks < 2 * INTERVAL => Amount::One,
                    amount => amount,
                };
            }
            self.steals = 0;
            self.tasks = 0;
        }
    }

    /// Records that the thief has run a stolen task.
    pub(super) fn count_task(&mut self, has_children: bool) {
        self.tasks += 1 + u32::from(has_children);
        self.was_leaf = !has_children;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steal(strategy: &mut Strategy, steals: u32, tasks_each: u32, have_children: bool) {
        for _ in 0..steals {
            for _ in 0..tasks_each {
                strategy.count_task(have_children);
            }
            strategy.count_steal();
        }
    }

    #[test]
    fn an_adaptive_thief_switches_to_half_if_its_tasks_are_leaves() {
        let mut strategy = Strategy::new(Stealing::Adaptive);
        assert_eq!(strategy.amount(), Amount::One);
        steal(&mut strategy, INTERVAL, 1, false);
        assert_eq!(strategy.amount(), Amount::Half);
        steal(&mut strategy, 10 * INTERVAL, 20, false);
        assert_eq!(strategy.amount(), Amount::Half);
    }

    #[test]
    fn an_adaptive_thief_stays_with_one_if_its_tasks_have_children() {
        let mut strategy = Strategy::new(Stealing::Adaptive);
        steal(&mut strategy, 10 * INTERVAL, 1, true);
        assert_eq!(strategy.amount(), Amount::One);
    }

    #[test]
    fn an_adaptive_thief_returns_to_one_if_half_is_about_one_task() {
        let mut strategy = Strategy::new(Stealing::Adaptive);
        steal(&mut strategy, INTERVAL, 1, false);
        steal(&mut strategy, INTERVAL, 1, false);
        assert_eq!(strategy.amount(), Amount::One);
    }

    #[test]
    fn a_fixed_strategy_never_changes() {
        for (stealing, amount) in [(Stealing::One, Amount::One), (Stealing::Half, Amount::Half)] {
            let mut strategy = Strategy::new(stealing);
            steal(&mut strategy, 10 * INTERVAL, 1, false);
            assert_eq!(strategy.amount(), amount);
        }
    }

    #[test]
    fn a_thief_gets_a_task_unless_there_is_none() {
        assert_eq!(Amount::One.of(0), 0);
        assert_eq!(Amount::Half.of(0), 0);
        assert_eq!(Amount::Half.of(1), 1);
        assert_eq!(Amount::Half.of(9), 4);
        assert_eq!(Amount::One.of(9), 1);
    }
}
