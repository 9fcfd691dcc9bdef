//! Random trees of tasks, some of which are cancelled or panic, and whose results others need.
//!
//! A task makes spawns, futures and tasks that begin after others; it gets results, runs loops and
//! nested scopes, cancels its own scope or the one around it, and panics: at random places, which
//! depend on a seed. Tasks, scopes and threads write down what they see, and it is compared with what
//! the documentation promises:
//!
//! - A task runs at most once; exactly once if its scope is not cancelled. Its captures and its
//!   result are dropped once.
//! - A task begins after its inputs have ended.
//! - A task that was made in a cancelled scope never begins. Of the others, each thread begins at
//!   most one after the cancellation.
//! - A scope ends after all of its tasks, with the panic of its body or one of its tasks.
//! - The pool can be used again.
//!
//! A failure names the seed. The environment variable `PURLOIN_SEED` sets the first seed, and
//! `PURLOIN_PROGRAMS` the number of programs.

mod common;

use std::any::Any;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use common::Lcg;
use common::counted::{Counted, Counting, Explosion};
use purloin::{Cancelled, Handle, Pool, Scheduler, Scope, Serial, SharedHandle, Spawner, Worker};
use purloin_schedulers::{Channel, DirectStack, OneField};

/// Default number of programs for each scheduler.
const PROGRAMS: u64 = if cfg!(miri) { 3 } else { 200 };
/// Maximum nesting of tasks.
const DEPTH: u64 = if cfg!(miri) { 2 } else { 5 };
/// Maximum number of steps of a task.
const STEPS: u64 = if cfg!(miri) { 3 } else { 8 };
/// Maximum number of tasks that a body makes if most of them begin after others.
const NODES: u64 = if cfg!(miri) { 6 } else { 50 };
/// Maximum number of iterations of a loop.
const ITERATIONS: u64 = if cfg!(miri) { 4 } else { 300 };
/// Maximum work of a step, in units of about a nanosecond.
const WORK: u64 = if cfg!(miri) { 4 } else { 2_000 };

/// The panic of the task or body with this number.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Failed(u64);

/// The payload of a panic.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Payload {
    Failed(Failed),
    /// Of a second get from a shared handle.
    Shared,
    Cancelled,
    /// Of a destructor.
    Explosion,
}

/// The message of a second get from the shared handle of a task that has panicked.
const SHARED: &str = "the task of this shared handle has panicked";

impl Payload {
    /// Returns what the payload is. A payload of another type is a failure of this test, which
    /// continues.
    fn of(panic: Box<dyn Any + Send>) -> Payload {
        if let Some(failed) = panic.downcast_ref() {
            return Payload::Failed(*failed);
        }
        match () {
            () if panic.is::<Cancelled>() => Payload::Cancelled,
            () if panic.is::<Explosion>() => Payload::Explosion,
            () if panic.downcast_ref() == Some(&SHARED) => Payload::Shared,
            () => resume_unwind(panic),
        }
    }

    fn resume(self) -> ! {
        resume_unwind(match self {
            Payload::Failed(failed) => Box::new(failed),
            Payload::Shared => Box::new(SHARED),
            Payload::Cancelled => Box::new(Cancelled),
            Payload::Explosion => Box::new(Explosion),
        })
    }
}

/// Runs `f`, and returns its result or the payload of its panic.
fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(f)).map_err(Payload::of)
}

/// The state that all parts of a program share.
struct Program {
    has_cancels: bool,
    has_panics: bool,
    has_bombs: bool,
    /// Whether threads outside of the pool get results while a worker waits for them.
    has_threads: bool,
    /// The number of tasks and bodies.
    made: AtomicU64,
    /// The panics of all tasks and bodies.
    panics: Mutex<Vec<Payload>>,
    /// The first promise that was broken.
    broken: Mutex<Option<String>>,
    /// The panics of futures that belong to no scope, which reach the program anywhere.
    panics_of_no_scope: Mutex<Vec<Payload>>,
    /// Whether a panic may have ended: a step has caught it, or it gave way to a cancellation.
    may_have_ended_panics: AtomicBool,
}

