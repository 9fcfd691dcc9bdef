//! What the workers of a pool did together.

use crate::timeline::{Interval, State, Steal, Timeline};
use crate::{PoolTrace, ProcessorTime, Track};

/// Maximum number of steps of a [`Parallelism`].
const STEPS: u64 = 600;

/// The length of the shortest class of [`StealSizes`], in nanoseconds.
const LOWEST: u64 = 64;

/// Number of classes of [`StealSizes`]. The last one has everything from 2³⁹ nanoseconds on, nine minutes.
const CLASSES: usize = 34;

/// What the workers of a pool did together.
#[derive(Clone, Debug)]
pub struct Overview {
    /// Number of workers, without spare workers.
    pub workers: usize,
    /// What each worker did.
    pub timelines: Vec<Timeline>,
    /// The time that counts, in nanoseconds: the life of the program if the trace covers it, or else the time from
    /// the first to the last moment at which a worker ran the program. It begins later if events are lost.
    pub window: (u64, u64),
    /// The time in each state from the first to the last of these, summed over all workers but without idle spare
    /// workers.
    pub totals: [u64; State::ALL.len()],
    /// The time within the window in which this number of workers ran the program.
    pub running: Vec<u64>,
    /// The longest time within the window in which no worker ran the program.
    pub longest_idle: Option<(u64, u64)>,
    /// The longest time within the window in which only one worker ran the program, and the worker.
    pub longest_alone: Option<((u64, u64), usize)>,
    /// Number of calls and jobs from outside.
    pub calls: u64,
    /// What the system says about all workers.
    pub processor: Option<ProcessorTime>,
    /// How many workers were in which state over the time.
    pub parallelism: Parallelism,
    /// The sizes of stolen tasks.
    pub steal_sizes: StealSizes,
}

/// A wake-up of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeUp {
    /// When the worker was woken.
    pub time: u64,
    /// The thread that woke it.
    pub waker: Waker,
    /// The worker.
    pub woken: usize,
    /// The time until the worker ran.
    pub delay: u64,
}

/// A thread that wakes workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waker {
    /// A worker of the same pool.
    Worker(usize),
    /// The thread outside of the pool with this index in [`Trace::threads`](crate::Trace::threads).
    Outside(usize),
}

/// The mean numbers of workers in some states, in steps of equal length over the life of the pool.
#[derive(Clone, Debug, Default)]
pub struct Parallelism {
    /// The length of a step, in nanoseconds.
    pub step: u64,
    /// Workers that run the program.
    pub running: Vec<f64>,
    /// Workers that search or steal.
    pub searching: Vec<f64>,
    /// Blocked workers that run nothing.
    pub blocked: Vec<f64>,
    /// Sleeping workers.
    pub asleep: Vec<f64>,
}

/// How long stolen tasks ran, in classes whose lengths double.
#[derive(Clone, Debug, Default)]
pub struct StealSizes {
    /// Number of tasks that ran for less than [`Self::lowest`] times two to the power of the index plus one.
    pub counts: Vec<u64>,
    /// Number of steals.
    pub steals: u64,
    /// Number of steals that took longer than their task ran.
    pub costly: u64,
    /// The median of the tasks' times, in nanoseconds.
    pub median: u64,
    /// The median of what a steal took, in nanoseconds.
    pub median_cost: u64,
}

impl StealSizes {
    /// Returns the lower end of the first class, in nanoseconds. Shorter tasks are in this class, too.
    pub fn lowest() -> u64 {
        LOWEST
    }

    fn of<'t>(steals: impl Iterator<Item = &'t Steal>) -> StealSizes {
        let mut sizes = StealSizes::default();
        let (mut runs, mut costs) = (Vec::new(), Vec::new());
        for steal in steals {
            let class = (steal.run / LOWEST).max(1).ilog2() as usize;
            let class = class.min(CLASSES - 1);
            if sizes.counts.len() <= class {
                sizes.counts.resize(class + 1, 0);
            }
            sizes.counts[class] += 1;
            sizes.costly += u64::from(steal.cost > steal.run);
            runs.push(steal.run);
            costs.push(steal.cost);
        }
        sizes.steals = runs.len() as u64;
        (sizes.median, sizes.median_cost) = (median(runs), median(costs));
        sizes
    }
}

