//! Why a run was not faster, in one sentence.
//!
//! A trace has one run, so it tells what the workers did, and not what a serial program would have taken. The rules below
//! are in the order in which they are tried. Each says what it has seen, and what would help.

use crate::overview::Overview;
use crate::timeline::{State, Timeline};
use crate::{Trace, format::with_unit};

/// A verdict, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What limits the run.
    pub kind: Kind,
    /// One sentence, which names the way out.
    pub title: String,
    /// The figures behind it.
    pub details: Vec<String>,
}

/// What limits a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// From this share on, workers are called busy.
const BUSY: f64 = 0.9;
/// From this share on, something that is not the program's own work is called the reason.
const MUCH: f64 = 0.15;
/// Below this time, in nanoseconds, the system's own work on a thread counts for too much.
const MUCH_TIME: u64 = 5_000_000;
/// From this share on, something explains nearly all of something else.
const MOST: f64 = 0.8;
/// A run that is shorter than this, in nanoseconds, gets no verdict.
const SHORT: u64 = 500_000;
/// From this number of calls from outside on, their length matters, and what is small then, in nanoseconds.
const MANY_CALLS: u64 = 100;
const SMALL_CALL: u64 = 50_000;
/// From this number of steals on, their length matters.
const MANY_STEALS: u64 = 100;

/// What the rules look at.
struct Case<'t> {
    trace: &'t Trace,
    /// The pool that has run most of the program.
    pool: Overview,
}

impl Verdict {
    /// Returns the verdict on the pool that has run most of the program.
    pub fn of(trace: &Trace) -> Verdict {
        let pool = trace.main_pool().map(|(_, pool)| pool);
        let Some(pool) = pool.filter(|pool| pool.busy() > 0) else {
            return Verdict {
                kind: Kind::Nothing,
                title: "No worker ran anything. Call a pool, or a function such as purloin::join, in the part of the \
                        program that takes the time."
                    .into(),
                details: Vec::new(),
            };
        };
        let case = Case { trace, pool };
        let rules = [
            Case::one_worker,
            Case::short,
            Case::calls,
            Case::oversubscribed,
            Case::waits,
            Case::slower_tasks,
            Case::busy,
            Case::outside,
            Case::grain,
            Case::alone,
        ];
        let mut verdicts = rules.iter().filter_map(|rule| rule(&case)).fuse();
        let mut verdict = verdicts.next().unwrap_or_else(|| case.few_tasks());
        // Other threads may be there by chance, so the next reason counts, too.
        if verdict.kind == Kind::Oversubscribed
            && let Some(next) = verdicts.next()
        {
            verdict.details.push(next.title);
            verdict.details.extend(next.details);
        }
        let pool = &case.pool;
        verdict.details.push(format!(
            "On average, {:.1} of {} workers ran the program, for {}.",
            pool.use_of_workers() * pool.workers as f64,
            pool.workers,
            with_unit(pool.duration()),
        ));
        verdict
    }
}

