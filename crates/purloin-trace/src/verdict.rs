//! Why a run was not faster, in one sentence.
//!
//! Each rule looks for one reason, and estimates which share of the workers' time is lost by it. The reason with the
//! largest loss is the verdict, and the next one follows as a detail if its loss is large, too. Without such a loss,
//! the workers ran the program nearly all the time.
//!
//! One run tells what the workers did, and not what a serial program would have taken. So the rule for tasks that
//! take longer because others run at the same time needs a second run.

use crate::format::{with_unit, workers};
use crate::overview::Overview;
use crate::timeline::{State, Timeline};
use crate::{Baseline, CriticalPath, Trace};

/// A verdict, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What limits the run.
    pub kind: Kind,
    /// What limits the run, and the way out.
    pub title: String,
    /// The figures behind it.
    pub details: Vec<String>,
}

/// What limits a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// No worker ran anything.
    Nothing,
    /// The pool has one worker.
    OneWorker,
    /// The run is too short for a verdict.
    Short,
    /// Other threads had the processors.
    Oversubscribed,
    /// The tasks waited for locks or for the system.
    Waits,
    /// The tasks took longer than in the run to compare with, which had fewer workers.
    SlowerTasks,
    /// The program made many small calls from outside.
    Calls,
    /// No worker ran anything for a part of the time.
    Outside,
    /// Stolen tasks are too small.
    Grain,
    /// One worker ran alone.
    Alone,
    /// There were fewer tasks than workers.
    FewTasks,
    /// The workers ran the program nearly all the time.
    Busy,
}

impl Kind {
    /// Returns the kind as one word, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Nothing => "nothing",
            Kind::OneWorker => "one-worker",
            Kind::Short => "short",
            Kind::Oversubscribed => "oversubscribed",
            Kind::Waits => "waits",
            Kind::SlowerTasks => "slower-tasks",
            Kind::Calls => "calls",
            Kind::Outside => "outside",
            Kind::Grain => "grain",
            Kind::Alone => "alone",
            Kind::FewTasks => "few-tasks",
            Kind::Busy => "busy",
        }
    }
}

/// A loss of this share of the workers' time counts as a reason.
const MUCH: f64 = 0.12;
/// From this share on, something explains nearly all of something else.
const MOST: f64 = 0.8;
/// The system updates the processor time of a thread at its clock ticks. A stall that is shorter than this for each
/// worker, in nanoseconds, is not known.
const TICK: u64 = 8_000_000;
/// A run that is shorter than this, in nanoseconds, gets no verdict.
const SHORT: u64 = 500_000;
/// From this number of calls from outside on, their length matters.
const MANY_CALLS: u64 = 100;
/// A call from outside that runs for less than this, in nanoseconds, is small: waking a worker takes about as long.
const SMALL_CALL: u64 = 40_000;
/// What a call from outside takes in addition to its work, in nanoseconds: waking a worker, and then the caller.
const WAKING: u64 = 100_000;
/// From this number of steals on, their length matters.
const MANY_STEALS: u64 = 100;
/// A stolen task that runs for less than this, in nanoseconds, is small: another one has to be made public after it.
const SMALL_TASK: u64 = 2_000;
/// A search that takes longer than this, in nanoseconds, says that there was no task, and not that tasks were small.
const LONG_SEARCH: u64 = 1_000_000;
/// Tasks may take this much longer because the threads of one core share it, or because all cores together run slower.
const SHARED_CORES: f64 = 2.2;

/// What the rules look at.
struct Case<'t> {
    trace: &'t Trace,
    /// The pool that has run most of the program.
    pool: Overview,
}

/// A reason, with the share of the workers' time that is lost by it.
type Reason = (f64, Verdict);

