//! The threads of a pool.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::Shared;
use crate::scheduler::Scheduler;

/// How to start the threads of a pool, and those that were.
pub(super) struct Threads {
    /// By worker.
    pub(super) names: Box<[String]>,
    pub(super) stack_size: usize,
    /// The processors to which workers are bound, one by one, and spare ones all
    /// together; none if nobody is bound.
    pub(super) processors: Box<[usize]>,
    pub(super) handles: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    /// Starts that of a worker.
    pub(super) fn start<S: Scheduler>(shared: Arc<Shared<S>>, worker: usize) -> io::Result<()> {
        let threads = &shared.threads;
        let builder = thread::Builder::new()
            .name(threads.names[worker].clone())
            .stack_size(threads.stack_size);
        let pool = Arc::clone(&shared);
        let thread = builder.spawn(move || {
            let processors = &pool.threads.processors;
            match processors.len() {
                0 => (),
                // Else it would be where it was started from, by a worker that is busy.
                _ if pool.worker_threads[worker].is_spare() => bind(processors),
                len => bind(&processors[worker % len..][..1]),
            }
            pool.serve(worker);
        })?;
        threads.lock().push(thread);
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of every thread, of those that are started meanwhile too.
    /// Who starts one has it here before it ends itself.
    pub(super) fn join_all(&self) {
        loop {
            let Some(thread) = self.lock().pop() else {
                return;
            };
            // A worker's thread does not panic: every closure of a user runs inside a
            // catch.
            let _ = thread.join();
        }
    }
}

/// The processors that this thread may use, if the system says so.
#[cfg(target_os = "linux")]
pub(super) fn processors() -> Box<[usize]> {
    // SAFETY: the set is plain data of the size that is passed, and the
    // macro-made-function only looks at bits inside it.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut allowed) != 0 {
            return Box::default();
        }
        let bits = 0..libc::CPU_SETSIZE as usize;
        bits.filter(|&p| libc::CPU_ISSET(p, &allowed)).collect()
    }
}

/// Binds this thread to these.
#[cfg(target_os = "linux")]
fn bind(processors: &[usize]) {
    // SAFETY: the set is plain data of the size that is passed, and the
    // macro-made-function only touches bits inside it.
    unsafe {
        let mut own: libc::cpu_set_t = std::mem::zeroed();
        for &processor in processors {
            libc::CPU_SET(processor, &mut own);
        }
        // Without it the worker runs all the same, wherever the system likes.
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &own);
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn processors() -> Box<[usize]> {
    Box::default()
}

#[cfg(not(target_os = "linux"))]
fn bind(_: &[usize]) {}
