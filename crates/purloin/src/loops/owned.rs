//! Loops over values that the loop owns: vectors and other collections.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::fmt;
use std::mem::{self, ManuallyDrop};
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use super::{ExactIterations, IntoIterations, Iterations, ReversibleIterations};

/// The elements of a vector, by value. An iteration receives its element; a loop that ends early
/// drops the others.
///
/// A vector becomes such iterations without a copy. An array or a map is copied into a vector
/// first.
pub struct Owned<T> {
    /// The elements of this part.
    items: NonNull<[ManuallyDrop<T>]>,
    /// The memory of the elements. The last part frees it.
    memory: Arc<Memory<T>>,
}

/// A vector without elements, which owns the memory of other elements.
struct Memory<T>(#[allow(dead_code, reason = "it is dropped")] Vec<ManuallyDrop<T>>);

// SAFETY: nothing can be reached through it.
unsafe impl<T> Send for Memory<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Memory<T> {}
// SAFETY: the part owns its elements, and no other part has them.
unsafe impl<T: Send> Send for Owned<T> {}

impl<T> Owned<T> {
    fn new(vec: Vec<T>) -> Self {
        let mut vec = ManuallyDrop::new(vec);
        let (start, len, capacity) = (vec.as_mut_ptr().cast(), vec.len(), vec.capacity());
        let items = NonNull::slice_from_raw_parts(NonNull::from(vec.as_mut_slice()).cast(), len);
        // SAFETY: these are the parts of a vector that is not dropped. `ManuallyDrop<T>` has the
        // layout of `T`.
        let memory = Memory(unsafe { Vec::from_raw_parts(start, 0, capacity) });
        Owned {
            items,
            memory: Arc::new(memory),
        }
    }

    /// Removes the elements from this part.
    fn take(&mut self) -> &mut [ManuallyDrop<T>] {
        let none = NonNull::slice_from_raw_parts(self.items.cast(), 0);
        // SAFETY: the part owns these elements, and they lie in memory that it keeps.
        unsafe { mem::replace(&mut self.items, none).as_mut() }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        drop(Taken(self.take().iter_mut()));
    }
}

impl<T> fmt::Debug for Owned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.items.len();
        f.debug_struct("Owned")
            .field("len", &len)
            .finish_non_exhaustive()
    }
}

impl<T: Send> Iterations for Owned<T> {
    type Item = T;
    type Strip<'s>
        = Taken<'s, T>
    where
        T: 's;

    const IS_EXACT: bool = true;

    #[inline]
    fn remaining(&self) -> usize {
        self.items.len()
    }

    fn split_at(mut self, index: usize) -> (Self, Self) {
        let (front, back) = self.take().split_at_mut(index);
        let (front, back) = (NonNull::from(front), NonNull::from(back));
        let part = |items| Owned {
            items,
            memory: Arc::clone(&self.memory),
        };
        (part(front), part(back))
    }

    #[inline]
    fn strip(&mut self, len: usize) -> Taken<'_, T> {
        // SAFETY: the part owns these elements, and they lie in memory that it keeps.
        let (strip, rest) = unsafe { self.items.as_mut() }.split_at_mut(len);
        self.items = NonNull::from(rest);
        Taken(strip.iter_mut())
    }
}

impl<T: Send> ReversibleIterations for Owned<T> {
    type Back<'s>
        = std::iter::Rev<Taken<'s, T>>
    where
        T: 's;

    fn strip_back(&mut self, len: usize) -> Self::Back<'_> {
        let rest = self.items.len() - len;
        // SAFETY: the part owns these elements, and they lie in memory that it keeps.
        let (rest, strip) = unsafe { self.items.as_mut() }.split_at_mut(rest);
        self.items = NonNull::from(rest);
        Taken(strip.iter_mut()).rev()
    }
}

impl<T: Send> ExactIterations for Owned<T> {}

/// An iterator over elements that no part of the loop owns any more. Dropping it drops those that
/// are left.
pub struct Taken<'s, T>(slice::IterMut<'s, ManuallyDrop<T>>);

impl<T> Iterator for Taken<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        // SAFETY: the iterator owns the element, and does not visit it again.
        self.0
            .next()
            .map(|item| unsafe { ManuallyDrop::take(item) })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> DoubleEndedIterator for Taken<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        // SAFETY: as in `next`.
        self.0
            .next_back()
            .map(|item| unsafe { ManuallyDrop::take(item) })
    }
}

impl<T> ExactSizeIterator for Taken<'_, T> {}

impl<T> fmt::Debug for Taken<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.0.len();
        f.debug_struct("Taken")
            .field("len", &len)
            .finish_non_exhaustive()
    }
}

impl<T> Drop for Taken<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            let rest: *mut [ManuallyDrop<T>] = mem::take(&mut self.0).into_slice();
            // SAFETY: the iterator owns these elements. `ManuallyDrop<T>` has the layout of `T`.
            unsafe { (rest as *mut [T]).drop_in_place() };
        }
    }
}

/// Implements `IntoIterations` for collections that become a vector of their elements.
macro_rules! into_vec {
    ($([$($generics:tt)*] $Type:ty => $Item:ty, $self:ident => $vec:expr;)*) => {
        $(
            impl<$($generics)*> IntoIterations for $Type {
                type Iterations = Owned<$Item>;
                type Item = $Item;

                #[inline]
                fn into_iterations($self) -> Owned<$Item> {
                    Owned::new($vec)
                }
            }
        )*
    };
}

into_vec! {
    [T: Send] Vec<T> => T, self => self;
    [T: Send] Box<[T]> => T, self => self.into_vec();
    [T: Send, const N: usize] [T; N] => T, self => Vec::from(self);
    [T: Send] VecDeque<T> => T, self => Vec::from(self);
    [T: Send] BinaryHeap<T> => T, self => self.into_vec();
    [T: Send] LinkedList<T> => T, self => self.into_iter().collect();
    [T: Send, S] HashSet<T, S> => T, self => self.into_iter().collect();
    [T: Send] BTreeSet<T> => T, self => self.into_iter().collect();
    [K: Send, V: Send, S] HashMap<K, V, S> => (K, V), self => self.into_iter().collect();
    [K: Send, V: Send] BTreeMap<K, V> => (K, V), self => self.into_iter().collect();
    ['s, T: Sync] &'s BinaryHeap<T> => &'s T, self => self.iter().collect();
    ['s, T: Sync] &'s LinkedList<T> => &'s T, self => self.iter().collect();
    ['s, T: Send] &'s mut LinkedList<T> => &'s mut T, self => self.iter_mut().collect();
    ['s, T: Sync] &'s VecDeque<T> => &'s T, self => self.iter().collect();
    ['s, T: Send] &'s mut VecDeque<T> => &'s mut T, self => self.iter_mut().collect();
    ['s, T: Sync, S] &'s HashSet<T, S> => &'s T, self => self.iter().collect();
    ['s, T: Sync] &'s BTreeSet<T> => &'s T, self => self.iter().collect();
    ['s, K: Sync, V: Sync, S] &'s HashMap<K, V, S> => (&'s K, &'s V), self => self.iter().collect();
    ['s, K: Sync, V: Sync] &'s BTreeMap<K, V> => (&'s K, &'s V), self => self.iter().collect();
    ['s, K: Sync, V: Send, S] &'s mut HashMap<K, V, S> => (&'s K, &'s mut V),
        self => self.iter_mut().collect();
    ['s, K: Sync, V: Send] &'s mut BTreeMap<K, V> => (&'s K, &'s mut V),
        self => self.iter_mut().collect();
}
