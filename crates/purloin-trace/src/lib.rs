//! Traces of the library `purloin`: the events of a run, and their evaluation.
//!
//! The library records [events](Event) in its workers, and collects them in a [`Trace`]. This crate knows nothing of
//! pools. It turns the events of a worker into a [`Timeline`]: what the worker did and when, its steals, the spans that
//! the program has named. From the timelines of a pool it makes an [`Overview`], and from that a [`Verdict`] in one
//! sentence. A trace can be written in two formats:
//!
//! - [`Trace::write_events`]: Chrome's trace events as JSON, for <https://ui.perfetto.dev> and `chrome://tracing`;
//! - [`Trace::write_report`]: a page in HTML that needs nothing else.
//!
//! [`Display`](std::fmt::Display) prints the verdict and a table.
//!
//! [`live`] has what a running program tells `purloin top`.

mod baseline;
mod chrome;
mod critical_path;
mod event;
pub mod format;
mod json;
pub mod live;
mod overview;
mod report;
mod table;
mod timeline;
mod verdict;

pub use baseline::Baseline;
pub use critical_path::{CriticalPath, PathPlace, PathRow};
pub use event::{Activity, Event, What};
pub use overview::{Overview, Parallelism, StealSizes, WakeUp, Waker};
pub use timeline::{Interval, Span, State, Steal, StealKind, Timeline, Wake};
pub use verdict::{Kind, Verdict};

/// The style sheet of the report, for other pages that look like it.
pub const STYLE: &str = include_str!("report/page.css");

/// The trace of a program, as its workers have recorded it. All times are in nanoseconds since the trace began.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The name of the program.
    pub program: String,
    /// The command line.
    pub command: String,
    /// The machine, in a few words.
    pub machine: String,
    /// Number of cores that the program could use.
    pub cores: usize,
    /// When the trace was collected, for people.
    pub date: String,
    /// The end of the trace.
    pub end: u64,
    /// The pools, in the order in which they were built.
    pub pools: Vec<PoolTrace>,
    /// Number of pools that have ended and of which nothing is kept, because many have ended since.
    pub dropped_pools: usize,
    /// How fast the program could be, if that was measured.
    pub speed_up: Option<SpeedUp>,
    /// Where the span is, if that was measured.
    pub critical_path: Option<CriticalPath>,
    /// Another run of the program, to compare with.
    pub baseline: Option<Baseline>,
    /// Threads outside of all pools that have recorded anything.
    pub threads: Vec<Track>,
}

/// How fast a program could be, according to its work and its span.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpeedUp {
    /// The time of all tasks, in seconds.
    pub work: f64,
    /// The time of the longest chain of tasks that wait for each other, in seconds.
    pub span: f64,
    /// Numbers of workers, each with the measured speed-up.
    pub measured: Vec<(usize, f64)>,
    /// Numbers of workers, each with the predicted speed-up.
    pub predicted: Vec<(usize, f64)>,
}

/// The trace of a pool.
#[derive(Clone, Debug, Default)]
pub struct PoolTrace {
    /// The number of the pool in the program.
    pub id: u64,
    /// Number of workers, without spare workers.
    pub workers: usize,
    /// When the pool was built.
    pub begin: u64,
    /// When the pool ended, or the end of the trace.
    pub end: u64,
    /// The begin and the end of the program, if the trace covers all of it and this is the only pool. Then the time
    /// before the pool was built counts, too.
    pub whole_program: Option<(u64, u64)>,
    /// The workers, with the spare workers that were started.
    pub tracks: Vec<Track>,
}

/// The events of a thread.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// The name of the worker or of the thread.
    pub name: String,
    /// Whether this is a spare worker.
    pub is_spare: bool,
    /// The events, oldest first. The oldest ones may be lost.
    pub events: Vec<Event>,
    /// Number of events that newer ones have overwritten.
    pub lost: u64,
    /// The thread's use of processors, if the system reports it.
    pub processor: Option<ProcessorTime>,
}

/// A thread's use of processors, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct ProcessorTime {
    /// The time in which the thread ran on a processor.
    pub ran: u64,
    /// The time in which the thread could have run, and other threads had the processors.
    pub waited: u64,
}

impl PoolTrace {
    /// Returns the time from which the activity of each worker is known, if events are lost.
    pub(crate) fn held_from(&self) -> Option<u64> {
        let cut = self.tracks.iter().filter(|track| track.lost > 0);
        let is_activity = |event: &&Event| matches!(event.what, What::Begins(_));
        let begins = cut.filter_map(|track| Some(track.events.iter().find(is_activity)?.time));
        begins.max()
    }
}

impl Track {
    /// Drops the events before `begin`, from which the times then count. The activity of the worker at this time stays
    /// known.
    fn cut(&mut self, begin: u64) {
        let first = self.events.partition_point(|event| event.time < begin);
        let last = |is_one: fn(&What) -> bool| {
            let before = self.events[..first].iter().rev();
            before.map(|event| event.what).find(is_one)
        };
        let activity = last(|what| matches!(what, What::Begins(_)));
        let sleep = last(|what| matches!(what, What::Asleep | What::Awake));
        let known = activity
            .into_iter()
            .chain(sleep.filter(|what| *what == What::Asleep));
        let known: Vec<_> = known.map(|what| Event { time: begin, what }).collect();
        if first > 0 {
            self.lost = 0;
        }
        self.events.splice(..first, known);
        for event in &mut self.events {
            event.time -= begin;
            if let What::Stole { since } = &mut event.what {
                *since = since.saturating_sub(begin);
            }
        }
        // The system reports it only for the whole life of the thread.
        self.processor = None;
    }
}

impl Trace {
    /// Returns the pool whose threads used the processors for the longest time. Where the system does not tell, it is
    /// the pool whose workers ran the program for the longest time.
    pub fn main_pool(&self) -> Option<(&PoolTrace, Overview)> {
        let overviews = self.pools.iter().map(|pool| (pool, Overview::of(pool)));
        overviews.max_by_key(|(_, overview)| match overview.processor {
            Some(processor) => processor.ran.min(overview.busy()),
            None => overview.busy(),
        })
    }

    /// Returns the part of the trace from `begin` on, as if the trace had begun then.
    pub fn after(mut self, begin: u64) -> Trace {
        let since = |time: u64| time.saturating_sub(begin);
        self.end = since(self.end);
        for pool in &mut self.pools {
            (pool.begin, pool.end) = (since(pool.begin), since(pool.end));
            pool.whole_program = pool
                .whole_program
                .map(|(first, end)| (since(first), since(end)));
            pool.tracks.iter_mut().for_each(|track| track.cut(begin));
        }
        self.threads.iter_mut().for_each(|track| track.cut(begin));
        self
    }

    /// Returns the number of events that were overwritten, over all threads.
    pub fn lost(&self) -> u64 {
        let tracks = self.pools.iter().flat_map(|pool| &pool.tracks);
        tracks.chain(&self.threads).map(|track| track.lost).sum()
    }

    /// Returns the share of its life that the trace holds of each pool, at least: from the time from which the
    /// activity of each worker is known.
    pub fn share_held(&self) -> f64 {
        let share = |pool: &PoolTrace| {
            let held = pool
                .end
                .saturating_sub(pool.held_from().unwrap_or(pool.begin));
            held as f64 / (pool.end - pool.begin).max(1) as f64
        };
        self.pools.iter().map(share).fold(1.0, f64::min)
    }
}
