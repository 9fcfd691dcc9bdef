//! What tasks of each level take: [`Profile`].

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;
use crate::options::Profiling;
use crate::transport::{SHARED, Window, World};

/// How many levels are told apart. Those that are deeper count as the last.
pub const LEVELS: usize = 64;

/// The times of one level.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Level {
    /// How many tasks, and what they have taken together, in nanoseconds.
    tasks: u64,
    work: u64,
}

/// For each level the number of tasks, and what they have taken.
type Shared = [[AtomicU64; 2]; LEVELS];

/// Where the times are collected.
enum Place {
    /// In memory that the ranks of a node share.
    Node(*const Shared),
    /// On each rank by itself, where MPI has no such memory.
    Rank,
    /// In the first rank's part of a window.
    First(Window),
}

/// The times of all levels, collected by several ranks.
pub struct Profile {
    place: Place,
    /// What this rank knows of it.
    levels: [Level; LEVELS],
}

impl Profile {
    /// Makes one, on all ranks together.
    pub fn new(world: &Rc<World>, profiling: Profiling) -> Result<Profile, Error> {
        const LEN: usize = size_of::<Shared>();
        const { assert!(LEN <= SHARED) };
        let place = match profiling {
            Profiling::Local => match world.share_with_node() {
                Some(base) => Place::Node(base.cast()),
                None => Place::Rank,
            },
            Profiling::Global => Place::First(Window::allocate(world, LEN)?),
        };
        Ok(Profile {
            place,
            levels: [Level::default(); LEVELS],
        })
    }

    /// How many times of this level are known here, and their mean.
    pub fn level(&self, level: usize) -> (u64, u64) {
        let Level { tasks, work } = self.levels[level];
        (tasks, work.checked_div(tasks).unwrap_or(0))
    }

    /// Whether it costs nothing to look at.
    pub fn is_near(&self) -> bool {
        !matches!(self.place, Place::First(_))
    }

    /// Takes over what others have collected of a level.
    pub fn look(&mut self, level: usize) {
        self.add(level, Level::default());
    }

    /// A task of this level has taken so many nanoseconds.
    pub fn learn(&mut self, level: usize, work: u64) {
        self.add(level, Level { tasks: 1, work });
    }

    fn add(&mut self, level: usize, more: Level) {
        let before = match &self.place {
            Place::Node(base) => {
                // SAFETY: the memory is as long as the job, and zero at first.
                let [tasks, work] = unsafe { &(**base)[level] };
                // Relaxed: the two numbers may be of different moments.
                let get = |number: &AtomicU64, more| match more {
                    0 => number.load(Ordering::Relaxed),
                    more => number.fetch_add(more, Ordering::Relaxed),
                };
                Level {
                    tasks: get(tasks, more.tasks),
                    work: get(work, more.work),
                }
            }
            Place::Rank => self.levels[level],
            Place::First(window) => {
                let values = [more.tasks, more.work];
                let mut before = [0; 2];
                let offset = level * size_of_val(&values);
                // SAFETY: both live until the transfer has ended.
                let transfer =
                    unsafe { window.add(0, offset, values.as_ptr(), before.as_mut_ptr(), 2) };
                transfer.wait(window.world());
                Level {
                    tasks: before[0],
                    work: before[1],
                }
            }
        };
        self.levels[level] = Level {
            tasks: before.tasks + more.tasks,
            work: before.work + more.work,
        };
    }
}