fn median(mut values: Vec<u64>) -> u64 {
    if values.is_empty() {
        return 0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable(middle).1
}

fn is_running(state: State) -> bool {
    matches!(state, State::Running | State::RunningWhileBlocked)
}

impl Overview {
    /// Returns what the workers of `pool` did.
    pub fn of(pool: &PoolTrace) -> Overview {
        let tracks = &pool.tracks;
        let mut timelines: Vec<_> = tracks
            .iter()
            .map(|track| Timeline::of(pool, track))
            .collect();
        // Before this time, a part of the workers would seem to do nothing.
        let held = pool.held_from().unwrap_or(0);
        timelines.iter_mut().for_each(|timeline| timeline.cut(held));
        let whole = pool.whole_program;
        let whole = whole.map(|(begin, end)| (begin.max(held), end));
        let Running {
            times: running,
            window,
            longest_idle,
            longest_alone,
        } = Running::count(&timelines, whole);
        let mut totals = [0; State::ALL.len()];
        for (timeline, track) in timelines.iter().zip(tracks) {
            for interval in &timeline.intervals {
                let (begin, end) = (interval.begin.max(window.0), interval.end.min(window.1));
                let is_idle = matches!(interval.state, State::Searching | State::Asleep);
                if begin < end && !(track.is_spare && is_idle) {
                    totals[interval.state as usize] += end - begin;
                }
            }
        }
        // It is about the whole life of the threads.
        let is_whole = tracks.iter().all(|track| track.lost == 0);
        let processor = tracks
            .iter()
            .map(|track| track.processor.filter(|_| is_whole));
        let processor = processor.reduce(|a, b| {
            let (a, b) = (a?, b?);
            Some(ProcessorTime {
                ran: a.ran + b.ran,
                waited: a.waited + b.waited,
            })
        });
        Overview {
            workers: pool.workers,
            window,
            totals,
            running,
            longest_idle,
            longest_alone,
            calls: timelines
                .iter()
                .map(|timeline| timeline.calls.len() as u64)
                .sum(),
            processor: processor.flatten(),
            parallelism: Parallelism::of(pool, &timelines),
            steal_sizes: StealSizes::of(timelines.iter().flat_map(|timeline| &timeline.steals)),
            timelines,
        }
    }

    /// Returns the time in this state within the window, over all workers.
    pub fn total(&self, state: State) -> u64 {
        self.totals[state as usize]
    }

    /// Returns the time in which workers ran the program, over all workers.
    pub fn busy(&self) -> u64 {
        self.total(State::Running) + self.total(State::RunningWhileBlocked)
    }

    /// Returns the length of the window.
    pub fn duration(&self) -> u64 {
        self.window.1 - self.window.0
    }

    /// Returns the share of the workers' time within the window in which they ran the program.
    pub fn use_of_workers(&self) -> f64 {
        self.busy() as f64 / (self.workers as u64 * self.duration()).max(1) as f64
    }

    /// Returns the share of the window in which at most this number of workers ran the program.
    pub fn share_with_at_most(&self, workers: usize) -> f64 {
        let time: u64 = self.running.iter().take(workers + 1).sum();
        time as f64 / self.duration().max(1) as f64
    }

    /// Returns the wake-ups of workers of `pool`, which this is, by its workers and by threads outside.
    pub fn wake_ups(&self, pool: &PoolTrace, threads: &[Track]) -> Vec<WakeUp> {
        let outside: Vec<_> = threads
            .iter()
            .map(|track| Timeline::of_thread(track, pool.end))
            .collect();
        let workers = self
            .timelines
            .iter()
            .enumerate()
            .map(|(at, timeline)| (Waker::Worker(at), timeline));
        let outside = outside
            .iter()
            .enumerate()
            .map(|(at, timeline)| (Waker::Outside(at), timeline));
        let mut found = Vec::new();
        for (waker, timeline) in workers.chain(outside) {
            for wake in timeline
                .wakes
                .iter()
                .filter(|wake| wake.pool == pool.id as u32)
            {
                let woken = wake.worker as usize;
                let Some(awakenings) = self.timelines.get(woken).map(|woken| &woken.awakenings)
                else {
                    continue;
                };
                let next = awakenings.partition_point(|&time| time < wake.time);
                if let Some(time) = awakenings.get(next) {
                    let delay = time - wake.time;
                    found.push(WakeUp {
                        time: wake.time,
                        waker,
                        woken,
                        delay,
                    });
                }
            }
        }
        found.sort_unstable_by_key(|wake| wake.time);
        found
    }
}

/// How many workers ran the program. [`Overview`] has the same fields.
#[derive(Default)]
struct Running {
    times: Vec<u64>,
    window: (u64, u64),
    longest_idle: Option<(u64, u64)>,
    longest_alone: Option<((u64, u64), usize)>,
}

/// Returns the longer of two times.
fn longer(a: Option<(u64, u64)>, b: (u64, u64)) -> (u64, u64) {
    match a {
        Some(a) if a.1 - a.0 >= b.1 - b.0 => a,
        _ => b,
    }
}

impl Running {
    /// Counts within `whole`, or else from the first to the last time at which a worker ran the program.
    fn count(timelines: &[Timeline], whole: Option<(u64, u64)>) -> Running {
        let mut changes: Vec<(u64, bool, usize)> = Vec::new();
        for (worker, timeline) in timelines.iter().enumerate() {
            for interval in timeline
                .intervals
                .iter()
                .filter(|interval| is_running(interval.state))
            {
                changes.push((interval.begin, true, worker));
                changes.push((interval.end, false, worker));
            }
        }
        // Ends before begins: a worker that changes from one running state to the other counts once.
        changes.sort_unstable();
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
            return Running::default();
        };
        let window = whole.unwrap_or((first.0, last.0));
        let (mut times, mut runs) = (Vec::new(), vec![false; timelines.len()]);
        let (mut count, mut since) = (0_usize, window.0);
        let (mut longest_idle, mut longest_alone) = (None, None);
        for (time, begins, worker) in changes {
            if times.len() <= count {
                times.resize(count + 1, 0);
            }
            times[count] += time - since;
            match count {
                0 => longest_idle = Some(longer(longest_idle, (since, time))),
                1 => {
                    let last = longest_alone.map(|(time, _)| time);
                    let longest = longer(last, (since, time));
                    if last != Some(longest) {
                        let alone = runs.iter().position(|runs| *runs);
                        longest_alone = alone.map(|alone| (longest, alone));
                    }
                }
                _ => (),
            }
            runs[worker] = begins;
            count = if begins { count + 1 } else { count - 1 };
            since = time;
        }
        if window.1 > since {
            times[0] += window.1 - since;
            longest_idle = Some(longer(longest_idle, (since, window.1)));
        }
        Running {
            times,
            window,
            longest_idle,
            longest_alone,
        }
    }
}

