//! Recordings: reading, preparing and describing them.

use std::path::Path;

use purloin_analysis::Recording;
use purloin_command::Failure;
use purloin_command::format::{grouped, time};
use purloin_sim::{Policy, Recorded, Waiting, Workload};

/// Reads a recording from a file.
pub fn read(path: &Path) -> Result<Recording, Failure> {
    Recording::load(path).map_err(|error| Failure::in_file(path, error))
}

/// Prepares a recording for simulation under these policies. `path` is for error messages.
pub fn prepare(
    path: &Path,
    recording: &Recording,
    policies: &[Policy],
) -> Result<Recorded, Failure> {
    let recorded = Recorded::new(recording).map_err(|error| Failure::in_file(path, error))?;
    let mut policies = policies.iter();
    let has_no_spares = |policy: &&Policy| policy.waiting != Waiting::Spare;
    if recorded.needs_spares()
        && let Some(policy) = policies.find(has_no_spares)
    {
        let with_spares = Policy {
            waiting: Waiting::Spare,
            ..*policy
        };
        return Err(Failure::in_file(
            path,
            format!(
                "it fetches futures in other tasks or out of order; under {policy} a task could \
                 wait for itself, because its worker runs other tasks on top of it; use \
                 {with_spares}"
            ),
        ));
    }
    Ok(recorded)
}

/// Describes the number of tasks and of splits of loops and sorts, and the cost of a task if it is known.
pub fn describe_tasks(number: u64, splits: u64, seconds: f64) -> String {
    let cost = match seconds > 0.0 {
        true => format!(" ({} each to spawn and join)", time(seconds)),
        false => String::new(),
    };
    let plural = if number == 1 { "" } else { "s" };
    let splits = match splits {
        0 => String::new(),
        1 => " and 1 split of a loop or sort".to_owned(),
        _ => format!(" and {} splits of loops or sorts", grouped(splits)),
    };
    format!("{} task{plural}{splits}{cost}", grouped(number))
}

/// Returns the warning of a recording without tasks and loops, as a line of a text.
pub fn tasks_warning(recording_warning: Option<&str>) -> String {
    recording_warning.map_or_else(String::new, |warning| format!("Warning: {warning}.\n"))
}

/// The slowdown by clock readings above which single tasks are too short to be timed.
const SLOW: f64 = 3.0;

/// Returns a warning if clock readings slowed the recorded program down too much.
pub fn slowdown_warning(slowdown: f64) -> Option<String> {
    (slowdown >= SLOW).then(|| {
        format!(
            "Warning: clock readings made the program take {slowdown:.0} times as long, so its \
             tasks are shorter than a\nclock reading. The times of single tasks are estimates; \
             their sum is accurate.\n"
        )
    })
}
