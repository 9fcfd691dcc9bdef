//! The report: a page in HTML with everything in it.
//!
//! The page is `report/page.html`, with its style and its script. The script draws what the data say, and computes next to
//! nothing. The data are one object in JSON. Times are in microseconds since the trace began.

use std::collections::BTreeMap;
use std::io::{Result, Write};

use crate::format::with_unit;
use crate::json::Json;
use crate::overview::{Overview, Parallelism, StealSizes, Waker};
use crate::timeline::{Interval, Span, State, Timeline};
use crate::{Baseline, PoolTrace, Trace, Verdict, What};

/// Maximum number of intervals, of steals and of spans in a page, divided by the number of pools. With more, the page would be
/// larger than 5 MB.
const MAX_INTERVALS: usize = 160_000;
const MAX_STEALS: usize = 40_000;
const MAX_SPANS: usize = 40_000;

/// The largest pool that gets a table of thieves and victims.
const MAX_MATRIX: usize = 64;

impl Trace {
    /// Writes the report.
    ///
    /// # Errors
    ///
    /// Returns the error of `to`.
    pub fn write_report(&self, to: &mut impl Write) -> Result<()> {
        let data = data(self);
        let parts = [
            ("/*STYLE*/", include_str!("report/page.css")),
            ("/*DATA*/", &data),
            ("/*SCRIPT*/", include_str!("report/page.js")),
        ];
        let mut rest = include_str!("report/page.html");
        for (mark, part) in parts {
            let (before, after) = rest
                .split_once(mark)
                .expect("the page has each mark, in this order");
            to.write_all(before.as_bytes())?;
            to.write_all(part.as_bytes())?;
            rest = after;
        }
        to.write_all(rest.as_bytes())
    }
}

/// Numbers for the names of spans.
#[derive(Default)]
struct Names {
    numbers: BTreeMap<&'static str, usize>,
    list: Vec<&'static str>,
}

impl Names {
    fn number(&mut self, name: &'static str) -> usize {
        let list = &mut self.list;
        *self.numbers.entry(name).or_insert_with(|| {
            list.push(name);
            list.len() - 1
        })
    }
}

fn data(trace: &Trace) -> String {
    let verdict = Verdict::of(trace);
    let mut names = Names::default();
    let mut json = Json::new();
    json.object(|json| {
        let mut notes = vec![
            "Joins, spawns and loops that no thief has touched are not recorded, because recording would cost more than \
             they do. So a trace does not count tasks."
                .to_string(),
        ];
        json.member("version").plain(1);
        json.member("program").string(&trace.program);
        json.member("command").string(&trace.command);
        json.member("date").string(&trace.date);
        json.member("machine").string(&trace.machine);
        json.member("duration").time(trace.end);
        if let (Some(other), Some(run)) = (trace.baseline, Baseline::of(trace)) {
            let speedup = other.duration as f64 / run.duration.max(1) as f64;
            notes.push(format!(
                "The run to compare with had {} workers and took {}. This run was {speedup:.2} times as fast.",
                other.workers,
                with_unit(other.duration)
            ));
        }
        if let Some(speed_up) = &trace.speed_up {
            json.member("speedup").object(|json| {
                json.member("work").plain(speed_up.work);
                json.member("span").plain(speed_up.span);
                json.member("measured").array(|json| {
                    for &(workers, speed_up) in &speed_up.measured {
                        json.array(|json| {
                            json.plain(workers);
                            json.number(speed_up);
                        });
                    }
                });
            });
        }
        json.member("verdict").object(|json| {
            json.member("title").string(&verdict.title);
            json.member("kind").string(verdict.kind.name());
            json.member("details").array(|json| verdict.details.iter().for_each(|detail| json.string(detail)));
        });
        json.member("held").object(|json| {
            json.member("share").number(trace.share_held());
            json.member("lost").plain(trace.lost());
        });
        json.member("states").array(|json| State::ALL.iter().for_each(|state| json.string(state.name())));
        if trace.dropped_pools > 0 {
            let dropped = trace.dropped_pools;
            notes.push(format!("{dropped} pools that ended earlier are missing: the trace keeps the newest ones."));
        }
        json.member("pools").array(|json| {
            for pool in &trace.pools {
                write_pool(json, trace, pool, &mut names, &mut notes);
            }
        });
        json.member("threads").array(|json| {
            for track in &trace.threads {
                let timeline = Timeline::of_thread(track, trace.end);
                json.object(|json| {
                    json.member("name").string(&track.name);
                    write_spans(json, &timeline, 0, &mut names);
                });
            }
        });
        json.member("names").array(|json| names.list.iter().for_each(|name| json.string(name)));
        json.member("notes").array(|json| notes.iter().for_each(|note| json.string(note)));
    });
    json.into_text()
}

