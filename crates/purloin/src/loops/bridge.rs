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
//! - A part that finds the lock taken for some time ends. Its worker looks for other work, and gets a new part if the
//!   iterator becomes fast. So at most one worker waits for the iterator. No item is left behind: a part that has the
//!   lock goes on.
//! - A part takes its item before the loop looks whether a thief asks for work. So while it runs a long body, a
//!   thief has a part, too. For the same reason a strip ends after a long body.
//!
//! # The stack
//!
//! A split nests: the worker that splits runs its own part in a closure of a join, to its end. A part of other loops
//! becomes shorter by each split, so there are few. Here, a thief may get a part, end it because the iterator waits, and
//! ask again, for each item. So after [`MAX_DEPTH`] nested splits all parts **end**, and the first part, at the
//! beginning of the loop, goes on alone ([`Iterations::again`]). A driver of loops that does not know this gets no part
//! from a part at that depth.

use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, TryLockError};
use std::time::Duration;

use super::{IntoIterations, Iterations};
use crate::pool::{blocking, has_tasks};
use crate::sync::plain::{AtomicBool, Mutex, MutexGuard, Ordering};
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
    let source = Source {
        iterator: Mutex::new(Some(iterator.into_iter())),
        is_renewed: AtomicBool::new(false),
        ends: AtomicBool::new(false),
    };
    Bridged::part(Arc::new(source), 0)
}

/// The items of an iterator, from [`bridge`].
pub struct Bridged<I: Iterator> {
    source: Arc<Source<I>>,
    /// Number of splits around this part.
    depth: u32,
    /// The item for the next iteration.
    next: Cell<Option<I::Item>>,
    /// Whether the loop has asked whether there are any items. The first answer is yes.
    has_begun: Cell<bool>,
    /// Whether the last item came at once.
    is_fast: Cell<bool>,
    /// Whether the part has found the lock taken since the loop has last asked.
    has_given_up: Cell<bool>,
    /// When the part has taken its last item.
    last: Cell<Option<Instant>>,
}

struct Source<I> {
    /// The iterator, until it has ended.
    iterator: Mutex<Option<I>>,
    /// Whether the first part goes on when all parts have ended.
    is_renewed: AtomicBool,
    /// Whether all parts end, so that the first part goes on.
    ends: AtomicBool,
}

impl<I: Iterator> Bridged<I> {
    fn part(source: Arc<Source<I>>, depth: u32) -> Self {
        Bridged {
            source,
            depth,
            next: Cell::new(None),
            has_begun: Cell::new(false),
            is_fast: Cell::new(false),
            has_given_up: Cell::new(false),
            last: Cell::new(None),
        }
    }

    /// Takes an item. Returns `None` if there are no more, if another part is waiting for one, or if this part ends.
    fn take(&self) -> Option<I::Item> {
        if self.has_given_up.get() || self.ends() {
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

    /// Returns `None` if another part holds the lock, or if the iterator has panicked.
    fn lock(&self, start: Instant) -> Option<MutexGuard<'_, Option<I>>> {
        loop {
            match self.source.iterator.try_lock() {
                Ok(iterator) => return Some(iterator),
                Err(TryLockError::Poisoned(_)) => return None,
                Err(TryLockError::WouldBlock) if start.elapsed() > FAST => return None,
                Err(TryLockError::WouldBlock) => (0..16).for_each(|_| spin_loop()),
            }
        }
    }

    /// Returns whether the part ends, so that the first part goes on.
    fn ends(&self) -> bool {
        // Relaxed: a part that misses it sees it at its next item, and the joins order the parts.
        self.depth > 0 && self.source.ends.load(Ordering::Relaxed)
    }
}

impl<I: Iterator<Item: Send> + Send> Iterations for Bridged<I> {
    type Item = I::Item;
    type Strip<'s>
        = Taking<'s, I>
    where
        Self: 's;

    fn remaining(&self) -> usize {
        // The worker that splits a part off asks first, and the part takes no item before it has its own worker.
        if self.has_begun.replace(true) {
            if self.depth == 0 {
                // All other parts have ended, or there were none.
                self.source.ends.store(false, Ordering::Relaxed);
            }
            self.has_given_up.set(false);
            let next = self.next.take().or_else(|| self.take());
            let has_ended = next.is_none();
            self.next.set(next);
            if has_ended {
                return 0;
            }
        }
        match self.depth < MAX_DEPTH {
            true => usize::MAX,
            // Too few to split.
            false => 1,
        }
    }

    fn split_at(self, _: usize) -> (Self, Self) {
        let Bridged { source, depth, .. } = &self;
        let depth = depth + 1;
        if depth == MAX_DEPTH && source.is_renewed.load(Ordering::Relaxed) {
            source.ends.store(true, Ordering::Relaxed);
        }
        let back = Bridged::part(Arc::clone(source), depth);
        (Bridged { depth, ..self }, back)
    }

    fn again(&self) -> Option<Self> {
        (self.depth == 0).then(|| {
            self.source.is_renewed.store(true, Ordering::Relaxed);
            let again = Bridged::part(Arc::clone(&self.source), 0);
            // Its worker asks only when all other parts have ended.
            again.has_begun.set(true);
            again
        })
    }

    fn strip(&mut self, len: usize) -> Taking<'_, I> {
        self.last.set(None);
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
            false => part.next.take().or_else(|| part.take()),
        };
        if item.is_none() {
            self.left = 0;
        }
        item
    }
}
