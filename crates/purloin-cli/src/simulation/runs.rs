//! Simulations side by side: [`Runs`].

use std::sync::OnceLock;

use indicatif::ProgressBar;
use purloin::{Pool, Worker};
use purloin_command::Failure;
use purloin_sim::{Outcome, Time};

use crate::arguments::parse_workers;

/// How simulations are run.
#[derive(clap::Args)]
pub struct Runs {
    /// Simulations at a time, each of which needs memory of its own: of a million cores, 0.6 GB
    /// [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = parse_workers)]
    workers: Option<usize>,
}

/// One simulation.
pub struct Run<'r> {
    /// How much of the progress it is.
    pub steps: u64,
    /// What is said while it runs.
    pub message: String,
    pub simulate: Box<dyn Fn() -> Outcome + Sync + 'r>,
}

impl Runs {
    /// Runs all of these, of which the last take the longest. What comes out is the same with any
    /// number of workers.
    pub fn all(&self, runs: &[Run], progress: &ProgressBar) -> Result<Vec<Outcome>, Failure> {
        let mut builder = Pool::builder();
        if let Some(workers) = self.workers {
            builder = builder.workers(workers);
        }
        let pool = builder
            .build()
            .map_err(|error| Failure::Run(error.to_string()))?;
        let outcomes: Vec<_> = runs.iter().map(|_| OnceLock::new()).collect();
        // The newest are run first: so no long one is left to the end.
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
        let outcomes = outcomes.map(|outcome| outcome.expect("all have ended"));
        let outcomes = runs.iter().zip(outcomes).map(|(run, outcome)| {
            match outcome.time.max(outcome.work) < Time::MAX {
                true => Ok(outcome),
                false => Err(Failure::Usage(format!(
                    "{}: it takes longer than seven months, which cannot be simulated",
                    run.message
                ))),
            }
        });
        outcomes.collect()
    }
}
