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
//! - A part that finds the lock taken for some time ends, if another one goes on (`runtime/shared_loop.rs`). So at most
//!   one worker waits for the iterator.

use std::cell::Cell;
use std::fmt;
use std::option;
use std::sync::{Arc, TryLockError};

use super::{IntoIterations, Iterations};
use crate::stats::clock::ticks;
use crate::sync::plain::{AtomicBool, Mutex, MutexGuard, Ordering};
use crate::sync::spin_loop;
use crate::this_thread::{blocking, must_hand_off};
use crate::tunables;

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
    Bridged::part(Arc::new(Source {
        iterator: Mutex::new(Some(iterator.into_iter())),
        has_ended: AtomicBool::new(false),
    }))
}

/// The items of an iterator, from [`bridge`].
pub struct Bridged<I: Iterator> {
    source: Arc<Source<I>>,
    /// The item for the next iteration.
    next: Cell<Option<I::Item>>,
    /// Whether the last item came at once.
    is_fast: Cell<bool>,
}

/// The iterator behind all parts of a loop.
struct Source<I> {
    /// The iterator, until it has ended.
    iterator: Mutex<Option<I>>,
    /// Whether it has ended or panicked. Relaxed: a part that misses it asks once more.
    has_ended: AtomicBool,
}

/// Sets a flag when it is dropped, in the course of a panic.
struct SetOnDrop<'f>(&'f AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<I: Iterator> Bridged<I> {
    fn part(source: Arc<Source<I>>) -> Self {
        Bridged {
            source,
            next: Cell::new(None),
            is_fast: Cell::new(false),
        }
    }

    /// Takes an item. Returns `None` if there are no more, or if another part is waiting for one.
    fn take(&self) -> Option<I::Item> {
        match self.is_fast.get() && !must_hand_off() {
            _ if self.has_ended() => None,
            true => self.take_now(),
            false => blocking(|| self.take_now()),
        }
    }

    fn take_now(&self) -> Option<I::Item> {
        let start = ticks();
        let mut iterator = self.lock(start)?;
        // Not the lock's poison: virtual cores share one panic count, so there it also tells of panics of other threads.
        let ends = SetOnDrop(&self.source.has_ended);
        let item = iterator.as_mut().and_then(Iterator::next);
        std::mem::forget(ends);
        self.is_fast
            .set(ticks().wrapping_sub(start) < tunables::FAST_ITEM.get());
        if item.is_none() {
            self.source.has_ended.store(true, Ordering::Relaxed);
            // Its destructor is the program's, and may take its time.
            let ended = iterator.take();
            drop(iterator);
            drop(ended);
        }
        item
    }

    fn has_ended(&self) -> bool {
        self.source.has_ended.load(Ordering::Relaxed)
    }

    /// Returns `None` if another part holds the lock, or if the iterator has panicked.
    fn lock(&self, start: u64) -> Option<MutexGuard<'_, Option<I>>> {
        loop {
            match self.source.iterator.try_lock() {
                // No part asks an iterator that has panicked.
                Ok(_) | Err(TryLockError::Poisoned(_)) if self.has_ended() => return None,
                Ok(iterator) => return Some(iterator),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock)
                    if ticks().wrapping_sub(start) > tunables::FAST_ITEM.get() =>
                {
                    return None;
                }
                Err(TryLockError::WouldBlock) => (0..16).for_each(|_| spin_loop()),
            }
        }
    }
}

impl<I: Iterator<Item: Send> + Send> Iterations for Bridged<I> {
    type Item = I::Item;
    type Strip<'s>
        = option::IntoIter<I::Item>
    where
        Self: 's;

    const IS_ORDERED: bool = false;

    /// Takes an item, unless the part has one.
    fn remaining(&self) -> usize {
        if self.own() == 0 {
            self.next.set(self.take());
        }
        self.own()
    }

    fn own(&self) -> usize {
        let next = self.next.take();
        let own = usize::from(next.is_some());
        self.next.set(next);
        own
    }

    fn is_open(&self) -> bool {
        !self.has_ended()
    }

    fn split_at(self, _: usize) -> (Self, Self) {
        let back = Bridged::part(Arc::clone(&self.source));
        (self, back)
    }

    fn strip(&mut self, len: usize) -> option::IntoIter<I::Item> {
        let item = match len {
            0 => None,
            _ => self.next.take(),
        };
        item.into_iter()
    }
}

into_iterations! {
    [I: Iterator<Item: Send> + Send] Bridged<I>,
}

impl<I: Iterator> fmt::Debug for Bridged<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridged").finish_non_exhaustive()
    }
}
