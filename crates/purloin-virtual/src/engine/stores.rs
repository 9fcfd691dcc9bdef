//! Store buffers: under the adversary a store stays with its thread for a while before other threads see it.
//!
//! This is total store order, the memory model of x86-64: a thread sees its own stores at once, other threads see them
//! later, and in order. A read-modify-write, a full fence and a system call wait until the buffer is empty. Plain memory is
//! not buffered: a program without data races reads it only after it has seen a later atomic store.
//!
//! A buffered store is written when it leaves the buffer. So the atomic must still be there: the destructor of an atomic
//! empties the buffer of the thread that drops it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::Engine;

/// Maximum number of stores in a buffer, about that of current processors.
const MAX_STORES: usize = 56;

/// A store that other threads do not see yet.
#[derive(Clone, Copy)]
struct Store {
    address: usize,
    bytes: u8,
    bits: u64,
}

#[derive(Default)]
pub(crate) struct Stores(VecDeque<Store>);

impl Engine {
    /// Returns whether stores go to a buffer.
    #[inline]
    pub(crate) fn buffers_stores(&self) -> bool {
        self.adversary.is_some()
    }

    /// Buffers a store of the running fibre.
    ///
    /// # Safety
    ///
    /// An atomic of this size, with exposed provenance, lies at the address, and its destructor calls
    /// [`Self::drain_own`].
    pub(crate) unsafe fn buffer(&mut self, address: usize, bytes: u8, bits: u64) {
        let stores = &mut self.fibres[self.fibre].stores;
        stores.0.push_back(Store {
            address,
            bytes,
            bits,
        });
        if stores.0.len() > MAX_STORES {
            self.drain_one(self.fibre);
        }
    }

    /// Returns what the running fibre has stored at this address, if no other thread sees it yet.
    pub(crate) fn buffered(&self, address: usize) -> Option<u64> {
        let mut stores = self.fibres[self.fibre].stores.0.iter().rev();
        stores
            .find(|store| store.address == address)
            .map(|store| store.bits)
    }

    /// Writes the oldest store of a fibre.
    pub(crate) fn drain_one(&mut self, fibre: usize) {
        let Some(store) = self.fibres[fibre].stores.0.pop_front() else {
            return;
        };
        let order = Ordering::Relaxed;
        // SAFETY: `buffer`'s caller says that an atomic of this size lies at the address until its destructor has emptied the
        // buffer.
        unsafe {
            match store.bytes {
                1 => (*std::ptr::with_exposed_provenance::<AtomicU8>(store.address))
                    .store(store.bits as u8, order),
                4 => (*std::ptr::with_exposed_provenance::<AtomicU32>(store.address))
                    .store(store.bits as u32, order),
                _ => (*std::ptr::with_exposed_provenance::<AtomicU64>(store.address))
                    .store(store.bits, order),
            }
        }
    }

    /// Writes all stores of a fibre.
    pub(crate) fn drain_stores(&mut self, fibre: usize) {
        while !self.fibres[fibre].stores.0.is_empty() {
            self.drain_one(fibre);
        }
    }

    /// Writes all stores of the running fibre.
    pub(crate) fn drain_own(&mut self) {
        self.drain_stores(self.fibre);
    }

    /// Returns whether a fibre has stores that other threads do not see yet.
    pub(crate) fn has_stores(&self, fibre: usize) -> bool {
        !self.fibres[fibre].stores.0.is_empty()
    }
}
