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
    /// Whether workers other than spare ones are bound to a processor.
    pub(super) pinned: bool,
    pub(super) handles: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    /// Starts that of a worker.
    pub(super) fn start<S: Scheduler>(shared: Arc<Shared<S>>, worker: usize) -> io::Result<()> {
        let threads = &shared.threads;
        let pinned = threads.pinned && !shared.members[worker].is_spare();
        let builder = thread::Builder::new()
            .name(threads.names[worker].clone())
            .stack_size(threads.stack_size);
        let pool = Arc::clone(&shared);
        let thread = builder.spawn(move || {
            if pinned {
                pin(worker);
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
            // A worker that drops the last handle of its own pool cannot wait
            // for itself; it ends as soon as it is idle.
            if thread.thread().id() != thread::current().id() {
                // A worker's thread does not panic: every closure of a user
                // runs inside a catch.
                let _ = thread.join();
            }
        }
    }
}

/// Binds this thread to one of the processors that the process may use.
#[cfg(target_os = "linux")]
fn pin(worker: usize) {
    // SAFETY: the sets are plain data of the size that is passed, and the
    // macros-made-functions only touch bits inside them.
    unsafe {
        let size = size_of::<libc::cpu_set_t>();
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size, &mut allowed) != 0 {
            return;
        }
        let bits = 0..libc::CPU_SETSIZE as usize;
        let processors: Vec<_> = bits.filter(|&p| libc::CPU_ISSET(p, &allowed)).collect();
        if processors.is_empty() {
            return;
        }
        let mut own: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processors[worker % processors.len()], &mut own);
        // Without it the worker runs all the same, wherever the system likes.
        libc::sched_setaffinity(0, size, &own);
    }
}

#[cfg(not(target_os = "linux"))]
fn pin(_worker: usize) {}
