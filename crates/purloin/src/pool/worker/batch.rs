//! Batches: short jobs or tasks that a worker runs one after the other.
//!
//! The way back to the worker's search, and through the inbox, takes longer than a short job. So a worker
//! that has run a job of a queue goes on with the next one of the same queue, as long as nothing else
//! waits for the worker, and not for long.

use crate::runtime::Token;
use crate::scheduler::Scheduler;
use crate::stats::clock::ticks;
use crate::sync::Instant;
use crate::tunables;

/// A job that takes fewer ticks is short. After short jobs the worker looks at [`Instant`] only at
/// every eighth job, because that takes longer than reading the ticks.
const SHORT: u64 = 1000;

/// A batch of jobs, on the worker that runs them.
pub struct Batch {
    start: Instant,
    /// The end of the last job, in ticks.
    last: u64,
    jobs: u32,
}

impl Batch {
    /// Begins a batch on a worker that is about to run a job. Returns `None` if another task waits on the
    /// same worker until the job has ended: in [`Pool::yield_now`](crate::Pool::yield_now), for example.
    pub fn begin<S: Scheduler>(token: &Token<'_, S>) -> Option<Batch> {
        let worker = token.thread();
        let is_nested = worker.runs_on_top() || worker.core().yields.get();
        (!is_nested).then(|| Batch {
            start: Instant::now(),
            last: ticks(),
            jobs: 0,
        })
    }

    /// Ends a job of the batch. Returns whether the worker may run another. A spare worker gives up its
    /// [thread index](Token::thread_index).
    pub fn goes_on<S: Scheduler>(&mut self, token: &Token<'_, S>) -> bool {
        let worker = token.thread();
        let sleep = &worker.pool().sleep;
        if worker.is_spare() {
            sleep.release_thread_index(worker.index());
        }
        !self.is_over() && !worker.has_mail() && !sleep.wants_worker()
    }

    fn is_over(&mut self) -> bool {
        let last = std::mem::replace(&mut self.last, ticks());
        self.jobs += 1;
        let is_short = self.last.wrapping_sub(last) < SHORT;
        (!is_short || self.jobs.is_multiple_of(8))
            && self.start.elapsed() > tunables::BATCH_TIME.get()
    }
}
