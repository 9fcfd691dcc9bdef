//! The engine: runs threads as fibres on one thread of the system, in virtual time.
//!
//! A fibre runs until it comes to an event: an access to shared memory, a lock, a look at the clock. There the engine
//! adds what the code since the last event and the event itself take to the time of the fibre's core. If another core is
//! behind, the fibre is suspended, and the core that is farthest behind goes on. So all events happen in the order of
//! their times, and a run depends on its seed alone.
//!
//! One engine exists at a time in a process, because a library's statics are shared by all runs. All fibres run on the
//! thread that has called [`Run::run`](crate::Run::run), so no two of them touch the engine at the same time. A function
//! of the engine never holds a reference to it while it suspends a fibre: [`with`] ends first.

mod adversary;
mod calls;
mod fibre;
mod lines;
mod placement;
mod stores;
mod turns;

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::ptr::null_mut;

use crate::machine::Machine;
use crate::random::Random;
use crate::report::{Failure, Tally, Waiting};
use crate::work;
use adversary::Adversary;
use lines::{Costs, Lines, picoseconds};
use placement::Core;
use turns::Turns;

pub use adversary::Weather;
pub(crate) use fibre::{Doing, Entry, Fibre, Reason};
pub(crate) use lines::Access;
pub(crate) use turns::{NEVER, Time};

thread_local! {
    /// The engine whose fibres run on this thread, or null.
    static ENGINE: Cell<*mut Engine> = const { Cell::new(null_mut()) };
}

/// Returns whether this thread runs a fibre.
#[inline]
pub(crate) fn is_inside() -> bool {
    !ENGINE.get().is_null()
}

/// Calls `f` with the engine, if this thread runs a fibre. `f` does not suspend the fibre.
#[inline]
pub(crate) fn with<R>(f: impl FnOnce(&mut Engine) -> R) -> Option<R> {
    // SAFETY: `Engine::run` sets the pointer to an engine that lives until it clears the pointer. Fibres and the engine
    // run on this thread only, and no `f` calls a function that takes the engine again or suspends the fibre, so this is
    // the only reference.
    unsafe { ENGINE.get().as_mut() }.map(f)
}

/// Like [`with`], for operations that exist only in a run.
///
/// # Panics
///
/// Panics outside of a run.
pub(crate) fn expect<R>(f: impl FnOnce(&mut Engine) -> R) -> R {
    with(f).expect(
        "this build runs threads only on virtual cores: call it inside purloin_virtual::Run::run",
    )
}

/// The end of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Woken {
    /// Another fibre woke it.
    Signal,
    /// The time limit was reached.
    Timeout,
}

/// A time limit of a wait.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Timer {
    time: Time,
    /// Orders timers of the same time.
    number: u64,
    fibre: usize,
    /// The wait that it ends, see [`Fibre::wait`].
    wait: u64,
}

/// Times of the operating system in picoseconds.
struct SystemCosts {
    fence: Time,
    pause: Time,
    clock: Time,
    park: Time,
    wake: Time,
    wake_latency: Time,
    switch: Time,
    yield_now: Time,
    slice: Time,
    membarrier: Time,
    interrupt: Time,
    interrupted: Time,
    start_thread: Time,
}

/// A run of a machine.
pub(crate) struct Engine {
    costs: SystemCosts,
    lines: Lines,
    cores: Box<[Core]>,
    placement: placement::Placement,
    turns: Turns,
    fibres: Vec<Fibre>,
    timers: BinaryHeap<Reverse<Timer>>,
    next_timer: u64,
    /// The fibres that wait for a lock or a condition, by its address.
    waiting: HashMap<usize, VecDeque<usize>>,
    /// The fibre that runs, its core, and the core's time.
    fibre: usize,
    core: usize,
    now: Time,
    /// The time at which the running fibre must be suspended.
    limit: Time,
    /// The time at which the run fails.
    time_limit: Time,
    /// Picoseconds of a unit of counted work of the program.
    work: f64,
    /// Picoseconds of a unit of counted work of the library.
    library_work: f64,
    random: Random,
    /// Decides which fibre runs, instead of the clock.
    adversary: Option<Adversary>,
    operations: u32,
    tally: Tally,
    failure: Option<Failure>,
}

