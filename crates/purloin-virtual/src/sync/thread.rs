//! Threads.

use std::any::Any;
use std::io;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use std::thread::Result;

use super::local;
use super::time::picoseconds;
use crate::engine::{self, Fibre, Reason};

/// A thread, to wake it.
#[derive(Clone, Debug)]
pub struct Thread {
    fibre: usize,
    name: Arc<str>,
}

/// The number of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(usize);

impl Thread {
    /// Ends the current or next [`park`] of the thread.
    pub fn unpark(&self) {
        engine::at(|engine| {
            // The real operation has an atomic read-modify-write.
            engine.drain_own();
            engine.unpark(self.fibre);
        });
    }

    /// Returns the number of the thread.
    pub fn id(&self) -> ThreadId {
        ThreadId(self.fibre)
    }

    /// Returns the name of the thread, if it has one.
    pub fn name(&self) -> Option<&str> {
        Some(&*self.name).filter(|name| !name.is_empty())
    }
}

/// Returns the thread that runs.
#[inline(never)]
pub fn current() -> Thread {
    let (fibre, name) = engine::expect(|engine| {
        let fibre = engine.current();
        (fibre, engine.name(fibre).into())
    });
    Thread { fibre, name }
}

/// Waits until another thread [unparks](Thread::unpark) this one.
pub fn park() {
    engine::event();
    engine::park(Reason::Unpark, None);
}

/// Like [`park`], for at most this time.
pub fn park_timeout(time: Duration) {
    engine::event();
    engine::park(Reason::Unpark, Some(picoseconds(time)));
}

/// Sleeps for this time.
pub fn sleep(time: Duration) {
    engine::event();
    engine::sleep(picoseconds(time));
}

/// Lets other threads run on this core.
#[inline(never)]
pub fn yield_now() {
    if engine::at(engine::Engine::yield_now).is_none() {
        std::thread::yield_now();
    }
}

/// Returns whether this thread unwinds. Another thread that is suspended in a destructor while it unwinds counts, too.
#[inline(never)]
pub fn panicking() -> bool {
    std::thread::panicking()
}

/// Returns the number of cores.
///
/// # Errors
///
/// Returns an error outside of a run if the system does not tell.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    match engine::with(|engine| engine.cores()) {
        Some(cores) => Ok(NonZero::new(cores).expect("a machine has a core")),
        None => std::thread::available_parallelism(),
    }
}

/// A thread that can be waited for.
#[derive(Debug)]
pub struct JoinHandle<T> {
    thread: Thread,
    result: Arc<Mutex<Option<Result<T>>>>,
}

impl<T> JoinHandle<T> {
    /// Returns the thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Returns whether the thread has ended.
    pub fn is_finished(&self) -> bool {
        engine::at(|engine| engine.is_done(self.thread.fibre)).unwrap_or(true)
    }

    /// Waits for the end of the thread, and returns its result.
    ///
    /// # Errors
    ///
    /// Returns the payload of the thread's panic if it has panicked.
    ///
    /// # Panics
    ///
    /// Panics if another run has started the thread.
    pub fn join(self) -> Result<T> {
        let fibre = self.thread.fibre;
        engine::event();
        while !engine::expect(|engine| engine.is_done(fibre)) {
            let address = end_of(fibre);
            engine::expect(|engine| engine.enqueue(address));
            engine::wait_at(address, Reason::End(fibre), None);
        }
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        result
            .take()
            .expect("a thread that has ended has left its result")
    }
}

/// Returns an address at which threads wait for the end of this one. Nothing else lies there.
fn end_of(fibre: usize) -> usize {
    usize::MAX - fibre
}

/// Starts threads.
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// Returns a builder for a thread without a name.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Sets the name of the thread.
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// Sets the size of the thread's stack in bytes.
    pub fn stack_size(mut self, size: usize) -> Builder {
        self.stack_size = Some(size);
        self
    }

    /// Starts a thread.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no memory for a stack, or if the adversary refuses.
    pub fn spawn<T: Send + 'static>(
        self,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        let result = Arc::new(Mutex::new(None));
        let name = self.name.unwrap_or_default();
        let shared = Arc::clone(&result);
        let entry = Box::new(move || {
            let outcome = catch_unwind(AssertUnwindSafe(f));
            local::end();
            let mut result = shared.lock().unwrap_or_else(PoisonError::into_inner);
            *result = Some(outcome.map_err(|panic| panic as Box<dyn Any + Send>));
            drop(result);
            engine::at(|engine| {
                let address = end_of(engine.current());
                engine.drain_own();
                engine.end_current();
                while engine.wake_at(address) {}
            });
        });
        let stack_size = self.stack_size.unwrap_or(2 << 20).max(64 << 10);
        let shown: Arc<str> = name.as_str().into();
        if engine::at(engine::Engine::refuses_thread) == Some(true) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // Not by the engine: if there is no memory, the closure's destructor may come to events.
        let fibre = Fibre::new(name, stack_size, entry)?;
        let fibre = engine::at(|engine| engine.spawn(fibre))
            .expect("threads start only inside purloin_virtual::Run::run");
        let thread = Thread { fibre, name: shown };
        Ok(JoinHandle { thread, result })
    }
}
