//! The report: a page in HTML with everything in it.
//!
//! The page is `report/page.html`, with its style and its script. The script draws what the data say, and computes
//! next to nothing. The data are one object in JSON. Times are in microseconds since the trace began.

use std::collections::BTreeMap;
use std::io::{Result, Write};

use crate::format::{with_unit, workers};
use crate::json::Json;
use crate::overview::{Overview, Parallelism, StealSizes, WakeUp};
use crate::timeline::{Interval, Span, State, Timeline};
use crate::{Baseline, PoolTrace, Trace, Verdict, What};

/// Maximum number of intervals, of steals and of spans in a page, over all pools. With more, the page could be larger
/// than 5 MB: in a run of some seconds, an interval takes 16 bytes, a steal 38 and a span 24.
const MAX_INTERVALS: usize = 140_000;
const MAX_STEALS: usize = 35_000;
const MAX_SPANS: usize = 35_000;

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
            ("/*STYLE*/", crate::STYLE),
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
        json.member("version").plain(1);
        json.member("program").string(&trace.program);
        json.member("command").string(&trace.command);
        json.member("date").string(&trace.date);
        json.member("machine").string(&trace.machine);
        json.member("duration").time(trace.end);
        if let Some(speed_up) = &trace.speed_up {
            json.member("speedup").object(|json| {
                json.member("work").plain(speed_up.work);
                json.member("span").plain(speed_up.span);
                for (name, points) in [
                    ("measured", &speed_up.measured),
                    ("predicted", &speed_up.predicted),
                ] {
                    json.member(name).array(|json| {
                        for &(workers, speed_up) in points {
                            json.array(|json| {
                                json.plain(workers);
                                json.number(speed_up);
                            });
                        }
                    });
                }
            });
        }
        if let Some(path) = &trace.critical_path {
            // The name and the depth of each place, and its time and its work in microseconds.
            json.member("path").array(|json| {
                for row in path.rows() {
                    json.array(|json| {
                        json.string(row.name);
                        json.plain(row.depth);
                        json.number(row.time * 1e6);
                        json.number(row.work * 1e6);
                    });
                }
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
        let overviews: Vec<_> = trace.pools.iter().map(Overview::of).collect();
        let threads = trace.threads.iter();
        let threads: Vec<_> = threads.map(|track| Timeline::of_thread(track, trace.end)).collect();
        let mut selection = Selection::of(&overviews, &threads);
        let mut notes = vec![
            "Joins, spawns and loops that no thief has touched are not recorded, because recording would cost more than \
             they do. So a trace does not count tasks."
                .to_string(),
        ];
        if let (Some(other), Some(run)) = (trace.baseline, Baseline::of(trace)) {
            let speedup = other.duration as f64 / run.duration.max(1) as f64;
            notes.push(format!(
                "The baseline run had {} and took {}. This run was {speedup:.2} times as fast.",
                workers(other.workers),
                with_unit(other.duration)
            ));
        }
        if trace.dropped_pools > 0 {
            let dropped = trace.dropped_pools;
            notes.push(format!("Pools that are missing because many have ended since: {dropped}."));
        }
        notes.extend(selection.notes());
        json.member("pools").array(|json| {
            for (pool, overview) in trace.pools.iter().zip(&overviews) {
                write_pool(json, trace, pool, overview, &mut selection, &mut names);
            }
        });
        json.member("threads").array(|json| {
            for (track, timeline) in trace.threads.iter().zip(&threads) {
                json.object(|json| {
                    json.member("name").string(&track.name);
                    write_spans(json, timeline, &mut selection.spans, &mut names);
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
    overview: &Overview,
    selection: &mut Selection,
    names: &mut Names,
) {
    let timelines = &overview.timelines;
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
                    write_intervals(json, &timeline.intervals, selection.resolution);
                    write_spans(json, timeline, &mut selection.spans, names);
                });
            }
        });
        write_steals(json, timelines, &mut selection.steals);
        let wake_ups = overview.wake_ups(pool, &trace.threads);
        write_delays(json, &wake_ups);
        write_parallelism(json, &overview.parallelism);
        write_sizes(json, &overview.steal_sizes);
        write_matrix(json, pool, timelines);
        write_counts(json, pool, timelines, wake_ups.len());
    });
}

/// Writes the intervals. If they are merged, they are much longer than a microsecond, and whole microseconds will do.
fn write_intervals(json: &mut Json, intervals: &[Interval], resolution: u64) {
    let unit = if resolution > 0 { 1000 } else { 1 };
    json.member("intervals").array(|json| {
        for interval in merged(intervals, resolution) {
            let (begin, end) = (interval.begin / unit * unit, interval.end / unit * unit);
            if begin < end {
                json.time(begin);
                json.time(end - begin);
                json.plain(interval.state as usize);
            }
        }
    });
}

fn write_spans(json: &mut Json, timeline: &Timeline, longest: &mut Longest, names: &mut Names) {
    let spans = timeline.spans.iter();
    let mut spans: Vec<_> = spans
        .filter(|span| longest.keeps(span_length(span)))
        .collect();
    spans.sort_by_key(|span| (span.begin, span.depth));
    json.member("spans").array(|json| {
        for span in spans {
            json.time(span.begin);
            json.time(span_length(span));
            json.plain(span.depth);
            json.plain(names.number(span.name));
        }
    });
}

