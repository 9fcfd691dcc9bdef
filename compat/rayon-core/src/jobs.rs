//! The jobs that were spawned on the threads of a pool, and the place in the pool's inbox.
//!
//! Purloin's inbox is a plain queue. rayon promises more: a thread runs the jobs that it has spawned
//! itself from the newest to the oldest, and other threads take the oldest. So the jobs are in a list
//! for each thread, and the inbox has a **place** that stands for all of them. The thread that takes
//! the place runs jobs: its own newest job, or else the oldest job that was spawned outside of the pool,
//! or else the oldest job of another thread.
//!
//! While jobs wait, the inbox has a place:
//!
//! - A thread that adds a job adds a place, unless there is one.
//! - The thread that takes the place takes a job. If more jobs wait, it adds a place again before it runs
//!   its job. So one thread after the other wakes up while there are jobs.
//!
//! A thread that has run the job of a place goes on with other jobs. [`yield_local`](crate::yield_local)
//! and broadcasts also take jobs without a place. So a place may find no job. Then its thread **watches**
//! the jobs for a moment, before it gives the place up. Think of a chain of jobs, each of which spawns the
//! next: without the watch, each job would add a place, another thread would take it, and find that the
//! first thread has taken the job already. The thread that watches leaves a single job alone while
//! other threads take jobs.

use std::collections::VecDeque;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use purloin::implement::CallersSpan;

use crate::sync::lock;

pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Makes a job, which runs in the current span of the crate `tracing`.
pub(crate) fn job(f: impl FnOnce() + Send + 'static) -> Job {
    let span = CallersSpan::current();
    Box::new(move || span.run(f))
}

/// Time for which a thread watches the jobs. Meanwhile it finds no other tasks of the pool.
const WATCH: Duration = Duration::from_micros(20);

/// Number of spins between two looks: about as long as a thread needs to end a short job and take the
/// next.
const SPINS: u32 = 30;

/// The jobs of a pool that no thread has begun.
pub(crate) struct Jobs {
    lists: Mutex<Lists>,
    /// Number of jobs in the lists, and number of jobs that were taken. They change under the lock;
    /// only a thread that watches reads them without it.
    waiting: AtomicUsize,
    taken: AtomicUsize,
}

struct Lists {
    /// Those that were spawned on each thread, oldest first.
    threads: Box<[VecDeque<Job>]>,
    /// Jobs that were spawned outside of the pool, oldest first.
    outside: VecDeque<Job>,
    /// Whether the inbox has a place, or the thread that has set this is about to add one.
    has_place: bool,
}

impl Jobs {
    pub(crate) fn new(threads: usize) -> Jobs {
        Jobs {
            lists: Mutex::new(Lists {
                threads: (0..threads).map(|_| VecDeque::new()).collect(),
                outside: VecDeque::new(),
                has_place: false,
            }),
            waiting: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
        }
    }

    /// Adds a job, spawned on the thread with this list or outside of the pool. Returns whether the
    /// caller must add a place.
    #[must_use]
    pub(crate) fn push(&self, list: Option<usize>, job: Job) -> bool {
        let mut lists = self.lock();
        match list {
            Some(list) => lists.threads[list].push_back(job),
            None => lists.outside.push_back(job),
        }
        self.waiting.store(self.waiting() + 1, Relaxed);
        lists.needs_place()
    }

    /// Takes the place for the thread with this list, and its job if any waits. If none waits, `watches`
    /// for one first. Returns also whether the caller must add a place again.
    #[must_use]
    pub(crate) fn take_place(&self, list: usize, watches: bool) -> (Option<Job>, bool) {
        let mut lists = self.lock();
        let mut job = self.count(lists.take(list));
        if job.is_none() && watches {
            drop(lists);
            self.watch();
            lists = self.lock();
            job = self.count(lists.take(list));
        }
        lists.has_place = self.waiting() > 0;
        (job, lists.has_place)
    }

    /// Waits until several jobs wait, or one that no thread takes, but not for long.
    fn watch(&self) {
        let start = Instant::now();
        let mut taken = self.taken.load(Relaxed);
        while start.elapsed() < WATCH {
            (0..SPINS).for_each(|_| spin_loop());
            let before = std::mem::replace(&mut taken, self.taken.load(Relaxed));
            match self.waiting() {
                0 => (),
                1 if taken != before => (),
                _ => return,
            }
        }
    }

    /// Takes the next job for the thread with this list.
    pub(crate) fn take(&self, list: usize) -> Option<Job> {
        let mut lists = self.lock();
        self.count(lists.take(list))
    }

    /// Takes the newest job that the thread with this list has spawned.
    pub(crate) fn take_own(&self, list: usize) -> Option<Job> {
        let mut lists = self.lock();
        self.count(lists.threads[list].pop_back())
    }

    /// Counts a job that was taken under the lock.
    fn count(&self, job: Option<Job>) -> Option<Job> {
        if job.is_some() {
            self.waiting.store(self.waiting() - 1, Relaxed);
            self.taken.store(self.taken.load(Relaxed) + 1, Relaxed);
        }
        job
    }

    /// Returns the number of jobs in the lists.
    fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// Returns whether jobs wait that the thread with this list has spawned.
    pub(crate) fn has_own(&self, list: usize) -> bool {
        !self.lock().threads[list].is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Lists> {
        lock(&self.lists)
    }
}

impl Lists {
    /// Returns whether the caller must add a place.
    fn needs_place(&mut self) -> bool {
        !std::mem::replace(&mut self.has_place, true)
    }

    fn take(&mut self, list: usize) -> Option<Job> {
        let own = self.threads[list].pop_back();
        let job = own.or_else(|| self.outside.pop_front());
        job.or_else(|| {
            let (left, right) = self.threads.split_at_mut(list);
            let mut others = right.iter_mut().chain(left);
            others.find_map(VecDeque::pop_front)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    use super::*;

    /// Returns a function that makes jobs, and a number of the last job that has run.
    fn numbered() -> (impl Fn(u32) -> Job, Arc<AtomicU32>) {
        let last = Arc::new(AtomicU32::new(0));
        let of = Arc::clone(&last);
        let job = move |number| -> Job {
            let last = Arc::clone(&of);
            Box::new(move || last.store(number, Relaxed))
        };
        (job, last)
    }

    #[test]
    fn there_is_one_place_while_jobs_wait() {
        let (job, last) = numbered();
        let jobs = Jobs::new(2);
        assert!(jobs.push(Some(0), job(1)), "the first job needs a place");
        assert!(!jobs.push(Some(1), job(2)) && !jobs.push(None, job(3)));
        let (first, needs_place) = jobs.take_place(1, true);
        first.unwrap()();
        assert_eq!(last.load(Relaxed), 2, "own jobs come first");
        assert!(needs_place, "two jobs are left");
        assert!(!jobs.push(Some(1), job(4)));
        for expected in [4, 3, 1] {
            jobs.take(1).unwrap()();
            assert_eq!(last.load(Relaxed), expected);
        }
    }

    #[test]
    fn a_place_may_find_no_job_and_the_next_job_gets_a_new_one() {
        let (job, last) = numbered();
        let jobs = Jobs::new(1);
        assert!(jobs.push(Some(0), job(1)));
        jobs.take_own(0).unwrap()();
        assert_eq!(last.load(Relaxed), 1);
        let (none, needs_place) = jobs.take_place(0, true);
        assert!(none.is_none() && !needs_place);
        assert!(jobs.push(None, job(2)));
    }
}