fn workers(number: usize) -> String {
    match number {
        1 => "one worker".into(),
        number => format!("{number} workers"),
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

/// Each rule returns a verdict if it applies.
impl Case<'_> {
    fn one_worker(&self) -> Option<Verdict> {
        (self.pool.workers == 1).then(|| {
            let title = "The pool had one worker, so nothing ran in parallel. Give it more: by PURLOIN_WORKERS=N, or by \
                         Builder::workers.";
            verdict(Kind::OneWorker, title.into(), vec![])
        })
    }

    fn short(&self) -> Option<Verdict> {
        (self.pool.duration() < SHORT).then(|| {
            let title = format!(
                "The program ran in the pool for only {}, which is too short to tell anything. Trace a longer run.",
                with_unit(self.pool.duration())
            );
            verdict(Kind::Short, title, vec![])
        })
    }

    /// Returns the time in which the workers were awake and did not run on a processor, and the share of their time awake.
    /// (A part of the time in which a worker is blocked it sleeps, so that time does not count as awake. A worker that has
    /// just been woken is asleep until it runs.)
    /// `None` if it is short or unknown.
    fn stalled(&self) -> Option<(u64, f64)> {
        let awake = [
            State::Running,
            State::RunningWhileBlocked,
            State::Stealing,
            State::Searching,
        ];
        let totals = self.pool.timelines.iter().map(|timeline| timeline.totals());
        let awake: u64 = totals
            .map(|totals| {
                awake
                    .iter()
                    .map(|&state| totals[state as usize])
                    .sum::<u64>()
            })
            .sum();
        let stalled = awake.saturating_sub(self.pool.processor?.ran);
        (stalled >= MUCH_TIME).then_some(())?;
        Some((stalled, stalled as f64 / awake.max(1) as f64))
    }

    fn oversubscribed(&self) -> Option<Verdict> {
        let (stalled, share) = self.stalled()?;
        let waited = self.pool.processor?.waited;
        (share > MUCH && waited as f64 > MOST * stalled as f64).then_some(())?;
        let (workers, cores) = (self.pool.workers, self.trace.cores);
        let way_out = match workers > cores {
            true => {
                format!("The pool had {workers} workers on {cores} cores: give it at most {cores}.")
            }
            false => {
                "Stop other programs, or other threads of this one, or give the pool fewer workers."
                    .into()
            }
        };
        let title = format!(
            "For {} of the time in which the workers could have run, other threads had the processors. {way_out}",
            percent(share)
        );
        Some(verdict(Kind::Oversubscribed, title, vec![]))
    }

    fn waits(&self) -> Option<Verdict> {
        let (_, share) = self.stalled()?;
        (share > MUCH).then_some(())?;
        let title = format!(
            "For {} of the time in which tasks ran, they used no processor: they waited for a lock, a channel, a file or \
             the network. Hold locks for a shorter time, or wrap the wait in purloin::blocking, so that another worker \
             uses the processor.",
            percent(share)
        );
        Some(verdict(Kind::Waits, title, vec![]))
    }

    fn slower_tasks(&self) -> Option<Verdict> {
        let (other, busy) = (self.trace.baseline?, self.pool.busy());
        let is_more = self.pool.workers > other.workers;
        let excess = busy.saturating_sub(other.busy);
        (is_more && excess as f64 > MUCH * busy as f64).then_some(())?;
        let title = format!(
            "All tasks together ran {:.1} times as long as with {}. They write to the same cache lines, such as those of an \
             atomic counter or of a lock, or they share the memory's bandwidth or the allocator. Keep such data for each \
             worker, and combine them at the end.",
            busy as f64 / other.busy as f64,
            workers(other.workers),
        );
        let detail = format!(
            "{} ran the program for {} in all, and {} for {}.",
            workers(self.pool.workers),
            with_unit(busy),
            workers(other.workers),
            with_unit(other.busy)
        );
        Some(verdict(Kind::SlowerTasks, title, vec![detail]))
    }

    fn busy(&self) -> Option<Verdict> {
        let share = self.pool.use_of_workers();
        (share >= BUSY).then_some(())?;
        let share = percent(share.min(1.0));
        let Some(other) = self.trace.baseline else {
            let title = format!(
                "The workers ran the program for {share} of the time. To see whether the tasks themselves are slower in \
                 parallel, compare with one worker."
            );
            let detail = "To compare, run the program with PURLOIN_WORKERS=1 PURLOIN_TRACE=one.json, and then again with \
                          PURLOIN_COMPARE=one.json.";
            return Some(verdict(Kind::Busy, title, vec![detail.into()]));
        };
        let title = format!(
            "The workers ran the program for {share} of the time, and {:.1} times as fast as {}. Only less work, or more \
             cores, would make it faster.",
            other.duration as f64 / self.pool.duration().max(1) as f64,
            workers(other.workers)
        );
        Some(verdict(Kind::Busy, title, vec![]))
    }

    fn calls(&self) -> Option<Verdict> {
        let pool = &self.pool;
        let calls = pool.calls;
        (calls >= MANY_CALLS && pool.busy() / calls < SMALL_CALL).then_some(())?;
        let title = format!(
            "The program called the pool {calls} times from outside, and each call ran for {} on average, which is less \
             than it takes to wake a worker. Make one call around the loop: the code inside of it forks for next to \
             nothing.",
            with_unit(pool.busy() / calls)
        );
        Some(verdict(Kind::Calls, title, vec![]))
    }

    fn outside(&self) -> Option<Verdict> {
        let pool = &self.pool;
        let none = pool.share_with_at_most(0);
        let idle = 1.0 - pool.use_of_workers();
        (none > MUCH && none > idle / 2.0).then_some(())?;
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
        Some(verdict(Kind::Outside, title, details.into_iter().collect()))
    }

    fn grain(&self) -> Option<Verdict> {
        let pool = &self.pool;
        let sizes = &pool.steal_sizes;
        let costly = sizes.costly as f64 / sizes.steals.max(1) as f64;
        let lost = [State::Stealing, State::Searching, State::Blocked];
        let lost: u64 = lost.iter().map(|&state| pool.total(state)).sum();
        let lost = lost as f64 / (lost + pool.busy()).max(1) as f64;
        (sizes.steals >= MANY_STEALS && costly > 0.5 && lost > MUCH).then_some(())?;
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
        Some(verdict(Kind::Grain, title, vec![detail]))
    }

    fn alone(&self) -> Option<Verdict> {
        let pool = &self.pool;
        let share = pool.share_with_at_most(1);
        (share > MUCH).then_some(())?;
        let title = format!(
            "For {} of the time, at most one worker ran the program, and the others found nothing to do. Split that part \
             into tasks.",
            percent(share)
        );
        let details = pool.longest_alone.map(|(time, worker)| {
            let span = pool.timelines[worker].span_at(time.0 + length(time) / 2);
            place(time, &format!(", on worker {worker}"), span)
        });
        Some(verdict(Kind::Alone, title, details.into_iter().collect()))
    }

    fn few_tasks(&self) -> Verdict {
        let title = format!(
            "The program had too few tasks for its {} workers: they ran it for {} of their time. Split the tasks further, \
             or merge phases that wait for each other.",
            self.pool.workers,
            percent(self.pool.use_of_workers())
        );
        verdict(Kind::FewTasks, title, vec![])
    }
}

/// Says where in the program a time lies.
fn place(time: (u64, u64), worker: &str, span: Option<&str>) -> String {
    let span = match span {
        Some(name) => format!("in the span \"{name}\""),
        None => {
            "in code without a span; name the parts of the program by purloin::span to see in which"
                .into()
        }
    };
    format!(
        "The longest such time took {}. It began {} after the start of the trace{worker}, {span}.",
        with_unit(length(time)),
        with_unit(time.0),
    )
}
