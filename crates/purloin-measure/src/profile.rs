//! Profiles of kernels.

use std::time::Duration;

use purloin_analysis::Profile;
use purloin_command::Failure;
use purloin_kernels::Job;

use crate::checked_kernel::CheckedKernel;
use crate::schedulers::Spec;

/// The profile of a kernel.
pub struct Case {
    /// The kernel and its input.
    pub job: Job,
    /// The scheduler, with its options.
    pub scheduler: String,
    /// The kernel's answer.
    pub answer: String,
    /// The measurements.
    pub profile: Profile,
}

impl Case {
    /// Profiles a kernel under a scheduler.
    ///
    /// # Errors
    ///
    /// Returns an error if the kernel gave a wrong answer, or could not be profiled.
    pub fn profile(
        job: Job,
        scheduler: &Spec,
        workers: usize,
        cost: Duration,
    ) -> Result<Case, Failure> {
        let mut kernel = CheckedKernel::new(job);
        let profile = scheduler
            .profile(workers, cost, &mut kernel)
            .map_err(Failure::Run)?;
        let answer = kernel.finish().map_err(|wrong| {
            Failure::Run(format!(
                "{job} was not profiled under {scheduler}: it gave a wrong answer: {wrong}"
            ))
        })?;
        Ok(Case {
            job,
            scheduler: scheduler.to_string(),
            answer,
            profile,
        })
    }
}

/// Returns how often a kernel with this input repeats its work.
pub fn repetitions(job: Job) -> f64 {
    let input = job.input();
    match (job.kernel(), input.split(',').nth(1)) {
        // All trees together have 2^20 leaves.
        ("stress", _) => 2_f64.powi(20 - input.parse().unwrap_or(20)),
        (_, Some(repetitions)) => repetitions.parse().unwrap_or(1.0),
        _ => 1.0,
    }
}
