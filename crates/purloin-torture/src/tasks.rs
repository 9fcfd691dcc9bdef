//! Runs the tasks of a program, and checks each construct where it ends.

use std::sync::atomic::Ordering::*;
use std::sync::{Arc, Mutex};

use purloin::{
    Cancelled, Handle, Pool, ReturnBarrier, Scheduler, Scope, SharedHandle, Token, Worker,
};
#[cfg(feature = "schedulers")]
use purloin_schedulers as schedulers;

use crate::calls::{JobGuard, Pools};
use crate::loops;
use crate::program::*;
use crate::sync::{AtomicU64, await_for, lock, pause, record, spin_loop, thread};
use crate::world::{Guard, Payload, ScopeRecord, Tree, World, catch};

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
    scope: &'static Scope<'static, 'static, S>,
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

/// What all code of a call has in common.
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

/// Makes a task, and spins until another worker has run it: it must be woken, and must find the task.
fn meet<S: Subject>(w: &mut Token<'_, S>, code: &mut Code<S>, kind: MeetKind, serves: bool) {
    let met = Arc::new(AtomicU64::new(0));
    let other = Arc::clone(&met);
    match kind {
        MeetKind::Join => {
            let a = |mut w: Token<'_, S>| spin_until_met(&mut w, &met, serves);
            w.join(a, move |_| other.store(1, Release));
        }
        MeetKind::Spawn => w.finish(|scope| {
            scope.spawn(move |_| other.store(1, Release));
            scope.join(|mut w| spin_until_met(&mut w, &met, serves), |_| ());
        }),
        MeetKind::Future => {
            let future = w.future(move |_| other.store(1, Release));
            spin_until_met(w, &met, serves);
            w.get(future);
        }
        MeetKind::Job => code.call.meet_job(w, &met, serves),
        MeetKind::Chain => {
            let second = AtomicU64::new(0);
            let a = |mut w: Token<'_, S>| spin_until_met(&mut w, &met, serves);
            w.join(a, |mut w| {
                let a = |mut w: Token<'_, S>| spin_until_met(&mut w, &second, serves);
                w.join(a, |_| second.store(1, Release));
                other.store(1, Release);
            });
        }
    }
}

/// Spins until another worker has set this flag.
pub fn spin_until_met<S: Subject>(w: &mut Token<'_, S>, met: &AtomicU64, serves: bool) {
    while met.load(Acquire) == 0 {
        pause();
        if serves {
            w.join(|_| (), |_| ());
        }
    }
}

fn join<S: Subject>(
    w: &mut Token<'_, S>,
    code: &mut Code<S>,
    kind: JoinKind,
    both: &'static [Task; 2],
) {
    let world = code.world();
    let [a, b] = both;
    let (mut of_a, mut of_b) = (code.inner(), code.inner());
    let _held = match kind {
        JoinKind::Locked(number) => {
            for code in [&mut of_a, &mut of_b] {
                code.handles.clear();
                code.scopes.clear();
            }
            Some(lock(&world.locks[number]))
        }
        _ => None,
    };
    let (for_a, for_b) = (Guard::new(world, a.id), Guard::new(world, b.id));
    let result = catch(|| match kind {
        JoinKind::Token | JoinKind::Locked(_) => w.join(
            move |w| run(w, of_a, a, for_a),
            move |w| run(w, of_b, b, for_b),
        ),
        JoinKind::Big => {
            let ballast = [a.id; 30];
            let (a, b) = w.join(
                move |w| (run(w, of_a, a, for_a), ballast),
                move |w| (run(w, of_b, b, for_b), ballast),
            );
            world.expect(a.1 == ballast && b.1 == ballast, || {
                "a large result of a join is wrong".to_string()
            });
            (a.0, b.0)
        }
        JoinKind::Free => purloin::join(
            move || S::with_token(|w| run(w, of_a, a, for_a)),
            move || S::with_token(|w| run(w, of_b, b, for_b)),
        ),
        JoinKind::Scope => {
            let a = move |w: Token<'_, S>| run(w, of_a, a, for_a);
            let b = move |w: Token<'_, S>| run(w, of_b, b, for_b);
            match code.scope(0) {
                Some((scope, _)) => scope.scope.join(a, b),
                None => w.join(a, b),
            }
        }
    });
    drop(_held);
    for task in both {
        world.expect_ended(task.id, "after its join");
    }
    let expected = world.panic_of(a.id).or(world.panic_of(b.id));
    match result {
        Ok((of_a, of_b)) => {
            world.expect(expected.is_none(), || {
                format!(
                    "the join of {} and {} ends without the panic {expected:?}",
                    a.id, b.id
                )
            });
            world.expect((of_a.id, of_b.id) == (a.id, b.id), || {
                format!("the join of {} and {} has other results", a.id, b.id)
            });
        }
        Err(payload) => {
            world.expect(Some(&payload) == expected.as_ref(), || {
                format!(
                    "the join of {} and {} ends with the panic {payload:?} instead of {expected:?}",
                    a.id, b.id
                )
            });
            payload.resume();
        }
    }
}

