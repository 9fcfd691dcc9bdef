//! Jobs that nobody waits for. They wait in [`crate::jobs`] for a thread of the pool.

use purloin::Pool;
use purloin::implement::is_worker;

use crate::global::with_current;
use crate::jobs::{Job, job};
use crate::registry::{Registry, add_place, current};

/// Hands a job to the current pool, and returns.
///
/// On a thread of the pool, the job goes on top of the thread's own jobs: it runs the newest first.
/// If the job panics, the panic goes to the pool's handler; without one, the process aborts.
///
/// ```
/// use std::sync::mpsc::channel;
///
/// let (send, receive) = channel();
/// rayon_core::spawn(move || send.send(7).unwrap());
/// assert_eq!(receive.recv(), Ok(7));
/// ```
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    let job = job(func);
    spawn_here(|registry| registry.push(job));
}

/// Like [`spawn`], but jobs that a thread has spawned in this way run from the oldest to the newest.
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    let job = job(func);
    spawn_here(|registry| registry.push_fifo(job));
}

/// Calls `push` with the registry of the current pool. If `push` returns true, adds a place. On a thread of a pool, most
/// jobs need no place, so they need no token either. A thread that was a worker of a pool built with
/// `use_current_thread` still has a [`current`] worker in its destructors, but is no worker then.
fn spawn_here(push: impl FnOnce(&Registry) -> bool) {
    match current() {
        Some(worker) if is_worker() => {
            if push(&worker.registry) {
                with_current(|pool, _| add_place(pool));
            }
        }
        _ => with_current(|pool, registry| {
            if push(registry) {
                add_place(pool);
            }
        }),
    }
}

pub(crate) fn spawn_in(pool: &Pool, registry: &Registry, job: Job) {
    if registry.push(job) {
        add_place(pool);
    }
}

pub(crate) fn spawn_fifo_in(pool: &Pool, registry: &Registry, job: Job) {
    if registry.push_fifo(job) {
        add_place(pool);
    }
}
