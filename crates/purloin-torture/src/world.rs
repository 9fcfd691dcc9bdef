//! The records of a run, which are compared with the promises of the documentation.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64 as Count, Ordering::*};
use std::sync::{Arc, Mutex};

use purloin::Cancelled;

use crate::sync::{self, AtomicU64, record};

/// The last panic that was not made by a program, with its place.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Keeps messages of panics, instead of printing them.
pub fn keep_panics() {
    std::panic::set_hook(Box::new(|info| {
        let payload = Payload::of(info.payload());
        if let Payload::Other(text) = payload {
            let place = info
                .location()
                .map_or(String::new(), |place| format!(" at {place}"));
            *record(&LAST_PANIC) = Some(format!("{text}{place}"));
        }
    }));
}

/// The payload of a panic.
#[derive(Clone, PartialEq, Debug)]
pub enum Payload {
    /// Of the step [`Panic`](crate::program::Step::Panic) of the task with this number.
    Failed(usize),
    /// Of a further get from a shared handle.
    Shared,
    Cancelled,
    /// Of the library, or of this test.
    Other(String),
}

/// The message of a further get from the shared handle of a task that has panicked.
const SHARED: &str = "the task of this shared handle has panicked";

impl Payload {
    pub fn of(panic: &(dyn Any + Send)) -> Payload {
        if let Some(payload) = panic.downcast_ref::<Payload>() {
            return payload.clone();
        }
        let text = match panic.downcast_ref::<&str>() {
            Some(text) => Some(*text),
            None => panic.downcast_ref::<String>().map(|text| &**text),
        };
        match text {
            _ if panic.is::<Cancelled>() => Payload::Cancelled,
            Some(SHARED) => Payload::Shared,
            Some(text) => Payload::Other(text.to_string()),
            None => Payload::Other("a panic of an unknown type".to_string()),
        }
    }

    pub fn resume(self) -> ! {
        resume_unwind(match self {
            Payload::Cancelled => Box::new(Cancelled),
            payload => Box::new(payload),
        })
    }
}

/// The record of one task.
struct TaskRecord {
    begins: AtomicU32,
    /// Whether its last step has ended, also by a panic.
    has_ended: AtomicBool,
    /// Written by the task at its end, without an order of its own.
    cell: AtomicU64,
    panic: Mutex<Option<Payload>>,
    /// Whether the step was reached that makes the task.
    is_made: AtomicBool,
}

/// Everything that the threads of a program share.
pub struct World {
    tasks: Box<[TaskRecord]>,
    /// Locks of the program. Each holds the number of the task that holds it, plus one.
    pub locks: [sync::Mutex<()>; 2],
    /// Memory that tasks access.
    pub shared: [AtomicU64; 4],
    /// Number of guards that live, and the sum of their marks.
    alive: AtomicI64,
    marks: Count,
    guards: Count,
    /// The first broken promise.
    broken: Mutex<Option<String>>,
}

/// The record of one call from outside, or of one job, and of all tasks that it waits for.
#[derive(Default)]
pub struct Tree {
    /// The panics that were thrown.
    pub thrown: Mutex<Vec<Payload>>,
    /// Whether a panic may have ended on its way.
    pub ended: AtomicBool,
    /// Whether any of its scopes was cancelled.
    pub is_cancelled: AtomicBool,
}

impl Tree {
    pub fn has_thrown(&self, payload: &Payload) -> bool {
        record(&self.thrown).contains(payload)
    }
}

/// The record of a scope.
#[derive(Default)]
pub struct ScopeRecord {
    pub is_cancelled: AtomicBool,
    /// The tasks that were made in it.
    pub tasks: Mutex<Vec<usize>>,
    /// The panics of its tasks without a handle.
    pub failed: Mutex<Vec<Payload>>,
}

/// Something that must be dropped once: a capture or a result of a task.
pub struct Guard {
    world: &'static World,
    /// The number of its task.
    pub id: usize,
    mark: u64,
}

impl Guard {
    pub fn new(world: &'static World, id: usize) -> Guard {
        let number = world.guards.fetch_add(1, Relaxed) + 1;
        let mark = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mark = (mark ^ (mark >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        world.alive.fetch_add(1, Relaxed);
        world.marks.fetch_add(mark, Relaxed);
        Guard { world, id, mark }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.world.alive.fetch_sub(1, Relaxed);
        self.world.marks.fetch_sub(self.mark, Relaxed);
    }
}

/// The value of a cell after its task.
fn written_by(id: usize) -> u64 {
    id as u64 * 3 + 1
}

/// Runs `f`, and returns its result or the payload of its panic.
pub fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| Payload::of(&*panic))
}

