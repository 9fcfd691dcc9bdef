//! Programs that were recorded: [`Recorded`].

#[cfg(test)]
mod tests;

use std::fmt;

use purloin_analysis::{Mark, Recording};

use super::{Step, Workload};
use crate::Time;

/// A program that was recorded.
///
/// It computes for as long as it did then. Whatever was spawned is joined by the frame that has
/// spawned it: at a finish's end, at a task's end, or where its result was asked for. Futures may
/// be got by anyone.
#[derive(Clone, Debug)]
pub struct Recorded {
    strands: Vec<Part>,
    tasks: u64,
    /// What it takes to spawn one and to join it.
    task: Time,
    work: Time,
    /// Whether a future is got by another frame than has made it, or not as its newest.
    has_futures: bool,
}

/// A strand, and what comes after it.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// In picoseconds.
    time: u64,
    /// What a beginning leads to: the place of its end. Of a future that is got, and of the end
    /// of its task, its number.
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
    /// A task begins that is got by its number.
    Future,
    Finish,
    /// The newest task of the frame is got.
    Newest,
    Get,
    /// A frame ends.
    End,
}

/// Four days, a fiftieth of what simulated time lasts for. Under some policies, programs take
/// longer than their work.
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
    /// Tasks that it has spawned and not joined: the numbers of futures, or [`NO_FUTURE`].
    children: Vec<u32>,
}

const NO_FUTURE: u32 = u32::MAX;

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
            children: Vec::new(),
        }];
        // Where each future begins, and how many of them are got by numbers of their own.
        let (mut futures, mut numbers) = (Vec::new(), 0);
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
                    frame.children.push(NO_FUTURE);
                }
                Mark::Future => {
                    kind = Kind::Spawn;
                    frame.children.push(futures.len() as u32);
                    futures.push(place);
                }
                Mark::Got(number) if frame.children.last() == Some(&number) => {
                    kind = Kind::Newest;
                    frame.children.pop();
                }
                Mark::Got(number) => {
                    (kind, link) = (Kind::Get, numbers);
                    numbers += 1;
                    let begin = &mut strands[futures[number as usize]];
                    begin.kind = Kind::Future;
                    let end = begin.link;
                    strands[end as usize].link = link;
                }
                _ => {}
            }
            if matches!(kind, Kind::Join | Kind::Second | Kind::Finish | Kind::Spawn) {
                open.push(Open {
                    begin: place,
                    children: Vec::new(),
                });
            }
            strands.push(Part { time, link, kind });
        }
        Ok(Recorded {
            strands,
            tasks: recording.tasks(),
            task: Time::from_picoseconds((recording.task_nanoseconds() * 1e3).round() as u64),
            work,
            has_futures: numbers > 0,
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
}

impl Workload for Recorded {
    type Activation = Position;

    fn root(&self) -> Position {
        Position {
            place: 0,
            state: State::Before,
        }
    }

    fn next(&self, position: &mut Position, _: u64) -> Step<Position> {
        let Position { place, state } = *position;
        let part = self.strands[place as usize];
        let here = |state| Position { place, state };
        let after = |place: u32| Position {
            place: place + 1,
            state: State::Before,
        };
        let end = || self.strands[part.link as usize];
        let (next, step) = match (state, part.kind) {
            (State::Before, _) => {
                let time = Time::from_picoseconds(part.time);
                (here(State::After), Step::Work(time))
            }
            // It is the end of the frame: the first closure's, if another begins.
            (State::After, Kind::End | Kind::Second) => (here(State::After), Step::End),
            (State::After, Kind::Join) => (here(State::Forked), Step::Fork(after(part.link))),
            (State::Forked, _) => (here(State::Called), Step::Call(after(place))),
            (State::Called, _) => (after(end().link), Step::Join),
            (State::After, Kind::Spawn) => (after(part.link), Step::Fork(after(place))),
            (State::After, Kind::Future) => {
                (after(part.link), Step::Future(after(place), end().link))
            }
            (State::After, Kind::Finish) => (after(part.link), Step::Call(after(place))),
            (State::After, Kind::Newest) => (after(place), Step::Join),
            (State::After, Kind::Get) => (after(place), Step::Get(part.link)),
        };
        *position = next;
        step
    }

    fn task(&self) -> Time {
        self.task
    }

    fn needs_spares(&self) -> bool {
        self.has_futures
    }
}