impl Parallelism {
    /// Returns the mean numbers of workers, each row with its name.
    pub fn rows(&self) -> [(&'static str, &[f64]); 4] {
        [
            ("running", &self.running),
            ("searching", &self.searching),
            ("blocked", &self.blocked),
            ("asleep", &self.asleep),
        ]
    }

    fn of(pool: &PoolTrace, timelines: &[Timeline]) -> Parallelism {
        let length = pool.end.saturating_sub(pool.begin);
        let step = length.div_ceil(STEPS).max(1);
        let steps = length.div_ceil(step) as usize;
        let mut means = [(); 4].map(|()| vec![0.0; steps]);
        for (timeline, track) in timelines.iter().zip(&pool.tracks) {
            for interval in &timeline.intervals {
                let row = match interval.state {
                    State::Running | State::RunningWhileBlocked => 0,
                    _ if track.is_spare => continue,
                    State::Searching | State::Stealing => 1,
                    State::Blocked | State::HandedOff => 2,
                    State::Asleep => 3,
                };
                add(&mut means[row], step, interval, pool.begin);
            }
        }
        let [running, searching, blocked, asleep] = means;
        Parallelism {
            step,
            running,
            searching,
            blocked,
            asleep,
        }
    }
}

/// Adds the share of each step that the interval covers.
fn add(means: &mut [f64], step: u64, interval: &Interval, start: u64) {
    let (mut begin, end) = (
        interval.begin.saturating_sub(start),
        interval.end.saturating_sub(start),
    );
    while begin < end {
        let place = begin / step;
        let next = ((place + 1) * step).min(end);
        if let Some(mean) = means.get_mut(place as usize) {
            *mean += (next - begin) as f64 / step as f64;
        }
        begin = next;
    }
}
