//! Places in a program: the named spans that are open, and the line that has forked the task.

use std::collections::HashMap;
use std::panic::Location;

use purloin::trace::{CriticalPath, PathPlace};

/// A place in a program: a node in the tree of [`Places`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place(pub(super) u16);

impl Place {
    /// The code outside of all spans and tasks.
    pub(crate) const ROOT: Place = Place(0);
    /// The cost of the steals on the critical path.
    pub(super) const STEALS: Place = Place(1);

    /// Adds to the sum of this place.
    pub(super) fn add_to(self, sums: &mut Vec<f64>, ticks: f64) {
        let place = usize::from(self.0);
        if sums.len() <= place {
            sums.resize(place + 1, 0.0);
        }
        sums[place] += ticks;
    }

    /// Returns the sum of this place.
    pub(super) fn get_from(self, sums: &[f64]) -> f64 {
        sums.get(usize::from(self.0)).copied().unwrap_or(0.0)
    }
}

/// Name of a place within its parent.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Name {
    Root,
    Steals,
    /// A span that the program names.
    Span(&'static str),
    /// The tasks that a line forks.
    Fork(&'static Location<'static>),
    /// The pieces of loops and sorts.
    Loop,
}

/// The places of a run. Spans contain spans, forks and loops. A task that forks tasks does not contain them, so that a
/// recursive program has few places; neither does a span contain itself.
pub(crate) struct Places {
    /// Each place's name and parent. A parent comes before its children.
    nodes: Vec<(Name, Place)>,
    numbers: HashMap<(Name, Place), Place>,
    /// The place of the code that runs.
    now: Place,
}

impl Default for Places {
    fn default() -> Places {
        Places {
            nodes: vec![(Name::Root, Place::ROOT), (Name::Steals, Place::ROOT)],
            numbers: HashMap::new(),
            now: Place::ROOT,
        }
    }
}

impl Places {
    /// Returns the place of the code that runs.
    pub(super) fn now(&self) -> Place {
        self.now
    }

    /// Goes back to a place, where a task, a loop or a span ends.
    pub(super) fn set(&mut self, place: Place) {
        self.now = place;
    }

    /// Enters a span that the program names.
    pub(super) fn enter_span(&mut self, name: &'static str) {
        let mut outer = self.span();
        // A span within itself is the same place.
        loop {
            match self.nodes[usize::from(outer.0)] {
                (Name::Span(other), _) if other == name => break self.now = outer,
                (Name::Span(_), parent) => outer = parent,
                _ => break self.enter(Name::Span(name)),
            }
        }
    }

    /// Enters a task that this line forks.
    pub(super) fn enter_task(&mut self, line: &'static Location<'static>) {
        self.enter(Name::Fork(line));
    }

    /// Enters a piece of a loop or of a sort.
    pub(super) fn enter_loop(&mut self) {
        self.enter(Name::Loop);
    }

    /// Returns the innermost span.
    fn span(&self) -> Place {
        match self.nodes[usize::from(self.now.0)] {
            (Name::Root | Name::Span(_), _) => self.now,
            (_, parent) => parent,
        }
    }

    fn enter(&mut self, name: Name) {
        let key = (name, self.span());
        self.now = match self.numbers.get(&key) {
            Some(&place) => place,
            // Further places count as their parents.
            None => match u16::try_from(self.nodes.len()) {
                Ok(number) => {
                    self.nodes.push(key);
                    self.numbers.insert(key, Place(number));
                    Place(number)
                }
                Err(_) => key.1,
            },
        };
    }

    /// Returns a critical path that takes these times, in ticks, in these places. `work` returns the work of a place, in
    /// ticks, and `tick` is the duration of a tick in seconds.
    pub(crate) fn critical_path(
        &self,
        times: &[(Place, f64)],
        work: impl Fn(Place) -> f64,
        tick: f64,
    ) -> CriticalPath {
        let mut places: Vec<_> = (0..)
            .map(Place)
            .zip(&self.nodes)
            .map(|(place, &(name, parent))| PathPlace {
                name: name.to_string(),
                parent: (place != Place::ROOT).then_some(parent.0.into()),
                time: 0.0,
                work: work(place) * tick,
            })
            .collect();
        for (place, ticks) in times {
            places[usize::from(place.0)].time += ticks * tick;
        }
        CriticalPath { places }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Name::Root => f.write_str("the program"),
            Name::Steals => f.write_str("steals"),
            Name::Span(name) => write!(f, "span \"{name}\""),
            Name::Fork(line) => write!(f, "tasks forked at {}:{}", line.file(), line.line()),
            Name::Loop => f.write_str("loops and sorts"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_spans_within_spans_and_forks_within_spans() {
        let mut places = Places::default();
        let line = Location::caller();
        places.enter_span("build");
        let build = places.now();
        places.enter_task(line);
        let task = places.now();
        places.enter_task(line);
        assert_eq!(places.now(), task);
        places.enter_span("sort");
        let sort = places.now();
        places.enter_loop();
        places.enter_span("build");
        assert_eq!(places.now(), build);
        places.set(Place::ROOT);
        places.enter_span("build");
        assert_eq!(places.now(), build);
        let path = places.critical_path(&[(task, 3.0), (sort, 1.0)], |_| 10.0, 0.5);
        let rows = path.rows();
        let found: Vec<_> = rows.iter().map(|row| (row.depth, row.time)).collect();
        assert_eq!(found, [(0, 2.0), (1, 2.0), (2, 1.5), (2, 0.5)]);
        assert_eq!(
            (rows[1].name, rows[3].name),
            ("span \"build\"", "span \"sort\"")
        );
        assert!(rows[2].name.contains("places.rs:"), "{}", rows[2].name);
    }

    #[test]
    fn places_beyond_the_last_number_count_as_their_spans() {
        let mut places = Places::default();
        let names: Vec<&'static str> = (0..70_000)
            .map(|number| &*Box::leak(number.to_string().into_boxed_str()))
            .collect();
        places.enter_span("outer");
        let outer = places.now();
        for name in names {
            places.set(outer);
            places.enter_span(name);
        }
        assert_eq!(places.now(), outer);
    }
}