/// The settings of a run.
pub(crate) struct Settings<'m> {
    pub(crate) machine: &'m Machine,
    pub(crate) seed: u64,
    pub(crate) time_limit: Time,
    pub(crate) work: f64,
    pub(crate) weather: Option<Weather>,
}

impl Engine {
    pub(crate) fn new(settings: &Settings) -> Engine {
        let Settings { machine, seed, .. } = *settings;
        let (core, system) = (&machine.core, &machine.system);
        let cores = machine.topology.cores;
        Engine {
            costs: SystemCosts {
                fence: picoseconds(core.fence),
                pause: picoseconds(core.pause),
                clock: picoseconds(core.clock),
                park: picoseconds(system.park),
                wake: picoseconds(system.wake),
                wake_latency: picoseconds(system.wake_latency),
                switch: picoseconds(system.switch),
                yield_now: picoseconds(system.yield_now),
                slice: picoseconds(system.slice),
                membarrier: picoseconds(system.membarrier),
                interrupt: picoseconds(system.interrupt),
                interrupted: picoseconds(system.interrupted),
                start_thread: picoseconds(system.start_thread),
            },
            lines: Lines::new(Costs::of(machine)),
            cores: (0..cores).map(|_| Core::default()).collect(),
            placement: placement::Placement::new(&machine.topology),
            turns: Turns::new(cores),
            fibres: Vec::new(),
            timers: BinaryHeap::new(),
            next_timer: 0,
            waiting: HashMap::new(),
            fibre: 0,
            core: 0,
            now: 0,
            limit: 0,
            time_limit: settings.time_limit,
            work: settings.work,
            library_work: settings.machine.usual_work(),
            random: Random::new(seed),
            adversary: settings
                .weather
                .clone()
                .map(|weather| Adversary::new(seed, weather)),
            operations: 0,
            tally: Tally::default(),
            failure: None,
        }
    }

    /// Runs `main` and the threads that it starts, until `main` has ended. Returns the time that it took.
    pub(crate) fn run(mut self, main: Entry) -> (Result<Time, Failure>, Tally) {
        let main = Fibre::new("main".to_string(), 8 << 20, main);
        self.add(main.expect("the main thread has memory for a stack"));
        self.make_ready(0, 0);
        let engine = &raw mut self;
        ENGINE.set(engine);
        work::start();
        // SAFETY: `self` lives until the end of this function. References to it end before each `resume`.
        let failure = unsafe { Engine::run_all(engine) };
        ENGINE.set(null_mut());
        // Statics, and what `main` has returned, outlive the run.
        (0..self.fibres.len()).for_each(|fibre| self.drain_stores(fibre));
        self.tally.events = self.tally.events.max(1);
        for fibre in &mut self.fibres {
            fibre.forget();
        }
        let result = match failure {
            None => Ok(self.now),
            Some(failure) => Err(failure),
        };
        (result, self.tally)
    }

    /// Resumes fibres until the main fibre has ended, or until the run fails.
    ///
    /// # Safety
    ///
    /// The engine lives, and no reference to it exists.
    unsafe fn run_all(engine: *mut Engine) -> Option<Failure> {
        loop {
            // SAFETY: the caller says that the engine lives. The reference ends before the fibre runs.
            let next = unsafe { &mut *engine }.next();
            let mut coroutine = match next {
                Ok(coroutine) => coroutine,
                Err(failure) => return Some(failure),
            };
            let is_done = coroutine.resume(()).as_return().is_some();
            // SAFETY: the fibre is suspended or done, so no reference to the engine exists.
            let engine = unsafe { &mut *engine };
            engine.suspended(coroutine, is_done);
            if is_done && engine.fibre == 0 {
                return None;
            }
        }
    }

