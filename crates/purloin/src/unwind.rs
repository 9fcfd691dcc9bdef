//! Panics that move between threads, panics that are dropped, and internal errors.

use std::any::Any;
use std::io::{Write, stderr};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::cancel::Cancelled;
use crate::sync::plain::{AtomicBool, Mutex, Ordering, lock};

/// The payload of a panic on its way from a thief to the owner of the task.
pub(crate) type Panic = Box<dyn Any + Send>;

/// Like [`catch_unwind`], but neither the closure nor its result passes through it.
///
/// `catch_unwind` keeps both in a union. If they are large, LLVM splits their copies into words: it
/// compiled one future with an array of 100 kB in its closure and its result for more than a minute.
#[inline(always)]
pub(crate) fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Panic> {
    let mut f = ManuallyDrop::new(f);
    let mut result = MaybeUninit::uninit();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: only this closure takes `f`, and it runs once.
        result.write(unsafe { ManuallyDrop::take(&mut f) }());
    }));
    // SAFETY: the closure has ended without a panic, so it has written the result.
    caught.map(|()| unsafe { result.assume_init() })
}

/// Does the same as [`catch`], compiled once for all closures, at the price of an indirect call.
pub(crate) fn catch_apart<R>(f: impl FnOnce() -> R) -> Result<R, Panic> {
    #[inline(never)]
    fn call(f: &mut dyn FnMut()) -> Result<(), Panic> {
        catch(f)
    }

    let (ran, result) = erased(f, call);
    ran.map(|()| result.expect("`call` calls the closure"))
}

/// Passes `f` to `call` without its type, and returns the results of both. The second is `None` if `call` has not called
/// `f`. Inlined, so that the result of `f` is not copied once more.
#[inline(always)]
pub(crate) fn erased<R, C>(
    f: impl FnOnce() -> R,
    call: impl FnOnce(&mut dyn FnMut()) -> C,
) -> (C, Option<R>) {
    let (mut f, mut result) = (Some(f), None);
    let called = call(&mut || result = f.take().map(|f| f()));
    (called, result)
}

/// Drops a value, and returns the panic of its destructor if it panics.
pub(crate) fn drop_catching<T>(value: T) -> Option<Panic> {
    let mut value = ManuallyDrop::new(value);
    // SAFETY: `catch_apart` calls this closure once, and nothing uses the value afterwards.
    catch_apart(|| unsafe { ManuallyDrop::drop(&mut value) }).err()
}

/// Drops the closure of a task whose scope is cancelled. Returns the result of the task.
#[cold]
pub(crate) fn drop_cancelled<F, T>(closure: F) -> Result<T, Panic> {
    Err(drop_catching(closure).unwrap_or_else(|| Box::new(Cancelled)))
}

/// Maximum number of panics that [`discard`] drops. Each is a panic of the destructor of the
/// previous panic's payload.
const MAX_DISCARDED: usize = 16;

/// Drops a panic or a result that never reaches the program. Its destructor may panic, and so may
/// the destructor of the new panic's payload; after [`MAX_DISCARDED`] of them the payload is
/// leaked. Never unwinds.
pub(crate) fn discard<T>(unheard: T) {
    if let Some(panic) = drop_catching(unheard) {
        discard_panic(panic);
    }
}

#[cold]
fn discard_panic(payload: Panic) {
    let mut panic = drop_catching(payload);
    for _ in 1..MAX_DISCARDED {
        let Some(payload) = panic else { return };
        panic = drop_catching(payload);
    }
    std::mem::forget(panic);
}

/// The first of several panics.
#[derive(Default)]
pub(crate) struct FirstPanic {
    /// Whether there was one: without a panic, [`take`](Self::take) costs one load.
    has_come: AtomicBool,
    first: Mutex<Option<Panic>>,
}

impl FirstPanic {
    /// Keeps the panic if it is the first, and drops it otherwise.
    pub(crate) fn keep(&self, panic: Panic) {
        let mut first = lock(&self.first);
        let second = match *first {
            Some(_) => Some(panic),
            None => first.replace(panic),
        };
        // Relaxed: `take` is called after a wait for the tasks, and the end of each task publishes its panic. Two callers
        // may miss a panic that arrives during `take`. A serial finish misses it if another thread drops the handle,
        // and the panic is lost. `Pool::wait` misses it if the job is newer, and the next wait gets it.
        self.has_come.store(true, Ordering::Relaxed);
        drop(first);
        discard(second);
    }

    pub(crate) fn take(&self) -> Option<Panic> {
        match self.has_come.load(Ordering::Relaxed) {
            true => lock(&self.first).take(),
            false => None,
        }
    }

    /// Returns the result of code that has waited for all tasks whose panics are kept here. Their first panic becomes
    /// its result, unless the code has panicked itself.
    pub(crate) fn conclude<R>(&self, result: Result<R, Panic>) -> Result<R, Panic> {
        let Some(panic) = self.take() else {
            return result;
        };
        match result {
            Ok(result) => {
                // Its destructor may panic.
                discard(result);
                Err(panic)
            }
            Err(own) => {
                discard(panic);
                Err(own)
            }
        }
    }
}

/// Ends the process with a message if it is dropped before [`disarm`](Self::disarm): after a panic, other threads
/// would use a frame that is gone, or wait for this one.
pub(crate) struct AbortOnUnwind(&'static str);

impl AbortOnUnwind {
    pub(crate) fn new(mistake: &'static str) -> AbortOnUnwind {
        AbortOnUnwind(mistake)
    }

    pub(crate) fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        abort(self.0);
    }
}

/// Calls a function of the program that must not panic. If it does, the process ends, and the error
/// names the function.
pub(crate) fn or_abort(name: &str, f: impl FnOnce()) {
    if catch(f).is_err() {
        let _ = writeln!(stderr(), "purloin: {name} has panicked");
        std::process::abort();
    }
}

/// Ends the process, because of a bug in this crate after which memory is not safe.
#[cold]
pub(crate) fn abort(mistake: &str) -> ! {
    let _ = writeln!(stderr(), "purloin: internal error: {mistake}");
    std::process::abort();
}
