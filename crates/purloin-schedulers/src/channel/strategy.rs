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
    /// One task or half of the tasks, re-evaluated every 25 steals. A thief that takes one task
    /// switches to half when its tasks had no children. A thief that takes half switches back when
    /// half amounted to about one task.
    #[default]
    Adaptive,
}

/// The number of tasks that a thief takes from its victim.
///
/// ```
/// use purloin_schedulers::Amount;
///
/// assert_eq!((Amount::One.of(9), Amount::Half.of(9)), (1, 4));
/// assert_eq!((Amount::One.of(0), Amount::Half.of(1)), (0, 1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Amount {
    /// One task.
    #[default]
    One,
    /// Half of the tasks, rounded down, but at least one task if there is one.
    Half,
}

impl Amount {
    /// Returns this amount as a number of tasks, for a victim that has `count` tasks.
    pub fn of(self, count: usize) -> usize {
        match self {
            Amount::One => count.min(1),
            Amount::Half => (count / 2).max(count.min(1)),
        }
    }
}

/// The decision of an adaptive thief between one task and half of the tasks.
///
/// After every 25 steals, the thief compares them with the number of tasks that it has run since
/// the last decision. The simulator of `purloin-sim` uses this type, too.
///
/// ```
/// use purloin_schedulers::{Adaptive, Amount};
///
/// let mut thief = Adaptive::default();
/// for _ in 0..Adaptive::INTERVAL {
///     thief.count_tasks(1);
///     thief.count_steal();
/// }
/// assert_eq!(thief.amount(), Amount::Half);
/// ```
///
/// Source: Channel (adaptive stealing).
#[derive(Clone, Copy, Debug, Default)]
pub struct Adaptive {
    amount: Amount,
    /// Number of steals since the last decision.
    steals: u32,
    /// Number of tasks run since the last decision.
    tasks: u32,
}

impl Adaptive {
    /// Number of steals between two decisions.
    pub const INTERVAL: u32 = 25;

    /// Returns how many tasks to take next.
    pub fn amount(&self) -> Amount {
        self.amount
    }

    /// Records that the thief has run this many tasks.
    pub fn count_tasks(&mut self, tasks: u32) {
        self.tasks = self.tasks.saturating_add(tasks);
    }

    /// Records a steal.
    pub fn count_steal(&mut self) {
        self.steals += 1;
        if self.steals == Self::INTERVAL {
            self.amount = match self.amount {
                // Each steal brought one task, and no task had children.
                Amount::One if self.tasks <= Self::INTERVAL => Amount::Half,
                // Half of the tasks was about one task.
                Amount::Half if self.tasks < 2 * Self::INTERVAL => Amount::One,
                amount => amount,
            };
            self.steals = 0;
            self.tasks = 0;
        }
    }
}

/// One thief's strategy.
pub(super) struct Strategy {
    stealing: Stealing,
    adaptive: Adaptive,
    /// Whether the thief has claimed no task since a victim answered its request.
    is_unclaimed: bool,
    /// Number of tasks that the thief is running by leapfrogging.
    leapfrogging: u32,
    /// Whether the last stolen task had no children.
    was_leaf: bool,
}

impl Strategy {
    pub(super) fn new(stealing: Stealing) -> Self {
        Strategy {
            stealing,
            adaptive: Adaptive::default(),
            is_unclaimed: false,
            leapfrogging: 0,
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
        match self.stealing {
            Stealing::One => Amount::One,
            Stealing::Half => Amount::Half,
            Stealing::Adaptive => self.adaptive.amount(),
        }
    }

    /// Records that a victim has answered the request for any task.
    pub(super) fn was_answered(&mut self) {
        self.is_unclaimed = true;
    }

    /// Records that the thief has claimed a task that an answer to its request for any task has brought.
    /// The first such task of an answer counts as a steal. If the owners take back all tasks of an answer,
    /// it counts as none.
    pub(super) fn claimed(&mut self) {
        if std::mem::take(&mut self.is_unclaimed) {
            self.adaptive.count_steal();
        }
    }

    /// Records that the thief has claimed a task by leapfrogging, which is no decision between one task
    /// and half of the tasks.
    pub(super) fn leapfrogged(&mut self) {
        self.leapfrogging += 1;
    }

    /// Records that the thief has run a stolen task. A task with children counts twice: counting
    /// the children would cost every task an instruction.
    pub(super) fn count_task(&mut self, has_children: bool) {
        match self.leapfrogging {
            0 => self.adaptive.count_tasks(1 + u32::from(has_children)),
            _ => self.leapfrogging -= 1,
        }
        self.was_leaf = !has_children;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decision table: the amount before, the number of tasks that each steal leads to, and the
    /// amount afterwards.
    #[test]
    fn a_decision_depends_on_the_tasks_of_each_steal() {
        for (before, tasks, after) in [
            (Amount::One, 0, Amount::Half),
            (Amount::One, 1, Amount::Half),
            (Amount::One, 2, Amount::One),
            (Amount::One, 100, Amount::One),
            (Amount::Half, 0, Amount::One),
            (Amount::Half, 1, Amount::One),
            (Amount::Half, 2, Amount::Half),
            (Amount::Half, 100, Amount::Half),
        ] {
            let mut thief = Adaptive {
                amount: before,
                ..Adaptive::default()
            };
            for _ in 0..Adaptive::INTERVAL {
                assert_eq!(thief.amount(), before);
                thief.count_tasks(tasks);
                thief.count_steal();
            }
            assert_eq!(thief.amount(), after, "{before:?}, {tasks}");
        }
    }

    #[test]
    fn a_task_with_children_is_more_than_one_task() {
        for (has_children, amount) in [(false, Amount::Half), (true, Amount::One)] {
            let mut strategy = Strategy::new(Stealing::Adaptive);
            for _ in 0..Adaptive::INTERVAL {
                strategy.count_task(has_children);
                steal(&mut strategy);
            }
            assert_eq!(strategy.amount(), amount);
        }
    }

    /// One steal, whose answer may bring several tasks.
    fn steal(strategy: &mut Strategy) {
        strategy.was_answered();
        strategy.claimed();
        strategy.claimed();
    }

    #[test]
    fn an_answer_whose_tasks_were_taken_back_is_no_steal() {
        let mut strategy = Strategy::new(Stealing::Adaptive);
        // As many steals bring a task with children as are lost to the owners.
        for _ in 0..2 * Adaptive::INTERVAL {
            strategy.was_answered();
            steal(&mut strategy);
            strategy.count_task(true);
            assert_eq!(strategy.amount(), Amount::One);
        }
    }

    #[test]
    fn leapfrogged_tasks_do_not_count() {
        let mut strategy = Strategy::new(Stealing::Adaptive);
        for _ in 0..Adaptive::INTERVAL {
            // The stolen task waits for its second child, and leapfrogs twice, one on top of the other.
            strategy.leapfrogged();
            strategy.leapfrogged();
            (0..2).for_each(|_| strategy.count_task(true));
            strategy.count_task(false);
            steal(&mut strategy);
        }
        assert_eq!(strategy.amount(), Amount::Half);
    }

    #[test]
    fn a_fixed_strategy_never_changes() {
        for (stealing, amount) in [(Stealing::One, Amount::One), (Stealing::Half, Amount::Half)] {
            let mut strategy = Strategy::new(stealing);
            for _ in 0..10 * Adaptive::INTERVAL {
                strategy.count_task(false);
                steal(&mut strategy);
                assert_eq!(strategy.amount(), amount);
            }
        }
    }
}