    /// Chooses the fibre that goes on, and takes its coroutine.
    fn next(&mut self) -> Result<fibre::Routine, Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        match self.adversary.is_some() {
            true => self.next_for_adversary()?,
            false => self.next_in_time()?,
        }
        let fibre = &mut self.fibres[self.fibre];
        Ok(fibre
            .coroutine
            .take()
            .expect("a fibre that is chosen is suspended"))
    }

    fn next_in_time(&mut self) -> Result<(), Failure> {
        loop {
            let (time, core) = self.turns.first();
            let timer = self
                .timers
                .peek()
                .map_or(NEVER, |Reverse(timer)| timer.time);
            if timer <= time {
                if timer == NEVER {
                    return Err(self.hang());
                }
                self.fire_timer();
                continue;
            }
            if time > self.time_limit {
                return Err(self.out_of_time());
            }
            self.turns.set(core, NEVER);
            (self.core, self.now) = (core, time);
            self.fibre = self.cores[core]
                .running
                .expect("a core with a turn runs a fibre");
            self.limit = self.turns.first().0.min(timer).min(self.time_limit);
            self.limit = self.limit.min(self.cores[core].end_of_slice());
            return Ok(());
        }
    }

    /// Ends the wait whose time limit comes first, unless it has ended.
    fn fire_timer(&mut self) {
        let Some(Reverse(timer)) = self.timers.pop() else {
            return;
        };
        if self.fibres[timer.fibre].wait == timer.wait {
            self.end_wait(timer.fibre, Woken::Timeout, timer.time);
        }
    }

    /// Puts a fibre away that has been suspended, or has ended.
    fn suspended(&mut self, coroutine: fibre::Routine, is_done: bool) {
        self.charge_work();
        let fibre = self.fibre;
        if is_done {
            self.fibres[fibre].end();
        } else {
            self.fibres[fibre].coroutine = Some(coroutine);
        }
        if self.adversary.is_some() {
            return;
        }
        match self.fibres[fibre].is_running() {
            false => self.free_core(self.core, self.now),
            // Another fibre waits for the core.
            true if self.cores[self.core].end_of_slice() < self.now => {
                self.queue_on(self.core, fibre);
                self.free_core(self.core, self.now);
            }
            true => self.turns.set(self.core, self.now),
        }
    }

    fn out_of_time(&self) -> Failure {
        Failure::OutOfTime {
            seconds: self.time_limit as f64 / 1e12,
            threads: self.waiting_threads(),
        }
    }

    fn hang(&self) -> Failure {
        Failure::Hang(self.waiting_threads())
    }

    /// Returns the threads that have not ended, and what they wait for.
    fn waiting_threads(&self) -> Vec<Waiting> {
        let waiting = self.fibres.iter().filter(|fibre| !fibre.is_done());
        let waiting = waiting.map(|fibre| Waiting {
            thread: fibre.name.clone(),
            waits_for: match fibre.is_running() {
                true => "nothing".to_string(),
                false => fibre.reason.to_string(),
            },
        });
        waiting.collect()
    }
}

/// Begins an event of the running fibre: suspends it while other cores are behind.
#[inline]
pub(crate) fn event() {
    if with(Engine::begin_event) == Some(true) {
        suspend();
    }
}

/// Begins an event, and does it. Returns `None` outside of a run.
#[inline]
pub(crate) fn at<R>(f: impl FnOnce(&mut Engine) -> R) -> Option<R> {
    event();
    let result = with(f);
    work::skip();
    result
}

#[cold]
#[inline(never)]
fn suspend() {
    let yielder = expect(|engine| engine.fibres[engine.fibre].yielder());
    // SAFETY: the running fibre has set its yielder, which lies on its stack as long as it runs.
    unsafe { (*yielder).suspend(()) };
    work::skip();
}

/// Waits until another fibre wakes this one, or for this time. The fibre must have [joined](Engine::enqueue) the queue of
/// the address.
pub(crate) fn wait_at(address: usize, reason: Reason, time: Option<Time>) -> Woken {
    expect(|engine| {
        engine.begin_wait(reason, time);
        engine.fibres[engine.fibre].waits_at(address);
    });
    suspend();
    expect(|engine| engine.fibres[engine.fibre].woken)
}

/// Waits until another fibre [unparks](Engine::unpark) this one, or for this time.
pub(crate) fn park(reason: Reason, time: Option<Time>) -> Woken {
    let must_wait = expect(|engine| {
        let fibre = &mut engine.fibres[engine.fibre];
        if std::mem::take(&mut fibre.has_token) {
            return false;
        }
        engine.begin_wait(reason, time);
        true
    });
    if must_wait {
        suspend();
    }
    expect(|engine| {
        let fibre = &mut engine.fibres[engine.fibre];
        let is_woken = !must_wait || fibre.has_token;
        fibre.has_token = false;
        if is_woken {
            Woken::Signal
        } else {
            Woken::Timeout
        }
    })
}

/// Waits for this time.
pub(crate) fn sleep(time: Time) {
    expect(|engine| engine.begin_wait(Reason::Sleep, Some(time)));
    suspend();
}
