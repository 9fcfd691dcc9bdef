//! Profiles as JSON: [`Report`].

use purloin::Times;
use purloin_analysis::Span;
use purloin_command::Machine;
use purloin_measure::profile::Case;
use serde::Serialize;

/// The report of one profile.
#[derive(Serialize)]
pub struct Report {
    machine: Machine,
    kernel: &'static str,
    input: String,
    scheduler: String,
    workers: usize,
    answer: String,
    verified: bool,
    tasks: u64,
    /// How often the profile divides loops and sorts, which count as no tasks.
    splits: u64,
    /// Why the result may be meaningless.
    warning: Option<&'static str>,
    work_seconds: f64,
    spans: [SpanReport; 2],
    filtered: bool,
    serial_seconds: f64,
    serial_runs: usize,
    seconds: f64,
    runs: usize,
    speed_up: f64,
    expected_speed_up: (f64, f64),
    task_size_seconds: f64,
    /// The mean of all runs.
    steals: f64,
    steal_interval_seconds: Option<f64>,
    steal_cost_seconds: Option<f64>,
    back_outs: u64,
    /// The time of all runs together.
    wall_seconds: f64,
    /// The breakdown of each worker's time. The seconds of each worker sum to `wall_seconds`.
    breakdown: Vec<TimesReport>,
    /// The breakdown of each spare worker's time. A spare worker works only while another worker is
    /// blocked.
    spare_breakdown: Vec<TimesReport>,
}

#[derive(Serialize)]
struct SpanReport {
    stealing_cost_ns: u128,
    span_seconds: f64,
    parallelism: f64,
}

impl From<Span> for SpanReport {
    fn from(span: Span) -> Self {
        SpanReport {
            stealing_cost_ns: span.cost.as_nanos(),
            span_seconds: span.span,
            parallelism: span.parallelism,
        }
    }
}

/// The breakdown of one worker's time, in seconds.
#[derive(Serialize)]
struct TimesReport {
    application: f64,
    stealing: f64,
    searching: f64,
    application_in_join: f64,
    stealing_in_join: f64,
    searching_in_join: f64,
}

impl From<&Times> for TimesReport {
    fn from(times: &Times) -> Self {
        TimesReport {
            application: times.application.as_secs_f64(),
            stealing: times.stealing.as_secs_f64(),
            searching: times.searching.as_secs_f64(),
            application_in_join: times.application_in_join.as_secs_f64(),
            stealing_in_join: times.stealing_in_join.as_secs_f64(),
            searching_in_join: times.searching_in_join.as_secs_f64(),
        }
    }
}

impl Report {
    /// Reports the profile of a kernel.
    pub fn of(case: &Case) -> Report {
        let profile = &case.profile;
        let (workers, spares) = profile.times.split_at(profile.workers);
        Report {
            machine: Machine::this(),
            kernel: case.job.kernel(),
            input: case.job.input(),
            scheduler: case.scheduler.clone(),
            workers: profile.workers,
            answer: case.answer.clone(),
            // A wrong answer is an error, which leaves no profile.
            verified: true,
            tasks: profile.tasks,
            splits: profile.splits,
            warning: profile.warning(),
            work_seconds: profile.work,
            spans: [profile.ideal.into(), profile.burdened.into()],
            filtered: profile.is_filtered,
            serial_seconds: profile.serial.as_secs_f64(),
            serial_runs: profile.serial_runs,
            seconds: profile.parallel.as_secs_f64(),
            runs: profile.runs,
            speed_up: profile.speed_up(),
            expected_speed_up: profile.expected_speed_up(profile.workers),
            task_size_seconds: profile.task_size(),
            steals: profile.steals(),
            steal_interval_seconds: profile.steal_interval(),
            steal_cost_seconds: profile.steal_cost(),
            back_outs: profile.stats.back_outs,
            wall_seconds: profile.wall.as_secs_f64(),
            breakdown: workers.iter().map(TimesReport::from).collect(),
            spare_breakdown: spares.iter().map(TimesReport::from).collect(),
        }
    }
}
