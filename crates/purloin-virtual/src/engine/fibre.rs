//! A fibre: a thread of the program, with a stack and thread-local values of its own.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};

use super::Woken;
use super::stores::Stores;
use super::turns::Time;
use crate::report::Cost;
use crate::sync::Values;

pub(crate) type Routine = Coroutine<(), (), ()>;

/// The code of a fibre. The process aborts if it panics.
pub(crate) type Entry = Box<dyn FnOnce()>;

/// The reason of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    Lock,
    Condition,
    Unpark,
    Sleep,
    End(usize),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Lock => f.write_str("a lock"),
            Reason::Condition => f.write_str("a condition variable"),
            Reason::Unpark => f.write_str("an unpark"),
            Reason::Sleep => f.write_str("the end of a sleep"),
            Reason::End(thread) => write!(f, "the end of thread {thread}"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It has a core, or waits for one.
    Running,
    Waiting,
    Done,
}

/// The operation that a fibre is in, and its cost so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Doing {
    pub(crate) number: u32,
    pub(crate) since: Time,
    pub(crate) cost: Cost,
}

pub(crate) struct Fibre {
    pub(crate) name: String,
    /// None while the fibre runs, and after its end.
    pub(crate) coroutine: Option<Routine>,
    yielder: *const Yielder<(), ()>,
    state: State,
    /// Whether it has done everything that other threads may wait for.
    pub(crate) is_over: bool,
    pub(crate) reason: Reason,
    /// The number of its wait, and of the timer that ends the wait.
    pub(crate) wait: u64,
    /// The address at which it waits, or 0.
    address: usize,
    /// The end of its last wait.
    pub(crate) woken: Woken,
    /// Whether it was unparked since it last parked.
    pub(crate) has_token: bool,
    /// The core on which it ran last.
    pub(crate) core: usize,
    /// Whether it runs the program's own code, whose time is measured, and not the library's.
    pub(crate) runs_program: bool,
    /// The operation that it is in, for the tally.
    pub(crate) operation: Doing,
    pub(crate) locals: Values,
    /// Its stores that other threads do not see yet.
    pub(crate) stores: Stores,
}

impl Fibre {
    pub(crate) fn new(name: String, stack_size: usize, entry: Entry) -> io::Result<Fibre> {
        let stack = DefaultStack::new(stack_size)?;
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            super::expect(|engine| {
                let fibre = engine.fibre;
                engine.fibres[fibre].yielder = yielder;
            });
            // A panic here, of the destructor of a thread-local value for example, would unwind into the engine. The standard
            // library aborts in this case, too.
            if catch_unwind(AssertUnwindSafe(entry)).is_err() {
                std::process::abort();
            }
        });
        Ok(Fibre {
            name,
            coroutine: Some(coroutine),
            yielder: null(),
            state: State::Waiting,
            is_over: false,
            reason: Reason::Sleep,
            wait: 0,
            address: 0,
            woken: Woken::Signal,
            has_token: false,
            runs_program: true,
            core: usize::MAX,
            operation: Doing::default(),
            locals: Vec::new(),
            stores: Stores::default(),
        })
    }

    pub(crate) fn yielder(&self) -> *const Yielder<(), ()> {
        self.yielder
    }

    pub(crate) fn is_running(&self) -> bool {
        self.state == State::Running
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    pub(crate) fn is_parked(&self) -> bool {
        self.state == State::Waiting && self.reason == Reason::Unpark
    }

    /// Returns whether it waits in a way that may end without a reason.
    pub(crate) fn may_wake(&self) -> bool {
        let reasons = [Reason::Condition, Reason::Unpark];
        self.state == State::Waiting && reasons.contains(&self.reason)
    }

    pub(crate) fn set_running(&mut self) {
        self.state = State::Running;
    }

    pub(crate) fn begin_wait(&mut self, reason: Reason, wait: u64) {
        (self.state, self.reason, self.wait) = (State::Waiting, reason, wait);
    }

    pub(crate) fn waits_at(&mut self, address: usize) {
        self.address = address;
    }

    /// Ends its wait. Returns the address at which it has waited, if there is one.
    pub(crate) fn end_wait(&mut self, woken: Woken) -> Option<usize> {
        self.woken = woken;
        self.wait = u64::MAX;
        let address = std::mem::take(&mut self.address);
        (address != 0).then_some(address)
    }

    pub(crate) fn end(&mut self) {
        self.state = State::Done;
        self.coroutine = None;
    }

    /// Leaks the stack and the values of a fibre that has not ended. Leaked values, and the program's answer, may point into the
    /// stack; the destructors of thread-local values may use the library on a thread that no longer exists.
    pub(crate) fn forget(&mut self) {
        std::mem::forget(self.coroutine.take());
        std::mem::forget(std::mem::take(&mut self.locals));
    }
}
