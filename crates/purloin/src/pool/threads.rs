//! The threads of a pool.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::Shared;
use super::placement::{MAX_SKIP, run_apart};
use crate::scheduler::Scheduler;

/// The threads of a pool that were started, and the settings to start more.
pub(super) struct Threads {
    /// The names of the threads, by worker.
    pub(super) names: Box<[String]>,
    pub(super) stack_size: usize,
    /// The processors to which workers are bound: each regular worker to one of them, each spare
    /// worker to all of them. Empty if workers are not bound.
    pub(super) processors: Box<[usize]>,
    pub(super) handles: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    /// Starts the thread of a worker.
    pub(super) fn start<S: Scheduler>(shared: Arc<Shared<S>>, worker: usize) -> io::Result<()> {
        let threads = &shared.threads;
        let builder = thread::Builder::new()
            .name(threads.names[worker].clone())
            .stack_size(threads.stack_size + MAX_SKIP);
        let pool = Arc::clone(&shared);
        let thread = builder.spawn(move || {
            let processors = &pool.threads.processors;
            match processors.len() {
                0 => (),
                // Otherwise it would inherit the binding to the processor of the busy worker that
                // starts it.
                _ if pool.worker_threads[worker].is_spare() => bind(processors),
                len => bind(&processors[worker % len..][..1]),
            }
            let hashes = pool.worker_threads[worker].hashes();
            run_apart(hashes, || pool.serve(worker));
        })?;
        threads.lock().push(thread);
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of every thread, including threads that start meanwhile. A thread that
    /// starts another thread adds the new handle before it ends itself.
    pub(super) fn join_all(&self) {
        loop {
            let Some(thread) = self.lock().pop() else {
                return;
            };
            // A worker's thread does not panic: it catches panics of the program, and aborts the
            // process on others.
            let _ = thread.join();
        }
    }
}

/// Returns the processors that this thread may use, or none if the system does not report
/// them.
#[cfg(target_os = "linux")]
pub(super) fn processors() -> Box<[usize]> {
    // SAFETY: the set is plain data, for which all zeros is valid. The system gets its true size,
    // and `CPU_ISSET` gets indices below `CPU_SETSIZE`.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut allowed) != 0 {
            return Box::default();
        }
        let bits = 0..libc::CPU_SETSIZE as usize;
        bits.filter(|&p| libc::CPU_ISSET(p, &allowed)).collect()
    }
}

/// Binds this thread to these processors.
#[cfg(target_os = "linux")]
fn bind(processors: &[usize]) {
    // SAFETY: the set is plain data, for which all zeros is valid. The system gets its true size,
    // and the indices come from `processors`, so they are below `CPU_SETSIZE`.
    unsafe {
        let mut own: libc::cpu_set_t = std::mem::zeroed();
        for &processor in processors {
            libc::CPU_SET(processor, &mut own);
        }
        // If this fails, the worker runs wherever the system puts it.
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &own);
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn processors() -> Box<[usize]> {
    Box::default()
}

#[cfg(not(target_os = "linux"))]
fn bind(_: &[usize]) {}
