//! A child process: it runs cases, and reports each to its parent on standard output.
//!
//! | line | meaning |
//! |---|---|
//! | `s SEED` | the run of this seed begins |
//! | `c RUNS EVENTS` | so many runs and events since the last such line |
//! | `f CASE\tWHAT\tDETAILS` | a run has failed, and the process ends |
//!
//! The statics of the library survive from run to run. The first run of a process initialises some of them, and so has
//! events that later runs do not have. Each process therefore begins with a run whose result does not matter.

use std::io::Write;

use crate::case::Case;
use crate::execute::{Failure, Outcome, execute};
use crate::setup::SchedulerName;
use crate::world::keep_panics;

/// Number of runs of a process before its parent starts another one.
pub const RUNS: u64 = 20_000;

/// Number of runs between two reports of their number.
const REPORT: u64 = 50;

/// Gets the process ready for cases.
pub fn prepare() {
    keep_panics();
    if cfg!(purloin_virtual) {
        for seed in [3, 4, 5] {
            execute(
                &Case::of_seed(seed, Some(SchedulerName::ReturnBarrier)),
                tell_failure,
            );
        }
    }
}

/// Runs every `step`th seed from `first` on. Returns false if one fails.
pub fn run_seeds(first: u64, step: u64, scheduler: Option<SchedulerName>) -> bool {
    prepare();
    let mut events = 0;
    for run in 1..=RUNS {
        let seed = first.wrapping_add((run - 1) * step);
        tell(&format!("s {seed}"));
        let case = Case::of_seed(seed, scheduler);
        match execute(&case, tell_failure) {
            Outcome::NoRun => (),
            Outcome::Kept { events: more, .. } => events += more,
            Outcome::Failed(failure) => {
                tell_failure(&case, &failure);
                return false;
            }
        }
        if run % REPORT == 0 {
            tell(&format!("c {REPORT} {events}"));
            events = 0;
        }
    }
    true
}

/// Runs a case under this many schedules, until it fails.
pub fn run_schedules(case: &Case, count: u64) -> bool {
    prepare();
    for more in 0..count {
        let case = Case {
            schedule: case.schedule.wrapping_add(more),
            ..case.clone()
        };
        tell(&format!("s {case}"));
        if let Outcome::Failed(failure) = execute(&case, tell_failure) {
            tell_failure(&case, &failure);
            return false;
        }
    }
    true
}

fn tell_failure(case: &Case, failure: &Failure) {
    let escape = |text: &str| text.replace('\t', " ").replace('\n', "\u{1}");
    let (what, details) = (escape(&failure.what), escape(&failure.details));
    tell(&format!("f {case}\t{what}\t{details}"));
}

fn tell(line: &str) {
    let mut output = std::io::stdout().lock();
    // A parent that is gone needs no report.
    if writeln!(output, "{line}")
        .and_then(|()| output.flush())
        .is_err()
    {
        std::process::exit(1);
    }
}

/// Reads a line about a failure.
pub fn failure_of(line: &str) -> Option<(Case, Failure)> {
    let mut parts = line.strip_prefix("f ")?.split('\t');
    let case = parts.next()?.parse().ok()?;
    let mut text = || Some(parts.next()?.replace('\u{1}', "\n"));
    let failure = Failure {
        what: text()?,
        details: text()?,
    };
    Some((case, failure))
}
