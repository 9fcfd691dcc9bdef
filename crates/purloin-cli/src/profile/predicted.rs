//! The speed-up on more cores than this machine has, for a report.

use purloin_command::{Failure, activity};
use purloin_kernels::Job;
use purloin_measure::checked_kernel::CheckedKernel;
use purloin_measure::simulation::check::Check;
use purloin_sim::{Machine, Policy, Recorded, Waiting, simulate};

/// The largest machine of a report.
const MAX_CORES: u32 = 64;

/// Records a kernel, and predicts its speed-up on machines with more cores than this one, under Purloin's default
/// policy: numbers of cores, each with the speed-up. Returns the reason if the prediction for this machine is wrong or
/// cannot be checked, or if the recording is too long for a simulation.
pub fn predicted(job: Job) -> Result<Result<Vec<(usize, f64)>, String>, Failure> {
    let progress = activity();
    progress.set_message("recording for the prediction");
    let mut kernel = CheckedKernel::new(job);
    let recording = purloin_analysis::record(&job.to_string(), &mut kernel);
    let recording = recording.map_err(|error| Failure::Run(error.to_string()))?;
    let recorded = match Recorded::new(&recording) {
        Ok(recorded) => recorded,
        Err(error) => {
            progress.finish_and_clear();
            return Ok(Err(error.to_string()));
        }
    };
    progress.set_message("predicting");
    let check = Check::new(&recording, &recorded);
    if check.trusted != Some(true) {
        progress.finish_and_clear();
        return Ok(Err(check.to_string()));
    }
    let policy = Policy {
        waiting: Waiting::Spare,
        ..Policy::default()
    };
    let work = recording.work().as_secs_f64();
    let cores = (1..)
        .map(|power| 1 << power)
        .skip_while(|&cores| cores <= check.cores);
    let speed_up = |cores| {
        let outcome = simulate(&recorded, &Machine::shared_memory(cores), policy, 1);
        (
            cores as usize,
            work / outcome.time.seconds().max(f64::MIN_POSITIVE),
        )
    };
    let points = cores
        .take_while(|&cores| cores <= MAX_CORES)
        .map(speed_up)
        .collect();
    progress.finish_and_clear();
    Ok(Ok(points))
}