fn write_steals(json: &mut Json, timelines: &[Timeline], longest: &mut Longest) {
    let all = timelines.iter().enumerate().flat_map(|(thief, timeline)| {
        let steals = timeline.steals.iter();
        steals.map(move |steal| (thief, steal))
    });
    let mut total = 0;
    let mut steals: Vec<_> = all
        .inspect(|_| total += 1)
        .filter(|(_, steal)| longest.keeps(steal.run))
        .collect();
    steals.sort_unstable_by_key(|(thief, steal)| (steal.time, *thief));
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

/// Writes how long woken workers took until they ran.
fn write_delays(json: &mut Json, wakes: &[WakeUp]) {
    let mut delays: Vec<u64> = wakes.iter().map(|wake| wake.delay).collect();
    delays.sort_unstable();
    let Some(&slowest) = delays.last() else {
        return json.member("delays").plain("null");
    };
    json.member("delays").object(|json| {
        json.member("median").time(delays[delays.len() / 2]);
        json.member("slowest").time(slowest);
    });
}

fn write_parallelism(json: &mut Json, steps: &Parallelism) {
    json.member("parallelism").object(|json| {
        json.member("step").time(steps.step);
        for (name, means) in steps.rows() {
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
    let sum = |of: fn(&Timeline) -> usize| timelines.iter().map(of).sum::<usize>();
    json.member("counts").object(|json| {
        json.member("publications")
            .plain(sum(|timeline| timeline.publications.len()));
        json.member("forced").plain(count(What::Forced));
        json.member("sleeps").plain(count(What::Asleep));
        json.member("calls")
            .plain(sum(|timeline| timeline.calls.len()));
        json.member("wakeups").plain(wake_ups);
    });
}

/// Which events of a large trace the page has.
struct Selection {
    /// Shorter intervals are merged. 0 if the page has room for all.
    resolution: u64,
    spans: Longest,
    steals: Longest,
}

impl Selection {
    fn of(overviews: &[Overview], threads: &[Timeline]) -> Selection {
        let workers = || overviews.iter().flat_map(|overview| &overview.timelines);
        let count = |resolution| {
            let merged = workers().map(|timeline| merged(&timeline.intervals, resolution).count());
            merged.sum::<usize>()
        };
        let mut resolution = 0;
        while count(resolution) > MAX_INTERVALS {
            resolution = (2 * resolution).max(1000);
        }
        let spans = workers()
            .chain(threads)
            .flat_map(|timeline| &timeline.spans);
        let steals = workers().flat_map(|timeline| &timeline.steals);
        Selection {
            resolution,
            spans: Longest::of(spans.map(span_length), MAX_SPANS),
            steals: Longest::of(steals.map(|steal| steal.run), MAX_STEALS),
        }
    }

    /// Says what is missing. The page itself counts the steals.
    fn notes(&self) -> impl Iterator<Item = String> {
        let resolution = with_unit(self.resolution);
        let merged = format!(
            "The page merges intervals that are shorter than {resolution} with their neighbours."
        );
        let spans = self.spans.all;
        let dropped = format!("Of the {spans} spans, the page has the {MAX_SPANS} longest ones.");
        let merged = (self.resolution > 0).then_some(merged);
        let dropped = (spans > MAX_SPANS).then_some(dropped);
        merged.into_iter().chain(dropped)
    }
}

/// Chooses the longest spans or steals. Of those with the same length, it chooses the first ones.
struct Longest {
    /// Number of spans or steals to choose from.
    all: usize,
    /// The least length that is kept.
    shortest: u64,
    /// Number of spans or steals of exactly this length that are still to be kept.
    ties: usize,
}

impl Longest {
    fn of(lengths: impl Iterator<Item = u64>, most: usize) -> Longest {
        let mut lengths: Vec<u64> = lengths.collect();
        let all = lengths.len();
        if all <= most {
            return Longest {
                all,
                shortest: 0,
                ties: all,
            };
        }
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        let shortest = lengths[most - 1];
        let longer = lengths.partition_point(|&length| length > shortest);
        Longest {
            all,
            shortest,
            ties: most - longer,
        }
    }

    /// Returns whether the next span or steal, of this length, is kept.
    fn keeps(&mut self, length: u64) -> bool {
        let is_tie = length == self.shortest && self.ties > 0;
        self.ties -= usize::from(is_tie);
        length > self.shortest || is_tie
    }
}

fn span_length(span: &Span) -> u64 {
    span.end - span.begin
}

/// Merges runs of intervals that are shorter than `resolution`, until the run is as long as that. The merged interval
/// has the state that took most of its time.
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
        let kept = |lengths: &[u64], most| -> Vec<u64> {
            let mut longest = Longest::of(lengths.iter().copied(), most);
            let kept = lengths.iter().filter(|&&length| longest.keeps(length));
            kept.copied().collect()
        };
        assert_eq!(kept(&[5, 0, 9, 3], 4), [5, 0, 9, 3]);
        assert_eq!(kept(&[5, 0, 9, 3], 2), [5, 9]);
        // Clocks that tick every 41 ns give many tasks the same length.
        assert_eq!(kept(&[41, 82, 41, 41], 3), [41, 82, 41]);
    }
}
