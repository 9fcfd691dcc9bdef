//! The critical path of a program: how long it stays in each place.

use smallvec::SmallVec;

use super::places::Place;

/// A chain of strands: its ticks in each place, in the order of the places.
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
        match self.0.binary_search_by_key(&place, |time| time.0) {
            Ok(index) => self.0[index].1 += ticks,
            Err(index) => self.0.insert(index, (place, ticks)),
        }
    }

    /// Adds the times of another path.
    fn append(&mut self, other: &Path) {
        other
            .0
            .iter()
            .for_each(|&(place, ticks)| self.add(place, ticks));
    }

    /// Returns what this path has in addition to `begun`. If the end of a task waits for another task, its path may lead
    /// past the task's beginning. Then it has less in some places.
    pub fn since(&self, begun: &Path) -> Path {
        let mut before = begun.0.iter().peekable();
        let mut rest = Path::default();
        for &(place, ticks) in &self.0 {
            while let Some(&&(other, missing)) = before.peek()
                && other < place
            {
                rest.0.push((other, -missing));
                before.next();
            }
            let known = before.next_if(|other| other.0 == place);
            let difference = ticks - known.map_or(0.0, |other| other.1);
            if difference != 0.0 {
                rest.0.push((place, difference));
            }
        }
        rest.0.extend(before.map(|&(place, ticks)| (place, -ticks)));
        rest
    }

    /// Joins this path, that of the second part, with the first part. Both parts began at the end of `begun`; the path
    /// of the first part is the one [since](Self::since) then.
    pub fn join(&mut self, begun: &Path, first: &Path, order: Order) {
        let cost = match order {
            Order::Serial => {
                self.append(first);
                0.0
            }
            Order::FirstLast(cost) => {
                self.clone_from(begun);
                self.append(first);
                cost
            }
            Order::SecondLast(cost) => cost,
        };
        if cost > 0.0 {
            self.add(Place::STEALS, cost);
        }
        if self.0.iter().any(|time| time.1 < 0.0) {
            self.settle();
        }
    }

    /// Spreads what is below zero over the other places.
    #[cold]
    fn settle(&mut self) {
        let sum = |times: &[(Place, f64)]| times.iter().map(|time| time.1).sum::<f64>();
        let all = sum(&self.0);
        self.0.retain(|time| time.1 > 0.0);
        let rest = sum(&self.0);
        if rest > 0.0 {
            self.0.iter_mut().for_each(|time| time.1 *= all / rest);
        }
    }
}
