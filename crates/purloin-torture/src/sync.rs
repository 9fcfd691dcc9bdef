//! Threads, locks and atomics of a random program: virtual ones in a build with `--cfg purloin_virtual`, else those of
//! the system.
//!
//! The records of the test itself are in the standard library's atomics and locks. These are no events of the virtual
//! machine, so the records do not change which thread runs. No lock of a record is held across an event.

#[cfg(purloin_virtual)]
pub use purloin_virtual::sync::{AtomicU64, Mutex, MutexGuard, spin_loop, thread};

#[cfg(not(purloin_virtual))]
pub use std::{
    hint::spin_loop,
    sync::{Mutex, MutexGuard, atomic::AtomicU64},
    thread,
};

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Spins for some microseconds. (Virtual time passes so fast that timers of milliseconds fire during a long wait.)
pub fn pause() {
    #[cfg(purloin_virtual)]
    purloin_virtual::sync::spend(std::time::Duration::from_micros(10));
    spin_loop();
}

/// Locks a mutex of the program, whether or not a holder has panicked.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks a mutex of the test's records.
pub fn record<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a future until it is ready, and sleeps between the polls. Gives up after `polls` of them.
pub fn await_for<F: Future + ?Sized>(mut future: Pin<&mut F>, polls: usize) -> Option<F::Output> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    for poll in 1..=polls {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return Some(output),
            Poll::Pending if poll == polls => (),
            Poll::Pending => thread::park(),
        }
    }
    None
}
