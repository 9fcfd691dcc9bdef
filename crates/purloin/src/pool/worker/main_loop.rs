//! The main loop of a worker's thread: it looks for outside work and for tasks to steal
//! ([`ReachIn`](crate::scheduler::ReachIn)), runs them, sleeps when there are none, and ends with its pool.

use std::time::Duration;

use super::{Me, Remote, current};
use crate::pool::{Injected, Shared};
use crate::runtime::{Stolen, stolen};
use crate::scheduler::{Point, Protocol, Scheduler};
use crate::sleep::{Backoff, Slept, TinyTasks, Visits};
use crate::stats::Count;
use crate::sync::{Instant, Operation, Ordering, counted_as, fence, runs_program};
use crate::tracing::buffer::Record;
use crate::tunables;
use crate::unwind::AbortOnUnwind;

/// Runs a worker on this thread, until the pool ends. The worker counts as searching: the threads of
/// regular workers start with the pool, and that of a spare worker when there is something to do.
pub(crate) fn run<S: Scheduler>(me: Me<'_, S>) {
    // The runtime catches panics of the program where it runs tasks. A panic that gets this
    // far is a bug in this crate, and other workers would wait for this worker for ever.
    let guard = AbortOnUnwind::new("a worker has panicked outside of any task");
    // A worker that sees the number of this one, in a task that it has stolen for example, finds it
    // among the workers: the number is stored after this fence, and loaded with Acquire.
    fence(Ordering::Release);
    let (pool, index) = (me.pool(), me.index());
    let _ = runs_program(false);
    let current = current::enter(me);
    me.open_mailbox();
    if pool.options.handlers.start.is_some() {
        interrupt(me, || {
            pool.call_handler(me, pool.options.handlers.start.as_ref())
        });
    }
    pool.sleep.release_thread_index(index);
    let mut work = find(me);
    loop {
        match work {
            Work::Injected(job) => me.active(|| {
                if let Some(trace) = me.timer().trace() {
                    trace.push(Record::Call);
                }
                job.run(me);
            }),
            Work::Stolen(stolen) => run_stolen(me, stolen),
            Work::Stop => break,
        }
        if me.is_spare() {
            me.count(Count::SpareTasks);
            pool.sleep.release_thread_index(index);
        }
        pool.sleep.start_searching();
        work = find(me);
    }
    if pool.options.handlers.exit.is_some() {
        // The handler may wait for those of other workers, which end meanwhile.
        me.let_pool_end();
        pool.call_handler(me, pool.options.handlers.exit.as_ref());
        // It may have left jobs, and no other worker is bound to be there.
        while !pool.inbox.is_empty() {
            S::Protocol::answer(me, Point::OutsideWork);
            if let Some(job) = pool.inbox.pop() {
                me.active(|| job.run(me));
            }
        }
    }
    me.close_mailbox();
    pool.sleep.end_with_thread_index(index);
    // From here on this thread is not a worker. Destructors of thread-local values run on it
    // later, when the pool may be gone.
    drop(current);
    guard.disarm();
}

/// The outcome of an idle worker's search.
enum Work<S: Scheduler> {
    /// A job from outside the pool.
    Injected(Injected<S>),
    /// Another worker's task.
    Stolen(Stolen<S>),
    /// Nothing: the pool is being dropped.
    Stop,
}

impl<S: Scheduler> Work<S> {
    /// Returns the kind of operation that a look with this outcome was.
    fn operation(found: &Option<Work<S>>) -> Operation {
        match found {
            None => Operation::Search,
            Some(Work::Stolen(_)) => Operation::Steal,
            Some(_) => Operation::Other,
        }
    }
}

/// Runs a stolen task, and then rests if many tasks in a row were not worth the steal.
fn run_stolen<S: Scheduler>(me: Me<'_, S>, stolen: Stolen<S>) {
    if !S::LEAVES_TINY_TASKS {
        return me.active(|| stolen::run(me, stolen));
    }
    let start = Instant::now();
    me.active(|| stolen::run(me, stolen));
    let core = me.core();
    let limit = TinyTasks::stolen_limit(core.claim.get());
    let row = core.tiny_stolen.get().after(start.elapsed(), limit);
    core.tiny_stolen.set(row);
    row.take_rest();
}

