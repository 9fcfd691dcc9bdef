//! The check of a recording: is the predicted time on this machine's cores the measured one? [`Check`].

use std::fmt;

use purloin_analysis::{OnAllCores, Recording};
use purloin_command::format::time;
use purloin_sim::{Machine, Outcome, Policy, Recorded, Waiting, simulate};
use serde::Serialize;

/// A comparison of the simulated and the measured time on all cores of the machine on which a program was recorded.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Check {
    /// Number of cores.
    pub cores: u32,
    /// Number of measured runs.
    pub runs: u32,
    /// The simulated time, with steals of 1 µs.
    pub predicted_seconds: f64,
    /// The median time of the measured runs.
    pub measured_seconds: f64,
    /// Work divided by `predicted_seconds`.
    pub predicted_speed_up: f64,
    /// Work divided by `measured_seconds`.
    pub measured_speed_up: f64,
    /// The work and the cost of all tasks: the application time of all cores, if no core slows another one down.
    pub predicted_application_seconds: f64,
    /// The measured application time of all workers, per run.
    pub application_seconds: f64,
    /// The measured time of all workers in steals, per run.
    pub stealing_seconds: f64,
    /// The measured time of all workers without tasks, per run.
    pub searching_seconds: f64,
    /// The processor time of the process, per run, or 0 if it is unknown.
    pub processor_seconds: f64,
    /// Why the program takes longer than predicted.
    pub cause: Option<Cause>,
    /// Whether predictions for other machines can be trusted. `None` on one core, where nothing is known about a
    /// second one.
    pub trusted: Option<bool>,
}

/// The reason why a program takes longer than predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The program's own code takes longer if other cores run it, too.
    Memory,
    /// The workers were in a task without running.
    Waiting,
    /// Steals take longer than predicted.
    Stealing,
    /// Workers are without tasks longer than predicted.
    Searching,
    /// None of these explains half of the difference.
    Unknown,
}

/// The measured time divided by the predicted time, up to which both agree.
const AGREES: f64 = 1.25;

/// The time needed to wake a thread. A shorter difference says nothing about a longer program.
const WAKING: f64 = 100e-6;

/// Number of simulations. The result is the mean of their times.
const TRIALS: u64 = 3;

impl Check {
    /// Simulates a recording on the cores of its machine under Purloin's default policy, and compares the time with the
    /// measured one.
    pub fn new(recording: &Recording, recorded: &Recorded) -> Check {
        let measured = recording.on_all_cores();
        let machine = Machine::shared_memory(measured.workers);
        let policy = Policy {
            waiting: Waiting::Spare,
            ..Policy::default()
        };
        let outcomes: Vec<_> = (1..=TRIALS)
            .map(|seed| simulate(recorded, &machine, policy, seed))
            .collect();
        Check::of(measured, recording.work().as_secs_f64(), &outcomes)
    }

    fn of(measured: OnAllCores, work: f64, outcomes: &[Outcome]) -> Check {
        let mean = |value: &dyn Fn(&Outcome) -> f64| {
            outcomes.iter().map(value).sum::<f64>() / outcomes.len() as f64
        };
        let predicted_seconds = mean(&|outcome| outcome.time.seconds());
        let speed_up = |seconds: f64| match seconds > 0.0 {
            true => work / seconds,
            false => 1.0,
        };
        let mut check = Check {
            cores: measured.workers,
            runs: measured.runs,
            predicted_seconds,
            measured_seconds: measured.seconds,
            predicted_speed_up: speed_up(predicted_seconds),
            measured_speed_up: speed_up(measured.seconds),
            predicted_application_seconds: mean(&|outcome| {
                (outcome.work + outcome.overhead).seconds()
            }),
            application_seconds: measured.application,
            stealing_seconds: measured.stealing,
            searching_seconds: measured.searching,
            processor_seconds: measured.processor,
            cause: None,
            trusted: None,
        };
        if check.cores > 1 {
            let agrees = check.agrees();
            check.trusted = Some(agrees);
            check.cause = (!agrees && check.ratio() > 1.0).then(|| check.find_cause());
        }
        check
    }

    /// Returns the measured time divided by the predicted time.
    pub fn ratio(&self) -> f64 {
        match self.predicted_seconds > 0.0 {
            true => self.measured_seconds / self.predicted_seconds,
            false => 1.0,
        }
    }

    fn agrees(&self) -> bool {
        let difference = self.measured_seconds - self.predicted_seconds;
        (1.0 / AGREES..=AGREES).contains(&self.ratio()) || difference.abs() < WAKING
    }