fn finish<S: Subject>(w: &mut Token<'_, S>, code: &mut Code<S>, body: &'static Task) {
    let world = code.world();
    let seen = Arc::new(ScopeRecord::default());
    let depth = code.scopes.len();
    let result = catch(|| {
        w.finish(|scope| {
            // SAFETY: only the lifetimes change. The reference is used by the body and by tasks of this scope, for which the
            // finish waits, and by the code that these wait for: see `Code::scope`.
            let scope: &'static Scope<'static, 'static, S> = unsafe { std::mem::transmute(scope) };
            let record = Arc::clone(&seen);
            code.scopes.push(InScope { scope, record });
            run_here(None, code, body);
        })
    });
    code.scopes.truncate(depth);
    if let Err(payload) = check_finish(world, &code.call.tree, &seen, Some(body.id), result) {
        payload.resume();
    }
}

/// Checks how a scope has ended. Returns the panic with which it has.
pub fn check_finish(
    world: &World,
    tree: &Tree,
    seen: &ScopeRecord,
    body: Option<usize>,
    result: Result<(), Payload>,
) -> Result<(), Payload> {
    let is_cancelled = seen.is_cancelled.load(SeqCst);
    for &task in &*record(&seen.tasks) {
        if world.has_begun(task) || !is_cancelled {
            world.expect_ended(task, "after its scope");
        }
    }
    let of_body = body.and_then(|body| world.panic_of(body));
    let failed = record(&seen.failed);
    let mut failures = failed
        .iter()
        .filter(|payload| **payload != Payload::Cancelled);
    match &result {
        Ok(()) => {
            let lost = of_body.or(failures.next().cloned());
            world.expect(lost.is_none(), || {
                format!("a scope ends without the panic {lost:?}")
            });
        }
        Err(payload) => {
            let is_right = match &of_body {
                Some(of_body) => payload == of_body,
                // A task may have needed a cancelled one of another scope.
                None if *payload == Payload::Cancelled => failed.contains(payload),
                None => tree.has_thrown(payload),
            };
            world.expect(is_right, || {
                format!("a scope ends with the panic {payload:?}, and its body with {of_body:?}")
            });
        }
    }
    result
}

/// Returns the code of a task of this scope, and notes that the scope has it.
fn of_scope<S: Subject>(
    code: &mut Code<S>,
    scope: &InScope<S>,
    around: usize,
    task: &Task,
) -> (Code<S>, Guard) {
    record(&scope.record.tasks).push(task.id);
    (code.part(around), Guard::new(code.world(), task.id))
}

/// Returns some of the shared handles that the code knows, with the numbers of their tasks.
fn inputs<S: Subject>(code: &Code<S>, max: usize) -> (Vec<SharedHandle<Guard>>, Vec<usize>) {
    let shared = code.handles.iter().filter_map(|known| match &known.handle {
        AnyHandle::Shared(handle) => Some((handle.clone(), known.id)),
        AnyHandle::Own(_) => None,
    });
    shared.take(max).unzip()
}

