//! The state that the workers of a pool share: [`Shared`].

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Weak};

use super::Pool;
use super::cache_placement::Hashes;
use super::inbox::{Inbox, Injected};
use super::options::Options;
use super::quiescence::Quiescence;
use super::rescue::Rescue;
use super::stack_sizes::Stacks;
use super::threads::Threads;
use super::worker::{Core, Me, Remote, current};
use crate::append_vec::AppendVec;
use crate::call::Call;
use crate::runtime::{Slot, TaskStack, max_suspended};
use crate::scheduler::Scheduler;
use crate::sleep::Sleep;
use crate::stats::Timer;
use crate::sync::plain::{AtomicU64, Mutex, MutexGuard, OnceLock, lock};
use crate::sync::{Ordering, fence};
use crate::this_thread::{self, NO_POOL};
use crate::tracing::collect::PoolRecord;

/// The number of the next pool. Each pool has a number of its own.
pub(super) static NEXT_POOL: AtomicU64 = AtomicU64::new(NO_POOL + 1);

/// All pools that exist, by their numbers. A handle to a task of a pool has only its number, and
/// the pool may be gone.
static POOLS: Mutex<Pools> = Mutex::new(BTreeMap::new());

pub(super) type Pools = BTreeMap<u64, Weak<dyn Any + Send + Sync>>;

pub(super) fn lock_pools() -> MutexGuard<'static, Pools> {
    lock(&POOLS)
}

/// The state that the workers of a pool share.
pub struct Shared<S: Scheduler> {
    /// The pool's number.
    pub(crate) id: u64,
    /// The process that has the threads.
    pub(super) process: u32,
    /// The regular workers, then the spare ones whose threads have been started.
    pub(crate) worker_threads: AppendVec<Remote<S>>,
    /// Number of regular workers.
    pub(crate) workers: usize,
    /// Maximum number of spare workers.
    pub(super) spares: usize,
    pub(super) scheduler: Arc<S>,
    /// The size of the stack of a worker's thread, and the size of its task stack.
    pub(super) stacks: Stacks,
    pub(super) threads: Threads,
    pub(crate) sleep: Sleep,
    pub(crate) inbox: Inbox<S>,
    pub(super) rescue: Rescue,
    pub(crate) quiescence: Quiescence,
    pub(crate) options: Options,
    /// What the workers record, if the pool is traced.
    pub(super) trace: Option<Arc<PoolRecord>>,
    /// The pool as tokens show it. It does not own what it points to.
    pub(super) borrowed: OnceLock<ManuallyDrop<Pool<S>>>,
}

impl<S: Scheduler> Drop for Shared<S> {
    fn drop(&mut self) {
        lock_pools().remove(&self.id);
        self.trace.iter().for_each(|trace| trace.end());
    }
}

impl<S: Scheduler> Shared<S> {
    /// Returns the process that has the pool's threads.
    pub(crate) fn process(&self) -> u32 {
        self.process
    }

    /// Returns whether this is the process that has the pool's threads.
    pub(super) fn is_in_own_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// Panics in a process that was forked from the pool's process: it has none of the threads. Panics
    /// on a thread whose program is being measured.
    pub(crate) fn check_process(&self) {
        this_thread::check_not_measured();
        assert!(
            self.is_in_own_process(),
            "the threads of this pool are in process {}; process {} was forked from it and \
             has none of them: make a pool there, after the fork",
            self.process,
            std::process::id(),
        );
    }

