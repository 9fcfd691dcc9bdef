//! Figures 7 and 8 of the Wool paper on this machine: how sampling changes the number and the cost
//! of steals, and the time if steals are slow.

use std::fmt::Write;
use std::time::Duration;

use purloin_analysis::Profile;
use purloin_command::{Failure, Machine, progress};
use purloin_kernels::Job;

use super::Case;
use super::report::{self, Report};
use crate::schedulers::Spec;

/// The kernels of the figures.
pub const ROWS: &[&str] = &[
    "cholesky=500,1,32",
    "cholesky=1000,1,32",
    "ssf=11,64",
    "ssf=13,16",
    "ssf=15,4",
    "stress=10",
    "stress=12",
    "stress=14",
    "multisort=65536,64,268",
    "multisort=1048576,4,4050",
    "uts=T3",
    "nqueens=12",
];

/// Sets and sampled sets, first without and then with a delay of 4000 cycles per steal. Blocked workers
/// leapfrog only, as in the paper: spare workers would steal outside of sets and samples.
const SCHEDULERS: [&str; 4] = [
    "direct-stack:spares=0,victims=sets",
    "direct-stack:spares=0,victims=sampling+sets",
    "direct-stack:spares=0,victims=sets,steal-delay=4000cycles",
    "direct-stack:spares=0,victims=sampling+sets,steal-delay=4000cycles",
];

/// Measures these rows; returns the table and the report.
pub fn run(rows: &[Job], workers: usize, cost: Duration) -> Result<(String, Report), Failure> {
    let schedulers: Vec<Spec> = SCHEDULERS
        .iter()
        .map(|text| text.parse().expect("one of the schedulers"))
        .collect();
    let progress = progress((rows.len() * schedulers.len()) as u64, "profiles");
    let mut text = String::new();
    let mut all = Vec::new();
    let machine = Machine::this();
    let mut line = |line: &str| writeln!(text, "{line}").expect("writing to a string cannot fail");
    line(&format!(
        "{}, {} cores; direct-stack, {workers} workers\n",
        machine.processor, machine.cores
    ));
    line("Sampled sets relative to sets without sampling (victims=sampling+sets / victims=sets)\n");
    line(
        "                            no delay (Figure 7)      steals delayed by 4000 cycles (Figure 8)",
    );
    line("  kernel                   steals  cost    time         steals  cost    time");
    for &job in rows {
        let mut cases = Vec::new();
        for scheduler in &schedulers {
            progress.set_message(format!("{job} under {scheduler}"));
            cases.push(Case::profile(job, scheduler, workers, cost)?);
            progress.inc(1);
        }
        line(&format!(
            "  {:<22}  {}     {}",
            job.to_string(),
            ratios(&cases[0].profile, &cases[1].profile),
            ratios(&cases[2].profile, &cases[3].profile),
        ));
        all.extend(cases);
    }
    progress.finish_and_clear();
    line("\nsteals: number of steals; cost: mean time of a steal; time: time of the kernel");
    line("Below 1, sampling is better.");
    if workers > machine.cores {
        line(&format!(
            "\nThe {workers} workers share {} cores, so costs and times include waiting for a \
             core;\nthe numbers of steals are not affected.",
            machine.cores
        ));
    }
    Ok((text, report::several(&all)))
}

/// Formats the steals, their cost and the time with sampling, relative to the same figures without
/// sampling.
fn ratios(sets: &Profile, sampling: &Profile) -> String {
    let ratio = |measure: fn(&Profile) -> Option<f64>| match (measure(sampling), measure(sets)) {
        (Some(sampling), Some(sets)) => format!("{:.2}", sampling / sets),
        _ => "–".to_string(),
    };
    format!(
        "{:>7} {:>7} {:>7}",
        ratio(|profile| Some(profile.steals()).filter(|&steals| steals > 0.0)),
        ratio(Profile::steal_cost),
        ratio(|profile| Some(profile.parallel.as_secs_f64())),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_spare_worker_steals_outside_of_sets_and_samples() {
        for text in SCHEDULERS {
            let spec: Spec = text.parse().unwrap();
            assert!(spec.to_string().contains("spares=0"), "{spec}");
        }
    }
}
