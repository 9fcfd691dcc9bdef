//! Atomics and cells.
//!
//! The operations are not inlined, so that none of their code is compiled into a crate whose [work](crate::counted) is
//! counted.

use std::fmt;
use std::ptr::with_exposed_provenance_mut;
use std::sync::atomic::{self as real, Ordering};

use super::touch;
use crate::engine::{self, Access};

/// A full or partial fence. Only a sequentially consistent one takes time: x86-64 has no other.
#[inline(never)]
pub fn fence(order: Ordering) {
    if order == Ordering::SeqCst {
        engine::at(engine::Engine::fence);
    }
    real::fence(order);
}

/// Begins an access, and waits for its turn.
#[inline]
fn access(address: usize, access: Access) {
    engine::at(|engine| engine.access(address, access));
}

/// Returns what this thread has stored at the address, if other threads do not see it yet.
#[inline]
fn buffered(address: usize) -> Option<u64> {
    engine::with(|engine| engine.buffers_stores().then(|| engine.buffered(address)))??
}

/// Empties the store buffer, as a read-modify-write does.
#[inline(never)]
fn drain() {
    engine::with(|engine| {
        if engine.buffers_stores() {
            engine.drain_own();
        }
    });
}

/// The operations that all atomics have.
macro_rules! atomic {
    ($Atomic:ident, $Value:ty, $to_bits:expr, $from_bits:expr) => {
        /// The standard library's atomic of the same name. On a fibre each access is an event.
        #[repr(transparent)]
        pub struct $Atomic(real::$Atomic);

        impl $Atomic {
            /// Returns an atomic with this value.
            #[inline]
            pub const fn new(value: $Value) -> Self {
                $Atomic(real::$Atomic::new(value))
            }

            fn address(&self) -> usize {
                (&raw const self.0).expose_provenance()
            }

            /// Loads the value.
            #[inline(never)]
            pub fn load(&self, order: Ordering) -> $Value {
                access(self.address(), Access::Read);
                match buffered(self.address()) {
                    Some(bits) => $from_bits(bits),
                    None => self.0.load(order),
                }
            }

            /// Stores a value.
            #[inline(never)]
            pub fn store(&self, value: $Value, order: Ordering) {
                // A sequentially consistent store is an exchange on x86-64.
                if order == Ordering::SeqCst {
                    self.swap(value, order);
                    return;
                }
                let address = self.address();
                access(address, Access::Write);
                let is_buffered = engine::with(|engine| {
                    let buffers = engine.buffers_stores();
                    if buffers {
                        let bytes = size_of::<Self>() as u8;
                        // SAFETY: the atomic lies at the address, which was exposed, and its destructor empties the buffer.
                        unsafe { engine.buffer(address, bytes, $to_bits(value)) };
                    }
                    buffers
                });
                if is_buffered != Some(true) {
                    self.0.store(value, order);
                }
            }

            /// Stores a value, and returns the previous one.
            #[inline(never)]
            pub fn swap(&self, value: $Value, order: Ordering) -> $Value {
                access(self.address(), Access::Modify);
                drain();
                self.0.swap(value, order)
            }

            /// Stores `new` if the value is `current`.
            ///
            /// # Errors
            ///
            /// Returns the value if it is not `current`.
            #[inline(never)]
            pub fn compare_exchange(
                &self,
                current: $Value,
                new: $Value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$Value, $Value> {
                access(self.address(), Access::Modify);
                drain();
                self.0.compare_exchange(current, new, success, failure)
            }

            /// Like [`compare_exchange`](Self::compare_exchange). It may fail without a reason on some machines, but not on
            /// this one.
            ///
            /// # Errors
            ///
            /// Returns the value if it is not `current`.
            #[inline]
            pub fn compare_exchange_weak(
                &self,
                current: $Value,
                new: $Value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$Value, $Value> {
                self.compare_exchange(current, new, success, failure)
            }

            /// Changes the value by a function, which may run several times.
            ///
            /// # Errors
            ///
            /// Returns the value if the function returns `None`.
            #[inline]
            pub fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut change: impl FnMut($Value) -> Option<$Value>,
            ) -> Result<$Value, $Value> {
                let mut seen = self.load(failure);
                while let Some(new) = change(seen) {
                    match self.compare_exchange(seen, new, success, failure) {
                        Ok(previous) => return Ok(previous),
                        Err(now) => seen = now,
                    }
                }
                Err(seen)
            }

            /// Returns the value to change, without an event.
            #[inline(never)]
            pub fn get_mut(&mut self) -> &mut $Value {
                drain();
                self.0.get_mut()
            }
        }

        impl Drop for $Atomic {
            #[inline(never)]
            fn drop(&mut self) {
                drain();
            }
        }

        impl fmt::Debug for $Atomic {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

atomic!(AtomicBool, bool, u64::from, |bits| bits != 0);
atomic!(AtomicU32, u32, u64::from, |bits| bits as u32);
atomic!(AtomicU64, u64, |value: u64| value, |bits| bits);
atomic!(AtomicUsize, usize, |value: usize| value as u64, |bits| bits
    as usize);
/// The standard library's atomic of the same name. On a fibre each access is an event.
#[repr(transparent)]
pub struct AtomicPtr<T>(real::AtomicPtr<T>);

impl<T> AtomicPtr<T> {
    /// Returns an atomic with this pointer. Its [provenance](std::ptr) must have been exposed if it is not null.
    pub const fn new(pointer: *mut T) -> Self {
        AtomicPtr(real::AtomicPtr::new(pointer))
    }

    /// Returns the atomic as that of an address.
    fn address(&self) -> &AtomicUsize {
        const { assert!(size_of::<AtomicUsize>() == size_of::<Self>()) };
        // SAFETY: an atomic pointer has the size, the alignment and the bits of an atomic address.
        unsafe { &*(&raw const self.0).cast() }
    }

    /// Loads the pointer.
    #[inline]
    pub fn load(&self, order: Ordering) -> *mut T {
        with_exposed_provenance_mut(self.address().load(order))
    }

    /// Stores a pointer.
    #[inline]
    pub fn store(&self, pointer: *mut T, order: Ordering) {
        self.address().store(pointer.expose_provenance(), order);
    }

    /// Stores a pointer, and returns the previous one.
    #[inline]
    pub fn swap(&self, pointer: *mut T, order: Ordering) -> *mut T {
        with_exposed_provenance_mut(self.address().swap(pointer.expose_provenance(), order))
    }

    /// Stores `new` if the pointer is `current`.
    ///
    /// # Errors
    ///
    /// Returns the pointer if it is not `current`.
    #[inline]
    pub fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        let (current, new) = (current.addr(), new.expose_provenance());
        let result = self
            .address()
            .compare_exchange(current, new, success, failure);
        result
            .map(with_exposed_provenance_mut)
            .map_err(with_exposed_provenance_mut)
    }
}

impl<T> AtomicPtr<T> {
    /// Changes the pointer by a function, which may run several times.
    ///
    /// # Errors
    ///
    /// Returns the pointer if the function returns `None`.
    #[inline]
    pub fn fetch_update(
        &self,
        success: Ordering,
        failure: Ordering,
        mut change: impl FnMut(*mut T) -> Option<*mut T>,
    ) -> Result<*mut T, *mut T> {
        let change = |address| {
            let new = change(with_exposed_provenance_mut(address));
            new.map(|new| new.expose_provenance())
        };
        let result = self.address().fetch_update(success, failure, change);
        result
            .map(with_exposed_provenance_mut)
            .map_err(with_exposed_provenance_mut)
    }

    /// Returns the pointer to change, without an event.
    pub fn get_mut(&mut self) -> &mut *mut T {
        drain();
        self.0.get_mut()
    }
}

impl<T> Drop for AtomicPtr<T> {
    fn drop(&mut self) {
        drain();
    }
}

/// Read-modify-writes.
macro_rules! modifies {
    ($($Atomic:ident, $Value:ty: $($name:ident)+;)+) => {$(
        impl $Atomic {
            $(
                /// Changes the value as the standard library's operation of this name does. Returns the previous value.
                #[inline(never)]
                pub fn $name(&self, value: $Value, order: Ordering) -> $Value {
                    access(self.address(), Access::Modify);
                    drain();
                    self.0.$name(value, order)
                }
            )+
        }

        impl Default for $Atomic {
            fn default() -> Self {
                $Atomic::new(Default::default())
            }
        }
    )+};
}

modifies! {
    AtomicBool, bool: fetch_and fetch_or fetch_xor;
    AtomicU32, u32: fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_max fetch_min;
    AtomicU64, u64: fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_max fetch_min;
    AtomicUsize, usize: fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_max fetch_min;
}

/// [`std::cell::UnsafeCell`] whose accesses are events.
#[repr(transparent)]
pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// Returns a cell with this value.
    #[inline]
    pub fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    /// Calls `f` with a pointer to read from.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        touch(self.0.get().addr(), size_of::<T>(), Access::Read);
        f(self.0.get())
    }

    /// Calls `f` with a pointer to write to.
    #[inline]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        touch(self.0.get().addr(), size_of::<T>(), Access::Write);
        f(self.0.get())
    }
}
