//! Programs that were recorded: [`Recorded`].

use std::fmt;

use purloin::{Mark, Recording};

use super::{Step, Workload};
use crate::Time;

/// A program that was recorded.
///
/// It computes for as long as it did then. Whatever was spawned is joined by the frame that has
/// spawned it: at a finish's end, at a task's end, or where its result was asked for. So a
/// future is joined with those that its frame has made later; and if another frame gets it, that
/// does not wait for it.
#[derive(Clone, Debug)]
pub struct Recorded {
    strands: Vec<Part>,
    tasks: u64,
    work: Time,
}

/// A strand, and what comes after it.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// In picoseconds.
    time: u64,
    /// What a beginning leads to: the place of its end. Of a future that is got, how many
    /// tasks are joined.
    link: u32,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Join,
    /// The second closure begins.
    Second,
    /// A task begins.
    Spawn,
    Finish,
    Got,
    /// A frame ends.
    End,
}

/// Four days. Under some policies, programs take longer than their work, but not a hundred times.
const LONGEST: Time = Time::from_nanoseconds(345_600_000_000_000);

/// What a recording has too much of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the recording is too long: four billion strands and four days can be simulated",
        )
    }
}

impl std::error::Error for TooLong {}

/// A frame that is open while a recording is read.
struct Open {
    /// Where it began.
    begin: usize,
    /// Tasks that it has spawned and not joined: the numbers of futures, which ascend, each with
    /// how many tasks were spawned before it.
    futures: Vec<(u32, u32)>,
    /// How many tasks these are, with those that are no futures.
    children: u32,
}

impl Recorded {
    /// Prepares a recording for simulation.
    ///
    /// # Errors
    ///
    /// If it is too long.
    pub fn new(recording: &Recording) -> Result<Recorded, TooLong> {
        let mut strands: Vec<Part> = Vec::new();
        let mut open = vec![Open {
            begin: 0,
            futures: Vec::new(),
            children: 0,
        }];
        let mut futures = 0;
        let mut work = Time::ZERO;
        for strand in recording.strands() {
            let place = strands.len();
            if place >= u32::MAX as usize {
                return Err(TooLong);
            }
            let time = (strand.nanoseconds * 1e3).min(1e18).round() as u64;
            work += Time::from_picoseconds(time);
            if work > LONGEST {
                return Err(TooLong);
            }
            let (mut kind, mut link) = (Kind::End, 0);
            let ends = matches!(
                strand.mark,
                Mark::Second | Mark::Joined | Mark::Spawned | Mark::FutureDone | Mark::Finished
            );
            if ends {
                // What it began with leads here.
                let frame = open.pop().expect("a recording is whole");
                strands[frame.begin].link = place as u32;
            }
            let frame = open.last_mut().expect("the outermost one");
            match strand.mark {
                Mark::Join => kind = Kind::Join,
                Mark::Second => kind = Kind::Second,
                Mark::Finish => kind = Kind::Finish,
                Mark::Spawn => {
                    kind = Kind::Spawn;
                    frame.children += 1;
                }
                Mark::Future => {
                    kind = Kind::Spawn;
                    frame.futures.push((futures, frame.children));
                    frame.children += 1;
                    futures += 1;
                }
                Mark::Got(number) => {
                    kind = Kind::Got;
                    // If it is another frame's, that joins it at its own end.
                    if let Ok(place) = frame.futures.binary_search_by_key(&number, |own| own.0) {
                        let before = frame.futures[place].1;
                        link = frame.children - before;
                        frame.children = before;
                        frame.futures.truncate(place);
                    }
                }
                _ => {}
            }
            if matches!(kind, Kind::Join | Kind::Second | Kind::Finish | Kind::Spawn) {
                open.push(Open {
                    begin: place,
                    futures: Vec::new(),
                    children: 0,
                });
            }
            strands.push(Part { time, link, kind });
        }
        Ok(Recorded {
            strands,
            tasks: recording.tasks(),
            work,
        })
    }

