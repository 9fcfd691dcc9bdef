//! Profiles as JSON: [`Report`].

use purloin_analysis::Profile;
use purloin_command::Machine;
use purloin_measure::profile::Case;
use serde::Serialize;

/// The report of one profile.
#[derive(Serialize)]
pub struct Report<'c> {
    machine: Machine,
    kernel: &'static str,
    input: String,
    scheduler: &'c str,
    answer: &'c str,
    verified: bool,
    #[serde(flatten)]
    profile: &'c Profile,
}

impl Report<'_> {
    /// Reports the profile of a kernel.
    pub fn of(case: &Case) -> Report<'_> {
        Report {
            machine: Machine::this(),
            kernel: case.job.kernel(),
            input: case.job.input(),
            scheduler: &case.scheduler,
            answer: &case.answer,
            // A wrong answer is an error, which leaves no profile.
            verified: true,
            profile: &case.profile,
        }
    }
}
