//! Runs the tasks of a program, and checks each construct where it ends.

mod futures;
mod joins;
mod scopes;

use std::sync::Arc;
use std::sync::atomic::Ordering::*;

use purloin::{Handle, Pool, ReturnBarrier, Scheduler, Scope, SharedHandle, Token};
#[cfg(feature = "schedulers")]
use purloin_schedulers as schedulers;

use crate::calls::{JobGuard, Pools};
use crate::loops;
use crate::program::*;
use crate::sync::{record, spin_loop};
use crate::world::{Guard, Payload, ScopeRecord, Tree, World, catch};
use futures::future;
use joins::{compute_fib, join, meet};
use scopes::{finish, spawn};

pub use futures::get;
pub use joins::spin_until_met;
pub use scopes::check_finish;

/// A scheduler under test.
pub trait Subject: Scheduler {
    /// Calls `f` with a token of this thread, a worker, in code that has none.
    fn with_token<R>(_f: impl FnOnce(Token<'_, Self>) -> R) -> R {
        unreachable!("only programs under the default scheduler have code without tokens")
    }

    /// Runs `f` once on each worker.
    fn broadcast(_pool: &Pool<Self>, _f: impl Fn() + Sync) -> usize {
        unreachable!("only the default scheduler has broadcasts")
    }
}

impl Subject for ReturnBarrier {
    fn with_token<R>(f: impl FnOnce(Token<'_>) -> R) -> R {
        purloin::with_token(|w| f(w.expect("this thread is a worker")))
    }

    fn broadcast(pool: &Pool, f: impl Fn() + Sync) -> usize {
        pool.broadcast(|_| f()).len()
    }
}

#[cfg(feature = "schedulers")]
impl Subject for schedulers::ReturnBarrierWs {}
#[cfg(feature = "schedulers")]
impl Subject for schedulers::DefaultWs {}
#[cfg(feature = "schedulers")]
impl<F: schedulers::Fields> Subject for schedulers::DirectStack<F> {}
#[cfg(feature = "schedulers")]
impl Subject for schedulers::ChaseLev {}
#[cfg(feature = "schedulers")]
impl Subject for schedulers::Channel {}

/// A scope around the code that runs. The lifetimes are a lie, see [`Code::scope`].
pub struct InScope<S: Subject> {
    pub(crate) scope: &'static Scope<'static, 'static, S>,
    record: Arc<ScopeRecord>,
}

impl<S: Subject> Clone for InScope<S> {
    fn clone(&self) -> Self {
        InScope {
            scope: self.scope,
            record: Arc::clone(&self.record),
        }
    }
}

pub enum AnyHandle {
    Own(Handle<Guard>),
    Shared(SharedHandle<Guard>),
}

/// A future that some code knows.
pub struct Known {
    pub handle: AnyHandle,
    pub id: usize,
    /// The scope of the task.
    pub scope: Option<Arc<ScopeRecord>>,
    /// Whether the next part of this code gets the handle.
    pub is_given: bool,
}

/// The data that all code of a call shares.
#[derive(Clone)]
pub struct Call {
    pub world: &'static World,
    pub pools: &'static Pools,
    pub tree: Arc<Tree>,
    pub pool: PoolName,
    /// Counts the job to which the code belongs, until nothing of it is left.
    pub _job: Option<Arc<JobGuard>>,
}

/// A piece of code, and what it knows.
pub struct Code<S: Subject> {
    pub call: Call,
    scopes: Vec<InScope<S>>,
    handles: Vec<Known>,
}

/// Maximum number of handles that a task gets from its maker.
const MAX_HANDLES: usize = 4;

impl<S: Subject> Code<S> {
    pub fn new(call: Call) -> Self {
        Code {
            call,
            scopes: Vec::new(),
            handles: Vec::new(),
        }
    }

    /// Returns what a part of this code knows that is in the outer `scopes` of its scopes.
    fn part(&mut self, scopes: usize) -> Self {
        let mut handles = Vec::new();
        let mut place = 0;
        while place < self.handles.len() && handles.len() < MAX_HANDLES {
            let known = &self.handles[place];
            match &known.handle {
                AnyHandle::Own(_) if known.is_given => {
                    handles.push(self.handles.remove(place));
                    continue;
                }
                AnyHandle::Own(_) => (),
                AnyHandle::Shared(handle) => handles.push(Known {
                    handle: AnyHandle::Shared(handle.clone()),
                    id: known.id,
                    scope: known.scope.clone(),
                    is_given: false,
                }),
            }
            place += 1;
        }
        Code {
            call: self.call.clone(),
            scopes: self.scopes[..scopes].to_vec(),
            handles,
        }
    }

    /// Returns what a closure of a join knows.
    pub fn inner(&mut self) -> Self {
        self.part(self.scopes.len())
    }

    /// Returns the scope `up` scopes outside of the innermost one, and how many scopes are around its tasks.
    fn scope(&self, up: usize) -> Option<(InScope<S>, usize)> {
        let len = self.scopes.len();
        let around = len - up % len.max(1);
        // The scope lives: its finish waits for this code. A task of the scope knows only this scope and those
        // outside of it, so they live at least as long as the task.
        let scope = self.scopes.get(around.checked_sub(1)?)?;
        Some((scope.clone(), around))
    }

