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
//!   takes some microseconds. So if the last item came at once, and the worker has no tasks on its own stack, the part
//!   takes the next one without. If the iterator blocks then, the tasks of all other workers still run; work
//!   from outside of the pool is the matter of [`rescue`](crate::pool).
//! - A part that finds the lock taken for some time ends. Its worker looks for other work, and gets a new part if the
//!   iterator becomes fast. So at most one worker waits for the iterator.
//! - A part takes its item before the loop looks whether a thief asks for work. So while it runs a long body, a
//!   thief has a part, too.

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
    Bridged::part(Arc::new(Mutex::new(Some(iterator.into_iter()))))
}

/// The items of an iterator, from [`bridge`].
pub struct Bridged<I: Iterator> {
    /// The iterator, until it has ended.
    iterator: Arc<Mutex<Option<I>>>,
    /// The item for the next iteration.
    next: Cell<Option<I::Item>>,
    /// Whether the loop has asked whether there are any items. The first answer is yes.
    has_begun: Cell<bool>,
    is_fast: Cell<bool>,
}

impl<I: Iterator> Bridged<I> {
    fn part(iterator: Arc<Mutex<Option<I>>>) -> Self {
        Bridged {
            iterator,
            next: Cell::new(None),
            has_begun: Cell::new(false),
            is_fast: Cell::new(false),
        }
    }

    /// Takes an item. Returns `None` if there are no more, or if another part is waiting for one.
    fn take(&self) -> Option<I::Item> {
        match self.is_fast.get() && !has_tasks() {
            true => self.take_now(),
            false => blocking(|| self.take_now()),
        }
    }

    fn take_now(&self) -> Option<I::Item> {
        let start = Instant::now();
        let mut iterator = self.lock(start)?;
        let item = iterator.as_mut()?.next();
        self.is_fast.set(start.elapsed() < FAST);
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

    fn remaining(&self) -> usize {
        // The worker that splits a part off asks first, and the part takes no item before it has its own worker.
        if self.has_begun.replace(true) {
            let next = self.next.take().or_else(|| self.take());
            let has_ended = next.is_none();
            self.next.set(next);
            if has_ended {
                return 0;
            }
        }
        usize::MAX
    }

    fn split_at(self, _: usize) -> (Self, Self) {
        let back = Bridged::part(Arc::clone(&self.iterator));
        (self, back)
    }

    fn strip(&mut self, len: usize) -> Taking<'_, I> {
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
        let item = self.part.next.take().or_else(|| self.part.take());
        if item.is_none() {
            self.left = 0;
        }
        item
    }
}