impl Verdict {
    /// Returns the verdict on the pool that has run most of the program.
    pub fn of(trace: &Trace) -> Verdict {
        let pool = trace.main_pool().map(|(_, pool)| pool);
        let Some(pool) = pool.filter(|pool| pool.busy() > 0) else {
            let title = "No worker ran anything. Call a pool, or a function such as purloin::join, in the part of the program \
                         that takes the time.";
            return verdict(Kind::Nothing, title.into(), vec![]);
        };
        let case = Case { trace, pool };
        let mut verdict = case.verdict();
        let pool = &case.pool;
        if matches!(verdict.kind, Kind::Alone | Kind::FewTasks) {
            let path = trace.critical_path.as_ref();
            verdict
                .details
                .extend(path.and_then(CriticalPath::sentence));
        }
        verdict.details.push(format!(
            "On average, {:.1} of {} ran the program, for {}.",
            pool.use_of_workers() * pool.workers as f64,
            workers(pool.workers),
            with_unit(pool.duration()),
        ));
        verdict
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn verdict(kind: Kind, title: String, details: Vec<String>) -> Verdict {
    Verdict {
        kind,
        title,
        details,
    }
}

fn length((begin, end): (u64, u64)) -> u64 {
    end - begin
}

impl Case<'_> {
    fn verdict(&self) -> Verdict {
        if self.pool.busy() < SHORT {
            let title = format!(
                "The workers ran the program for only {}, which is too short for a verdict. Trace a longer run.",
                with_unit(self.pool.busy())
            );
            return verdict(Kind::Short, title, vec![]);
        }
        if self.pool.workers == 1 {
            let title = "The pool had one worker, so nothing ran in parallel. Use more workers: set PURLOIN_WORKERS=N or \
                         Builder::workers.";
            return verdict(Kind::OneWorker, title.into(), vec![]);
        }
        let rules = [
            Case::calls,
            Case::oversubscribed,
            Case::waits,
            Case::slower_tasks,
            Case::outside,
            Case::grain,
            Case::alone,
            Case::few_tasks,
        ];
        let reasons = rules.iter().filter_map(|rule| rule(self));
        let mut reasons: Vec<Reason> = reasons.filter(|(loss, _)| *loss > MUCH).collect();
        // Stable: of two reasons with the same loss, the one that is more specific comes first.
        reasons.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let mut reasons = reasons.into_iter().map(|(_, verdict)| verdict);
        let Some(mut verdict) = reasons.next() else {
            return self.busy();
        };
        if let Some(next) = reasons.find(|next| next.kind != Kind::FewTasks) {
            verdict.details.push(next.title);
            verdict.details.extend(next.details);
        }
        verdict
    }

    /// Returns the share of the workers' time in which they did not run the program.
    fn unused(&self) -> f64 {
        (1.0 - self.pool.use_of_workers()).max(0.0)
    }

    fn calls(&self) -> Option<Reason> {
        let (pool, calls) = (&self.pool, self.pool.calls);
        (calls >= MANY_CALLS && pool.busy() / calls < SMALL_CALL).then_some(())?;
        let title = format!(
            "The program made {calls} calls to the pool from outside, and each ran for {} on average, which is less than \
             it takes to wake a worker. Make one call around the loop: inside the pool, a fork costs about a nanosecond.",
            with_unit(pool.busy() / calls)
        );
        let waking = (calls * WAKING) as f64 / pool.duration().max(1) as f64;
        Some((
            waking.min(self.unused()),
            verdict(Kind::Calls, title, vec![]),
        ))
    }

    /// Returns the time in which the workers were awake and did not run on a processor, and the shares of it in their
    /// time awake and in all of their time. `None` if it is short or unknown. (A blocked worker sleeps for part of
    /// the time, so blocked time does not count as awake. A worker that has just been woken is asleep until it runs.)
    fn stalled(&self) -> Option<(u64, f64, f64)> {
        let awake = [
            State::Running,
            State::RunningWhileBlocked,
            State::Stealing,
            State::Searching,
        ];
        let totals = self.pool.timelines.iter().map(Timeline::totals);
        let awake: u64 = totals
            .map(|totals| {
                awake
                    .iter()
                    .map(|&state| totals[state as usize])
                    .sum::<u64>()
            })
            .sum();
        let stalled = awake.saturating_sub(self.pool.processor?.ran);
        (stalled >= TICK * self.pool.timelines.len() as u64).then_some(())?;
        let all = self.pool.workers as u64 * self.pool.duration();
        let share_of = |whole: u64| (stalled as f64 / whole.max(1) as f64).min(1.0);
        Some((stalled, share_of(awake), share_of(all)))
    }

    fn oversubscribed(&self) -> Option<Reason> {
        let (stalled, share, loss) = self.stalled()?;
        let waited = self.pool.processor?.waited;
        (waited as f64 > MOST * stalled as f64).then_some(())?;
        let (number, cores) = (self.pool.workers, self.trace.cores);
        let way_out = match number > cores {
            true => format!(
                "The pool had {}, and the cores that the program may use are {cores}: give it no more workers.",
                workers(number)
            ),
            false => {
                "Stop other programs, or other threads of this one, or give the pool fewer workers."
                    .into()
            }
        };
        let title = format!(
            "For {} of the time in which the workers could have run, other threads had the processors. {way_out}",
            percent(share)
        );
        Some((loss, verdict(Kind::Oversubscribed, title, vec![])))
    }

    fn waits(&self) -> Option<Reason> {
        let (stalled, share, loss) = self.stalled()?;
        let waited = self.pool.processor?.waited;
        (waited as f64 <= MOST * stalled as f64).then_some(())?;
        let title = format!(
            "While the workers were awake, they used no processor for {} of the time: tasks waited for a lock, a channel, a \
             file or the network. Hold locks for a shorter time, or wrap the wait in purloin::blocking, so that another \
             worker uses the processor.",
            percent(share)
        );
        Some((loss, verdict(Kind::Waits, title, vec![])))
    }

    /// Returns the run to compare with, unless this trace has lost a part of its own run.
    fn baseline(&self) -> Option<Baseline> {
        self.trace.baseline.filter(|_| self.trace.lost() == 0)
    }

    fn slower_tasks(&self) -> Option<Reason> {
        let (other, busy) = (self.baseline()?, self.pool.busy());
        (self.pool.workers > other.workers).then_some(())?;
        let excess = busy.saturating_sub(other.busy) as f64 / busy as f64;
        let factor = busy as f64 / other.busy.max(1) as f64;
        let title = format!(
            "All tasks together ran {factor:.1} times as long as with {}: they write to the same cache lines, such as those of \
             a counter or of a lock, or they share the memory's bandwidth or the allocator. Keep such data for each worker, \
             and combine them at the end.",
            workers(other.workers),
        );
        let mut details = vec![format!(
            "{} ran the program for {} in all, and {} for {}.",
            workers(self.pool.workers),
            with_unit(busy),
            workers(other.workers),
            with_unit(other.busy)
        )];
        if factor < SHARED_CORES {
            let other = "Some of it may be the machine: two threads on one core share its speed, and a processor runs slower \
                         if all of its cores are in use.";
            details.push(other.into());
        }
        let loss = excess * self.pool.use_of_workers();
        Some((loss, verdict(Kind::SlowerTasks, title, details)))
    }

    fn busy(&self) -> Verdict {
        let share = percent(self.pool.use_of_workers().min(1.0));
        let Some(other) = self.baseline() else {
            let title = format!(
                "The workers ran the program for {share} of the time. To see whether the tasks themselves are slower in \
                 parallel, compare with one worker."
            );
            let detail = "To compare, run the program with PURLOIN_WORKERS=1 PURLOIN_TRACE=one.json, and then again with \
                          PURLOIN_COMPARE=one.json.";
            return verdict(Kind::Busy, title, vec![detail.into()]);
        };
        let title = format!(
            "The workers ran the program for {share} of the time, and {:.1} times as fast as {}. Only less work, or more \
             cores, would make it faster.",
            other.duration as f64 / self.pool.duration().max(1) as f64,
            workers(other.workers)
        );
        verdict(Kind::Busy, title, vec![])
    }

    fn outside(&self) -> Option<Reason> {
        let pool = &self.pool;
        let none = pool.share_with_at_most(0);
        let title = format!(
            "For {} of the time, no worker ran anything: the program computed outside of the pool, or waited. Move that \
             part into the pool, or let it overlap with the calls.",
            percent(none)
        );
        let details = pool.longest_idle.map(|time| {
            let threads = self
                .trace
                .threads
                .iter()
                .map(|track| Timeline::of_thread(track, self.trace.end));
            let middle = time.0 + length(time) / 2;
            let span = threads
                .into_iter()
                .find_map(|thread| thread.span_at(middle));
            place(time, "", span)
        });
        Some((
            none,
            verdict(Kind::Outside, title, details.into_iter().collect()),
        ))
    }

    fn grain(&self) -> Option<Reason> {
        let pool = &self.pool;
        let sizes = &pool.steal_sizes;
        let costly = sizes.costly as f64 / sizes.steals.max(1) as f64;
        let are_small = costly > 0.5 || sizes.median < SMALL_TASK;
        (sizes.steals >= MANY_STEALS && are_small).then_some(())?;
        // A search that ends in sleep, or in giving the processor away, has found no task, and not a small one.
        let lost_by = |timeline: &Timeline| -> u64 {
            let states = timeline.intervals.iter().map(|interval| interval.state);
            let next = states.skip(1).chain([State::Running]);
            let searches = timeline
                .intervals
                .iter()
                .zip(next)
                .filter(|(interval, next)| {
                    let is_search = matches!(
                        interval.state,
                        State::Searching | State::Stealing | State::Blocked
                    );
                    is_search && !matches!(next, State::Asleep | State::HandedOff)
                });
            let lengths = searches.map(|(interval, _)| interval.end - interval.begin);
            lengths.filter(|&length| length < LONG_SEARCH).sum()
        };
        let lost: u64 = pool.timelines.iter().map(lost_by).sum();
        let lost = lost as f64 / (pool.workers as u64 * pool.duration()).max(1) as f64;
        let title = format!(
            "The tasks that thieves got are too small: half of them ran for less than {}, and a steal took {}. Fork \
             further out, so that large parts are there at the start.",
            with_unit(sizes.median),
            with_unit(sizes.median_cost)
        );
        let detail = format!(
            "{} of {} steals took longer than the task that they brought.",
            sizes.costly, sizes.steals
        );
        let details = vec![detail].into_iter().filter(|_| costly > 0.5).collect();
        Some((lost, verdict(Kind::Grain, title, details)))
    }

    fn alone(&self) -> Option<Reason> {
        let pool = &self.pool;
        let share = pool.share_with_at_most(1) - pool.share_with_at_most(0);
        let title = format!(
            "For {} of the time, only one worker ran the program, and the others found nothing to do. Split that part into \
             tasks.",
            percent(share)
        );
        let details = pool.longest_alone.map(|(time, worker)| {
            let span = pool.timelines[worker].span_at(time.0 + length(time) / 2);
            place(time, &format!(", on worker {worker}"), span)
        });
        let loss = share * (pool.workers - 1) as f64 / pool.workers as f64;
        Some((
            loss,
            verdict(Kind::Alone, title, details.into_iter().collect()),
        ))
    }

    /// The loss that remains if several workers ran, and not all.
    fn few_tasks(&self) -> Option<Reason> {
        let pool = &self.pool;
        let title = format!(
            "The program had too few tasks for its {}, which were busy for {} of the time. Split the tasks further, or merge \
             phases that wait for each other.",
            workers(pool.workers),
            percent(pool.use_of_workers())
        );
        let workers = pool.workers as f64;
        let some = pool
            .running
            .iter()
            .enumerate()
            .skip(2)
            .take(pool.workers.saturating_sub(2));
        let lost: f64 = some
            .map(|(running, &time)| time as f64 * (workers - running as f64) / workers)
            .sum();
        let loss = lost / pool.duration().max(1) as f64;
        Some((loss, verdict(Kind::FewTasks, title, vec![])))
    }
}

/// Says where in the program a time lies.
fn place(time: (u64, u64), worker: &str, span: Option<&str>) -> String {
    let span = match span {
        Some(name) => format!("in the span \"{name}\""),
        None => {
            "in code without a span; wrap parts of the program in purloin::span to see in which one"
                .into()
        }
    };
    let begin = match time.0 {
        0 => "at".into(),
        begin => format!("{} after", with_unit(begin)),
    };
    format!(
        "The longest such time took {}. It began {begin} the start of the trace{worker}, {span}.",
        with_unit(length(time)),
    )
}
