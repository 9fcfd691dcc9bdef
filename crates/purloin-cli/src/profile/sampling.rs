//! This machine's version of Figures 7 and 8 of the Wool paper: what sampling
//! does to steals, and to the time where steals are dear.

use std::fmt::Write;
use std::time::Duration;

use purloin_analysis::Profile;
use purloin_kernels::Job;

use super::Case;
use super::report::{self, Report};
use crate::schedulers::Spec;
use purloin_command::Machine;
use purloin_command::{Failure, progress};

/// The kernels that are measured.
pub const ROWS: &[&str] = &[
    "cholesky=500,8",
    "cholesky=1000",
    "ssf=12,64",
    "ssf=14,16",
    "ssf=16,4",
    "stress=10",
    "stress=12",
    "stress=14",
    "multisort=65536,64",
    "multisort=1048576,4",
    "uts=T3",
    "nqueens=12",
];

const SCHEDULERS: [&str; 4] = [
    "direct-stack:victims=sets",
    "direct-stack:victims=sampling+sets",
    "direct-stack:victims=sets,steal-delay=4000ns",
    "direct-stack:victims=sampling+sets,steal-delay=4000ns",
];

pub fn run(rows: &[Job], workers: usize, cost: Duration) -> Result<(String, Report), Failure> {
    let schedulers: Vec<Spec> = SCHEDULERS
        .iter()
        .map(|text| text.parse().expect("a scheduler of ours"))
        .collect();
    let progress = progress((rows.len() * schedulers.len()) as u64, "profiles");
    let mut text = String::new();
    let mut all = Vec::new();
    let machine = Machine::this();
    let mut line = |line: &str| writeln!(text, "{line}").expect("a string takes everything");
    line(&format!(
        "{}, {} cores; direct-stack, {workers} workers\n",
        machine.processor, machine.cores
    ));
    line("Victims by sampling and sets, relative to victims by sets alone\n");
    line("                            as it is (Figure 7)      steals delayed by 4 µs (Figure 8)");
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
    line("\nsteals: how many; cost: how long one takes on average; time: of the whole.");
    line("Below 1, sampling has gained.");
    if workers > machine.cores {
        line(&format!(
            "\nThere are {workers} workers on {} cores, so that costs and times contain waiting for a \
             core;\nthe numbers of steals do not.",
            machine.cores
        ));
    }
    Ok((text, report::several(&all)))
}

/// Steals, their cost, and the time, of the second relative to the first.
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
