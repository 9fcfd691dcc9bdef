//! Loops as splittable tasks: [`Loop`].

use purloin_kernels::loops::Timed;

use super::{Step, Workload};
use crate::Time;

/// A parallel loop, as in the kernel `loops`. A worker runs its iterations in strips, and can split the
/// rest between two strips.
///
/// Source: Channel (splittable tasks).
#[derive(Clone, Copy, Debug)]
pub struct Loop(pub &'static Timed);

/// The number of iterations of a strip, if they take no less than [`LEAST`] and no longer than about [`MOST`],
/// as in the library's loops.
const STRIP: u64 = 128;
/// In nanoseconds.
const LEAST: u64 = 100;
/// In nanoseconds.
const MOST: u64 = 10_000;

/// Iterations that have not run.
#[derive(Clone, Copy, Debug)]
pub struct Iterations {
    next: u64,
    end: u64,
}

impl Workload for Loop {
    type Activation = Iterations;

    fn root(&self) -> Iterations {
        Iterations {
            next: 0,
            end: self.0.count,
        }
    }

    fn next(&self, rest: &mut Iterations, _: u64) -> Step<Iterations> {
        if rest.next == rest.end {
            return Step::End;
        }
        let (mut nanoseconds, first) = (0, rest.next);
        let is_short =
            |count, nanoseconds| nanoseconds < MOST && (count < STRIP || nanoseconds < LEAST);
        while rest.next < rest.end && is_short(rest.next - first, nanoseconds) {
            nanoseconds += self.0.nanoseconds(rest.next);
            rest.next += 1;
        }
        Step::Work(Time::from_nanoseconds(nanoseconds))
    }

    fn split(
        &self,
        rest: &mut Iterations,
        share: impl FnOnce(usize) -> usize,
    ) -> Option<Iterations> {
        let count = rest.end - rest.next;
        if count < 2 {
            return None;
        }
        let end = rest.end;
        rest.end -= share(count as usize) as u64;
        Some(Iterations {
            next: rest.end,
            end,
        })
    }
}
