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
    /// A loop or a sort divides its work, and the first part begins. The marks [`Second`](Mark::Second) and
    /// [`Joined`](Mark::Joined) follow, as for a join. The program has not asked for this join, so it is no task.
    Split,
    /// The task of [`Spawn`](Mark::Spawn), spawned in a scope further out. The number says how many of the innermost
    /// frames do not wait for it: closures of joins, bodies of finishes, and tasks.
    OuterSpawn(u32),
    /// The task of [`Future`](Mark::Future), made in a scope further out. The number is that of
    /// [`OuterSpawn`](Mark::OuterSpawn).
    OuterFuture(u32),
}

/// Number of codes that an encoding has room for.
pub(crate) const CODES: u64 = 16;

/// The codes of the marks that have a number.
const GOT: u8 = 8;
const OUTER_SPAWN: u8 = 12;
const OUTER_FUTURE: u8 = 13;

impl Mark {
    /// Returns the code of the mark, without its number.
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
            Mark::Split => 11,
            Mark::OuterSpawn(_) => OUTER_SPAWN,
            Mark::OuterFuture(_) => OUTER_FUTURE,
        }
    }

    /// Returns the number of the mark, if it has one.
    pub(crate) fn number(self) -> Option<u32> {
        match self {
            Mark::Got(number) | Mark::OuterSpawn(number) | Mark::OuterFuture(number) => {
                Some(number)
            }
            _ => None,
        }
    }

    /// Returns the mark with this code, if there is one. `number` returns the number of a mark that has one.
    pub(crate) fn from_code(code: u8, number: impl FnOnce() -> Option<u32>) -> Option<Mark> {
        Some(match code {
            0 => Mark::Join,
            1 => Mark::Second,
            2 => Mark::Joined,
            3 => Mark::Finish,
            4 => Mark::Spawn,
            5 => Mark::Spawned,
            6 => Mark::Future,
            7 => Mark::FutureDone,
            GOT => Mark::Got(number()?),
            9 => Mark::Finished,
            10 => Mark::End,
            11 => Mark::Split,
            OUTER_SPAWN => Mark::OuterSpawn(number()?),
            OUTER_FUTURE => Mark::OuterFuture(number()?),
            _ => return None,
        })
    }

    /// Returns whether this mark begins a join, spawn or future, which all count as one task.
    pub(crate) fn is_task(self) -> bool {
        matches!(self, Mark::Join) || self.is_spawn() || self.is_future()
    }

    /// Returns whether this mark begins a spawned task.
    pub(crate) fn is_spawn(self) -> bool {
        matches!(self, Mark::Spawn | Mark::OuterSpawn(_))
    }

    /// Returns whether this mark begins the task of a future.
    pub(crate) fn is_future(self) -> bool {
        matches!(self, Mark::Future | Mark::OuterFuture(_))
    }
}