impl Program {
    fn new(numbers: &mut Lcg, has_spare_workers: bool) -> Self {
        Program {
            has_cancels: numbers.below(2) == 0,
            has_panics: numbers.below(2) == 0,
            has_bombs: numbers.below(4) == 0,
            // Without a spare worker, there may be no worker left that runs the task.
            has_threads: numbers.below(2) == 0 && has_spare_workers,
            made: AtomicU64::new(0),
            panics: Mutex::default(),
            broken: Mutex::default(),
            panics_of_no_scope: Mutex::default(),
            may_have_ended_panics: AtomicBool::new(false),
        }
    }

    /// Writes down a broken promise. A panic here could be taken for one of the program.
    fn expect(&self, holds: bool, promise: impl FnOnce() -> String) {
        if !holds {
            self.broken.lock().unwrap().get_or_insert_with(promise);
        }
    }

    fn number(&self) -> u64 {
        self.made.fetch_add(1, SeqCst)
    }

    fn end_panics(&self) {
        self.may_have_ended_panics.store(true, SeqCst);
    }
}

/// The record of a task.
struct Task {
    number: u64,
    has_handle: bool,
    /// Whether its scope was cancelled before it was made.
    is_late: bool,
    inputs: Vec<Arc<Task>>,
    begins: AtomicUsize,
    has_ended: AtomicBool,
    /// Whether its closure has been dropped.
    is_over: AtomicBool,
}

/// The record of a scope.
#[derive(Default)]
struct Record {
    tasks: Mutex<Vec<Arc<Task>>>,
    /// Whether it is cancelled, or is about to be.
    is_cancelled: AtomicBool,
    /// The panics of its body and of its tasks.
    panics: Mutex<Vec<Payload>>,
    /// Whether a task has panicked that has no handle.
    has_failed: AtomicBool,
    /// The threads that began a task when the scope was cancelled.
    began_late: Mutex<HashSet<ThreadId>>,
}

/// The captures of a task's closure.
struct Captures {
    task: Arc<Task>,
    scope: Arc<Record>,
    program: Arc<Program>,
    value: Option<Counted>,
}

impl Drop for Captures {
    fn drop(&mut self) {
        let Captures {
            task,
            scope,
            program,
            value,
        } = self;
        let result = catch(|| drop(value.take()));
        if let Err(payload) = result {
            scope.keep_panic(program, payload);
            // A thread that gets the result of a future receives the panic.
            if !task.has_handle {
                scope.has_failed.store(true, SeqCst);
            }
        }
        let was_over = task.is_over.swap(true, SeqCst);
        program.expect(!was_over, || {
            format!("the captures of {} are dropped twice", task.number)
        });
        if let Err(payload) = result {
            payload.resume();
        }
    }
}

impl Record {
    fn keep_panic(&self, program: &Program, payload: Payload) {
        self.panics.lock().unwrap().push(payload);
        program.panics.lock().unwrap().push(payload);
    }
}

/// A handle that several tasks may have.
#[derive(Clone)]
struct Shared {
    handle: SharedHandle<Counted>,
    task: Arc<Task>,
    /// The scope of the task.
    scope: Arc<Record>,
}

/// The scope whose code runs.
struct Here<'s, 'env, S: Spawner> {
    scope: &'s Scope<'s, 'env, S>,
    record: &'s Arc<Record>,
    program: &'s Arc<Program>,
    /// Cancels the scope around this one.
    cancel_outer: &'s (dyn Fn() + Sync),
}

impl<S: Spawner> Clone for Here<'_, '_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Spawner> Copy for Here<'_, '_, S> {}

/// The plan of a task: its steps, and the results that it gets.
struct Plan {
    numbers: Lcg,
    depth: u64,
    handles: Vec<Shared>,
}

impl Plan {
    /// Returns the plan of a task that this one makes. The task knows some of the results that this
    /// one knows. So it waits for older tasks only, and tasks do not wait for each other in a circle.
    fn part(&mut self) -> Plan {
        let numbers = Lcg::of_seed(self.numbers.below(1 << 30));
        let known = self.handles.len() as u64;
        let count = self.numbers.below(4).min(known);
        let handles = (0..count).map(|_| self.handles[self.numbers.below(known) as usize].clone());
        Plan {
            handles: handles.collect(),
            numbers,
            depth: self.depth.saturating_sub(1),
        }
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.numbers.below(one_in) == 0
    }
}

