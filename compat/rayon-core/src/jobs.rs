//! The jobs that were spawned on the threads of a pool, and their places in the pool's inbox.
//!
//! Purloin's inbox is a plain queue. rayon promises more: a thread runs the jobs that it has spawned
//! itself from the newest to the oldest, and other threads take the oldest. So the jobs are in a list
//! for each thread, and the inbox has a **place** for each job. The thread that takes a place runs one
//! job: its own newest job, or else the oldest job that was spawned outside of the pool, or else the
//! oldest job of another thread.
//!
//! A thread that has run the job of a place goes on with its own jobs and those from outside, without
//! taking their places. So do [`yield_local`](crate::yield_local) and broadcasts. This leaves a
//! **surplus** of places: the next jobs get no place while there is a surplus. A chain of jobs, each of
//! which spawns the next, therefore seldom goes through the inbox.
//!
//! A job that was spawned in FIFO order is in a second list. In the first list is an entry that
//! stands for the oldest job of the second.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// The jobs of a pool that no thread has begun.
pub(crate) struct Jobs(Mutex<Lists>);

struct Lists {
    threads: Box<[List]>,
    /// Jobs that were spawned outside of the pool, oldest first.
    outside: VecDeque<Job>,
    /// The number of places, minus the number of jobs.
    surplus: usize,
}

/// The jobs that were spawned on one thread, oldest first.
#[derive(Default)]
struct List {
    jobs: VecDeque<Entry>,
    fifo: VecDeque<Job>,
}

enum Entry {
    Job(Job),
    /// The oldest job in `fifo`.
    OldestOfFifo,
}

impl Jobs {
    pub(crate) fn new(threads: usize) -> Jobs {
        Jobs(Mutex::new(Lists {
            threads: (0..threads).map(|_| List::default()).collect(),
            outside: VecDeque::new(),
            surplus: 0,
        }))
    }

    /// Adds a job, spawned on the thread with this list or outside of the pool. Returns whether the
    /// caller must add a place.
    #[must_use]
    pub(crate) fn push(&self, list: Option<usize>, job: Job) -> bool {
        let mut lists = self.lock();
        match list {
            Some(list) => lists.threads[list].jobs.push_back(Entry::Job(job)),
            None => lists.outside.push_back(job),
        }
        lists.needs_place()
    }

    /// Adds a job that runs after all others that the same thread has added in this way. Returns
    /// whether the caller must add a place.
    #[must_use]
    pub(crate) fn push_fifo(&self, list: Option<usize>, job: Job) -> bool {
        let Some(list) = list else {
            return self.push(None, job);
        };
        let mut lists = self.lock();
        let List { jobs, fifo } = &mut lists.threads[list];
        fifo.push_back(job);
        jobs.push_back(Entry::OldestOfFifo);
        lists.needs_place()
    }

    /// Takes the job of a place for the thread with this list, unless the place was left over.
    pub(crate) fn take(&self, list: usize) -> Option<Job> {
        let mut lists = self.lock();
        let own = lists.threads[list].newest();
        let job = own.or_else(|| lists.outside.pop_front());
        let job = job.or_else(|| {
            let (left, right) = lists.threads.split_at_mut(list);
            let mut others = right.iter_mut().chain(left);
            others.find_map(List::oldest)
        });
        if job.is_none() {
            lists.surplus -= 1;
        }
        job
    }

    /// Takes the newest job that the thread with this list has spawned. Its place is left over.
    pub(crate) fn take_own(&self, list: usize) -> Option<Job> {
        let mut lists = self.lock();
        let job = lists.threads[list].newest()?;
        lists.surplus += 1;
        Some(job)
    }

    /// Takes the newest job that the thread with this list has spawned, or else the oldest job from
    /// outside. Its place is left over.
    pub(crate) fn take_next(&self, list: usize) -> Option<Job> {
        let mut lists = self.lock();
        let own = lists.threads[list].newest();
        let job = own.or_else(|| lists.outside.pop_front())?;
        lists.surplus += 1;
        Some(job)
    }

    /// Returns whether jobs wait that the thread with this list has spawned.
    pub(crate) fn has_own(&self, list: usize) -> bool {
        !self.lock().threads[list].jobs.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lists {
    /// Gives a new job a place that was left over. Returns true if there is none.
    fn needs_place(&mut self) -> bool {
        let is_missing = self.surplus == 0;
        self.surplus = self.surplus.saturating_sub(1);
        is_missing
    }
}

impl List {
    fn newest(&mut self) -> Option<Job> {
        let entry = self.jobs.pop_back()?;
        self.job(entry)
    }

    fn oldest(&mut self) -> Option<Job> {
        let entry = self.jobs.pop_front()?;
        self.job(entry)
    }

    fn job(&mut self, entry: Entry) -> Option<Job> {
        match entry {
            Entry::Job(job) => Some(job),
            Entry::OldestOfFifo => self.fifo.pop_front(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

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
    fn a_job_that_runs_without_its_place_leaves_it_to_the_next_job() {
        let (job, last) = numbered();
        let jobs = Jobs::new(2);
        assert!(jobs.push(Some(0), job(1)), "the first job needs a place");
        jobs.take_own(0).unwrap()();
        assert!(
            !jobs.push(Some(1), job(2)),
            "the place of the first is left"
        );
        assert!(jobs.push(None, job(3)));
        jobs.take(0).unwrap()();
        assert_eq!(last.load(Relaxed), 3);
        jobs.take(0).unwrap()();
        assert_eq!(last.load(Relaxed), 2);
    }

    #[test]
    fn a_place_that_is_left_over_gives_no_job() {
        let (job, last) = numbered();
        let jobs = Jobs::new(1);
        assert!(jobs.push(None, job(1)) && jobs.push_fifo(Some(0), job(2)));
        jobs.take_next(0).unwrap()();
        assert_eq!(last.load(Relaxed), 2, "own jobs come first");
        jobs.take_next(0).unwrap()();
        assert!(jobs.take_next(0).is_none());
        assert!(jobs.take(0).is_none() && jobs.take(0).is_none());
        assert!(jobs.push(None, job(3)), "no place is left");
    }
}