/// Blocks until there is work. The worker counts as searching.
fn find<S: Scheduler>(me: Me<'_, S>) -> Work<S> {
    let pool = me.pool();
    let mut search = Search::begin(me);
    loop {
        if pool.sleep.enter_reserve(me.index()) || pool.sleep.yield_thread_index(me.index()) {
            pass_on_search(me);
            me.set_polling(false);
            pool.sleep.wait_for_processor(me.index());
            search = Search::begin(me);
        }
        let found = counted_as(Work::operation, || {
            let work = search.look()?;
            pool.sleep.stop_searching();
            if let Work::Injected(_) | Work::Stolen(_) = work {
                pass_on_search(me);
            }
            Some(work)
        });
        if let Some(work) = found {
            return work;
        }
        if !search.backoff.pause() {
            let slept = counted_as(|_| Operation::Sleep, || S::Protocol::sleep(&mut search));
            search.restart(slept);
        }
    }
}

/// Looks once for a task of any worker, for a blocked worker that runs anything.
pub(crate) fn look_once<S: Scheduler>(me: Me<'_, S>, backoff: &mut Backoff) -> Option<Stolen<S>> {
    let mut search = Search {
        me,
        backoff: std::mem::replace(backoff, Backoff::new(me.core().spin_time.get())),
        is_fresh: false,
        is_thorough: true,
        since_thorough: Instant::now(),
    };
    me.walk().start();
    let stolen = S::Protocol::look(&mut search);
    *backoff = search.backoff;
    stolen
}

/// Runs `f`, which may block, in the middle of a search. The worker does not count as searching
/// while `f` runs.
fn interrupt<S: Scheduler>(me: Me<'_, S>, f: impl FnOnce()) {
    me.pool().sleep.stop_searching();
    pass_on_search(me);
    f();
    me.pool().sleep.start_searching();
}

/// An idle worker's search for work, from one task to the next.
pub struct Search<'m, S: Scheduler> {
    /// The worker that searches.
    pub me: Me<'m, S>,
    /// Grows while the worker finds nothing.
    pub backoff: Backoff,
    /// Whether the worker has looked at no victim yet.
    pub is_fresh: bool,
    /// Whether the worker looks at every victim. Other looks may leave out victims from which it expects nothing.
    pub is_thorough: bool,
    /// The last time when it became thorough, or else the begin of the search.
    since_thorough: Instant,
}

impl<'m, S: Scheduler> Search<'m, S> {
    fn begin(me: Me<'m, S>) -> Self {
        me.set_polling(true);
        me.walk().start();
        Search {
            me,
            backoff: Backoff::new(me.core().spin_time.get()),
            is_fresh: true,
            is_thorough: false,
            since_thorough: Instant::now(),
        }
    }

    /// Returns how long to sleep at most, or `None` to sleep until something wakes the worker. The
    /// limit doubles from sleep to sleep while any other worker is active.
    pub fn sleep_limit(&mut self) -> Option<Duration> {
        let (me, pool) = (self.me, self.me.pool());
        // The count of idle workers is one line, whatever the number of workers. But a worker may be neither idle nor
        // active: its thread may have ended.
        let is_any_active = |limit| match pool.sleep.idle() < pool.workers {
            true if limit < tunables::MAX_SLEEP_LIMIT.get() => true,
            _ => me.active_others().next().is_some(),
        };
        self.backoff.sleep_limit(is_any_active)
    }

    /// Sleeps, unless the last look finds something.
    pub fn sleep(&self, time: Option<Duration>, last_look: impl FnOnce() -> bool) -> Slept {
        let pool = self.me.pool();
        self.me.count(Count::Sleeps);
        self.me.set_polling(false);
        pool.sleep.sleep_idle(self.me.index(), time, || {
            last_look() || self.me.has_mail() || !pool.inbox.is_empty() || pool.is_over()
        })
    }

