//! How much a thief takes at once.

/// How many of a victim's tasks a thief takes at once, for
/// [`Channel::steal`](super::Channel::steal).
///
/// Source: Channel (stealing strategies).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stealing {
    /// The oldest.
    One,
    /// The older half.
    Half,
    /// One or half, by what the last steals were good for: half if each was for a
    /// task without children, and one if half was no more than one.
    #[default]
    Adaptive,
}

/// What a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Portion {
    One,
    Half,
}

impl Portion {
    /// How many of `count` tasks.
    pub(super) fn of(self, count: usize) -> usize {
        match self {
            Portion::One => count.min(1),
            Portion::Half => (count / 2).max(count.min(1)),
        }
    }
}

/// After so many steals the strategy is considered anew.
const INTERVAL: u32 = 25;

/// What one thief has learnt.
pub(super) struct Experience {
    stealing: Stealing,
    portion: Portion,
    steals: u32,
    tasks: u32,
    /// Whether the last stolen task made no others.
    was_leaf: bool,
}

impl Experience {
    pub(super) fn new(stealing: Stealing) -> Self {
        Experience {
            stealing,
            portion: match stealing {
                Stealing::One | Stealing::Adaptive => Portion::One,
                Stealing::Half => Portion::Half,
            },
            steals: 0,
            tasks: 0,
            was_leaf: false,
        }
    }

    /// Whether to ask for the next task before this one is done. Where tasks make
    /// others, there is enough to do, and who asks too early gets too much.
    pub(super) fn asks_ahead(&self) -> bool {
        self.was_leaf
    }

    /// What to ask for next.
    pub(super) fn portion(&self) -> Portion {
        self.portion
    }

    /// Notes an answer.
    pub(super) fn stole(&mut self) {
        self.steals += 1;
        if self.steals == INTERVAL {
            if self.stealing == Stealing::Adaptive {
                self.portion = match self.portion {
                    // Each brought a task, and that was all.
                    Portion::One if self.tasks <= INTERVAL => Portion::Half,
                    // Half of what there is, is one.
                    Portion::Half if self.tasks < 2 * INTERVAL => Portion::One,
                    portion => portion,
                };
            }
            self.steals = 0;
            self.tasks = 0;
        }
    }

    /// Notes that a stolen task was run, and whether it made others.
    pub(super) fn ran(&mut self, has_children: bool) {
        self.tasks += 1 + u32::from(has_children);
        self.was_leaf = !has_children;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(steals: u32, tasks_each: u32, has_children: bool, experience: &mut Experience) {
        for _ in 0..steals {
            for _ in 0..tasks_each {
                experience.ran(has_children);
            }
            experience.stole();
        }
    }

    #[test]
    fn leaves_are_stolen_by_halves() {
        let mut experience = Experience::new(Stealing::Adaptive);
        assert_eq!(experience.portion(), Portion::One);
        after(INTERVAL, 1, false, &mut experience);
        assert_eq!(experience.portion(), Portion::Half);
        after(10 * INTERVAL, 20, false, &mut experience);
        assert_eq!(experience.portion(), Portion::Half);
    }

    #[test]
    fn trees_are_stolen_one_by_one() {
        let mut experience = Experience::new(Stealing::Adaptive);
        after(10 * INTERVAL, 1, true, &mut experience);
        assert_eq!(experience.portion(), Portion::One);
    }

    #[test]
    fn half_of_little_is_given_up() {
        let mut experience = Experience::new(Stealing::Adaptive);
        after(INTERVAL, 1, false, &mut experience);
        after(INTERVAL, 1, false, &mut experience);
        assert_eq!(experience.portion(), Portion::One);
    }

    #[test]
    fn what_is_fixed_stays() {
        for (stealing, portion) in [
            (Stealing::One, Portion::One),
            (Stealing::Half, Portion::Half),
        ] {
            let mut experience = Experience::new(stealing);
            after(10 * INTERVAL, 1, false, &mut experience);
            assert_eq!(experience.portion(), portion);
        }
    }

    #[test]
    fn a_portion_of_something_is_something() {
        assert_eq!(Portion::One.of(0), 0);
        assert_eq!(Portion::Half.of(0), 0);
        assert_eq!(Portion::Half.of(1), 1);
        assert_eq!(Portion::Half.of(9), 4);
        assert_eq!(Portion::One.of(9), 1);
    }
}
