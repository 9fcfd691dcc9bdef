//! Chrome's format for trace events, in JSON.
//!
//! Source: "Trace Event Format", the description that Chrome's and Perfetto's developers publish. The page is at
//! <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>.
//!
//! Each pool is a process, and each worker has two threads: one for its states, and one for the stolen tasks and the
//! spans, which nest. An arrow leads from the victim to the thief, and from a thread to the worker that it wakes.

use std::io::{Result, Write};

use crate::baseline::{self, Baseline};
use crate::json::Json;
use crate::timeline::{StealKind, Timeline};
use crate::{Overview, PoolTrace, Trace, Track, Verdict, Waker};

/// The number of the process with the threads outside of all pools.
const OUTSIDE: u64 = 0;

impl Trace {
    /// Writes the trace in Chrome's format, one event a line.
    ///
    /// # Errors
    ///
    /// Returns the error of `to`.
    pub fn write_events(&self, to: &mut impl Write) -> Result<()> {
        let mut head = Json::new();
        head.object(|json| {
            json.member("program").string(&self.program);
            json.member("command").string(&self.command);
            json.member("machine").string(&self.machine);
            json.member("date").string(&self.date);
            json.member("verdict").string(&Verdict::of(self).title);
            if let Some(run) = Baseline::of(self) {
                json.member(baseline::WORKERS).plain(run.workers);
                json.member(baseline::DURATION).plain(run.duration);
                json.member(baseline::BUSY).plain(run.busy);
            }
            json.member("shareHeld").number(self.share_held());
            json.member("eventsLost").plain(self.lost());
            json.member("poolsDropped").plain(self.dropped_pools);
        });
        write!(
            to,
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{},\"traceEvents\":[",
            head.into_text()
        )?;
        let mut events = Events {
            to,
            is_first: true,
            flows: 0,
        };
        for pool in &self.pools {
            events.pool(pool, &self.threads)?;
        }
        if !self.threads.is_empty() {
            events.name("process_name", OUTSIDE, 0, "threads outside of the pools")?;
        }
        for (thread, track) in self.threads.iter().enumerate() {
            events.name("thread_name", OUTSIDE, thread, &track.name)?;
            let timeline = Timeline::of_thread(track, self.end);
            events.spans(OUTSIDE, thread, &timeline)?;
        }
        writeln!(to, "\n]}}")
    }
}

/// A time on a thread of a process.
type Point = (u64, usize, u64);

struct Events<'w, W: Write> {
    to: &'w mut W,
    is_first: bool,
    /// Number of arrows.
    flows: u64,
}

impl<W: Write> Events<'_, W> {
    /// Writes an event of this kind ("phase") on a thread, with more members.
    fn event(
        &mut self,
        phase: &str,
        process: u64,
        thread: usize,
        name: &str,
        members: impl FnOnce(&mut Json),
    ) -> Result<()> {
        let mut json = Json::new();
        json.object(|json| {
            json.member("ph").string(phase);
            json.member("pid").plain(process);
            json.member("tid").plain(thread);
            json.member("name").string(name);
            members(json);
        });
        let comma = if std::mem::take(&mut self.is_first) {
            ""
        } else {
            ","
        };
        write!(self.to, "{comma}\n{}", json.into_text())
    }

    fn name(&mut self, what: &str, process: u64, thread: usize, name: &str) -> Result<()> {
        self.event("M", process, thread, what, |json| {
            json.member("args")
                .object(|json| json.member("name").string(name));
        })
    }

    fn slice(
        &mut self,
        process: u64,
        thread: usize,
        name: &str,
        (begin, end): (u64, u64),
        arguments: impl FnOnce(&mut Json),
    ) -> Result<()> {
        self.event("X", process, thread, name, |json| {
            json.member("ts").time(begin);
            json.member("dur").time(end.saturating_sub(begin));
            json.member("args").object(arguments);
        })
    }

    /// Writes an arrow from one thread to another.
    fn arrow(&mut self, name: &str, from: Point, to: Point) -> Result<()> {
        self.flows += 1;
        let id = self.flows;
        for (phase, (process, thread, time)) in [("s", from), ("f", to)] {
            self.event(phase, process, thread, name, |json| {
                json.member("cat").string(name);
                json.member("id").plain(id);
                json.member("bp").string("e");
                json.member("ts").time(time);
            })?;
        }
        Ok(())
    }

    fn pool(&mut self, pool: &PoolTrace, threads: &[Track]) -> Result<()> {
        let process = pool.id;
        let overview = Overview::of(pool);
        let name = format!("pool {} ({} workers)", pool.id, pool.workers);
        self.name("process_name", process, 0, &name)?;
        for (worker, (track, timeline)) in pool.tracks.iter().zip(&overview.timelines).enumerate() {
            let (states, tasks) = (2 * worker, 2 * worker + 1);
            self.name("thread_name", process, states, &track.name)?;
            self.name(
                "thread_name",
                process,
                tasks,
                &format!("{}: tasks", track.name),
            )?;
            for interval in &timeline.intervals {
                let times = (interval.begin, interval.end);
                self.slice(process, states, interval.state.name(), times, |_| ())?;
            }
            for steal in &timeline.steals {
                let times = (steal.time, steal.time + steal.run);
                self.slice(process, tasks, "stolen task", times, |json| {
                    json.member("victim").plain(steal.victim);
                    json.member("depth").plain(steal.depth);
                    json.member("steal took, in us").time(steal.cost);
                    json.member("kind").string(match steal.kind {
                        StealKind::Public => "public task",
                        StealKind::Forced => "forced",
                        StealKind::Leapfrog => "leapfrog",
                    });
                })?;
                let begin = steal.time.saturating_sub(steal.cost);
                let from = (process, 2 * steal.victim as usize, begin);
                self.arrow("steal", from, (process, tasks, steal.time))?;
            }
            self.spans(process, tasks, timeline)?;
        }
        let steps = &overview.parallelism;
        for (name, means) in steps.rows() {
            let mut last = None;
            for (place, &mean) in means.iter().enumerate() {
                if last.replace(mean) == Some(mean) {
                    continue;
                }
                self.event("C", process, 0, name, |json| {
                    json.member("ts")
                        .time(pool.begin + place as u64 * steps.step);
                    json.member("args")
                        .object(|json| json.member("workers").number(mean));
                })?;
            }
        }
        for wake in overview.wake_ups(pool, threads) {
            let to = (pool.id, 2 * wake.woken, wake.time + wake.delay);
            let from = match wake.waker {
                Waker::Worker(waker) => (pool.id, 2 * waker, wake.time),
                Waker::Outside(thread) => (OUTSIDE, thread, wake.time),
            };
            self.arrow("wake-up", from, to)?;
        }
        Ok(())
    }

    fn spans(&mut self, process: u64, thread: usize, timeline: &Timeline) -> Result<()> {
        for span in &timeline.spans {
            self.slice(process, thread, span.name, (span.begin, span.end), |_| ())?;
        }
        Ok(())
    }
}
