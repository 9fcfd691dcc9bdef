//! Locks and condition variables.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync as real;
use std::time::Duration;

pub use std::sync::{LockResult, TryLockError, TryLockResult};

use super::time::picoseconds;
use crate::engine::{self, Access, Engine, Reason, Woken};

/// The standard library's mutex. On a fibre a lock that is taken lets other fibres run.
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    inner: real::Mutex<T>,
}

/// Unlocks a [`Mutex`] when it is dropped.
pub struct MutexGuard<'m, T: ?Sized> {
    mutex: &'m Mutex<T>,
    /// None only while the guard is being dropped, or is passed to a condition variable.
    inner: Option<real::MutexGuard<'m, T>>,
}

impl<T> Mutex<T> {
    /// Returns an unlocked mutex.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex {
            inner: real::Mutex::new(value),
        }
    }

    /// Returns the value.
    ///
    /// # Errors
    ///
    /// Returns an error with the value if a thread has panicked with the lock.
    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    fn address(&self) -> usize {
        (&raw const *self).addr()
    }

    fn guard<'m>(&'m self, inner: real::MutexGuard<'m, T>) -> MutexGuard<'m, T> {
        let inner = Some(inner);
        MutexGuard { mutex: self, inner }
    }

    /// Locks the mutex.
    ///
    /// # Errors
    ///
    /// Returns an error with the guard if a thread has panicked with the lock.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        if !engine::is_inside() {
            return match self.inner.lock() {
                Ok(inner) => Ok(self.guard(inner)),
                Err(poisoned) => Err(real::PoisonError::new(self.guard(poisoned.into_inner()))),
            };
        }
        loop {
            match self.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Err(poisoned),
                Err(TryLockError::WouldBlock) => {
                    engine::expect(|engine| engine.enqueue(self.address()));
                    engine::wait_at(self.address(), Reason::Lock, None);
                }
            }
        }
    }

    /// Locks the mutex if no thread has it.
    ///
    /// # Errors
    ///
    /// Returns an error if another thread has the lock, or if a thread has panicked with the lock.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        engine::at(|engine| {
            engine.access(self.address(), Access::Modify);
            engine.drain_own();
        });
        match self.inner.try_lock() {
            Ok(inner) => Ok(self.guard(inner)),
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
            Err(TryLockError::Poisoned(poisoned)) => {
                let guard = self.guard(poisoned.into_inner());
                Err(TryLockError::Poisoned(real::PoisonError::new(guard)))
            }
        }
    }

    /// Returns the value to change.
    ///
    /// # Errors
    ///
    /// Returns an error with the value if a thread has panicked with the lock.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.inner.get_mut()
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if self.inner.is_none() {
            return;
        }
        engine::at(|engine| {
            engine.access(self.mutex.address(), Access::Modify);
            engine.drain_own();
        });
        self.inner = None;
        engine::with(|engine| engine.wake_at(self.mutex.address()));
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_ref().expect("the guard has the lock")
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("the guard has the lock")
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// Whether a wait has ended because of its time limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Returns whether the time limit was reached.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// The standard library's condition variable, for fibres.
#[derive(Debug, Default)]
pub struct Condvar {
    real: real::Condvar,
    /// An address that no other condition variable has.
    place: u8,
}

impl Condvar {
    /// Returns a condition variable.
    pub const fn new() -> Condvar {
        let (real, place) = (real::Condvar::new(), 0);
        Condvar { real, place }
    }

    fn address(&self) -> usize {
        (&raw const self.place).addr()
    }

