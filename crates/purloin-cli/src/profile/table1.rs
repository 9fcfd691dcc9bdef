//! Table 1 of the Wool paper on this machine.

use std::fmt::Write;
use std::time::Duration;

use purloin_command::format::time;
use purloin_command::{Failure, Machine, progress};
use purloin_kernels::Job;

use super::Case;
use super::report::{self, Report};
use super::table::parallelism;
use crate::schedulers::Spec;

/// The rows of the paper; `fib` with a smaller number. `paper::wool` explains the inputs of
/// `cholesky`, `ssf` and `multisort`.
#[rustfmt::skip]
pub const ROWS: &[&str] = &[
    "cholesky=125,16,32", "cholesky=250,4,32", "cholesky=500,1,32", "cholesky=1000,1,32",
    "cholesky=2000,1,32",
    "ssf=11,64", "ssf=12,32", "ssf=13,16", "ssf=14,8", "ssf=15,4",
    "stress=10", "stress=11", "stress=12", "stress=13", "stress=14",
    "multisort=16384,256,72", "multisort=65536,64,268", "multisort=262144,16,1030",
    "multisort=1048576,4,4050", "multisort=4194304,1,4160",
    "fib=33", "uts=T3", "uts=T3L", "nqueens=13",
];

/// Returns the meaning of a kernel's input.
fn parameter(kernel: &str) -> &str {
    match kernel {
        "cholesky" => "rows",
        "ssf" => "concatenations",
        "stress" => "height; leaves of 512 cycles",
        "multisort" => "integers",
        "uts" => "tree",
        _ => "n",
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

/// Measures these rows; returns the table and the report.
pub fn run(
    rows: &[Job],
    scheduler: &Spec,
    workers: usize,
    cost: Duration,
) -> Result<(String, Report), Failure> {
    let progress = progress(rows.len() as u64, "profiles");
    let mut text = String::new();
    let mut all = Vec::new();
    let machine = Machine::this();
    let mut line = |line: &str| writeln!(text, "{line}").expect("writing to a string cannot fail");
    line(&format!(
        "{}, {} cores; {scheduler}, {workers} workers\n",
        machine.processor, machine.cores
    ));
    line("                              parallelism                  granularities");
    line(&format!(
        "  input         reps     steals free  {:>9} a steal     rep size    S_T        I_S        \
         speed-up   expected",
        format!("{} ns", cost.as_nanos())
    ));
    let mut kernel = "";
    for &job in rows {
        if kernel != job.kernel() {
            kernel = job.kernel();
            line(&format!("\n{kernel}, parameter: {}", parameter(kernel)));
        }
        progress.set_message(job.to_string());
        let case = Case::profile(job, scheduler, workers, cost)?;
        progress.inc(1);
        line(&row(&case, workers));
        all.push(case);
    }
    progress.finish_and_clear();
    line("\nparallelism: work / span, with free steals and with steals of this cost");
    line("reps: number of repetitions of the work; rep size: serial time of one repetition");
    line("S_T: mean task size; I_S: steal interval, the work per steal");
    line("speed-up: relative to the serial elision; expected: from work and span");
    if all.iter().any(|case| !case.profile.is_filtered) {
        line("*: too many tasks to filter out interrupts; the parallelism is underestimated");
    }
    Ok((text, report::several(&all)))
}

fn row(case: &Case, workers: usize) -> String {
    let (profile, input) = (&case.profile, case.job.input());
    let repetitions = repetitions(case.job);
    let (low, high) = profile.expected_speed_up(workers);
    format!(
        "  {:<10} {:>8} {:>14} {:>19} {:>12} {:>10} {:>10} {:>10.2}   {low:.2} to {high:.2}{}",
        input.split(',').next().unwrap_or_default(),
        repetitions,
        parallelism(profile.ideal.parallelism),
        parallelism(profile.burdened.parallelism),
        time(profile.serial.as_secs_f64() / repetitions),
        time(profile.task_size()),
        match profile.steal_interval() {
            Some(interval) => time(interval),
            None => "no steals".to_string(),
        },
        profile.speed_up(),
        if profile.is_filtered { "" } else { "  *" },
    )
}