    fn find_cause(&self) -> Cause {
        let cores = f64::from(self.cores);
        let lost = (self.measured_seconds - self.predicted_seconds) * cores;
        let predicted_idle = self.predicted_seconds * cores - self.predicted_application_seconds;
        let application = self.application_seconds - self.predicted_application_seconds;
        // A blocked worker and the spare worker that has its core both count as searching while both of them wait.
        let idle = self.measured_seconds * cores - self.application_seconds - self.stealing_seconds;
        let searching = self.searching_seconds.min(idle.max(0.0));
        let is_running = |part: f64| self.processor_seconds >= part * self.application_seconds;
        let causes = [
            // Tasks that wait, for example in a sleep, do so in the serial elision, too. They do not explain a
            // difference.
            match self.processor_seconds == 0.0 || is_running(0.9) {
                true => (Cause::Memory, application),
                false => (Cause::Waiting, application),
            },
            (Cause::Stealing, self.stealing_seconds),
            (Cause::Searching, searching - predicted_idle.max(0.0)),
        ];
        let greatest = causes.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        match greatest {
            Some((cause, seconds)) if seconds >= lost / 2.0 => cause,
            _ => Cause::Unknown,
        }
    }
}

/// The check as lines of a text.
impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.cores == 1 {
            return f.write_str(
                "Not checked: this machine has one core, so it is not known what a second one changes.\n",
            );
        }
        writeln!(
            f,
            "Check on {} cores: predicted {} (speed-up {:.2}), measured {} (speed-up {:.2}, median of {} runs): {:.2} times \
             the prediction.",
            self.cores,
            time(self.predicted_seconds),
            self.predicted_speed_up,
            time(self.measured_seconds),
            self.measured_speed_up,
            self.runs,
            self.ratio()
        )?;
        let Some(false) = self.trusted else {
            return Ok(());
        };
        let Some(cause) = self.cause else {
            return f.write_str(
                "Do not trust predictions for other machines: the program is faster than predicted. Perhaps its data fit \
                 into the caches of several\ncores, or other programs disturbed the recording; then record again.\n",
            );
        };
        let inflation = self.application_seconds / self.predicted_application_seconds.max(1e-12);
        match cause {
            Cause::Memory => write!(
                f,
                "Do not trust predictions for more cores; they are too fast. All workers together spend {inflation:.2} times \
                 the predicted time\nin the program itself: its tasks compete for cache lines that they share (an atomic, a \
                 lock), for memory bandwidth, or\nfor the allocator. The simulator does not model this.\n"
            ),
            Cause::Waiting => write!(
                f,
                "Do not trust predictions for more cores. All workers together spend {inflation:.2} times the predicted time \
                 in the program itself,\nand run in {:.0} % of that time only: other programs used the processors (then record \
                 again), or tasks wait for locks.\n",
                100.0 * self.processor_seconds / self.application_seconds
            ),
            Cause::Stealing => f.write_str(
                "Do not trust predictions for more cores; they are too fast. The workers spend the difference in steals: tasks \
                 are too small.\n",
            ),
            Cause::Searching => f.write_str(
                "Do not trust predictions for more cores; they are too fast. The workers spend the difference without tasks: \
                 the program has\ntoo little parallelism at some times, its tasks are too small to be worth a steal, or the \
                 processors ran other threads\n(then record again).\n",
            ),
            Cause::Unknown => f.write_str(
                "Do not trust predictions for other machines. The workers' times do not show why the predicted and the measured \
                 time differ;\n`purloin profile` may.\n",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a check on two cores of a program with a work of one second and a predicted time of half a second.
    fn check(measured: f64, [application, stealing, searching, processor]: [f64; 4]) -> Check {
        let mut check = Check {
            cores: 2,
            runs: 5,
            predicted_seconds: 0.5,
            measured_seconds: measured,
            predicted_speed_up: 2.0,
            measured_speed_up: 1.0 / measured,
            predicted_application_seconds: 1.0,
            application_seconds: application,
            stealing_seconds: stealing,
            searching_seconds: searching,
            processor_seconds: processor,
            cause: None,
            trusted: None,
        };
        check.trusted = Some(check.agrees());
        check.cause = Some(check.find_cause());
        check
    }

    #[test]
    fn the_time_that_has_grown_most_is_the_cause() {
        for (measured, times, expected) in [
            (2.0, [4.0, 0.0, 0.0, 4.0], Cause::Memory),
            // The system does not tell the processor time.
            (2.0, [4.0, 0.0, 0.0, 0.0], Cause::Memory),
            (2.0, [4.0, 0.0, 0.0, 2.0], Cause::Waiting),
            (1.0, [1.0, 0.9, 0.1, 2.0], Cause::Stealing),
            (1.0, [1.1, 0.1, 0.8, 2.0], Cause::Searching),
            (1.0, [1.3, 0.3, 0.3, 2.0], Cause::Unknown),
        ] {
            let check = check(measured, times);
            assert_eq!(check.cause, Some(expected), "{check:?}");
            assert_eq!(check.trusted, Some(false));
            let text = check.to_string();
            assert!(text.contains("Do not trust"), "{text}");
            assert!(text.lines().all(|line| line.len() <= 140), "{text}");
        }
    }

    #[test]
    fn times_that_agree_are_trusted() {
        for measured in [0.41, 0.5, 0.62] {
            let check = check(measured, [1.0, 0.0, 0.0, 1.0]);
            assert_eq!(check.trusted, Some(true));
            assert_eq!(check.to_string().lines().count(), 1);
        }
        assert_eq!(check(0.3, [1.0, 0.0, 0.0, 1.0]).trusted, Some(false));
    }
}
