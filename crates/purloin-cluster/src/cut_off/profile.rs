//! Durations of tasks, collected by depth: [`Profile`].

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;
use crate::options::Profiling;
use crate::transport::{NODE_MEMORY, Window, World};

/// The number of entries of the profile: one for each depth below 64, and eight for each doubling
/// above. See [`entry`].
pub const DEPTHS: usize = EXACT + STEPS * (u32::BITS - EXACT.ilog2()) as usize;

/// The depths below this number have an entry of their own.
const EXACT: usize = 64;

/// The entries for each doubling of greater depths.
const STEPS: usize = 8;

/// Returns the entry of a depth. Depths above 63 share an entry if they differ by less than an eighth.
/// So a tree that is thousands of levels deep has its own estimates near the root, in the middle and
/// near the leaves.
#[inline(always)]
pub fn entry(depth: u32) -> usize {
    if (depth as usize) < EXACT {
        return depth as usize;
    }
    let doubling = depth.ilog2();
    let step = (depth >> (doubling - STEPS.ilog2())) as usize % STEPS;
    EXACT + STEPS * (doubling - EXACT.ilog2()) as usize + step
}

/// The durations of tasks of one depth.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Durations {
    /// The number of tasks that were timed.
    tasks: u64,
    /// The sum of their durations, in nanoseconds.
    work: u64,
}

/// For each depth, the number of timed tasks and the sum of their durations.
type Shared = [[AtomicU64; 2]; DEPTHS];

/// The place where the durations are collected.
enum Place {
    /// In memory that the ranks of a node share.
    Node(*const Shared),
    /// On each rank separately. This is the fallback if MPI cannot share memory.
    Rank,
    /// In rank 0's part of a window.
    Rank0(Window),
}

/// Durations of tasks of all depths, collected by several ranks.
pub struct Profile {
    place: Place,
    /// This rank's copy of the durations.
    durations: [Durations; DEPTHS],
}

impl Profile {
    /// Creates an empty profile. All ranks must call this function.
    pub fn new(world: &Rc<World>, profiling: Profiling) -> Result<Profile, Error> {
        const LEN: usize = size_of::<Shared>();
        const { assert!(LEN <= NODE_MEMORY) };
        let place = match profiling {
            Profiling::Local => match world.node_memory() {
                Some(base) => Place::Node(base.cast()),
                None => Place::Rank,
            },
            Profiling::Global => Place::Rank0(Window::allocate(world, LEN)?),
        };
        Ok(Profile {
            place,
            durations: [Durations::default(); DEPTHS],
        })
    }

    /// Creates an empty profile for one rank alone.
    #[cfg(test)]
    pub fn of_one_rank() -> Profile {
        Profile {
            place: Place::Rank,
            durations: [Durations::default(); DEPTHS],
        }
    }

    /// Returns, from this rank's copy, the number of timed tasks of a depth and their mean
    /// duration in nanoseconds.
    pub fn mean(&self, depth: usize) -> (u64, u64) {
        let Durations { tasks, work } = self.durations[depth];
        (tasks, work.checked_div(tasks).unwrap_or(0))
    }

    /// Returns whether [`refresh`](Profile::refresh) is cheap, which means without a message.
    pub fn is_local(&self) -> bool {
        !matches!(self.place, Place::Rank0(_))
    }

    /// Updates this rank's copy of a depth with the durations that other ranks have collected.
    pub fn refresh(&mut self, depth: usize) {
        self.add(depth, Durations::default());
    }

    /// Records that a task of this depth took `work` nanoseconds.
    pub fn record(&mut self, depth: usize, work: u64) {
        self.add(depth, Durations { tasks: 1, work });
    }

    fn add(&mut self, depth: usize, more: Durations) {
        self.durations[depth] = match &self.place {
            Place::Node(base) => {
                // SAFETY: `World::node_memory` returns memory of at least this size, filled
                // with zeros, that lives until MPI is finalized. All ranks access it with
                // atomic operations only.
                let [tasks, work] = unsafe { &(**base)[depth] };
                // Release and Acquire: a rank that sees another rank's task in the count also sees that
                // task's work in the sum. So the mean may be too high for a moment, but a task never
                // counts without its work.
                let tasks = match more.tasks {
                    0 => tasks.load(Ordering::Acquire),
                    count => {
                        work.fetch_add(more.work, Ordering::Relaxed);
                        tasks.fetch_add(count, Ordering::AcqRel) + count
                    }
                };
                let work = work.load(Ordering::Relaxed);
                Durations { tasks, work }
            }
            Place::Rank => {
                let Durations { tasks, work } = self.durations[depth];
                Durations {
                    tasks: tasks + more.tasks,
                    work: work + more.work,
                }
            }
            Place::Rank0(window) => {
                let values = [more.tasks, more.work];
                let mut before = [0; 2];
                let offset = depth * size_of_val(&values);
                // SAFETY: both arrays live on this stack frame until `wait` returns below.
                let transfer =
                    unsafe { window.add(0, offset, values.as_ptr(), before.as_mut_ptr(), 2) };
                transfer.wait(window.world());
                Durations {
                    tasks: before[0] + more.tasks,
                    work: before[1] + more.work,
                }
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_above_63_have_entries_of_their_own() {
        for depth in 0..64 {
            assert_eq!(entry(depth), depth as usize);
        }
        // The levels of UTS's tree T3 near the root, in the middle and near the leaves.
        let entries = [64, 71, 72, 127, 128, 800, 1572, u32::MAX].map(entry);
        assert_eq!(entries, [64, 64, 65, 71, 72, 92, 100, DEPTHS - 1]);
        assert!((0..100_000).all(|depth| entry(depth) <= entry(depth + 1)));
    }
}
