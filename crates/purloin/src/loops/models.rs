//! Loom models of loops whose parts share their iterations, each in a whole pool.

use std::cell::Cell;
use std::option;
use std::sync::Arc;

use super::{IntoIterations, Iterations};
use crate::Worker;
use crate::pool::models::{Meeting, check};
use crate::sync::{AtomicBool, AtomicUsize, Ordering, spin_loop};

/// Shared numbers from 0, as those of a [`bridge`](super::bridge()). A part that finds that another
/// part is asking does not wait.
struct Numbers {
    source: Arc<Source>,
    item: Cell<Option<usize>>,
}

struct Source {
    /// Whether a part is asking. Acquired and released, as a lock.
    is_taken: AtomicBool,
    next: AtomicUsize,
    /// The number of times that a part found another part asking.
    refused: AtomicUsize,
    /// Whether the numbers have ended. Relaxed, as in a bridge.
    has_ended: AtomicBool,
    end: usize,
    /// The number that the source withholds until it has refused a part.
    late: Option<usize>,
}

impl Numbers {
    fn below(end: usize, late: Option<usize>) -> Numbers {
        Numbers::part(Arc::new(Source {
            is_taken: AtomicBool::new(false),
            next: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
            end,
            late,
        }))
    }

    fn part(source: Arc<Source>) -> Numbers {
        Numbers {
            source,
            item: Cell::new(None),
        }
    }

    fn take(&self) -> Option<usize> {
        let source = &*self.source;
        if !self.is_open() {
            return None;
        }
        let taken = &source.is_taken;
        let took = taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        if took.is_err() {
            source.refused.fetch_add(1, Ordering::Relaxed);
            spin_loop();
            return None;
        }
        let item = source.next.load(Ordering::Relaxed);
        while source.late == Some(item) && source.refused.load(Ordering::Relaxed) == 0 {
            spin_loop();
        }
        let is_there = item < source.end;
        match is_there {
            true => source.next.store(item + 1, Ordering::Relaxed),
            false => source.has_ended.store(true, Ordering::Relaxed),
        }
        source.is_taken.store(false, Ordering::Release);
        is_there.then_some(item)
    }
}

impl Iterations for Numbers {
    type Item = usize;
    type Strip<'s> = option::IntoIter<usize>;

    const IS_ORDERED: bool = false;

    fn remaining(&self) -> usize {
        if self.own() == 0 {
            self.item.set(self.take());
        }
        self.own()
    }

    fn own(&self) -> usize {
        usize::from(self.item.get().is_some())
    }

    fn is_open(&self) -> bool {
        !self.source.has_ended.load(Ordering::Relaxed)
    }

    fn split_at(self, _: usize) -> (Self, Self) {
        let back = Numbers::part(Arc::clone(&self.source));
        (self, back)
    }

    fn strip(&mut self, len: usize) -> option::IntoIter<usize> {
        let item = match len {
            0 => None,
            _ => self.item.take(),
        };
        item.into_iter()
    }
}

into_iterations! {
    [] Numbers,
}

/// The body of the first number ends only when that of the second one has begun.
#[test]
fn a_body_holds_up_no_other_items() {
    check(2, 0, 0, |pool| {
        let meeting = Meeting::new();
        pool.run(|mut w| w.for_each(Numbers::below(2, None), |_| meeting.of(2)));
        assert_eq!(meeting.came(), 2);
    });
}

/// A part that is refused while another part asks for the second number may end. Some part still goes on to the third
/// number.
#[test]
fn a_part_that_finds_another_one_asking_leaves_one_that_goes_on() {
    check(2, 0, 0, |pool| {
        let meeting = Meeting::new();
        pool.run(|mut w| {
            w.for_each(Numbers::below(3, Some(1)), |number| {
                if number > 0 {
                    meeting.of(2);
                }
            })
        });
        assert_eq!(meeting.came(), 2);
    });
}

/// Each of two parts has a number in its sum.
#[test]
fn the_parts_add_up() {
    check(2, 0, 0, |pool| {
        let meeting = Meeting::new();
        let bit = |number| {
            meeting.of(2);
            1 << number
        };
        let sum = pool.run(|mut w| w.map_reduce(Numbers::below(2, None), bit, |a, b| a + b));
        assert_eq!(sum, Some(3));
    });
}
