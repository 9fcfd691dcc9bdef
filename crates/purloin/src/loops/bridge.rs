//! Loops over the items of a plain iterator, whose number nobody knows: a channel, the lines of a reader.
//!
//! All parts of the loop share the iterator, behind a lock. A part takes one item at a time, and runs its body without
//! the lock. So a part never waits for an item while it has another, and a body may cause the next item.
//!
//! # An iterator that blocks
//!
//! The iterator may wait for its next item, and that may come from a task of the same pool:
//!
//! - A part that takes an item counts as [`blocking`](crate::blocking()), so that a spare worker runs the task. This
//!   takes some microseconds. So if the last item came at once, and no work that this thread knows of waits for a
//!   worker, the part takes the next one without. If the iterator blocks then, the tasks of all other workers still
//!   run; later work from outside of the pool is the matter of [`rescue`](crate::pool).
//! - A part that finds the lock taken for some time ends. Its worker looks for other work, unless it waits for the other
//!   part of a split, and gets a new part if the iterator becomes fast. So at most one worker waits for the iterator. No
//!   item is left behind: a part that has the lock goes on.
//! - A part takes its item before the loop looks whether a thief asks for work. So while it runs a long body, a
//!   thief has a part, too. For the same reason a strip ends after a long body.
//!
//! # The stack
//!
//! A split nests: the worker that splits runs its own part in a closure of a join, to its end. A part of other loops
//! becomes shorter by each split, so there are few. Here, a thief may get a part, end it because the iterator waits, and
//! ask again, for each item. So a part is **renewed**: when both parts of a split have ended, their worker goes on with
//! a part of the old depth ([`Iterations::again`]). And a part at [`MAX_DEPTH`] soon ends: after its first block. A driver
//! of loops that does not renew parts, or a chain of several iterators, gets no further part from one at that depth.

use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, TryLockError};
use std::time::Duration;

use super::{IntoIterations, Iterations};
use crate::pool::{blocking, has_tasks};
use crate::sync::plain::{Mutex, MutexGuard};
use crate::sync::{Instant, spin_loop};

/// An iterator is fast if it has the next item within this time, and a part waits this long for the lock. It is the
/// cost of a call of [`blocking`].
const FAST: Duration = Duration::from_micros(5);

/// A strip ends after a body that takes longer.
const LONG: Duration = Duration::from_micros(10);

/// The number of nested splits of the parts of one loop.
const MAX_DEPTH: u32 = 32;

/// Returns the items of an iterator as the iterations of a loop, one part of which asks the iterator at a time. For
/// programs that are generic over their worker: `w.par(bridge(iterator))`. Others call
/// [`par_bridge`](crate::prelude::ParBridge::par_bridge), which has more about it.
///
/// ```
/// use purloin::{bridge, prelude::*};
///
/// let (send, receive) = std::sync::mpsc::channel();
/// [1, 2, 3].map(|n| send.send(n).unwrap());
/// drop(send);
/// assert_eq!(purloin::Serial.par(bridge(receive)).sum::<i32>(), 6);
/// ```
pub fn bridge<I>(iterator: I) -> Bridged<I::IntoIter>
where
    I: IntoIterator<Item: Send, IntoIter: Send>,
{
    let iterator = Arc::new(Mutex::new(Some(iterator.into_iter())));
    Bridged::part(iterator, 0, false)
}

/// The items of an iterator, from [`bridge`].
pub struct Bridged<I: Iterator> {
    /// The iterator, until it has ended.
    iterator: Arc<Mutex<Option<I>>>,
    /// Number of splits around this part.
    depth: u32,
    /// Whether a part goes on when this one has ended.
    is_temporary: bool,
    /// Whether the worker that splits this part will renew it.
    is_renewed: Cell<bool>,
    /// Whether the part has run any iterations.
    has_run: Cell<bool>,
    /// The item for the next iteration.
    next: Cell<Option<I::Item>>,
    /// Whether the loop has asked whether there are any items. The first answer is yes.
    has_begun: Cell<bool>,
    /// Whether the last item came at once.
    is_fast: Cell<bool>,
    /// Whether the part has found the lock taken since the loop has last asked.
    has_given_up: Cell<bool>,
    /// When the last body has begun.
    last: Cell<Option<Instant>>,
}

impl<I: Iterator> Bridged<I> {
    fn part(iterator: Arc<Mutex<Option<I>>>, depth: u32, is_temporary: bool) -> Self {
        Bridged {
            iterator,
            depth,
            is_temporary,
            is_renewed: Cell::new(false),
            has_run: Cell::new(false),
            next: Cell::new(None),
            has_begun: Cell::new(false),
            is_fast: Cell::new(false),
            has_given_up: Cell::new(false),
            last: Cell::new(None),
        }
    }

