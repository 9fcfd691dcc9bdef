//! Memory for each worker: [`PerWorker`].

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::shards::Shards;
use crate::sync::plain::{Mutex, lock};

/// A value for each worker that uses it: a buffer, a counter, a large accumulator.
///
/// A value is made when a worker first uses it. One body at a time has it: if a body runs another loop inside of
/// [`with`](Self::with), and its thread begins another body there, that one gets a value of its own. So there is at most
/// one value for each thread that uses any, and one more for each level of nesting. [Spare
/// workers](crate::Builder::spare_workers) are threads, too. After the loop, the program goes over all values.
///
/// ```
/// use purloin::{PerWorker, prelude::*};
///
/// let text = "steal pilfer purloin";
/// let counts = PerWorker::new(|| [0; 256]);
/// text.as_bytes().par().for_each_init(|| counts.take(), |counts, &byte| counts[usize::from(byte)] += 1);
/// let histogram = counts.into_iter().reduce(|mut sum, counts| {
///     sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
///     sum
/// });
/// assert_eq!(histogram.unwrap()[usize::from(b'l')], 3);
/// ```
///
/// Threads outside of any pool may use it, too. If a body panics, its value stays as the body left it.
///
/// The function that makes the values may borrow for `'f`. If it borrows nothing, a field, a result or an alias has the
/// type `PerWorker<'static, T>`.
pub struct PerWorker<'f, T> {
    init: Box<dyn Fn() -> T + Send + Sync + 'f>,
    /// The values that nobody uses, in stacks. A thread puts its value where it looks for it next time.
    free: Shards<Mutex<Vec<Box<T>>>>,
}

impl<'f, T: Send> PerWorker<'f, T> {
    /// Returns a `PerWorker` without values. `init` makes each of them. Both may borrow.
    ///
    /// ```
    /// use std::collections::HashMap;
    ///
    /// use purloin::{PerWorker, prelude::*};
    ///
    /// let text = String::from("to be or not to be");
    /// let counts = PerWorker::new(HashMap::<&str, u32>::new);
    /// let words = purloin::words(&text);
    /// words.into_par().for_each_init(|| counts.take(), |counts, word| *counts.entry(word).or_default() += 1);
    /// let be: u32 = counts.into_iter().filter_map(|counts| counts.get("be").copied()).sum();
    /// assert_eq!(be, 2);
    /// ```
    pub fn new(init: impl Fn() -> T + Send + Sync + 'f) -> Self {
        PerWorker {
            init: Box::new(init),
            free: Shards::default(),
        }
    }

    /// Calls `f` with a value that nobody else uses meanwhile. This takes some 30 ns. To keep the value for many
    /// items of a loop, call [`take`](Self::take) in a
    /// [`for_each_init`](crate::iter::Par::for_each_init), as above.
    ///
    /// ```
    /// use purloin::{PerWorker, prelude::*};
    ///
    /// let longest = PerWorker::new(|| 0);
    /// ["a", "bcd", "ef"].par().for_each(|word| {
    ///     longest.with(|longest| *longest = word.len().max(*longest));
    /// });
    /// assert_eq!(longest.into_iter().max(), Some(3));
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `f` panics, or `init`.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.take())
    }

    /// Returns a value that nobody else uses until the result is dropped.
    ///
    /// # Panics
    ///
    /// Panics if `init` panics.
    pub fn take(&self) -> Lent<'_, T> {
        // The lock is open again before `init` runs.
        let place = self.free.own_place();
        let free = lock(self.free.get(place)).pop();
        Lent {
            place,
            value: Some(free.unwrap_or_else(|| Box::new((self.init)()))),
            home: self,
        }
    }

    /// Returns an iterator over the values, in no particular order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let stacks = self.free.iter_mut().map(|stack| stack.get_mut());
        // None of our code panics while it holds a lock.
        let values =
            stacks.flat_map(|stack| stack.unwrap_or_else(|poisoned| poisoned.into_inner()));
        values.map(|value| &mut **value)
    }

    /// Removes all values, and returns them, in no particular order.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        let stacks = self
            .free
            .iter_mut()
            .map(|stack| std::mem::take(&mut *lock(stack)));
        let values: Vec<Box<T>> = stacks.flatten().collect();
        values.into_iter().map(|value| *value)
    }
}

impl<'f, T: Send + Default + 'f> Default for PerWorker<'f, T> {
    fn default() -> Self {
        PerWorker::new(T::default)
    }
}

impl<T> fmt::Debug for PerWorker<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerWorker").finish_non_exhaustive()
    }
}

impl<T: Send> IntoIterator for PerWorker<'_, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    /// Returns the values, in no particular order.
    fn into_iter(mut self) -> Self::IntoIter {
        self.drain().collect::<Vec<T>>().into_iter()
    }
}

/// A value of a [`PerWorker`] that nobody else uses, from [`PerWorker::take`]. When this is dropped, the value can be
/// used again.
pub struct Lent<'p, T: Send> {
    /// `None` only when this is dropped.
    value: Option<Box<T>>,
    home: &'p PerWorker<'p, T>,
    /// Where the value is put back, also by another thread.
    place: usize,
}

impl<T: Send> Deref for Lent<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
            .as_ref()
            .expect("the value is there until the drop")
    }
}

impl<T: Send> DerefMut for Lent<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value
            .as_mut()
            .expect("the value is there until the drop")
    }
}

impl<T: Send> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            lock(self.home.free.get(self.place)).push(value);
        }
    }
}

impl<T: Send + fmt::Debug> fmt::Debug for Lent<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lent").field(&**self).finish()
    }
}
