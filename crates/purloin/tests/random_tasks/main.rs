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

#[path = "../common/mod.rs"]
mod common;
mod steps;

use std::any::Any;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use common::Lcg;
use common::counted::{Counted, Counting, Explosion};
use purloin::{Cancelled, Pool, Scheduler, Scope, Serial, SharedHandle, Spawner, Worker};
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