/// Checks what must hold when a task of a scope begins.
fn expect_begin(world: &World, task: &Task, is_late: bool, inputs: &[usize]) {
    world.expect(!is_late, || {
        format!("task {} runs, but was made in a cancelled scope", task.id)
    });
    for &input in inputs {
        if world.has_begun(input) {
            world.expect_ended(input, "when a task after it begins");
        }
    }
}

fn spawn<S: Subject>(code: &mut Code<S>, up: usize, is_after: bool, task: &'static Task) {
    let Some((scope, around)) = code.scope(up) else {
        return;
    };
    let (handles, numbers) = inputs(code, if is_after { 3 } else { 0 });
    let (inner, capture) = of_scope(code, &scope, around, task);
    let (seen, is_late) = (Arc::clone(&scope.record), scope.scope.is_cancelled());
    let body = move |w: Token<'_, S>| {
        expect_begin(inner.world(), task, is_late, &numbers);
        if let Err(payload) = catch(|| drop(run(w, inner, task, capture))) {
            record(&seen.failed).push(payload.clone());
            payload.resume();
        }
    };
    match is_after {
        true => scope.scope.after(&handles).spawn(body),
        false => scope.scope.spawn(body),
    }
}

fn future<S: Subject>(
    w: Option<&mut Token<'_, S>>,
    code: &mut Code<S>,
    kind: FutureKind,
    is_shared: bool,
    then: Then,
    task: &'static Task,
) {
    let world = code.world();
    let (handle, scope) = match kind {
        FutureKind::Token | FutureKind::Free => {
            let (inner, capture) = (code.part(0), Guard::new(world, task.id));
            let handle = match (kind, w.as_ref()) {
                (FutureKind::Free, _) | (_, None) => {
                    purloin::future(move || S::with_token(|w| run(w, inner, task, capture)))
                }
                _ => {
                    let w = w.expect("there is a token");
                    let handle = w.future(move |w| run(w, inner, task, capture));
                    return keep(Some(w), code, handle, None, is_shared, then, task);
                }
            };
            (handle, None)
        }
        FutureKind::Scoped { up } | FutureKind::After { up, .. } => {
            let Some((scope, around)) = code.scope(up) else {
                return;
            };
            let max = match kind {
                FutureKind::After { inputs, .. } => inputs,
                _ => 0,
            };
            let (handles, numbers) = inputs(code, max);
            let (inner, capture) = of_scope(code, &scope, around, task);
            let is_late = scope.scope.is_cancelled();
            let body = move |w: Token<'_, S>| {
                expect_begin(inner.world(), task, is_late, &numbers);
                run(w, inner, task, capture)
            };
            let handle = match kind {
                FutureKind::After { .. } => scope.scope.after(&handles).future(body),
                _ => scope.scope.future(body),
            };
            (handle, Some(scope.record))
        }
    };
    keep(w, code, handle, scope, is_shared, then, task);
}

/// Does with a new handle what the program says.
fn keep<S: Subject>(
    w: Option<&mut Token<'_, S>>,
    code: &mut Code<S>,
    handle: Handle<Guard>,
    scope: Option<Arc<ScopeRecord>>,
    is_shared: bool,
    then: Then,
    task: &'static Task,
) {
    let handle = match is_shared {
        true => AnyHandle::Shared(handle.share()),
        false => AnyHandle::Own(handle),
    };
    let known = Known {
        handle,
        id: task.id,
        scope,
        is_given: then == Then::Give,
    };
    match then {
        Then::Keep | Then::Give => code.handles.push(known),
        Then::Drop => drop(known),
        Then::Get(how) => get(w, &code.call, known, how, false),
    }
}

