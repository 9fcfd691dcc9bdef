//! A run of a program on a machine.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::engine::{Engine, Entry, Settings, Weather, is_inside};
use crate::machine::Machine;
use crate::report::{Failure, Report};

/// Only one run at a time: a library's statics belong to all of them.
static RUNNING: Mutex<()> = Mutex::new(());

/// A run of a program, before it begins.
///
/// ```
/// use purloin_virtual::{Machine, Run, sync::thread};
///
/// let machine = Machine::named("two-cores")?;
/// let report = Run::new(&machine).seed(7).run(|| {
///     let other = thread::Builder::new().spawn(|| 40)?;
///     Ok::<_, std::io::Error>(2 + other.join().unwrap())
/// })?;
/// assert_eq!(report.answer?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Run<'m> {
    machine: &'m Machine,
    seed: u64,
    limit: Duration,
    picoseconds: f64,
    weather: Option<Weather>,
}

impl<'m> Run<'m> {
    /// Returns a run on this machine, with seed 0 and an hour of virtual time.
    pub fn new(machine: &'m Machine) -> Run<'m> {
        Run {
            machine,
            seed: 0,
            limit: Duration::from_secs(3600),
            picoseconds: machine.usual_work(),
            weather: None,
        }
    }

    /// Sets the seed of everything that is left to chance.
    pub fn seed(self, seed: u64) -> Self {
        Run { seed, ..self }
    }

    /// Sets the limit of virtual time.
    pub fn limit(self, limit: Duration) -> Self {
        Run { limit, ..self }
    }

    /// Sets the time of a unit of [counted work](crate::counted) of the program's own code, in picoseconds. The library's code
    /// takes its usual time.
    pub fn work(self, picoseconds: f64) -> Self {
        Run {
            picoseconds,
            ..self
        }
    }

    /// Lets an adversary decide which thread runs, and what fails. Times mean nothing then.
    pub fn weather(self, weather: Weather) -> Self {
        let weather = Some(weather);
        Run { weather, ..self }
    }

    /// Runs `main` as the main thread of the machine. Waits while another thread of the process is in a run.
    ///
    /// When `main` ends, all other threads stop where they are, as at the end of a process: their destructors do not
    /// run.
    ///
    /// # Errors
    ///
    /// Returns an error if all threads wait for each other, or if the run takes longer than its limit. What the threads
    /// own is leaked then.
    ///
    /// # Panics
    ///
    /// Panics if `main` panics, and inside another run.
    pub fn run<R>(self, main: impl FnOnce() -> R) -> Result<Report<R>, Failure> {
        assert!(!is_inside(), "a run cannot begin inside another run");
        let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answer = None;
        let slot = &raw mut answer;
        let entry: Box<dyn FnOnce() + '_> = Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(main));
            // SAFETY: `answer` lives until the end of this function. Fibres run only while the engine runs, and nothing
            // else uses `answer` until then.
            unsafe { *slot = Some(result) };
        });
        // SAFETY: only the lifetime changes. The engine resumes fibres only before the end of this function, and never
        // resumes a main fibre that has not ended.
        let entry = unsafe { std::mem::transmute::<Box<dyn FnOnce() + '_>, Entry>(entry) };
        let engine = Engine::new(&Settings {
            machine: self.machine,
            seed: self.seed,
            time_limit: u64::try_from(self.limit.as_nanos() * 1000).unwrap_or(u64::MAX - 1),
            work: self.picoseconds,
            weather: self.weather,
        });
        let (result, tally) = engine.run(entry);
        let time = Duration::from_nanos(result? / 1000);
        match answer.expect("the main fibre has ended") {
            Ok(answer) => Ok(Report {
                answer,
                time,
                tally,
            }),
            Err(panic) => resume_unwind(panic),
        }
    }
}