    /// Unlocks, waits, and locks again.
    ///
    /// # Errors
    ///
    /// Returns an error with the guard if a thread has panicked with the lock.
    pub fn wait<'m, T>(&self, guard: MutexGuard<'m, T>) -> LockResult<MutexGuard<'m, T>> {
        if !engine::is_inside() {
            return self.real_wait(guard);
        }
        let (mutex, _) = self.wait_inside(guard, None);
        mutex.lock()
    }

    /// Like [`wait`](Self::wait), for at most this time.
    ///
    /// # Errors
    ///
    /// Returns an error with the guard if a thread has panicked with the lock.
    pub fn wait_timeout<'m, T>(
        &self,
        guard: MutexGuard<'m, T>,
        time: Duration,
    ) -> LockResult<(MutexGuard<'m, T>, WaitTimeoutResult)> {
        let (mutex, woken) = self.wait_inside(guard, Some(picoseconds(time)));
        let result = WaitTimeoutResult(woken == Woken::Timeout);
        match mutex.lock() {
            Ok(guard) => Ok((guard, result)),
            Err(poisoned) => Err(real::PoisonError::new((poisoned.into_inner(), result))),
        }
    }

    /// Waits while `condition` holds, for at most this time.
    ///
    /// # Errors
    ///
    /// Returns an error with the guard if a thread has panicked with the lock.
    pub fn wait_timeout_while<'m, T>(
        &self,
        mut guard: MutexGuard<'m, T>,
        time: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'m, T>, WaitTimeoutResult)> {
        let start = super::Instant::now();
        while condition(&mut guard) {
            let left = time.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            guard = self.wait_timeout(guard, left)?.0;
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    fn wait_inside<'m, T>(
        &self,
        guard: MutexGuard<'m, T>,
        time: Option<u64>,
    ) -> (&'m Mutex<T>, Woken) {
        let mutex = guard.mutex;
        // Before the unlock: a notification from then on finds this fibre.
        engine::expect(|engine| engine.enqueue(self.address()));
        // The unlock is no event of its own, so that the fibre is not suspended between the two.
        let mut guard = guard;
        guard.inner = None;
        engine::with(|engine| engine.wake_at(mutex.address()));
        let woken = engine::wait_at(self.address(), Reason::Condition, time);
        (mutex, woken)
    }

    fn real_wait<'m, T>(&self, mut guard: MutexGuard<'m, T>) -> LockResult<MutexGuard<'m, T>> {
        let (mutex, inner) = (
            guard.mutex,
            guard.inner.take().expect("the guard has the lock"),
        );
        match self.real.wait(inner) {
            Ok(inner) => Ok(mutex.guard(inner)),
            Err(poisoned) => Err(real::PoisonError::new(mutex.guard(poisoned.into_inner()))),
        }
    }

    /// Wakes one thread that waits.
    pub fn notify_one(&self) {
        let wake = |engine: &mut Engine| {
            // The real operation has an atomic read-modify-write.
            engine.drain_own();
            engine.wake_at(self.address());
        };
        if engine::at(wake).is_none() {
            self.real.notify_one();
        }
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        let wake = |engine: &mut Engine| {
            engine.drain_own();
            while engine.wake_at(self.address()) {}
        };
        if engine::at(wake).is_none() {
            self.real.notify_all();
        }
    }
}

/// The standard library's cell that is set once. On a fibre the initialiser may be suspended, and other fibres wait for it.
///
/// To set the cell is no event, so that a run does not depend on whether an earlier run has set a static.
#[derive(Debug, Default)]
pub struct OnceLock<T> {
    value: real::OnceLock<T>,
    setting: real::Mutex<()>,
}

impl<T> OnceLock<T> {
    /// Returns an empty cell.
    pub const fn new() -> OnceLock<T> {
        OnceLock {
            value: real::OnceLock::new(),
            setting: real::Mutex::new(()),
        }
    }

    /// Waits until no other fibre sets the cell.
    fn begin(&self) -> real::MutexGuard<'_, ()> {
        loop {
            match self.setting.try_lock() {
                Ok(setting) => return setting,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => super::thread::yield_now(),
            }
        }
    }

    /// Returns the value if it is set.
    pub fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// Sets the value.
    ///
    /// # Errors
    ///
    /// Returns `value` if the cell has a value.
    pub fn set(&self, value: T) -> Result<(), T> {
        let _setting = self.begin();
        self.value.set(value)
    }

    /// Returns the value. Sets it to what `f` returns if it is not set.
    pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.value.get() {
            return value;
        }
        let _setting = self.begin();
        match self.value.get() {
            Some(value) => value,
            None => {
                let value = f();
                self.value.get_or_init(|| value)
            }
        }
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> OnceLock<T> {
        OnceLock {
            value: value.into(),
            setting: real::Mutex::new(()),
        }
    }
}

/// The standard library's guard for something that happens once, for fibres.
#[derive(Debug, Default)]
pub struct Once(OnceLock<()>);

impl Once {
    /// Returns a guard.
    pub const fn new() -> Once {
        Once(OnceLock::new())
    }

    /// Calls `f`, unless an earlier call has.
    pub fn call_once(&self, f: impl FnOnce()) {
        self.0.get_or_init(f);
    }

    /// Returns whether a call has returned.
    pub fn is_completed(&self) -> bool {
        self.0.get().is_some()
    }
}
