//! What programs do: [`Mark`].

/// What ends a strand: a stretch of a program without parallelism in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Mark {
    /// A join begins, with its first closure.
    Join,
    /// The first closure of a join ends, the second begins.
    Second,
    /// The second closure ends, and with it the join.
    Joined,
    /// A finish begins.
    Finish,
    /// A task is spawned, and begins.
    Spawn,
    /// A spawned task ends; the spawner goes on.
    Spawned,
    /// A future is made, and its task begins.
    Future,
    /// The task of a future ends; who made it goes on.
    FutureDone,
    /// A future is got: the one of this number, from 0 on.
    Got(u32),
    /// The body of a finish ends, and with it the finish.
    Finished,
    /// The program ends.
    End,
}

/// How many codes there may be.
pub(crate) const CODES: u64 = 16;

/// The code of [`Mark::Got`].
const GOT: u8 = 8;

impl Mark {
    /// What stands for it where every byte counts.
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

    /// What has this code, if anything has. `got` says which future it is, if it needs that.
    pub(crate) fn of(code: u8, got: impl FnOnce() -> Option<u32>) -> Option<Mark> {
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

    /// Whether a task begins here.
    pub(crate) fn is_task(self) -> bool {
        matches!(self, Mark::Join | Mark::Spawn | Mark::Future)
    }
}
