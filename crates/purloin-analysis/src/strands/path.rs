//! The critical path of a program: how long it stays in each place.

use smallvec::SmallVec;

use super::places::Place;

/// A part of the critical path, or of a path that may become part of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// The path begins where the child before this one was made, or where the frame began if this is its first child.
    /// Usually, this is the number of children so far. It is less if the path leads through the task of an earlier
    /// child, whose result the frame has fetched.
    pub since: usize,
    /// The ticks in each place.
    pub times: SmallVec<[(Place, f64); 1]>,
}

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
    /// Returns a path that begins where there are this many children.
    pub fn from(since: usize) -> Path {
        Path {
            since,
            ..Path::default()
        }
    }

    /// Adds time in a place.
    pub fn add(&mut self, place: Place, ticks: f64) {
        match self.times.iter_mut().find(|(other, _)| *other == place) {
            Some((_, sum)) => *sum += ticks,
            None => self.times.push((place, ticks)),
        }
    }

    /// Adds the time of a steal.
    pub fn add_steal(&mut self, ticks: f64) {
        if ticks > 0.0 {
            self.add(Place::STEALS, ticks);
        }
    }

    /// Lets another path follow.
    pub fn append(&mut self, other: &Path) {
        for &(place, ticks) in &other.times {
            self.add(place, ticks);
        }
    }

    /// Lets two parallel parts follow, which both begin at the end of this path.
    pub fn fork(&mut self, first: &Path, second: &Path, order: Order) {
        match order {
            Order::Serial => {
                self.append(first);
                self.append(second);
            }
            Order::FirstLast(cost) => {
                self.append(first);
                self.add_steal(cost);
            }
            Order::SecondLast(cost) => {
                self.append(second);
                self.add_steal(cost);
            }
        }
    }

    /// Makes the times proportionally longer or shorter, so that together they are `ticks`.
    pub fn scale_to(&mut self, ticks: f64) {
        let sum: f64 = self.times.iter().map(|(_, ticks)| ticks).sum();
        let factor = if sum > 0.0 { ticks / sum } else { 0.0 };
        for (_, ticks) in &mut self.times {
            *ticks *= factor;
        }
    }
}