impl World {
    pub fn new(tasks: usize) -> World {
        let task = |_| TaskRecord {
            begins: AtomicU32::new(0),
            has_ended: AtomicBool::new(false),
            cell: AtomicU64::new(0),
            panic: Mutex::new(None),
            is_made: AtomicBool::new(false),
        };
        World {
            tasks: (0..tasks).map(task).collect(),
            locks: std::array::from_fn(|_| sync::Mutex::new(())),
            shared: std::array::from_fn(|_| AtomicU64::new(0)),
            alive: AtomicI64::new(0),
            marks: Count::new(0),
            guards: Count::new(0),
            broken: Mutex::new(None),
        }
    }

    /// Writes down a broken promise. A panic here could be taken for one of the program.
    pub fn expect(&self, holds: bool, promise: impl FnOnce() -> String) {
        if !holds {
            record(&self.broken).get_or_insert_with(promise);
        }
    }

    /// Returns the first broken promise.
    pub fn broken(&self) -> Option<String> {
        let broken = record(&self.broken).clone()?;
        let is_panic = broken.contains("panic");
        match record(&LAST_PANIC).clone() {
            Some(panic) if is_panic => Some(format!("{broken} (last panic: {panic})")),
            _ => Some(broken),
        }
    }

    /// Notes that a task was made.
    pub fn make(&self, id: usize) {
        self.tasks[id].is_made.store(true, SeqCst);
    }

    pub fn is_made(&self, id: usize) -> bool {
        self.tasks[id].is_made.load(SeqCst)
    }

    /// Runs the body of a task: checks that it runs once, and notes how it ends.
    pub fn run(&self, id: usize, body: impl FnOnce()) {
        let task = &self.tasks[id];
        let begins = task.begins.fetch_add(1, SeqCst);
        self.expect(begins == 0, || format!("task {id} runs twice"));
        let result = catch(body);
        task.cell.store(written_by(id), Relaxed);
        *record(&task.panic) = result.as_ref().err().cloned();
        task.has_ended.store(true, SeqCst);
        if let Err(payload) = result {
            if let Payload::Other(text) = &payload {
                self.expect(false, || format!("task {id} ends with the panic: {text}"));
            }
            payload.resume();
        }
    }

    pub fn has_begun(&self, id: usize) -> bool {
        self.tasks[id].begins.load(SeqCst) > 0
    }

    /// Returns the panic of a task that has ended.
    pub fn panic_of(&self, id: usize) -> Option<Payload> {
        record(&self.tasks[id].panic).clone()
    }

    /// Checks that a task has run, and that this thread sees what the task has written.
    pub fn expect_ended(&self, id: usize, when: &str) {
        let task = &self.tasks[id];
        let begins = task.begins.load(SeqCst);
        self.expect(begins == 1, || {
            format!("task {id} has begun {begins} times {when}")
        });
        let has_ended = task.has_ended.load(SeqCst);
        self.expect(has_ended || begins != 1, || {
            format!("task {id} has not ended {when}")
        });
        let written = task.cell.load(Relaxed);
        self.expect(written == written_by(id) || !has_ended, || {
            format!("what task {id} has written is not visible {when}")
        });
    }

    /// Checks at the end of the program that everything was dropped once.
    pub fn expect_all_dropped(&self) {
        let (alive, marks) = (self.alive.load(SeqCst), self.marks.load(SeqCst));
        self.expect(alive <= 0, || {
            format!("{alive} captures or results were never dropped")
        });
        self.expect(alive >= 0, || {
            format!("{} captures or results were dropped twice", -alive)
        });
        self.expect(alive != 0 || marks == 0, || {
            "some captures or results were never dropped, others twice".to_string()
        });
    }

    /// Checks how a call ended in which these panics may have been thrown.
    pub fn expect_end(&self, tree: &Arc<Tree>, result: &Result<(), Payload>, what: &str) {
        match result {
            Ok(()) => {
                // The panic of a task that needs a cancelled one may end with the task's scope.
                let thrown = record(&tree.thrown);
                let lost = thrown
                    .iter()
                    .find(|payload| **payload != Payload::Cancelled)
                    .cloned();
                let may_end = tree.ended.load(SeqCst);
                self.expect(lost.is_none() || may_end, || {
                    format!("{what} ends without the panic {lost:?}")
                });
            }
            Err(payload) => {
                let is_known = tree.has_thrown(payload) || self.may_be_cancelled(tree, payload);
                self.expect(is_known, || {
                    format!("{what} ends with the panic {payload:?}")
                });
            }
        }
    }

    /// Returns whether this is the panic of a task that needed the result of a cancelled one.
    pub fn may_be_cancelled(&self, tree: &Tree, payload: &Payload) -> bool {
        *payload == Payload::Cancelled && tree.is_cancelled.load(SeqCst)
    }
}
