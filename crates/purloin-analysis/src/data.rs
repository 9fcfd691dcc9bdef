//! Profiles as data, for JSON and other formats.

use purloin::Times;
use purloin::trace::PathRow;
use serde::{Serialize, Serializer};

use crate::{Profile, Span};

/// The data of a profile. Times are in seconds, unless their names end with another unit.
#[derive(Serialize)]
struct Data<'p> {
    workers: usize,
    tasks: u64,
    /// How often the profile divides loops and sorts, which count as no tasks.
    splits: u64,
    /// Why the result may be meaningless.
    warning: Option<&'static str>,
    work_seconds: f64,
    spans: [SpanData; 2],
    /// The places of the second span, each before those within it.
    critical_path: Vec<PlaceData<'p>>,
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
    breakdown: Vec<TimesData>,
    /// The breakdown of each spare worker's time. A spare worker works only while another worker is
    /// blocked.
    spare_breakdown: Vec<TimesData>,
}

#[derive(Serialize)]
struct SpanData {
    stealing_cost_ns: u64,
    span_seconds: f64,
    parallelism: f64,
}

impl From<Span> for SpanData {
    fn from(span: Span) -> Self {
        SpanData {
            stealing_cost_ns: span.cost.as_nanos() as u64,
            span_seconds: span.span,
            parallelism: span.parallelism,
        }
    }
}

/// A place on the critical path, with the places within.
#[derive(Serialize)]
struct PlaceData<'p> {
    name: &'p str,
    /// Number of places around it.
    depth: usize,
    span_seconds: f64,
    work_seconds: f64,
}

impl<'p> From<PathRow<'p>> for PlaceData<'p> {
    fn from(row: PathRow<'p>) -> Self {
        PlaceData {
            name: row.name,
            depth: row.depth,
            span_seconds: row.time,
            work_seconds: row.work,
        }
    }
}

/// The breakdown of one worker's time, in seconds.
#[derive(Serialize)]
struct TimesData {
    application: f64,
    stealing: f64,
    searching: f64,
    application_in_join: f64,
    stealing_in_join: f64,
    searching_in_join: f64,
}

impl From<&Times> for TimesData {
    fn from(times: &Times) -> Self {
        TimesData {
            application: times.application.as_secs_f64(),
            stealing: times.stealing.as_secs_f64(),
            searching: times.searching.as_secs_f64(),
            application_in_join: times.application_in_join.as_secs_f64(),
            stealing_in_join: times.stealing_in_join.as_secs_f64(),
            searching_in_join: times.searching_in_join.as_secs_f64(),
        }
    }
}

/// The members that `purloin profile --json` writes, without those of the machine and the kernel.
impl Serialize for Profile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (workers, spares) = self.times.split_at(self.workers.min(self.times.len()));
        Data {
            workers: self.workers,
            tasks: self.tasks,
            splits: self.splits,
            warning: self.warning(),
            work_seconds: self.work,
            spans: [self.ideal.into(), self.burdened.into()],
            critical_path: self
                .critical_path
                .rows()
                .into_iter()
                .map(PlaceData::from)
                .collect(),
            filtered: self.is_filtered,
            serial_seconds: self.serial.as_secs_f64(),
            serial_runs: self.serial_runs,
            seconds: self.parallel.as_secs_f64(),
            runs: self.runs,
            speed_up: self.speed_up(),
            expected_speed_up: self.expected_speed_up(self.workers),
            task_size_seconds: self.task_size(),
            steals: self.steals(),
            steal_interval_seconds: self.steal_interval(),
            steal_cost_seconds: self.steal_cost(),
            back_outs: self.stats.back_outs,
            wall_seconds: self.wall.as_secs_f64(),
            breakdown: workers.iter().map(TimesData::from).collect(),
            spare_breakdown: spares.iter().map(TimesData::from).collect(),
        }
        .serialize(serializer)
    }
}