    /// Goes on after a sleep or a nap.
    fn restart(&mut self, slept: Slept) {
        self.me.set_polling(true);
        self.me.walk().start();
        // In a model every interval is long, and most searches should visit only announced workers.
        let is_due = self.since_thorough.elapsed() >= tunables::MIN_SLEEP_LIMIT.get();
        self.is_thorough = is_due && !cfg!(loom);
        if self.is_thorough {
            self.since_thorough = Instant::now();
        }
        let spin_time = self.backoff.restart(slept);
        self.me.core().spin_time.set(spin_time);
    }

    /// Looks once for work from outside and for a task to steal.
    fn look(&mut self) -> Option<Work<S>> {
        let (me, pool) = (self.me, self.me.pool());
        // Before the look at the inbox: every job that was there when the pool was dropped runs.
        let is_stopping = pool.sleep.is_stopping();
        if me.has_mail() || !pool.inbox.is_empty() {
            S::Protocol::answer(me, Point::OutsideWork);
            // Active before the job leaves the inbox: no worker ends between the two.
            me.set_active(true);
            if let Some(job) = me.take_mail() {
                return Some(Work::Injected(job));
            }
            if let Some(job) = pool.inbox.pop() {
                pool.sleep.began_outside_work(me.index());
                return Some(Work::Injected(job));
            }
            me.set_active(false);
        }
        if is_stopping && pool.is_over() {
            return Some(Work::Stop);
        }
        S::Protocol::look(self).map(Work::Stolen)
    }
}

/// Wakes sleepers in place of a worker that stops searching, because other workers left their tasks
/// for it to find.
///
/// The task that it has taken may have been the answer to the sleepers' requests. Other tasks may
/// have become public, or may have been pushed, while the searching worker was expected to find
/// them.
fn pass_on_search<S: Scheduler>(me: Me<'_, S>) {
    pass_on(me.pool(), Visits::Announced, |worker| {
        worker.index() == me.index()
    });
}

/// Wakes a sleeper for work from outside, or for the tasks of any worker but those that `is_ours` picks.
pub(crate) fn pass_on<S: Scheduler>(
    pool: &Shared<S>,
    visits: Visits,
    is_ours: impl Fn(&Remote<S>) -> bool,
) {
    S::Protocol::pass_on_all(pool.started(), visits, &is_ours);
    if !pool.inbox.is_empty() {
        pool.call_idle_worker();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use crate::{Pool, Sets, Token};

    fn sleep_until(is_true: impl Fn() -> bool) {
        let start = Instant::now();
        while !is_true() {
            assert!(start.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn is_any_polling(w: &Token<'_>) -> bool {
        w.thread().peers().iter().any(|peer| peer.is_polling())
    }

    /// Victim sets grow until they have enough thieves that poll.
    #[test]
    fn a_sleeping_worker_is_no_thief_that_polls() {
        let pool = Pool::builder().workers(5).build().unwrap();
        pool.run(|w| sleep_until(|| !is_any_polling(&w)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "a search takes as long there as a sleep")]
    fn a_victim_set_of_sleeping_workers_grows_until_it_has_an_active_one() {
        static IS_RUNNING: AtomicBool = AtomicBool::new(false);
        static IS_OVER: AtomicBool = AtomicBool::new(false);
        let sets = Sets::default().least(2).multiplicity(1);
        let pool = Pool::builder().workers(9).victims(sets).build().unwrap();
        pool.run(|w| {
            w.pool().spawn(|_| {
                IS_RUNNING.store(true, Ordering::Relaxed);
                sleep_until(|| IS_OVER.load(Ordering::Relaxed));
            });
            sleep_until(|| IS_RUNNING.load(Ordering::Relaxed) && !is_any_polling(&w));
            let me = w.thread();
            let finds_victim = || {
                let mut walk = me.walk();
                walk.start();
                while let Some(victim) = walk.next() {
                    let victim = &me.peers()[victim];
                    if victim.is_active() {
                        return true;
                    }
                    if victim.is_polling() {
                        walk.met_thief();
                    }
                }
                false
            };
            // Each search starts its set at another place. A sleeping worker may look around for a moment, or for longer
            // if the system stops it just then.
            sleep_until(|| (0..100).filter(|_| finds_victim()).count() > 90);
            IS_OVER.store(true, Ordering::Relaxed);
        });
    }
}