fn write_pool(
    json: &mut Json,
    trace: &Trace,
    pool: &PoolTrace,
    names: &mut Names,
    notes: &mut Vec<String>,
) {
    let overview = Overview::of(pool);
    let timelines = &overview.timelines;
    let count = |of: fn(&Timeline) -> usize| timelines.iter().map(of).sum::<usize>();
    let pools = trace.pools.len();
    let resolution = resolution(timelines, MAX_INTERVALS / pools);
    if resolution > 0 {
        notes.push(format!(
            "Intervals of pool {} that are shorter than {} are merged with their neighbours.",
            pool.id,
            with_unit(resolution)
        ));
    }
    let spans = count(|timeline| timeline.spans.len());
    let shortest = shortest_kept(
        timelines
            .iter()
            .flat_map(|t| &t.spans)
            .map(|s| s.end - s.begin),
        MAX_SPANS / pools,
    );
    if shortest > 0 {
        notes.push(format!(
            "Of the {spans} spans of pool {}, the page has those that took longer than {}.",
            pool.id,
            with_unit(shortest)
        ));
    }
    json.object(|json| {
        json.member("name").string(&format!("pool {}", pool.id));
        json.member("workers").plain(pool.workers);
        json.member("begin").time(pool.begin);
        json.member("end").time(pool.end);
        json.member("tracks").array(|json| {
            for (track, timeline) in pool.tracks.iter().zip(timelines) {
                json.object(|json| {
                    json.member("name").string(&track.name);
                    json.member("spare").plain(track.is_spare);
                    json.member("totals")
                        .array(|json| timeline.totals().iter().for_each(|&total| json.time(total)));
                    json.member("intervals").array(|json| {
                        for interval in merged(&timeline.intervals, resolution) {
                            json.time(interval.begin);
                            json.time(interval.end - interval.begin);
                            json.plain(interval.state as usize);
                        }
                    });
                    write_spans(json, timeline, shortest, names);
                });
            }
        });
        write_steals(json, timelines, MAX_STEALS / pools);
        let wake_ups = overview.wake_ups(pool, &trace.threads);
        json.member("wakes").array(|json| {
            for wake in wake_ups.iter().take(MAX_STEALS) {
                json.time(wake.time);
                match wake.waker {
                    Waker::Worker(worker) => json.plain(worker),
                    Waker::Outside(_) => json.plain(-1),
                }
                json.plain(wake.woken);
                json.time(wake.delay);
            }
        });
        write_parallelism(json, &overview.parallelism);
        write_sizes(json, &overview.steal_sizes);
        write_matrix(json, pool, timelines);
        write_counts(json, pool, timelines, wake_ups.len());
    });
}

/// Writes the spans that took at least `shortest`.
fn write_spans(json: &mut Json, timeline: &Timeline, shortest: u64, names: &mut Names) {
    let is_kept = |span: &&Span| span.end - span.begin >= shortest;
    json.member("spans").array(|json| {
        let mut spans: Vec<_> = timeline.spans.iter().filter(is_kept).collect();
        spans.sort_by_key(|span| (span.begin, span.depth));
        for span in spans {
            json.time(span.begin);
            json.time(span.end - span.begin);
            json.plain(span.depth);
            json.plain(names.number(span.name));
        }
    });
}

fn write_steals(json: &mut Json, timelines: &[Timeline], most: usize) {
    let all = || {
        timelines
            .iter()
            .enumerate()
            .flat_map(|(thief, timeline)| timeline.steals.iter().map(move |steal| (thief, steal)))
    };
    let total = all().count();
    let shortest = shortest_kept(all().map(|(_, steal)| steal.run), most);
    let mut steals: Vec<_> = all().filter(|(_, steal)| steal.run >= shortest).collect();
    steals.sort_unstable_by_key(|(_, steal)| steal.time);
    json.member("steals_total").plain(total);
    json.member("steals").array(|json| {
        for (thief, steal) in steals {
            json.time(steal.time);
            json.plain(thief);
            json.plain(steal.victim);
            json.time(steal.cost);
            json.time(steal.run);
            json.plain(steal.depth);
            json.plain(steal.kind as usize);
        }
    });
}

/// Returns the least length such that at most `most` of these lengths are that long.
fn shortest_kept(lengths: impl Iterator<Item = u64>, most: usize) -> u64 {
    let mut lengths: Vec<u64> = lengths.collect();
    if lengths.len() <= most {
        return 0;
    }
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    lengths[most] + 1
}

