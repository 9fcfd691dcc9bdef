//! Recorded programs: [`Recorded`].

mod cut_off;
#[cfg(test)]
mod tests;

use std::fmt;

use purloin_analysis::{Mark, Recording};

use super::{Step, Workload};
use crate::Time;
pub use cut_off::CutOff;

/// A recorded program.
///
/// Its strands take the recorded times. A task is joined by the frame that has spawned it: at the
/// end of a finish, at the end of a task, or where the frame gets its result. Any frame may get a
/// future. A task of a scope further out is joined by the frame that has spawned it, too, which is
/// earlier than in the library.
#[derive(Clone, Debug)]
pub struct Recorded {
    strands: Vec<Strand>,
    tasks: u64,
    /// The time to spawn and join a task.
    task: Time,
    work: Time,
    /// Whether a frame gets a future that another frame has made, or that is not its newest task.
    has_futures: bool,
    /// The expected durations of tasks, under [`CutOff::Adaptive`].
    profile: Option<Profile>,
}

/// The durations that workers expect of tasks.
#[derive(Clone, Debug)]
struct Profile {
    /// The mean time of a task at each depth, including its descendants.
    means: Vec<Time>,
    /// The longest total time of ready tasks during which a worker may start to steal.
    coarse: Time,
}

/// A strand and the step after it.
#[derive(Clone, Copy, Debug)]
struct Strand {
    /// The time of the strand, in picoseconds.
    time: u64,
    /// If the step begins a frame, the place of the strand that ends the frame. If the step gets a
    /// future by number or ends the task of such a future, that number.
    link: u32,
    kind: Kind,
    /// The depth of the task that the strand is a part of, at most 65,535, in a program with a
    /// [`CutOff`].
    depth: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A join begins, and with it the first closure.
    Join,
    /// The second closure of a join begins.
    Second,
    /// A task begins.
    Spawn,
    /// The task of a future that a frame gets by number begins.
    Future,
    /// A finish begins.
    Finish,
    /// The frame joins its newest task.
    Newest,
    /// The frame gets a future by number.
    Get,
    /// A frame ends.
    End,
}

/// Maximum work of a recording: four days, a fiftieth of the range of [`Time`]. A program may take
/// longer than its work under some policies.
const LONGEST: Time = Time::from_nanoseconds(345_600_000_000_000);

/// The error of a recording that is too long to be simulated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RecordingTooLong;

impl fmt::Display for RecordingTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the recording is too long; the maximum is four billion strands and four days of work",
        )
    }
}

/// The text of the error: `main` and `unwrap` print errors in this form.
impl fmt::Debug for RecordingTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for RecordingTooLong {}

/// A frame that has begun and not ended at the current place of the recording.
struct OpenFrame {
    /// The place of the strand that began the frame.
    begin: usize,
    /// The tasks that the frame has spawned and not joined: the numbers of futures, or
    /// [`NO_FUTURE`].
    children: Vec<u32>,
}

/// The entry of a task that is not a future.
const NO_FUTURE: u32 = u32::MAX;

impl Recorded {
    /// Prepares a recording for simulation.
    ///
    /// # Errors
    ///
    /// Returns an error if the recording is too long.
    pub fn new(recording: &Recording) -> Result<Recorded, RecordingTooLong> {
        let mut strands: Vec<Strand> = Vec::new();
        let mut open = vec![OpenFrame {
            begin: 0,
            children: Vec::new(),
        }];
        // The places where futures begin, their numbers if frames get them by number, and how many
        // these are.
        let (mut futures, mut number_of, mut numbers) = (Vec::new(), Vec::new(), 0);
        let mut work = Time::ZERO;
        for strand in recording.strands() {
            let place = strands.len();
            if place >= u32::MAX as usize {
                return Err(RecordingTooLong);
            }
            let time = (strand.nanoseconds * 1e3).min(1e18).round() as u64;
            work += Time::from_picoseconds(time);
            if work > LONGEST {
                return Err(RecordingTooLong);
            }
            let (mut kind, mut link) = (Kind::End, 0);
            let ends = matches!(
                strand.mark,
                Mark::Second | Mark::Joined | Mark::Spawned | Mark::FutureDone | Mark::Finished
            );
            if ends {
                // Link the beginning of the frame to its end.
                let frame = open.pop().expect("frames of a recording are nested");
                strands[frame.begin].link = place as u32;
            }
            let frame = open.last_mut().expect("the outermost frame is open");
            match strand.mark {
                Mark::Join | Mark::Split => kind = Kind::Join,
                Mark::Second => kind = Kind::Second,
                Mark::Finish => kind = Kind::Finish,
                Mark::Spawn | Mark::OuterSpawn(_) => {
                    kind = Kind::Spawn;
                    frame.children.push(NO_FUTURE);
                }
                Mark::Future | Mark::OuterFuture(_) => {
                    kind = Kind::Spawn;
                    frame.children.push(futures.len() as u32);
                    futures.push(place);
                    number_of.push(None);
                }
                Mark::Got(number) if frame.children.last() == Some(&number) => {
                    kind = Kind::Newest;
                    frame.children.pop();
                }
                Mark::Got(number) => {
                    let known = number_of[number as usize].get_or_insert(numbers);
                    (kind, link) = (Kind::Get, *known);
                    numbers += u32::from(*known == numbers);
                    let begin = &mut strands[futures[number as usize]];
                    begin.kind = Kind::Future;
                    let end = begin.link;
                    strands[end as usize].link = link;
                }
                _ => {}
            }
            if matches!(kind, Kind::Join | Kind::Second | Kind::Finish | Kind::Spawn) {
                open.push(OpenFrame {
                    begin: place,
                    children: Vec::new(),
                });
            }
            strands.push(Strand {
                time,
                link,
                kind,
                depth: 0,
            });
        }
        Ok(Recorded {
            strands,
            tasks: recording.tasks() + recording.splits(),
            task: Time::from_picoseconds((recording.task_nanoseconds() * 1e3).round() as u64),
            work,
            has_futures: numbers > 0,
            profile: None,
        })
    }

    /// Returns the number of tasks. Each part that a recording splits off a loop or a sort is one of them.
    pub fn tasks(&self) -> u64 {
        self.tasks
    }

    /// Returns the time of all strands together.
    pub fn work(&self) -> Time {
        self.work
    }
}

/// The position of a frame in the program.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// The current strand.
    place: u32,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The strand has not run.
    Before,
    /// The strand has run.
    After,
    /// The second closure of a join is spawned. The first has yet to be called.
    Forked,
    /// The first closure has ended. The second has yet to be joined.
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
            // `Second` also ends the frame of the first closure.
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

    fn may_steal_early<'a>(&self, ready: impl Iterator<Item = &'a Position>) -> bool {
        let Some(Profile { means, coarse }) = &self.profile else {
            return true;
        };
        let depths = ready.map(|task| self.strands[task.place as usize].depth);
        let total = depths.fold(Time::ZERO, |sum, depth| sum + means[usize::from(depth)]);
        total <= *coarse
    }

    fn needs_spares(&self) -> bool {
        self.has_futures
    }
}
