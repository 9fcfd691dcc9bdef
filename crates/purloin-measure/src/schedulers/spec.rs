//! A scheduler with its options, as `--scheduler` names it: [`Spec`].

use std::fmt;
use std::path::PathBuf;
use std::process::Command;
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
    /// The program of [`Start::NamedProgram`].
    program: PathBuf,
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Spec, String> {
        if let Some(name) = text.strip_suffix(':').filter(|name| !name.is_empty()) {
            return Err(format!(
                "{text:?} has no option after the colon; did you mean {name}?"
            ));
        }
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
            program: PathBuf::new(),
        })
    }
}

impl Spec {
    /// Returns the serial elision, with which all times are compared.
    pub fn serial() -> Spec {
        own::SERIAL.name.parse().expect("one of the schedulers")
    }

    /// Parses `NAME=PROGRAM`: a peer whose program the user has built.
    pub fn peer(text: &str) -> Result<Spec, String> {
        let (name, program) = match text.split_once('=') {
            Some((name, program)) if !name.is_empty() && !program.is_empty() => (name, program),
            _ => return Err(format!("{text:?} is not NAME=PROGRAM")),
        };
        if SCHEDULERS.iter().any(|known| known.name == name) {
            return Err(format!(
                "{name} is a scheduler of `purloin list`; give the peer another name"
            ));
        }
        Ok(Spec {
            text: name.to_string(),
            description: &process::NAMED,
            options: Options::parse(name, &[], "")?,
            program: program.into(),
        })
    }

    /// Makes the workers measure where their time goes.
    pub fn timed(mut self) -> Spec {
        self.options.timed = true;
        self
    }

    /// Returns whether the workers measure what steals cost their victims.
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

    /// Returns whether this is another project's scheduler.
    pub fn is_peer(&self) -> bool {
        self.description.is_peer
    }

    /// Builds the scheduler's program within `limit`, if it has one that is not built.
    pub fn build(&self, limit: Duration) -> Result<(), String> {
        match self.description.start {
            Start::Program(program) => {
                process::build(self.description.name, program, limit).map(|_| ())
            }
            Start::Threads(_) | Start::NamedProgram => Ok(()),
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
            Start::Threads(_) => None,
            Start::Program(program) => {
                let name = self.description.name;
                let directory = process::build(name, program, limit);
                Some(directory.and_then(|directory| {
                    let command = (program.start)(&directory);
                    Process::start(name, command, job, workers, limit)
                }))
            }
            Start::NamedProgram => {
                let command = Command::new(&self.program);
                Some(Process::start(&self.text, command, job, workers, limit))
            }
        }
    }

    /// Starts the scheduler's threads.
    pub fn start_threads(&self, workers: usize) -> Result<Box<dyn Runner>, String> {
        match self.description.start {
            Start::Threads(start) => {
                let left_out = match self.is_peer() {
                    true => " is left out",
                    false => "",
                };
                start(workers, &self.options)
                    .map_err(|error| format!("{self} with {workers} workers{left_out}: {error}"))
            }
            Start::Program(_) | Start::NamedProgram => {
                Err(format!("{self} does not run in threads of this process"))
            }
        }
    }

    /// Lets the pool keep this number of events of each worker; 0 for none.
    pub fn traced(mut self, events: usize) -> Spec {
        self.options.traced = events;
        self
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