fn write_parallelism(json: &mut Json, steps: &Parallelism) {
    json.member("parallelism").object(|json| {
        json.member("step").time(steps.step);
        let rows = [
            ("running", &steps.running),
            ("searching", &steps.searching),
            ("blocked", &steps.blocked),
            ("asleep", &steps.asleep),
        ];
        for (name, means) in rows {
            json.member(name)
                .array(|json| means.iter().for_each(|&mean| json.number(mean)));
        }
    });
}

fn write_sizes(json: &mut Json, sizes: &StealSizes) {
    json.member("steal_sizes").object(|json| {
        json.member("lowest").plain(StealSizes::lowest());
        json.member("counts")
            .array(|json| sizes.counts.iter().for_each(|count| json.plain(count)));
    });
    json.member("costly_steals").object(|json| {
        json.member("count").plain(sizes.costly);
        json.member("of").plain(sizes.steals);
    });
}

/// Writes how often which thief has stolen from which victim, unless the pool is large.
fn write_matrix(json: &mut Json, pool: &PoolTrace, timelines: &[Timeline]) {
    if pool.tracks.len() > MAX_MATRIX {
        return json.member("matrix").plain("null");
    }
    json.member("matrix").array(|json| {
        for timeline in timelines {
            let mut row = vec![0; pool.tracks.len()];
            for steal in &timeline.steals {
                if let Some(count) = row.get_mut(steal.victim as usize) {
                    *count += 1;
                }
            }
            json.array(|json| row.iter().for_each(|count| json.plain(count)));
        }
    });
}

fn write_counts(json: &mut Json, pool: &PoolTrace, timelines: &[Timeline], wake_ups: usize) {
    let events = || pool.tracks.iter().flat_map(|track| &track.events);
    let count = |what: What| events().filter(|event| event.what == what).count();
    let sum = |of: fn(&Timeline) -> u64| timelines.iter().map(of).sum::<u64>();
    json.member("counts").object(|json| {
        json.member("publications")
            .plain(sum(|timeline| timeline.publications));
        json.member("forced").plain(count(What::Forced));
        json.member("sleeps").plain(count(What::Asleep));
        json.member("calls").plain(sum(|timeline| timeline.calls));
        json.member("wakeups").plain(wake_ups);
    });
}

/// Returns the length below which intervals are merged, so that there are at most `most`: 0 if there is room
/// for all.
fn resolution(timelines: &[Timeline], most: usize) -> u64 {
    let count = |resolution| {
        let merged = timelines
            .iter()
            .map(|timeline| merged(&timeline.intervals, resolution).count());
        merged.sum::<usize>()
    };
    let mut resolution = 0;
    while count(resolution) > most {
        resolution = (2 * resolution).max(1000);
    }
    resolution
}

/// Merges runs of intervals that are shorter than `resolution`, until the run is as long as that. The merged interval has
/// the state that took most of its time.
fn merged(intervals: &[Interval], resolution: u64) -> impl Iterator<Item = Interval> {
    let mut rest = intervals;
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let (mut totals, mut end, mut taken) = ([0; State::ALL.len()], first.begin, 0);
        for interval in rest {
            let is_short = interval.end - interval.begin < resolution;
            if taken > 0 && !(is_short && end - first.begin < resolution) {
                break;
            }
            totals[interval.state as usize] += interval.end - interval.begin;
            (end, taken) = (interval.end, taken + 1);
            if !is_short {
                break;
            }
        }
        rest = &rest[taken..];
        let longest = State::ALL
            .into_iter()
            .max_by_key(|&state| totals[state as usize])?;
        Some(Interval {
            begin: first.begin,
            end,
            state: longest,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_intervals_merge_into_the_state_that_took_longest() {
        let interval = |begin, end, state| Interval { begin, end, state };
        let intervals = [
            interval(0, 100, State::Running),
            interval(100, 102, State::Searching),
            interval(102, 109, State::Stealing),
            interval(109, 112, State::Searching),
            interval(112, 300, State::Running),
        ];
        assert!(merged(&intervals, 0).eq(intervals));
        let expected = [
            interval(0, 100, State::Running),
            interval(100, 112, State::Stealing),
            interval(112, 300, State::Running),
        ];
        assert_eq!(merged(&intervals, 10).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_page_keeps_the_longest() {
        assert_eq!(shortest_kept([5, 1, 9, 3].into_iter(), 4), 0);
        let shortest = shortest_kept([5, 1, 9, 3].into_iter(), 2);
        assert!(shortest > 3 && shortest <= 5);
    }
}