    /// Returns the worker of this pool that runs on this thread, if there is one.
    #[inline]
    pub(crate) fn current(&self) -> Option<Me<'_, S>> {
        // SAFETY: the pool with this number is this one.
        unsafe { current::of_pool(self.id) }
    }

    /// Returns the pool.
    ///
    /// # Safety
    ///
    /// `this` comes from the `Arc` in which the state lies, which lives for `'p`.
    pub(super) unsafe fn as_pool<'p>(this: *const Self) -> &'p Pool<S> {
        // SAFETY: the caller guarantees that the state lives.
        let borrowed = unsafe { &(*this).borrowed };
        borrowed.get_or_init(|| {
            // SAFETY: the caller says that the pointer is that of an `Arc`. This value is never
            // dropped, so it needs no share of the count, and only references to it leave the state.
            let shared = unsafe { Arc::from_raw(this) };
            ManuallyDrop::new(Pool { shared })
        })
    }

    /// Returns the workers whose threads have been started. The others have never run anything.
    ///
    /// A thread starts after its worker has been added. A fence of the protocol that makes any work of
    /// the thread visible therefore makes the worker visible here, too.
    pub(crate) fn started(&self) -> &[Remote<S>] {
        &self.worker_threads
    }

    /// Makes this worker, whose thread is about to start, unless it exists.
    ///
    /// # Errors
    ///
    /// Returns the system's error if there is too little memory for the worker's task stack.
    pub(super) fn add_worker(self: &Arc<Self>, worker: usize) -> io::Result<()> {
        self.worker_threads.grow(worker, |index| {
            let own = Hashes::of_value(self.worker_threads.place(index));
            let (thread_stack, task_stack) = self.stacks;
            let stack = TaskStack::new(task_stack / size_of::<Slot<S>>(), own)?;
            let tasks = self.scheduler.task_pool(stack, self.workers);
            let walk = self.options.victims.walk(index, self.workers);
            let core = Core::new(walk, max_suspended(thread_stack));
            let pool = Arc::as_ptr(self);
            let trace = self
                .trace
                .as_ref()
                .map(|trace| trace.buffer(index))
                .transpose()?;
            let timer = Timer::new(self.options.timed, trace);
            Ok(Remote::new(index, pool, tasks, core, timer))
        })
    }

    /// Lets [`Self::find`] find the pool.
    pub(super) fn register(self: &Arc<Self>) {
        let pool: Weak<Self> = Arc::downgrade(self);
        lock_pools().insert(self.id, pool);
    }

    /// Returns the pool with this number, if it still exists.
    pub(crate) fn find(id: u64) -> Option<Arc<Self>> {
        let pool = lock_pools().get(&id)?.upgrade()?;
        pool.downcast().ok()
    }

    /// Queues a job for the next idle worker. If a worker made the job as a call and waits for it, `caller` is the call that
    /// the worker was running, and otherwise null. [`Inbox::withdraw`] finds the job by `tag`, if that is not null.
    pub(crate) fn inject(&self, job: Injected<S>, caller: *const Call, tag: *const ()) {
        self.inbox.push(job, caller, tag);
        self.call_idle_worker();
    }

    /// Returns whether the pool was dropped, no worker runs anything that may need it, and no job or mail is left for such
    /// a worker. Until then idle workers stay: a task that runs may need them, and so may a job that it leaves. Workers in
    /// their exit handlers, and threads of the program that never go idle, do not count.
    ///
    /// The looks at the workers and at the queues come one after the other. If no worker has taken anything
    /// meanwhile, all results hold at the end: a worker becomes active only by a job, by mail, or by a steal from
    /// an active worker.
    pub(super) fn is_over(&self) -> bool {
        if !self.sleep.is_stopping() {
            return false;
        }
        let taken = || (self.inbox.begun(), self.sleep.mail_taken());
        let before = taken();
        // Acquire: whoever has taken something that is counted is active, or was.
        fence(Ordering::Acquire);
        let is_any_needed = || self.started().iter().any(Remote::keeps_pool);
        if !self.sleep.is_over(is_any_needed) {
            return false;
        }
        // Acquire: see `Me::set_active`. What a worker has left before it became inactive is in the queues.
        fence(Ordering::Acquire);
        let is_awaited = |worker: &Remote<S>| worker.has_mail() && !worker.may_pool_end();
        let is_any_left = !self.inbox.is_empty() || self.started().iter().any(is_awaited);
        // Acquire: whoever has made a queue shorter has counted what it took.
        fence(Ordering::Acquire);
        !is_any_left && taken() == before
    }
}
