//! A scheduler with its options, as `--scheduler` names it: [`Spec`].

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use purloin_analysis::Profile;
use purloin_kernels::Job;

use super::options::Options;
use super::{
    Description, Kernels, Process, ProfileKernel, Runner, SCHEDULERS, Start, own, process,
};
use crate::checked_kernel::CheckedKernel;

/// A scheduler with its options.
#[derive(Clone)]
pub struct Spec {
    /// The user's text, for tables and reports.
    text: String,
    description: &'static Description,
    options: Options,
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Spec, String> {
        let text = text.strip_suffix(':').unwrap_or(text);
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let Some(description) = SCHEDULERS.iter().find(|known| known.name == name) else {
            return Err(match name.contains(',') {
                true => format!("no scheduler {name:?}; give each its own --scheduler"),
                false => format!(
                    "no scheduler {name:?}; the schedulers are {}",
                    names(SCHEDULERS)
                ),
            });
        };
        Ok(Spec {
            text: text.to_string(),
            description,
            options: Options::parse(name, description.options, options)?,
        })
    }
}

impl Spec {
    /// Returns the serial elision, with which all times are compared.
    pub fn serial() -> Spec {
        own::SERIAL.name.parse().expect("one of the schedulers")
    }

    /// Makes the workers measure where their time goes.
    pub fn timed(mut self) -> Spec {
        self.options.timed = true;
        self
    }

    pub fn is_timed(&self) -> bool {
        self.options.timed
    }

    /// Returns whether the user can choose the number of workers.
    pub fn has_workers(&self) -> bool {
        self.description.has_workers
    }

    /// Returns an error unless the scheduler can run this kernel.
    pub fn check(&self, job: &Job) -> Result<(), String> {
        match self.description.kernels {
            Kernels::Only(kernels) if !kernels.contains(&job.kernel()) => Err(format!(
                "{} has no kernel {:?}; its kernels are {}",
                self.description.name,
                job.kernel(),
                kernels.join(", ")
            )),
            _ => Ok(()),
        }
    }

    /// Returns whether the scheduler is a peer with a program of its own.
    pub fn is_program(&self) -> bool {
        matches!(self.description.start, Start::Program(_))
    }

    /// Builds the scheduler's program, if it has one of its own.
    pub fn build(&self) -> Result<(), String> {
        match self.description.start {
            Start::Program(program) => process::build(self.description.name, program).map(|_| ()),
            Start::Threads(_) => Ok(()),
        }
    }

    /// Starts the scheduler as a program of its own, which has to answer each request within
    /// `limit`; `None` if it runs in threads of this process.
    pub fn start_process(
        &self,
        job: &Job,
        workers: usize,
        limit: Duration,
    ) -> Option<Result<Process, String>> {
        match self.description.start {
            Start::Program(program) => {
                let name = self.description.name;
                Some(Process::start(name, program, job, workers, limit))
            }
            Start::Threads(_) => None,
        }
    }

    /// Starts the scheduler's threads.
    pub fn start_threads(&self, workers: usize) -> Result<Box<dyn Runner>, String> {
        match self.description.start {
            Start::Threads(start) => start(workers, &self.options)
                .map_err(|error| format!("{self} with {workers} workers: {error}")),
            Start::Program(_) => Err(format!("{self} does not run in threads of this process")),
        }
    }

    /// Profiles a kernel under the scheduler.
    pub fn profile(
        &self,
        workers: usize,
        cost: Duration,
        kernel: &mut CheckedKernel,
    ) -> Result<Profile, String> {
        let profile = self.check_profile()?;
        profile(workers, &self.options, cost, kernel)
            .map_err(|error| format!("{self} with {workers} workers: {error}"))
    }

    /// Returns an error unless kernels can be profiled under the scheduler.
    pub fn check_profile(&self) -> Result<ProfileKernel, String> {
        let possible = SCHEDULERS.iter().filter(|known| known.profile.is_some());
        let possible = names(possible);
        match self.description.profile {
            Some(_) if self.options.token_free => Err(format!(
                "api=free cannot be profiled; use one of {possible}"
            )),
            Some(profile) => Ok(profile),
            None => Err(format!(
                "{} cannot be profiled; use one of {possible}",
                self.description.name
            )),
        }
    }
}

fn names(schedulers: impl IntoIterator<Item = &'static Description>) -> String {
    let names: Vec<_> = schedulers.into_iter().map(|known| known.name).collect();
    names.join(", ")
}