    /// Takes an item. Returns `None` if there are no more, or if another part is waiting for one.
    fn take(&self) -> Option<I::Item> {
        if self.has_given_up.get() {
            return None;
        }
        match self.is_fast.get() && !has_tasks() {
            true => self.take_now(),
            false => blocking(|| self.take_now()),
        }
    }

    fn take_now(&self) -> Option<I::Item> {
        let start = Instant::now();
        let Some(mut iterator) = self.lock(start) else {
            self.has_given_up.set(true);
            return None;
        };
        let item = iterator.as_mut()?.next();
        self.is_fast.set(start.elapsed() < FAST);
        self.last.set(Some(Instant::now()));
        if item.is_none() {
            // Its destructor is the program's, and may take its time.
            let ended = iterator.take();
            drop(iterator);
            drop(ended);
        }
        item
    }

    /// Returns whether no further part is split off.
    fn is_last(&self) -> bool {
        self.depth >= MAX_DEPTH
    }

    /// Returns `None` if another part holds the lock, or if the iterator has panicked.
    fn lock(&self, start: Instant) -> Option<MutexGuard<'_, Option<I>>> {
        loop {
            match self.iterator.try_lock() {
                Ok(iterator) => return Some(iterator),
                Err(TryLockError::Poisoned(_)) => return None,
                Err(TryLockError::WouldBlock) if start.elapsed() > FAST => return None,
                Err(TryLockError::WouldBlock) => (0..16).for_each(|_| spin_loop()),
            }
        }
    }
}

impl<I: Iterator<Item: Send> + Send> Iterations for Bridged<I> {
    type Item = I::Item;
    type Strip<'s>
        = Taking<'s, I>
    where
        Self: 's;

    const IS_ORDERED: bool = false;

    /// A loop looks at the clock, and at other things that may end it, after each strip.
    fn may_end_early(&self) -> bool {
        true
    }

    fn remaining(&self) -> usize {
        // The worker that splits a part off asks first, and the part takes no item before it has its own worker.
        if self.has_begun.replace(true) {
            let has_item = |next: &Option<_>| next.is_some();
            let next = self.next.take();
            let is_over = self.is_last() && self.is_temporary && self.has_run.get();
            self.has_given_up.set(false);
            let next = match has_item(&next) || is_over {
                true => next,
                false => self.take(),
            };
            let has_ended = !has_item(&next);
            self.next.set(next);
            if has_ended {
                return 0;
            }
        }
        match self.is_last() {
            false => usize::MAX,
            // Too few to split.
            true => 1,
        }
    }

    fn split_at(self, _: usize) -> (Self, Self) {
        let (depth, is_temporary) = (self.depth + 1, self.is_temporary || self.is_renewed.get());
        let back = Bridged::part(Arc::clone(&self.iterator), depth, is_temporary);
        let front = Bridged {
            depth,
            is_temporary,
            ..self
        };
        front.is_renewed.set(false);
        front.has_run.set(false);
        (front, back)
    }

    fn again(&self) -> Option<Self> {
        self.is_renewed.set(true);
        let again = Bridged::part(Arc::clone(&self.iterator), self.depth, self.is_temporary);
        // Its worker asks only when the parts of the split have ended.
        again.has_begun.set(true);
        Some(again)
    }

    fn strip(&mut self, len: usize) -> Taking<'_, I> {
        self.last.set(None);
        self.has_run.set(true);
        Taking {
            part: self,
            left: len,
        }
    }
}

impl<I: Iterator<Item: Send> + Send> IntoIterations for Bridged<I> {
    type Iterations = Self;
    type Item = I::Item;

    fn into_iterations(self) -> Self {
        self
    }
}

impl<I: Iterator> fmt::Debug for Bridged<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridged").finish_non_exhaustive()
    }
}

/// The next items of a part of a loop over an iterator.
pub struct Taking<'s, I: Iterator> {
    part: &'s Bridged<I>,
    left: usize,
}

impl<I: Iterator> Iterator for Taking<'_, I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.left = self.left.checked_sub(1)?;
        let part = self.part;
        let is_long = |last: Instant| last.elapsed() > LONG;
        let item = match part.last.get().is_some_and(is_long) {
            // The loop looks whether a thief asks for work.
            true => None,
            false => match part.next.take() {
                None => part.take(),
                first => {
                    part.last.set(Some(Instant::now()));
                    first
                }
            },
        };
        // After an item that was slow to come, the loop looks around, too.
        if item.is_none() || !part.is_fast.get() {
            self.left = 0;
        }
        item
    }
}
