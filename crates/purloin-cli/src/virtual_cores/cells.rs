//! Running a kernel on virtual cores.

use std::time::Duration;

use purloin_command::{Destination, Failure, print, progress};
use purloin_kernels::Job;
use purloin_measure::schedulers::Spec;
use purloin_virtual::{Run, sync};

use super::Args;
use super::report::{Cell, Report, Series};

/// The result of a timed run.
struct Timed {
    seconds: f64,
    answer: String,
    is_right: bool,
    stats: purloin::Stats,
    tally: purloin_virtual::Tally,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let (cores, schedulers) = args.complete()?;
    if args.measured.len() != schedulers.len() {
        return Err(Failure::usage(
            "this is the second half of `purloin virtual`: run that command",
        ));
    }
    let destination = args.json.as_deref().map(Destination::open).transpose()?;
    let progress = progress((schedulers.len() * (cores.len() + 1)) as u64, "runs");
    let mut series = Vec::new();
    for (scheduler, &one_worker_seconds) in schedulers.iter().zip(&args.measured) {
        progress.set_message(format!("one worker, {scheduler}"));
        let picoseconds = time_of_work(args, scheduler, one_worker_seconds)?;
        progress.inc(1);
        let mut cells = Vec::new();
        for &cores in &cores {
            progress.set_message(format!("{cores} cores, {scheduler}"));
            let timed = time(args, scheduler, cores, picoseconds)?;
            let speed_up = one_worker_seconds / timed.seconds;
            let Timed {
                seconds,
                answer,
                is_right: verified,
                stats,
                tally,
            } = timed;
            cells.push(Cell::new(
                (cores, seconds, speed_up),
                (answer, verified),
                stats,
                &tally,
            ));
            progress.inc(1);
        }
        series.push(Series {
            scheduler: scheduler.to_string(),
            one_worker_seconds,
            picoseconds_of_a_byte: picoseconds,
            cells,
        });
    }
    progress.finish_and_clear();
    let report = Report {
        kernel: args.kernel.kernel(),
        input: args.kernel.input(),
        machine: args.machine.name.clone(),
        seed: args.seed,
        series,
    };
    let is_shown = destination
        .as_ref()
        .is_none_or(|place| !place.is_standard_output());
    if is_shown {
        print(&report.text())?;
    }
    if let Some(destination) = destination {
        destination.write(&report)?;
    }
    match report.is_right() {
        true => Ok(()),
        false => Err(Failure::Run("an answer is wrong".to_string())),
    }
}

/// Returns the time of a unit of work, in picoseconds, with which one worker takes this long.
///
/// The amount of work depends a little on its time, because loops choose the lengths of their blocks by the clock. So this
/// tries again until the time is right within a hundredth.
fn time_of_work(args: &Args, scheduler: &Spec, seconds: f64) -> Result<f64, Failure> {
    const TRIES: usize = 5;
    let mut picoseconds = 40.0;
    for _ in 0..TRIES {
        let timed = time(args, scheduler, 1, picoseconds)?;
        let work = timed.tally.work as f64 * 1e-12;
        if work == 0.0 {
            return Err(Failure::Run(
                "this build does not count the work of the kernel; `./x purloin virtual` makes one that does"
                    .to_string(),
            ));
        }
        if (timed.seconds / seconds - 1.0).abs() < 0.01 {
            break;
        }
        // The library's accesses to memory take time, too. The rest is the work.
        let accesses = timed.seconds - work * picoseconds;
        picoseconds = (seconds - accesses).max(0.0) / work;
    }
    Ok(picoseconds)
}

/// Runs the kernel on this number of cores. A unit of work takes this many picoseconds.
fn time(args: &Args, scheduler: &Spec, cores: usize, picoseconds: f64) -> Result<Timed, Failure> {
    let machine = args.machine.clone().with_cores(cores);
    let machine = machine.map_err(|error| Failure::Usage(error.to_string()))?;
    let run = Run::new(&machine)
        .seed(args.seed)
        .work(picoseconds)
        .limit(Duration::from_secs(args.limit));
    let report = run.run(|| timed(args.kernel, scheduler, cores));
    let report = report.map_err(|failure| Failure::Run(failure.to_string()))?;
    let mut timed = report.answer.map_err(Failure::Run)?;
    timed.tally.fingerprint = report.tally.fingerprint;
    Ok(timed)
}

/// Runs the kernel as the main thread of a machine.
fn timed(job: Job, scheduler: &Spec, cores: usize) -> Result<Timed, String> {
    let runner = scheduler.start_threads(cores)?;
    let mut instance = job.prepare();
    // All workers are awake when the run begins, as in `purloin bench`.
    let warm_up = Job::parse("fib=12").map_err(|error| error.to_string())?;
    for _ in 0..3 {
        runner.run(&mut warm_up.prepare());
    }
    let stats = || runner.stats().expect("Purloin's schedulers count");
    let tally = || sync::tally().expect("this is the main thread of a run");
    let (stats_before, tally_before) = (stats(), tally());
    let start = sync::Instant::now();
    let answer = runner.run(&mut instance);
    let seconds = start.elapsed().as_secs_f64();
    // Before the check of the answer, which is work, too.
    let (stats, tally) = (stats() - stats_before, tally().since(&tally_before));
    Ok(Timed {
        seconds,
        is_right: instance.verify(&answer),
        answer: answer.to_string(),
        stats,
        tally,
    })
}
