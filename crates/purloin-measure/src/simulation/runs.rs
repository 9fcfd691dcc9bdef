//! Running many simulations in parallel: [`Runs`].

use std::sync::OnceLock;

use indicatif::ProgressBar;
use purloin::{Pool, Worker};
use purloin_command::Failure;
use purloin_sim::{Outcome, Time};

use crate::arguments::parse_workers;

/// The option for running simulations.
#[derive(clap::Args, Default)]
pub struct Runs {
    /// Number of simulations that run at the same time. Each needs its own memory: 0.6 GB for a
    /// million cores [default: number of processors]
    #[arg(long, value_name = "N", value_parser = parse_workers)]
    workers: Option<usize>,
}

/// One simulation.
pub struct Run<'r> {
    /// The steps by which the run advances the progress bar.
    pub steps: u64,
    /// The text next to the progress bar, and in error messages.
    pub message: String,
    /// Runs the simulation.
    pub simulate: Box<dyn Fn() -> Outcome + Sync + 'r>,
}

impl Runs {
    /// Runs all simulations, given in ascending order of their length. The outcomes do not depend
    /// on the number of workers.
    pub fn all(&self, runs: &[Run], progress: &ProgressBar) -> Result<Vec<Outcome>, Failure> {
        let mut builder = Pool::builder();
        if let Some(workers) = self.workers {
            builder = builder.workers(workers);
        }
        let pool = builder
            .build()
            .map_err(|error| Failure::Run(error.to_string()))?;
        let outcomes: Vec<_> = runs.iter().map(|_| OnceLock::new()).collect();
        // A worker pops its newest task first, so the longest simulations start early, and no
        // worker still runs a long simulation at the end.
        pool.run(|mut w| {
            w.finish(|scope| {
                for (run, outcome) in runs.iter().zip(&outcomes) {
                    scope.spawn(move |_| {
                        progress.set_message(run.message.clone());
                        let _ = outcome.set((run.simulate)());
                        progress.inc(run.steps);
                    });
                }
            });
        });
        progress.finish_and_clear();
        let outcomes = outcomes.into_iter().map(OnceLock::into_inner);
        let outcomes = outcomes.map(|outcome| outcome.expect("the finish waits for all runs"));
        let outcomes = runs.iter().zip(outcomes).map(|(run, outcome)| {
            match outcome.time.max(outcome.work) < Time::MAX {
                true => Ok(outcome),
                false => Err(Failure::Usage(format!(
                    "{}: the simulated time exceeds the maximum of seven months; choose a smaller \
                     program or shorter times",
                    run.message
                ))),
            }
        });
        outcomes.collect()
    }
}
