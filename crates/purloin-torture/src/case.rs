//! A case: one program, one schedule. It runs the same way each time.

use std::fmt;
use std::str::FromStr;

use crate::program::Program;
use crate::random::Random;
use crate::setup::{SchedulerName, Setup};

/// A program and its schedule. Its text repeats the run: `7`, or, when the shrinker has changed something, `7,schedule=9,workers=2,calm,-4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The seed of the program and of the pools' options.
    pub seed: u64,
    /// The seed of the adversary.
    pub schedule: u64,
    pub scheduler: Option<SchedulerName>,
    /// Number of workers of the pools, instead of that of the seed.
    pub workers: Option<usize>,
    /// Whether no thread is refused, no thread wakes without a reason, and the clock does not jump.
    pub is_calm: bool,
    /// The steps to leave out.
    pub without: Vec<u32>,
}

impl Case {
    pub fn of_seed(seed: u64, scheduler: Option<SchedulerName>) -> Case {
        Case {
            seed,
            schedule: seed,
            scheduler,
            workers: None,
            is_calm: false,
            without: Vec::new(),
        }
    }

    /// Makes the program, and chooses the options of its pools.
    pub fn program(&self) -> (Setup, Program) {
        let mut random = Random::new(self.seed);
        let mut setup = Setup::random(&mut random, self.scheduler);
        let mut program = Program::random(&mut random, &setup);
        if let Some(workers) = self.workers {
            setup.main.workers = setup.main.workers.min(workers);
            setup.other.workers = setup.other.workers.min(workers);
        }
        program.retain(&|number| !self.without.contains(&number));
        if self.workers.is_some_and(|workers| workers < 3) {
            program.drop_meetings();
        }
        (setup, program)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seed)?;
        if self.schedule != self.seed {
            write!(f, ",schedule={}", self.schedule)?;
        }
        if let Some(scheduler) = self.scheduler {
            write!(f, ",scheduler={}", scheduler.name())?;
        }
        if let Some(workers) = self.workers {
            write!(f, ",workers={workers}")?;
        }
        if self.is_calm {
            f.write_str(",calm")?;
        }
        self.without
            .iter()
            .try_for_each(|number| write!(f, ",-{number}"))
    }
}

impl FromStr for Case {
    type Err = String;

    fn from_str(text: &str) -> Result<Case, String> {
        let mut parts = text.split(',');
        let first = parts.next().unwrap_or_default();
        let number = |text: &str| {
            text.parse::<u64>()
                .map_err(|_| format!("a seed is a number, not '{text}'"))
        };
        let mut case = Case::of_seed(number(first)?, None);
        for part in parts {
            match part.split_once('=') {
                Some(("schedule", value)) => case.schedule = number(value)?,
                Some(("scheduler", value)) => case.scheduler = Some(SchedulerName::named(value)?),
                Some(("workers", value)) => case.workers = Some(number(value)?.max(1) as usize),
                None if part == "calm" => case.is_calm = true,
                None if part.starts_with('-') => case.without.push(number(&part[1..])? as u32),
                _ => return Err(format!("'{part}' is no part of a seed")),
            }
        }
        Ok(case)
    }
}