/// Gets the result of a future, and checks it.
pub fn get<S: Subject>(
    w: Option<&mut Token<'_, S>>,
    call: &Call,
    known: Known,
    how: How,
    catches: bool,
) {
    let Known {
        handle, id, scope, ..
    } = known;
    let (world, tree) = (call.world, &call.tree);
    let is_shared = matches!(handle, AnyHandle::Shared(_));
    let result = catch(|| get_by(w, handle, how));
    let result = match result {
        Ok(Err(Cancelled)) => Err(Payload::Cancelled),
        Ok(Ok(id)) => Ok(id),
        Err(payload) => Err(payload),
    };
    let payload = match result {
        Ok(result) => {
            world.expect(result == id, || {
                format!("the future of task {id} has the result of task {result}")
            });
            world.expect_ended(id, "after a get of its result");
            let panic = world.panic_of(id);
            world.expect(panic.is_none(), || {
                format!("the get of task {id} ends without the panic {panic:?}")
            });
            return;
        }
        Err(payload) => payload,
    };
    let is_cancelled = match scope {
        Some(scope) => scope.is_cancelled.load(SeqCst),
        None => false,
    };
    let of_task = world.has_begun(id).then(|| world.panic_of(id)).flatten();
    let is_right = match &payload {
        Payload::Cancelled => is_cancelled || of_task == Some(Payload::Cancelled),
        Payload::Shared if is_shared => of_task.is_some(),
        _ => Some(&payload) == of_task.as_ref(),
    };
    world.expect(is_right, || {
        format!("the get of task {id} panics with {payload:?}, the task with {of_task:?}")
    });
    if catches {
        tree.ended.store(true, SeqCst);
        return;
    }
    if payload == Payload::Cancelled {
        // It may end with a scope, and take the place of another panic on its way.
        tree.ended.store(true, SeqCst);
    }
    record(&tree.thrown).push(payload.clone());
    payload.resume();
}

fn get_by<S: Subject>(
    w: Option<&mut Token<'_, S>>,
    handle: AnyHandle,
    how: How,
) -> Result<usize, Cancelled> {
    let get = move |handle: AnyHandle, how: How| match (handle, how) {
        (AnyHandle::Own(handle), How::Try) => handle.try_get().map(|guard| guard.id),
        (AnyHandle::Own(handle), How::Await) => {
            let mut future = handle.into_future();
            let result =
                purloin::blocking(|| await_for(std::pin::Pin::new(&mut future), usize::MAX));
            Ok(result.expect("it is awaited for ever").id)
        }
        (AnyHandle::Own(handle), _) => Ok(handle.get().id),
        (AnyHandle::Shared(handle), How::Try) => handle.try_get().map(|guard| guard.id),
        (AnyHandle::Shared(handle), How::Await) => {
            let mut future = std::pin::pin!((&handle).into_future());
            let result = purloin::blocking(|| await_for(future.as_mut(), usize::MAX));
            Ok(result.expect("it is awaited for ever").id)
        }
        (AnyHandle::Shared(handle), _) => Ok(handle.get().id),
    };
    use std::future::IntoFuture;
    match (handle, how, w) {
        (AnyHandle::Own(handle), How::Token, Some(w)) => Ok(w.get(handle).id),
        (AnyHandle::Own(handle), How::InJoin, Some(w)) => {
            Ok(w.join(|_| (), |mut w| w.get(handle).id).1)
        }
        (handle, How::Thread, _) => {
            let handle = Arc::new(Mutex::new(Some(handle)));
            let taken = Arc::clone(&handle);
            let take = move |handle: &Mutex<Option<AnyHandle>>| record(handle).take();
            let builder = thread::Builder::new().name("outside".to_string());
            let outside = move || {
                let handle = take(&taken).expect("only this thread takes it");
                catch(|| get(handle, How::Try))
            };
            match builder.spawn(outside) {
                Ok(thread) => match purloin::blocking(|| thread.join()) {
                    Ok(Ok(result)) => result,
                    Ok(Err(payload)) => payload.resume(),
                    Err(panic) => std::panic::resume_unwind(panic),
                },
                // The system has refused the thread.
                Err(_) => get(take(&handle).expect("no thread has it"), How::Plain),
            }
        }
        (handle, how, _) => get(handle, how),
    }
}