impl<'s, S: Spawner> Here<'s, '_, S> {
    /// Runs a nested scope.
    fn finish<W: Worker>(self, mut w: W, plan: Plan) {
        finish(&mut w, self.program, &|| self.cancel(), plan);
    }

    fn cancel(self) {
        self.record.is_cancelled.store(true, SeqCst);
        self.scope.cancel();
    }

    /// Runs the body of a scope.
    fn body(self, mut plan: Plan) {
        let is_graph = plan.chance(4);
        if is_graph {
            plan.depth = plan.depth.min(1);
        }
        for _ in 0..1 + plan.numbers.below(if is_graph { NODES } else { STEPS }) {
            match plan.numbers.below(8) {
                _ if is_graph && !plan.chance(10) => self.make(&mut plan),
                0 => {
                    let (left, right) = (plan.part(), plan.part());
                    self.scope
                        .join(move |w| self.steps(w, left), move |w| self.steps(w, right));
                }
                1 => self.step(&mut plan),
                2 if self.program.has_threads => self.get_outside(&mut plan),
                _ => self.make(&mut plan),
            }
        }
    }

    /// Runs the steps of a task, or of a closure of a join.
    fn steps<W: Worker>(self, mut w: W, mut plan: Plan) {
        for _ in 0..plan.numbers.below(STEPS + 1) {
            match plan.numbers.below(10) {
                0 if plan.depth > 0 => {
                    let (left, right) = (plan.part(), plan.part());
                    w.join(move |w| self.steps(w, left), move |w| self.steps(w, right));
                }
                1 if plan.depth > 0 => {
                    let plan = plan.part();
                    w.lend(|w| self.finish(w, plan));
                }
                2 => self.run_loop(&mut w, &mut plan),
                3 if plan.depth > 0 => self.future_of_no_scope(&mut w, &mut plan),
                4..=7 if plan.depth > 0 => self.make(&mut plan),
                _ => self.step(&mut plan),
            }
        }
    }

    /// Runs a step that needs no token.
    fn step(self, plan: &mut Plan) {
        match plan.numbers.below(12) {
            0 if self.program.has_cancels => self.cancel(),
            1 if self.program.has_cancels => (self.cancel_outer)(),
            2 | 3 if self.program.has_panics && plan.chance(3) => {
                Payload::Failed(Failed(self.program.number())).resume()
            }
            4..=8 => self.get(plan),
            _ => work(plan.numbers.below(WORK)),
        }
    }

    /// Makes a task, and does something with its handle.
    fn make(self, plan: &mut Plan) {
        let part = plan.part();
        let (is_spawned, is_after) = (plan.chance(3), plan.chance(2));
        let inputs = match is_after {
            true => plan.part().handles,
            false => Vec::new(),
        };
        let captures = self.captures(plan, !is_spawned, &inputs);
        let task = Arc::clone(&captures.task);
        let after = || self.scope.after(inputs.iter().map(|input| &input.handle));
        match (is_spawned, is_after) {
            (true, false) => self
                .scope
                .spawn(move |w| self.run_spawned(w, captures, part)),
            (true, true) => after().spawn(move |w| self.run_spawned(w, captures, part)),
            (false, false) if plan.chance(2) => {
                let handle = self.scope.future(move |w| self.run(w, captures, part));
                self.use_handle(handle, task, plan);
            }
            (false, _) => {
                let handle = after().shared_future(move |w| self.run(w, captures, part));
                self.keep(handle, task, plan);
            }
        }
    }

    /// Returns the captures of a new task of this scope.
    fn captures(self, plan: &mut Plan, has_handle: bool, inputs: &[Shared]) -> Captures {
        let task = Arc::new(Task {
            number: self.program.number(),
            has_handle,
            is_late: self.scope.is_cancelled(),
            inputs: inputs.iter().map(|input| Arc::clone(&input.task)).collect(),
            begins: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        self.record.tasks.lock().unwrap().push(Arc::clone(&task));
        let value = match self.program.has_bombs && plan.chance(10) {
            true => Counted::bomb(task.number),
            false => Counted::new(task.number),
        };
        Captures {
            task,
            scope: Arc::clone(self.record),
            program: Arc::clone(self.program),
            value: Some(value),
        }
    }

    /// Runs a task that has no handle.
    fn run_spawned<W: Worker>(self, w: W, captures: Captures, plan: Plan) {
        let result = catch(|| drop(self.run(w, captures, plan)));
        if let Err(payload) = result {
            if payload != Payload::Cancelled {
                self.record.has_failed.store(true, SeqCst);
            }
            payload.resume();
        }
    }

    /// Runs a task, and returns a result that has its number.
    fn run<W: Worker>(self, w: W, captures: Captures, plan: Plan) -> Counted {
        let (task, program) = (&captures.task, self.program);
        let number = task.number;
        let is_late = self.scope.is_cancelled();
        let begins = task.begins.fetch_add(1, SeqCst);
        program.expect(begins == 0, || format!("{number} runs twice"));
        program.expect(!task.is_late, || {
            format!("{number} runs, but was made late")
        });
        for input in &task.inputs {
            let (is_over, input) = (input.is_over.load(SeqCst), input.number);
            program.expect(is_over, || {
                format!("{number} begins before its input {input} has ended")
            });
        }
        if is_late {
            let thread = thread::current().id();
            let is_first = self.record.began_late.lock().unwrap().insert(thread);
            program.expect(is_first, || {
                format!("a thread begins {number} too, after the cancellation")
            });
        }
        if let Err(payload) = catch(|| self.steps(w, plan)) {
            self.record.keep_panic(program, payload);
            payload.resume();
        }
        task.has_ended.store(true, SeqCst);
        // Before the result: if the destructor panics, nothing drops a result that is in its place.
        drop(captures);
        Counted::new(number)
    }

    fn keep(self, handle: SharedHandle<Counted>, task: Arc<Task>, plan: &mut Plan) {
        if plan.chance(8) {
            return;
        }
        plan.handles.push(Shared {
            handle,
            task,
            scope: Arc::clone(self.record),
        });
    }

    /// Gets the result of a future, drops its handle, or shares it.
    fn use_handle(self, handle: Handle<Counted>, task: Arc<Task>, plan: &mut Plan) {
        match plan.numbers.below(4) {
            0 => drop(handle),
            1 => self.keep(handle.share(), task, plan),
            _ => {
                let get = || handle.try_get().map(|value| value.key());
                self.check_result(catch(get), &task, self.record, plan);
            }
        }
    }

    /// Gets the result of a task.
    fn get(self, plan: &mut Plan) {
        if plan.handles.is_empty() {
            return;
        }
        let chosen = plan.numbers.below(plan.handles.len() as u64) as usize;
        let Shared {
            handle,
            task,
            scope,
        } = plan.handles[chosen].clone();
        let result = match plan.numbers.below(2) {
            0 => catch(|| handle.try_get().map(Counted::key)),
            _ => match catch(|| handle.get().key()) {
                Err(Payload::Cancelled) => Ok(Err(Cancelled)),
                result => result.map(Ok),
            },
        };
        self.check_result(result, &task, &scope, plan);
    }

    /// Lets a thread outside of the pool get the result of a task.
    fn get_outside(self, plan: &mut Plan) {
        let Some(Shared {
            handle,
            task,
            scope,
        }) = plan.handles.pop()
        else {
            return;
        };
        let result = thread::scope(|threads| {
            let thread = threads.spawn(|| catch(|| handle.try_get().map(Counted::key)));
            purloin::blocking(|| thread.join().unwrap())
        });
        self.check_result(result, &task, &scope, plan);
    }

    /// Checks the result of a task of some scope. Lets some panics and cancellations continue.
    fn check_result(
        self,
        result: Result<Result<u64, Cancelled>, Payload>,
        task: &Task,
        scope: &Arc<Record>,
        plan: &mut Plan,
    ) {
        let (number, program) = (task.number, self.program);
        match result {
            Ok(Ok(key)) => {
                program.expect(key == number, || {
                    format!("{number} has the result of {key}")
                });
                let has_ended = task.has_ended.load(SeqCst);
                program.expect(has_ended, || {
                    format!("{number} has a result before its end")
                });
            }
            Ok(Err(Cancelled)) => {
                let is_cancelled = scope.is_cancelled.load(SeqCst);
                program.expect(is_cancelled, || {
                    format!("{number} is cancelled, but its scope is not")
                });
                if Arc::ptr_eq(scope, self.record) && plan.chance(4) {
                    program.end_panics();
                    Payload::Cancelled.resume();
                }
            }
            Err(payload) => {
                let panics = scope.panics.lock().unwrap();
                let is_known = match payload {
                    Payload::Shared => !panics.is_empty(),
                    _ => panics.contains(&payload),
                };
                drop(panics);
                program.expect(is_known, || format!("{number} ends with {payload:?}"));
                match plan.chance(3) {
                    true => program.end_panics(),
                    false => payload.resume(),
                }
            }
        }
    }

    /// Runs a loop, which may end its scope, panic, and spawn.
    fn run_loop<W: Worker>(self, w: &mut W, plan: &mut Plan) {
        let program = self.program;
        let count = plan.numbers.below(ITERATIONS);
        let special = plan.numbers.below(ITERATIONS);
        let (work_each, effect) = (plan.numbers.below(WORK / 4), plan.numbers.below(6));
        let part = Mutex::new(Some(plan.part()));
        let seen: Vec<_> = (0..count).map(|_| AtomicUsize::new(0)).collect();
        let was_cancelled = self.scope.is_cancelled();
        let body = |w: W::Token<'_>, i: u64| {
            seen[i as usize].fetch_add(1, SeqCst);
            work(work_each);
            if i == special {
                match effect {
                    0 if program.has_cancels => self.cancel(),
                    1 if program.has_panics => Payload::Failed(Failed(program.number())).resume(),
                    2 => {
                        let part = part.lock().unwrap().take();
                        self.steps(w, part.unwrap());
                    }
                    _ => (),
                }
            }
        };
        let result = catch(|| w.par(0..count).for_each_with_token(body));
        let is_cancelled = self.scope.is_cancelled();
        for (i, seen) in seen.iter().enumerate() {
            let seen = seen.load(SeqCst);
            program.expect(seen <= 1, || format!("iteration {i} of a loop runs twice"));
            program.expect(seen == 1 || is_cancelled || result.is_err(), || {
                format!("iteration {i} of a loop does not run")
            });
            program.expect(seen == 0 || !was_cancelled, || {
                format!("iteration {i} of a loop in a cancelled scope runs")
            });
        }
        let sum: u64 = w.par(0..count).sum();
        program.expect(sum == count * count.saturating_sub(1) / 2, || {
            "a sum is wrong".to_string()
        });
        if let Err(payload) = result {
            payload.resume();
        }
    }

    /// Makes a future that belongs to no scope of the program, and in which scopes nest.
    fn future_of_no_scope<W: Worker>(self, w: &mut W, plan: &mut Plan) {
        let (part, program) = (plan.part(), Arc::clone(self.program));
        let value = Counted::new(0);
        let future = w.future(move |mut w| {
            let result = catch(|| finish(&mut w, &program, &|| (), part));
            if let Err(payload) = result {
                program.panics.lock().unwrap().push(payload);
                program.panics_of_no_scope.lock().unwrap().push(payload);
                payload.resume();
            }
            value
        });
        if plan.chance(2) {
            w.get(future);
        }
    }
}

