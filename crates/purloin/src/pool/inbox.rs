//! The inbox of a pool: the queues in which jobs, such as calls from outside, wait for idle workers. A job for one worker,
//! by mail, has the same type.
//!
//! Jobs in the **background** wait behind all others. So that they do not wait for ever, a worker takes one of them
//! after [`FRONT_JOBS`](crate::tunables::FRONT_JOBS) others that have come before it.

use std::collections::VecDeque;

use super::Me;
use crate::call::{Call, descends_from};
use crate::scheduler::Scheduler;
use crate::sync::{AtomicUsize, Mutex, Ordering, lock};
use crate::tunables;

/// A job that borrows nothing: for an idle worker, or for one worker by mail.
pub(crate) type Injected<S> = Job<'static, S>;

/// A job that may borrow.
pub(crate) struct Job<'f, S: Scheduler>(Code<'f, S>);

enum Code<'f, S: Scheduler> {
    Boxed(Closure<'f, S>),
    InFrame { run: RunInFrame<S>, data: *mut () },
}

type Closure<'f, S> = Box<dyn FnOnce(Me<'_, S>) + Send + 'f>;

/// Runs a job whose data lies in the frame of a thread that waits for it.
type RunInFrame<S> = unsafe fn(*mut (), Me<'_, S>);

// SAFETY: the closure is `Send`, and any worker may use the data: `Job::in_frame` requires that.
unsafe impl<S: Scheduler> Send for Job<'_, S> {}

impl<'f, S: Scheduler> Job<'f, S> {
    pub(crate) fn boxed(f: impl FnOnce(Me<'_, S>) + Send + 'f) -> Self {
        Job(Code::Boxed(Box::new(f)))
    }

    /// Returns a job that passes `data` to `run`.
    ///
    /// The data lies in the frame of a thread that waits for the job, and not in a box. A worker
    /// would free the box, and the allocator would reuse that memory for the worker's next small
    /// object. If two workers have freed neighbouring boxes, their objects lie in one cache line,
    /// for as long as the program goes on. A sort of numbers by their decimal digits took three
    /// times as long.
    ///
    /// # Safety
    ///
    /// `run` may be called with `data`, once, on the thread of any worker.
    pub(super) unsafe fn in_frame(data: *mut (), run: RunInFrame<S>) -> Self {
        Job(Code::InFrame { run, data })
    }

    /// Runs the job on the thread of `worker`, outside of the frames and scopes of the code that the worker has suspended.
    pub(crate) fn run(self, worker: Me<'_, S>) {
        worker.outside_of_frames(|| match self.0 {
            Code::Boxed(f) => f(worker),
            // SAFETY: `in_frame` says so, and `self` is consumed.
            Code::InFrame { run, data } => unsafe { run(data, worker) },
        });
    }
}

/// The jobs that wait, first in, first out.
pub(crate) struct Inbox<S: Scheduler> {
    jobs: Mutex<Jobs<S>>,
    /// The number of jobs, for idle workers to look at without the lock.
    len: AtomicUsize,
    /// The number of those in the background.
    background: AtomicUsize,
    /// The number of jobs that workers have taken, modulo 2⁶⁴.
    begun: AtomicUsize,
}

struct Jobs<S: Scheduler> {
    front: VecDeque<Entry<S>>,
    background: VecDeque<Injected<S>>,
    /// Number of jobs taken from the front since the oldest job in the background has been waiting.
    passed: u64,
}

impl<S: Scheduler> Jobs<S> {
    fn len(&self) -> usize {
        self.front.len() + self.background.len()
    }

    fn pop(&mut self) -> Option<Injected<S>> {
        let has_background = !self.background.is_empty();
        if !(has_background && self.passed >= tunables::FRONT_JOBS.get())
            && let Some(entry) = self.front.pop_front()
        {
            self.passed += u64::from(has_background);
            return Some(entry.job);
        }
        self.passed = 0;
        self.background.pop_front()
    }
}

struct Entry<S: Scheduler> {
    job: Injected<S>,
    /// If a worker made this call and waits for it: the call that the worker was running. Otherwise
    /// null.
    caller: *const Call,
    /// The tag by which [`Inbox::withdraw`] finds the entry, or null.
    tag: *const (),
}

// SAFETY: the job is `Send`, and the tag is never dereferenced. A thread reads `caller` only while
// it has the inbox locked. The call is then still queued, so its caller waits, and so do the calls
// from which it descends.
unsafe impl<S: Scheduler> Send for Entry<S> {}

impl<S: Scheduler> Inbox<S> {
    pub(super) fn new() -> Self {
        Inbox {
            jobs: Mutex::new(Jobs {
                front: VecDeque::new(),
                background: VecDeque::new(),
                passed: 0,
            }),
            len: AtomicUsize::new(0),
            background: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
        }
    }

    /// Returns, as a hint, the number of jobs.
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Adds a job to the front. `caller` is null unless a worker made the job as a call and waits for it.
    pub(super) fn push(&self, job: Injected<S>, caller: *const Call, tag: *const ()) {
        let mut jobs = lock(&self.jobs);
        jobs.front.push_back(Entry { job, caller, tag });
        self.len.store(jobs.len(), Ordering::Relaxed);
    }

    /// Adds a job to the background.
    pub(super) fn push_background(&self, job: Injected<S>) {
        let mut jobs = lock(&self.jobs);
        jobs.background.push_back(job);
        self.background
            .store(jobs.background.len(), Ordering::Relaxed);
        self.len.store(jobs.len(), Ordering::Relaxed);
    }

    /// Removes up to `max` jobs with this tag, which have nothing to do any more.
    pub(crate) fn withdraw(&self, tag: *const (), max: usize) {
        let mut withdrawn = Vec::new();
        let mut jobs = lock(&self.jobs);
        // From both ends, where a program that takes its results in order, or in the reverse order, finds
        // them.
        let place = |jobs: &VecDeque<Entry<S>>| {
            let newest = jobs.len().checked_sub(1)?;
            let ends = (0..jobs.len()).map(|i| match i % 2 {
                0 => newest - i / 2,
                _ => i / 2,
            });
            ends.into_iter().find(|&place| jobs[place].tag == tag)
        };
        while withdrawn.len() < max
            && let Some(place) = place(&jobs.front)
        {
            withdrawn.extend(jobs.front.remove(place));
        }
        self.len.store(jobs.len(), Ordering::Release);
        drop(jobs);
        // Without the lock: the destructors of jobs may be the program's.
        drop(withdrawn);
    }

    /// Takes the next job.
    pub(crate) fn pop(&self) -> Option<Injected<S>> {
        self.take(Jobs::pop)
    }

    /// Takes the oldest call that was made from within `ancestor`.
    pub(crate) fn pop_descendant_of(&self, ancestor: *const Call) -> Option<Injected<S>> {
        self.take(|jobs| {
            // SAFETY: a queued call has a caller that waits for it, so `caller` lives, and so do the
            // calls from which it descends.
            let is_descendant = |entry: &Entry<S>| unsafe { descends_from(entry.caller, ancestor) };
            let place = jobs.front.iter().position(is_descendant)?;
            jobs.front.remove(place).map(|entry| entry.job)
        })
    }

    fn take(&self, take: impl FnOnce(&mut Jobs<S>) -> Option<Injected<S>>) -> Option<Injected<S>> {
        if self.is_empty() {
            return None;
        }
        let mut jobs = lock(&self.jobs);
        let job = take(&mut jobs);
        self.background
            .store(jobs.background.len(), Ordering::Relaxed);
        if job.is_some() {
            // Release: an idle worker becomes active before it takes a job, and a thread that sees the number sees
            // that.
            self.begun.fetch_add(1, Ordering::Release);
        }
        // Release: a thread that sees the shorter queue sees that, too, and the number.
        self.len.store(jobs.len(), Ordering::Release);
        job
    }

    /// Returns, as a hint, how many jobs workers have taken so far.
    pub(super) fn begun(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }

    #[cfg(all(test, not(loom)))]
    fn jobs(&self) -> usize {
        lock(&self.jobs).len()
    }

    /// Returns, as a hint, whether any job waits that is not in the background.
    pub(crate) fn has_front(&self) -> bool {
        self.len.load(Ordering::Relaxed) > self.background.load(Ordering::Relaxed)
    }

    /// Returns whether the queue seems empty. If a worker goes to sleep on a wrong answer,
    /// [`Sleep::injected`] wakes it.
    ///
    /// [`Sleep::injected`]: crate::sleep::Sleep::injected
    pub(crate) fn is_empty(&self) -> bool {
        self.len.load(Ordering::Acquire) == 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use crate::{Pool, Worker};

    fn pool() -> Pool {
        Pool::builder().workers(1).build().unwrap()
    }

    #[test]
    fn a_finish_withdraws_its_calls_for_idle_workers() {
        let pool = pool();
        pool.run(|mut w| {
            w.finish(|scope| {
                scope.join(|_| scope.spawn(|_| ()), |_| ());
            });
            assert!(pool.shared.inbox.is_empty());
        });
    }

    #[test]
    fn a_thread_withdraws_its_call_for_a_future_that_a_busy_worker_ran() {
        let pool = pool();
        pool.run(|mut w| {
            let (outside, _) = w.join(
                |mut w| {
                    let future = w.future(|_| 7);
                    let outside = std::thread::spawn(move || future.get());
                    while pool.shared.inbox.is_empty() {
                        std::thread::yield_now();
                    }
                    outside
                },
                |_| (),
            );
            assert_eq!(outside.join().unwrap(), 7);
            assert!(pool.shared.inbox.is_empty());
        });
    }

    #[test]
    fn a_worker_that_gets_a_result_itself_withdraws_the_job() {
        let pool = Pool::builder().workers(1).spare_workers(0).build().unwrap();
        let futures: Vec<_> = (0..3).map(|n| pool.future(move |_| n)).collect();
        pool.run(|w| {
            for (n, future) in futures.into_iter().enumerate() {
                assert_eq!(future.get(), n);
            }
            assert!(pool.shared.inbox.is_empty());
            let mut call = w.pool().run_async(|_| 7);
            assert_eq!(pool.shared.inbox.jobs(), 1);
            let mut context = Context::from_waker(Waker::noop());
            assert_eq!(Pin::new(&mut call).poll(&mut context), Poll::Ready(7));
            assert!(pool.shared.inbox.is_empty());
            drop(w.pool().run_async(|_| 7));
            assert!(pool.shared.inbox.is_empty());
        });
    }

    /// A future that no worker has made has a job in the inbox from the start.
    #[test]
    fn a_get_outside_injects_no_second_job() {
        let pool = pool();
        let (begin, begun) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        pool.spawn(move |_| {
            begin.send(()).unwrap();
            ended.recv().unwrap();
        });
        begun.recv().unwrap();
        let future = pool.future(|_| 7);
        assert_eq!(pool.shared.inbox.jobs(), 1);
        let shared = future.share();
        std::thread::scope(|threads| {
            let outside = threads.spawn(|| *shared.get());
            std::thread::sleep(std::time::Duration::from_millis(10));
            assert_eq!(pool.shared.inbox.jobs(), 1);
            end.send(()).unwrap();
            assert_eq!(outside.join().unwrap(), 7);
        });
    }
}