    fn world(&self) -> &'static World {
        self.call.world
    }
}

/// Runs a task, and returns its result.
pub fn run<S: Subject>(
    w: Token<'_, S>,
    code: Code<S>,
    task: &'static Task,
    capture: Guard,
) -> Guard {
    let mut w = w;
    let mut code = code;
    let world = code.world();
    world.expect(capture.id == task.id, || {
        format!("task {} has the captures of task {}", task.id, capture.id)
    });
    run_here(Some(&mut w), &mut code, task);
    drop(capture);
    Guard::new(world, task.id)
}

/// Runs a task as a part of the code around it.
fn run_here<S: Subject>(mut w: Option<&mut Token<'_, S>>, code: &mut Code<S>, task: &'static Task) {
    code.world().run(task.id, || {
        for item in &task.steps {
            let step = &item.step;
            match &mut w {
                Some(w) => run_step(w, code, step),
                None => run_in_body(code, step),
            }
        }
    });
}

/// Runs a step in the body of a finish, where there is no token.
fn run_in_body<S: Subject>(code: &mut Code<S>, step: &'static Step) {
    match step {
        Step::Spawn { up, is_after, task } => spawn(code, *up, *is_after, task),
        Step::Future {
            kind: FutureKind::Scoped { .. } | FutureKind::After { .. },
            ..
        }
        | Step::Get { .. }
        | Step::Cancel { .. }
        | Step::Work(_)
        | Step::Drop(_)
        | Step::Panic => run_plain(None, code, step),
        _ => {
            let (scope, _) = code.scope(0).expect("the body is in a scope");
            scope
                .scope
                .join(|mut w| run_step(&mut w, code, step), |_| ());
        }
    }
}

fn run_step<S: Subject>(w: &mut Token<'_, S>, code: &mut Code<S>, step: &'static Step) {
    match step {
        Step::Join(kind, both) => join(w, code, *kind, both),
        Step::Fib(n) => compute_fib(w, code.world(), *n),
        Step::Finish(body) => finish(w, code, body),
        Step::Spawn { up, is_after, task } => spawn(code, *up, *is_after, task),
        Step::Loop { kind, len, special } => loops::run(w, code, *kind, *len, special.as_ref()),
        Step::Call { pool, task } => code.call.clone().call(w, code, *pool, task),
        Step::Job {
            pool,
            in_background,
            task,
        } => code.call.job(Some(w), *pool, *in_background, task),
        Step::Async { pool, polls, task } => code.call.run_async(Some(w), *pool, *polls, task),
        Step::Blocking(task) => code.call.block_on_job(w, task),
        Step::Broadcast => {
            let world = code.world();
            let count = S::broadcast(w.pool(), || work(world, 2));
            world.expect(count == w.pool().workers(), || {
                format!("a broadcast has {count} results")
            });
        }
        Step::Yield => {
            w.pool().yield_now();
        }
        Step::Meet { kind, serves } => meet(w, code, *kind, *serves),
        Step::Catch(task) => {
            let result = catch(|| run_here(Some(w), code, task));
            if result.is_err() {
                code.call.tree.ended.store(true, SeqCst);
            }
        }
        _ => run_plain(Some(w), code, step),
    }
}

/// Runs a step that may do without a token.
fn run_plain<S: Subject>(w: Option<&mut Token<'_, S>>, code: &mut Code<S>, step: &'static Step) {
    let tree = &code.call.tree;
    match step {
        Step::Work(count) => work(code.world(), *count),
        Step::Panic => {
            // The number of panics so far tells two panics of a loop's iterations apart.
            let mut thrown = record(&tree.thrown);
            let payload = Payload::Failed(thrown.len());
            thrown.push(payload.clone());
            drop(thrown);
            payload.resume();
        }
        Step::Cancel { up } => {
            if let Some((scope, _)) = code.scope(*up) {
                tree.is_cancelled.store(true, SeqCst);
                scope.record.is_cancelled.store(true, SeqCst);
                scope.scope.cancel();
            }
        }
        Step::Drop(which) => {
            if !code.handles.is_empty() {
                let place = which % code.handles.len();
                drop(code.handles.remove(place));
            }
        }
        Step::Get {
            which,
            how,
            catches,
        } => {
            if code.handles.is_empty() {
                return;
            }
            let place = which % code.handles.len();
            let known = match &code.handles[place].handle {
                AnyHandle::Own(_) => code.handles.remove(place),
                AnyHandle::Shared(handle) => Known {
                    handle: AnyHandle::Shared(handle.clone()),
                    id: code.handles[place].id,
                    scope: code.handles[place].scope.clone(),
                    is_given: false,
                },
            };
            get(w, &code.call, known, *how, *catches);
        }
        Step::Future {
            kind,
            is_shared,
            then,
            task,
        } => future(w, code, *kind, *is_shared, *then, task),
        _ => unreachable!("this step needs a token"),
    }
}

/// Accesses shared memory.
pub fn work(world: &World, count: usize) {
    for i in 0..count {
        let memory = &world.shared[i % world.shared.len()];
        match i % 8 {
            7 => spin_loop(),
            0 => memory.store(i as u64, Relaxed),
            _ => {
                memory.load(Relaxed);
            }
        }
    }
}