/// Runs a scope, and checks how it ends.
fn finish<W: Worker>(
    w: &mut W,
    program: &Arc<Program>,
    cancel_outer: &(dyn Fn() + Sync),
    plan: Plan,
) {
    let record = &Arc::new(Record::default());
    let mut of_body = None;
    let result = catch(|| {
        w.finish(|scope| {
            let here = Here {
                scope,
                record,
                program,
                cancel_outer,
            };
            if let Err(payload) = catch(|| here.body(plan)) {
                record.keep_panic(program, payload);
                of_body = Some(payload);
                payload.resume();
            }
        })
    });
    let is_cancelled = record.is_cancelled.load(SeqCst);
    for task in &*record.tasks.lock().unwrap() {
        let number = task.number;
        let begins = task.begins.load(SeqCst);
        program.expect(is_cancelled || begins == 1, || {
            format!("{number} runs {begins} times")
        });
        let is_over = task.is_over.load(SeqCst);
        program.expect(is_over, || format!("the scope of {number} ends before it"));
    }
    let has_failed = record.has_failed.load(SeqCst);
    match result {
        Ok(()) => program.expect(of_body.is_none() && !has_failed, || {
            format!("a scope ends without the panic of its body, {of_body:?}, or of a task")
        }),
        Err(payload) => {
            let is_of = |panics: &Mutex<Vec<_>>| panics.lock().unwrap().contains(&payload);
            let is_known = match of_body {
                Some(of_body) => payload == of_body,
                // A task that gets the result of a dropped task has just ended.
                None if payload == Payload::Cancelled => false,
                None => is_of(&record.panics) || is_of(&program.panics_of_no_scope),
            };
            program.expect(is_known, || {
                format!("a scope ends with {payload:?}, its body with {of_body:?}")
            });
            match payload {
                // The steps around the scope go on, because theirs may not be cancelled.
                Payload::Cancelled => program.end_panics(),
                _ => payload.resume(),
            }
        }
    }
}

