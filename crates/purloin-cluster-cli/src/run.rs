//! Running one kernel: [`run`].

use std::hint::black_box;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use purloin_cluster::{Cluster, Options, Serial, Stats, Task};
use purloin_command::{Destination, Failure, Machine, print, progress};
use purloin_kernels::Input;

use super::args::Args;
use super::kernels::{Action, Kernel, Output, with_kernel};
use super::report::{Outcome, Report};
use super::values::{cut_off_text, grain_text};

/// Runs the kernel that the arguments name, and reports. All ranks must call this function.
pub fn run(cluster: &Cluster, args: &Args) -> Result<(), Failure> {
    let kernel = args.kernel.as_deref().unwrap_or_default();
    if args.serial && cluster.ranks() > 1 {
        return Err(Failure::usage(
            "--serial needs a job of one rank; run it without mpirun, or with mpirun -n 1",
        ));
    }
    let options = args.options()?;
    // Opens the file before the measurements, so that no result is lost because the file cannot be
    // written.
    let destination = match (cluster.rank(), &args.json) {
        (0, Some(path)) => Destination::open(path).map(Some),
        _ => Ok(None),
    };
    let is_open = cluster.all(destination.is_ok());
    let destination = destination?;
    if !is_open {
        // This rank is not rank 0. Rank 0 reports the reason.
        return Err(Failure::usage("rank 0 cannot write the report"));
    }
    let action = RunKernel {
        cluster,
        args,
        options,
    };
    let outcome = with_kernel(kernel, action)??;
    if cluster.rank() == 0 {
        if !destination
            .as_ref()
            .is_some_and(Destination::is_standard_output)
        {
            print(&outcome.text())?;
        }
        let verified = outcome.verified;
        if let Some(destination) = destination {
            let machine = Machine::this();
            destination.write(&Report { machine, outcome })?;
        }
        if !verified {
            return Err(Failure::Run(format!("the answer of {kernel} is wrong")));
        }
    }
    Ok(())
}

/// The action that runs a kernel as often as the arguments say.
struct RunKernel<'r> {
    cluster: &'r Cluster,
    args: &'r Args,
    options: Options,
}

impl Action for RunKernel<'_> {
    type Result = Result<Outcome, Failure>;

    fn perform<K: Kernel>(self, input: Input) -> Result<Outcome, Failure> {
        let bar = self.progress::<K>();
        let RunKernel {
            cluster,
            args,
            options,
        } = self;
        let failed = |error: purloin_cluster::Error| Failure::Run(error.to_string());
        let mut kernel = K::prepare(cluster, input).map_err(failed)?;
        let mut runs: Vec<(Duration, Stats)> = Vec::new();
        let mut serial_runs = Vec::new();
        let mut answer = String::new();
        let mut verified = true;
        for run in 0..args.runs {
            if run > 0 || args.serial {
                kernel.reset(cluster);
            }
            if args.serial {
                let (output, elapsed) = run_serial(&kernel);
                verified &= kernel.verify(&output);
                serial_runs.push(elapsed.as_secs_f64());
                kernel.reset(cluster);
            }
            let run = cluster
                .run(kernel.root(), kernel.context(), &options)
                .map_err(failed)?;
            verified &= kernel.verify(&run.output);
            answer = kernel.answer(&run.output);
            runs.push((run.elapsed, run.stats));
            bar.inc(1);
        }
        bar.finish_and_clear();
        let all_seconds = runs.iter().map(|run| run.0.as_secs_f64()).collect();
        runs.sort_by_key(|run| run.0);
        let (elapsed, stats) = runs[runs.len() / 2];
        serial_runs.sort_by(f64::total_cmp);
        let serial_seconds = serial_runs.get(serial_runs.len() / 2).copied();
        let seconds = elapsed.as_secs_f64();
        Ok(Outcome {
            kernel: K::DESCRIPTION.name.to_owned(),
            input: K::DESCRIPTION.inputs.text(input),
            task_bytes: size_of::<K::Task>(),
            ranks: cluster.ranks(),
            nodes: cluster.nodes(),
            steal: format!("{:?}", args.steal).to_lowercase(),
            cutoff: cut_off_text(args.cut_off),
            residual: options.residual,
            grain: grain_text(options.grain),
            profile: format!("{:?}", options.profiling).to_lowercase(),
            latency_seconds: args.latency.as_secs_f64(),
            seconds,
            all_seconds,
            serial_seconds,
            vs_serial: serial_seconds.map(|serial| seconds / serial),
            answer,
            verified,
            stats: stats.into(),
        })
    }
}

impl RunKernel<'_> {
    /// Returns the progress bar. Rank 0 shows it on standard error if standard error is a terminal.
    fn progress<K: Kernel>(&self) -> ProgressBar {
        if self.cluster.rank() > 0 {
            return ProgressBar::hidden();
        }
        let bar = progress(self.args.runs as u64, "runs");
        bar.set_message(K::DESCRIPTION.name);
        bar
    }
}

/// Runs the serial elision of a kernel, and returns its output and its time.
fn run_serial<K: Kernel>(kernel: &K) -> (Output<K>, Duration) {
    let root = black_box(kernel.root());
    let begin = Instant::now();
    let output = root.run(Serial::new(kernel.context()));
    (output, begin.elapsed())
}
