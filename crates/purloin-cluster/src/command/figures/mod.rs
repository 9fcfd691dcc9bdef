//! `purloin-cluster figures`.

mod figure;
mod job;
mod launcher;
mod measure;
mod report;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use purloin_cluster::{Cutoff, Options};
use purloin_command::format::parse_time;
use purloin_command::{Destination, Failure, Machine, print};

use self::figure::{DEPTHS, FIGURES, Figure, Shows, TUNED};
use self::job::{Job, time_argument, unusual};
use self::launcher::Launcher;
use self::measure::Measurements;
use self::report::{Cell, Found, Report, Row};
use crate::kernels;

/// Runs.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  purloin-cluster figures
  purloin-cluster figures --figure 9 --kernel uts --kernel nqueens=14 --ranks 4
  purloin-cluster figures --mpirun \"srun --nodes 4\" --ranks 48 --latency 0ns --json figures.json

It starts its jobs by mpirun itself, some hundred of them: with all figures and kernels that
takes about ten minutes. Exit status: 0 if every answer was right, 1 if one was wrong or a job
has failed, 2 for a mistake in the arguments.")]
pub struct Args {
    /// Only this figure, from 6 to 10; repeat the option for several
    #[arg(long = "figure", value_name = "N", value_parser = clap::value_parser!(u32).range(6..=10))]
    figures: Vec<u32>,

    /// Only this kernel of `purloin-cluster list`; repeat the option for several [default:
    /// fib=40 floorplan=20 nqueens=13 sparselu=24,128 strassen=1024 uts=T3]
    #[arg(long = "kernel", value_name = "NAME[=INPUT]")]
    kernels: Vec<String>,

    /// How many ranks to compare with one, from 2 to 64
    #[arg(long, value_name = "N", default_value = "2", value_parser = parse_ranks)]
    ranks: usize,

    /// How often each job is run, by turns; the median counts
    #[arg(long, value_name = "N", default_value = "5", value_parser = parse_runs)]
    runs: usize,

    /// Delays what is done to other ranks, as on a slower network
    #[arg(long, value_name = "TIME", default_value = "200us", value_parser = parse_latency)]
    latency: Duration,

    /// What starts a job of so many ranks with -n, and its options [default: mpirun, or what
    /// the environment variable MPIRUN says]
    #[arg(long, value_name = "COMMAND")]
    mpirun: Option<String>,

    /// Write the results as JSON to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

/// All kernels, with inputs that take some tenths of a second on one rank. The paper's are
/// larger by far.
const KERNELS: &[&str] = &[
    "fib=40",
    "floorplan=20",
    "nqueens=13",
    "sparselu=24,128",
    "strassen=1024",
    "uts=T3",
];

/// How often each depth is tried, at most, to find the best.
const TRIALS: usize = 3;

fn number(text: &str, least: usize, most: usize) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("it must be a number from {least} to {most}"))
}

fn parse_ranks(text: &str) -> Result<usize, String> {
    number(text, 2, 64)
}

fn parse_runs(text: &str) -> Result<usize, String> {
    number(text, 1, 1000)
}

fn parse_latency(text: &str) -> Result<Duration, String> {
    parse_time(text).ok_or_else(|| "a latency is a time from 0ns to 1s, such as 200us".to_owned())
}

/// A kernel with the input that it has here, if none is given.
fn with_input(kernel: &str) -> String {
    let names = |job: &&&str| job.split('=').next() == Some(kernel);
    let usual = KERNELS.iter().find(names).copied();
    usual.unwrap_or(kernel).to_owned()
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    if let Some(rank) = rank_of_a_job() {
        return match rank.as_str() {
            "0" => Err(Failure::usage(
                "figures starts its jobs itself; run it without mpirun, and see --ranks",
            )),
            // The first rank has told it.
            _ => Ok(()),
        };
    }
    let session = Session::new(args)?;
    // Before anything is measured, so that no result is lost for want of it.
    let destination = args.json.as_deref().map(Destination::open).transpose()?;
    let report = session.report();
    session.progress.finish_and_clear();
    let report = report?;
    if !destination
        .as_ref()
        .is_some_and(Destination::is_standard_output)
    {
        print(&report.text())?;
    }
    match destination {
        Some(destination) => destination.write(&report),
        None => Ok(()),
    }
}

