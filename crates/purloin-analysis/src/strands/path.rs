//! The critical path of a program: how long it stays in each place.

use smallvec::SmallVec;

use super::places::Place;

/// A chain of strands that begins with the program: its ticks in each place.
#[derive(Clone, Debug, Default)]
pub(super) struct Path(SmallVec<[(Place, f64); 2]>);

/// How two parallel parts of a program are run best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Order {
    /// One after the other, because a steal takes longer than the shorter one.
    Serial,
    /// In parallel: the first one ends last. A steal takes this many ticks.
    FirstLast(f64),
    /// In parallel: the second one ends last.
    SecondLast(f64),
}

impl Path {
    /// Returns the ticks in each place.
    pub fn times(&self) -> &[(Place, f64)] {
        &self.0
    }

    /// Adds time in a place.
    pub fn add(&mut self, place: Place, ticks: f64) {
        match self.0.iter_mut().find(|(other, _)| *other == place) {
            Some((_, sum)) => *sum += ticks,
            None => self.0.push((place, ticks)),
        }
    }

    /// Joins this path, that of the second part, with that of the first part. Both parts began at the end of `begun`.
    pub fn join(&mut self, begun: &Path, first: &Path, order: Order) {
        let cost = match order {
            Order::Serial => {
                first
                    .0
                    .iter()
                    .for_each(|&(place, ticks)| self.add(place, ticks));
                begun
                    .0
                    .iter()
                    .for_each(|&(place, ticks)| self.add(place, -ticks));
                return self.settle();
            }
            Order::FirstLast(cost) => {
                self.clone_from(first);
                cost
            }
            Order::SecondLast(cost) => cost,
        };
        if cost > 0.0 {
            self.add(Place::STEALS, cost);
        }
    }

    /// Spreads what is below zero over the other places. If the first part has waited for the task of a frame further
    /// out, its path may lead past `begun`.
    fn settle(&mut self) {
        let sum = |times: &[(Place, f64)]| times.iter().map(|time| time.1).sum::<f64>();
        let all = sum(&self.0);
        self.0.retain(|time| time.1 > 0.0);
        let rest = sum(&self.0);
        if rest > all {
            self.0.iter_mut().for_each(|time| time.1 *= all / rest);
        }
    }
}
