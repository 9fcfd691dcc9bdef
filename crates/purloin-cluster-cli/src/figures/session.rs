//! The jobs that the figures need, and their results: [`Session`].

use indicatif::ProgressBar;
use purloin_cluster::{CutOff, Options};
use purloin_command::{Failure, Machine, progress};

use super::args::{Args, KERNELS, with_input};
use super::figure::{DEPTHS, FIGURE_WITH_DEPTH, FIGURES, Figure, LATENCY_FIGURE, Shows};
use super::job::{Job, option_arguments};
use super::launcher::Launcher;
use super::measure::Measurements;
use super::report::{Cell, FigureResult, Report, Row};
use crate::kernels;
use crate::values::time_text;

/// The largest number of runs with each depth, to find the best depth.
const MAX_TRIALS: usize = 3;

/// The kernels and figures that the user has asked for, and the launcher that measures them.
pub struct Session<'a> {
    args: &'a Args,
    kernels: Vec<String>,
    figures: Vec<&'static Figure>,
    launcher: Launcher,
    progress: ProgressBar,
}

/// The measurements of one kernel.
struct Kernel {
    name: String,
    best_depth: u32,
    measurements: Measurements,
}

impl<'a> Session<'a> {
    /// Checks the arguments and the launcher, and starts the progress bar.
    pub fn new(args: &'a Args) -> Result<Session<'a>, Failure> {
        let given: Vec<_> = match args.kernels.is_empty() {
            true => KERNELS.to_vec(),
            false => args.kernels.iter().map(String::as_str).collect(),
        };
        let mut kernels = Vec::new();
        let is_selected =
            |figure: &&Figure| args.figures.is_empty() || args.figures.contains(&figure.number);
        let figures: Vec<_> = FIGURES.iter().filter(is_selected).collect();
        for kernel in given {
            let kernel = with_input(kernel);
            kernels::check(&kernel)?;
            if !kernels.contains(&kernel) {
                kernels.push(kernel);
            }
        }
        if figures.is_empty() {
            // Figure 5 has no kernels.
            kernels.clear();
        }
        let mpirun = args.mpirun.clone().or_else(|| std::env::var("MPIRUN").ok());
        let mut session = Session {
            args,
            kernels,
            figures,
            launcher: Launcher::find(mpirun.as_deref().unwrap_or("mpirun"))?,
            progress: ProgressBar::hidden(),
        };
        let per_kernel = session.jobs("", session.depths()[0]).len() * args.runs
            + session.trials("").len() * session.runs_per_trial();
        session.progress = progress((session.kernels.len() * per_kernel) as u64, "jobs");
        Ok(session)
    }

    /// Runs all jobs, and returns their results.
    pub fn report(&self) -> Result<Report, Failure> {
        let latencies = match self.wants_latencies() {
            true => Some(self.launcher.latencies(self.args.ranks)?),
            false => None,
        };
        let kernels = self.kernels.iter().map(|kernel| self.measure(kernel));
        let kernels = kernels.collect::<Result<Vec<_>, _>>();
        self.progress.finish_and_clear();
        let kernels = kernels?;
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
            latency: time_text(latency),
            latencies,
            figures: self
                .figures
                .iter()
                .map(|figure| self.result(figure, &kernels))
                .collect(),
        })
    }

    /// Returns whether the user has asked for Figure 5, which needs no kernels.
    fn wants_latencies(&self) -> bool {
        self.args.figures.is_empty() || self.args.figures.contains(&LATENCY_FIGURE)
    }

    /// Runs all jobs of a kernel.
    fn measure(&self, kernel: &str) -> Result<Kernel, Failure> {
        let take = |jobs, runs| Measurements::take(jobs, runs, &self.launcher, &self.progress);
        let trials = self.trials(kernel);
        let trials = take(trials, self.runs_per_trial())?;
        let best_depth = match trials.fastest().map(|job| job.options.cut_off) {
            Some(CutOff::Depth(depth)) => depth,
            _ => self.depths()[0],
        };
        // Measures the best depth again, because its trials were also the luckiest.
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

    /// Returns the job to which all speed-ups are relative. It is the same for all variants, so
    /// that the speed-ups also show the cost of a variant on one rank.
    fn on_one_rank(kernel: &str) -> Job {
        Job {
            kernel: kernel.to_owned(),
            ranks: 1,
            options: Options::default(),
        }
    }

    /// Returns the jobs of a kernel that the figures need, without duplicates.
    fn jobs(&self, kernel: &str, best_depth: u32) -> Vec<Job> {
        let mut jobs = Vec::new();
        for figure in &self.figures {
            let variants = (figure.variants)(best_depth);
            let variants = variants
                .iter()
                .map(|variant| self.job(kernel, &variant.options));
            let on_one_rank = (figure.shows != Shows::Profiling).then(|| Self::on_one_rank(kernel));
            for job in on_one_rank.into_iter().chain(variants) {
                if !jobs.contains(&job) {
                    jobs.push(job);
                }
            }
        }
        jobs
    }

    /// Returns the jobs that find the best depth of a kernel, if a figure needs it.
    fn trials(&self, kernel: &str) -> Vec<Job> {
        let is_needed = self
            .figures
            .iter()
            .any(|figure| figure.number == FIGURE_WITH_DEPTH);
        let depths = self.depths().iter().filter(|_| is_needed);
        let trial = |depth: &u32| {
            let mut options = Options::default();
            options.cut_off = CutOff::Depth(*depth);
            self.job(kernel, &options)
        };
        depths.map(trial).collect()
    }

    /// Returns the depths that are tried.
    fn depths(&self) -> &[u32] {
        match self.args.depths.is_empty() {
            true => DEPTHS,
            false => &self.args.depths,
        }
    }

    fn runs_per_trial(&self) -> usize {
        self.args.runs.min(MAX_TRIALS)
    }

    fn result(&self, figure: &Figure, kernels: &[Kernel]) -> FigureResult {
        FigureResult {
            figure: figure.number,
            title: figure.title,
            paper: figure.paper,
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
                arguments: option_arguments(&job.options).join(" "),
                seconds: measured.median_seconds(),
                all_seconds: measured.seconds.clone(),
                spread: measured.spread(),
                profiling_percent: 100.0 * measured.median_profiling(),
                early_percent: 100.0 * measured.median_early(),
            }
        });
        let on_one_rank = (figure.shows != Shows::Profiling)
            .then(|| measurements.of(&Self::on_one_rank(name)).median_seconds());
        Row {
            kernel: name.clone(),
            one_rank_seconds: on_one_rank,
            best_depth: (figure.number == FIGURE_WITH_DEPTH).then_some(*best_depth),
            cells: cells.collect(),
        }
    }

    /// Returns the command that repeats a figure.
    fn command(&self, figure: u32) -> String {
        let Args {
            kernels,
            ranks,
            runs,
            latency,
            mpirun,
            depths,
            ..
        } = self.args;
        let mut command = format!(
            "purloin-cluster figures --figure {figure} --ranks {ranks} --runs {runs} --latency {}",
            time_text(*latency)
        );
        for kernel in kernels {
            command += &format!(" --kernel {kernel}");
        }
        if figure == FIGURE_WITH_DEPTH {
            for depth in depths {
                command += &format!(" --depth {depth}");
            }
        }
        if let Some(mpirun) = mpirun {
            command += &format!(" --mpirun \"{mpirun}\"");
        }
        command
    }
}
