//! The vocabulary of recordings: a program is a sequence of strands, and each strand ends with a
//! mark.

/// A stretch of a program without parallelism in it.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Strand {
    /// The duration of the strand, in nanoseconds.
    pub nanoseconds: f64,
    /// The event that ends the strand.
    pub mark: Mark,
}

/// The event that ends a strand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Mark {
    /// A join begins, and with it the first closure.
    Join,
    /// The first closure of a join ends, and the second begins.
    Second,
    /// The second closure of a join ends, and with it the join.
    Joined,
    /// A finish begins.
    Finish,
    /// A spawned task begins.
    Spawn,
    /// A spawned task ends, and its spawner goes on.
    Spawned,
    /// The task of a future begins. Futures are numbered from 0 in the order of this mark.
    Future,
    /// The task of a future ends, and the code that made the future goes on.
    FutureDone,
    /// A task fetches the result of the future with this number.
    Got(u32),
    /// The body of a finish ends, and with it the finish.
    Finished,
    /// The program ends.
    End,
}

/// Number of codes that an encoding has room for.
pub(crate) const CODES: u64 = 16;

/// The code of [`Mark::Got`].
const GOT: u8 = 8;

impl Mark {
    /// Returns the code of the mark, without the number of a future.
    pub(crate) fn code(self) -> u8 {
        match self {
            Mark::Join => 0,
            Mark::Second => 1,
            Mark::Joined => 2,
            Mark::Finish => 3,
            Mark::Spawn => 4,
            Mark::Spawned => 5,
            Mark::Future => 6,
            Mark::FutureDone => 7,
            Mark::Got(_) => GOT,
            Mark::Finished => 9,
            Mark::End => 10,
        }
    }

    /// Returns the mark with this code, if there is one. `got` returns the number of the future, if
    /// the mark has one.
    pub(crate) fn from_code(code: u8, got: impl FnOnce() -> Option<u32>) -> Option<Mark> {
        Some(match code {
            0 => Mark::Join,
            1 => Mark::Second,
            2 => Mark::Joined,
            3 => Mark::Finish,
            4 => Mark::Spawn,
            5 => Mark::Spawned,
            6 => Mark::Future,
            7 => Mark::FutureDone,
            GOT => Mark::Got(got()?),
            9 => Mark::Finished,
            10 => Mark::End,
            _ => return None,
        })
    }

    /// Returns whether this mark begins a join, spawn or future, which all count as one task.
    pub(crate) fn is_task(self) -> bool {
        matches!(self, Mark::Join | Mark::Spawn | Mark::Future)
    }
}
