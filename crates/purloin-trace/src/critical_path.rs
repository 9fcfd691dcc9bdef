//! The critical path of a program: where its span is.

use std::fmt::{Display, Formatter};

use crate::format::{parallelism, time};

/// The longest chain of strands that wait for each other, and the places through which it passes. No number of workers
/// makes the program faster than this chain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CriticalPath {
    /// A tree of places: the program comes first, and each place after its parent.
    pub places: Vec<PathPlace>,
}

/// A place in a program: a named span, the tasks that a line forks, or the loops, within a span.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathPlace {
    /// What it is, in words.
    pub name: String,
    /// The number of the place around it.
    pub parent: Option<usize>,
    /// The time that the path spends here, in seconds, without the places within.
    pub time: f64,
    /// The time that all tasks together spend here, in seconds, without the places within.
    pub work: f64,
}

/// A place with the places within.
#[derive(Clone, Debug, PartialEq)]
pub struct PathRow<'p> {
    /// What it is, in words.
    pub name: &'p str,
    /// Number of places around it.
    pub depth: usize,
    /// The time that the path spends here, in seconds.
    pub time: f64,
    /// The time that all tasks together spend here, in seconds.
    pub work: f64,
}

impl PathRow<'_> {
    /// Returns how many workers the place can use: work / time.
    pub fn parallelism(&self) -> f64 {
        self.work / self.time
    }
}

/// Share of the path below which a place has no row.
const LEAST: f64 = 0.01;

impl CriticalPath {
    /// Returns the places that take at least a hundredth of the path: each place before those within it, and of two
    /// within the same place the longer one first.
    pub fn rows(&self) -> Vec<PathRow<'_>> {
        let rows = self.places.iter().map(|place| PathRow {
            name: &place.name,
            depth: 0,
            time: place.time,
            work: place.work,
        });
        let mut rows: Vec<_> = rows.collect();
        let mut children = vec![Vec::new(); rows.len()];
        for (place, parent) in self.parents().rev() {
            rows[parent].time += rows[place].time;
            rows[parent].work += rows[place].work;
            children[parent].push(place);
        }
        for (place, parent) in self.parents() {
            rows[place].depth = rows[parent].depth + 1;
        }
        let Some(all) = rows.first().map(|row| row.time) else {
            return rows;
        };
        let mut sorted = Vec::new();
        let mut open = vec![0];
        while let Some(place) = open.pop() {
            sorted.push(rows[place].clone());
            let mut inner = std::mem::take(&mut children[place]);
            inner.retain(|&place| rows[place].time >= LEAST * all);
            inner.sort_by(|&a, &b| rows[a].time.total_cmp(&rows[b].time));
            open.extend(inner);
        }
        sorted
    }

    /// Returns the innermost place that takes more than half of the path, if that is not the program itself.
    pub fn main_place(&self) -> Option<PathRow<'_>> {
        let rows = self.rows();
        let half = rows.first()?.time / 2.0;
        // Steals have no work, and are no place in the program.
        let most = rows
            .into_iter()
            .skip(1)
            .filter(|row| row.time > half && row.work > 0.0);
        most.max_by_key(|row| row.depth)
    }

    /// Says in a sentence which place limits the program, if there is a [main place](Self::main_place).
    pub fn sentence(&self) -> Option<String> {
        let place = self.main_place()?;
        let share = 100.0 * place.time / self.rows().first()?.time;
        let workers = parallelism(place.parallelism());
        Some(format!(
            "{share:.0} % of the longest chain of tasks is in the {}, which can use {workers} workers.",
            place.name
        ))
    }

    /// Returns the number of each place that has a parent, and that of the parent.
    fn parents(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> {
        let places = self.places.iter().enumerate();
        // A parent comes first, so that a path that is no tree cannot go round in circles.
        places.filter_map(|(place, inner)| {
            Some((place, inner.parent.filter(|&outer| outer < place)?))
        })
    }
}

/// A table of the [rows](CriticalPath::rows).
impl Display for CriticalPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let rows = self.rows();
        let Some(all) = rows.first().map(|row| row.time.max(f64::MIN_POSITIVE)) else {
            return Ok(());
        };
        let name =
            |row: &PathRow<'_>| format!("{:indent$}{}", "", row.name, indent = 2 * row.depth);
        let width = rows
            .iter()
            .map(|row| name(row).chars().count())
            .max()
            .unwrap_or(0);
        writeln!(
            f,
            "  {:<width$} {:>8} {:>12} {:>12} {:>12}",
            "", "share", "time", "work there", "parallelism"
        )?;
        for row in &rows {
            // A steal is no work.
            let (work, workers) = match row.work > 0.0 {
                true => (time(row.work), parallelism(row.parallelism())),
                false => ("–".into(), "–".into()),
            };
            writeln!(
                f,
                "  {:<width$} {:>7.1}% {:>12} {:>12} {:>12}",
                name(row),
                100.0 * row.time / all,
                time(row.time),
                work,
                workers,
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str, parent: Option<usize>, time: f64, work: f64) -> PathPlace {
        PathPlace {
            name: name.into(),
            parent,
            time,
            work,
        }
    }

    #[test]
    fn a_place_has_the_time_of_the_places_within_and_comes_before_them() {
        let path = CriticalPath {
            places: vec![
                place("the program", None, 1.0, 1.0),
                place("short", Some(0), 0.005, 8.0),
                place("read", Some(0), 2.0, 2.0),
                place("parse", Some(0), 3.0, 3.0),
                place("tokens", Some(3), 4.0, 9.0),
            ],
        };
        let rows = path.rows();
        let expected = [
            ("the program", 0, 10.005),
            ("parse", 1, 7.0),
            ("tokens", 2, 4.0),
            ("read", 1, 2.0),
        ];
        let found: Vec<_> = rows
            .iter()
            .map(|row| (row.name, row.depth, row.time))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(rows[1].parallelism(), 12.0 / 7.0);
        assert_eq!(path.main_place().unwrap().name, "parse");
        let sentence =
            "70 % of the longest chain of tasks is in the parse, which can use 1.7 workers.";
        assert_eq!(path.sentence().unwrap(), sentence);
        let table = path.to_string();
        assert!(
            table.contains("  parse") && table.contains(" 70.0% "),
            "{table}"
        );
    }

    #[test]
    fn a_path_without_places_has_no_rows() {
        let path = CriticalPath::default();
        assert_eq!((path.rows(), path.main_place()), (Vec::new(), None));
        assert_eq!(path.to_string(), "");
        let steals = CriticalPath {
            places: vec![
                place("the program", None, 1.0, 9.0),
                place("steals", Some(0), 2.0, 0.0),
            ],
        };
        assert_eq!(steals.main_place(), None);
        let circle = CriticalPath {
            places: vec![place("a", Some(1), 1.0, 1.0), place("b", Some(0), 1.0, 1.0)],
        };
        assert_eq!(circle.rows().len(), 2);
    }
}
