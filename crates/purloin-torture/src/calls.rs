//! Calls of pools: from tasks, and from threads outside.

use std::future::Future;
use std::pin::Pin;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use std::time::Duration;

use purloin::{Pool, Token};

use crate::program::*;
use crate::sync::{AtomicU64, await_for, record, thread};
use crate::tasks::{AnyHandle, Call, Code, Known, Subject, check_finish, get, run, work};
use crate::world::{Guard, Payload, ScopeRecord, Tree, catch};

/// A pool of a program, whichever scheduler it has.
pub trait AnyPool: Send + Sync {
    fn call(&self, call: Call, task: &'static Task, capture: Guard) -> Guard;
    fn job(&self, call: Call, in_background: bool, task: &'static Task, capture: Guard);
    fn run_async(&self, call: Call, task: &'static Task, capture: Guard) -> BoxFuture;
    fn future(&self, call: Call, task: &'static Task, capture: Guard, is_shared: bool)
    -> AnyHandle;
    fn finish(&self, call: Call, tasks: &'static [Item<Task>], seen: Arc<ScopeRecord>);
    fn wait(&self);
    fn broadcast(&self, f: &(dyn Fn() + Sync)) -> usize;
    fn look(&self) -> usize;
    fn workers(&self) -> usize;
    /// Returns what the workers do, as text.
    fn state(&self) -> String;
}

type BoxFuture = Pin<Box<dyn Future<Output = Guard>>>;

/// The pools of a program, while they exist.
#[derive(Default)]
pub struct Pools {
    main: AtomicPtr<Box<dyn AnyPool>>,
    other: AtomicPtr<Box<dyn AnyPool>>,
    /// Number of jobs and asynchronous calls that have not ended.
    jobs: AtomicUsize,
}

/// Counts a job until it is dropped.
pub struct JobGuard(&'static Pools);

impl Drop for JobGuard {
    fn drop(&mut self) {
        self.0.jobs.fetch_sub(1, SeqCst);
    }
}

impl Pools {
    fn place(&self, name: PoolName) -> &AtomicPtr<Box<dyn AnyPool>> {
        match name {
            PoolName::Main => &self.main,
            PoolName::Other => &self.other,
        }
    }

    pub fn set(&self, name: PoolName, pool: Box<dyn AnyPool>) {
        self.place(name)
            .store(Box::into_raw(Box::new(pool)), SeqCst);
    }

    pub fn get(&self, name: PoolName) -> &dyn AnyPool {
        let pool = NonNull::new(self.place(name).load(SeqCst)).expect("the pool exists");
        // SAFETY: `set` has made the pointer of a box. `drop` is called only when no thread uses the pool any more.
        unsafe { &**pool.as_ref() }
    }

    pub fn has(&self, name: PoolName) -> bool {
        !self.place(name).load(SeqCst).is_null()
    }

    /// Drops a pool. No thread but its own workers may use it.
    pub fn drop(&self, name: PoolName) {
        let pool = self.place(name).swap(null_mut(), SeqCst);
        if !pool.is_null() {
            // SAFETY: `set` has made the pointer of a box, and nothing else drops it.
            drop(unsafe { Box::from_raw(pool) });
        }
    }

    /// Returns what the workers of all pools do, unless a thread that is stuck holds a lock of the pool.
    pub fn states(&'static self) -> String {
        let (sender, states) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for name in [PoolName::Main, PoolName::Other] {
                if self.has(name) {
                    let _ = sender.send(self.get(name).state());
                }
            }
        });
        let next = || states.recv_timeout(Duration::from_millis(500)).ok();
        std::iter::from_fn(next).collect()
    }

    pub fn jobs(&self) -> usize {
        self.jobs.load(SeqCst)
    }

    fn count_job(&'static self) -> JobGuard {
        self.jobs.fetch_add(1, SeqCst);
        JobGuard(self)
    }
}

impl<S: Subject> AnyPool for Pool<S> {
    fn call(&self, call: Call, task: &'static Task, capture: Guard) -> Guard {
        self.run(move |w| run(w, Code::new(call), task, capture))
    }

    fn job(&self, call: Call, in_background: bool, task: &'static Task, capture: Guard) {
        let body = move |w: Token<'_, S>| {
            drop(run(w, Code::new(call), task, capture));
        };
        match in_background {
            true => self.spawn_background(body),
            false => self.spawn(body),
        }
    }

    fn run_async(&self, call: Call, task: &'static Task, capture: Guard) -> BoxFuture {
        Box::pin(Pool::run_async(self, move |w| {
            run(w, Code::new(call), task, capture)
        }))
    }

    fn future(
        &self,
        call: Call,
        task: &'static Task,
        capture: Guard,
        is_shared: bool,
    ) -> AnyHandle {
        use purloin::Worker;
        let handle =
            self.run(move |mut w| w.future(move |w| run(w, Code::new(call), task, capture)));
        match is_shared {
            true => AnyHandle::Shared(handle.share()),
            false => AnyHandle::Own(handle),
        }
    }

    fn finish(&self, call: Call, tasks: &'static [Item<Task>], seen: Arc<ScopeRecord>) {
        Pool::finish(self, |scope| {
            for Item { step: task, .. } in tasks {
                let (call, seen) = (call.clone(), Arc::clone(&seen));
                let capture = Guard::new(call.world, task.id);
                record(&seen.tasks).push(task.id);
                scope.spawn(move |w| {
                    if let Err(payload) = catch(|| drop(run(w, Code::new(call), task, capture))) {
                        record(&seen.failed).push(payload.clone());
                        payload.resume();
                    }
                });
            }
        });
    }

    fn wait(&self) {
        Pool::wait(self);
    }

    fn broadcast(&self, f: &(dyn Fn() + Sync)) -> usize {
        S::broadcast(self, f)
    }

    fn look(&self) -> usize {
        let _ = self.stats();
        self.times().len() + Pool::state(self).workers.len()
    }

    fn workers(&self) -> usize {
        Pool::workers(self)
    }

    fn state(&self) -> String {
        Pool::state(self).to_string()
    }
}

impl Call {
    fn capture(&self, task: &Task) -> Guard {
        Guard::new(self.world, task.id)
    }

    /// Returns the start of another call or job, whose panics end there.
    fn apart(&self, pool: PoolName) -> Call {
        let tree = Arc::new(Tree::default());
        tree.ended.store(true, SeqCst);
        Call {
            tree,
            pool,
            _job: Some(Arc::new(self.pools.count_job())),
            ..self.clone()
        }
    }

    /// Checks how a call has ended. Its panic continues.
    fn check_call(&self, task: &Task, result: Result<Guard, Payload>) {
        self.world.expect_ended(task.id, "after its call");
        let panic = self.world.panic_of(task.id);
        match result {
            Ok(guard) => {
                self.world.expect(panic.is_none(), || {
                    format!(
                        "the call of task {} ends without the panic {panic:?}",
                        task.id
                    )
                });
                self.world.expect(guard.id == task.id, || {
                    format!(
                        "the call of task {} has the result of task {}",
                        task.id, guard.id
                    )
                });
            }
            Err(payload) => {
                // Without a panic of its own, that of a task without a handle reaches it.
                let is_right = match &panic {
                    Some(panic) => *panic == payload,
                    None => self.tree.has_thrown(&payload),
                };
                self.world.expect(is_right, || {
                    format!(
                        "the call of task {} ends with {payload:?}, the task with {panic:?}",
                        task.id
                    )
                });
                payload.resume();
            }
        }
    }

    /// Calls a pool from a task.
    pub fn call<S: Subject>(
        self,
        w: &mut Token<'_, S>,
        code: &mut Code<S>,
        pool: PoolName,
        task: &'static Task,
    ) {
        let capture = self.capture(task);
        let result = match pool == self.pool {
            true => {
                let inner = code.inner();
                catch(|| w.pool().run(move |w| run(w, inner, task, capture)))
            }
            false => {
                let call = Call {
                    pool,
                    ..self.clone()
                };
                catch(|| self.pools.get(pool).call(call, task, capture))
            }
        };
        self.check_call(task, result);
    }

    /// Hands a job to a pool, from a worker of this call's pool with the token `w`, or from outside.
    pub fn job<S: Subject>(
        &self,
        w: Option<&mut Token<'_, S>>,
        pool: PoolName,
        in_background: bool,
        task: &'static Task,
    ) {
        self.world.make(task.id);
        let (call, capture) = (self.apart(pool), self.capture(task));
        match w {
            // The pool may have been dropped. Its workers still run its jobs.
            Some(w) if pool == self.pool => w.pool().job(call, in_background, task, capture),
            _ => self.pools.get(pool).job(call, in_background, task, capture),
        }
    }

    pub fn run_async<S: Subject>(
        &self,
        w: Option<&mut Token<'_, S>>,
        pool: PoolName,
        polls: usize,
        task: &'static Task,
    ) {
        let (call, capture) = (self.apart(pool), self.capture(task));
        let tree = Arc::clone(&call.tree);
        let result = catch(|| {
            let mut future = match w {
                Some(w) if pool == self.pool => AnyPool::run_async(w.pool(), call, task, capture),
                _ => self.pools.get(pool).run_async(call, task, capture),
            };
            purloin::blocking(|| await_for(future.as_mut(), polls))
        });
        let world = self.world;
        match result {
            // It was taken back, or goes on.
            Ok(None) => (),
            Ok(Some(guard)) => {
                world.expect_ended(task.id, "after its asynchronous call");
                world.expect(guard.id == task.id, || {
                    format!(
                        "the asynchronous call of task {} has another result",
                        task.id
                    )
                });
            }
            Err(payload) => {
                world.expect_ended(task.id, "after its asynchronous call");
                let panic = world.panic_of(task.id);
                let is_right = panic.as_ref() == Some(&payload) || tree.has_thrown(&payload);
                world.expect(is_right, || {
                    format!(
                        "the asynchronous call of task {} ends with {payload:?}",
                        task.id
                    )
                });
            }
        }
    }

    /// Hands a job to the pool of the worker with the token `w`, and spins until it has ended.
    pub fn meet_job<S: Subject>(&self, w: &mut Token<'_, S>, met: &Arc<AtomicU64>, serves: bool) {
        let other = Arc::clone(met);
        w.pool().spawn(move |_| other.store(1, Release));
        crate::tasks::spin_until_met(w, met, serves);
    }

    /// Hands a job to the pool of the worker with the token `w`, and blocks until it has ended.
    pub fn block_on_job<S: Subject>(&self, w: &mut Token<'_, S>, task: &'static Task) {
        struct Signal(Arc<AtomicU64>, thread::Thread);
        impl Drop for Signal {
            fn drop(&mut self) {
                self.0.store(1, Release);
                self.1.unpark();
            }
        }
        self.world.make(task.id);
        let is_done = Arc::new(AtomicU64::new(0));
        let signal = Signal(Arc::clone(&is_done), thread::current());
        let (call, capture) = (self.apart(self.pool), self.capture(task));
        w.pool().spawn(move |w| {
            let _signal = signal;
            drop(run(w, Code::new(call), task, capture));
        });
        purloin::blocking(|| {
            while is_done.load(Acquire) == 0 {
                thread::park();
            }
        });
        self.world
            .expect_ended(task.id, "after a thread was told of its end");
    }
}

/// Runs a step of a thread outside of the pools.
pub struct Thread {
    pub call: Call,
    /// The jobs that it has handed over since it last waited, with their pools.
    jobs: Vec<(PoolName, &'static Task)>,
}

impl Thread {
    pub fn new(call: Call) -> Thread {
        Thread {
            call,
            jobs: Vec::new(),
        }
    }

    pub fn run(&mut self, steps: &'static [Item<Outside>]) {
        steps.iter().for_each(|item| self.step(&item.step));
    }

    fn step(&mut self, step: &'static Outside) {
        // Each step is a call of its own.
        let call = Call {
            tree: Arc::default(),
            ..self.call.clone()
        };
        let (world, pools) = (call.world, call.pools);
        let none: Option<&mut Token<'_>> = None;
        match step {
            Outside::Call(pool, task) => {
                let capture = call.capture(task);
                let inner = Call {
                    pool: *pool,
                    ..call.clone()
                };
                let result = catch(|| pools.get(*pool).call(inner, task, capture));
                let result = catch(|| call.check_call(task, result));
                world.expect_end(&call.tree, &result, "a call");
            }
            Outside::Finish(pool, tasks) => {
                let seen = Arc::new(ScopeRecord::default());
                let inner = Call {
                    pool: *pool,
                    ..call.clone()
                };
                let result = catch(|| pools.get(*pool).finish(inner, tasks, Arc::clone(&seen)));
                let result = check_finish(world, &call.tree, &seen, None, result);
                world.expect_end(&call.tree, &result, "a finish of a thread outside");
            }
            Outside::Job {
                pool,
                in_background,
                task,
            } => {
                self.jobs.push((*pool, task));
                call.job(none, *pool, *in_background, task);
            }
            Outside::Wait(pool) => self.wait(*pool),
            Outside::Async { pool, polls, task } => call.run_async(none, *pool, *polls, task),
            Outside::Future {
                pool,
                how,
                is_shared,
                task,
            } => {
                let inner = call.apart(*pool);
                let capture = call.capture(task);
                let tree = Arc::clone(&inner.tree);
                let handle = catch(|| pools.get(*pool).future(inner, task, capture, *is_shared));
                let Ok(handle) = handle else {
                    // The panic of a task in it that has no handle.
                    return;
                };
                let known = Known {
                    handle,
                    id: task.id,
                    scope: None,
                    is_given: false,
                };
                let call = Call { tree, ..call };
                // Its panics are known, and end here.
                let _ = catch(|| get(none, &call, known, *how, true));
            }
            Outside::Broadcast(pool) => {
                let pool = pools.get(*pool);
                let count = pool.broadcast(&|| work(world, 3));
                world.expect(count == pool.workers(), || {
                    format!("a broadcast has {count} results")
                });
            }
            Outside::Look(pool) => {
                let _ = pools.get(*pool).look();
            }
            Outside::Pause => thread::sleep(Duration::from_micros(30)),
        }
    }

    /// Waits for the jobs of a pool, and checks that those which this thread has handed over have ended.
    fn wait(&mut self, name: PoolName) {
        let result = catch(|| self.call.pools.get(name).wait());
        if let Err(Payload::Other(text)) = &result {
            let world = self.call.world;
            world.expect(false, || format!("a wait ends with the panic: {text}"));
        }
        let (own, rest) = { self.jobs.drain(..) }.partition(|(pool, _)| *pool == name);
        self.jobs = rest;
        let own: Vec<_> = own;
        for (_, task) in own {
            expect_job_ended(&self.call, name, task);
        }
    }
}

/// Checks that a job has ended, and the jobs of the same pool that it has spawned. An asynchronous call is no job, and what a
/// task of the other pool spawns is no job of a job.
fn expect_job_ended(call: &Call, pool: PoolName, job: &'static Task) {
    call.world.expect_ended(job.id, "after a wait for all jobs");
    expect_jobs_ended(call, pool, job);
}

/// Checks that the jobs have ended that this part of a job has spawned.
fn expect_jobs_ended(call: &Call, pool: PoolName, part: &'static Task) {
    for item in &part.steps {
        match &item.step {
            Step::Job {
                pool: other, task, ..
            } => {
                if *other == pool && call.world.is_made(task.id) {
                    expect_job_ended(call, pool, task);
                }
            }
            Step::Async { .. } => (),
            Step::Call { pool: other, .. } if *other != pool => (),
            step => {
                let tasks = step.tasks().into_iter();
                tasks.for_each(|task| expect_jobs_ended(call, pool, task));
            }
        }
    }
}