/// This process' rank, if `mpirun` has started it; it could not start other jobs then.
fn rank_of_a_job() -> Option<String> {
    let names = ["OMPI_COMM_WORLD_RANK", "PMI_RANK"];
    names.iter().find_map(|name| std::env::var(name).ok())
}

/// What is to be shown, and what it takes to find out.
struct Session<'a> {
    args: &'a Args,
    kernels: Vec<String>,
    figures: Vec<&'static Figure>,
    launcher: Launcher,
    progress: ProgressBar,
}

/// What is found for one kernel.
struct Kernel {
    name: String,
    best_depth: u32,
    measurements: Measurements,
}

impl<'a> Session<'a> {
    /// Makes sure that all is there.
    fn new(args: &'a Args) -> Result<Session<'a>, Failure> {
        let given = args.kernels.iter().map(String::as_str);
        let mut kernels: Vec<String> = Vec::new();
        for kernel in given.chain(KERNELS.iter().copied().filter(|_| args.kernels.is_empty())) {
            let kernel = with_input(kernel);
            kernels::check(&kernel)?;
            if !kernels.contains(&kernel) {
                kernels.push(kernel);
            }
        }
        let is_asked_for =
            |figure: &&Figure| args.figures.is_empty() || args.figures.contains(&figure.number);
        let mpirun = args.mpirun.clone().or_else(|| std::env::var("MPIRUN").ok());
        let mut session = Session {
            args,
            kernels,
            figures: FIGURES.iter().filter(is_asked_for).collect(),
            launcher: Launcher::find(mpirun.as_deref().unwrap_or("mpirun"))?,
            progress: ProgressBar::hidden(),
        };
        let of_a_kernel = session.jobs("", DEPTHS[0]).len() * args.runs
            + session.trials("").len() * session.runs_of_a_trial();
        session.progress = progress_bar(session.kernels.len() * of_a_kernel);
        Ok(session)
    }

    fn report(&self) -> Result<Report, Failure> {
        let kernels = self.kernels.iter().map(|kernel| self.measure(kernel));
        let kernels = kernels.collect::<Result<Vec<_>, _>>()?;
        let nodes = kernels.iter().map(|kernel| kernel.measurements.nodes());
        let Args {
            ranks,
            runs,
            latency,
            ..
        } = *self.args;
        Ok(Report {
            machine: Machine::this(),
            ranks,
            nodes: nodes.max().unwrap_or(1),
            runs,
            latency_seconds: latency.as_secs_f64(),
            latency: time_argument(latency),
            figures: self
                .figures
                .iter()
                .map(|figure| self.found(figure, &kernels))
                .collect(),
        })
    }

    /// Runs all jobs of a kernel.
    fn measure(&self, kernel: &str) -> Result<Kernel, Failure> {
        let take = |jobs, runs| Measurements::take(jobs, runs, &self.launcher, &self.progress);
        let trials = self.trials(kernel);
        let best_depth = match trials.is_empty() {
            true => DEPTHS[0],
            false => match take(trials, self.runs_of_a_trial())?
                .fastest()
                .options
                .cutoff
            {
                Cutoff::Depth(depth) => depth,
                _ => DEPTHS[0],
            },
        };
        // The best depth is run anew: its trials were the luckiest.
        let measurements = take(self.jobs(kernel, best_depth), self.args.runs)?;
        Ok(Kernel {
            name: kernel.to_owned(),
            best_depth,
            measurements,
        })
    }

    fn job(&self, kernel: &str, options: &Options) -> Job {
        let mut options = options.clone();
        options.latency = self.args.latency;
        Job {
            kernel: kernel.to_owned(),
            ranks: self.args.ranks,
            options,
        }
    }

    /// What speed-ups are relative to: one for all variants, so that what a variant costs
    /// on one rank, too, is seen.
    fn alone(kernel: &str) -> Job {
        Job {
            kernel: kernel.to_owned(),
            ranks: 1,
            options: Options::default(),
        }
    }

    /// What the figures need of a kernel, each once.
    fn jobs(&self, kernel: &str, best_depth: u32) -> Vec<Job> {
        let mut jobs = Vec::new();
        for figure in &self.figures {
            let variants = (figure.variants)(best_depth);
            let variants = variants.iter().map(|it| self.job(kernel, &it.options));
            let alone = (figure.shows != Shows::Profiling).then(|| Self::alone(kernel));
            for job in alone.into_iter().chain(variants) {
                if !jobs.contains(&job) {
                    jobs.push(job);
                }
            }
        }
        jobs
    }

    /// What it takes to find the best depth, if that is needed.
    fn trials(&self, kernel: &str) -> Vec<Job> {
        let is_needed = self.figures.iter().any(|figure| figure.number == TUNED);
        let depths = DEPTHS.iter().filter(|_| is_needed);
        let trial = |depth: &u32| {
            let mut options = Options::default();
            options.cutoff = Cutoff::Depth(*depth);
            self.job(kernel, &options)
        };
        depths.map(trial).collect()
    }

    fn runs_of_a_trial(&self) -> usize {
        self.args.runs.min(TRIALS)
    }

    fn found(&self, figure: &Figure, kernels: &[Kernel]) -> Found {
        Found {
            figure: figure.number,
            title: figure.title.to_owned(),
            paper: figure.paper.to_owned(),
            command: self.command(figure.number),
            rows: kernels
                .iter()
                .map(|kernel| self.row(figure, kernel))
                .collect(),
            shows: figure.shows,
        }
    }

    fn row(&self, figure: &Figure, kernel: &Kernel) -> Row {
        let Kernel {
            name,
            best_depth,
            measurements,
        } = kernel;
        let cells = (figure.variants)(*best_depth).into_iter().map(|variant| {
            let job = self.job(name, &variant.options);
            let measured = measurements.of(&job);
            Cell {
                variant: variant.name,
                arguments: unusual(&job.options).join(" "),
                seconds: measured.median_seconds(),
                all_seconds: measured.seconds.clone(),
                spread: measured.spread(),
                profiling_percent: 100.0 * measured.median_profiling(),
            }
        });
        let alone = (figure.shows != Shows::Profiling)
            .then(|| measurements.of(&Self::alone(name)).median_seconds());
        Row {
            kernel: name.clone(),
            one_rank_seconds: alone,
            best_depth: (figure.number == TUNED).then_some(*best_depth),
            cells: cells.collect(),
        }
    }

    /// What shows this figure again.
    fn command(&self, figure: u32) -> String {
        let Args {
            kernels,
            ranks,
            runs,
            latency,
            mpirun,
            ..
        } = self.args;
        let mut command = format!(
            "purloin-cluster figures --figure {figure} --ranks {ranks} --runs {runs} --latency {}",
            time_argument(*latency)
        );
        for kernel in kernels {
            command += &format!(" --kernel {kernel}");
        }
        if let Some(mpirun) = mpirun {
            command += &format!(" --mpirun \"{mpirun}\"");
        }
        command
    }
}

/// Shown on standard error, if that is a terminal.
fn progress_bar(jobs: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} jobs, {elapsed}  {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let progress = ProgressBar::new(jobs as u64).with_style(style);
    // Seldom: drawing takes processor time from what is measured.
    progress.enable_steady_tick(Duration::from_secs(1));
    progress
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_an_input_here() {
        let names = kernels::KERNELS.iter().map(|kernel| kernel.name);
        for (name, job) in names.zip(KERNELS) {
            assert_eq!(&with_input(name), job);
            kernels::check(job).unwrap();
        }
        assert_eq!(with_input("uts=T3L"), "uts=T3L");
        assert_eq!(with_input("fibb"), "fibb");
    }
}
