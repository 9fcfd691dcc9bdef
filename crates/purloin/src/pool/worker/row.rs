//! Rows: short jobs or tasks that a worker runs one after the other.
//!
//! The way back to the worker's search, and through the inbox, takes longer than a short job. So a worker
//! that has run a job of a queue goes on with the next one of the same queue, as long as nothing else
//! waits for the worker, and not for long.

use super::Me;
use crate::runtime::Token;
use crate::scheduler::Scheduler;
use crate::stats::clock::ticks;
use crate::sync::Instant;
use crate::tunables;

/// A job that takes fewer ticks is short. After short jobs the worker looks at [`Instant`] only at
/// every eighth job, because that takes longer than reading the ticks.
const SHORT: u64 = 1000;

/// A row of jobs, on the worker that runs them.
pub struct Row {
    start: Instant,
    /// The end of the last job, in ticks.
    last: u64,
    jobs: u32,
}

impl Row {
    /// Begins a row on a worker that is about to run a job. Returns `None` if another task waits on the
    /// same worker until the job has ended: in [`Pool::yield_now`](crate::Pool::yield_now), for example.
    pub fn begin<S: Scheduler>(token: &Token<'_, S>) -> Option<Row> {
        Row::on(token.thread())
    }

    /// Ends a job of the row. Returns whether the worker may run another. A spare worker gives up its
    /// [thread index](Token::thread_index).
    pub fn goes_on<S: Scheduler>(&mut self, token: &Token<'_, S>) -> bool {
        self.continues_on(token.thread())
    }

    pub(crate) fn on<S: Scheduler>(worker: Me<'_, S>) -> Option<Row> {
        let is_nested = worker.runs_on_top() || worker.core().yields.get();
        (!is_nested).then(|| Row {
            start: Instant::now(),
            last: ticks(),
            jobs: 0,
        })
    }

    pub(crate) fn continues_on<S: Scheduler>(&mut self, worker: Me<'_, S>) -> bool {
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
            && self.start.elapsed() > tunables::ROW_TIME.get()
    }
}