    /// Its tasks.
    pub fn tasks(&self) -> u64 {
        self.tasks
    }

    /// What all strands take.
    pub fn work(&self) -> Time {
        self.work
    }
}

/// How far a frame is.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// The strand that is run, or has been.
    place: u32,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Before the strand.
    Before,
    /// After it.
    After,
    /// The second closure of a join is spawned, and the first to be called.
    Forked,
    /// Both are begun; to be joined.
    Called,
    /// So many tasks are to be joined.
    Joining(u32),
}

impl Position {
    fn at(place: u32) -> Position {
        Position {
            place,
            state: State::Before,
        }
    }
}

impl Workload for Recorded {
    type Activation = Position;

    fn root(&self) -> Position {
        Position::at(0)
    }

    fn next(&self, position: &mut Position, _: u64) -> Step<Position> {
        loop {
            let place = position.place;
            let part = self.strands[place as usize];
            match (position.state, part.kind) {
                (State::Before, _) => {
                    position.state = State::After;
                    return Step::Work(Time::from_picoseconds(part.time));
                }
                // It is the end of the frame: the first closure's, if another begins.
                (State::After, Kind::End | Kind::Second) => return Step::End,
                (State::After, Kind::Join) => {
                    position.state = State::Forked;
                    return Step::Fork(Position::at(part.link + 1));
                }
                (State::Forked, _) => {
                    position.state = State::Called;
                    return Step::Call(Position::at(place + 1));
                }
                (State::Called, _) => {
                    let joined = self.strands[part.link as usize].link;
                    *position = Position::at(joined + 1);
                    return Step::Join;
                }
                (State::After, Kind::Spawn) => {
                    *position = Position::at(part.link + 1);
                    return Step::Fork(Position::at(place + 1));
                }
                (State::After, Kind::Finish) => {
                    *position = Position::at(part.link + 1);
                    return Step::Call(Position::at(place + 1));
                }
                (State::After, Kind::Got) => position.state = State::Joining(part.link),
                (State::Joining(0), _) => *position = Position::at(place + 1),
                (State::Joining(left), _) => {
                    position.state = State::Joining(left - 1);
                    return Step::Join;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use purloin::{Program, Worker, record};

    use super::*;
    use crate::{Machine, simulate};

    /// Joins, finishes, futures that are got in any order, and loops.
    struct Everything;

    impl Program for Everything {
        fn run<W: Worker>(&mut self, w: W) {
            everything(w, 4);
        }
    }

    fn everything<W: Worker>(mut w: W, depth: u32) {
        if depth == 0 {
            std::hint::black_box((0..1000).sum::<u64>());
            return;
        }
        w.join(
            |w| everything(w, depth - 1),
            |mut w| {
                w.finish(|scope| {
                    for _ in 0..3 {
                        scope.spawn(|w| everything(w, depth - 1));
                    }
                });
                w.for_each(0..10, |i| {
                    std::hint::black_box(i);
                });
            },
        );
        let a = w.future(move |w| everything(w, depth - 1));
        let b = w.future(move |w| everything(w, depth - 1));
        let _c = w.future(move |w| everything(w, depth - 1));
        w.get(a);
        w.get(b);
    }

    #[test]
    fn all_that_was_recorded_is_run_under_every_policy() {
        let recording = record("everything", &mut Everything).unwrap();
        let recorded = Recorded::new(&recording).unwrap();
        for policy in ["random", "half+spare", "leapfrog", "forward+residual:2"] {
            for cores in [1, 2, 5, 40] {
                let machine = Machine::wool(cores);
                let outcome = simulate(&recorded, &machine, policy.parse().unwrap(), 3);
                assert_eq!(outcome.work, recorded.work(), "{policy} {cores}");
                assert_eq!(outcome.tasks, recording.tasks(), "{policy} {cores}");
            }
        }
    }
}