fn work(steps: u64) {
    (0..steps).fold(0, |x, i| std::hint::black_box(x ^ i));
}

/// Runs the program of a seed, and checks how it ends.
fn check(seed: u64, place: &str, has_spare_workers: bool, run: impl FnOnce(&Arc<Program>, Plan)) {
    let mut numbers = Lcg::of_seed(seed);
    let program = Arc::new(Program::new(&mut numbers, has_spare_workers));
    let plan = Plan {
        depth: numbers.below(DEPTH + 1),
        numbers,
        handles: Vec::new(),
    };
    let result = catch(|| run(&program, plan));
    let panics = program.panics.lock().unwrap();
    match result {
        Ok(()) => program.expect(
            program.may_have_ended_panics.load(SeqCst) || panics.is_empty(),
            || format!("the program ends without one of these panics: {panics:?}"),
        ),
        Err(payload) => program.expect(panics.contains(&payload), || {
            format!("the program ends with {payload:?}")
        }),
    }
    if let Some(broken) = &*program.broken.lock().unwrap() {
        panic!("PURLOIN_SEED={seed}, {place}: {broken}");
    }
}

/// Runs the programs of all seeds on each pool.
fn check_on<S: Scheduler>(has_spare_workers: bool, pools: impl Iterator<Item = Pool<S>>) {
    let counting = begin();
    let pools: Vec<_> = pools.collect();
    for seed in common::seeds(PROGRAMS) {
        for pool in &pools {
            let place = format!("{} workers", pool.workers());
            let name = format!("PURLOIN_SEED={seed}, {place}");
            common::abort_if_it_hangs(&name, || {
                check(seed, &place, has_spare_workers, |program, plan| {
                    pool.run(|mut w| finish(&mut w, program, &|| (), plan));
                });
                assert_eq!(pool.run(|w| common::fib(w, 10)), 55);
            });
            counting.expect_none_left(|| name);
        }
    }
}

fn begin() -> Counting {
    let counting = Counting::begin();
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref() != Some(&SHARED) {
            report(info);
        }
    }));
    counting
}

#[test]
fn random_tasks_keep_their_promises_serially() {
    let counting = begin();
    for seed in common::seeds(PROGRAMS) {
        check(seed, "serially", true, |program, plan| {
            finish(&mut Serial, program, &|| (), plan);
        });
        counting.expect_none_left(|| format!("PURLOIN_SEED={seed}, serially"));
    }
}

#[test]
fn random_tasks_keep_their_promises_on_pools() {
    check_on(true, common::workers([1, 2, 3, 8]).map(common::pool));
}

#[test]
fn random_tasks_keep_their_promises_under_the_direct_stack() {
    let pool = |workers| common::pool_with(DirectStack::<OneField>::default(), workers);
    check_on(true, common::workers([2, 3]).map(pool));
}

#[test]
fn random_tasks_keep_their_promises_under_channels() {
    let pool = |workers| common::pool_with(Channel::default(), workers);
    check_on(false, common::workers([2, 3]).map(pool));
}
